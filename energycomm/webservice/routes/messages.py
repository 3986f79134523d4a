"""Kernel messages: searched, shown whole, with their bytes, their verdict in words, and what caused them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from energycomm.correction.explanation import Explanation
from energycomm.correction.explanation import explain as explain_message
from energycomm.eis.away import refuse_archived
from energycomm.eis.messages import MessageDetail, MessageFilter, MessagePage, list_messages, show_message
from energycomm.errors import UserError
from energycomm.kernel.codec import decode, encode_json
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.messagesearch import MessageSearch
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.lineage import Kinship, kinship
from energycomm.webservice.parameters import Number, Paged, Reader, Shared
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.rawmember import open_member
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.services import Services

router = APIRouter(prefix="/messages", tags=["messages"], route_class=RecordedRoute)

XML = "application/xml"
OCTETS = "application/octet-stream"
PIECE = 1 << 16


class Search(MessageSearch, Paged):
    """What is looked for, page by page."""


@router.get("", summary="Search messages", responses=described(MessagePage))
def search(request: Request, shared: Shared, _: Reader, asked: Annotated[Search, Query()]) -> Response:
    """Kernel messages that arrived, the newest first unless they are sorted otherwise.

    `since` and `until` are about their arrival, in UTC where they name no offset."""
    try:
        page = list_messages(shared.store.engine, filter_of(shared, asked), limit=asked.limit, cursor=asked.cursor)
    except (ValueError, OverflowError):
        raise bad_cursor(asked.cursor) from None
    response = tagged(request, page)
    if page.next is not None:
        following = request.url.include_query_params(cursor=page.next)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return response


def filter_of(shared: Services, asked: MessageSearch, zone: tzinfo = UTC) -> MessageFilter:
    """What the store is asked for; `zone` is that of days that name no offset.

    Raises:
      UnknownWord: a filter names something that there is not.
    """
    return asked.filter(shared.store.engine, lambda: shared.gateway.catalogue, shared.gateway.markets, zone)


def bad_cursor(cursor: str | None) -> Problem:
    """The refusal of an invalid cursor."""
    return Problem(
        "API_INVALID", "This is no cursor of a list.", target="cursor", value=cursor, advice="Take `next` of a page."
    )


@router.get("/{number}", summary="One message", responses=described(MessageDetail))
def show(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """A message with its Kernel XML, origin, verdicts, changes of state, effects and notifications."""
    found = find(shared, number)
    about(request, subject_of(found))
    return tagged(request, found)


@router.get(
    "/{number}/kernel",
    summary="One message as Kernel XML or JSON",
    responses={200: {"description": "The Kernel message.", "content": {XML: {}, "application/json": {}}}},
)
def kernel(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """As XML, or as JSON if `Accept` asks for it."""
    found = find(shared, number)
    about(request, subject_of(found))
    if "json" not in request.headers.get("accept", ""):
        return Response(found.xml.encode(), media_type=XML)
    message = decode(found.xml)
    if isinstance(message, Refusal):
        raise Problem("API_CONFLICT", f"The stored message is of an older form: {message}.", advice="Request XML.")
    return Response(encode_json(message), media_type="application/json")


@router.get(
    "/{number}/raw",
    summary="File from which a message came",
    responses={200: {"description": "Its bytes, decrypted and unpacked.", "content": {OCTETS: {}}}},
)
def raw(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """The member of the envelope with the CH message, as received; `X-Position` is the number of the CH message."""
    found = find(shared, number)
    about(request, subject_of(found))
    if found.origin is None:
        raise Problem(
            "API_NOT_FOUND",
            f"Message {number} came in no envelope: it was made here.",
            target="number",
            value=number,
            advice="Its Kernel XML is all there is.",
        )
    pieces = open_member(shared.config, shared.store, found.origin)
    first = next(pieces, b"")

    def all_of_it() -> Iterator[bytes]:
        yield first
        yield from pieces

    headers = {"Content-Disposition": "attachment", "X-Position": str(found.origin.position)}
    return StreamingResponse(all_of_it(), media_type=OCTETS, headers=headers)


@router.get("/{number}/explanation", summary="Explanation of a message", responses=described(Explanation))
def explain(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """Schema errors, violated rules of today with the values they read, what it waits for or how it was settled."""
    gateway = shared.gateway
    found = explain_message(shared.store, gateway.catalogue, gateway.engine, gateway.markets, number)
    if found is None:
        find(shared, number)
        raise not_found("message", "number", number)
    about(request, f"message {number} access point {found.access_point}")
    return tagged(request, found)


@router.get("/{number}/causes", summary="Causes and effects of a message", responses=described(Kinship))
def causes(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """The message that it corrects, its versions, the request that it answers, its siblings, effects, notifications."""
    found = find(shared, number)
    about(request, subject_of(found))
    return tagged(request, kinship(shared.store, found))


def find(shared: Services, number: int) -> MessageDetail:
    """A message, or 404, which names the archive that holds it."""
    found = show_message(shared.store.engine, number)
    if found is None:
        try:
            refuse_archived(shared.store.engine, number)
        except UserError as error:
            raise Problem("API_NOT_FOUND", error.message, target="number", value=number, advice=error.advice) from None
        raise not_found("message", "number", number, "Search for it: GET /api/v1/messages.")
    return found


def subject_of(found: MessageDetail) -> str:
    """The access point of a message, for the audit."""
    return f"message {found.summary.id} access point {found.summary.access_point}"
