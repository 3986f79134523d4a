"""`energycomm invoice`: grid invoices against their parts, the price lists and the store; what to dispute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from energycomm.commands.options import OneMarket, options_of
from energycomm.commands.output import Form, listed, print_facts, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.invoicing.disputes import HEAD, cells, head
from energycomm.invoicing.disputes import disputes as disputed
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.invoicing.words import CHECKS
from energycomm.kernel.counting import counted
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import InvoiceSearch
from energycomm.pipeline.opening import open_store
from energycomm.portfolio.files import write_table
from energycomm.texts.catalogues import LANGUAGES

app = typer.Typer(
    no_args_is_help=True, help="Grid invoices, checked: what they charge that nothing explains, in euros."
)

Number = Annotated[str, typer.Argument(help="Number of the invoice.", show_default=False)]


@contextmanager
def _checker() -> Iterator[InvoiceCheck]:
    config = load()
    with open_store(config) as store:
        yield InvoiceCheck(store, config.rules_folder, installed_adapters().zones)


@app.command("list")
@recorded("invoice list")
@options_of(InvoiceSearch)
@listed
def list_(
    wanted: InvoiceSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, the newest first.")] = 50,
) -> None:
    """List the invoices with what they charge and how many euros of it are contested.

    Example: energycomm invoice list --market FR
    """
    with _checker() as checker:
        numbers = checker.numbers(market=wanted.market, limit=form.taken(limit))
        found = [checker.checked(*one) for one in numbers]
    head = ("market", "invoice", "date", "net", "charges", "announced", "findings", "contested")
    rows = [
        (
            one.market,
            one.invoice,
            one.invoice_date,
            one.charged if one.total is None else one.total,
            one.charges,
            one.announced,
            len(one.findings),
            one.contested,
        )
        for one in found
    ]
    title = f"{counted(len(rows), 'invoice')}, {sum(one.contested for one in found)} contested"
    form.show(found, head, rows, title, limit=limit)


@app.command()
@recorded("invoice show")
@listed
def show(form: Form, number: Number, market: OneMarket = None) -> None:
    """Show an invoice: its totals, and every finding with both values and the euros.

    Example: energycomm invoice show 3100000000017
    """
    with _checker() as checker:
        found = checker.checked(_market(checker, number, market), number)
    rows = [cells(one) for one in found.findings]
    if form.asked:
        form.show(found, HEAD, rows)
        return
    print_facts(
        [
            ("invoice", f"{found.market} {found.invoice}"),
            ("date", found.invoice_date),
            (
                "net total",
                "the general file is not there" if found.total is None else f"{found.total} {found.currency}",
            ),
            ("charges", f"{found.charges} there, {'-' if found.announced is None else found.announced} announced"),
            ("sum of the charges", f"{found.charged} {found.currency}"),
            ("contested", f"{found.contested} {found.currency}"),
        ]
    )
    print_rows(HEAD, rows)
    for check in dict.fromkeys(one.check for one in found.findings):
        say(f"{check}: {CHECKS[check]}")


@app.command()
@recorded("invoice disputes")
def disputes(
    number: Number,
    to: Annotated[Path, typer.Option("--to", help="The file, .csv or .xlsx; replaced.", show_default=False)],
    market: OneMarket = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Of the table, en, fr or nl; that of the configuration by default.")
    ] = None,
) -> None:
    """Write what an invoice is contested for as a table, to be sent to the grid operator.

    Example: energycomm invoice disputes 3100000000017 --to disputes.xlsx
    """
    if to.suffix.lower() not in (".csv", ".xlsx"):
        raise UserError(f"{to.name} is neither a CSV nor an XLSX file.", "End its name in .csv or .xlsx.")
    spoken = language or load().language
    if spoken not in LANGUAGES:
        raise UserError(f"There is no language {spoken}.", f"One of {', '.join(LANGUAGES)}.")
    with _checker() as checker:
        found = checker.checked(_market(checker, number, market), number)
    rows = disputed(found, spoken)
    write_table(to, head(spoken), rows)
    say(f"{counted(len(rows), 'finding')}, {found.contested} {found.currency} contested: {to}")


def _market(checker: InvoiceCheck, number: str, market: str | None) -> str:
    known = checker.markets_of(number)
    if market is not None:
        known = [one for one in known if one == market]
    if len(known) == 1:
        return known[0]
    if known:
        raise UserError(f"{number} is an invoice in {' and '.join(known)}.", "Name one: --market.")
    near = checker.near(number)
    advice = f"Did you mean {', '.join(near)}?" if near else "`energycomm invoice list` shows those there are."
    raise UserError(f"There is no invoice {number}.", advice)
