"""Grid invoices, checked: what they charge that nothing explains, in euros; the disputes as a table."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field

from energycomm.cells import write_csv
from energycomm.invoicing.disputes import disputes, head
from energycomm.invoicing.gathering import CheckedInvoice, InvoiceCheck, InvoiceSummary
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import InvoiceSearch
from energycomm.portfolio.files import workbook
from energycomm.webservice.answers import answer, described, tagged
from energycomm.webservice.pages import Page, page_of
from energycomm.webservice.parameters import LARGEST, Market, Reader, Shared, Words
from energycomm.webservice.problems import Problem, not_found
from energycomm.webservice.recording import RecordedRoute, about
from energycomm.webservice.routes.portfolio import XLSX
from energycomm.webservice.services import Services

router = APIRouter(prefix="/invoices", tags=["invoices"], route_class=RecordedRoute)

CSV = "text/csv"
Invoice = Annotated[Words, Path(max_length=64, description="Number of the invoice; it may hold a slash.")]


class Search(InvoiceSearch):
    """Invoices, page by page."""

    limit: int = Field(default=20, ge=1, le=100, description="How many at most; each is checked anew.")
    cursor: int | None = Field(
        default=None, ge=1, le=LARGEST, description="Continue where a former answer ended: its `next`."
    )


@router.get("", summary="Grid invoices and what is contested", responses=described(Page[InvoiceSummary]))
def listing(
    request: Request,
    shared: Shared,
    _: Reader,
    asked: Annotated[Search, Query()],
) -> Response:
    """Those of which a message came last first."""
    about(request, "invoices")
    return answer(listed(shared, asked.market, asked.cursor, asked.limit))


@router.get(
    "/{invoice:path}/disputes",
    summary="Disputes of a grid invoice",
    responses={200: {"description": "A row a finding.", "content": {CSV: {}, XLSX: {}}}},
)
def table(
    request: Request,
    shared: Shared,
    _: Reader,
    invoice: Invoice,
    market: Market = None,
    form: Annotated[
        str, Query(alias="format", pattern="^(csv|xlsx)$", description="csv, or xlsx for a workbook.")
    ] = "csv",
    language: Annotated[str, Query(pattern="^(en|fr|nl)$", description="Of the table: en, fr or nl.")] = "en",
) -> Response:
    """What an invoice is contested for, to be sent to the grid operator."""
    about(request, f"invoice {invoice}")
    return sheet([checked(shared, invoice, market)], form, language)


@router.get("/{invoice:path}", summary="One grid invoice with its findings", responses=described(CheckedInvoice))
def show(request: Request, shared: Shared, _: Reader, invoice: Invoice, market: Market = None) -> Response:
    """Its totals, and every finding with both values and the euros."""
    about(request, f"invoice {invoice}")
    return tagged(request, checked(shared, invoice, market))


def listed(shared: Services, market: str | None, before: int | None, limit: int) -> Page[InvoiceSummary]:
    """A page of the invoices.

    Raises:
      Problem: there is no such market.
    """
    checker = _checker(shared)
    numbers = checker.numbers(market=market, limit=limit + 1, before=before)
    shown = [checker.checked(*one).summary for one in numbers[:limit]]
    found = page_of(shown, limit, lambda one: one.latest)
    return Page(items=found.items, next=str(shown[-1].latest) if len(numbers) > limit else None)


def checked(shared: Services, invoice: str, market: str | None) -> CheckedInvoice:
    """One invoice, checked against what the store holds now.

    Raises:
      Problem: there is none of that number, or several markets have one.
    """
    checker = _checker(shared)
    known = [one for one in checker.markets_of(invoice) if market in (None, one)]
    if len(known) > 1:
        words = f"{invoice} is an invoice in {' and '.join(known)}."
        raise Problem("API_CONFLICT", words, target="market", advice="Name one of them.")
    if not known:
        near = checker.near(invoice)
        raise not_found("invoice", "invoice", invoice, f"Did you mean {', '.join(near)}?" if near else "")
    return checker.checked(known[0], invoice)


def sheet(found: Sequence[CheckedInvoice], form: str, language: str) -> Response:
    """The disputes of invoices as CSV or as a workbook, in a language: en, fr or nl."""
    of = re.sub(r"[^0-9A-Za-z-]", "_", found[0].invoice) if len(found) == 1 else "invoices"
    name = f"disputes-{of}.{form}"
    rows = [row for one in found for row in disputes(one, language)]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if form == "xlsx":
        return Response(workbook(head(language), rows, "disputes"), 200, headers, XLSX)
    text = io.StringIO(newline="")
    write_csv(text, head(language), rows)
    return Response(text.getvalue().encode("utf-8-sig"), 200, headers, f"{CSV}; charset=utf-8")


def _checker(shared: Services) -> InvoiceCheck:
    return InvoiceCheck(shared.store, shared.config.rules_folder, installed_adapters(shared.config.mapping_files).zones)
