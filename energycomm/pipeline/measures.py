"""Measures that are told more than once: what accepted messages of the same source say of the same registers, energies
or intervals. One value of each may be current. Which one it is, rules decide: a contradiction is refused, or the
newest publication takes the place of the ones before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple
from zlib import crc32
from zoneinfo import ZoneInfo

from energycomm.kernel.history import RegisterFacts
from energycomm.kernel.instants import local_day, micros, midnight
from energycomm.kernel.messages import MeasureSeries, MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume
from energycomm.kernel.registers import WH_PER_UNIT, counted, register_key
from energycomm.pipeline.state import AccessPointState, CurveDay, ReadingState, Spans, Told, joined

_WATTS = {"W": 1, "kW": 1000}
_ENERGIES = {"Wh": 1, "kWh": 1000}
_ACTIVE = frozenset((None, "active", "active-energy"))

MINUTE = 60_000_000
MOST_DAYS = 62
"""Days of one curve that are remembered: two months between readings."""
DAYS_BACK = 7
"""Days before the last reading that stay remembered, to recognise them when they are told again."""


# --- readings and energies -------------------------------------------------------------------------------------------


def volume_key(volume: Volume) -> str:
    """What makes two energies of a period the same."""
    return f"{volume.grid[0]}{volume.direction[0]}{volume.time_class}{counted(volume)}|{volume.purpose or ''}"


def finest(volume: Volume) -> Decimal:
    """The energy in the finest unit of its quantity."""
    return volume.quantity * WH_PER_UNIT.get(volume.unit, 1)


def role_of(message: MeterReading | MeteredVolume) -> str:
    """What lets two readings of one instant stand side by side: before and after an event; and two energies of one
    period: a regularisation beside what it regularises, and another start."""
    if isinstance(message, MeterReading):
        return message.qualification
    start = "" if message.start is None else str(micros(message.start))
    return f"{start}|{'regularised' if message.nature == 'regularised' else ''}"


def told_before(state: AccessPointState, message: MeterReading | MeteredVolume) -> Iterator[ReadingState]:
    """The current measures of the message's instant that tell of the same: those of its kind, source or stream, and
    role, and the one that bears its identifier."""
    kind, role, named = type(message).__name__, role_of(message), message.reading_reference
    stream = message.stream if isinstance(message, MeterReading) else None
    for known in state.readings:
        same = known.source == message.market_type or (stream is not None and known.stream == stream)
        if known.kind == kind and same and known.status == "current":
            same_name = named is not None and named == known.reference
            if known.role == role or (same_name and isinstance(message, MeterReading)):
                yield known


def same_register(known: ReadingState, message: MeterReading, register: Register) -> bool:
    """Whether a known reading gives the index of a register, of the same meter as far as both are named."""
    held = known.registers.get(register_key(register))
    if held is None:
        return False
    meter = register.meter or message.meter
    return meter is None or held.meter is None or meter == held.meter


def other_index(known: ReadingState, message: MeterReading, register: Register) -> Decimal | None:
    """Another index that a known reading gives of a register, in the register's unit; None if it gives none, or the
    same: two units are compared by the coarser one."""
    if not same_register(known, message, register):
        return None
    held, unit = known.registers[register_key(register)], WH_PER_UNIT.get(register.unit, 1)
    if abs(held.wh - register.value * unit) < max(unit, held.unit):
        return None
    return Decimal(held.wh) / unit


def other_energy(known: ReadingState, volume: Volume) -> Decimal | None:
    """Another quantity that a known message gives of an energy, in the energy's unit; None if it gives none, or the
    same."""
    held = known.energies.get(volume_key(volume))
    if held is None or (quantity := Decimal(held)) == finest(volume):
        return None
    return quantity / WH_PER_UNIT.get(volume.unit, 1)


def contradictions(
    state: AccessPointState, message: MeterReading | MeteredVolume, taken_back: frozenset[tuple[str, str, str]]
) -> dict[int, Decimal]:
    """The registers or energies of a message of which another value is current, by their places.

    Args:
      state: just before the message.
      message: the message.
      taken_back: (kind, source, reference) of the measures that the market cancels at this instant: they contradict
        nothing, wherever their cancellation stands.
    """
    found: dict[int, Decimal] = {}
    for known in told_before(state, message):
        if taken_back and any((known.kind, known.source, name) in taken_back for name in (known.reference, known.own)):
            continue
        parts = message.registers if isinstance(message, MeterReading) else message.volumes
        for place, part in enumerate(parts):
            other = (
                other_index(known, message, part)
                if isinstance(message, MeterReading) and isinstance(part, Register)
                else other_energy(known, part)
                if isinstance(part, Volume)
                else None
            )
            if other is not None:
                found.setdefault(place, other)
    return found


def volume_facts(others: dict[int, Decimal], message: MeteredVolume) -> tuple[RegisterFacts, ...]:
    """The facts of each energy of a message of which another value is known."""
    return tuple(RegisterFacts(other_value=others.get(place)) for place in range(len(message.volumes)))


def supersede(
    state: AccessPointState, message: MeterReading | MeteredVolume
) -> Iterator[tuple[ReadingState, set[str]]]:
    """Take out of the current measures what a message tells anew: one value of a register or energy is current.

    Yields:
      Each measure that loses something, and the keys that it loses; one that loses all has the status ``superseded``.
    """
    for known in list(told_before(state, message)):
        if isinstance(message, MeterReading):
            gone = {register_key(one) for one in message.registers if same_register(known, message, one)}
            left: dict[str, object] = {key: one for key, one in known.registers.items() if key not in gone}
            known.registers = left  # type: ignore[assignment]
        else:
            gone = {key for one in message.volumes if (key := volume_key(one)) in known.energies}
            left = {key: one for key, one in known.energies.items() if key not in gone}
            known.energies = left  # type: ignore[assignment]
        if gone:
            if not left:
                known.status = "superseded"
            yield known, gone


# --- curves ----------------------------------------------------------------------------------------------------------


def curve_key(series: MeasureSeries) -> str:
    """What makes two series the same: source, nature, quantity, direction, register, unit and step."""
    parts = (
        series.market_type,
        series.market_reason,
        series.product,
        series.direction,
        series.register,
        series.unit,
        series.resolution,
    )
    return "|".join("" if part is None else str(part) for part in parts)


def stream_key(series: MeasureSeries) -> str | None:
    """What makes two curves of a stream the same, whichever source tells them and in whatever unit of power; None
    without a stream."""
    if series.stream is None or not series.resolution:
        return None
    unit = "W" if series.unit in _WATTS else series.unit
    parts = (series.stream, series.product, series.direction, series.register, unit, series.resolution)
    return "|".join("" if part is None else str(part) for part in parts)


def spans_of(series: MeasureSeries) -> list[tuple[int, int]]:
    """The spans that a series gives values of, in microseconds since the epoch."""
    step, begin = (series.resolution or 0) * MINUTE, micros(series.effective)
    starts = (begin + (one.position - 1) * step for one in series.positions if one.value is not None)
    return joined([(at, at + step) for at in starts])


def places_in(series: Told, minutes: int, spans: Spans) -> set[int]:
    """The places of a series, whose intervals are so many minutes long, that have a part in some spans."""
    step = minutes * MINUTE
    return {
        place for low, high in spans for place in range((low - series.at) // step + 1, 1 - (series.at - high) // step)
    }


def curve_days(series: MeasureSeries, zone: ZoneInfo) -> list[CurveDay]:
    """A series by civil days: marks of its places and values, and its energy where it is known and the day is whole.

    Args:
      series: with a step in minutes.
      zone: the legal time in which days are counted.
    """
    if not series.resolution or not series.positions:
        return []
    step, begin = series.resolution * MINUTE, micros(series.effective)
    found: list[CurveDay] = []
    day = local_day(zone, begin)
    opens, closes = micros(midnight(zone, day)), micros(midnight(zone, day + timedelta(days=1)))
    slots: list[str] = []
    values: list[str] = []
    total = Decimal(0)

    def close() -> None:
        if slots:
            whole = len(slots) * step == closes - opens
            slot, value = crc32(" ".join(slots).encode()), crc32(" ".join(values).encode())
            found.append(CurveDay(day.toordinal(), slot, value, _energy(series, total) if whole else None))

    for one in sorted(series.positions, key=lambda position: position.position):
        at = begin + (one.position - 1) * step
        if at >= closes:
            close()
            slots, values, total = [], [], Decimal(0)
            day = local_day(zone, at)
            opens, closes = micros(midnight(zone, day)), micros(midnight(zone, day + timedelta(days=1)))
        if one.value is not None:
            slots.append(str((at - opens) // MINUTE))
            values.append(f"{one.value.normalize():f}")
            total += one.value
    close()
    return found


def _energy(series: MeasureSeries, total: Decimal) -> int | None:
    if series.direction != "consumption" or series.product not in _ACTIVE or series.register is not None:
        return None
    if series.unit in _WATTS and series.resolution:
        return round(total * _WATTS[series.unit] * series.resolution / 60)
    return round(total * _ENERGIES[series.unit]) if series.unit in _ENERGIES else None


def other_values_of(state: AccessPointState, series: MeasureSeries, zone: ZoneInfo) -> date | None:
    """The first day of which a series gives other values than a known one of the same kind: the same places of the
    day, and not the same values."""
    known = {day.day: day for day in state.curves.get(curve_key(series), ())}
    if not known or local_day(zone, micros(series.effective)).toordinal() > max(known):
        return None
    for day in curve_days(series, zone):
        held = known.get(day.day)
        if held is not None and held.slots == day.slots and held.values != day.values:
            return date.fromordinal(day.day)
    return None


def remember_curve(state: AccessPointState, series: MeasureSeries, zone: ZoneInfo) -> None:
    """Keep the days of a series; those that were known are told anew."""
    days = {day.day: day for day in state.curves.get(curve_key(series), ())}
    days.update((day.day, day) for day in curve_days(series, zone))
    if state.last_reading is not None:
        first = local_day(zone, state.last_reading).toordinal() - DAYS_BACK
        days = {number: day for number, day in days.items() if number >= first}
    kept = [days[number] for number in sorted(days)]
    today = local_day(zone, micros(series.effective)).toordinal()
    past = sum(day.day < today for day in kept)
    state.curves[curve_key(series)] = kept[max(0, past - MOST_DAYS) :][: MOST_DAYS + min(past, MOST_DAYS)]


class Sums(NamedTuple):
    """What the indexes of a reading rise by since the ones before, and what a curve says of the same days.

    Attributes:
      since: instant of the indexes before.
      rise, curve: in Wh.
    """

    since: int
    rise: int
    curve: int


def sums_of(state: AccessPointState, message: MeterReading, at: int, generation: int, zone: ZoneInfo) -> Sums | None:
    """The rise of the indexes of a reading beside the sum of the curve that comes nearest to it. The sources of a
    stream are one curve: each of them tells some of the days, and what two of them tell counts once.

    None where they cannot be compared: a register is missing, passed through zero, or is of another meter; the indexes
    are not of midnight; a day of the curve is not whole; or they differ by no more than the indexes are rounded.
    """
    grid = "distributor" if any(one.grid == "distributor" for one in message.registers) else "supplier"
    ours = [
        one
        for one in message.registers
        if one.grid == grid and one.direction == "consumption" and one.product is None and one.unit in _INDEXES
    ]
    before = {register_key(one): state.before.get(register_key(one)) for one in ours}
    known = [one for one in before.values() if one is not None and one.generation == generation]
    instants = {one.at for one in known}
    if not ours or len(known) != len(ours) or len(instants) != 1 or any(one.rollover for one in ours):
        return None
    (since,) = instants
    others = (key for key, one in state.before.items() if one.at == since and key.startswith(f"{grid[0]}c"))
    if any(key not in before for key in others if "|" not in key):
        return None
    first, last = _midnight_at(zone, since), _midnight_at(zone, at)
    if first is None or last is None or not 0 < last - first <= MOST_DAYS:
        return None
    rise = sum(one.value * WH_PER_UNIT[one.unit] for one in ours) - sum(one.wh for one in known)
    totals = []
    in_stream = {key for curves in state.streams.values() for key in curves}
    for curves in (*state.streams.values(), *([key] for key in state.curves if key not in in_stream)):
        days = [day for key in curves for day in state.curves.get(key, ()) if first <= day.day < last]
        energy = {day.day: day.wh for day in days if day.wh is not None}
        if len(energy) == last - first:
            totals.append(sum(energy.values()))
    if not totals:
        return None
    nearest = min(totals, key=lambda total: (abs(total - rise), total))
    rounding = sum(WH_PER_UNIT[one.unit] for one in ours) + sum(one.unit for one in known)
    return Sums(since, rise, nearest) if abs(nearest - rise) > rounding else None


_INDEXES = frozenset(("Wh", "kWh", "MWh"))
_NEAR = 10 * MINUTE


def _midnight_at(zone: ZoneInfo, at: int) -> int | None:
    """The day that begins at an instant, give or take some minutes; None where none does."""
    day = local_day(zone, at + _NEAR)
    return day.toordinal() if abs(micros(midnight(zone, day)) - at) <= _NEAR else None
