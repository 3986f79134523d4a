"""The rows of an export: all that hold, or what changed since a cursor, read in one snapshot of the store.

Rows of a message stand together. What changed is told by message: where one is new, corrected or taken back, whoever
follows removes the rows of that message and puts those that are given in their place. That is right whatever happened
in between, and doing it twice does no harm.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from difflib import get_close_matches
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, text

from energycomm.eis import changelog, tables
from energycomm.eis.away import Archive, missing
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.changelog import Place
from energycomm.eis.database import snapshot
from energycomm.errors import UserError
from energycomm.export.disputes import Disputes
from energycomm.export.making import OF_MESSAGE, Making, Told, read_columns
from energycomm.export.subjects import CORRECT, DISPUTES, INSERT, NAMES, Row, Selection, Subject, subjects
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.kernel.instants import FIRST_DAY, LAST_DAY, micros, midnight

TOGETHER = 500
"""Messages that are read at a time."""

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
        self._names = read_columns(subject)
        self._cause = len(OF_MESSAGE) + self._names.index("message_id")

    def rows(self) -> Iterator[Row]:
        """The rows, in a fixed order; few are in memory at a time."""
        making = Making(self.subject, self.selection, self.zones)
        for told in self.read():
            for row in making.rows(told):
                self.told += 1
                yield row

    def read(self) -> Iterator[Told]:
        """What the rows are made of, message by message; each is to be used before the next is asked for."""
        return self._all() if self.since is None else self._changed(self.since)

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
        """Rows of the table, each after `OF_MESSAGE` of its message."""
        columns = ", ".join(f't."{name}"' for name in self._names)
        at = "k.effective" if self.subject.table == "finding" else 't."at"'
        point = "t.access_point_id" if "access_point_id" in self._table.columns else "k.access_point_id"
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

    def _all(self) -> Iterator[Told]:
        # The tables have no index on their message, and need none: it has one row in each of them but the findings.
        order = "ORDER BY t.message_id, t.id" if self.subject.table == "finding" else "ORDER BY t.id"
        condition, values = self._conditions()
        found = self._select(condition, values, order)
        for message, several in groupby(found, key=lambda row: row[self._cause]):
            yield Told(INSERT, message, None, several)

    def _changed(self, since: Place) -> Iterator[Told]:
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

    def _told(self, changes: Sequence[tuple[int, list[int], bool]]) -> Iterator[Told]:
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
            yield Told(CORRECT if before else INSERT, message, origins.get(message), held.get(message, ()))

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


def _in_runs(runs: Sequence[Sequence[int]], starts: Sequence[int], number: int) -> bool:
    """Whether a row is of one of the runs (first row, how many), which are in the order of their starts."""
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < runs[place][0] + runs[place][1]


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
    with snapshot(engine) as connection:
        if name != DISPUTES:
            yield export_in(connection, subject, selection, zones, cursor)
            return
        _check(connection, selection, zones)
        if checker is None:
            raise ValueError("the disputes need a checker of invoices")
        points, place = _points(connection, selection), changelog.present(connection)
        yield Disputes(checker, subject, selection, points, zones, place)


def export_in(
    connection: Connection, subject: Subject, selection: Selection, zones: Mapping[str, ZoneInfo], cursor: str | None
) -> Export:
    """An export in a snapshot.

    Args:
      connection: the snapshot.
      subject: any but the disputes.
      selection: which rows.
      zones: market -> its legal time.
      cursor: where an earlier export ended; only what changed since is told. All that holds without.

    Raises:
      UserError: a value is unknown, or the cursor cannot be followed from.
    """
    if cursor is not None and selection.segments:
        raise UserError(
            "A segment cannot be asked for together with a cursor.",
            "The segment of an access point may change without its rows: follow all, and choose outside.",
        )
    _check(connection, selection, zones)
    since = None if cursor is None else changelog.place_of(connection, cursor)
    return Export(connection, subject, selection, zones, since)


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
