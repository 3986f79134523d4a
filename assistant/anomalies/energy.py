"""What access points used, span by span, from the rows that an export of readings and of volumes gives.

The total of a meter is followed beside its time classes: a change of calendar moves energy between these alone.
A span is a week or longer, so that a daily index and a monthly one are looked at in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

WEEK = timedelta(days=6.5)
"""A span is at least this long: seven days, of which one may have 23 hours."""

SCALE: dict[str, tuple[str, Decimal]] = {
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
      classes: time class -> its part of the amount; empty where these changed within the span.
    """

    message: int
    start: datetime
    end: datetime
    amount: float
    unit: str
    classes: Mapping[str, float] = {}

    @property
    def days(self) -> float:
        """Length in days."""
        return (self.end - self.start) / timedelta(days=1)


Point = tuple[str, str]
"""Market and identifier of an access point."""


def told(readings: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]) -> dict[Point, list[Used]]:
    """What each access point used from one message to the next, in order of time.

    Args:
      readings: rows of the export `readings`, by their columns; in any order.
      volumes: rows of the export `volumes`; they count for access points that have no two readings.
    """
    found = {point: list(_between(rows)) for point, rows in _by_point(readings)}
    for point, rows in _by_point(volumes):
        if not found.get(point):
            found[point] = list(_told(rows))
    return {point: parts for point, parts in found.items() if parts}


def used(parts: Mapping[Point, Sequence[Used]]) -> dict[Point, list[Used]]:
    """The parts that follow each other without a gap, as spans of a week or more."""
    found = {point: list(_spans(own)) for point, own in parts.items()}
    return {point: spans for point, spans in found.items() if spans}


def _by_point(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Point, list[Mapping[str, Any]]]]:
    held = [row for row in rows if row["status"] == "current" and row["direction"] in (None, "consumption")]
    held = [row for row in held if row["access_point"] is not None and row["unit"] in SCALE]
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
                unit, scale = SCALE[row["unit"]]
                register = (grid, row["time_class"], row["meter"], row["product"], unit)
                now[register] = row["value"] * scale * (row["coefficient"] or 1)
        if since is not None and at > since and now.keys() == before.keys():
            steps = [(register[1], now[register] - before[register]) for register in now]
            if min(step for _, step in steps) >= 0:
                yield Used(message, since, at, float(sum(step for _, step in steps)), unit, _by_class(steps))
        before, since = now, at


def _told(rows: list[Mapping[str, Any]]) -> Iterator[Used]:
    """What volumes say was used."""
    for (at, message), group in groupby(rows, key=itemgetter("at", "message")):
        held = [row for row in group if row["start_at"] is not None]
        if held:
            unit = SCALE[held[0]["unit"]][0]
            amounts = [(row["time_class"], row["quantity"] * SCALE[row["unit"]][1]) for row in held]
            start, amount = min(row["start_at"] for row in held), float(sum(part for _, part in amounts))
            yield Used(message, start, at, amount, unit, _by_class(amounts))


def _by_class(amounts: Iterable[tuple[str, Decimal]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, amount in amounts:
        found[name] = found.get(name, 0.0) + float(amount)
    return found


def _spans(parts: Iterable[Used]) -> Iterator[Used]:
    """Parts that follow each other without a gap, as spans of a week or more."""
    open_: Used | None = None
    for part in parts:
        if open_ is not None and part.start == open_.end and part.unit == open_.unit:
            same = open_.classes.keys() == part.classes.keys()
            classes = {name: open_.classes[name] + amount for name, amount in part.classes.items()} if same else {}
            open_ = Used(part.message, open_.start, part.end, open_.amount + part.amount, part.unit, classes)
        else:
            open_ = part
        if open_.end - open_.start >= WEEK:
            yield open_
            open_ = None
