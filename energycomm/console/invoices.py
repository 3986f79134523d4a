"""Grid invoices: what is contested in euros, the findings with both values, the disputes to download."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import Field

from energycomm.console.sheets import Column, Format, heads
from energycomm.console.sheets import sheet as table
from energycomm.console.view import address, page, words_of
from energycomm.eis.views import views_of
from energycomm.invoicing.gathering import InvoiceSummary
from energycomm.invoicing.words import CHECKS, value_in
from energycomm.pipeline.listsearch import InvoiceSearch
from energycomm.webservice.parameters import LARGEST, Market, Reader, Shared
from energycomm.webservice.problems import Problem
from energycomm.webservice.recording import READS, RecordedRoute, about
from energycomm.webservice.routes.invoices import Invoice, checked, listed, sheet
from energycomm.webservice.services import Services

router = APIRouter(prefix="/invoices", route_class=RecordedRoute, include_in_schema=False)

LISTED = 20
SHOWN = 500
"""Invoices of a list; findings on the page: all of them are in the disputes."""

MOST_CHOSEN = 100
"""Invoices that are chosen at a time: each is checked anew."""


COLUMNS = (
    Column("Market", lambda one, _: one.market),
    Column("Grid invoice", lambda one, _: one.invoice),
    Column("Date", lambda one, words: words.day(one.invoice_date, one.market)),
    Column("Net total", lambda one, _: one.total, right=True),
    Column("Sum of the charges", lambda one, _: one.charged, right=True),
    Column("Charges there", lambda one, _: one.charges, right=True),
    Column("Announced", lambda one, _: one.announced, right=True),
    Column("Findings", lambda one, _: one.contradictions, right=True),
    Column("Contested", lambda one, _: one.contested, right=True),
)
"""An invoice is checked when it is shown: no column is known of all of them, to sort by."""


class Listing(InvoiceSearch):
    """The invoices of the page."""

    cursor: int | None = Field(default=None, ge=1, le=LARGEST)
    format: Format = ""


@router.get("")
def listing(request: Request, person: Reader, shared: Shared, asked: Annotated[Listing, Query()]) -> Response:
    """The invoices, those of which a message came last first."""
    if asked.format:
        return table(COLUMNS, words_of(request), _all(shared, asked.market), asked.format, "invoices")
    found = listed(shared, asked.market, asked.cursor, LISTED)
    kept = {"market": asked.market} if asked.market else {}
    return page(
        request,
        "invoices.html",
        found=found,
        more=address("/invoices", **kept, cursor=found.next) if found.next else None,
        market=asked.market,
        markets=sorted(shared.gateway.markets),
        saved=views_of(shared.store.engine, person.name, "invoices"),
        kept=kept,
        heads=heads(COLUMNS, words_of(request), "/invoices", kept, sort=None, possible=()),
        sheets={form: address("/invoices", **kept, format=form) for form in ("csv", "xlsx")},
    )


@router.post("/selected/file", openapi_extra=READS)
def taken(
    request: Request,
    person: Reader,
    shared: Shared,
    form: Annotated[Literal["csv", "xlsx", "disputes-csv", "disputes-xlsx"], Form()],
    chosen: Annotated[list[Annotated[str, Field(max_length=80)]] | None, Form(max_length=MOST_CHOSEN)] = None,
) -> Response:
    """The chosen invoices as a file, or what they are contested for in one table."""
    if not chosen:
        raise Problem("API_INVALID", "Nothing is chosen.", target="chosen", advice="Mark rows of the list first.")
    about(request, f"invoices {', '.join(chosen)}")
    named = (one.partition(" ") for one in dict.fromkeys(chosen))
    found = [checked(shared, invoice, market) for market, _, invoice in named]
    words, (*disputed, file) = words_of(request), form.split("-")
    if disputed:
        return sheet(found, file, words.taste.language)
    return table(COLUMNS, words, [one.summary for one in found], "xlsx" if file == "xlsx" else "csv", "invoices")


def _all(shared: Services, market: str | None) -> Iterator[InvoiceSummary]:
    before: str | None = None
    while True:
        found = listed(shared, market, None if before is None else int(before), LISTED)
        yield from found.items
        if found.next is None:
            return
        before = found.next


@router.get("/{invoice:path}")
def show(
    request: Request,
    person: Reader,
    shared: Shared,
    invoice: Invoice,
    market: Market = None,
    form: Annotated[str, Query(alias="format", pattern="^(csv|xlsx)?$")] = "",
) -> Response:
    """One invoice with its findings, or its disputes as a file."""
    about(request, f"invoice {invoice}")
    found = checked(shared, invoice, market or None)
    if form:
        return sheet([found], form, words_of(request).taste.language)
    return page(request, "invoice.html", found=found, shown=SHOWN, checks=CHECKS, value_in=value_in)
