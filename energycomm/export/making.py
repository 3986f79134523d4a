"""Rows of exports made from what was read of the store: nothing is asked here, so any process may do it.

Whoever reads tells message by message (`Told`); what a message left in the store becomes its rows, one for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from energycomm.eis import tables
from energycomm.eis.arrays import parts_of
from energycomm.eis.bulk import column_names
from energycomm.export.subjects import HEAD, WITHDRAW, Column, Row, Selection, Subject
from energycomm.kernel.instants import instant, micros, midnight

OF_MESSAGE = ("market", "access_point", "at", "kind", "market_type")
"""What is read of the message of a row, beside the columns of its table."""

DAY_MINUTES = 1440


class Told(NamedTuple):
    """A message of an export as it was read.

    Attributes:
      op: of its rows: insert or correct.
      message: its number.
      origin: market and access point, where it is taken back unless a row of it is wanted; else None.
      rows: what is there of it: `OF_MESSAGE`, then the columns of `read_columns`.
    """

    op: str
    message: int
    origin: tuple[str | None, str | None] | None
    rows: Iterable[Sequence[Any]]


def read_columns(subject: Subject) -> tuple[str, ...]:
    """The columns that are read of the table of a subject."""
    wanted = {"message_id", subject.parts, subject.starts, subject.ends} - {"at"}
    wanted |= {column.key for column in subject.columns if column.source == "row"}
    return tuple(name for name in column_names(tables.metadata.tables[subject.table]) if name in wanted)


class Making:
    """Makes the rows of an export.

    Args:
      subject: what is exported.
      selection: which rows are wanted; here only the days are looked at.
      zones: market -> its legal time.
    """

    def __init__(self, subject: Subject, selection: Selection, zones: Mapping[str, ZoneInfo]) -> None:
        self.subject, self.selection, self.zones = subject, selection, zones
        self._names = read_columns(subject)
        self._own = subject.columns[len(HEAD) :]
        self._of_part = [(place, one) for place, one in enumerate(subject.columns) if one.source == "part"]
        self._intervals = next((place for place, one in enumerate(subject.columns) if one.source == "made"), None)
        self._empty: Row = (None,) * (len(subject.columns) - len(HEAD))

    def rows(self, told: Told) -> Iterator[Row]:
        """The rows of a message; one that takes it back, where it has none any more."""
        made = False
        for row in self._made_of(told):
            made = True
            yield row
        if not made and told.origin is not None:
            yield (WITHDRAW, told.message, None, *told.origin, None, *self._empty)

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

    def _made_of(self, told: Told) -> Iterator[Row]:
        item = 0
        for found in told.rows:
            market, point, at, kind, market_type, *content = found
            row = {"kind": kind, "market_type": market_type, **dict(zip(self._names, content, strict=True))}
            if not self._within(market, at, row):
                continue
            parts: list[dict[str, Any]] = [{}]
            if self.subject.parts:
                parts = parts_of(row[self.subject.parts])
            # What all parts share is made once: curves have thousands.
            whole = [told.op, told.message, 0, market, point, instant(at)]
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
