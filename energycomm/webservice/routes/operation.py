"""How the gateway runs: counts of everything, envelopes and what could not be read of them; no content of messages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from energycomm.eis.envelopes import EnvelopeDetail, EnvelopePage, list_envelopes, show_envelope
from energycomm.eis.statistics import Statistics, statistics
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.identity import require
from energycomm.webservice.parameters import READERS, Cursor, Limit, Number, Shared, Words
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.roles import Person, Role
from energycomm.webservice.routes.messages import bad_cursor

router = APIRouter(tags=["operation"], route_class=RecordedRoute)

Onlooker = Annotated[Person, Depends(require(Role.OPERATOR, Role.ADMINISTRATOR, *READERS))]


@router.get("/statistics", summary="Counts", responses=described(Statistics), openapi_extra=UNRECORDED)
def counts(
    request: Request,
    shared: Shared,
    _: Onlooker,
    top: Annotated[int, Query(ge=0, le=100, description="How many error codes.")] = 10,
) -> Response:
    """Messages by market, type and state; the most frequent codes; envelopes; sizes; the oldest in quarantine."""
    return tagged(request, statistics(shared.store.engine, top=top))


@router.get("/envelopes", summary="Envelopes", responses=described(EnvelopePage), openapi_extra=UNRECORDED)
def search(
    request: Request,
    shared: Shared,
    _: Onlooker,
    state: Annotated[Words | None, Query(max_length=20, description="Only in this state: done, failed, ...")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What arrived, the newest first."""
    try:
        return tagged(request, list_envelopes(shared.store.engine, state=state, limit=limit, cursor=cursor))
    except (ValueError, OverflowError):
        raise bad_cursor(cursor) from None


@router.get("/envelopes/{number}", summary="One envelope", responses=described(EnvelopeDetail))
def show(request: Request, shared: Shared, _: Onlooker, number: Number) -> Response:
    """Its members, how many messages of what state it brought, and what could not be read."""
    found = show_envelope(shared.store.engine, number)
    if found is None:
        raise not_found("envelope", "number", number, "GET /api/v1/envelopes lists them.")
    return tagged(request, found)
