"""What an access point is charged for its energy, against what its meter counted in the same days."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from assistant.anomalies.energy import SCALE, WEEK, Point, Used
from assistant.anomalies.expectation import Told
from energycomm.kernel.instants import midnight

KNOWN = 0.95
"""Of the days of a charge so large a share must lie between readings."""


LEAST_AMOUNT = 1.0
"""A line of less, in its currency, says nothing of a price: it is rounded to cents."""


class Charged(NamedTuple):
    """Charges of energy.

    Attributes:
      quantity: the energy charged against the energy metered in the same days, by market and unit.
      amount: what is asked against the energy charged, by market, unit, currency, code of the line and tariff.
    """

    quantity: Mapping[tuple[str, ...], Mapping[Point, Sequence[Told]]]
    amount: Mapping[tuple[str, ...], Mapping[Point, Sequence[Told]]]


class _Line(NamedTuple):
    """Lines of some days together."""

    message: int
    first: date
    last: date
    quantity: float
    amount: float


def charged(
    charges: Iterable[Mapping[str, Any]], parts: Mapping[Point, Sequence[Used]], zones: Mapping[str, ZoneInfo]
) -> Charged:
    """Hold charges against what was used, and against what others are asked for the same.

    Lines of the same days are taken together, whichever invoice they are on: what was given back or put right later
    counts as it stands now.

    Args:
      charges: rows of the export `charges`.
      parts: what was used from one message to the next.
      zones: market -> its legal time.
    """
    energies: dict[tuple[Point, str], list[_Line]] = defaultdict(list)
    amounts: dict[tuple[str, ...], dict[Point, list[_Line]]] = defaultdict(lambda: defaultdict(list))
    for row in charges:
        if row["unit"] in SCALE and None not in (row["access_point"], row["start"], row["end"], row["quantity"]):
            point, (unit, scale) = (row["market"], row["access_point"]), SCALE[row["unit"]]
            amount = float(row["amount"])
            quantity = math.copysign(float(abs(row["quantity"]) * scale), amount or 1)
            line = _Line(row["message"], row["start"], row["end"], quantity, amount)
            energies[point, unit].append(line)
            key = (point[0], unit, row["currency"], row["code"], row["line_tariff"] or "")
            amounts[key][point].append(line)
    quantity_of: dict[tuple[str, ...], dict[Point, Sequence[Told]]] = defaultdict(dict)
    for (point, unit), lines in energies.items():
        own = [part for part in parts.get(point, ()) if part.unit == unit]
        quantity_of[point[0], unit][point] = list(_against(own, _joined(_summed(lines)), zones[point[0]]))
    return Charged(
        quantity_of,
        {
            key: {point: list(_prices(_summed(lines), zones[point[0]])) for point, lines in points.items()}
            for key, points in amounts.items()
        },
    )


def _summed(lines: Iterable[_Line]) -> list[_Line]:
    """Lines of the same days as one, in order of their days."""
    found: dict[tuple[date, date], _Line] = {}
    for line in lines:
        one = found.get((line.first, line.last))
        found[line.first, line.last] = line if one is None else _together(one, line)
    return [found[days] for days in sorted(found)]


def _joined(lines: Iterable[_Line]) -> list[_Line]:
    """Lines of days that follow each other in one charge as one: a new price divides a charge, not what was used."""
    found: list[_Line] = []
    for line in lines:
        if found and found[-1].message == line.message and found[-1].last + timedelta(days=1) == line.first:
            found[-1] = _together(found[-1], line)
        else:
            found.append(line)
    return found


def _together(one: _Line, other: _Line) -> _Line:
    return _Line(
        max(one.message, other.message),
        min(one.first, other.first),
        max(one.last, other.last),
        one.quantity + other.quantity,
        one.amount + other.amount,
    )


def _against(parts: Sequence[Used], lines: Iterable[_Line], zone: ZoneInfo) -> Iterator[Told]:
    for line in lines:
        start, end = midnight(zone, line.first), midnight(zone, line.last + timedelta(days=1))
        if parts and line.quantity > 0 and end - start >= WEEK:
            metered = _metered(parts, start, end)
            if metered:
                yield Told(line.message, start, end, math.log(line.quantity / metered))


def _prices(lines: Iterable[_Line], zone: ZoneInfo) -> Iterator[Told]:
    for line in lines:
        if line.quantity > 0 and line.amount >= LEAST_AMOUNT:
            start, end = midnight(zone, line.first), midnight(zone, line.last + timedelta(days=1))
            yield Told(line.message, start, end, math.log(line.amount / line.quantity))


def _metered(parts: Sequence[Used], start: datetime, end: datetime) -> float | None:
    """What was used between two instants: by the days where a part lies across one; None where too little is known."""
    amount, known = 0.0, timedelta()
    place = max(bisect_right(parts, start, key=lambda part: part.start) - 1, 0)
    for part in parts[place:]:
        if part.start >= end:
            break
        both = min(part.end, end) - max(part.start, start)
        if both > timedelta():
            known += both
            amount += part.amount * (both / (part.end - part.start))
    return amount if known >= KNOWN * (end - start) else None
