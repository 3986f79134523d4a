"""The Belgian clearing house of a simulation: it reads our requests as the market does, and answers them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from adapters.be_atrias.mapping import table
from adapters.be_atrias.requests import Request, read_back
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


class BelgianClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """First that it is looked at, then that it is granted; a start or stop is announced as well."""
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
        }
        if asked.kind in _STARTS:
            start = {**values, "supplier": request.head["sender"], "contract_status": "in-service"}
            start |= {name: piece[name] for name in _CUSTOMER if name in piece}
            start |= {"contract_start": piece["effective"].date(), "contract_kind": "E03", "tariff": "LS_TH"}
            start |= {"subscribed_power": Decimal("9.2"), "power_unit": "kVA", "calendar": "HILO"}
            documents.append(_document("StartOfAccess", request, asked, later, 3, start))
        elif asked.kind in _STOPS:
            values["contract_end"] = piece["effective"].date()
            documents.append(_document("StopOfAccess", request, asked, later, 3, values))
        return documents

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A negative answer with a reason of ebIX."""
        code, text = REASONS[choice % len(REASONS)]
        return [_response(_read(asked), asked, at, "rejected", 1, {"code": code, "text": text})]


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
    return _document("Response", request, asked, at, number, values)


def _document(
    label: str, request: Request, asked: Asked, at: datetime, number: int, values: dict[str, Any]
) -> Document:
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
