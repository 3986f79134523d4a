"""Requests to the market: handed in, judged, and followed to their end; and those to us that we owe an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from energycomm.eis.received_requests import OwedAnswer, list_owed, place_of
from energycomm.eis.requests import RequestDetail, RequestSummary, list_requests, show_request
from energycomm.kernel.counting import counted
from energycomm.kernel.requests import OUTGOING
from energycomm.pipeline.delivery import revive
from energycomm.pipeline.listsearch import OwedSearch, RequestSearch
from energycomm.pipeline.outbound import Submission
from energycomm.pipeline.submissions import Handed
from energycomm.webservice.answers import answer, described, one_of, tagged
from energycomm.webservice.idempotency import once
from energycomm.webservice.pages import Acted, Page, page_of
from energycomm.webservice.parameters import Key, Number, Numbered, Paged, Reader, Requester, Resender, Shared
from energycomm.webservice.problems import Mistake, Problem, mistake_of, not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.roles import Person
from energycomm.webservice.routes.injections import Sent, readable, sent_as
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.services import Services

router = APIRouter(prefix="/requests", tags=["requests"], route_class=RecordedRoute)


class Search(RequestSearch, Numbered):
    """Requests, page by page."""


class Owed(OwedSearch, Paged):
    """What we owe an answer to, page by page."""


@router.get("", summary="Requests to the market", responses=described(Page[RequestSummary]))
def search(
    request: Request,
    shared: Shared,
    _: Reader,
    asked: Annotated[Search, Query()],
) -> Response:
    """The newest first unless they are sorted otherwise."""
    engine = shared.store.engine
    found = list_requests(engine, **asked.known(engine).model_dump() | {"limit": asked.limit + 1})
    return tagged(request, page_of(found, asked.limit, lambda one: one.id))


@router.get("/owed", summary="What we owe an answer to", responses=described(Page[OwedAnswer]))
def owed(
    request: Request,
    shared: Shared,
    _: Reader,
    asked: Annotated[Owed, Query()],
) -> Response:
    """What other parties ask of us and we have not answered, the most urgent first, in the market's legal time."""
    engine, zones = shared.store.engine, shared.gateway.markets.zones
    try:
        found = list_owed(
            engine,
            zones,
            market=asked.market,
            late=asked.late,
            sort=asked.sort,
            after=asked.cursor,
            limit=asked.limit + 1,
        )
    except (ValueError, OverflowError):
        raise bad_cursor(asked.cursor) from None
    return tagged(request, page_of(found, asked.limit, place_of))


@router.get("/{number}", summary="One request", responses=described(RequestDetail))
def show(request: Request, shared: Shared, _: Reader, number: Number) -> Response:
    """Its content, every step, and the market's answers."""
    found = show_request(shared.store.engine, number)
    if found is None:
        raise not_found("request", "number", number)
    about(request, f"request {number} access point {found.summary.access_point}")
    return tagged(request, found)


@router.post(
    "",
    summary="Submit requests to the market",
    status_code=202,
    responses=described(Submission, "Queued for sending; `request_id` is its number.", 202),
    openapi_extra=sent_as(one_of(*OUTGOING), "One Kernel message of a kind that a supplier sends."),
)
def create(request: Request, shared: Shared, person: Requester, sent: Sent, key: Key = None) -> Response:
    """Judges them by the outgoing rules, builds them in the market's form and queues them for sending.

    422 lists every mistake and every violated rule.
    """
    handed = readable(sent, shared.config.web.inject_messages)
    if len(handed) != 1:
        raise Problem("API_INVALID", "A request is one message.", value=len(handed), advice="Send them one by one.")
    mistakes = [mistake_of(refusal, "/") for refusal in handed[0].refusals]
    if mistakes:
        raise Problem("API_INVALID", f"{counted(len(mistakes), 'mistake')}; nothing is sent.", errors=mistakes)
    message = handed[0].message
    about(request, f"access point {message.access_point if message else None}")
    return once(request, shared.store, person, key, sent, lambda: _submit(shared, person, handed[0]))


def _submit(shared: Services, person: Person, handed: Handed) -> Response:
    assert handed.message is not None
    done = shared.outbound().submit(handed.message, person.name)
    if done.label != "accepted":
        mistakes = [mistake_of(refusal, "/") for refusal in done.refusals]
        mistakes += [
            Mistake(code=one.error_code, target=f"/{one.field}", detail=one.comment, value=one.value)
            for one in done.findings
        ]
        what = "It is kept as a rejected message" if done.message_id else "Nothing is stored"
        value = done.message_id
        raise Problem("API_REFUSED", f"{what} and not sent.", target="message_id", value=value, errors=mistakes)
    return answer(done, 202, {"Location": f"/api/v1/requests/{done.request_id}"})


@router.post("/{number}/retry", summary="Resend a dead request", responses=described(Acted))
def retry(shared: Shared, _: Resender, number: Number) -> Response:
    """The same bytes under the same reference, after technical errors."""
    found = show_request(shared.store.engine, number)
    if found is None:
        raise not_found("request", "number", number)
    if not revive(shared.store, number):
        what = "another answer was made in its place" if found.summary.state == "dead" else "it is not dead"
        raise Problem("API_CONFLICT", f"Request {number} is {found.summary.state}: {what}.", target="number")
    return answer(Acted(id=number, state="built"))
