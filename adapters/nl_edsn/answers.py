"""The synchronous answers to requests of ours: content or a rejection, never both.

One content element (``Portaal_Content``, ``CAR_Content``, ``P4Content``) is one CH message. A rejection lists one
reason or several; it becomes one refused answer with all of them. What an answer belongs to is told by the
ExternalReference that we gave the request where the message has room for one, else by the header's CorrelationID,
else by the name under which the channel kept it (see `adapters.nl_edsn.faults.kept_as`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.nl_edsn import mutations, points
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context, answered
from adapters.nl_edsn.times import civil_day
from energycomm.kernel.messages import KernelMessage, RequestAnswer
from energycomm.kernel.parts import AnswerReason, FoundPoint

POINTS = ("Portaal_MeteringPoint", "CAR_MeteringPoint")
REJECTIONS = ("Portaal_Rejection", "CAR_Rejection", "P4Rejection", "EDSN_SimpleRejection")


class Answer(NamedTuple):
    """What an answer says whatever was asked.

    Attributes:
      content: of its content element.
      point: the point it is about, or that its rejection names; empty where there is none.
      context: of its header.
      notes: what is noticed.
      head: keyword arguments of its Kernel messages, without effective.
    """

    content: Fields
    point: Fields
    context: Context
    notes: Notes
    head: dict[str, Any]

    @property
    def at(self) -> datetime:
        """When it was given."""
        created: datetime = self.context.head["created"]
        return created

    @property
    def dossier(self) -> str | None:
        """The register's number of the request."""
        return leaf(node(self.point, "Portaal_Mutation", "Dossier"), "ID")

    def taken(self, **said: Any) -> RequestAnswer:
        """The answer that the request was accepted, with what it says besides."""
        return RequestAnswer(**self.head, effective=self.at, accepted=True, **said)

    def digested(self, *messages: KernelMessage) -> Digested:
        """The CH message with its Kernel messages."""
        return Digested(self.head["reference"], self.head["access_point"], messages)


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """Our reference of the request, and the point that the answer names."""
    point = _point(fields)
    external = leaf(node(point, "Portaal_Mutation"), "ExternalReference")
    return external or context.correlation or context.message_id or "-", leaf(point, "EANID")


def refusing(rejections: list[Fields], path: str) -> dict[str, Any]:
    """Fields of an answer that refuses; `code` and `text` are those of the first reason.

    Args:
      rejections: the reasons, at least one, in their order.
      path: where they are.

    Raises:
      Unreadable: a reason has no code.
    """
    reasons = tuple(
        AnswerReason(code=need(one, "RejectionCode", path), text=leaf(one, "RejectionText")) for one in rejections
    )
    return {"accepted": False, "code": reasons[0].code, "text": reasons[0].text, "reasons": reasons}


def _digester(accepted: Callable[[Answer], Digested]) -> Digester[Context]:
    """A digester of answers: one that refuses is read the same way, whatever was asked.

    Args:
      accepted: reads an answer without a rejection.
    """

    def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
        reference, ean = refer(fields, context)
        point = _point(fields)
        head = {
            **context.head,
            "energy": "gas" if leaf(point, "ProductType") == "GAS" else "electricity",
            "reference": reference,
            "correlation": reference if reference != "-" else None,
            "access_point": ean,
            "grid_operator": leaf(node(point, "GridOperator_Company"), "ID"),
            "market_reason": leaf(node(point, "Portaal_Mutation"), "MutationReason"),
        }
        answer = Answer(fields, point, context, notes, head)
        tag = next((tag for tag in REJECTIONS if nodes(fields, tag)), None)
        if tag is None:
            return accepted(answer)
        held, path = node(fields, tag), f"{tag}/Rejection"
        given = [*nodes(held, "Rejection"), *nodes(held, "SimpleRejection")]
        if not given:
            raise Unreadable(refusal("SYN_MISSING", path=path, expected="a reason"))
        refused = refusing(given, path)
        return answer.digested(RequestAnswer(**head, **refused, effective=answer.at, request=answer.dossier))

    return Digester(digest, refer, salt=answered)


def _request(answer: Answer) -> Digested:
    """A request was taken; with the dossier that was opened, where one was."""
    if answer.head["access_point"] is None:
        return answer.digested(answer.taken())
    found = mutations.point(answer.point, answer.context, answer.notes)
    told = mutations.status(found, answer.head["reference"], "acknowledged", answer.at)
    return answer.digested(*([] if told is None else [told]), answer.taken(request=found.dossier))


def _acknowledgement(answer: Answer) -> Digested:
    """The market took a reading; nothing more comes of it."""
    messages = [*_request(answer).messages]
    return answer.digested(*messages, *([mutations.settled(answer.head, answer.at)] if len(messages) == 1 else []))


def _search(answer: Answer) -> Digested:
    """The points that a search found."""
    if not nodes(answer.content, "Result"):
        raise Unreadable(refusal("SYN_MISSING", path="Portaal_Content", expected="Result or a rejection"))
    result = node(answer.content, "Result")
    found = tuple(_found(point) for tag in POINTS for point in nodes(result, tag))
    reached = leaf(result, "ReachedMaxResult") or leaf(result, "ResultSet")
    more = leaf(result, "MaxResults") == "J" or (
        reached is not None and reached.isdigit() and int(reached) > len(found)
    )
    text = f"{len(found)} of {reached or 'more'} points: narrow the search" if more else None
    return answer.digested(answer.taken(text=text, found=found), mutations.settled(answer.head, answer.at))


def _contract(answer: Answer) -> Digested:
    """End and notice of the customer's contract with another supplier."""
    path = "Portaal_Content/Portaal_MeteringPoint"
    need(answer.point, "EANID", path)
    contract = node(answer.point, "MPCommercialCharacteristics")
    notice = leaf(contract, "NoticePeriod")
    taken = answer.taken(
        request=answer.dossier,
        contract_end=civil_day(contract, "EndDateContract", f"{path}/MPCommercialCharacteristics"),
        notice=int(notice) if notice is not None else None,
    )
    return answer.digested(taken, mutations.settled(answer.head, answer.at, answer.dossier))


def _master_data(answer: Answer) -> Digested:
    """What the register holds of a point that we asked for."""
    if not answer.point:
        raise Unreadable(refusal("SYN_MISSING", path="Portaal_Content", expected="Portaal_MeteringPoint"))
    held = points.digest(answer.point, answer.context, answer.notes)
    external = leaf(node(answer.point, "Portaal_Mutation"), "ExternalReference")
    told = {"reference": held.reference, "correlation": external or answer.context.correlation, "market_reason": None}
    answer = answer._replace(head={**answer.head, **told})
    return answer.digested(*held.messages, answer.taken(), mutations.settled(answer.head, answer.at))


def _point(fields: Fields) -> Fields:
    """The point of an answer, or the one that a rejection names."""
    for above in ((), *((rejection,) for rejection in REJECTIONS)):
        for tag in POINTS:
            held = node(fields, *above, tag)
            if held:
                return held
    return {}


def _found(point: Fields) -> FoundPoint:
    address = points.address(point)
    return FoundPoint(
        access_point=need(point, "EANID", "Result/Portaal_MeteringPoint"),
        city=address.city if address is not None else None,
        meter=leaf(node(point, "Portaal_EnergyMeter"), "ID"),
    )


REQUEST = _digester(_request)
SEARCH = _digester(_search)
ACKNOWLEDGEMENT = _digester(_acknowledgement)
CONTRACT = _digester(_contract)
MASTER_DATA = _digester(_master_data)
