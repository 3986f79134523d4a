"""Markets: data without access point: sums of an area, settlement amounts, price lists."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from energycomm.choices import one_of
from energycomm.eis.message_parts import Effect
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.domain import MarketSubject, rows_of_market
from energycomm.webservice.pages import Page
from energycomm.webservice.parameters import Cursor, Limit, Reader, Shared, Since, Until, Words
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.messages import bad_cursor

router = APIRouter(prefix="/markets", tags=["markets"], route_class=RecordedRoute)


@router.get(
    "/{market}/{subject}", summary="Aggregated series, settlements, price lists", responses=described(Page[Effect])
)
def subject_rows(
    request: Request,
    shared: Shared,
    _: Reader,
    market: Annotated[Words, Path(max_length=40, description="The market, by its ISO code.")],
    subject: Annotated[MarketSubject, Path(description="Subject of the rows.")],
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The rows of one subject, the latest instant first. A series is given with the number of its values."""
    known = one_of("market", market, shared.gateway.markets, "market that is installed")
    about(request, f"market {market} {subject}")
    try:
        found = rows_of_market(shared.store, known, subject, since=since, until=until, limit=limit, cursor=cursor)
    except (ValueError, OverflowError):
        raise bad_cursor(cursor) from None
    return tagged(request, found)
