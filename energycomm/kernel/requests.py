"""The outgoing Kernel messages: what a supplier asks of, or tells, the market."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Address, Register
from energycomm.kernel.vocabulary import (
    Amount,
    CivilDay,
    Code,
    CustomerCategory,
    Direction,
    Identifier,
    Name,
    ReadingNature,
    Text,
)


class Request(KernelMessage, frozen=True, kw_only=True):
    """What every outgoing message says."""

    requested_date: Annotated[
        CivilDay | None, Meta(description="Civil day from which the request shall take effect.")
    ] = None
    requester_login: Annotated[
        Text | None, Meta(description="Account at the market in whose name the request is made.")
    ] = None
    contract: Annotated[Code | None, Meta(description="Our contract with the grid operator.")] = None


class CustomerRequest(Request, frozen=True, kw_only=True):
    """A request that names the customer who shall be supplied."""

    category: Annotated[CustomerCategory | None, Meta(description="Residential or professional.")] = None
    surname: Annotated[Name | None, Meta(description="Family name of the customer.")] = None
    first_name: Annotated[Name | None, Meta(description="First name or initials.")] = None
    company: Annotated[Text | None, Meta(description="Company name.")] = None
    company_id: Annotated[Code | None, Meta(description="Register number of the company.")] = None
    birth_key: Annotated[Code | None, Meta(description="Day and month of birth where the market uses it as a key.")] = (
        None
    )
    iban_key: Annotated[
        Code | None, Meta(description="Last digits of the bank account where the market uses them.")
    ] = None
    balance_responsible: Annotated[Code | None, Meta(description="Balance responsible party from the start on.")] = None
    supplier: Annotated[Identifier | None, Meta(description="The supplier that asks.")] = None
    tariff: Annotated[Code | None, Meta(description="Tariff formula asked for.")] = None
    subscribed_power: Annotated[Amount | None, Meta(description="Subscribed power asked for, in kVA.")] = None
    consent: Annotated[bool | None, Meta(description="The customer agreed.")] = None


class SupplierSwitchRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Supply the same customer at the access point from a day on, in place of another supplier."""


class MoveInRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Supply a customer who moves in."""


class CombinedSwitchRequest(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Customer and supplier change together."""


class MoveOutRequest(Request, frozen=True, kw_only=True, tag=True):
    """The customer moves out: end our supply."""

    forwarding_address: Annotated[Address | None, Meta(description="Where the customer moves to.")] = None


class EndOfSupplyRequest(Request, frozen=True, kw_only=True, tag=True):
    """End our supply for another cause than a move."""

    cause: Annotated[Code | None, Meta(description="The market's code of the cause.")] = None


class CancellationRequest(Request, frozen=True, kw_only=True, tag=True):
    """Withdraw a request that was sent (`correlation`)."""

    cancelled_kind: Annotated[Code | None, Meta(description="Kind of the request that is withdrawn.")] = None


class ContractChangeRequest(Request, frozen=True, kw_only=True, tag=True):
    """Change the terms of the grid contract."""

    tariff: Annotated[Code | None, Meta(description="Tariff formula asked for.")] = None
    subscribed_power: Annotated[Amount | None, Meta(description="Subscribed power asked for, in kVA.")] = None
    calendar: Annotated[Code | None, Meta(description="Supplier's calendar of time classes asked for.")] = None


class MasterDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for technical and contractual data of an access point."""

    consent: Annotated[bool | None, Meta(description="The customer agreed.")] = None


class MasterDataUpdate(CustomerRequest, frozen=True, kw_only=True, tag=True):
    """Tell the market changed master data of our customer or point."""

    switchable: Annotated[bool | None, Meta(description="The point may change supplier.")] = None


class ContractDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for end and notice of the running contract."""

    surname: Annotated[Name | None, Meta(description="Family name of the customer.")] = None
    birth_key: Annotated[Code | None, Meta(description="Day and month of birth.")] = None
    iban_key: Annotated[Code | None, Meta(description="Last digits of the bank account.")] = None
    company_id: Annotated[Code | None, Meta(description="Register number of the company.")] = None


class SearchRequest(Request, frozen=True, kw_only=True, tag=True):
    """Find an access point by address, meter or customer."""

    address: Annotated[Address | None, Meta(description="Address of the installation.")] = None
    meter: Annotated[Code | None, Meta(description="Serial number of the meter.")] = None
    customer: Annotated[Text | None, Meta(description="Name of the customer.")] = None
    category: Annotated[CustomerCategory | None, Meta(description="Residential or professional.")] = None
    widened: Annotated[bool | None, Meta(description="Search outside our own perimeter too.")] = None


MeasureKind = Literal["index", "energy", "curve", "maximum-power", "invoicing"]


class MeteredDataRequest(Request, frozen=True, kw_only=True, tag=True):
    """Ask for measures of a period."""

    measure: Annotated[MeasureKind, Meta(description="What to deliver.")]
    start: Annotated[CivilDay | None, Meta(description="First day.")] = None
    end: Annotated[CivilDay | None, Meta(description="Last day, as the market counts it.")] = None
    resolution: Annotated[Code | None, Meta(description="Day, interval or month.")] = None
    direction: Annotated[Direction | None, Meta(description="Taken from the grid or fed into it.")] = None
    corrected: Annotated[bool | None, Meta(description="Corrected curve instead of the raw one.")] = None
    consent: Annotated[bool | None, Meta(description="The customer agreed.")] = None
    external_reference: Annotated[Text | None, Meta(description="Our own reference of the query.")] = None


class MeteringServiceOrder(Request, frozen=True, kw_only=True, tag=True):
    """Order the collection or recurring publication of measures."""

    measure: Annotated[MeasureKind, Meta(description="What to collect or publish.")]
    start: Annotated[CivilDay | None, Meta(description="First day of the service.")] = None
    end: Annotated[CivilDay | None, Meta(description="Last day of the service.")] = None
    step: Annotated[Code | None, Meta(description="Step of the measures, ISO 8601 duration.")] = None
    rhythm: Annotated[Code | None, Meta(description="Rhythm of the publication, ISO 8601 duration.")] = None
    direction: Annotated[Direction | None, Meta(description="Taken from the grid or fed into it.")] = None
    corrected: Annotated[bool | None, Meta(description="Corrected curve instead of the raw one.")] = None
    consent: Annotated[bool | None, Meta(description="The customer agreed.")] = None
    customer: Annotated[Text | None, Meta(description="Name of the customer who agreed.")] = None
    company: Annotated[Text | None, Meta(description="Company that agreed.")] = None


class MeteringServiceStop(Request, frozen=True, kw_only=True, tag=True):
    """Stop a service of collection or publication."""

    service: Annotated[Code, Meta(description="The market's reference of the service.")]


class DataAccessOrder(Request, frozen=True, kw_only=True, tag=True):
    """Open, renew, change or end access to a customer's data, with consent."""

    action: Annotated[Literal["open", "renew", "change", "end"], Meta(description="What to do with the access.")]
    start: Annotated[CivilDay | None, Meta(description="First day of the access.")] = None
    end: Annotated[CivilDay | None, Meta(description="Last day of the access.")] = None
    measure: Annotated[MeasureKind | None, Meta(description="What may be read.")] = None
    service: Annotated[Code | None, Meta(description="The market's reference of the access.")] = None
    direction: Annotated[Direction | None, Meta(description="Taken from the grid or fed into it.")] = None
    rhythm: Annotated[Code | None, Meta(description="Rhythm of the publication, ISO 8601 duration.")] = None
    corrected: Annotated[bool | None, Meta(description="Corrected curve instead of the raw one.")] = None
    withdraw: Annotated[bool | None, Meta(description="A change takes the publication away instead of adding it.")] = (
        None
    )
    consent: Annotated[bool | None, Meta(description="The customer agreed.")] = None
    customer: Annotated[Text | None, Meta(description="Name of the customer who agreed.")] = None
    company: Annotated[Text | None, Meta(description="Company that agreed.")] = None


class MeterReadingSubmission(Request, frozen=True, kw_only=True, tag=True):
    """Tell the market a reading."""

    nature: Annotated[ReadingNature, Meta(description="How the indexes were obtained.")]
    meter: Annotated[Code | None, Meta(description="Serial number of the meter.")] = None
    dispute: Annotated[bool | None, Meta(description="The reading disputes an established one.")] = None
    registers: Annotated[tuple[Register, ...], Meta(max_length=1_000, description="The indexes.")] = ()


OUTGOING: tuple[type[KernelMessage], ...] = (
    SupplierSwitchRequest,
    MoveInRequest,
    CombinedSwitchRequest,
    MoveOutRequest,
    EndOfSupplyRequest,
    CancellationRequest,
    ContractChangeRequest,
    MasterDataRequest,
    MasterDataUpdate,
    ContractDataRequest,
    SearchRequest,
    MeteredDataRequest,
    MeteringServiceOrder,
    MeteringServiceStop,
    DataAccessOrder,
    MeterReadingSubmission,
)
"""Every outgoing kind."""
