"""The Belgian clearing house of a simulation: it reads our requests as the market does, and answers them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from adapters.be_atrias.mapping import table
from adapters.be_atrias.reading import Values
from adapters.be_atrias.requests import Request, read_back
from adapters.be_atrias.times import midnight
from adapters.be_atrias.writing import write
from energycomm.kernel.verdicts import Refusal
from energycomm.simulation.answering import Asked, Document

REASONS = (
    ("E10", "Metering point not identifiable"),
    ("E17", "Requested date not within time limits"),
    ("E16", "Unauthorised balance supplier"),
)
"""Why the market refuses."""
_STARTS = {"SupplierSwitchRequest", "MoveInRequest", "CombinedSwitchRequest"}
_CUSTOMER = ("balance_responsible", "category", "title", "surname", "first_name", "company", "company_id")
"""Fields of a request that the announcement of its start repeats."""
_STOPS = {"MoveOutRequest", "EndOfSupplyRequest"}
_TERMS = ("tariff", "subscribed_power", "power_unit", "calendar")
_DATA: dict[str, tuple[str, Values]] = {
    "ContractChangeRequest": ("ChangeOfAccess", {}),
    "MasterDataRequest": ("MasterData", {"segment": "LV", "connection_status": "connected", "profile": "S21"}),
}
"""Kind of a request -> the document that carries it out, and what it says beside the terms that were asked for."""


class BelgianClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """First that it is looked at, then that it is granted; then what was asked for is announced or sent."""
        request = _read(asked)
        later = at + timedelta(minutes=1)
        documents = [
            _response(request, asked, at, "pending", 1),
            _response(request, asked, later, "accepted", 2, {"request": _number(asked)}),
        ]
        piece = request.pieces[0]
        values = {
            "reference": f"EV-{asked.reference[:32]}",
            "function": "original",
            "effective": piece["effective"],
            "access_point": piece["access_point"],
            "contract_reference": piece.get("contract") or f"AC-{asked.reference[:8]}",
            "request": _number(asked),
            "original": asked.reference,
        }
        if asked.kind in _STARTS:
            start = {**values, "supplier": request.head["sender"], "contract_status": "in-service"}
            start |= {name: piece[name] for name in _CUSTOMER if name in piece}
            start |= {"contract_start": piece["effective"].date(), "contract_kind": "E03", "tariff": "LS_TH"}
            start |= {"subscribed_power": Decimal("9.2"), "power_unit": "kVA", "calendar": "HILO"}
            documents.append(_document("StartOfAccess", start, request, asked, later, 3))
        elif asked.kind in _STOPS:
            values["contract_end"] = piece["effective"].date()
            documents.append(_document("StopOfAccess", values, request, asked, later, 3))
        elif asked.kind in _DATA:
            label, fields = _DATA[asked.kind]
            data = {**values, **fields, **{name: piece[name] for name in _TERMS if name in piece}}
            documents.append(_document(label, data, request, asked, later, 3))
        elif asked.kind == "MeteredDataRequest":
            documents.append(_document(*_measures(piece, values), request, asked, later, 3))
        return documents

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A negative answer with a reason of ebIX."""
        code, text = REASONS[choice % len(REASONS)]
        return [_response(_read(asked), asked, at, "rejected", 1, {"code": code, "text": text})]


def _measures(piece: Values, values: Values) -> tuple[str, Values]:
    """The label and the values of what measures are asked for: a day of a curve, or an index."""
    start = midnight(piece["start"])
    if piece["measure"] != "load-curve":
        indexes = [{"time_class": "HI", "value": 4210, "unit": "kWh", "digits": 6}]
        return "MeterReadings", {**values, "effective": start, "nature": "read", "registers": indexes}
    hours = int((midnight(piece["start"] + timedelta(days=1)) - start).total_seconds()) // 3600
    positions = [{"position": hour, "value": Decimal("0.25"), "quality": "measured"} for hour in range(1, hours + 1)]
    curve = {"resolution": "PT1H", "end": start + timedelta(hours=hours), "unit": "kWh", "positions": positions}
    curve |= {"product": "8716867000030", "direction": piece.get("direction") or "consumption"}
    return "MeteredSeries", {**values, **curve, "effective": start}


def _read(asked: Asked) -> Request:
    request = read_back(table(), asked.content)
    if isinstance(request, Refusal):
        raise ValueError(f"request {asked.reference} is no Belgian document: {request}")
    return request


def _number(asked: Asked) -> str:
    """The market's own number of a request."""
    return f"REQ-{asked.reference[:18]}"


def _response(
    request: Request, asked: Asked, at: datetime, status: str, number: int, more: dict[str, Any] | None = None
) -> Document:
    values = {
        "reference": f"RS-{number}-{asked.reference[:36]}",
        "original": asked.reference,
        "status": status,
        "effective": at.replace(microsecond=0),
        "access_point": request.pieces[0].get("access_point"),
        **(more or {}),
    }
    return _document("Response", values, request, asked, at, number)


def _document(label: str, values: Values, request: Request, asked: Asked, at: datetime, number: int) -> Document:
    mapping = table()
    document = mapping.documents[label]
    head = {
        "document": f"{number}-{asked.reference}"[:64],
        "type": document.type,
        "created": at.replace(microsecond=0),
        "sender": request.head["receiver"],
        "receiver": request.head["sender"],
        "reason": request.head["reason"],
        "role": "clearing-house",
        "energy": request.head["energy"],
    }
    return Document(f"{number}_{label}", write(mapping, document, head, [values]))
