"""MeterReadingExchangeResponse: established readings and volumes that the grid operator and the suppliers tell one
another (namespace number 1).

One ``Portaal_MeteringPoint`` is one CH message. Its meters' registers hold a reading each, or a volume between two
readings; a volume of a point without telling meters (large consumers) stands beside them. Readings of one day become
one meter reading, volumes of one period one message of energies. Dates are days: the index is the one at the day's
start.

A reading whose mutation reason is DISPUTE was settled between the parties and takes the place of the one established
for that day before: both bear the natural key ``point:day``, the only one there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.nl_edsn.codes import known_meaning, meaning, refusal
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.measures import DIRECTIONS, SINGLE, index, unit
from adapters.nl_edsn.mutations import POINT, Point, point, refer
from adapters.nl_edsn.times import needed_day
from energycomm.kernel.messages import KernelMessage, MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume
from energycomm.kernel.vocabulary import Direction, Qualification, ReadingNature, VolumeNature

BEFORE = frozenset(("MOVEOUT", "EOSUPPLY", "MTREND", "CONNEND", "CONNDACT"))
"""Events whose reading is the last before them."""
AFTER = frozenset(("MOVEIN", "SWITCHLV", "MTRINST", "CONNCRE", "CONNACT"))
"""Events whose reading is the first after them."""

DISPUTE = "DISPUTE"

METHODS: dict[str, ReadingNature] = {
    "N01": "read",
    "N02": "estimated",
    "N03": "estimated",
    "E08": "estimated",
    "E09": "estimated",
    "E10": "estimated",
    "003": "read",
    "004": "read",
    "005": "estimated",
    "102": "unknown",
    "22": "self-read",
}
"""ReadingMethod -> how the index was obtained, after ebIX list 260_NL0014 and, for the portal's own codes, public
software: physical reading, P4, calculated, agreed between suppliers, told by the customer or the P1 port. Codes are
texts: 22 and 022 differ. Another code is kept, carried as unknown and noted."""

_METER = f"{POINT}/Portaal_EnergyMeter"
_VOLUME = f"{POINT}/Volume"


class Established(NamedTuple):
    """One index of one register on one day."""

    at: datetime
    nature: ReadingNature
    register: Register


class Energy(NamedTuple):
    """The energy of one register between two days."""

    start: datetime
    end: datetime
    estimated: bool
    volume: Volume


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Readings by day and energies by period.

    Raises:
      Unreadable: a needed element is missing, a unit unknown, or nothing was told at all.
    """
    found = point(fields, context, notes)
    reference = refer(fields, context)[0]
    readings: list[Established] = []
    energies: list[Energy] = []
    for meter in nodes(fields, "Portaal_EnergyMeter"):
        for register in nodes(meter, "Register"):
            readings += _readings(register, need(meter, "ID", _METER), notes)
            path = f"{_METER}/Register"
            energies += [
                _energy(volume, register, {}, path, notes)
                for volume in nodes(register, "Volume")
                if _told(volume, f"{path}/Volume", notes)
            ]
    for volume in nodes(fields, "Volume"):
        if _told(volume, _VOLUME, notes):
            energies.append(_energy(volume, node(volume, "Register"), fields, _VOLUME, notes))
    if not readings and not energies and not nodes(fields, "Portaal_EnergyMeter"):
        raise Unreadable(refusal("SYN_MISSING", path=POINT, expected="a reading or a volume"))
    head = {**found.head, "reference": reference}
    return Digested(reference, found.ean, [*_by_day(readings, head, found), *_by_period(energies, head)])


def qualification(reason: str | None) -> Qualification:
    """Whether the reading of a mutation is the last before it, the first after it, or one of the round."""
    return "before-event" if reason in BEFORE else "after-event" if reason in AFTER else "periodic"


def _told(volume: Fields, path: str, notes: Notes) -> bool:
    """Whether a volume is told; an element without a value is noted."""
    if "CalorificCorrectedVolume" in volume or "Volume" in volume:
        return True
    notes.append(refusal("NOTE_VALUE_MISSING", path=f"{path}/Volume", expected="a volume"))
    return False


def _readings(register: Fields, meter: str, notes: Notes) -> Iterator[Established]:
    """The reading of a register, or the two that its volume lies between; a register or a day without an index is
    noted."""
    path = f"{_METER}/Register"
    given = [
        *nodes(register, "Reading"),
        *(one for held in nodes(register, "Volume") for one in nodes(held, "Reading")),
    ]
    if not given and not nodes(register, "Volume"):
        told = leaf(register, "TariffType") or SINGLE
        notes.append(refusal("NOTE_READING_MISSING", path=path, value=f"{meter}/{told}", expected="Reading"))
    for reading in given:
        if leaf(reading, "Reading") is None:
            told = f"{meter}/{leaf(register, 'TariffType') or SINGLE} {leaf(reading, 'ReadingDate') or ''}".strip()
            notes.append(refusal("NOTE_READING_MISSING", path=f"{path}/Reading", value=told, expected="Reading"))
            continue
        code = need(register, "MeasureUnit", path)
        value, name = index(need(reading, "Reading", f"{path}/Reading"), unit(code, path), f"{path}/Reading/Reading")
        digits = leaf(register, "NrOfDigits")
        yield Established(
            at=needed_day(reading, "ReadingDate", f"{path}/Reading")[1],
            nature=_nature(reading, f"{path}/Reading", notes),
            register=Register(
                grid="distributor",
                time_class=leaf(register, "TariffType") or SINGLE,
                value=value,
                unit=name,
                direction=_direction(register, path),
                digits=int(digits) if digits is not None else None,
                meter=meter,
            ),
        )


def _energy(volume: Fields, register: Fields, beside: Fields, path: str, notes: Notes) -> Energy:
    """The energy of a Volume element: between its readings, else between the days that it or its point names."""
    readings = nodes(volume, "Reading")
    days = sorted(needed_day(reading, "ReadingDate", f"{path}/Volume/Reading")[1] for reading in readings)
    if not days:
        span = volume if "ValidFromDate" in volume else beside
        days = [needed_day(span, tag, path)[1] for tag in ("ValidFromDate", "ValidToDate")]
    natures = {_nature(reading, f"{path}/Volume/Reading", notes) for reading in readings}
    code = leaf(register, "MeasureUnit") or leaf(volume, "MeasureUnit")
    if code is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/MeasureUnit", expected="a unit"))
    measured = unit(code, path)
    text = leaf(volume, "CalorificCorrectedVolume") or need(volume, "Volume", f"{path}/Volume")
    return Energy(
        start=days[0],
        end=days[-1],
        estimated="estimated" in natures,
        volume=Volume(
            grid="distributor",
            time_class=leaf(register, "TariffType") or SINGLE,
            quantity=Decimal(text),
            unit=measured.name,
            direction=_direction(register, path),
            purpose="calorific-corrected" if "CalorificCorrectedVolume" in volume else None,
        ),
    )


def _by_day(readings: list[Established], head: dict[str, Any], found: Point) -> Iterator[KernelMessage]:
    days: dict[datetime, list[Established]] = {}
    for reading in readings:
        days.setdefault(reading.at, []).append(reading)
    disputed = found.reason == DISPUTE
    for at, held in days.items():
        key = f"{found.ean}:{at.date()}"
        natures = {reading.nature for reading in held}
        meters = {reading.register.meter for reading in held}
        yield MeterReading(
            **{**head, "correlation": key if disputed else head["correlation"]},
            function="replace" if disputed else "original",
            effective=at,
            reading_reference=f"{key}:{DISPUTE}" if disputed else key,
            qualification=qualification(found.reason),
            nature=natures.pop() if len(natures) == 1 else "unknown",
            meter=meters.pop() if len(meters) == 1 else None,
            correction_reason=found.reason if disputed else None,
            registers=tuple(reading.register for reading in held),
        )


def _by_period(energies: list[Energy], head: dict[str, Any]) -> Iterator[KernelMessage]:
    periods: dict[tuple[datetime, datetime], list[Energy]] = {}
    for energy in energies:
        periods.setdefault((energy.start, energy.end), []).append(energy)
    for (start, end), held in periods.items():
        nature: VolumeNature = "estimated" if any(energy.estimated for energy in held) else "measured"
        volumes = tuple(energy.volume for energy in held)
        yield MeteredVolume(**head, effective=end, start=start, nature=nature, volumes=volumes)


def _nature(reading: Fields, path: str, notes: Notes) -> ReadingNature:
    return known_meaning(METHODS, reading, "ReadingMethod", path, notes) or "unknown"


def _direction(register: Fields, path: str) -> Direction:
    """The direction of a register; LVR where it is not told."""
    return meaning(DIRECTIONS, leaf(register, "MeteringDirection") or "LVR", f"{path}/MeteringDirection")


DIGESTER = Digester(digest, refer)
