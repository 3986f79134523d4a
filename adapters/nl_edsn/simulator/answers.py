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
    "NameChangeRequest": ("NameChangeResponse", "NAMECHG", "UpdateResultResponse"),
    "ChangeOfPVRequest": ("ChangeOfPVResponse", "SWITCHPV", "UpdateResultResponse"),
}
"""Kind, or message where a kind has several -> type of the answer, reason of the mutation, and the list it ends in."""
_OTHER = {
    "MeterReadingSubmission": "MeterReadingExchangeAcknowledgement",
    "SearchRequest": "SearchMeteringPointsResponse",
    "MasterDataRequest": "MasterDataResponse",
    "ContractDataRequest": "ContractDataResponse",
    "MeteredDataRequest": "P4CollectedDataBatchResponse",
    "EndOfSupplyNotice": "NoticeEOSAcknowledgement",
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
        change = _change(asked)
        if change is None:
            return [_answer(_OTHER[asked.kind], request, at, _told(asked, request))]
        label, reason, listed = change
        gaining = listed != "LossResultResponse"
        told = mutation(request.day or f"{at:%Y-%m-%d}", reason, asked.number("8"), request.reference)
        before = OTHER if reason == "SWITCHLV" else None
        ours = parties(request.sender, before, request.balance or OTHER)
        theirs = ours if gaining else parties(OTHER, request.sender, OTHER)
        head = leaves(EANID=request.point, ProductType="ELK") + party("GridOperator", request.grid)
        taken, last = (pointed(head + element("MPCommercialCharacteristics", held) + told) for held in (ours, theirs))
        if _batched(asked):
            label, taken = _batch(label), element("Portaal_Content")
        listing = document(
            listed, last, created=_moment(at + timedelta(minutes=1)), name=asked.reference, receiver=request.sender
        )
        return [_answer(label, request, at, taken), Document(f"2_{listed}", listing)]

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A rejection with a code of the register; the point that was asked about stands in it where there is one."""
        request = _read(asked)
        change = _change(asked)
        label = change[0] if change is not None else _OTHER[asked.kind]
        code, text = REASONS[choice % len(REASONS)]
        reason = element("Rejection", leaves(RejectionCode=code, RejectionText=text))
        if _batched(asked) and request.point is not None:
            return _later(label, request, at, reason)
        if label.endswith("Acknowledgement"):
            reason = element("SimpleRejection", leaves(RejectionCode=code, RejectionText=text))
            return [_answer(label, request, at, element("Portaal_Content", element("EDSN_SimpleRejection", reason)))]
        p4 = label.startswith("P4")
        root, tag = ("P4Content", "P4Rejection") if p4 else ("Portaal_Content", "Portaal_Rejection")
        return [_answer(label, request, at, element(root, element(tag, reason)))]


def _change(asked: Asked) -> tuple[str, str, str] | None:
    """What a change is answered with; None for a question or what is told."""
    return _SUPPLY.get(asked.kind) or _SUPPLY.get(_message(asked).replace("BatchRequest", "Request"))


def _message(asked: Asked) -> str:
    """The market's type of a request, of what stands in the body of its envelope."""
    return etree.QName(asked.root[-1][0]).localname.removesuffix("Envelope")


def _batched(asked: Asked) -> bool:
    """Whether a change was asked for in a batch."""
    return _message(asked).endswith("BatchRequest") and asked.kind != "MeteredDataRequest"


def _batch(label: str) -> str:
    return label.replace("Response", "BatchResponse")


def _later(label: str, request: _Read, at: datetime, reason: str) -> Sequence[Document]:
    """The batch is taken; what is rejected waits in the list that is polled."""
    listed = "RejectionResultResponse"
    point = element("Portaal_Mutation", leaves(ExternalReference=request.reference, MutationDate=request.day))
    point = element("Portaal_MeteringPoint", leaves(EANID=request.point), party("GridOperator", request.grid), point)
    content = element("Portaal_Content", element("Portaal_Rejection", reason, point))
    created = _moment(at + timedelta(minutes=1))
    made = document(listed, content, created=created, name=request.reference, receiver=request.sender)
    return [_answer(_batch(label), request, at, element("Portaal_Content")), Document(f"2_{listed}", made)]


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
