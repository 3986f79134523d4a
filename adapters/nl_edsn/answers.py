"""The synchronous answers to requests of ours, and the lists of rejections that are polled.

One content element (``Portaal_Content``, ``CAR_Content``, ``P4Content``) is one CH message; of a polled list of
rejections each of them. A rejection lists one reason or several; it becomes one refused answer with all of them. A
content that takes some points and rejects others gives an answer for each. What an answer belongs to is told by the
ExternalReference that we gave the request where the message has room for one, else by the header's CorrelationID,
else by the name under which the channel kept it (see `adapters.nl_edsn.faults.kept_as`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import structs

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.particulars import kept
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.nl_edsn import mutations, points
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context, answered
from adapters.nl_edsn.measures import PRODUCTS
from adapters.nl_edsn.times import civil_day
from energycomm.kernel.messages import KernelMessage, RequestAnswer, RequestStatus
from energycomm.kernel.parts import AnswerReason, FoundPoint

POINTS = ("Portaal_MeteringPoint", "CAR_MeteringPoint")
OLD_NAMES = {"CAR_Mutation": "Portaal_Mutation", "CAR_EnergyMeter": "Portaal_EnergyMeter"}
"""Elements of the new family -> what the old one calls them."""
_PLACED = frozenset(("EANID", "MarketSegment"))
"""Leaves of a found point that a field holds as they are; the others are kept with it besides."""
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
        refused = [(tag, held) for tag in REJECTIONS for held in nodes(fields, tag)]
        messages = [
            _refusal(tag, held, context, notes, context.correlation or context.message_id) for tag, held in refused
        ]
        taken = [(tag, held) for tag in POINTS for held in nodes(fields, tag)]
        several = len(refused) + len(taken) > 1
        told: list[KernelMessage] = [*messages]
        for tag, point in taken or ([] if refused else [("", {})]):
            content = {**fields, tag: [point]} if tag else fields
            made = accepted(_answer(content, plain(point), context, notes))
            told += made.messages
            reference = reference if several else made.reference
        return Digested(reference, None if several else ean, told)

    return Digester(digest, refer, salt=answered)


def _answer(content: Fields, point: Fields, context: Context, notes: Notes, beside: str | None = None) -> Answer:
    """What an answer says of a point, or of none.

    Args:
      content: of its content element.
      point: the point.
      context: of its header.
      notes: what is noticed.
      beside: what the answer is told by where the point does not say it; of the header by default.
    """
    external = leaf(node(point, "Portaal_Mutation"), "ExternalReference")
    reference = external or beside or context.correlation or context.message_id or "-"
    head = {
        **context.head,
        "energy": "gas" if leaf(point, "ProductType") == "GAS" else "electricity",
        "reference": reference,
        "correlation": reference if reference != "-" else None,
        "access_point": leaf(point, "EANID"),
        "grid_operator": leaf(node(point, "GridOperator_Company"), "ID"),
        "market_reason": leaf(node(point, "Portaal_Mutation"), "MutationReason"),
    }
    return Answer(content, point, context, notes, head)


def _refusal(tag: str, held: Fields, context: Context, notes: Notes, beside: str | None) -> RequestAnswer:
    """The refused answer of a rejection, with all of its reasons.

    Raises:
      Unreadable: it gives no reason, or one without a code.
    """
    given = [*nodes(held, "Rejection"), *nodes(held, "SimpleRejection"), *nodes(held, "Rejections")]
    if not given:
        raise Unreadable(refusal("SYN_MISSING", path=f"{tag}/Rejection", expected="a reason"))
    answer = _answer(held, _point(held), context, notes, beside)
    refused = refusing(given, f"{tag}/Rejection")
    return RequestAnswer(**answer.head, **refused, effective=answer.at, request=answer.dossier)


def _listed(fields: Fields, context: Context, notes: Notes) -> Digested:
    """One rejection of a polled list: the header names our poll, so that only the point says what was rejected."""
    reference, ean = _refer_listed(fields, context)
    found = _refusal("Portaal_Rejection", fields, context, notes, reference)
    external = leaf(node(_point(fields), "Portaal_Mutation"), "ExternalReference")
    return Digested(reference, ean, [structs.replace(found, correlation=external)])


def _refer_listed(fields: Fields, context: Context) -> tuple[str, str | None]:
    """Our reference of what was rejected, else the dossier, else the point and its day."""
    point = _point(fields)
    mutation = node(point, "Portaal_Mutation")
    told = leaf(mutation, "ExternalReference") or leaf(node(mutation, "Dossier"), "ID")
    return told or ":".join((leaf(point, "EANID") or "-", leaf(mutation, "MutationDate") or "-")), leaf(point, "EANID")


def plain(point: Fields) -> Fields:
    """A point with the element names of the old family, whichever it is of."""
    return {OLD_NAMES.get(tag, tag): held for tag, held in point.items()} if OLD_NAMES.keys() & point.keys() else point


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
    data = [one for one in held.messages if not isinstance(one, RequestStatus)]  # the question is what ends
    return answer.digested(*data, answer.taken(), mutations.settled(answer.head, answer.at))


def _asked_by(context: Context) -> str:
    """The request, and who asked: it decides whether the supplier that the register names is ourselves."""
    return repr((context.correlation, context.head["receiver"]))


def _point(fields: Fields) -> Fields:
    """The point of an answer, or the one that a rejection names."""
    for above in ((), *((rejection,) for rejection in REJECTIONS)):
        for tag in POINTS:
            held = node(fields, *above, tag)
            if held:
                return plain(held)
    return {}


def _found(point: Fields) -> FoundPoint:
    product = leaf(point, "ProductType")
    rest, _ = kept(_leaves({tag: held for tag, held in point.items() if tag not in _PLACED}))
    return FoundPoint(
        access_point=need(point, "EANID", "Result/Portaal_MeteringPoint"),
        city=leaf(next((one for tag in points.ADDRESSES for one in nodes(point, tag)), {}), "CityName"),
        meter=leaf(node(point, "Portaal_EnergyMeter"), "ID"),
        energy=PRODUCTS.get(product or ""),
        segment=leaf(point, "MarketSegment"),
        grid_operator=leaf(node(point, "GridOperator_Company"), "ID"),
        address=points.address(point),
        particulars=rest,
    )


def _leaves(fields: Fields, above: str = "") -> Iterator[tuple[str, str]]:
    """Every value below an element with its path."""
    for tag, held in fields.items():
        if type(held) is str:
            yield above + tag, held
            continue
        for number, inner in enumerate(held, 1):
            yield from _leaves(inner, f"{above}{tag}/" if number == 1 else f"{above}{tag}[{number}]/")


REQUEST = _digester(_request)
SEARCH = _digester(_search)
ACKNOWLEDGEMENT = _digester(_acknowledgement)
CONTRACT = _digester(_contract)
MASTER_DATA = _digester(_master_data)._replace(salt=_asked_by)
REJECTED = Digester(_listed, _refer_listed)
