"""Worklists: the quarantine and the open requests, each with its page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from energycomm.choices import one_of
from energycomm.console.messages import PAGE
from energycomm.console.trials import scripts_of
from energycomm.console.view import Reader, Shared, address, page
from energycomm.eis import tables
from energycomm.eis.browsing import number_of
from energycomm.eis.database import reading
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.eis.received_requests import list_owed, place_of
from energycomm.eis.requests import list_requests, show_request
from energycomm.eis.states import REQUEST_STATES
from energycomm.kernel.instants import instant
from energycomm.webservice.parameters import Market
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute
from energycomm.webservice.routes.messages import bad_cursor
from energycomm.webservice.services import Services

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

UNDER_WAY = ("built", "sent", "acknowledged", "in-course")
OWED = "to answer"


@router.get("/quarantine")
def quarantine(request: Request, person: Reader, shared: Shared, cursor: str | None = None) -> HTMLResponse:
    """The waiting messages: what each waits for, and until when."""
    wanted = MessageFilter(state="quarantined")
    try:
        found = list_messages(shared.store.engine, wanted, limit=PAGE, cursor=cursor)
    except ValueError as error:
        raise Problem("API_INVALID", str(error), target="cursor", value=cursor) from None
    k = tables.kernel_message.c
    ids = [one.id for one in found.messages]
    with reading(shared.store.engine) as connection:
        number = number_of(connection, wanted)
        rows = connection.execute(select(k.id, k.waits_until).where(k.id.in_(ids)))
        until = {row[0]: None if row[1] is None else instant(row[1]) for row in rows}
    scripts = scripts_of(shared)
    more = address("/quarantine", cursor=found.next) if found.next else None
    return page(
        request,
        "quarantine.html",
        messages=found.messages,
        until=until,
        more=more,
        number=number,
        scripts=[one for one in scripts.values() if one.declared.selection.waits_for],
        now=datetime.now(UTC),
    )


@router.get("/requests")
def requests(
    request: Request,
    person: Reader,
    shared: Shared,
    state: str = "",
    market: Market = None,
    before: int | None = None,
    after: str | None = None,
) -> HTMLResponse:
    """Our requests to the markets, those under way unless a state is asked for; or those to us without an answer."""
    if state:
        state = one_of("state", state, (*REQUEST_STATES, "all", OWED), "state of a request")
    if state == OWED:
        return _owed(request, shared, market, after)
    states = UNDER_WAY if state == "" else REQUEST_STATES if state == "all" else (state,)
    found = sorted(
        (
            one
            for name in states
            for one in list_requests(shared.store.engine, state=name, market=market, before=before, limit=PAGE)
        ),
        key=lambda one: -one.id,
    )[:PAGE]
    more = address("/requests", state=state, market=market, before=found[-1].id) if len(found) == PAGE else None
    return _requests(request, state, market, requests=found, more=more)


def _owed(request: Request, shared: Services, market: str | None, after: str | None) -> HTMLResponse:
    engine, zones = shared.store.engine, shared.gateway.markets.zones
    try:
        found = list_owed(engine, zones, market=market, after=after, limit=PAGE)
    except ValueError:
        raise bad_cursor(after) from None
    last = place_of(found[-1]) if len(found) == PAGE else None
    more = address("/requests", state=OWED, market=market, after=last) if last else None
    return _requests(request, OWED, market, owed=found, more=more)


def _requests(request: Request, state: str, market: str | None, **values: Any) -> HTMLResponse:
    chosen: dict[str, Any] = {"state": state, "states": (*REQUEST_STATES, "all", OWED), "market": market}
    return page(request, "requests.html", **{"requests": (), "owed": (), "more": None} | chosen | values)


@router.get("/requests/{number}")
def show(request: Request, number: int, person: Reader, shared: Shared) -> HTMLResponse:
    """One request: what was sent, every step, the answers."""
    found = show_request(shared.store.engine, number)
    if found is None:
        raise not_found("request", "id", number)
    return page(request, "request.html", found=found, one=found.summary)
