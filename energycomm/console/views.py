"""Views of lists that a person keeps: filters and an order under a name, checked by the list's own filters."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Form, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from energycomm.console.access_points import Overdue
from energycomm.console.arrivals import Listing as EnvelopeListing
from energycomm.console.campaigns import Listing as CampaignListing
from energycomm.console.invoices import Listing as InvoiceListing
from energycomm.console.messages import Browsing
from energycomm.console.rules import Listing as RuleListing
from energycomm.console.tickets import Listing as TicketListing
from energycomm.console.worklists import Listing as RequestListing
from energycomm.console.worklists import Quarantined
from energycomm.eis.views import drop_view, keep_view
from energycomm.pipeline.listsearch import ListSearch
from energycomm.webservice.parameters import Reader, Shared, Words
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute, about

router = APIRouter(prefix="/views", route_class=RecordedRoute, include_in_schema=False)

LISTS: dict[str, type[ListSearch]] = {
    "messages": Browsing,
    "tickets": TicketListing,
    "requests": RequestListing,
    "envelopes": EnvelopeListing,
    "quarantine": Quarantined,
    "rules": RuleListing,
    "campaigns": CampaignListing,
    "invoices": InvoiceListing,
    "access-points/overdue": Overdue,
}
"""Lists whose views can be kept -> their filters."""

PAGING = ("id", "cursor", "before", "after", "format")
"""Parameters of the addresses of lists that say which piece is shown, and how: no part of a view."""

Name = Annotated[Words, Form(min_length=1, max_length=80)]


@router.post("")
def keep(
    request: Request,
    person: Reader,
    shared: Shared,
    what: Annotated[str, Form()],
    name: Name,
    query: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    """Keep the filters of a list under a name."""
    kept = _checked(what, query)
    if not name.strip():
        raise Problem("API_INVALID", "The view needs a name.", target="name")
    about(request, f"view {name.strip()} of {what}")
    keep_view(shared.store, person.name[:120], what, name.strip(), kept)
    return RedirectResponse(f"/{what}?{kept}" if kept else f"/{what}", 303)


@router.post("/remove")
def remove(request: Request, person: Reader, shared: Shared, what: Annotated[str, Form()], name: Name) -> Response:
    """Remove a view of one's own."""
    _checked(what, "")
    about(request, f"view {name} of {what}")
    if not drop_view(shared.store, person.name[:120], what, name):
        raise not_found("view", "name", name)
    return RedirectResponse(f"/{what}", 303)


def _checked(what: str, query: str) -> str:
    """The filters of a view as they are kept.

    Raises:
      Problem: there is no such list.
      RequestValidationError: a filter is wrong.
    """
    model = LISTS.get(what)
    if model is None:
        raise not_found("list", "what", what)
    given: dict[str, Any] = {name: value for name, value in parse_qsl(query) if name not in PAGING}
    try:
        model(**given)
    except ValidationError as wrong:
        raise RequestValidationError([{**one, "loc": ("query", *one["loc"])} for one in wrong.errors()]) from None
    return urlencode(given)
