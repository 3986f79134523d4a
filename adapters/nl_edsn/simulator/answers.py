"""The Dutch register of a simulation: it reads our requests and answers them with its codes, gains and losses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from lxml import etree

from adapters.nl_edsn.simulator import holdings
from adapters.nl_edsn.simulator.documents import (
    GRID,
    OTHER,
    access_point,
    document,
    element,
    leaves,
    mutation,
    parties,
    party,
    pointed,
)
from energycomm.simulation.answering import Asked, Document

REASONS = (("201", "EAN-code onbekend"), ("227", "Kruisend bericht"), ("206", "Mutatiedatum onjuist"))
"""Why the register refuses."""
_SUPPLY = {
    "SupplierSwitchRequest": ("ChangeOfSupplierResponse", "SWITCHLV", "GainResultResponse"),
    "MoveInRequest": ("MoveInResponse", "MOVEIN", "GainResultResponse"),
    "MoveOutRequest": ("MoveOutResponse", "MOVEOUT", "LossResultResponse"),
    "EndOfSupplyRequest": ("EndOfSupplyResponse", "EOSUPPLY", "LossResultResponse"),
}
"""Kind -> type of the answer, reason of the mutation, and the list it ends in."""
_OTHER = {
    "MeterReadingSubmission": "MeterReadingExchangeAcknowledgement",
    "SearchRequest": "SearchMeteringPointsResponse",
    "MasterDataRequest": "MasterDataResponse",
    "ContractDataRequest": "ContractDataResponse",
    "MeteredDataRequest": "P4CollectedDataBatchResponse",
}
"""Kind -> type of the answer to a question or a reading."""


class _Read(NamedTuple):
    """What the register reads in a request."""

    sender: str
    message: str
    point: str | None
    day: str | None
    grid: str | None
    balance: str | None
    reference: str
    queried: str | None
    reason: str | None


class DutchClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """What was asked for; to a request that changes something the positive answer, and the gain or loss it ends
        in."""
        request = _read(asked)
        if asked.kind == "MeteredDataRequest":
            return _collected(asked, request, at)
        if asked.kind not in _SUPPLY:
            return [_answer(_OTHER[asked.kind], request, at, _told(asked, request))]
        label, reason, listed = _SUPPLY[asked.kind]
        gaining = listed == "GainResultResponse"
        told = mutation(str(request.day), reason, asked.number("8"), request.reference)
        before = OTHER if reason == "SWITCHLV" else None
        ours = parties(request.sender, before, request.balance or OTHER)
        theirs = ours if gaining else parties(OTHER, request.sender, OTHER)
        head = leaves(EANID=request.point, ProductType="ELK") + party("GridOperator", request.grid)
        taken, last = (pointed(head + element("MPCommercialCharacteristics", held) + told) for held in (ours, theirs))
        listing = document(
            listed, last, created=_moment(at + timedelta(minutes=1)), name=asked.reference, receiver=request.sender
        )
        return [_answer(label, request, at, taken), Document(f"2_{listed}", listing)]

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A rejection with a code of the register; the point that was asked about stands in it where there is one."""
        request = _read(asked)
        label = _SUPPLY[asked.kind][0] if asked.kind in _SUPPLY else _OTHER[asked.kind]
        code, text = REASONS[choice % len(REASONS)]
        reason = element("Rejection", leaves(RejectionCode=code, RejectionText=text))
        p4 = label.startswith("P4")
        root, tag = ("P4Content", "P4Rejection") if p4 else ("Portaal_Content", "Portaal_Rejection")
        return [_answer(label, request, at, element(root, element(tag, reason)))]


def _told(asked: Asked, request: _Read) -> str:
    """What answers a question, or says that a reading was taken."""
    point = request.point or access_point(1)
    match asked.kind:
        case "SearchRequest":
            return holdings.found(point)
        case "MasterDataRequest":
            return holdings.master_data(point, request.reference)
        case "ContractDataRequest":
            return holdings.contract(point, request.reference, asked.number("8"))
        case _:
            return element("Portaal_Content")


def _collected(asked: Asked, request: _Read, at: datetime) -> Sequence[Document]:
    """The query is taken; its result waits in the list that is polled."""
    label = "P4CollectedDataBatchResultResponse"
    result = holdings.collected(str(request.point), request.reference, str(request.queried), str(request.reason))
    made = document(
        label,
        result,
        created=_moment(at + timedelta(minutes=1)),
        name=asked.reference,
        receiver=request.sender,
        sender=GRID,
    )
    taken = _answer(_OTHER[asked.kind], request, at, element("P4Content"))
    return [taken, Document(f"2_{label}", made)]


def _read(asked: Asked) -> _Read:
    root = asked.root
    return _Read(
        sender=_text(root, "SenderID") or "",
        message=_text(root, "MessageID") or "",
        point=_text(root, "EANID"),
        day=_text(root, "MutationDate"),
        grid=_below(root, "GridOperator_Company"),
        balance=_below(root, "BalanceResponsibleParty_Company"),
        reference=asked.reference,
        queried=_text(root, "QueryDate"),
        reason=_text(root, "QueryReason"),
    )


def _text(root: etree._Element, tag: str) -> str | None:
    return root.findtext(f".//{{*}}{tag}")


def _below(root: etree._Element, tag: str) -> str | None:
    return root.findtext(f".//{{*}}{tag}/{{*}}ID")


def _moment(at: datetime) -> str:
    return at.replace(microsecond=0).isoformat()


def _answer(label: str, request: _Read, at: datetime, content: str) -> Document:
    """An answer under the name that tells which request it answers: a rejection does not repeat our reference."""
    made = document(label, content, created=_moment(at), name=request.reference, receiver=request.sender)
    return Document(f"answer_{request.reference}_{at:%Y%m%dT%H%M%SZ}", made)
