"""The search: a page of results by kind, and suggestions below the field while somebody types."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from energycomm.console.view import is_fragment, page
from energycomm.finding import Found, TooShort, opened
from energycomm.webservice.parameters import Reader, Shared
from energycomm.webservice.recording import RecordedRoute
from energycomm.webservice.routes.finding import Typed, looked_for

router = APIRouter(route_class=RecordedRoute, include_in_schema=False)

SUGGESTED = 3
"""Suggestions of a kind."""

LISTED = 20


@router.get("/find")
def search(
    request: Request, person: Reader, shared: Shared, q: Typed = "", open: bool = False, limit: int = LISTED
) -> Response:
    """What fits the words, by kind. The field of the pages opens what is meant where there is no doubt."""
    fragment = is_fragment(request)
    found: Found | None = None
    short: TooShort | None = None
    try:
        found = looked_for(request, shared, q, SUGGESTED if fragment else min(max(limit, 1), 500))
    except TooShort as error:
        short = error
    if fragment:
        return page(request, "suggestions.html", found=found)
    if found is not None and open and (hit := opened(found)) is not None:
        return RedirectResponse(hit.page, 303)
    return page(request, "find.html", q=q, found=found, short=short, limit=limit)
