"""The synchronous answers to requests of ours: content or a rejection, never both.

One content element (``Portaal_Content``, ``CAR_Content``, ``P4Content``) is one CH message. A rejection lists one
reason or several; it becomes one refused answer with all of them. What an answer belongs to is told by the
ExternalReference that we gave the request where the message has room for one, else by the header's CorrelationID,
else by the name under which the channel kept it (see `adapters.nl_edsn.faults.kept_as`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from adapters.common.codes import Unreadable
from adapters.common.outcome import Digested, Digester, Notes
from adapters.common.reading import Fields, leaf, need, node, nodes
from adapters.nl_edsn import mutations, points
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context, answered
from adapters.nl_edsn.times import civil_day
from energycomm.kernel.messages import RequestAnswer
from energycomm.kernel.parts import AnswerReason, FoundPoint

POINTS = ("Portaal_MeteringPoint", "CAR_MeteringPoint")
REJECTIONS = ("Portaal_Rejection", "CAR_Rejection", "P4Rejection", "EDSN_SimpleRejection")


def refer(fields: Fields, context: Context) -> tuple[str, str | None]:
    """Our reference of the request, and the point that the answer names."""
    point = _point(fields)
    external = leaf(node(point, "Portaal_Mutation"), "ExternalReference")
    return external or context.correlation or context.message_id or "-", leaf(point, "EANID")


def digest(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Accepted with the dossier that was opened, or refused with the codes.

    Raises:
      Unreadable: a rejection without a code.
    """
    refused = _refused(fields, context, notes)
    if refused is not None:
        return refused
    reference, ean = refer(fields, context)
    held = _point(fields)
    head = _head(fields, context, notes)
    if ean is None:
        return Digested(reference, ean, (RequestAnswer(**head, effective=_at(context), accepted=True),))
    found = mutations.point(held, context, notes)
    answer = RequestAnswer(**head, effective=_at(context), accepted=True, request=found.dossier)
    told = mutations.status(found, reference, "acknowledged", context.head["created"])
    return Digested(reference, ean, (answer,) if told is None else (told, answer))


def digest_search(fields: Fields, context: Context, notes: Notes) -> Digested:
    """The points that a search found, or why it found none.

    Raises:
      Unreadable: a rejection without a code, or neither result nor rejection.
    """
    refused = _refused(fields, context, notes)
    if refused is not None:
        return refused
    if not nodes(fields, "Result"):
        raise Unreadable(refusal("SYN_MISSING", path="Portaal_Content", expected="Result or a rejection"))
    result = node(fields, "Result")
    found = tuple(_found(point) for tag in POINTS for point in nodes(result, tag))
    reached = leaf(result, "ReachedMaxResult") or leaf(result, "ResultSet")
    more = leaf(result, "MaxResults") == "J" or (
        reached is not None and reached.isdigit() and int(reached) > len(found)
    )
    reference, _ = refer(fields, context)
    text = f"{len(found)} of {reached or 'more'} points: narrow the search" if more else None
    head = _head(fields, context, notes)
    answer = RequestAnswer(**head, effective=_at(context), accepted=True, text=text, found=found)
    return Digested(reference, None, (answer, mutations.settled(head, _at(context))))


def digest_contract(fields: Fields, context: Context, notes: Notes) -> Digested:
    """End and notice of the customer's contract with another supplier, or why they are not told.

    Raises:
      Unreadable: a rejection without a code, or a day that does not exist.
    """
    refused = _refused(fields, context, notes)
    if refused is not None:
        return refused
    reference, ean = refer(fields, context)
    point = _point(fields)
    path = "Portaal_Content/Portaal_MeteringPoint"
    need(point, "EANID", path)
    contract = node(point, "MPCommercialCharacteristics")
    notice = leaf(contract, "NoticePeriod")
    head = _head(fields, context, notes)
    answer = RequestAnswer(
        **head,
        effective=_at(context),
        accepted=True,
        request=leaf(node(point, "Portaal_Mutation", "Dossier"), "ID"),
        contract_end=civil_day(contract, "EndDateContract", f"{path}/MPCommercialCharacteristics"),
        notice=int(notice) if notice is not None else None,
    )
    return Digested(reference, ean, (answer, mutations.settled(head, _at(context), answer.request)))


def digest_acknowledgement(fields: Fields, context: Context, notes: Notes) -> Digested:
    """Whether the market took a reading; nothing more comes of it.

    Raises:
      Unreadable: a rejection without a code.
    """
    answered = digest(fields, context, notes)
    messages = [*answered.messages]
    if all(isinstance(message, RequestAnswer) and message.accepted for message in messages):
        messages.append(mutations.settled(_head(fields, context, notes), _at(context)))
    return Digested(answered.reference, answered.access_point, messages)


def digest_master_data(fields: Fields, context: Context, notes: Notes) -> Digested:
    """What the register holds of a point that we asked for, or why it does not tell.

    Raises:
      Unreadable: a rejection without a code, or a point that cannot be read.
    """
    refused = _refused(fields, context, notes)
    if refused is not None:
        return refused
    point = _point(fields)
    if not point:
        raise Unreadable(refusal("SYN_MISSING", path="Portaal_Content", expected="Portaal_MeteringPoint"))
    return points.digest_answer(point, context, notes)


def _point(fields: Fields) -> Fields:
    """The point of an answer, or the one that a rejection names."""
    for tag in POINTS:
        if nodes(fields, tag):
            return node(fields, tag)
    for rejection in REJECTIONS:
        for tag in POINTS:
            held = node(fields, rejection, tag)
            if held:
                return held
    return {}


def _head(fields: Fields, context: Context, notes: Notes) -> dict[str, Any]:
    reference, ean = refer(fields, context)
    point = _point(fields)
    product = leaf(point, "ProductType")
    return {
        **context.head,
        "energy": "gas" if product == "GAS" else "electricity",
        "reference": reference,
        "correlation": reference if reference != "-" else None,
        "access_point": ean,
        "grid_operator": leaf(node(point, "GridOperator_Company"), "ID"),
        "market_reason": leaf(node(point, "Portaal_Mutation"), "MutationReason"),
    }


def _at(context: Context) -> datetime:
    created: datetime = context.head["created"]
    return created


def _refused(fields: Fields, context: Context, notes: Notes) -> Digested | None:
    """A refused answer with the reasons of a rejection; None where there is no rejection."""
    tag = next((tag for tag in REJECTIONS if nodes(fields, tag)), None)
    if tag is None:
        return None
    reference, ean = refer(fields, context)
    head = _head(fields, context, notes)
    held = node(fields, tag)
    dossier = leaf(node(_point(fields), "Portaal_Mutation", "Dossier"), "ID")
    given = [*nodes(held, "Rejection"), *nodes(held, "SimpleRejection")]
    if not given:
        raise Unreadable(refusal("SYN_MISSING", path=f"{tag}/Rejection", expected="a reason"))
    refused = refusing(given, f"{tag}/Rejection")
    return Digested(reference, ean, (RequestAnswer(**head, **refused, effective=_at(context), request=dossier),))


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


def _found(point: Fields) -> FoundPoint:
    address = points.address(point)
    return FoundPoint(
        access_point=need(point, "EANID", "Result/Portaal_MeteringPoint"),
        city=address.city if address is not None else None,
        meter=leaf(node(point, "Portaal_EnergyMeter"), "ID"),
    )


ANSWER = Digester(digest, refer, salt=answered)
SEARCH = Digester(digest_search, refer, salt=answered)
ACKNOWLEDGEMENT = Digester(digest_acknowledgement, refer, salt=answered)
CONTRACT = Digester(digest_contract, refer, salt=answered)
MASTER_DATA = Digester(digest_master_data, refer, salt=answered)
