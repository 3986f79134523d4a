"""What an accepted message does: it changes the state of its access point and writes rows of the domain tables.

Each verb of the qualification rules is one function here; `VERB_FUNCTIONS` is the visible table of them. A function
gets the `Step` and changes `step.state`; rows go to `step.rows`, by name of column, without their id. What the fields
of a message declare is kept and remembered by `store`; the other functions compute something more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import cache
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct
from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.arrays import NONE, parts_json
from energycomm.eis.bulk import Row
from energycomm.eis.domain import array_columns, row_of
from energycomm.eis.fitting import ordered
from energycomm.kernel.history import stated_by
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import ContractTerms, EndOfSupply, KernelMessage
from energycomm.kernel.opening import is_opening
from energycomm.kernel.personal import ERASED
from energycomm.kernel.registers import WH_PER_UNIT, register_key, register_keys
from energycomm.pipeline.facts import event_key, find_original, generation_for, nameless
from energycomm.pipeline.measures import (
    curve_key,
    finest,
    places_in,
    remember_curve,
    role_of,
    spans_of,
    stream_key,
    supersede,
    volume_key,
)
from energycomm.pipeline.state import (
    MAX_CHARGES,
    MAX_METERS,
    MAX_REQUESTS,
    AccessPointState,
    Period,
    ReadingState,
    RegisterState,
    RequestMemory,
    Told,
    common,
    without,
)

DomainRow = dict[str, Any]
Rows = dict[Table, list[DomainRow]]


class Step(Struct):
    """One accepted message while its verbs are carried out.

    Attributes:
      state: state of the access point; changed.
      message: the accepted message; its kind is the one the verb is for.
      at: effective instant, microseconds since the epoch.
      message_id: id of the message in the EIS.
      access_point_id: id of the access point in the EIS; None where the message names none.
      rows: rows to insert, by table; grown. None where nobody stores them.
      zone: the legal time in which days are counted.
    """

    state: AccessPointState
    message: Any
    at: int
    message_id: int
    access_point_id: int | None
    rows: Rows | None
    zone: ZoneInfo = ZoneInfo("UTC")

    def write(self, **computed: object) -> None:
        """Add the domain row of the message: its declared fields and the computed columns."""
        if self.rows is None:
            return
        kind: type[KernelMessage] = type(self.message)
        table, alone = _place_of(kind)
        row = row_of(self.message)
        row["at"], row["message_id"] = self.at, self.message_id
        if not alone:
            row["access_point_id"] = self.access_point_id
        row.update(computed)
        written = self.rows.get(table)
        if written is None:
            self.rows[table] = [row]
        else:
            written.append(row)

    def written(self, table: Table) -> Sequence[DomainRow]:
        """The rows of a table that messages wrote which are judged together with this one."""
        return () if self.rows is None else self.rows[table]

    def remember(self) -> None:
        """Keep the values that the message states in the state, as declared."""
        message, known = self.message, self.state.stated
        kind: type[KernelMessage] = type(message)
        facts = stated_by(kind)
        for name, fact in facts:
            value = getattr(message, name)
            if value is not None:
                setattr(known, fact, value)
        if self.state.opening_at is not None:
            stated = [fact for name, fact in facts if getattr(message, name) is not None]
            others = set(self.state.opening_facts).difference(stated)
            self.state.opening_facts = sorted(others.union(stated) if is_opening(self.message) else others)


@cache
def _place_of(kind: type[KernelMessage]) -> tuple[Table, bool]:
    """The domain table of a kind, and whether its rows belong to no access point."""
    assert kind.kept is not None
    table = tables.metadata.tables[kind.kept.table]
    return table, table in tables.ALONE


def contents(table: Table, rows: Sequence[DomainRow]) -> list[Row]:
    """Domain rows as they would be read (`content`)."""
    return [content(table, row) for row in ordered(table, [{**row, "id": 0} for row in rows])]


def content(table: Table, row: Row) -> Row:
    """What a domain row says, all its columns given: those but the id, parts as JSON in whichever form they are kept.
    Rows that say the same are equal."""
    places = _array_places(table)
    if not places:
        return row[1:]
    told = list(row)
    for place in places:
        if told[place] is not None:
            told[place] = parts_json(told[place])
    return tuple(told[1:])


@cache
def _array_places(table: Table) -> tuple[int, ...]:
    arrays = array_columns(table.name)
    return tuple(place for place, column in enumerate(table.columns) if column.name in arrays)


def open_supply(step: Step) -> None:
    """A supply period begins; its contract terms are those that come with it, not those of the span before.

    The opening balance and the market may both tell the same start: whichever comes second adds what it knows of the
    contract's reference, and no second period begins.
    """
    m, state = step.message, step.state
    opening = is_opening(m)
    if opening:
        state.opening_at = micros(m.created)
    last = state.periods[-1] if state.periods else None
    if last is not None and last.end is None and (opening or last.opening):
        last.adopted = m.contract_reference or last.adopted
        last.opening = last.opening and opening
        return
    for _, fact in stated_by(ContractTerms):
        setattr(state.stated, fact, None)
        state.opening_facts = [name for name in state.opening_facts if name != fact]
    state.metered = -1
    state.periods.append(
        Period(
            start=step.at,
            message=step.message_id,
            reference=m.contract_reference,
            supplier=m.supplier,
            reason=m.market_reason or m.reason,
            opening=opening,
        )
    )


def close_supply(step: Step) -> None:
    """The supply period with the message's contract reference, else the running one, ends.

    The cancellation of an end takes the end back; the cancellation of a start leaves a period without length.
    """
    m = step.message
    taken_back = m.function == "cancel" and isinstance(m, EndOfSupply)
    for period in reversed(step.state.periods):
        if taken_back:
            if period.end == step.at and m.contract_reference in (None, period.known_reference):
                period.end = period.end_reason = period.end_message = None
                return
            continue
        if period.end is None and (
            m.contract_reference is None or period.known_reference in (None, m.contract_reference)
        ):
            period.end = step.at
            period.end_reason = m.market_reason or m.reason
            period.end_message = step.message_id
            return


def store(step: Step, **computed: object) -> None:
    """Store the fields of a message in its domain row and in the state, as declared, with the computed columns."""
    step.remember()
    if isinstance(step.message, ContractTerms):
        subscribed = (power for power in step.message.powers if power.nature == "subscribed")
        step.state.powers = {power.time_class: f"{power.value:f}" for power in subscribed}
    step.write(**computed)


def store_customer(step: Step) -> None:
    """The customer behind the point, with the name in one piece."""
    m = step.message
    parts = [part for part in (m.first_name, m.name_prefix, m.surname) if part]
    if ERASED in parts:  # an erasure leaves one sign, however many parts the name had
        parts = [ERASED]
    store(step, name=m.company or " ".join(parts) or None)


def store_meter(step: Step) -> None:
    """A meter that is in place, was installed, or removed. Another serial number in place means the meter was
    changed; before the first message about the meter, readings may have named the one that was there."""
    m, state = step.message, step.state
    if m.action != "removed":
        known = state.stated.meter
        before = {known} if known else {held.meter for held in state.before.values() if held.meter}
        beside = state.meters if m.action != "installed" else ()
        if m.meter is not None and before and m.meter not in before and m.meter not in beside:
            state.generation += 1
            state.generation_at, state.meter_before = step.at, known
            if known is None or known in state.meters:
                state.removed_at = step.at
            if m.action == "installed" and state.meters == [known]:
                state.meters = []
        step.remember()
    elif m.meter == state.stated.meter:
        state.removed_at = step.at
    if m.meter is not None:
        if state.metered < 0:
            state.metered = step.at
        left = [one for one in state.meters if one != m.meter]
        state.meters = left if m.action == "removed" else [*left, m.meter][-MAX_METERS:]
    step.write()


def store_reading(step: Step) -> None:
    """A reading, its correction or its cancellation.

    A correction replaces the reading it names and a cancellation takes it back: the original's row keeps its values
    and gets the status `replaced` or `cancelled`. What another reading of the same source told of a register at this
    instant is told anew: it is current in one row.
    """
    m, state = step.message, step.state
    if m.function != "original":
        _settle_original(step, tables.reading)
    if m.function == "cancel":
        step.write(status="cancels", maximum_power=None, registers=NONE)
        return
    _supersede(step, tables.reading, "registers", register_key)
    estimated = m.nature in ("estimated", "unknown")
    generation, opening, at = generation_for(state, m, step.at), is_opening(m), step.at
    registers = {}
    for key, register in zip(register_keys(m.registers), m.registers, strict=True):
        unit = WH_PER_UNIT.get(register.unit, 1)
        registers[key] = RegisterState(
            register.value * unit,
            unit,
            at,
            register.digits,
            estimated,
            register.meter or m.meter,
            generation,
            opening,
        )
    state.readings.append(
        ReadingState(
            "MeterReading",
            m.market_type,
            m.reading_reference,
            m.reference,
            "current",
            step.message_id,
            estimated,
            registers,
            role_of(m),
            stream=m.stream,
        )
    )
    step.write(status="current")


def store_volume(step: Step) -> None:
    """Energies of a period, their correction or cancellation."""
    m = step.message
    if m.function != "original":
        _settle_original(step, tables.volume)
    cancels = m.function == "cancel"
    if not cancels:
        _supersede(step, tables.volume, "volumes", volume_key)
        energies = {volume_key(one): f"{finest(one):f}" for one in m.volumes}
        step.state.readings.append(
            ReadingState(
                "MeteredVolume",
                m.market_type,
                m.reading_reference,
                m.reference,
                "current",
                step.message_id,
                role=role_of(m),
                energies=energies,
            )
        )
    step.write(status="cancels", volumes=NONE) if cancels else step.write(status="current")


def _settle_original(step: Step, table: Table) -> None:
    original = find_original(step.state, step.message)
    if original is None:
        return
    original.status = "cancelled" if step.message.function == "cancel" else "replaced"
    named = step.message.correlation in (original.reference, original.own)
    original.unnamed = original.status == "replaced" and not named
    for row in step.written(table):  # a correction and its original share an instant: they are always judged together
        if row["message_id"] == original.message:
            row["status"] = original.status
            return


Key = Callable[[Any], object]


def _supersede(step: Step, table: Table, column: str, key_of: Key) -> None:
    """Take what the message tells anew out of the rows that told it before."""
    for known, gone in supersede(step.state, step.message) if step.state.readings else ():
        _take_out(step, table, known.message, column, key_of, gone)


def _take_out(step: Step, table: Table, message_id: int, column: str, key_of: Key, gone: Set[object]) -> None:
    """Take parts out of the row of a message of the same instant; one that loses all keeps them and is replaced."""
    for row in step.written(table):  # what may lose parts to a message is always judged together with it
        if row["message_id"] == message_id and row["status"] == "current":
            parts = row[column]
            left = [one for one in parts if key_of(one) not in gone]
            if any(getattr(one, "value", one) is not None for one in left) or len(left) == len(parts):
                row[column] = left
            else:
                row["status"] = "replaced"


def store_series(step: Step) -> None:
    """An interval series. What another one of the same kind told of its intervals from the same instant on is told
    anew: it is current in one row. Of a stream, of each interval the newest publication is current, whichever source
    it is of and wherever its series begins."""
    m, series = step.message, step.state.series
    remember_curve(step.state, m, step.zone)
    stream = stream_key(m)
    if stream is not None:
        _tell(step, stream)
        return
    key = curve_key(m)
    if any(known == key for _, known in series):
        told = {one.position for one in m.positions if one.value is not None}
        for message_id, known in series:
            if known == key:
                _take_out(step, tables.series, message_id, "positions", attrgetter("position"), told)
    series.append((step.message_id, key))
    store(step, status="current")


def _tell(step: Step, stream: str) -> None:
    """A series of a stream: it takes its intervals out of older publications, and newer ones take theirs out of it."""
    m, state = step.message, step.state
    store(step, status="current")
    spans = spans_of(m)
    end = spans[-1][1] if spans else step.at
    ours = Told(stream, step.message_id, step.at, end, micros(m.created), spans)
    for known in state.told:
        both = common(known.spans, ours.spans) if known.stream == stream else []
        if both:
            older = ours if known.created > ours.created and known.at < ours.at else known
            older.spans = without(older.spans, both)
            gone = places_in(older, m.resolution, both)
            _take_out(step, tables.series, older.message, "positions", attrgetter("position"), gone)
    state.told.append(ours)
    curves = state.streams.setdefault(stream, [])
    if curve_key(m) not in curves:
        curves.append(curve_key(m))


def store_charge(step: Step) -> None:
    """A line group of a grid invoice."""
    charges = step.state.charges
    charges.append(step.message.charge_reference)
    del charges[:-MAX_CHARGES]
    store(step)


def follow_request(step: Step) -> None:
    """A milestone of a request."""
    m, requests = step.message, step.state.requests
    memory = requests.get(m.request)
    if memory is None or (m.milestone or 0) >= (memory.milestone or 0):
        requests.pop(m.request, None)
        requests[m.request] = RequestMemory(m.state, m.milestone, step.at)
        if len(requests) > MAX_REQUESTS:
            del requests[next(iter(requests))]
    store(step)


VERB_FUNCTIONS: dict[str, Callable[[Step], None]] = {
    "open-supply": open_supply,
    "close-supply": close_supply,
    "store": store,
    "store-customer": store_customer,
    "store-meter": store_meter,
    "store-reading": store_reading,
    "store-volume": store_volume,
    "store-series": store_series,
    "store-charge": store_charge,
    "follow-request": follow_request,
}
"""Verb of a qualification rule -> what it does. `notify` and `wait` are the pipeline's own."""


def accept(step: Step) -> None:
    """Record that a message was accepted; the first contract reference that the market names is that of a supply of
    which the opening balance named none."""
    reference, periods = step.message.contract_reference, step.state.periods
    if reference is not None and periods and nameless(periods[-1]):
        periods[-1].adopted = reference
    step.state.known = True
    step.state.events.append(event_key(step.message))
