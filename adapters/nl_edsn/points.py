"""MasterData, GetSCMPInformation and GetMeteringPoint (asked for), MasterDataUpdate and MasterDataGain (lists of
mutations and of points just won): what the connection register holds of a point.

One ``Portaal_MeteringPoint`` is one CH message: data of the point, terms of the contract, the customer where named, and
each meter. It may tell several mutations, each with its dossier and day: the first gives reason, dossier and day of the
data, and each is an event of its own, a `RequestStatus`. One mutation alone is such an event where it bears our
reference, stands in the list of what was asked for, or is of a sort that a supplier asks for: then its dossier tells
which request it closes. The mutations of a point just won have no day: its gain and the list of mutations tell them
with it, so they are kept beside its data, which hold from the day on which they are told, maybe ahead of the supply.
Without a mutation date the data hold from the day that was asked
about, else from midnight of the day the message was written, for the register tells what holds then.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, node, nodes
from adapters.nl_edsn.codes import known_meaning
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.measures import DIRECTIONS
from adapters.nl_edsn.mutations import POINT, point, refer, status
from adapters.nl_edsn.times import civil_day, start_of_day
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    KernelMessage,
    MeterData,
    PointRelations,
)
from energycomm.kernel.parts import Address, Relation
from energycomm.kernel.vocabulary import ConnectionStatus, ContractStatus, MeterAction, RelationNature

PHYSICAL: dict[str, ConnectionStatus] = {
    "IBD": "connected",
    "UBD": "disconnected",
    "IAL": "not-connected",
    "SLP": "not-connected",
}
"""PhysicalStatus -> whether the point is fed: in and out of operation, under construction, demolished. The last two are
from memory."""

DELIVERY: dict[str, ContractStatus] = {"ACT": "in-service", "INA": "terminated"}
"""EnergyDeliveryStatus -> contract status."""

ACTIONS: dict[str, MeterAction] = {"MTRINST": "installed", "MTREND": "removed", "MTRUPD": "reconfigured"}
"""MutationReason -> what happened to the meter; anything else: it is there."""

ADDRESS: dict[str, str] = {
    "street": "StreetName",
    "number": "BuildingNr",
    "addition": "ExBuildingNr",
    "postal_code": "ZIPCode",
    "city": "CityName",
    "country": "Country",
}
"""Field of an address -> its element, in the market's order."""

ADDRESSES = ("EDSN_AddressSearch", "EDSN_Address", "EDSN_AddressExtended")
"""Names of the address of a point."""

UPDATES = "UpdateResultResponse"
"""The list of mutations that were asked for."""

WON = "MasterDataGainResponse"
"""The list of points just won."""

CHANGES_ASKED = frozenset(("NAMECHG", "SWITCHPV"))
"""Reasons of mutations that a supplier asks for by NameChange and ChangeOfPV, and that no list of gains or losses
tells."""

MEMBERS: dict[str, RelationNature] = {"PAP": "parent", "SAP": "child"}
"""Member of a MeteringPointGroup -> what it is to the point."""

_PHYSICAL = f"{POINT}/MPPhysicalCharacteristics"
_SUPPLIER = ("MPCommercialCharacteristics", "BalanceSupplier_Company")


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Data of the point, its contract, its customer, its meters and the points it is related to.

    Raises:
      Unreadable: the point is missing, or a code decides how it is read and is unknown.
    """
    reference = refer(fields, context)[0]
    told = [point({**fields, "Portaal_Mutation": [one]}, context, notes) for one in nodes(fields, "Portaal_Mutation")]
    found = told[0] if told else point(fields, context, notes)
    created: datetime = context.head["created"]
    asked = civil_day(node(fields, "Query"), "ViewDate", f"{POINT}/Query")
    effective = found.on or start_of_day(asked or date(created.year, created.month, created.day))
    head = {**found.head, "reference": reference, "effective": effective}
    messages: list[KernelMessage] = [_data(fields, head, notes), *_terms(fields, head)]
    messages += [*_customer(fields, head), *_meters(fields, head), *_relations(fields, head)]
    label = context.head["market_type"]
    events = [
        one
        for one in told
        if label == UPDATES or len(told) > 1 or one.external is not None or one.reason in CHANGES_ASKED
    ]
    if label == WON:
        events = []
    messages += [made for one in events if (made := status(one, reference, "done", effective)) is not None]
    return Digested(reference, found.ean, messages)


def address(fields: Fields) -> Address | None:
    """The address of a metering point under any of its names, None where there is none."""
    held = next((one for tag in ADDRESSES for one in nodes(fields, tag)), {})
    return postal(held)


def postal(held: Fields) -> Address | None:
    """The address of an element, None where it is empty."""
    return Address(**{name: leaf(held, tag) for name, tag in ADDRESS.items()}) if held else None


def _data(fields: Fields, head: dict[str, Any], notes: Notes) -> AccessPointData:
    physical, commercial = node(fields, "MPPhysicalCharacteristics"), node(fields, "MPCommercialCharacteristics")
    flow, capacity = leaf(physical, "EnergyFlowDirection"), leaf(physical, "PhysicalCapacity")
    switchable, ahead = leaf(physical, "Switchability"), head["market_type"] == WON
    delivery = known_meaning(DELIVERY, physical, "EnergyDeliveryStatus", _PHYSICAL, notes)
    return AccessPointData(
        **head,
        segment=leaf(fields, "MarketSegment"),
        contract_status=None if ahead else delivery,
        connection_status=known_meaning(PHYSICAL, physical, "PhysicalStatus", _PHYSICAL, notes),
        phases=_phases(capacity),
        self_producer=flow in ("TLV", "CMB") if flow is not None else None,
        direction=DIRECTIONS.get(flow or ""),
        profile=leaf(physical, "ProfileCategory"),
        metering_method=leaf(physical, "MeteringMethod"),
        allocation_method=leaf(physical, "AllocationMethod"),
        capacity_code=leaf(physical, "CapTarCode"),
        invoice_month=leaf(physical, "InvoiceMonth"),
        switchable=switchable == "J" if switchable is not None else None,
        told_ahead=True if ahead else None,
        grid_area=leaf(fields, "GridArea"),
        annual_peak=_number(physical, "EACPeak", "EAEnergyConsumptionNettedPeak"),
        annual_off_peak=_number(physical, "EACOffPeak", "EAEnergyConsumptionNettedOffPeak"),
        supplier=leaf(node(commercial, "BalanceSupplier_Company"), "ID"),
        balance_responsible=leaf(node(commercial, "BalanceResponsibleParty_Company"), "ID"),
        metering_responsible=leaf(node(commercial, "MeteringResponsibleParty_Company"), "ID"),
        address=address(fields),
    )


def _terms(fields: Fields, head: dict[str, Any]) -> Iterator[ContractTerms]:
    """The capacity tariff, the contracted capacity (kW) and the day since which we are the supplier, where one of them
    is told."""
    physical, supplier = node(fields, "MPPhysicalCharacteristics"), node(fields, *_SUPPLIER)
    tariff, power = leaf(physical, "CapTarCode"), _number(physical, "ContractedCapacity")
    ours = leaf(supplier, "ID") == head["receiver"]
    since = civil_day(supplier, "ValidFromDate", "/".join((POINT, *_SUPPLIER))) if ours else None
    if tariff is not None or power is not None or since is not None:
        yield ContractTerms(
            **head,
            contract_status=DELIVERY.get(leaf(physical, "EnergyDeliveryStatus") or ""),
            contract_start=since,
            tariff=tariff,
            subscribed_power=power,
            power_unit="kW" if power is not None and head["energy"] == "electricity" else None,
        )


def _customer(fields: Fields, head: dict[str, Any]) -> Iterator[CustomerData]:
    commercial = node(fields, "MPCommercialCharacteristics")
    party, company = node(commercial, "GridContractParty"), leaf(commercial, "ChamberOfCommerceID")
    if party or company:
        yield CustomerData(
            **head,
            category="professional" if company is not None else None,
            surname=leaf(party, "Surname"),
            name_prefix=leaf(party, "SurnamePrefix"),
            first_name=leaf(party, "Initials"),
            company_id=company,
            birth_key=leaf(party, "BirthDayKey"),
            iban_key=leaf(party, "IBANKey"),
        )


def _meters(fields: Fields, head: dict[str, Any]) -> Iterator[MeterData]:
    capacity = leaf(node(fields, "MPPhysicalCharacteristics"), "PhysicalCapacity")
    reasons = [leaf(mutation, "MutationReason") or "" for mutation in nodes(fields, "Portaal_Mutation")]
    action: MeterAction = next((ACTIONS[reason] for reason in reasons if reason in ACTIONS), "present")
    for meter in nodes(fields, "Portaal_EnergyMeter"):
        registers = nodes(meter, "Register")
        digits = {leaf(register, "NrOfDigits") for register in registers} - {None}
        number = leaf(meter, "NrOfRegisters")
        yield MeterData(
            **head,
            action=action,
            meter=leaf(meter, "ID"),
            meter_type=leaf(meter, "Type"),
            rating=capacity,
            registers=int(number) if number is not None else len(registers) or None,
            digits=int(digits.pop() or 0) if len(digits) == 1 else None,
            operation=leaf(meter, "TechnicalCommunicationSM"),
        )


def _relations(fields: Fields, head: dict[str, Any]) -> Iterator[PointRelations]:
    """The primary allocation point of a secondary one, and the secondary ones of a primary."""
    group = node(fields, "MeteringPointGroup")
    members = [(tag, member["EANID"]) for tag in MEMBERS for member in nodes(group, tag)]
    if members:
        found = tuple(Relation(access_point=ean, nature=MEMBERS[tag], code=tag) for tag, ean in members)
        yield PointRelations(**head, relations=found)


def _number(fields: Fields, *tags: str) -> Decimal | None:
    for tag in tags:
        text = leaf(fields, tag)
        if text is not None:
            return Decimal(text)
    return None


def _phases(capacity: str | None) -> int | None:
    """Phases of a capacity like 3x25 (phases times ampere)."""
    first = (capacity or "").lower().partition("x")[0]
    return int(first) if first in ("1", "3") and "x" in (capacity or "").lower() else None


UPDATE = Digester(digest, refer)
