"""What access points used, span by span, from the rows that an export of readings and of volumes gives.

The total of a meter is followed, not its registers: a change of calendar moves energy between time classes and is no
anomaly. A span is a week or longer, so that a daily index and a monthly one are looked at in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

WEEK = timedelta(days=6.5)
"""A span is at least this long: seven days, of which one may have 23 hours."""

_SCALE: dict[str, tuple[str, Decimal]] = {
    "Wh": ("Wh", Decimal(1)),
    "kWh": ("Wh", Decimal(1000)),
    "MWh": ("Wh", Decimal(1_000_000)),
    "m3": ("m3", Decimal(1)),
    "dm3": ("m3", Decimal("0.001")),
}
"""The unit that a unit is counted in, and how many of it."""


class Used(NamedTuple):
    """Energy that an access point used in a span.

    Attributes:
      message: number of the Kernel message that told its end.
      start, end: the span.
      amount: in `unit`.
      unit: Wh or m3.
    """

    message: int
    start: datetime
    end: datetime
    amount: float
    unit: str

    @property
    def days(self) -> float:
        """Length in days."""
        return (self.end - self.start) / timedelta(days=1)


Point = tuple[str, str]
"""Market and identifier of an access point."""


def used(readings: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]) -> dict[Point, list[Used]]:
    """What each access point used, in order of time.

    Args:
      readings: rows of the export `readings`, by their columns; in any order.
      volumes: rows of the export `volumes`; they count for access points that have no two readings.
    """
    found = {point: list(_spans(_between(rows))) for point, rows in _by_point(readings)}
    for point, rows in _by_point(volumes):
        if not found.get(point):
            found[point] = list(_spans(_told(rows)))
    return {point: spans for point, spans in found.items() if spans}


def _by_point(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Point, list[Mapping[str, Any]]]]:
    held = [row for row in rows if row["status"] == "current" and row["direction"] in (None, "consumption")]
    held = [row for row in held if row["access_point"] is not None and row["unit"] in _SCALE]
    held.sort(key=lambda row: (row["market"], row["access_point"], row["at"], row["message"]))
    for point, group in groupby(held, key=itemgetter("market", "access_point")):
        yield point, list(group)


def _between(rows: list[Mapping[str, Any]]) -> Iterator[Used]:
    """What was used between one reading and the next of the same registers."""
    before: dict[tuple[Any, ...], Decimal] = {}
    since: datetime | None = None
    for (at, message), group in groupby(rows, key=itemgetter("at", "message")):
        read = list(group)
        grid = "distributor" if any(row["grid"] == "distributor" for row in read) else read[0]["grid"]
        now: dict[tuple[Any, ...], Decimal] = {}
        unit = ""
        for row in read:
            if row["grid"] == grid:
                unit, scale = _SCALE[row["unit"]]
                register = (grid, row["time_class"], row["meter"], row["product"], unit)
                now[register] = row["value"] * scale * (row["coefficient"] or 1)
        if since is not None and at > since and now.keys() == before.keys():
            steps = [now[register] - before[register] for register in now]
            if min(steps) >= 0:
                yield Used(message, since, at, float(sum(steps)), unit)
        before, since = now, at


def _told(rows: list[Mapping[str, Any]]) -> Iterator[Used]:
    """What volumes say was used."""
    for (at, message), group in groupby(rows, key=itemgetter("at", "message")):
        told = [row for row in group if row["start_at"] is not None]
        if told:
            unit = _SCALE[told[0]["unit"]][0]
            amount = sum(row["quantity"] * _SCALE[row["unit"]][1] for row in told)
            yield Used(message, min(row["start_at"] for row in told), at, float(amount), unit)


def _spans(parts: Iterable[Used]) -> Iterator[Used]:
    """Parts that follow each other without a gap, as spans of a week or more."""
    open_: Used | None = None
    for part in parts:
        if open_ is not None and part.start == open_.end and part.unit == open_.unit:
            open_ = Used(part.message, open_.start, part.end, open_.amount + part.amount, part.unit)
        else:
            open_ = part
        if open_.end - open_.start >= WEEK:
            yield open_
            open_ = None
