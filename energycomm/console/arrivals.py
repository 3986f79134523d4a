"""Envelopes: what arrived, what became of it, and why some of it could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import Engine

from energycomm.console.messages import PAGE, SHEET_PAGE
from energycomm.console.sheets import Column, Format, absent_from, heads, sheet
from energycomm.console.view import address, page, words_of
from energycomm.eis.envelopes import ENVELOPE_ORDERS, EnvelopeSummary, list_envelopes, show_envelope
from energycomm.eis.states import ENVELOPE_STATES
from energycomm.eis.views import views_of
from energycomm.pipeline.listsearch import EnvelopeSearch
from energycomm.webservice.parameters import Shared, Worker
from energycomm.webservice.problems import not_found
from energycomm.webservice.recording import UNRECORDED, RecordedRoute
from energycomm.webservice.routes.messages import bad_cursor

router = APIRouter(prefix="/envelopes", route_class=RecordedRoute, include_in_schema=False)

COLUMNS = (
    Column("No.", lambda one, _: one.id, right=True),
    Column("Received", lambda one, words: words.when(one.received_at), "received"),
    Column("Name", lambda one, _: one.name, "name"),
    Column("Market", lambda one, _: one.market),
    Column("Channel", lambda one, _: one.channel),
    Column("Bytes", lambda one, _: one.size, right=True),
    Column("State", lambda one, words: words.t(one.state), "state"),
    Column("Reason", lambda one, words: words.said(one.reason or "")),
)


class Listing(EnvelopeSearch):
    """The filters and the order of the page."""

    cursor: str | None = None
    format: Format = ""

    @property
    def wanted(self) -> dict[str, Any]:
        """What is asked of the store."""
        return {"state": self.state, "series": self.series, "sort": self.sort}


@router.get("", openapi_extra=UNRECORDED)
def listing(request: Request, person: Worker, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """What arrived, the newest first unless it is sorted otherwise."""
    engine, words = shared.store.engine, words_of(request)
    absent = absent_from(asked, engine)
    if asked.format:
        return sheet(COLUMNS, words, _all(engine, asked), asked.format, "envelopes")
    try:
        found = list_envelopes(engine, **asked.wanted, limit=PAGE, cursor=asked.cursor)
    except (ValueError, OverflowError):
        raise bad_cursor(asked.cursor) from None
    kept = {name: value for name, value in asked.wanted.items() if value}
    return page(
        request,
        "envelopes.html",
        envelopes=found.envelopes,
        absent=absent,
        more=address("/envelopes", **kept, cursor=found.next) if found.next else None,
        state=asked.state,
        states=ENVELOPE_STATES,
        saved=views_of(engine, person.name, "envelopes"),
        kept=kept,
        heads=heads(COLUMNS, words, "/envelopes", kept, sort=asked.sort or "-received", possible=ENVELOPE_ORDERS),
        sheets={form: address("/envelopes", **kept, format=form) for form in ("csv", "xlsx")},
    )


def _all(engine: Engine, asked: Listing) -> Iterator[EnvelopeSummary]:
    cursor: str | None = None
    while True:
        found = list_envelopes(engine, **asked.wanted, limit=SHEET_PAGE, cursor=cursor)
        yield from found.envelopes
        cursor = found.next
        if cursor is None:
            return


@router.get("/{number}")
def show(request: Request, number: int, person: Worker, shared: Shared) -> HTMLResponse:
    """One envelope: its members, what became of its messages, what could not be read."""
    found = show_envelope(shared.store.engine, number)
    if found is None:
        raise not_found("envelope", "id", number)
    return page(request, "envelope.html", found=found, one=found.summary)
