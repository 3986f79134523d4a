"""What an accepted message does: it changes the state of its access point and writes rows of the domain tables.

Each verb of the qualification rules is one function here; `VERB_FUNCTIONS` is the visible table of them. A function
gets the `Step` and changes `step.state`; rows go to `step.rows`, by name of column, without their id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.bulk import Row
from energycomm.eis.fitting import ordered
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import EndOfSupply, KernelMessage
from energycomm.pipeline.facts import WH_PER_UNIT, event_key, find_original, generation_for, register_key
from energycomm.pipeline.state import (
    MAX_CHARGES,
    MAX_REQUESTS,
    AccessPointState,
    Period,
    ReadingState,
    RegisterState,
    RequestMemory,
)

DomainRow = dict[str, Any]
Rows = dict[Table, list[DomainRow]]

_json = msgspec.json.Encoder(decimal_format="string")


class Step(Struct):
    """One accepted message while its verbs are carried out.

    Attributes:
      state: state of the access point; changed.
      message: the accepted message; its kind is the one the verb is for.
      at: effective instant, microseconds since the epoch.
      message_id: id of the message in the EIS.
      access_point_id: id of the access point in the EIS; None where the message names none.
      rows: rows to insert, by table; grown.
    """

    state: AccessPointState
    message: Any
    at: int
    message_id: int
    access_point_id: int | None
    rows: Rows

    def write(self, table: Table, **columns: object) -> None:
        """Add one domain row; the columns that all domain tables have are filled in."""
        columns["access_point_id"] = self.access_point_id
        self.write_alone(table, **columns)

    def write_alone(self, table: Table, **columns: object) -> None:
        """Add one row to a domain table of what belongs to no access point."""
        columns["at"], columns["message_id"] = self.at, self.message_id
        rows = self.rows.get(table)
        if rows is None:
            self.rows[table] = [columns]
        else:
            rows.append(columns)


def contents(table: Table, rows: Sequence[DomainRow]) -> list[Row]:
    """Domain rows as they would be read: each column but the id, in the order of the table."""
    return [row[1:] for row in ordered(table, [{**row, "id": 0} for row in rows])]


def _text(parts: Sequence[Struct]) -> str:
    """Parts of a message as JSON, without what is absent.

    Equal parts give equal text: the encoder's own way to leave defaults out asks whether a value is the very object of
    the default, which depends on where the part came from.
    """
    plain = [
        {name: value for name in part.__struct_fields__ if (value := getattr(part, name)) is not None} for part in parts
    ]
    return _json.encode(plain).decode()


def _fields(message: KernelMessage) -> str:
    """The fields of a message that are its own, not those of the head, as JSON."""
    own = {name: getattr(message, name) for name in message.__struct_fields__[_HEAD:]}
    return _json.encode({name: value for name, value in own.items() if value is not None}).decode()


_HEAD = len(KernelMessage.__struct_fields__)


def open_supply(step: Step) -> None:
    """A supply period begins; its contract terms are those that come with it, not those of the span before."""
    m, state = step.message, step.state
    state.tariff = state.power = state.sequence = state.calendar = None
    state.periods.append(
        Period(
            start=step.at,
            message=step.message_id,
            reference=m.contract_reference,
            supplier=m.supplier,
            reason=m.market_reason or m.reason,
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
            if period.end == step.at and m.contract_reference in (None, period.reference):
                period.end = period.end_reason = period.end_message = None
                return
            continue
        if period.end is None and (m.contract_reference is None or period.reference in (None, m.contract_reference)):
            period.end = step.at
            period.end_reason = m.market_reason or m.reason
            period.end_message = step.message_id
            return


def store_contract(step: Step) -> None:
    """The terms of the contract from now on."""
    m, state = step.message, step.state
    if m.tariff is not None:
        state.tariff = m.tariff
    if m.subscribed_power is not None:
        state.power = m.subscribed_power
    if m.sequence is not None:
        state.sequence = m.sequence
    if m.calendar is not None:
        state.calendar = m.calendar
    step.write(
        tables.contract,
        reference=m.contract_reference,
        status=m.contract_status,
        sequence=m.sequence,
        tariff=m.tariff,
        subscribed_power=None if m.subscribed_power is None else format(m.subscribed_power, "f"),
        power_unit=m.power_unit,
        calendar=m.calendar,
    )


def store_point(step: Step) -> None:
    """Technical data of the point."""
    m, state = step.message, step.state
    if m.segment is not None:
        state.segment = m.segment
    if m.connection_status is not None:
        state.connection = m.connection_status
    if m.service_level is not None:
        state.service_level = m.service_level
    step.write(
        tables.point_data,
        segment=m.segment,
        connection_status=m.connection_status,
        service_level=m.service_level,
        content=_fields(m),
    )


def store_customer(step: Step) -> None:
    """The customer behind the point."""
    m = step.message
    name = m.company or " ".join(part for part in (m.first_name, m.surname) if part) or None
    step.write(tables.customer, category=m.category, name=name, content=_fields(m))


def store_meter(step: Step) -> None:
    """A meter that is in place, was installed, or removed. Another serial number in place means the meter was
    changed; before the first message about the meter, readings may have named the one that was there."""
    m, state = step.message, step.state
    if m.meter is not None and m.action != "removed" and m.meter != state.meter:
        before = {state.meter} if state.meter else {held.meter for held in state.before.values() if held.meter}
        if before and m.meter not in before:
            state.generation += 1
            state.generation_at = step.at
        state.meter = m.meter
    step.write(tables.meter, serial=m.meter, action=m.action, type=m.meter_type)


def store_reading(step: Step) -> None:
    """A reading, its correction or its cancellation.

    A correction replaces the reading it names and a cancellation takes it back: the original's row keeps its values
    and gets the status `replaced` or `cancelled`.
    """
    m, state = step.message, step.state
    if m.function != "original":
        _settle_original(step, tables.reading)
    if m.function == "cancel":
        _write_reading(step, "cancels", None, "[]")
        return
    estimated = m.nature in ("estimated", "unknown")
    generation = generation_for(state, m, step.at)
    registers = {}
    for register in m.registers:
        unit = WH_PER_UNIT.get(register.unit, 1)
        registers[register_key(register)] = RegisterState(
            register.value * unit, unit, step.at, register.digits, estimated, register.meter or m.meter, generation
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
        )
    )
    _write_reading(step, "current", m.maximum_power, _text(m.registers))


def _write_reading(step: Step, status: str, maximum_power: int | None, registers: str) -> None:
    m = step.message
    step.write(
        tables.reading,
        reference=m.reading_reference,
        source=m.market_type,
        qualification=m.qualification,
        nature=m.nature,
        status=status,
        calendar=m.calendar,
        maximum_power=maximum_power,
        registers=registers,
    )


def store_volume(step: Step) -> None:
    """Energies of a period, their correction or cancellation."""
    m = step.message
    if m.function != "original":
        _settle_original(step, tables.volume)
    cancels = m.function == "cancel"
    if not cancels:
        step.state.readings.append(
            ReadingState("MeteredVolume", m.market_type, m.reading_reference, m.reference, "current", step.message_id)
        )
    step.write(
        tables.volume,
        start_at=None if m.start is None else micros(m.start),
        source=m.market_type,
        nature=m.nature,
        status="cancels" if cancels else "current",
        volumes="[]" if cancels else _text(m.volumes),
    )


def _settle_original(step: Step, table: Table) -> None:
    original = find_original(step.state, step.message)
    if original is None:
        return
    original.status = "cancelled" if step.message.function == "cancel" else "replaced"
    for row in step.rows[table]:  # a correction and its original share an instant, so they are always judged together
        if row["message_id"] == original.message:
            row["status"] = original.status
            return


def store_series(step: Step) -> None:
    """Values at regular intervals."""
    m = step.message
    step.write(
        tables.series,
        end_at=micros(m.end),
        source=m.market_type,
        resolution=m.resolution,
        unit=m.unit,
        direction=getattr(m, "direction", None),
        positions=_text(m.positions),
    )


def store_charge(step: Step) -> None:
    """A line group of a grid invoice."""
    m, charges = step.message, step.state.charges
    charges.append(m.charge_reference)
    del charges[:-MAX_CHARGES]
    step.write(
        tables.grid_charge,
        invoice=m.invoice,
        reference=m.charge_reference,
        billing_type=m.billing_type,
        currency=m.currency,
        total=format(m.total_excluding_tax, "f"),
        lines=_text(m.lines),
    )


def store_invoice(step: Step) -> None:
    """The head of a grid invoice; it belongs to no access point."""
    m = step.message
    total: Decimal | None = m.total_excluding_tax
    step.write_alone(
        tables.grid_invoice,
        market=m.market,
        invoice=m.invoice,
        type=m.invoice_type,
        currency=m.currency,
        total=None if total is None else format(total, "f"),
        charges=m.charges,
    )


def store_calorific_value(step: Step) -> None:
    """The calorific value of a month at a receiving station; it belongs to no access point."""
    m = step.message
    value: Decimal | None = m.value
    step.write_alone(
        tables.calorific_value,
        market=m.market,
        station=m.station,
        name=m.station_name,
        month=m.month,
        value=None if value is None else format(value, "f"),
    )


def follow_request(step: Step) -> None:
    """A milestone of a request."""
    m, requests = step.message, step.state.requests
    memory = requests.get(m.request)
    if memory is None or (m.milestone or 0) >= (memory.milestone or 0):
        requests.pop(m.request, None)
        requests[m.request] = RequestMemory(m.state, m.milestone, step.at)
        if len(requests) > MAX_REQUESTS:
            del requests[next(iter(requests))]
    step.write(
        tables.request,
        reference=m.request,
        milestone=m.milestone,
        state=m.state,
        state_code=m.state_code,
        object_code=m.object_code,
        initiated_by_us=m.initiated_by_us,
    )


VERB_FUNCTIONS: dict[str, Callable[[Step], None]] = {
    "open-supply": open_supply,
    "close-supply": close_supply,
    "store-contract": store_contract,
    "store-point": store_point,
    "store-customer": store_customer,
    "store-meter": store_meter,
    "store-reading": store_reading,
    "store-volume": store_volume,
    "store-series": store_series,
    "store-charge": store_charge,
    "store-invoice": store_invoice,
    "store-calorific-value": store_calorific_value,
    "follow-request": follow_request,
}
"""Verb of a qualification rule -> what it does. `notify` and `wait` are the pipeline's own."""


def accept(step: Step) -> None:
    """Note that a message was accepted, whatever its verbs."""
    step.state.known = True
    step.state.events.append(event_key(step.message))
