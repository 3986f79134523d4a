"""Grid invoices: what is contested in euros, the findings with both values, the disputes to download."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from energycomm.console.view import Reader, Shared, page, words_of
from energycomm.invoicing.words import CHECKS, value_in
from energycomm.webservice.parameters import Market
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.invoices import Before, Invoice, checked, listed, sheet

router = APIRouter(prefix="/invoices", route_class=RecordedRoute, include_in_schema=False)

LISTED = 20
SHOWN = 500
"""Invoices of a list; findings on the page: all of them are in the disputes."""


@router.get("")
def listing(
    request: Request, person: Reader, shared: Shared, market: Market = None, cursor: Before = None
) -> HTMLResponse:
    """The invoices, those of which a message came last first."""
    return page(request, "invoices.html", found=listed(shared, market or None, cursor, LISTED), market=market or "")


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
        return sheet(found, form, words_of(request).taste.language)
    return page(request, "invoice.html", found=found, shown=SHOWN, checks=CHECKS, value_in=value_in)
