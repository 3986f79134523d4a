"""Digests the measures of one access point: of a MSCONS indexes, energies between two readings and interval series; of
a UTILTS an interval series."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timezone
from decimal import Decimal
from sys import intern
from typing import Any

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.edifact.facts import Facts, named, number, short
from adapters.be_atrias.measure import meter_readings, metered_series
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Segment, groups
from adapters.common.pieces import Values
from adapters.common.table import Table
from energycomm.kernel.messages import KernelMessage


def measures(
    table: Table, run: list[Segment], head: dict[str, Any], reference: str, function: str
) -> tuple[str | None, list[KernelMessage], dict[str, Any]]:
    """The Kernel messages of one point.

    Args:
      table: the mapping table.
      run: the segments of the point, with the dates of the message before them.
      head: what every Kernel message begins with.
      reference: of the transaction.
      function: whether the message is new, replaces or cancels another.

    Returns:
      The access point, the messages, and what is kept as particulars.

    Raises:
      Unreadable: a date, number or code that cannot be read, or nothing measured at all.
    """
    before, lines = groups(run, lambda segment: segment.tag == "LIN")
    facts = Facts(table).take(before)
    point = facts.names.get("access_point")
    values: Values = {
        "reference": reference,
        "function": function,
        "access_point": point,
        "correlation": facts.names.get("correlation"),
        "contract_reference": facts.names.get("contract"),
    }
    head = {**head, "reason": "periodic"}
    kept: dict[str, Any] = {}
    periods: dict[Any, Values] = {}
    messages: list[KernelMessage] = []
    for own in lines:
        line = _Line(table, facts, own)
        for name, value in line.kept.items():
            _keep(kept, f"{named(f'LIN+{line.register}')}/{name}", value)
        if len(line.values) > 1 and all(kind == "volume" for kind, *_ in line.values):
            messages += _series(line, values, head)
            continue
        for kind, nature, item, dates in line.values:
            known = {**facts.dates, **line.dates, **dates}
            effective = known.get("reading") or known.get("period_end") or known.get("period")
            if effective is None:
                raise Unreadable(refusal("SYN_MISSING", "DTM", expected="the time of the reading"))
            told = {"effective": effective, "previous_date": known.get("start") or known.get("period_start")}
            read = periods.setdefault(tuple(told.values()), {**values, **told, "registers": [], "volumes": []})
            read["registers" if kind == "index" else "volumes"].append(item)
            read["nature"] = "estimated" if "estimated" in (nature, read.get("nature")) else "read"
    taken = _TAKEN
    for read in periods.values():
        if read["registers"] and "meter" in facts.names:
            taken, read["meter"] = _TAKEN | {"meter"}, facts.names["meter"]
        messages += meter_readings(read, head)
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", "LIN", expected="a quantity"))
    return point, messages, {**facts.kept(lambda name, _: name in taken), **kept}


_TAKEN = frozenset(
    ("access_point", "correlation", "contract", "reading", "start", "period", "period_start", "period_end")
)
"""Names that the messages have a field for."""


class _Line:
    """One LIN: its register, its unit, its quantities with their dates, and what is kept beside."""

    def __init__(self, table: Table, facts: Facts, run: list[Segment]) -> None:
        identifier = short(run[0].get(2) or run[0].get(0), 64, "LIN")
        listed = table.raw["edifact"]["registers"].get(identifier)
        self.time_class: str = listed[0] if listed else identifier
        self.direction: str = intern(listed[1]) if listed else "consumption"
        self.register = identifier
        self.unit = ""
        self.values: list[tuple[str, str, Values, dict[str, Any]]] = []
        self.kept: dict[str, Any] = {}
        beside = []
        first = next((at for at, segment in enumerate(run) if segment.tag == "QTY"), len(run))
        dated = Facts(table, facts.zone).take(segment for segment in run[:first] if segment.tag == "DTM")
        self.dates = dated.dates
        """What the line says of all of its quantities."""
        self.kept |= dated.kept(lambda name, _: name in _TAKEN)
        of_quantity = False
        for at, segment in enumerate(run):
            of_quantity = segment.tag == "QTY" or (of_quantity and segment.tag == "DTM")
            if segment.tag == "MEA" and not segment.get(2, 1):
                self.unit = segment.get(2) or self.unit
            elif segment.tag == "QTY":
                self._quantity(table, facts, segment, run[at + 1 :])
            elif segment.tag != "DTM" or (at > first and not of_quantity):
                beside.append(segment)
        self.kept |= Facts(table).take(beside).kept(lambda name, _: False)

    def _quantity(self, table: Table, facts: Facts, segment: Segment, rest: list[Segment]) -> None:
        qualifier, text = segment.get(0), segment.get(0, 1)
        if qualifier not in table.raw["edifact"]["quantities"]:
            raise Unreadable(refusal("SYN_CODE", "QTY", qualifier, ", ".join(table.raw["edifact"]["quantities"])))
        kind, nature = table.raw["edifact"]["quantities"][qualifier]
        code = segment.get(0, 2) or self.unit
        if not code:
            raise Unreadable(refusal("SYN_MISSING", "MEA", expected="the unit"))
        unit = table.codes["unit"].words.get(code, code)
        item: Values = {"grid": "distributor", "time_class": self.time_class, "direction": self.direction}
        item["unit"] = short(unit, 64, "MEA")
        value = number(text)
        if kind == "index":
            item["unit"], item["value"] = _whole(item["unit"], value)
        else:
            item["quantity"] = value
        dates = []
        for following in rest:
            if following.tag != "DTM":
                break
            dates.append(following)
        told = Facts(table, facts.zone).take(dates)
        self.values.append((kind, nature, item, told.dates))
        self.kept |= told.kept(lambda name, _: name in _TAKEN)


def _series(line: _Line, values: Values, head: dict[str, Any]) -> list[KernelMessage]:
    """Several quantities of one line, each with its period: values at regular intervals."""
    periods = [dates for _, _, _, dates in line.values]
    if not all("start" in dates and "period_end" in dates for dates in periods):
        raise Unreadable(refusal("SYN_MISSING", "DTM", expected="the period of every quantity"))
    units = [item["unit"] for _, _, item, _ in line.values]
    if len(set(units)) > 1:
        raise Unreadable(refusal("SYN_VALUE", "QTY", next(one for one in units if one != units[0]), units[0]))
    start, end = min(one["start"] for one in periods), max(one["period_end"] for one in periods)
    steps = [int((one["period_end"] - one["start"]).total_seconds() // 60) for one in periods]
    step = steps[0]
    if step < 1:
        raise Unreadable(refusal("SYN_VALUE", "DTM", str(step), "a period of at least a minute"))
    if odd := next((one for one in steps if one != step), None):
        raise Unreadable(refusal("SYN_VALUE", "DTM", f"{odd} minutes", f"periods of {step} minutes"))
    positions = [
        {
            "position": int((dates["start"] - start).total_seconds() // 60) // step + 1,
            "value": item.get("quantity", item.get("value")),
            "quality": "estimated" if nature == "estimated" else "as-read",
        }
        for _, nature, item, dates in sorted(line.values, key=lambda one: one[3]["start"])
    ]
    made: Values = {
        **{
            name: values[name]
            for name in ("reference", "function", "access_point", "correlation", "contract_reference")
        },
        "effective": start,
        "end": end,
        "resolution": step,
        "unit": units[0],
        "product": "active-energy",
        "direction": line.direction,
        "register": line.register,
        "positions": positions,
    }
    return metered_series(made, head)


_FINER = {"MWh": "kWh", "kWh": "Wh", "m3": "dm3"}
"""Unit of an index -> the next finer one, of which it counts a thousand."""


def _whole(unit: str, value: Decimal) -> tuple[str, int]:
    """An index as a whole number, in the finer unit that its fraction needs: 4711,5 kWh are 4711500 Wh.

    Raises:
      Unreadable: no unit is fine enough (SYN_VALUE): nothing of an index is cut off.
    """
    written = value
    while value != value.to_integral_value():
        if unit not in _FINER:
            raise Unreadable(refusal("SYN_VALUE", "QTY", format(written, "f"), "an index of whole Wh or dm3"))
        unit, value = _FINER[unit], value * 1000
    return unit, int(value)


def timeseries(
    table: Table, run: list[Segment], head: dict[str, Any], reference: str, function: str, zone: timezone | None
) -> tuple[str | None, list[KernelMessage], dict[str, Any]]:
    """The series of one transaction of a UTILTS, and what is kept as particulars.

    An interval whose quantity is not there, or is said to be missing, has no value.

    Raises:
      Unreadable: a date, number or code that cannot be read, or no access point, period, length of an interval, unit.
    """
    before, places = groups(run, lambda segment: segment.tag == "SEQ")
    rest, unit, product, length = _measured(table, before, places)
    known = table.raw["edifact"]["resolution"]
    facts = Facts(table, zone).take(rest)
    start, end = _period(facts)
    point = facts.names.get("access_point")
    for where, found in (
        ("LOC", point),
        ("DTM+324", start and end),
        ("MEA", unit),
        (f"DTM+{known['qualifier']}", length),
    ):
        if not found:
            raise Unreadable(refusal("SYN_MISSING", where, expected="what a series needs"))
    direction = facts.values.get("direction", "consumption")
    made: Values = {
        "reference": reference,
        "function": function,
        "access_point": point,
        "correlation": facts.names.get("correlation"),
        "contract_reference": facts.names.get("contract"),
        "effective": start,
        "end": end,
        "unit": short(unit, 64, "MEA"),
        "product": product,
        "direction": direction,
        "positions": [_interval(table, own, at) for at, own in enumerate(places, 1)],
        **_length(length or before[0], known),
    }
    taken = _TAKEN | {"period_end", "direction"}
    kept: dict[str, Any] = {}
    for at, own in enumerate(places, 1):
        used = next((one for one in own if one.tag == "QTY"), None)
        beside = Facts(table, zone).take(one for one in own if one is not used)
        for name, value in beside.kept(lambda name, _: False).items():
            _keep(kept, f"SEQ+{own[0].get(1) or at}/{name}", value)
    told = {"market_reason": facts.values.get("market_reason"), "reason": facts.values.get("reason") or "periodic"}
    return point, metered_series(made, head | told), {**facts.kept(lambda name, _: name in taken), **kept}


def _measured(
    table: Table, before: list[Segment], places: list[list[Segment]]
) -> tuple[list[Segment], str, str, Segment | None]:
    """What stands before the intervals of a series: the other segments, the unit, the product, and the segment that
    tells the length of an interval.

    Raises:
      Unreadable: intervals in different units.
    """
    rest: list[Segment] = []
    unit, product, length = "", "active-energy", None
    for segment in before:
        if segment.tag == "MEA" and not segment.get(2, 1):
            unit = table.codes["unit"].words.get(segment.get(2), segment.get(2))
        elif segment.tag == "PIA" and segment.get(1) in table.codes["product"].words:
            product = table.codes["product"].words[segment.get(1)]
        elif segment.tag == "DTM" and segment.get(0) == table.raw["edifact"]["resolution"]["qualifier"]:
            length = segment
        else:
            rest.append(segment)
    own_units = {code for place in places for one in place if one.tag == "QTY" and (code := one.get(0, 2))}
    for code in sorted(own_units):
        word = table.codes["unit"].words.get(code, code)
        if unit and word != unit:
            raise Unreadable(refusal("SYN_VALUE", "QTY", code, unit))
        unit = word
    return rest, unit, product, length


def _period(facts: Facts) -> tuple[Any, Any]:
    """Beginning and end of a series: one period, or a DTM for each."""
    dates = facts.dates
    return dates.get("start") or dates.get("period_start"), dates.get("period_end")


def _keep(kept: dict[str, Any], name: str, value: Any) -> None:
    """Keep a value beside those that have its name already."""
    number, free = 1, name
    while free in kept:
        number += 1
        free = f"{name}[{number}]"
    kept[free] = value


def _length(segment: Segment, known: Mapping[str, Any]) -> Values:
    """The length of an interval: minutes, or months of the calendar."""
    text, form = segment.get(0, 1), segment.get(0, 2)
    for field, units in (("resolution", known["minutes"]), ("resolution_months", known["months"])):
        if form in units and text.isascii() and text.isdigit() and 0 < int(text) < 10_000:
            return {field: int(text) * units[form]}
    raise Unreadable(refusal("SYN_VALUE", f"DTM+{segment.get(0)}", f"{text}:{form}", "the length of an interval"))


def _interval(table: Table, run: list[Segment], at: int) -> Values:
    """One SEQ with its quantity."""
    place = run[0].get(1)
    found: Values = {"position": int(place) if place.isascii() and place.isdigit() and len(place) < 7 else at}
    quantity = next((segment for segment in run if segment.tag == "QTY"), None)
    if quantity is None or not quantity.get(0, 1):
        return found | {"quality": "missing"}
    code, qualities = quantity.get(0), table.codes["quality"].words
    listed = table.raw["edifact"]["quantities"].get(code)
    if listed is None and code not in qualities:
        expected = ", ".join((*table.raw["edifact"]["quantities"], *qualities))
        raise Unreadable(refusal("SYN_CODE", "QTY", code, expected))
    quality = qualities[code] if listed is None else "estimated" if listed[1] == "estimated" else "as-read"
    return (
        found | {"value": number(quantity.get(0, 1)), "quality": quality}
        if quality != "missing"
        else found | {"quality": quality}
    )
