"""What we send to the hub: one document of CIM for each request, in XML or in JSON, of one description of its content.

The transaction and its document have the reference for their identifier: a confirmation, a rejection and an
acknowledgement repeat it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.times import LegalTime
from adapters.dk_energinet.codes import refusal
from adapters.dk_energinet.documents import TABLE
from energycomm.kernel.demands import demanded
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import (
    AggregatedDataRequest,
    CustomerRequest,
    MasterDataUpdate,
    MeteredDataRequest,
    SettlementRequest,
)
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

Form: TypeAlias = Literal["xml", "json"]

LEGAL: Final = LegalTime("Europe/Copenhagen")
_GLN, _EIC, _AREA, _COMPANY = "A10", "A01", "NDK", "VAT"
_ELECTRICITY, _US, _HUB = "23", "DDQ", "DDZ"
_EIC_LENGTH = 16
_POINT_TYPES = {"consumption": "E17", "production": "E18", "exchange": "E20"}
_CHARGES = {"subscription": "D01", "fee": "D02", "tariff": "D03"}
_RUNS = {None: "D05", "preliminary": "D03", "first": "D04", "second": "D05", "correction": "D32"}
_CONTENT_TYPES: Mapping[Form, str] = {"xml": "application/xml", "json": "application/json"}


class Leaf(NamedTuple):
    """An element with a value.

    Attributes:
      name: of the element.
      text: its value; None leaves it out.
      scheme: code of the scheme that an identifier is of.
      coded: in JSON a code is an object with its value.
    """

    name: str
    text: str | None
    scheme: str | None = None
    coded: bool = False


class Branch(NamedTuple):
    """An element with elements.

    Attributes:
      name: of the element.
      parts: what stands in it; nothing leaves it out.
      listed: it may stand several times: in JSON in an array.
    """

    name: str
    parts: Sequence[Any]
    listed: bool = False


class _Document(NamedTuple):
    """A document that a kind of request is written as.

    Attributes:
      label: of the table.
      type: that its header declares.
      process: of its header; None where the request tells it.
      pieces: writes the transactions.
    """

    label: str
    type: str
    process: str | None
    pieces: Callable[[Any, str], Branch]


def build(message: KernelMessage, reference: str, form: Form = "xml") -> OutgoingMessage | Refusal:
    """Write a request; equal messages, references and forms give equal bytes.

    Args:
      message: of one of `KINDS`.
      reference: of the transaction and of its document.
      form: XML or JSON.

    Returns:
      The message, or a refusal: BUILD_KIND, BUILD_MISSING, BUILD_VALUE, BUILD_SCHEMA.
    """
    kind = type(message).__name__
    if kind not in _DOCUMENTS:
        return refusal("BUILD_KIND", "kind", kind, ", ".join(sorted(KINDS)))
    document = _DOCUMENTS[kind]
    try:
        parts = [*_header(message, document, reference), document.pieces(message, reference)]
        root = _xml(document.label, parts)
    except Unreadable as unreadable:
        return unreadable.refusal
    schema = _schema(document.label)
    if not schema.validate(root):
        log: list[etree._LogEntry] = list(schema.error_log)  # type: ignore[call-overload]
        error = log[0]
        return refusal("BUILD_SCHEMA", str(error.path or document.label), error.message, demanded(error.message))
    if form == "xml":
        etree.indent(root)
        content = etree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
    else:
        content = json.dumps({_root(document.label): _json(parts)}, ensure_ascii=False, indent=2).encode() + b"\n"
    return OutgoingMessage(type=document.label, content=content, reference=reference, content_type=_CONTENT_TYPES[form])


def _header(message: KernelMessage, document: _Document, reference: str) -> list[Leaf]:
    return [
        Leaf("mRID", reference),
        Leaf("type", document.type, coded=True),
        Leaf("process.processType", document.process or _run(message), coded=True),
        Leaf("businessSector.type", _ELECTRICITY, coded=True),
        _party("sender_MarketParticipant.mRID", _needed(message, "sender")),
        Leaf("sender_MarketParticipant.marketRole.type", _US, coded=True),
        _party("receiver_MarketParticipant.mRID", _needed(message, "receiver")),
        Leaf("receiver_MarketParticipant.marketRole.type", _HUB, coded=True),
        Leaf("createdDateTime", _instant(message.created)),
    ]


def _run(message: Any) -> str:
    if message.version not in _RUNS:
        raise Unreadable(refusal("BUILD_VALUE", "version", message.version, ", ".join(one for one in _RUNS if one)))
    return _RUNS[message.version]


def _change(message: Any, reference: str) -> Branch:
    """A change of supplier, a move, or an end of supply."""
    names = message if isinstance(message, CustomerRequest) else None
    point = "marketEvaluationPoint."
    return Branch(
        "MktActivityRecord",
        (
            Leaf("mRID", reference),
            Leaf(f"{point}mRID", _needed(message, "access_point"), _GLN),
            _party(f"{point}energySupplier_MarketParticipant.mRID", getattr(names, "supplier", None) or message.sender),
            _party(
                f"{point}balanceResponsibleParty_MarketParticipant.mRID", getattr(names, "balance_responsible", None)
            ),
            Leaf(f"{point}customer_MarketParticipant.mRID", getattr(names, "company_id", None), _COMPANY),
            Leaf(f"{point}customer_MarketParticipant.name", _name(names)),
            Leaf("start_DateAndOrTime.dateTime", _midnight(_needed(message, "requested_date"))),
        ),
        listed=True,
    )


def _customer(message: MasterDataUpdate, reference: str) -> Branch:
    address = message.address
    contact = Branch(
        "UsagePointLocation",
        (
            Leaf("type", "D01", coded=True),
            Branch(
                "mainAddress",
                (
                    Branch("streetDetail", (Leaf("name", address.street), Leaf("number", address.number))),
                    Branch(
                        "townDetail",
                        (
                            Leaf("code", address.municipality_code),
                            Leaf("name", address.city),
                            Leaf("country", address.country),
                        ),
                    ),
                    Leaf("postalCode", address.postal_code),
                )
                if address is not None
                else (),
            ),
            Leaf("name", _name(message)),
            Branch("phone1", (Leaf("ituPhone", message.phone),)),
            Branch("electronicAddress", (Leaf("email1", message.email),)),
        ),
        listed=True,
    )
    tells = address is not None or message.phone is not None or message.email is not None
    customer = "firstCustomer_MarketParticipant"
    return Branch(
        "MktActivityRecord",
        (
            Leaf("mRID", reference),
            Leaf("start_DateAndOrTime.dateTime", _midnight(message.requested_date)),
            Branch(
                "MarketEvaluationPoint",
                (
                    Leaf("mRID", _needed(message, "access_point"), _GLN),
                    Leaf(f"{customer}.mRID", message.company_id, _COMPANY),
                    Leaf(f"{customer}.name", _name(message)),
                    *((contact,) if tells else ()),
                ),
            ),
        ),
        listed=True,
    )


def _measures(message: MeteredDataRequest, reference: str) -> Branch:
    return Branch(
        "Series",
        (
            Leaf("mRID", reference),
            Leaf("start_DateAndOrTime.dateTime", _midnight(message.start)),
            Leaf("end_DateAndOrTime.dateTime", _after(message.end)),
            Leaf("marketEvaluationPoint.mRID", _needed(message, "access_point"), _GLN),
        ),
        listed=True,
    )


def _sums(message: AggregatedDataRequest, reference: str) -> Branch:
    return Branch(
        "Series",
        (
            Leaf("mRID", reference),
            Leaf("marketEvaluationPoint.type", _code("point_type", message.point_type, _POINT_TYPES), coded=True),
            Leaf("marketEvaluationPoint.settlementMethod", message.settlement, coded=True),
            Leaf("start_DateAndOrTime.dateTime", _midnight(message.start)),
            Leaf("end_DateAndOrTime.dateTime", _after(message.end)),
            Leaf("meteringGridArea_Domain.mRID", message.grid_area, _AREA),
            _party("energySupplier_MarketParticipant.mRID", message.supplier or message.sender),
            _party("balanceResponsibleParty_MarketParticipant.mRID", message.balance_responsible),
        ),
        listed=True,
    )


def _settlement(message: SettlementRequest, reference: str) -> Branch:
    charge = (
        Leaf("type", _code("charge_type", message.charge_type, _CHARGES), coded=True),
        Leaf("mRID", message.charge_code),
    )
    return Branch(
        "Series",
        (
            Leaf("mRID", reference),
            Leaf("start_DateAndOrTime.dateTime", _midnight(message.start)),
            Leaf("end_DateAndOrTime.dateTime", _after(message.end)),
            Leaf("meteringGridArea_Domain.mRID", message.grid_area, _AREA),
            _party("energySupplier_MarketParticipant.mRID", message.supplier or message.sender),
            _party("chargeTypeOwner_MarketParticipant.mRID", message.charge_owner),
            Leaf(
                "aggregationSeries_Period.resolution",
                None if message.resolution_months is None else f"P{message.resolution_months}M",
            ),
            Branch("ChargeType", charge, listed=True),
        ),
        listed=True,
    )


_SUPPLIER = "RequestChangeOfSupplier"
_DOCUMENTS: Mapping[str, _Document] = {
    "SupplierSwitchRequest": _Document(_SUPPLIER, "392", "E03", _change),
    "MoveInRequest": _Document(_SUPPLIER, "392", "E65", _change),
    "CombinedSwitchRequest": _Document(_SUPPLIER, "392", "E65", _change),
    "EndOfSupplyRequest": _Document(_SUPPLIER, "432", "E20", _change),
    "MoveOutRequest": _Document(_SUPPLIER, "432", "E66", _change),
    "MasterDataUpdate": _Document("RequestChangeCustomerCharacteristics", "D15", "E34", _customer),
    "MeteredDataRequest": _Document("RequestValidatedMeasureData", "E73", "E30", _measures),
    "AggregatedDataRequest": _Document("RequestAggregatedMeasureData", "E74", None, _sums),
    "SettlementRequest": _Document("RequestWholesaleSettlement", "D21", None, _settlement),
}
KINDS = frozenset(_DOCUMENTS)
"""Kernel kinds that can be asked of the hub."""


# --- values -----------------------------------------------------------------------------------------------------------


def _needed(message: Any, field: str) -> Any:
    value = getattr(message, field)
    if value is None:
        raise Unreadable(refusal("BUILD_MISSING", field, expected="a value"))
    return value


def _code(field: str, word: str | None, codes: Mapping[str, str]) -> str | None:
    if word is not None and word not in codes:
        raise Unreadable(refusal("BUILD_VALUE", field, word, ", ".join(codes)))
    return None if word is None else codes[word]


def _party(name: str, party: str | None) -> Leaf:
    return Leaf(name, party, _EIC if party is not None and len(party) == _EIC_LENGTH else _GLN)


def _name(message: Any) -> str | None:
    if message is None:
        return None
    parts = (message.first_name, message.name_prefix, message.surname)
    return message.company or " ".join(part for part in parts if part) or None


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _midnight(day: date | None) -> str | None:
    """The start of a day in Denmark, in universal time as the hub wants it."""
    return None if day is None else _instant(LEGAL.start_of_day(day))


def _after(day: date | None) -> str | None:
    """The end of a day that belongs to the period."""
    return None if day is None else _midnight(day + timedelta(days=1))


# --- forms ------------------------------------------------------------------------------------------------------------


def _xml(label: str, parts: Sequence[Any]) -> etree._Element:
    space = next(iter(TABLE.documents[label].versions.values()))
    root = etree.Element(f"{{{space}}}{_root(label)}", nsmap={"cim": space})  # type: ignore[dict-item]
    _fill(root, parts, f"{{{space}}}")
    return root


def _fill(parent: etree._Element, parts: Sequence[Any], space: str) -> None:
    for part in parts:
        if isinstance(part, Branch):
            if _told(part):
                _fill(etree.SubElement(parent, space + part.name), part.parts, space)
        elif part.text is not None:
            element = etree.SubElement(parent, space + part.name)
            if part.scheme is not None:
                element.set("codingScheme", part.scheme)
            try:
                element.text = part.text
            except ValueError:
                wanted = "characters that XML can hold"
                raise Unreadable(refusal("BUILD_VALUE", part.name, ascii(part.text), wanted)) from None


def _json(parts: Sequence[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Branch):
            if _told(part):
                held = _json(part.parts)
                made[part.name] = [held] if part.listed else held
        elif part.text is not None:
            scheme = {} if part.scheme is None else {"codingScheme": part.scheme}
            made[part.name] = {**scheme, "value": part.text} if scheme or part.coded else part.text
    return made


def _told(part: Branch) -> bool:
    return any(_told(one) if isinstance(one, Branch) else one.text is not None for one in part.parts)


def _root(label: str) -> str:
    return TABLE.documents[label].root or label


@cache
def _schema(label: str) -> etree.XMLSchema:
    path = Path(__file__).parent / "schemas" / f"{label}.xsd"
    return etree.XMLSchema(etree.parse(path, etree.XMLParser(resolve_entities=False, no_network=True)))
