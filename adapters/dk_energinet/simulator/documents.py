"""Writes the hub's side of its documents: CIM in XML and JSON, and ebIX, by templates of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from lxml import etree

from energycomm.simulation.people import with_check_digit

HUB, SUPPLIER, OTHER = "5790001330552", "5790009000013", "5790009000310"
GRID, BALANCE = "5790009000112", "5790009000211"
AREAS = ("996", "997")
"""Grid areas of the simulation."""
ACTIVE, TARIFF = "8716867000030", "5790001330590"
"""Products: active energy, and what is settled by a tariff."""

ACCOUNT, CUSTOMER, NOTICE = "AccountingPointCharacteristics", "CharacteristicsOfACustomerAtAnAP", "GenericNotification"
MEASURES, SUMS, AMOUNTS = "NotifyValidatedMeasureData", "NotifyAggregatedMeasureData", "NotifyWholesaleServices"
REMINDER, RECEIVED = "ReminderOfMissingMeasureData", "Acknowledgement"
CONFIRMED, REJECTED = "ConfirmRequestChangeOfSupplier", "RejectRequestChangeOfSupplier"
NO_MEASURES, NO_SUMS = "RejectRequestValidatedMeasureData", "RejectRequestAggregatedMeasureData"
NO_AMOUNTS = "RejectRequestWholesaleSettlement"
ASK_MEASURES, ASK_SUMS = "RequestValidatedMeasureData", "RequestAggregatedMeasureData"
ASK_AMOUNTS, ASK_SWITCH = "RequestWholesaleSettlement", "RequestChangeOfSupplier"
ASK_POINT = "RequestChangeAccountingPointCharacteristics"
POINT_CHANGED, POINT_KEPT = f"Confirm{ASK_POINT}", f"Reject{ASK_POINT}"
OLD_MEASURES, OLD_SUMS = "DK_MeteredDataTimeSeries", "DK_AggregatedMeteredDataTimeSeries"
OLD_AMOUNTS, OLD_REMINDER = "DK_NotifyAggregatedWholesaleServices", "DK_NotifyMissingData"
OLD_RECEIVED, OLD_NO_MEASURES = "DK_Acknowledgement", "DK_RejectRequestMeteredDataValidated"
JSON = "-json"
"""Ends the simulation's name of a document that is written in JSON."""

_STRUCTURE, _MEASURE, _GENERAL = "structure", "measure", "general"


class _Kind(NamedTuple):
    """A document of CIM: the part of its namespace, the type in its header, who says it to whom."""

    part: str
    type: str | None
    sender: tuple[str, str] = (HUB, "DDZ")
    receiver: tuple[str, str] = (SUPPLIER, "DDQ")


_OURS: Any = {"sender": (SUPPLIER, "DDQ"), "receiver": (HUB, "DDZ")}
_KINDS: dict[str, _Kind] = {
    ACCOUNT: _Kind(_STRUCTURE, "E07"),
    CUSTOMER: _Kind(_STRUCTURE, "E21"),
    NOTICE: _Kind(_STRUCTURE, "E44"),
    MEASURES: _Kind(_MEASURE, "E66"),
    SUMS: _Kind(_MEASURE, "E31"),
    AMOUNTS: _Kind(_MEASURE, "E31"),
    REMINDER: _Kind(_MEASURE, "D24", receiver=(SUPPLIER, "MDR")),
    RECEIVED: _Kind(_GENERAL, None),
    CONFIRMED: _Kind(_STRUCTURE, "414"),
    REJECTED: _Kind(_STRUCTURE, "414"),
    NO_MEASURES: _Kind(_MEASURE, "ERR"),
    NO_SUMS: _Kind(_MEASURE, "ERR"),
    NO_AMOUNTS: _Kind(_MEASURE, "ERR"),
    ASK_MEASURES: _Kind(_MEASURE, "E73", **_OURS),
    ASK_SUMS: _Kind(_MEASURE, "E74", **_OURS),
    ASK_AMOUNTS: _Kind(_MEASURE, "D21", **_OURS),
    ASK_SWITCH: _Kind(_STRUCTURE, "392", **_OURS),
    ASK_POINT: _Kind(_STRUCTURE, "E58", sender=(GRID, "DDM"), receiver=(HUB, "DDZ")),
    POINT_CHANGED: _Kind(_STRUCTURE, "E59"),
    POINT_KEPT: _Kind(_STRUCTURE, "E59"),
}
_HEADER_CODES = {
    **dict.fromkeys((CONFIRMED, POINT_CHANGED), "A01"),
    **dict.fromkeys((REJECTED, POINT_KEPT, NO_MEASURES, NO_SUMS, NO_AMOUNTS), "A02"),
}
"""Answer -> what its header says of it: accepted or refused."""
_OLD_TYPES = {
    OLD_MEASURES: "E66", OLD_SUMS: "E31", OLD_AMOUNTS: "E31", OLD_REMINDER: "D24", OLD_RECEIVED: "294",
    OLD_NO_MEASURES: "ERR",
}  # fmt: skip


def access_point(number: int) -> str:
    """GSRN of the simulation's n-th access point."""
    return with_check_digit(f"57131398{number:09d}")


def element(tag: str, *inner: str) -> str:
    """An element of written elements."""
    return f"<{tag}>{''.join(inner)}</{tag}>"


def leaf(tag: str, text: object, **attributes: str) -> str:
    """An element with a value; nothing for None."""
    if text is None:
        return ""
    told = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{told}>{escape(str(text), quote=False)}</{tag}>"


def party(tag: str, code: str | None) -> str:
    """A party by its GLN."""
    return leaf(f"{tag}_MarketParticipant.mRID", code, codingScheme="A10")


def point(tag: str, code: str | None) -> str:
    """A point by its GSRN."""
    return leaf(tag, code, codingScheme="A10")


def area(code: str | None) -> str:
    """A grid area."""
    return leaf("meteringGridArea_Domain.mRID", code, codingScheme="NDK")


# --- documents --------------------------------------------------------------------------------------------------------


def document(
    label: str,
    pieces: Iterable[str],
    *,
    created: str,
    name: str,
    process: str,
    receiver: str | None = None,
    about: str = "",
) -> bytes:
    """A document of the market, in JSON where its label ends so.

    Args:
      label: root of the document, without what all roots of CIM end with.
      pieces: its transactions, written.
      created: instant in universal time.
      name: its identifier.
      process: of its header.
      receiver: whom it is for, if not the supplier of the simulation.
      about: what an acknowledgement is about, written.
    """
    bare = label.removesuffix(JSON)
    if bare in _OLD_TYPES:
        return _old(bare, pieces, created=created, name=name, process=process, about=about)
    kind = _KINDS[bare]
    sender, to = kind.sender, (receiver or kind.receiver[0], kind.receiver[1])
    head = (
        leaf("mRID", name)
        + leaf("type", kind.type)
        + (leaf("process.processType", process) if kind.type is not None else "")
        + leaf("businessSector.type", "23")
        + party("sender", sender[0])
        + leaf("sender_MarketParticipant.marketRole.type", sender[1])
        + party("receiver", to[0])
        + leaf("receiver_MarketParticipant.marketRole.type", to[1])
        + leaf("createdDateTime", created)
        + leaf("reason.code", _HEADER_CODES.get(bare))
        + about
    )
    space = f"urn:ediel.org:{kind.part}:{bare.lower()}:0:1"
    whole = f'<{bare}_MarketDocument xmlns="{space}">{head}{"".join(pieces)}</{bare}_MarketDocument>'
    if label != bare:
        return _json(whole)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{whole}\n".encode()


_LISTED = frozenset(
    (
        "Series",
        "MktActivityRecord",
        "Point",
        "Reason",
        "ChargeType",
        "Child_MarketEvaluationPoint",
        "UsagePointLocation",
        "Original_MktActivityRecord",
    )
)
"""Elements that may stand several times: arrays in JSON."""
_PLAIN = frozenset(
    (
        "mRID", "name", "product", "version", "resolution", "text", "code", "number", "country", "postalCode",
        "ituPhone", "email1", "readCycle", "netSettlementGroup", "meter.mRID", "chargeType.mRID",
        "createdDateTime", "originalTransactionIDReference_Series.mRID", "received_MarketDocument.mRID",
        "received_MarketDocument.createdDateTime", "originalTransactionIDReference_MktActivityRecord.mRID",
        "businessProcessReference_MktActivityRecord.mRID", "firstCustomer_MarketParticipant.name",
        "marketEvaluationPoint.customer_MarketParticipant.name", "aggregationSeries_Period.resolution",
        "floorIdentification", "suiteNumber", "usagePointLocation.geoInfoReference",
    )
)  # fmt: skip
"""Elements that are plain strings in JSON; others are objects with their value."""
_NUMBERS = frozenset(("quantity", "energy_Quantity.quantity", "energySum_Quantity.quantity"))
_FLAGS = frozenset(("serviceCategory.ElectricalHeating", "protectedName", "hasEnergySupplier", "protectedAddress"))


def _json(written: str) -> bytes:
    """The same document in JSON: what stands several times in arrays, codes and numbers as objects with their value."""
    root = etree.fromstring(written)
    content = {etree.QName(root).localname: _members(root)}
    return json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n"


def _members(parent: etree._Element) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for child in parent:
        name = etree.QName(child).localname
        value = _members(child) if len(child) else _value(name, child, etree.QName(parent).localname)
        if name in _LISTED or (name == "MarketEvaluationPoint" and etree.QName(parent).localname == "Series"):
            held.setdefault(name, []).append(value)
        else:
            held[name] = value
    return held


def _value(name: str, leaf: etree._Element, parent: str) -> Any:
    text = leaf.text or ""
    if leaf.attrib:
        return {**{str(key): str(value) for key, value in leaf.attrib.items()}, "value": text}
    if name in _NUMBERS:
        return float(text)
    if name == "position":
        return {"value": int(text)}
    if name == "price.amount":
        return {"value": float(text)}
    if name in _FLAGS:
        return text == "true"
    if name == "code" and parent == "Reason":
        return {"value": text}
    return text if name in _PLAIN or name.endswith("_DateAndOrTime.dateTime") else {"value": text}


# --- pieces of CIM ----------------------------------------------------------------------------------------------------


class Home(NamedTuple):
    """Where a point is."""

    street: str
    number: int
    postal_code: str
    city: str
    municipality: str


def _address(home: Home) -> str:
    street = element("streetDetail", leaf("name", home.street) + leaf("number", home.number))
    town = leaf("code", home.municipality) + leaf("name", home.city) + leaf("country", "DK")
    return street + element("townDetail", town) + leaf("postalCode", home.postal_code)


def record(reference: str, *inner: str) -> str:
    """A transaction about a point."""
    return element("MktActivityRecord", leaf("mRID", reference), *inner)


def _about(original: str | None, start: str) -> str:
    told = leaf("originalTransactionIDReference_MktActivityRecord.mRID", original)
    return told + leaf("validityStart_DateAndOrTime.dateTime", start)


def characteristics(
    reference: str,
    start: str,
    gsrn: str,
    *,
    meter: str,
    home: Home,
    grid_area: str,
    original: str | None = None,
    capacity: int = 17,
    state: str = "E22",
    supplied_from: str | None = None,
    supplier: str = SUPPLIER,
    child: str | None = None,
    method: str = "D01",
) -> str:
    """What is known of a point from an instant on; with `supplied_from` it comes to its supplier then."""
    told = (
        point("mRID", gsrn)
        + party("meteringPointResponsible", GRID)
        + _installed(meter, grid_area, capacity, state, method)
        + party("energySupplier", supplier)
        + leaf("supplyStart_DateAndOrTime.dateTime", supplied_from)
        + element("usagePointLocation.mainAddress", _address(home))
    )
    if child is not None:
        told += element("Child_MarketEvaluationPoint", point("mRID", child), leaf("description", "D06"))
    return record(reference, _about(original, start), element("MarketEvaluationPoint", told))


def _installed(meter: str, grid_area: str, capacity: int, state: str = "E22", method: str = "D01") -> str:
    """What its grid company says of a point."""
    return (
        leaf("type", "E17")
        + leaf("settlementMethod", method)
        + leaf("meteringMethod", "D01")
        + leaf("connectionState", state)
        + leaf("readCycle", "PT1H")
        + leaf("netSettlementGroup", "0")
        + area(grid_area)
        + leaf("physicalConnectionCapacity", capacity, unit="KWT")
        + leaf("disconnectionMethod", "D01")
        + leaf("meter.mRID", meter)
    )


def point_change(
    reference: str, start: str, gsrn: str, *, meter: str, home: Home, grid_area: str, capacity: int
) -> str:
    """What a grid company asks the hub to say of its point from an instant on."""
    told = point("mRID", gsrn) + _installed(meter, grid_area, capacity)
    told += element("usagePointLocation.mainAddress", _address(home))
    return record(
        reference, leaf("validityStart_DateAndOrTime.dateTime", start), element("MarketEvaluationPoint", told)
    )


def customer(
    reference: str,
    start: str,
    gsrn: str,
    *,
    number: str | None,
    name: str | None,
    home: Home,
    phone: str | None,
    email: str | None,
    original: str | None = None,
) -> str:
    """The customer of a point, with a place to write to."""
    place = (
        leaf("type", "D01")
        + element("mainAddress", _address(home))
        + leaf("name", name)
        + (element("phone1", leaf("ituPhone", phone)) if phone else "")
        + (element("electronicAddress", leaf("email1", email)) if email else "")
        + leaf("protectedAddress", "false")
    )
    told = (
        point("mRID", gsrn)
        + leaf("serviceCategory.ElectricalHeating", "false")
        + leaf("firstCustomer_MarketParticipant.mRID", number, codingScheme="VAT")
        + leaf("firstCustomer_MarketParticipant.name", name)
        + leaf("protectedName", "false")
        + leaf("hasEnergySupplier", "true")
        + element("UsagePointLocation", place)
    )
    return record(reference, _about(original, start), element("MarketEvaluationPoint", told))


def notice(reference: str, start: str, gsrn: str, original: str | None = None) -> str:
    """The end of a supply, or what takes it back."""
    return record(reference, _about(original, start), point("marketEvaluationPoint.mRID", gsrn))


def confirmation(reference: str, original: str, gsrn: str | None) -> str:
    """A request is granted."""
    told = leaf("originalTransactionIDReference_MktActivityRecord.mRID", original)
    return record(reference, told, point("marketEvaluationPoint.mRID", gsrn))


def reasons(found: Iterable[tuple[str, str]]) -> str:
    """Why something is refused."""
    return "".join(element("Reason", leaf("code", code), leaf("text", text)) for code, text in found)


def rejection(label: str, reference: str, original: str, gsrn: str | None, why: Iterable[tuple[str, str]]) -> str:
    """A request is refused, in the answer of a label."""
    if label in (REJECTED, POINT_KEPT):
        told = leaf("originalTransactionIDReference_MktActivityRecord.mRID", original)
        return record(reference, told, point("marketEvaluationPoint.mRID", gsrn), reasons(why))
    told = leaf("mRID", reference) + leaf("originalTransactionIDReference_Series.mRID", original) + reasons(why)
    return element("Series", told, point("marketEvaluationPoint.mRID", gsrn) if label == NO_MEASURES else "")


def received(original: str, type_: str, process: str) -> str:
    """What an acknowledgement is about."""
    told = leaf("received_MarketDocument.mRID", original) + leaf("received_MarketDocument.type", type_)
    return told + leaf("received_MarketDocument.process.processType", process)


def not_received(original: str, why: Iterable[tuple[str, str]]) -> str:
    """A transaction that is refused when it is received."""
    return element("Original_MktActivityRecord", leaf("mRID", original), reasons(why))


def reminder(reference: str, day: str, points: Iterable[str]) -> str:
    """Points whose measures of a day are missing."""
    missing = (element("MarketEvaluationPoint", point("mRID", gsrn)) for gsrn in points)
    return element("Series", leaf("mRID", reference), leaf("request_DateAndOrTime.dateTime", day), *missing)


class Span(NamedTuple):
    """A period and its step: instants in universal time to the minute, YYYY-MM-DDThh:mmZ, and an ISO duration."""

    start: str
    end: str
    step: str


def _period(span: Span, points: Iterable[str]) -> str:
    interval = element("timeInterval", leaf("start", span.start), leaf("end", span.end))
    return element("Period", leaf("resolution", span.step), interval, *points)


def measures(
    reference: str, gsrn: str, span: Span, values: Sequence[str], registered: str, original: str | None = None
) -> str:
    """The energy of a point, kWh in each interval."""
    points = (
        element("Point", leaf("position", n), leaf("quantity", value), leaf("quality", "A04"))
        for n, value in enumerate(values, 1)
    )
    return element(
        "Series",
        leaf("mRID", reference),
        leaf("originalTransactionIDReference_Series.mRID", original),
        point("marketEvaluationPoint.mRID", gsrn),
        leaf("marketEvaluationPoint.type", "E17"),
        leaf("registration_DateAndOrTime.dateTime", registered),
        leaf("product", ACTIVE),
        leaf("quantity_Measure_Unit.name", "KWH"),
        _period(span, points),
    )


def sums(
    reference: str,
    grid_area: str | None,
    span: Span,
    values: Sequence[str],
    *,
    original: str | None = None,
    variant: str | None = None,
    supplier: str = SUPPLIER,
) -> str:
    """The energy of a supplier in a grid area, kWh in each interval; `variant` is the number of a correction."""
    points = (
        element("Point", leaf("position", n), leaf("quantity", value), leaf("quality", "A06"))
        for n, value in enumerate(values, 1)
    )
    return element(
        "Series",
        leaf("mRID", reference),
        leaf("version", "1"),
        leaf("settlement_Series.version", variant),
        leaf("originalTransactionIDReference_Series.mRID", original),
        leaf("marketEvaluationPoint.type", "E17"),
        leaf("marketEvaluationPoint.settlementMethod", "E02"),
        area(grid_area),
        party("energySupplier", supplier),
        party("balanceResponsibleParty", BALANCE),
        leaf("product", ACTIVE),
        leaf("quantity_Measure_Unit.name", "KWH"),
        _period(span, points),
    )


class Charge(NamedTuple):
    """A charge: code, type, unit that it is counted in, price of one."""

    code: str
    type: str
    unit: str
    price: str


TARIFF_CHARGE, SUBSCRIPTION = Charge("NT-001", "D03", "KWH", "0.125"), Charge("AB-001", "D01", "H87", "1.75")


class Amount(NamedTuple):
    """What is settled for an interval; a total of a month has no quantity and no price."""

    amount: str
    quantity: str | None = None
    price: str | None = None


def amounts(
    reference: str,
    grid_area: str | None,
    span: Span,
    charge: Charge,
    values: Sequence[Amount],
    *,
    original: str | None = None,
    variant: str | None = None,
    supplier: str = SUPPLIER,
) -> str:
    """What a charge costs a supplier in a grid area, in each interval."""
    points = (
        element(
            "Point",
            leaf("position", n),
            leaf("energy_Quantity.quantity", one.quantity),
            leaf("price.amount", one.price),
            leaf("energySum_Quantity.quantity", one.amount),
            leaf("quality", "A06"),
        )
        for n, one in enumerate(values, 1)
    )
    return element(
        "Series",
        leaf("mRID", reference),
        leaf("version", "1"),
        leaf("settlement_Series.version", variant),
        leaf("originalTransactionIDReference_Series.mRID", original),
        leaf("marketEvaluationPoint.type", "E17"),
        leaf("chargeType.mRID", charge.code),
        leaf("chargeType.type", charge.type),
        party("chargeType.chargeTypeOwner", GRID),
        area(grid_area),
        party("energySupplier", supplier),
        leaf("product", TARIFF),
        leaf("quantity_Measure_Unit.name", charge.unit),
        leaf("currency_Unit.name", "DKK"),
        _period(span, points),
    )


_COPIES: dict[str, tuple[str, ...]] = {
    ASK_MEASURES: ("Series", "days", "point"),
    ASK_SUMS: ("Series", "kind", "days", "area", "supplier"),
    ASK_AMOUNTS: ("Series", "days", "area", "supplier", "step"),
    ASK_SWITCH: ("MktActivityRecord", "point", "supplier of the point", "start"),
}
"""Request -> its transaction, and what stands in it behind the reference, in this order."""


def asked(label: str, reference: str, *, gsrn: str, start: str, end: str, grid_area: str = AREAS[0]) -> str:
    """A copy of a request of ours, as it was sent."""
    begins = leaf("start_DateAndOrTime.dateTime", start)
    parts = {
        "start": begins,
        "days": begins + leaf("end_DateAndOrTime.dateTime", end),
        "point": point("marketEvaluationPoint.mRID", gsrn),
        "kind": leaf("marketEvaluationPoint.type", "E17") + leaf("marketEvaluationPoint.settlementMethod", "E02"),
        "area": area(grid_area),
        "supplier": party("energySupplier", SUPPLIER),
        "supplier of the point": party("marketEvaluationPoint.energySupplier", SUPPLIER),
        "step": leaf("aggregationSeries_Period.resolution", "P1M"),
    }
    transaction, *told = _COPIES[label]
    return element(transaction, leaf("mRID", reference), *(parts[name] for name in told))


# --- ebIX -------------------------------------------------------------------------------------------------------------


def _coded(tag: str, code: str | None, agency: str = "260") -> str:
    return leaf(tag, code, listAgencyIdentifier=agency)


def _named(tag: str, code: str | None, agency: str = "9") -> str:
    """A party, point or area inside an element of its own; nothing for None."""
    return "" if code is None else element(tag, leaf("Identification", code, schemeAgencyIdentifier=agency))


def _old(label: str, pieces: Iterable[str], *, created: str, name: str, process: str, about: str) -> bytes:
    head = element(
        "HeaderEnergyDocument",
        leaf("Identification", name),
        _coded("DocumentType", _OLD_TYPES[label]),
        leaf("Creation", created),
        _named("SenderEnergyParty", HUB),
        _named("RecipientEnergyParty", SUPPLIER),
    )
    context = element(
        "ProcessEnergyContext",
        _coded("EnergyBusinessProcess", process),
        _coded("EnergyBusinessProcessRole", "DDQ"),
        _coded("EnergyIndustryClassification", "23", "6"),
        about,
    )
    space = f"un:unece:260:data:EEM-{label}:v3"
    whole = f'<{label} xmlns="{space}">{head}{context}{"".join(pieces)}</{label}>'
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{whole}\n".encode()


def _old_period(span: Span) -> str:
    return element(
        "ObservationTimeSeriesPeriod",
        leaf("ResolutionDuration", span.step),
        leaf("Start", span.start.replace("Z", ":00Z")),
        leaf("End", span.end.replace("Z", ":00Z")),
    )


def _old_series(reference: str, *, currency: str | None = None) -> str:
    return leaf("Identification", reference) + _coded("Function", "9", "6") + _coded("Currency", currency)


def _old_product(product: str, unit: str) -> str:
    return element("IncludedProductCharacteristic", _coded("Identification", product, "9"), _coded("UnitType", unit))


def _old_type(method: str | None = None) -> str:
    told = _coded("TypeOfMeteringPoint", "E17") + _coded("SettlementMethod", method)
    return element("DetailMeasurementMeteringPointCharacteristic", told)


def _old_value(n: int, value: str, quality: str) -> str:
    told = leaf("Position", n) + leaf("EnergyQuantity", value)
    return element("IntervalEnergyObservation", told, _coded("QuantityQuality", quality))


def old_measures(reference: str, gsrn: str, span: Span, values: Sequence[str]) -> str:
    """The energy of a point, kWh in each interval, in ebIX."""
    return element(
        "PayloadEnergyTimeSeries",
        _old_series(reference) + _old_period(span) + _old_product(ACTIVE, "KWH") + _old_type("E02"),
        _named("MeteringPointDomainLocation", gsrn),
        *(_old_value(n, value, "E01") for n, value in enumerate(values, 1)),
    )


def old_sums(reference: str, grid_area: str, span: Span, values: Sequence[str]) -> str:
    """The energy of a supplier in a grid area, in ebIX."""
    return element(
        "PayloadEnergyTimeSeries",
        _old_series(reference) + _old_period(span),
        _named("BalanceResponsibleEnergyParty", BALANCE) + _named("BalanceSupplierEnergyParty", SUPPLIER),
        _old_product(ACTIVE, "KWH") + _old_type("E02"),
        _named("MeteringGridAreaUsedDomainLocation", grid_area, "260"),
        *(_old_value(n, value, "D01") for n, value in enumerate(values, 1)),
        leaf("Version", "1"),
    )


def old_amounts(reference: str, grid_area: str, span: Span, charge: Charge, values: Sequence[Amount]) -> str:
    """What a charge costs a supplier in a grid area, in ebIX."""
    observed = (
        element(
            "IntervalEnergyObservation",
            leaf("Position", n),
            leaf("EnergyQuantity", one.quantity),
            leaf("EnergyPrice", one.price),
            _coded("QuantityQuality", "D01"),
            leaf("EnergySum", one.amount),
        )
        for n, one in enumerate(values, 1)
    )
    return element(
        "PayloadEnergyTimeSeries",
        _old_series(reference, currency="DKK") + _old_period(span),
        _named("BalanceSupplierEnergyParty", SUPPLIER),
        _old_product(TARIFF, charge.unit) + _old_type(),
        _named("MeteringGridAreaUsedDomainLocation", grid_area, "260"),
        *observed,
        _coded("ChargeType", charge.type) + leaf("PartyChargeTypeID", charge.code),
        _named("ChargeTypeOwnerEnergyParty", GRID),
        leaf("Version", "1"),
    )


def old_reminder(reference: str, day: str, gsrn: str) -> str:
    """A point whose measures of a day are missing, in ebIX."""
    told = leaf("Identification", reference) + _coded("EventCode", "E66") + leaf("RequestPeriod", day)
    return element(
        "PayloadMissingDataRequest",
        told + _named("MeteringPointDomainLocation", gsrn) + leaf("NumberOfReminders", 1),
    )


def old_response(
    label: str, reference: str, original: str, *, code: str, gsrn: str | None = None, text: str | None = None
) -> str:
    """A request is refused for a reason, in ebIX."""
    told = leaf("Identification", reference) + _coded("StatusType", "41", "6")
    told += _coded("ResponseReasonType", code) + leaf("ReasonText", text)
    place = _named("MeteringPointDomainLocation", gsrn) if label == OLD_NO_MEASURES else ""
    return element("PayloadResponseEvent", told, place, leaf("OriginalBusinessDocument", original))


def old_received(original: str) -> str:
    """What an acknowledgement of ebIX is about."""
    return leaf("OriginalBusinessMessage", original)
