"""`energycomm access-point`: what happened at one access point, in time order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from energycomm.commands.options import OneMarket, options_of
from energycomm.commands.output import NO_TIME, Form, legal_time, listed, print_facts, print_rows, say
from energycomm.commands.recording import of_access_point, recorded
from energycomm.config import load
from energycomm.eis.overdue import HEAD, cells, overdue_points
from energycomm.eis.timeline import Entry, timelines
from energycomm.errors import UserError
from energycomm.market.contract import notices_of
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.listsearch import OverdueSearch
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Access points and their histories.")

_DULL = frozenset(("message_id", "content", "registers", "volumes", "positions", "lines", "end_message_id"))
"""Columns that say nothing in one line of a timeline."""


@app.command()
@recorded("access-point show", subject=of_access_point)
@listed
def show(
    form: Form,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the access point: a PRM, an EAN.")],
    market: OneMarket = None,
    limit: Annotated[int, typer.Option(min=1, help="How many entries of each kind; the latest.")] = 200,
) -> None:
    """Show the timeline of an access point: supply periods, contracts, meters, readings, charges, messages.

    Example: energycomm access-point show 99000000000017
    """
    with open_store(load()) as store:
        found = timelines(store.engine, identifier, market=market, limit=limit)
    if not found:
        raise UserError(f"Nothing is known of access point {identifier}.", "Check the identifier.")
    times, head = legal_time(), ("when", "what", "message", "details")
    rows = {
        (one.market, one.identifier): [
            (
                times.when(entry.at, one.market) or NO_TIME,
                entry.what.replace("_", " "),
                entry.message_id,
                _details(entry, times, one.market),
            )
            for entry in one.entries
        ]
        for one in found
    }
    if form.asked:
        form.show(found, ("market", *head), [(market, *row) for (market, _), some in rows.items() for row in some])
    else:
        for (shown_market, shown), some in rows.items():
            print_facts([("access point", shown), ("market", shown_market)])
            print_rows(head, some)
    if not form.json and not all(one.complete for one in found):
        say(f"earlier entries are left out; --limit shows more than {limit} of each kind", err=True)


@app.command()
@recorded("access-point overdue")
@options_of(OverdueSearch)
@listed
def overdue(
    wanted: OverdueSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
) -> None:
    """List the points that we supply and whose measures stay away, those that are missed longest first.

    Each point is held against the rhythm of its own readings, energies and curves so far; what a service told that
    stopped, as the market gave notice, is not missed.

    Example: energycomm access-point overdue --market be
    """
    config = load()
    markets = installed_adapters(config.mapping_files)
    with open_store(config) as store:
        found = overdue_points(
            store.engine,
            datetime.now(UTC),
            notices=notices_of(markets),
            **wanted.model_dump(),
            limit=form.taken(limit),
        )
    times = legal_time()
    form.show(found, HEAD, [cells(one, times.day) for one in found], limit=limit)


def _details(entry: Entry, times: LegalTime, market: str) -> str:
    parts = []
    for name, value in entry.content.items():
        if value in (None, "", (), []) or name in _DULL:
            continue
        if isinstance(value, bool):
            parts.append(f"{'' if value else 'not '}{name.replace('_', ' ')}")
            continue
        if isinstance(value, datetime):
            value = times.when(value, market)
        elif isinstance(value, tuple | list):
            value = " ".join(str(item) for item in value)
        parts.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(parts)
