"""The rows of an export: all that hold, or what changed since a cursor, read in one snapshot of the store.

Rows of a message stand together. What changed is told by message: where one is new, corrected or taken back, whoever
follows removes the rows of that message and puts those that are given in their place. That is right whatever happened
in between, and doing it twice does no harm.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, text

from energycomm.eis import changelog, tables
from energycomm.eis.arrays import parts_of
from energycomm.eis.away import Archive, missing
from energycomm.eis.bulk import Driver, column_names, driver_of
from energycomm.eis.changelog import Place
from energycomm.eis.database import snapshot
from energycomm.errors import UserError
from energycomm.export.disputes import Disputes
from energycomm.export.subjects import (
    CORRECT,
    DISPUTES,
    HEAD,
    INSERT,
    NAMES,
    WITHDRAW,
    Column,
    Row,
    Selection,
    Subject,
    subjects,
)
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.kernel.instants import FIRST_DAY, LAST_DAY, instant, micros, midnight

TOGETHER = 500
"""Messages that are read at a time."""

OF_MESSAGE = 5
"""Columns of a row's message that are read with it: market, access point, instant, kind, market type."""

DAY_MINUTES = 1440

OTHER_ZONE = 86_400_000_000
"""Microseconds by which midnight of another market may lie apart, at most."""


class Export:
    """One export while it is read.

    Args:
      connection: the snapshot.
      subject: what is exported.
      selection: which of it.
      zones: market -> its legal time.
      since: the place from which changes are told; None: all that holds.

    Attributes:
      place: the place that it brings whoever follows to.
      told: how many rows were read so far.
    """

    def __init__(
        self,
        connection: Connection,
        subject: Subject,
        selection: Selection,
        zones: Mapping[str, ZoneInfo],
        since: Place | None,
    ) -> None:
        self.connection, self.subject, self.selection, self.zones, self.since = (
            connection,
            subject,
            selection,
            zones,
            since,
        )
        self.driver: Driver = driver_of(connection)
        self.place = changelog.present(connection)
        self.told = 0
        self._table = tables.metadata.tables[subject.table]
        self._names = column_names(self._table)
        self._cause = OF_MESSAGE + self._names.index("message_id")
        self._own = subject.columns[len(HEAD) :]
        self._of_part = [(place, one) for place, one in enumerate(subject.columns) if one.source == "part"]
        self._intervals = next((place for place, one in enumerate(subject.columns) if one.source == "made"), None)
        self._empty: Row = (None,) * (len(subject.columns) - len(HEAD))

    def rows(self) -> Iterator[Row]:
        """The rows, in a fixed order; few are in memory at a time."""
        for row in self._all() if self.since is None else self._changed(self.since):
            self.told += 1
            yield row

    def lacks(self) -> tuple[Archive, ...]:
        """The archives that hold rows which would be among these, had they not left the store."""
        if self._table not in (*tables.MEASURES, tables.finding):
            return ()
        first, last = self.selection.first, self.selection.last
        zone = next(iter(self.zones.values()))
        begin = None if first is None else micros(midnight(zone, first)) - OTHER_ZONE
        end = None if last is None else micros(midnight(zone, last + timedelta(days=1))) + OTHER_ZONE
        return missing(self.connection, begin, end)

    # --- reading ---

    def _select(self, condition: str, values: Mapping[str, Any], tail: str) -> Any:
        """Rows of the table, after `OF_MESSAGE` columns of their message."""
        columns = ", ".join(f't."{name}"' for name in self._names)
        at = "k.effective" if self.subject.table == "finding" else 't."at"'
        point = "t.access_point_id" if "access_point_id" in self._names else "k.access_point_id"
        sql = (
            f"SELECT k.market, a.identifier, {at}, k.kind, k.market_type, {columns} FROM {self.subject.table} t "
            f"JOIN kernel_message k ON k.id = t.message_id LEFT JOIN access_point a ON a.id = {point} "
            f"WHERE {condition} {tail}"
        )
        options = {"stream_results": True, "max_row_buffer": 2000}
        return self.connection.execute(text(sql), dict(values), execution_options=options)

    def _conditions(self) -> tuple[str, dict[str, Any]]:
        """What rows must meet in order to be wanted, but for what only this module checks."""
        chosen, subject = self.selection, self.subject
        parts: list[str] = ["true"]
        values: dict[str, Any] = {}
        for name, column, wanted in (
            ("m", "k.market", chosen.markets),
            ("p", "a.identifier", chosen.access_points),
        ):
            if wanted:
                marks = ", ".join(f":{name}{number}" for number in range(len(wanted)))
                parts.append(f"{column} IN ({marks})")
                values |= {f"{name}{number}": value for number, value in enumerate(wanted)}
        if subject.table == "finding":
            parts.append('t."current"')
        if chosen.segments:
            parts.append(_in_segments(chosen))
            values |= {f"s{number}": value for number, value in enumerate(chosen.segments)}
        return " AND ".join(parts), values

    def _within(self, market: str, at: int, row: Mapping[str, Any]) -> bool:
        """Whether a row holds on one of the days that are wanted."""
        first, last = self.selection.first, self.selection.last
        if first is None and last is None:
            return True
        zone = self.zones.get(market) or next(iter(self.zones.values()))
        starts = at if self.subject.starts == "at" else row[self.subject.starts]
        starts = at if starts is None else starts
        ends = starts
        if self.subject.ends == "at":
            ends = at - 1
        elif self.subject.ends is not None:
            ends = row[self.subject.ends]
            ends = None if ends is None else ends - 1
        if last is not None and starts >= micros(midnight(zone, last + timedelta(days=1))):
            return False
        return first is None or ends is None or max(ends, starts) >= micros(midnight(zone, first))

    def _all(self) -> Iterator[Row]:
        # The tables have no index on their message, and need none: it has one row in each of them but the findings.
        order = "ORDER BY t.message_id, t.id" if self.subject.table == "finding" else "ORDER BY t.id"
        condition, values = self._conditions()
        found = self._select(condition, values, order)
        for _, several in groupby(found, key=lambda row: row[self._cause]):
            yield from self._made_of(INSERT, several)

    def _changed(self, since: Place) -> Iterator[Row]:
        logged = (
            "FROM change_log l JOIN change_batch b ON b.id = l.batch {} "
            "WHERE b.number > :number AND l.table_name = :name AND l.run {} 1"
        )
        single, runs = logged.format("", "="), logged.format("", ">")
        of_runs = logged.format(f"JOIN {self.subject.table} t ON t.id >= l.row_id AND t.id < l.row_id + l.run", ">")
        sql = text(
            "SELECT message_id, row_id, max(made), max(gone) FROM ("
            "SELECT l.message_id, l.row_id, CASE WHEN l.op = 'insert' THEN 1 ELSE 0 END AS made, "
            f"CASE WHEN l.op = 'delete' THEN 1 ELSE 0 END AS gone {single} "
            f"UNION ALL SELECT t.message_id, t.id, 1, 0 {of_runs}) AS changed "
            "GROUP BY message_id, row_id ORDER BY message_id, row_id"
        )
        options = {"stream_results": True, "max_row_buffer": 2000}
        values = {"number": since.number, "name": self.subject.table}
        made = self.connection.execute(text(f"SELECT l.row_id, l.run {runs} ORDER BY l.row_id"), values).all()
        starts = [start for start, _ in made]
        found = self.connection.execute(sql, values, execution_options=options)
        together: list[tuple[int, list[int], bool]] = []
        for message, several in groupby(found, key=lambda row: row[0]):
            changes = list(several)
            before = any(not row[2] and not _in_runs(made, starts, row[1]) for row in changes)
            together.append((message, [row[1] for row in changes if not row[3]], before))
            if len(together) == TOGETHER:
                yield from self._told(together)
                together = []
        if together:
            yield from self._told(together)

    def _told(self, changes: Sequence[tuple[int, list[int], bool]]) -> Iterator[Row]:
        """What became of messages: (number, rows that may be there, whether it had rows at the cursor)."""
        condition, values = self._conditions()
        ids = [number for _, rows, _ in changes for number in rows]
        held: dict[int, list[Any]] = {}
        if ids:
            listed = ", ".join(map(str, ids))  # numbers that the store gave
            for row in self._select(f"{condition} AND t.id IN ({listed})", values, "ORDER BY t.message_id, t.id"):
                held.setdefault(row[self._cause], []).append(row)
        origins = self._origins([message for message, _, before in changes if before])
        for message, _, before in changes:
            rows = list(self._made_of(CORRECT if before else INSERT, held.get(message, ())))
            if rows:
                yield from rows
            elif before and (origin := origins.get(message)) is not None:
                yield (WITHDRAW, message, None, *origin, None, *self._empty)

    def _origins(self, messages: Sequence[int]) -> dict[int, tuple[str | None, str | None]]:
        """Market and access point of messages; of those that are wanted."""
        sql = (
            "SELECT k.id, k.market, a.identifier FROM kernel_message k "
            "LEFT JOIN access_point a ON a.id = k.access_point_id WHERE true"
        )
        rows = {row[0]: (row[1], row[2]) for row in self.driver.matching(sql, messages, "k.id")}
        chosen = self.selection
        found = {}
        for message in messages:
            if message not in rows:
                continue  # it left for an archive, or was removed: what was told of it holds
            market, point = rows[message]
            if chosen.markets and market not in chosen.markets:
                continue
            if chosen.access_points and point not in chosen.access_points:
                continue
            found[message] = (market, point)
        return found

    # --- making rows ---

    def _made_of(self, op: str, rows: Iterable[Any]) -> Iterator[Row]:
        """The rows of one message, from its rows of the table."""
        item = 0
        for found in rows:
            market, point, at, kind, market_type, *content = found
            row = {"kind": kind, "market_type": market_type, **dict(zip(self._names, content, strict=True))}
            if not self._within(market, at, row):
                continue
            parts: list[dict[str, Any]] = [{}]
            if self.subject.parts:
                parts = parts_of(row[self.subject.parts])
            # What all parts share is made once: curves have thousands.
            whole = [op, row["message_id"], 0, market, point, instant(at)]
            whole += [_value(one, row[one.key]) if one.source == "row" else None for one in self._own]
            for part in parts:
                item += 1
                made = whole.copy()
                made[2] = item
                for place, column in self._of_part:
                    made[place] = _value(column, part.get(column.key))
                if self._intervals is not None:
                    made[self._intervals : self._intervals + 2] = self._interval(market, at, row, part["position"])
                yield tuple(made)

    def _interval(self, market: str, at: int, row: Mapping[str, Any], position: int) -> tuple[datetime, datetime]:
        """Start and end of an interval. Steps of whole days, months and years follow the civil calendar."""
        zone = self.zones.get(market) or next(iter(self.zones.values()))
        start, minutes = instant(at), row["resolution"]
        if minutes is not None and minutes % DAY_MINUTES:
            step = timedelta(minutes=minutes)
            return start + (position - 1) * step, start + position * step
        local = start.astimezone(zone).replace(tzinfo=None)
        bounds = []
        for number in (position - 1, position):
            if minutes is not None:
                moved = local + timedelta(minutes=number * minutes)
            else:
                months = local.month - 1 + number * (row["resolution_months"] or 1)
                moved = local.replace(year=local.year + months // 12, month=months % 12 + 1)
            bounds.append(moved.replace(tzinfo=zone).astimezone(start.tzinfo))
        return bounds[0], bounds[1]


def _in_runs(runs: Sequence[Sequence[int]], starts: Sequence[int], number: int) -> bool:
    """Whether a row is of one of the runs (first row, how many), which are in the order of their starts."""
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < runs[place][0] + runs[place][1]


def _value(column: Column, stored: Any) -> Any:
    """A value as it is exported, from the form in which a column or a part of the store has it."""
    if stored is None:
        return None
    match column.type:
        case "decimal":
            return Decimal(stored)
        case "instant":
            return instant(stored) if isinstance(stored, int) else datetime.fromisoformat(stored)
        case "day":
            return date.fromisoformat(stored)
        case "truth":
            return bool(stored)
    return stored


def _in_segments(selection: Selection) -> str:
    """The condition that the access point `a` is in one of the segments now; they are the values s0, s1, ..."""
    marks = ", ".join(f":s{number}" for number in range(len(selection.segments)))
    return (
        "EXISTS (SELECT 1 FROM point_data d WHERE d.access_point_id = a.id AND "
        f"d.segment IN ({marks}) AND NOT EXISTS (SELECT 1 FROM point_data l WHERE l.access_point_id = a.id "
        'AND l.segment IS NOT NULL AND (l."at" > d."at" OR (l."at" = d."at" AND l.id > d.id))))'
    )


def _points(connection: Connection, selection: Selection) -> frozenset[str] | None:
    """The access points that are wanted; None: all."""
    points = frozenset(selection.access_points) or None
    if not selection.segments:
        return points
    sql = f"SELECT a.identifier FROM access_point a WHERE {_in_segments(selection)}"
    values = {f"s{number}": value for number, value in enumerate(selection.segments)}
    within = frozenset(connection.execute(text(sql), values).scalars())
    return within if points is None else within & points


@contextmanager
def opened_export(
    engine: Engine,
    name: str,
    selection: Selection,
    zones: Mapping[str, ZoneInfo],
    cursor: str | None = None,
    checker: InvoiceCheck | None = None,
) -> Iterator[Export | Disputes]:
    """An export, in a snapshot that lasts as long as the block.

    Args:
      engine: the store.
      name: the subject.
      selection: which rows.
      zones: market -> its legal time.
      cursor: where an earlier export ended; only what changed since is told. All that holds without.
      checker: checks invoices; the disputes need it.

    Raises:
      UserError: a name or a value is unknown, or the cursor cannot be followed from.
      ValueError: the disputes are asked for without a checker.
    """
    subject = subject_of(name)
    if cursor is not None and name == DISPUTES:
        raise UserError(
            "The disputes cannot be followed by a cursor.",
            "Any price, term or reading may change them: export all of them, in the place of the former.",
        )
    if cursor is not None and selection.segments:
        raise UserError(
            "A segment cannot be asked for together with a cursor.",
            "The segment of an access point may change without its rows: follow all, and choose outside.",
        )
    with snapshot(engine) as connection:
        _check(connection, selection, zones)
        if name == DISPUTES:
            if checker is None:
                raise ValueError("the disputes need a checker of invoices")
            points, place = _points(connection, selection), changelog.present(connection)
            yield Disputes(checker, subject, selection, points, zones, place)
            return
        since = None if cursor is None else changelog.place_of(connection, cursor)
        yield Export(connection, subject, selection, zones, since)


def subject_of(name: str) -> Subject:
    """A subject by its name.

    Raises:
      UserError: there is none of that name.
    """
    found = subjects().get(name)
    if found is None:
        raise _unknown("subject", name, NAMES)
    return found


def _check(connection: Connection, selection: Selection, zones: Mapping[str, ZoneInfo]) -> None:
    for market in selection.markets:
        if market not in zones:
            raise _unknown("market", market, tuple(zones))
    known = "SELECT 1 FROM access_point WHERE identifier = :value"
    for point in selection.access_points:
        if connection.execute(text(known), {"value": point}).first() is None:
            near = "SELECT identifier FROM access_point WHERE identifier LIKE :head ORDER BY identifier LIMIT 500"
            head = "".join(sign for sign in point[:6] if sign.isalnum())
            raise _unknown("access point", point, connection.execute(text(near), {"head": f"{head}%"}).scalars().all())
    if selection.segments:
        sql = "SELECT DISTINCT segment FROM point_data WHERE segment IS NOT NULL ORDER BY segment"
        segments = connection.execute(text(sql)).scalars().all()
        for segment in selection.segments:
            if segment not in segments:
                raise _unknown("segment", segment, segments)
    for day in (selection.first, selection.last):
        if day is not None and not FIRST_DAY <= day <= LAST_DAY:
            raise UserError(f"{day} is out of range.", f"Name a day from {FIRST_DAY} to {LAST_DAY}.")
    if selection.first is not None and selection.last is not None and selection.last < selection.first:
        raise UserError(f"The last day, {selection.last}, is before the first, {selection.first}.", "Exchange them.")


def _unknown(what: str, value: str, known: Sequence[str]) -> UserError:
    close = get_close_matches(value, known, n=3, cutoff=0.5)
    if close:
        return UserError(f"There is no {what} {value[:80]}.", f"Did you mean {', '.join(close)}?")
    listed = f"There are: {', '.join(known[:20])}." if known else "Check it."
    return UserError(f"There is no {what} {value[:80]}.", listed)
