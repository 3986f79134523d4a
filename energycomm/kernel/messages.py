"""The incoming Kernel messages, and the head that all Kernel messages share.

The family is closed: `KINDS` in `energycomm.kernel.family` lists every kind, incoming and outgoing. Messages are
immutable. Optional fields that the market did not send are ``None``; nothing is defaulted that a rule could mistake
for a value the market gave.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from energycomm.kernel.parts import Address, ChargeLine, FoundPoint, Position, Register, Volume
from energycomm.kernel.vocabulary import (
    Amount,
    CivilDay,
    Code,
    ConnectionStatus,
    ContractStatus,
    Currency,
    CustomerCategory,
    Direction,
    Energy,
    Function,
    Identifier,
    Instant,
    MarketType,
    MeterAction,
    Name,
    Number,
    Ordinal,
    Qualification,
    ReadingNature,
    Reason,
    RequestState,
    Role,
    ShortCode,
    Text,
    Unit,
    VolumeNature,
    WholeNumber,
)


class KernelMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What every Kernel message says, whatever it is about."""

    market: Annotated[str, Meta(pattern=r"^[A-Z]{2}$", description="Market the message belongs to: FR, NL, BE.")]
    energy: Annotated[Energy, Meta(description="Energy carrier.")] = "electricity"
    market_type: Annotated[Code, Meta(description="The market's own message type: C15, R151, Loss, ...")]
    market_reason: Annotated[Code | None, Meta(description="The market's own reason or event code, untranslated.")] = (
        None
    )
    reason: Annotated[Reason | None, Meta(description="Business reason in the Kernel's words.")] = None
    reference: Annotated[Text, Meta(description="The market's reference of the transaction, as natural as it has one.")]
    correlation: Annotated[
        Text | None, Meta(description="Reference of the message, request or reading that this one answers or corrects.")
    ] = None
    function: Annotated[Function, Meta(description="Whether the message is new, replaces or cancels another.")] = (
        "original"
    )
    created: Annotated[Instant, Meta(description="When the market wrote the envelope.")]
    effective: Annotated[Instant, Meta(description="Business time: the instant from which the content holds.")]
    access_point: Annotated[
        Identifier | None, Meta(description="Access point: PRM, EAN-GSRN, ...; absent where none is concerned.")
    ] = None
    contract_reference: Annotated[
        Code | None,
        Meta(description="Reference of the contract span on the access point (Ref_Situation_Contractuelle)."),
    ] = None
    request_reference: Annotated[Code | None, Meta(description="Reference of the request that caused the message.")] = (
        None
    )
    sender: Annotated[Identifier | None, Meta(description="Party that sent the envelope: EIC, GLN.")] = None
    receiver: Annotated[Identifier | None, Meta(description="Party the envelope is addressed to: EIC, GLN.")] = None
    sender_role: Annotated[Role | None, Meta(description="Role of the sender.")] = None
    receiver_role: Annotated[Role | None, Meta(description="Role of the receiver.")] = None
    grid_operator: Annotated[Identifier | None, Meta(description="Grid operator of the access point.")] = None
    schema_version: Annotated[MarketType | None, Meta(description="Version the market's header declares.")] = None


class StartOfSupply(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Our supply of the access point begins: it enters our perimeter (gain)."""

    supplier: Annotated[Identifier | None, Meta(description="Supplier from the effective instant on.")] = None
    balance_responsible: Annotated[Code | None, Meta(description="Balance responsible party.")] = None
    contract_start: Annotated[
        CivilDay | None, Meta(description="First day of the contract span as the market states it.")
    ] = None


class EndOfSupply(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Our supply of the access point ends: it leaves our perimeter (loss). The effective instant is the first without
    us."""

    contract_end: Annotated[Instant | None, Meta(description="End of the contract as the market states it.")] = None
    contract_status: Annotated[ContractStatus | None, Meta(description="Contract status that came with the end.")] = (
        None
    )
    new_supplier: Annotated[Code | None, Meta(description="The supplier that follows, where the market tells.")] = None


class ContractTerms(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The terms of the grid contract from the effective instant on."""

    contract_status: Annotated[ContractStatus | None, Meta(description="Status of the contract.")] = None
    contract_start: Annotated[CivilDay | None, Meta(description="First day of the contract span.")] = None
    sequence: Annotated[
        WholeNumber | None, Meta(description="Number of this version of the terms within the span.")
    ] = None
    sequence_start: Annotated[CivilDay | None, Meta(description="First day of this version of the terms.")] = None
    tariff: Annotated[Code | None, Meta(description="Tariff formula of the grid.")] = None
    subscribed_power: Annotated[Amount | None, Meta(description="Subscribed power, in `power_unit`.")] = None
    power_unit: Annotated[ShortCode | None, Meta(description="Unit of the subscribed power.")] = None
    calendar: Annotated[Code | None, Meta(description="Distributor's calendar of time classes.")] = None
    supplier_calendar: Annotated[Code | None, Meta(description="Supplier's calendar of time classes.")] = None
    off_peak: Annotated[Text | None, Meta(description="Off-peak hours in words.")] = None
    contract_kind: Annotated[Code | None, Meta(description="The market's kind of contract (GRD-F, CU, ...).")] = None


class AccessPointData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Technical and administrative data of the access point."""

    segment: Annotated[Identifier | None, Meta(description="Market segment of the point: C1 to C5, KVB, GVB.")] = None
    contract_status: Annotated[ContractStatus | None, Meta(description="Contract status that came along.")] = None
    connection_status: Annotated[ConnectionStatus | None, Meta(description="Whether the point is fed.")] = None
    connection_since: Annotated[CivilDay | None, Meta(description="First day of that connection status.")] = None
    phases: Annotated[WholeNumber | None, Meta(description="Number of phases, 1 or 3.")] = None
    voltage: Annotated[Code | None, Meta(description="Delivery voltage or domain, the market's word.")] = None
    connection_power: Annotated[Number | None, Meta(description="Power of the connection in kVA.")] = None
    service_level: Annotated[
        ShortCode | None, Meta(description="Level of smart-meter services that is open: 0, 1, 2.")
    ] = None
    remote_readable: Annotated[bool | None, Meta(description="The meter can be read from afar.")] = None
    reading_day: Annotated[WholeNumber | None, Meta(description="Day of the month of the periodic reading.")] = None
    reading_period: Annotated[WholeNumber | None, Meta(description="Months between two periodic readings.")] = None
    self_producer: Annotated[bool | None, Meta(description="The customer produces on site.")] = None
    self_consumption: Annotated[Code | None, Meta(description="Collective self-consumption: 0 none, 1 or 2.")] = None
    direction: Annotated[Direction | None, Meta(description="Direction of the point.")] = None
    profile: Annotated[Code | None, Meta(description="Load profile.")] = None
    metering_method: Annotated[Code | None, Meta(description="Metering method, the market's word.")] = None
    allocation_method: Annotated[Code | None, Meta(description="Allocation method, the market's word.")] = None
    capacity_code: Annotated[Code | None, Meta(description="Code of the capacity tariff.")] = None
    invoice_month: Annotated[Code | None, Meta(description="Month of the yearly invoice as the market wrote it.")] = (
        None
    )
    switchable: Annotated[bool | None, Meta(description="The point may change supplier.")] = None
    grid_area: Annotated[Code | None, Meta(description="Grid area.")] = None
    annual_peak: Annotated[Number | None, Meta(description="Standard annual consumption in peak hours, kWh or m3.")] = (
        None
    )
    annual_off_peak: Annotated[Number | None, Meta(description="Standard annual consumption off peak, kWh or m3.")] = (
        None
    )
    supplier: Annotated[Identifier | None, Meta(description="Supplier of the point as the market states it.")] = None
    balance_responsible: Annotated[Code | None, Meta(description="Balance responsible party.")] = None
    metering_responsible: Annotated[Code | None, Meta(description="Metering responsible party.")] = None
    address: Annotated[Address | None, Meta(description="Address of the installation.")] = None


class CustomerData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The customer behind the access point."""

    category: Annotated[CustomerCategory | None, Meta(description="Residential or professional.")] = None
    title: Annotated[Code | None, Meta(description="Form of address.")] = None
    surname: Annotated[Name | None, Meta(description="Family name.")] = None
    first_name: Annotated[Name | None, Meta(description="First name or initials.")] = None
    company: Annotated[Text | None, Meta(description="Company name.")] = None
    company_id: Annotated[Code | None, Meta(description="Register number of the company.")] = None
    activity: Annotated[Code | None, Meta(description="Activity code of the company.")] = None
    birth_key: Annotated[Code | None, Meta(description="Day and month of birth where the market uses it as a key.")] = (
        None
    )
    iban_key: Annotated[
        Code | None, Meta(description="Last digits of the bank account where the market uses them as a key.")
    ] = None
    main_residence: Annotated[bool | None, Meta(description="The point is the customer's main residence.")] = None
    phone: Annotated[Text | None, Meta(description="Telephone number.")] = None
    email: Annotated[Text | None, Meta(description="E-mail address.")] = None
    external_reference: Annotated[Text | None, Meta(description="Reference the supplier gave the customer.")] = None
    address: Annotated[Address | None, Meta(description="Postal address.")] = None


class MeterData(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One meter of the access point."""

    action: Annotated[MeterAction, Meta(description="What happened to the meter.")]
    meter: Annotated[Code | None, Meta(description="Serial number.")] = None
    meter_type: Annotated[Code | None, Meta(description="The market's type of meter.")] = None
    manufacturer: Annotated[Text | None, Meta(description="Manufacturer.")] = None
    model: Annotated[Text | None, Meta(description="Model.")] = None
    rating: Annotated[Code | None, Meta(description="Current rating.")] = None
    registers: Annotated[WholeNumber | None, Meta(description="Number of registers.")] = None
    digits: Annotated[
        WholeNumber | None, Meta(description="Digits of the registers where one number holds for all.")
    ] = None
    curve_step: Annotated[WholeNumber | None, Meta(description="Minutes between two values of the load curve.")] = None
    purpose: Annotated[Code | None, Meta(description="What the meter measures, the market's word.")] = None
    operation: Annotated[Code | None, Meta(description="The market's code of the work on the meter.")] = None


class MeterReading(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The registers of one access point at one instant (`effective`)."""

    reading_reference: Annotated[Text | None, Meta(description="The market's identifier of the reading.")] = None
    qualification: Annotated[
        Qualification, Meta(description="Taken before or after an event, or in the periodic round.")
    ]
    nature: Annotated[ReadingNature, Meta(description="How the indexes were obtained.")]
    calendar: Annotated[Code | None, Meta(description="Distributor's calendar of time classes.")] = None
    supplier_calendar: Annotated[Code | None, Meta(description="Supplier's calendar of time classes.")] = None
    meter: Annotated[Code | None, Meta(description="Serial number of the meter.")] = None
    previous_reference: Annotated[Text | None, Meta(description="Identifier of the previous reading.")] = None
    previous_date: Annotated[Instant | None, Meta(description="Instant of the previous reading.")] = None
    previous_nature: Annotated[ReadingNature | None, Meta(description="How the previous indexes were obtained.")] = None
    correction_reason: Annotated[Code | None, Meta(description="Why the reading was corrected, the market's code.")] = (
        None
    )
    sequence: Annotated[
        WholeNumber | None, Meta(description="Version of the contract terms the reading belongs to.")
    ] = None
    service_level: Annotated[ShortCode | None, Meta(description="Level of smart-meter services that is open.")] = None
    meter_type: Annotated[Code | None, Meta(description="The market's type of meter.")] = None
    maximum_power: Annotated[WholeNumber | None, Meta(description="Highest power of the day in VA.")] = None
    next_reading: Annotated[CivilDay | None, Meta(description="Day the next periodic reading is due.")] = None
    registers: Annotated[tuple[Register, ...], Meta(max_length=1_000, description="The indexes.")] = ()


class MeteredVolume(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Energies of a period. The effective instant is the end of the period."""

    start: Annotated[Instant | None, Meta(description="Start of the period.")] = None
    nature: Annotated[VolumeNature, Meta(description="How the energies were obtained.")]
    reading_reference: Annotated[Text | None, Meta(description="Reading at the end of the period.")] = None
    calendar: Annotated[Code | None, Meta(description="Distributor's calendar of time classes.")] = None
    correction_reason: Annotated[Code | None, Meta(description="Why the energies were corrected.")] = None
    volumes: Annotated[tuple[Volume, ...], Meta(max_length=1_000, description="The energies.")] = ()


class MeasureSeries(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Values at regular intervals. The effective instant is the start of the first interval."""

    end: Annotated[Instant, Meta(description="End of the last interval.")]
    resolution: Annotated[Ordinal, Meta(description="Length of an interval in minutes.")]
    unit: Annotated[Unit, Meta(description="Unit of the values: W, kW, Wh, kWh, m3.")]
    product: Annotated[Code | None, Meta(description="What is measured: active energy, reactive energy, power.")] = None
    direction: Annotated[Direction | None, Meta(description="Taken from the grid or fed into it.")] = None
    register: Annotated[Code | None, Meta(description="Register of the meter (OBIS).")] = None
    positions: Annotated[tuple[Position, ...], Meta(max_length=110_000, description="The values.")] = ()


class AggregatedSeries(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Sums over many access points of a grid area."""

    end: Annotated[Instant, Meta(description="End of the last interval.")]
    resolution: Annotated[Ordinal, Meta(description="Length of an interval in minutes.")]
    unit: Annotated[Unit, Meta(description="Unit of the values.")]
    grid_area: Annotated[Code, Meta(description="Grid area that is summed.")]
    settlement: Annotated[Code | None, Meta(description="Settlement method or group.")] = None
    positions: Annotated[tuple[Position, ...], Meta(max_length=110_000, description="The values.")] = ()


class GridInvoice(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The head and totals of a grid invoice."""

    invoice: Annotated[Code, Meta(description="Number of the invoice.")]
    invoice_type: Annotated[Code | None, Meta(description="The market's type of invoice.")] = None
    invoice_date: Annotated[CivilDay, Meta(description="Date of the invoice.")]
    due_date: Annotated[CivilDay | None, Meta(description="Day the invoice is to be paid.")] = None
    currency: Annotated[Currency, Meta(description="Currency, ISO 4217.")]
    frequency: Annotated[Code | None, Meta(description="The market's code of the invoicing rhythm.")] = None
    total_excluding_tax: Annotated[Amount | None, Meta(description="Total without tax.")] = None
    total_tax: Annotated[Amount | None, Meta(description="Total of the tax.")] = None
    total_including_tax: Annotated[Amount | None, Meta(description="Total with tax.")] = None
    charges: Annotated[WholeNumber | None, Meta(description="Number of line groups the invoice announces.")] = None


class GridCharge(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One line group of a grid invoice: what one access point is charged by one event or period."""

    invoice: Annotated[Code, Meta(description="Number of the invoice.")]
    invoice_date: Annotated[CivilDay | None, Meta(description="Date of the invoice.")] = None
    charge_reference: Annotated[Code, Meta(description="The market's number of the line group.")]
    billing_type: Annotated[Code | None, Meta(description="The market's billing type: cyclic, event, ...")] = None
    currency: Annotated[Currency, Meta(description="Currency, ISO 4217.")]
    total_excluding_tax: Annotated[Amount, Meta(description="Total of the lines without tax.")]
    correction_origin: Annotated[Code | None, Meta(description="Who caused the correction, the market's code.")] = None
    original_invoice: Annotated[Code | None, Meta(description="Invoice that is corrected.")] = None
    meter_type: Annotated[Code | None, Meta(description="The market's type of meter.")] = None
    lines: Annotated[tuple[ChargeLine, ...], Meta(max_length=10_000, description="The lines.")] = ()


class RequestStatus(KernelMessage, frozen=True, kw_only=True, tag=True):
    """One milestone of a request's life, as the market reports it."""

    request: Annotated[Code, Meta(description="The market's reference of the request (affaire).")]
    milestone: Annotated[WholeNumber | None, Meta(description="Number of the milestone, from 1.")] = None
    state: Annotated[RequestState, Meta(description="State of the request after the milestone.")]
    state_code: Annotated[Code | None, Meta(description="The market's code of the milestone.")] = None
    status_code: Annotated[Code | None, Meta(description="The market's code of the whole request's status.")] = None
    object_code: Annotated[Code | None, Meta(description="The market's code of what was asked.")] = None
    effect_date: Annotated[CivilDay | None, Meta(description="Day on which the request takes effect.")] = None
    initiated_by_us: Annotated[bool | None, Meta(description="We made the request; else another party did.")] = None
    requester_reference: Annotated[Text | None, Meta(description="The requester's own reference.")] = None
    medium: Annotated[Code | None, Meta(description="How the request reached the grid operator.")] = None


class RequestAnswer(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The market's answer to one of our requests."""

    accepted: Annotated[bool, Meta(description="The market accepted the request.")]
    code: Annotated[Code | None, Meta(description="The market's answer or rejection code.")] = None
    text: Annotated[Text | None, Meta(description="The market's words.")] = None
    request: Annotated[Code | None, Meta(description="The market's reference of the request it opened.")] = None
    contract_end: Annotated[
        CivilDay | None, Meta(description="Last day of the contract that was asked for; absent where open-ended.")
    ] = None
    notice: Annotated[WholeNumber | None, Meta(description="Notice of that contract, as the market counts it.")] = None
    found: Annotated[
        tuple[FoundPoint, ...], Meta(max_length=1_000, description="Access points found by a search.")
    ] = ()


class ErrorReport(KernelMessage, frozen=True, kw_only=True, tag=True):
    """The market could not read or process something we sent."""

    code: Annotated[Code, Meta(description="The market's error code.")]
    text: Annotated[Text | None, Meta(description="The market's words.")] = None


class CalorificValue(KernelMessage, frozen=True, kw_only=True, tag=True):
    """Calorific value of gas at a receiving station in one month."""

    station: Annotated[Code, Meta(description="EAN-GSRN of the aggregated receiving station.")]
    station_name: Annotated[Text | None, Meta(description="Name of the station.")] = None
    month: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}$", description="Month, YYYY-MM.")]
    value: Annotated[
        Amount | None, Meta(description="Gross calorific value in kWh/m3(n); absent when not published.")
    ] = None


INCOMING: tuple[type[KernelMessage], ...] = (
    StartOfSupply,
    EndOfSupply,
    ContractTerms,
    AccessPointData,
    CustomerData,
    MeterData,
    MeterReading,
    MeteredVolume,
    MeasureSeries,
    AggregatedSeries,
    GridInvoice,
    GridCharge,
    RequestStatus,
    RequestAnswer,
    ErrorReport,
    CalorificValue,
)
"""Every incoming kind."""
