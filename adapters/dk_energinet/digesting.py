"""Kernel messages of the values of a piece, where the table alone cannot say which or with what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from adapters.common.codes import Unreadable
from adapters.common.pieces import Values, messages_of
from adapters.common.table import Node, Piece
from adapters.common.times import LegalTime
from adapters.dk_energinet.codes import refusal
from energycomm.kernel.messages import (
    AccessPointData,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    MeasureSeries,
    MeterData,
    PointRelations,
    RequestAnswer,
    RequestStatus,
    SettlementAmounts,
    StartOfSupply,
)

Digester: TypeAlias = Callable[[Values, Values], list[KernelMessage]]

LEGAL: Final = LegalTime("Europe/Copenhagen")
STARTS = frozenset(("E01", "E02", "E03", "E06", "E65", "D21", "D24", "D29", "D30", "D31", "D35"))
"""Processes with which a point is told to its new supplier."""
ENDS = frozenset(("E01", "E03", "E06", "E20", "E65", "E66", "D21", "D24", "D29", "D30", "D31", "D34", "D38"))
"""Processes with which a supply is told to end."""
CANCELLATION, OF_CUSTOMER, ASKED_FOR = "E05", "E34", "E30"
_DIRECTIONS: Mapping[str, str] = {"E17": "consumption", "E18": "production"}
_CPR, _CVR = 10, 8
_LONGEST_CODE = 64


def measures(values: Values, head: Values) -> list[KernelMessage]:
    """The series of a point; what its point measures tells its direction. Other measures than those that we asked for
    bear the reference of who measured."""
    found = values.get("point_type")
    told = {"direction": found} if found in _DIRECTIONS.values() else {}
    made = _made(MeasureSeries, _ended(values) | told, head)
    return made + (_done(values, head) if head.get("market_reason") == ASKED_FOR else [])


def amounts(values: Values, head: Values) -> list[KernelMessage]:
    """Settlement amounts with their total."""
    told = [one["amount"] for one in values.get("positions", ()) if "amount" in one]
    return _made(SettlementAmounts, values | ({"total": sum(told, Decimal())} if told else {}), head)


def refused(values: Values, head: Values) -> list[KernelMessage]:
    """A refused request: its first reason stands for it, all of them are kept."""
    return _made(RequestAnswer, values | _first_of(values.get("reasons", [])), head)


def settlement_request(values: Values, head: Values) -> list[KernelMessage]:
    """A request for settlement as it was sent, with the charges that it names."""
    charges = " ".join(f"{one.get('type', '')}:{one.get('code', '')}" for one in values.get("charges", ()))
    return _made(RequestStatus, values | ({"object_code": charges[:_LONGEST_CODE]} if charges else {}), head)


def acknowledgement(values: Values, head: Values) -> list[KernelMessage]:
    """Without a reason the hub received what we sent; with reasons it refuses the document, or some of it."""
    about = head.get("correlation")
    of_document = values.get("reasons", [])
    found: list[KernelMessage] = []
    if of_document:
        found += _made(RequestAnswer, {"accepted": False, "reasons": of_document, **_first_of(of_document)}, head)
    for one in values.get("items", ()):
        reasons = one.get("reasons", [])
        if reasons:
            told = {"accepted": False, "reasons": reasons, "correlation": one["reference"], **_first_of(reasons)}
            found += _made(RequestAnswer, told, head)
    return found or _made(RequestStatus, {"state": "acknowledged", "request": about or head["reference"]}, head)


def notification(values: Values, head: Values) -> list[KernelMessage]:
    """The end of our supply of a point, or an end that is taken back."""
    process = str(head.get("market_reason"))
    if process == CANCELLATION:
        return _made(EndOfSupply, values | {"function": "cancel"}, head)
    if process not in ENDS:
        expected = "one of " + ", ".join(sorted({*ENDS, CANCELLATION}))
        raise Unreadable(refusal("SYN_CODE", "process.processType", process, expected))
    return _made(EndOfSupply, values, head) + _done(values, head)


def characteristics(values: Values, head: Values) -> list[KernelMessage]:
    """The data of a point; told to the supplier that it comes to, the start of that supply too."""
    starts: datetime | None = values.get("supply_start")
    ours = values.get("supplier") is not None and values.get("supplier") == head.get("receiver")
    begins = starts is not None and ours and head.get("market_reason") in STARTS
    data = dict(values)
    if values.get("segment") in _DIRECTIONS:
        data["direction"] = _DIRECTIONS[values["segment"]]
    found = _made(AccessPointData, data | ({"told_ahead": True} if begins else {}), head)
    if begins and starts is not None:
        start = {"effective": starts, "contract_start": LEGAL.here(starts).date(), "supplier": values["supplier"]}
        found += _made(StartOfSupply, values | start, head)
    relations = list(values.get("relations", ()))
    if "parent" in values:
        parent = {"access_point": values["parent"], "nature": "parent"}
        relations.append(parent | ({"code": values["parent_code"]} if "parent_code" in values else {}))
    if relations:
        found += _made(PointRelations, values | {"relations": relations}, head)
    if "meter" in values:
        found += _made(MeterData, values | {"action": "present"}, head)
    return found + (_done(values, head) if begins else [])


def customer(values: Values, head: Values) -> list[KernelMessage]:
    """The customer of a point. The number of a person is not kept; that of a company is."""
    number, name = values.get("first"), values.get("first_name_of")
    told: Values = {}
    if number is not None and len(number) == _CPR and number.isdigit():
        told |= {"category": "residential"} | ({"surname": name} if name else {})
    else:
        told |= {"company": name} if name else {}
        if number is not None:
            told["company_id"] = number
            if len(number) == _CVR:
                told["category"] = "professional"
    for place in values.get("locations", ())[:1]:
        parts = ("street", "number", "postal_code", "city", "municipality_code", "country")
        address = {part: place[part] for part in parts if part in place}
        addition = " ".join(place[part] for part in ("floor", "suite") if part in place)
        if addition:
            address["addition"] = addition
        told |= {"address": address} if address else {}
        told |= {part: place[part] for part in ("phone", "email") if part in place}
    answers = head.get("market_reason") == OF_CUSTOMER
    return _made(CustomerData, values | told, head) + (_done(values, head) if answers else [])


DIGESTERS: Mapping[str, Digester] = {
    "acknowledgement": acknowledgement,
    "amounts": amounts,
    "characteristics": characteristics,
    "customer": customer,
    "measures": measures,
    "notification": notification,
    "refused": refused,
    "settlement_request": settlement_request,
}
"""What `table.yaml` calls them."""


def _made(kind: type[KernelMessage], values: Values, head: Values) -> list[KernelMessage]:
    return messages_of(Piece((), Node(""), (kind,), None, {}), values, {}, head)


def _done(values: Values, head: Values) -> list[KernelMessage]:
    """Our request is carried out by what names it; nothing where none is named."""
    ours = values.get("correlation")
    if ours is None:
        return []
    known = {name: values[name] for name in ("effective", "access_point", "reference", "correlation") if name in values}
    return _made(RequestStatus, known | {"request": ours, "state": "done", "initiated_by_us": True}, head)


def _ended(values: Values) -> Values:
    """The values with the end of their period: where it is not told, so many intervals after the start as there are."""
    if "effective" not in values:
        raise Unreadable(refusal("SYN_MISSING", "Start", expected="the start of the period"))
    if "end" in values:
        return values
    step, count = values.get("resolution"), len(values.get("positions", ()))
    if step is None or not count:
        raise Unreadable(refusal("SYN_MISSING", "End", expected="the end of the period"))
    return values | {"end": LEGAL.here(values["effective"] + timedelta(minutes=step * count))}


def _first_of(reasons: list[dict[str, Any]]) -> Values:
    return {key: reasons[0][key] for key in ("code", "text") if key in reasons[0]} if reasons else {}
