"""One search for everything that has a name or a number."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from energycomm.correction.library import script_headings
from energycomm.finding import LONGEST, SHOWN, Found, find
from energycomm.finding import about as shown_in
from energycomm.webservice.answers import described, tagged
from energycomm.webservice.parameters import Reader, Shared, Words
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.services import Services

router = APIRouter(tags=["search"], route_class=RecordedRoute)

Typed = Annotated[Words, Query(max_length=LONGEST, description="Words, or a kind and a number: ticket 7.")]


@router.get("/find", summary="Find anything", responses=described(Found))
def search(
    request: Request,
    shared: Shared,
    _: Reader,
    q: Typed,
    limit: Annotated[int, Query(ge=1, le=500, description="How many of a kind.")] = SHOWN,
) -> Response:
    """Access points, contracts, meters, customers, requests, references, files, tickets, codes; whole, a part, or with
    one mistake. Results by kind, the best first."""
    return tagged(request, looked_for(request, shared, q, limit))


def looked_for(request: Request, shared: Services, text: str, limit: int = SHOWN) -> Found:
    """The answer to a search; the audit is told what it shows.

    Raises:
      TooShort: nothing of it is long enough to be looked for.
    """
    # The words may be somebody's name: the audit keeps what was found.
    about(request, "search")
    scripts, catalogue = script_headings(shared.config.scripts_folder), shared.gateway.catalogue
    found = find(shared.store.engine, catalogue, scripts, text, limit=limit, texts=shared.texts)
    about(request, shown_in(found))
    return found
