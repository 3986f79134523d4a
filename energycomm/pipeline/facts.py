"""The facts that rules may read (`History`), computed from the state of an access point just before a message."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field, structs

from energycomm.kernel.history import NO_HISTORY, STATED, ComputedFacts, History, RegisterFacts, Stated
from energycomm.kernel.instants import EPOCH, instant, local_day
from energycomm.kernel.messages import (
    AggregatedSeries,
    GridCharge,
    KernelMessage,
    MeasureSeries,
    MeterData,
    MeteredVolume,
    MeterReading,
    PriceList,
    ReceivedRequest,
    RequestStatus,
    SettlementAmounts,
)
from energycomm.kernel.registers import register_key, register_keys
from energycomm.kernel.requests import MeterReadingSubmission
from energycomm.pipeline.measures import contradictions, other_values_of, sums_of, volume_facts
from energycomm.pipeline.state import AccessPointState, Period, ReadingState, identifier_key

DAY = 86_400_000_000

_CLOSED = frozenset(("done", "refused", "cancelled"))


def event_key(message: KernelMessage) -> str:
    """The key of an event: two messages with equal keys at one instant and different content contradict each other."""
    kind = type(message)
    detail = _DETAILS.get(kind)
    told = message.function if detail is None else detail(message)
    return f"{kind.__name__}|{message.market_type}|{message.market_reason}|{told}"


def _settlement_detail(message: Any) -> str:
    told = ("version", "grid_area", "settlement", "point_type", "supplier", "balance_responsible", "charge_code")
    return "|".join(str(getattr(message, name, None)) for name in (*told, "charge_owner", "charge_type"))


_DETAILS: dict[type, Callable[[Any], str]] = {
    MeterReading: lambda m: f"{m.qualification}|{m.function}",
    MeterData: lambda m: f"{m.action}|{m.meter}",
    RequestStatus: lambda m: f"{m.request}|{m.milestone}",
    GridCharge: lambda m: str(m.charge_reference),
    ReceivedRequest: lambda m: f"{m.reference}|{m.function}",
    MeasureSeries: lambda m: f"{m.register}|{m.product}|{m.direction}",
    AggregatedSeries: _settlement_detail,
    SettlementAmounts: _settlement_detail,
    PriceList: _settlement_detail,
}
"""Kind -> what tells its events of one source, reason and instant from each other; the function where nothing does."""


def find_original(state: AccessPointState, message: KernelMessage) -> ReadingState | None:
    """The reading or volume that a correction or cancellation is about: one of the same kind, source and instant.

    A correction that names its original (`correlation`: its reference, or what that begins with up to a colon) matches
    that one; else the only one there is. A later correction of the same reading matches whichever version of it holds;
    what was told again by another message is matched by its name only. Where a correction replaced one that it does not
    name, a cancellation of the latter may still come, and is about it.
    """
    kind, source = type(message).__name__, message.market_type
    there = [reading for reading in state.readings if reading.kind == kind and reading.source == source]
    holding = [reading for reading in there if reading.status != "replaced"]
    replaced = [reading for reading in there if reading.status == "replaced" and reading.unnamed]
    awaited = replaced if message.function == "cancel" else []
    for reading in (*awaited, *reversed(holding)):
        if names(message.correlation, reading):
            return reading
    # Nothing public says that a correction keeps the identifier: at one instant there is mostly one reading anyway.
    left = [reading for reading in holding if reading.status != "superseded"]
    return next((one[0] for one in (awaited, left) if len(one) == 1), None)


def names(named: str | None, reading: ReadingState) -> bool:
    """Whether a correlation names a reading or volume; nothing names any."""
    if named is None or named in (reading.reference, reading.own):
        return True
    return reading.reference is not None and reading.reference.startswith(f"{named}:")


class Ahead(Struct):
    """What messages say that come later in the walk, of the same instant or after it.

    Attributes:
      taken_back: instant -> (kind, source, reference) of the measures that messages of that instant cancel.
      starts: contract reference -> instant of the first start of supply that names it.
      first: instant of the first start of supply of the walk; None without one.
      readings: (instant, reading) of the readings that give indexes.
    """

    taken_back: dict[int, frozenset[tuple[str, str, str]]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    first: int | None = None
    readings: list[tuple[int, MeterReading]] = field(default_factory=list)

    def is_read(self, at: int, meter: str | None, key: str) -> bool:
        """Whether a reading gives the index of a register of a meter at an instant."""
        return meter is not None and any(
            key == register_key(register) and (register.meter or reading.meter) == meter
            for read_at, reading in self.readings
            if read_at == at
            for register in reading.registers
        )


NOTHING_AHEAD = Ahead()
NONE_TAKEN_BACK: frozenset[tuple[str, str, str]] = frozenset()

Facts = dict[str, Any]
"""The computed facts by name, all of them, in the order in which `History` takes them."""

_NOTHING: Facts = {name: getattr(NO_HISTORY, name) for name in ComputedFacts.__struct_fields__}
_stated: Callable[[Stated], tuple[object, ...]] = attrgetter(*STATED)


def history_of(
    state: AccessPointState, message: KernelMessage, at: int, zone: ZoneInfo, ahead: Ahead = NOTHING_AHEAD
) -> History:
    """The facts for one message.

    Args:
      state: what is remembered; already advanced to `at`.
      message: the message that will be judged.
      at: its effective instant in microseconds since the epoch.
      zone: the legal time of its market.
      ahead: what later messages say.
    """
    facts = _NOTHING.copy()
    if state.known:
        facts["known"] = True
    if state.periods:
        _supply_facts(facts, state.periods, message, at, zone)
    if ahead.first is not None:
        _facts_ahead(facts, state, message, at, ahead)
    if state.opening_at is not None:
        facts["opening_at"] = instant(state.opening_at)
        facts["opening_facts"] = " ".join(state.opening_facts) or None
    if state.last_reading is not None:
        facts["last_reading_at"] = instant(state.last_reading)
    if state.events and event_key(message) in state.events:
        facts["event_repeated"] = True
    if state.readings and message.function != "original":
        original = find_original(state, message)
        if original is not None:
            facts["original_found"] = True
            facts["original_cancelled"] = original.status == "cancelled"
    of_kind = _FACTS_OF_KIND.get(type(message))
    if of_kind is not None:
        of_kind(facts, state, message, at, zone, ahead)
    if state.requests:
        _request_facts(facts, state, message)
    return History(*facts.values(), *_stated(state.stated))


def _supply_facts(facts: Facts, periods: list[Period], message: KernelMessage, at: int, zone: ZoneInfo) -> None:
    last = periods[-1]
    facts["supply_start"] = instant(last.start)
    facts["supply_reference"] = last.known_reference
    facts["supply_from_opening"] = last.opening
    facts["supplier"] = last.supplier
    if last.end is None:
        facts["supplied"] = facts["supplied_until"] = True
    else:
        facts["supply_end"] = instant(last.end)
        if at <= last.end:
            facts["supplied_until"] = True
            facts["supplied"] = at < last.end
        facts["days_since_end"] = (local_day(zone, at) - local_day(zone, last.end)).days
    reference = message.contract_reference
    if reference is not None:
        for period in periods:
            if period.known_reference == reference or nameless(period):
                facts["reference_known"] = True
                if period.end is not None and period.end < at:
                    facts["reference_ended"] = True


def _facts_ahead(facts: Facts, state: AccessPointState, message: KernelMessage, at: int, ahead: Ahead) -> None:
    """The starts of supply that come later in the walk."""
    reference = message.contract_reference
    if reference is not None and not facts["reference_known"]:
        starts = ahead.starts.get(reference)
        if starts is not None and starts > at:
            facts["contract_starts_at"] = instant(starts)
    if not state.periods and ahead.first is not None and ahead.first > at:
        facts["first_start"] = instant(ahead.first)


def nameless(period: Period) -> bool:
    """Whether a period is one of an opening balance that did not name the contract: the first reference that the
    market names is its own."""
    return period.opening and period.known_reference is None


def generation_for(state: AccessPointState, reading: MeterReading | MeterReadingSubmission, at: int) -> int:
    """Which meter a reading is of: at the instant of a meter change, one before the event, or one that names another
    meter than the new one, is still of the meter before."""
    if at != state.generation_at:
        return state.generation
    before = isinstance(reading, MeterReading) and reading.qualification == "before-event"
    named = reading.meter or next((register.meter for register in reading.registers if register.meter), None)
    other = named is not None and state.stated.meter is not None and named != state.stated.meter
    return state.generation - 1 if before or other else state.generation


def _register_facts(
    state: AccessPointState, message: MeterReading | MeterReadingSubmission, at: int, zone: ZoneInfo, ahead: Ahead
) -> tuple[RegisterFacts, ...]:
    generation = generation_for(state, message, at)
    before, powers, changed = state.before, state.powers, state.generation_at >= 0
    since = until = None
    facts = []
    read_at, moment, days = -1, EPOCH, 0.0
    for key, register in zip(register_keys(message.registers), message.registers, strict=True):
        previous = before.get(key)
        if changed:
            since, until = _days_around_change(state, key, generation, at, zone)
            if until and at == state.generation_at and ahead.is_read(at, state.meter_before, key):
                until = 0  # the meter before is read at this instant too, in a message that comes later in the walk
        if previous is None:
            facts.append(
                _NO_REGISTER if since is None else RegisterFacts(days_since_change=since, days_to_change=until)
            )
            continue
        if previous.at != read_at:  # mostly all of them were read at one instant
            read_at, moment, days = previous.at, instant(previous.at), (at - previous.at) / DAY
        power = powers.get(register.time_class) if powers else None
        facts.append(
            RegisterFacts(  # by place: each reading makes some
                previous.wh,
                previous.unit,
                moment,
                days,
                previous.digits,
                previous.estimated,
                previous.meter,
                previous.generation != generation,
                since,
                until,
                Decimal(power) if power else None,
                None,  # another value: `_repetition_facts`
                previous.opening,
            )
        )
    return tuple(facts)


def _days_around_change(
    state: AccessPointState, key: str, generation: int, at: int, zone: ZoneInfo
) -> tuple[int | None, int | None]:
    """Days from the change of the meter to the first reading of a register on the new one, and from the last index of
    the meter before to the change. A register that the meter before did not have is compared with all that it had.

    None where the reading is not the first on the new meter, or nothing was read before within the supply.
    """
    changed, start = state.generation_at, state.periods[-1].start if state.periods else None
    if changed < 0 or generation != state.generation or start is None or changed <= start:
        return None, None
    here = [held for one in state.readings if one.status == "current" for held in one.registers.items()]
    same = [held for name, held in (*state.before.items(), *here) if name == key]
    known = same or [held for _, held in (*state.before.items(), *here)]
    old = [held.at for held in known if held.generation < generation and held.at >= start]
    if not old or len(old) < len([held for held in known if held.at >= start]):
        return None, None
    since = local_day(zone, at) - local_day(zone, changed)
    return since.days, (local_day(zone, state.removed_at) - local_day(zone, max(old))).days


def _repetition_facts(
    facts: Facts,
    state: AccessPointState,
    message: MeterReading | MeteredVolume,
    taken_back: frozenset[tuple[str, str, str]],
    registers: tuple[RegisterFacts, ...],
) -> tuple[RegisterFacts, ...]:
    """What is known of a measure that is told again; the facts of its parts, with the other values."""
    named = message.reading_reference
    if named is not None and identifier_key(type(message).__name__, message.market_type, named) in state.identifiers:
        facts["identifier_used"] = True
    if not state.readings or message.function != "original":
        return registers
    others = contradictions(state, message, taken_back)
    if not others:
        return registers
    facts["told_otherwise"] = True
    if isinstance(message, MeteredVolume):
        return volume_facts(others, message)
    return tuple(
        structs.replace(known, other_value=others[place]) if place in others else known
        for place, known in enumerate(registers)
    )


_NO_REGISTER = RegisterFacts()


def _request_facts(facts: Facts, state: AccessPointState, message: KernelMessage) -> None:
    own = message.request if isinstance(message, RequestStatus) else message.request_reference
    pending = 0
    for reference, memory in state.requests.items():
        if reference == own:
            facts["request_known"] = True
            facts["request_state"] = memory.state
            facts["request_milestone"] = memory.milestone
            facts["request_milestone_at"] = instant(memory.at)
        elif memory.state not in _CLOSED:
            pending += 1
    if pending:
        facts["pending_requests"] = pending


# --- facts that messages of one kind ask for -------------------------------------------------------------------------


def _meter_facts(facts: Facts, state: AccessPointState, message: Any, at: int, zone: ZoneInfo, ahead: Ahead) -> None:
    facts["meter_of_supply"] = 0 <= state.metered < at
    facts["meter_known"] = _meter_known(state, message.meter, at)


def _meter_known(state: AccessPointState, meter: str | None, at: int) -> bool:
    return (at == state.generation_at and meter == state.meter_before) or meter in state.meters


def _submission_facts(
    facts: Facts, state: AccessPointState, message: Any, at: int, zone: ZoneInfo, ahead: Ahead
) -> None:
    facts["registers"] = _register_facts(state, message, at, zone, ahead)


def _reading_facts(
    facts: Facts, state: AccessPointState, message: MeterReading, at: int, zone: ZoneInfo, ahead: Ahead
) -> None:
    facts["meter_known"] = _meter_known(state, message.meter, at)
    registers = _register_facts(state, message, at, zone, ahead)
    if state.curves:
        sums = sums_of(state, message, at, generation_for(state, message, at), zone)
        if sums is not None:
            facts["rise_since"], facts["rise_wh"], facts["curve_wh"] = instant(sums.since), sums.rise, sums.curve
    taken_back = ahead.taken_back.get(at, NONE_TAKEN_BACK)
    facts["registers"] = _repetition_facts(facts, state, message, taken_back, registers)


def _volume_facts(
    facts: Facts, state: AccessPointState, message: MeteredVolume, at: int, zone: ZoneInfo, ahead: Ahead
) -> None:
    taken_back = ahead.taken_back.get(at, NONE_TAKEN_BACK)
    facts["registers"] = _repetition_facts(facts, state, message, taken_back, ())


def _series_facts(
    facts: Facts, state: AccessPointState, message: MeasureSeries, at: int, zone: ZoneInfo, ahead: Ahead
) -> None:
    if state.curves:
        facts["other_values_of"] = other_values_of(state, message, zone)


def _charge_facts(
    facts: Facts, state: AccessPointState, message: GridCharge, at: int, zone: ZoneInfo, ahead: Ahead
) -> None:
    facts["charge_repeated"] = message.charge_reference in state.charges


_FACTS_OF_KIND: dict[type, Callable[[Facts, AccessPointState, Any, int, ZoneInfo, Ahead], None]] = {
    MeterData: _meter_facts,
    MeterReading: _reading_facts,
    MeterReadingSubmission: _submission_facts,
    MeteredVolume: _volume_facts,
    MeasureSeries: _series_facts,
    GridCharge: _charge_facts,
}
