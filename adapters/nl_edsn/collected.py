"""P4CollectedDataBatchResultResponse: smart-meter data that was asked of the P4 portal (version 2).

One ``P4MeteringPoint`` is one CH message: what one query brought, or why it brought nothing. DAY and RCY give the
indexes of a day's start, in kWh and m3: a meter reading. INT gives the index at each interval's start and at the end
of the day, in Wh and m3: every quarter for electricity, every hour for gas, so 97 or 25 readings on most days, 93 or
24 on the day that lasts 23 hours, 101 or 26 on the one that lasts 25. They become one series of energies per register
and, for the first instant, a meter reading, so that nothing of the indexes is lost.

A query that was repeated after a time-out under a new MessageID is a second query: the portal answers both. Both
answers have the reference that we gave the query, and the same content, and so one identity: the second is a
duplicate.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.nl_edsn.answers import refusing
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.measures import Unit, fine, index, obis, unit
from adapters.nl_edsn.mutations import settled
from adapters.nl_edsn.times import civil_day, needed_instant, start_of_day
from energycomm.kernel.messages import KernelMessage, MeasureSeries, MeterReading, RequestAnswer
from energycomm.kernel.parts import Position, Register
from energycomm.kernel.vocabulary import Reason

REASONS: dict[str, Reason] = {"DAY": "on-demand", "INT": "on-demand", "RCY": "periodic"}
"""QueryReason -> business reason: day, interval, month."""

STEP = {"electricity": 15, "gas": 60}
"""Minutes between two interval readings."""

MOST_READINGS = 101
"""Readings of one register in one answer: a quarter of an hour on the day of 25 hours."""

_PATH = "P4MeteringPoint"
_REGISTER = f"{_PATH}/P4EnergyMeter/P4Register"


class Read(NamedTuple):
    """The readings of one register of one meter.

    Attributes:
      meter: serial number.
      name: OBIS number.
      unit: as the market gave it.
      readings: instants in their order, each with its index and the unit of that, None where the market gave none.
    """

    meter: str
    name: str
    unit: Unit
    readings: list[tuple[datetime, tuple[int, str] | None]]


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """``reference of the query:point:reason:day``."""
    point = leaf(fields, "EANID")
    parts = (leaf(fields, "ExternalReference"), point, leaf(fields, "QueryReason"), leaf(fields, "QueryDate"))
    return ":".join(part or "-" for part in parts), point


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The readings or series of one query, and that it is done; or why it was refused.

    Raises:
      Unreadable: a needed element is missing, or readings do not lie on the grid of intervals.
    """
    point, external = need(fields, "EANID", _PATH), need(fields, "ExternalReference", _PATH)
    query = need(fields, "QueryReason", _PATH)
    reference, _ = refer(fields, context)
    day = civil_day(fields, "QueryDate", _PATH)
    answered = context.head["created"] if day is None else start_of_day(day)
    meters = nodes(fields, "P4EnergyMeter")
    registers = [
        _read(meter, register, query == "INT", notes) for meter in meters for register in nodes(meter, "P4Register")
    ]
    without = [read for read in registers if not read.readings]
    registers = [read for read in registers if read.readings]
    head: dict[str, Any] = {
        **context.head,
        "market_reason": query,
        "reason": REASONS.get(query, "on-demand"),
        "reference": reference,
        "correlation": external,
        "access_point": point,
        "grid_operator": context.head["sender"],
        "energy": (registers or without)[0].unit.energy if registers or without else "electricity",
    }
    messages: list[KernelMessage] = []
    if query == "INT":
        messages += [
            *_first_reading(registers, head),
            *(_series(one, head) for one in registers if len(one.readings) > 1),
        ]
    else:
        messages += _readings(registers, head)
    rejections = [node(rejection, "Rejection") for rejection in nodes(fields, "P4Rejection")]
    if rejections:
        refused = refusing(rejections, f"{_PATH}/P4Rejection/Rejection")
        messages.append(RequestAnswer(**head, **refused, effective=answered))
    else:
        if not messages and not registers and not without:
            raise Unreadable(refusal("SYN_MISSING", path=_PATH, expected="P4EnergyMeter or P4Rejection"))
        messages.append(settled(head, answered))
    return Digested(reference, point, messages)


def _read(meter: Fields, register: Fields, intervals: bool, notes: Notes) -> Read:
    """The readings of one register, in order of time; a register without an index is noted."""
    serial = need(meter, "ID", f"{_PATH}/P4EnergyMeter")
    measured = unit(need(register, "MeasureUnit", _REGISTER), _REGISTER)
    found = []
    for reading in nodes(register, "P4Reading"):
        at = needed_instant(reading, "ReadingDateTime", f"{_REGISTER}/P4Reading", notes)
        text = leaf(reading, "Reading")
        found.append((at, None if text is None else index(text, measured, f"{_REGISTER}/P4Reading/Reading")))
    told = sum(value is not None for _, value in found)
    # In a day of intervals one without an index is a position that is missing; two indexes at least make a series.
    if told < (2 if intervals else len(found) or 1):
        path, register_id = f"{_REGISTER}/P4Reading/Reading", need(register, "ID", _REGISTER)
        expected = "two indexes at least" if intervals else "an index"
        notes.append(refusal("NOTE_READING_MISSING", path=path, value=f"{serial}/{register_id}", expected=expected))
    path = f"{_REGISTER}/P4Reading/ReadingDateTime"
    in_order = sorted(found, key=lambda pair: pair[0])
    if found != in_order:
        notes.append(refusal("NOTE_ORDER", path=path, value=str(register["ID"])))
    for (earlier, _), (later, _) in pairwise(in_order):
        if earlier == later:
            raise Unreadable(refusal("SYN_UNEXPECTED", path=path, value=str(later), expected="one reading an instant"))
    return Read(serial, need(register, "ID", _REGISTER), measured, in_order)


def _register(read: Read, value: tuple[int, str]) -> Register:
    direction, time_class = obis(read.name, read.unit.energy)
    return Register(
        grid="distributor",
        time_class=time_class,
        value=value[0],
        unit=value[1],
        direction=direction,
        meter=read.meter,
    )


def _reading(at: datetime, registers: list[Register], head: dict[str, Any]) -> MeterReading:
    meters = {register.meter for register in registers}
    return MeterReading(
        **head,
        effective=at,
        qualification="periodic",
        nature="read",
        meter=meters.pop() if len(meters) == 1 else None,
        registers=tuple(registers),
    )


def _readings(registers: list[Read], head: dict[str, Any]) -> Iterator[MeterReading]:
    """One meter reading an instant, of all registers of all meters; an instant without any index gives none."""
    instants: dict[datetime, list[Register]] = {}
    for read in registers:
        for at, value in read.readings:
            if value is not None:
                instants.setdefault(at, []).append(_register(read, value))
    for at, found in sorted(instants.items()):
        yield _reading(at, found, head)


def _first_reading(registers: list[Read], head: dict[str, Any]) -> Iterator[MeterReading]:
    """The indexes at the start of the intervals."""
    firsts = [read._replace(readings=read.readings[:1]) for read in registers]
    start = min((read.readings[0][0] for read in firsts), default=None)
    yield from _readings([read for read in firsts if read.readings[0][0] == start], head)


def _series(read: Read, head: dict[str, Any]) -> MeasureSeries:
    """The energy of each interval: the difference of the indexes at its end and start, missing where either is."""
    step, start = timedelta(minutes=STEP[read.unit.energy]), read.readings[0][0]
    path = f"{_REGISTER}/P4Reading/ReadingDateTime"
    slots: dict[int, int | None] = {}
    for at, value in read.readings:
        slot, rest = divmod(at - start, step)
        if rest or slot >= MOST_READINGS:
            expected = f"steps of {step} from {start.isoformat()}, at most {MOST_READINGS} of them"
            raise Unreadable(refusal("SYN_VALUE", path=path, value=at.isoformat(), expected=expected))
        slots[slot] = None if value is None else fine(*value, read.unit)
    last = max(slots)
    positions = []
    for number in range(last):
        before, after = slots.get(number), slots.get(number + 1)
        if before is None or after is None:
            positions.append(Position(position=number + 1, quality="missing"))
        else:
            positions.append(Position(position=number + 1, value=Decimal(after - before), quality="as-read"))
    direction, _ = obis(read.name, read.unit.energy)
    return MeasureSeries(
        **{**head, "energy": read.unit.energy},
        effective=start,
        end=read.readings[-1][0],
        resolution=STEP[read.unit.energy],
        unit=read.unit.finer or read.unit.name,
        product="active-energy" if read.unit.energy == "electricity" else "natural-gas",
        direction=direction,
        register=f"{read.meter}/{read.name}"[:64],
        positions=tuple(positions),
    )


DIGESTER = Digester(digest, refer)
