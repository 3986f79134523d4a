"""`energycomm access-point`: what happened at one access point, in time order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from energycomm.commands.options import OneMarket, options_of
from energycomm.commands.output import NO_TIME, Form, Json, legal_time, listed, print_facts, print_json, print_rows, say
from energycomm.commands.recording import of_access_point, recorded
from energycomm.config import load
from energycomm.eis.overdue import HEAD, cells, overdue_points
from energycomm.eis.timeline import Entry, timelines
from energycomm.errors import UserError
from energycomm.market.contract import notices_of
from energycomm.market.installed import installed_adapters
from energycomm.market.legaltime import LegalTime
from energycomm.pipeline.gateway import open_store
from energycomm.pipeline.listsearch import OverdueSearch

app = typer.Typer(no_args_is_help=True, help="Access points and their histories.")

_DULL = frozenset(("message_id", "content", "registers", "volumes", "positions", "lines", "end_message_id"))
"""Columns that say nothing in one line of a timeline."""


@app.command()
@recorded("access-point show", subject=of_access_point)
def show(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Identifier of the access point: a PRM, an EAN.")],
    market: OneMarket = None,
    limit: Annotated[int, typer.Option(min=1, help="How many entries of each kind; the latest.")] = 200,
    json: Json = False,
) -> None:
    """Show the timeline of an access point: supply periods, contracts, meters, readings, charges, messages.

    Example: energycomm access-point show 99000000000017
    """
    with open_store(load()) as store:
        found = timelines(store.engine, identifier, market=market, limit=limit)
    if not found:
        raise UserError(f"Nothing is known of access point {identifier}.", "Check the identifier.")
    if json:
        print_json(found)
        return
    times = legal_time()
    for timeline in found:
        print_facts([("access point", timeline.identifier), ("market", timeline.market)])
        print_rows(
            ("when", "what", "message", "details"),
            [
                (
                    times.when(entry.at, timeline.market) or NO_TIME,
                    entry.what.replace("_", " "),
                    entry.message_id,
                    _details(entry, times, timeline.market),
                )
                for entry in timeline.entries
            ],
        )
        if not timeline.complete:
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
