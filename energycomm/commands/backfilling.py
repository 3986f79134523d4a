"""`energycomm eis backfill`: what the store lacks of what stored messages say, told and written."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from energycomm.commands.output import Json, print_json, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.commands.running import ProcessNumber, Work, told_buckets
from energycomm.config import load
from energycomm.errors import ExitCode
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store

if TYPE_CHECKING:
    from energycomm.bulk.backfilling import Lacking

MOST_FAULTS = 20
"""Access points that could not be derived which are shown; JSON has all."""


@recorded("eis backfill", changing=True)
def backfill(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what is lacking; nothing is written.")] = False,
    work: Work = None,
    processes: ProcessNumber = None,
    json: Json = False,
) -> None:
    """Derive again what stored messages left in the store, and write what an older version did not; safe to repeat.

    Verdicts stay as they are. Run it after `eis upgrade`; the daemon may go on meanwhile.

    Example: energycomm eis backfill --dry-run
    """
    # Arrow takes a moment to load: no other command waits for it.
    from msgspec import structs

    from energycomm.bulk.backfilling import BackfillQuestion, lacking
    from energycomm.bulk.cluster import workers
    from energycomm.correction.impact import question

    config = load()
    with open_store(config) as store, ExitStack() as stack:
        gateway = Gateway(config, store)
        rules = question(config.rules_folder, gateway.markets, 0, config.engine, config.curve_tolerance)
        asked = BackfillQuestion(**structs.asdict(rules))
        place = work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="energycomm-run-"))) / "run"
        with told_buckets() as watch:
            chosen = workers(config.cluster.address, processes)
            found = stack.enter_context(lacking(store.engine, gateway.markets, asked, place, chosen, watch=watch))
        if not dry_run:
            with told_buckets("buckets written") as watch:
                found.fill(store, gateway.writer, watch)
            found.clear()
    _tell(found, dry_run=dry_run, json=json)
    if found.faults:
        raise typer.Exit(ExitCode.UNREADABLE)


def _tell(found: Lacking, *, dry_run: bool, json: bool) -> None:
    """What was lacking, and what became of it."""
    rows = [(*what, number) for what, number in sorted(found.counts.items())]
    if json:
        print_json(
            {
                "messages": found.messages,
                "places": found.places,
                "written": not dry_run,
                "lacking": [dict(zip(("table", "kind", "what", "rows"), row, strict=True)) for row in rows],
                "faults": [
                    {"market": market, "access_point": point, "fault": fault} for market, point, fault in found.faults
                ],
            }
        )
    else:
        print_rows(("table", "kind", "what", "rows"), rows)
        said = counted(found.messages, "message")
        places = counted(found.places, "access point or message without one", "access points and messages without one")
        if not rows:
            say(f"{said} looked at: the store lacks nothing of them", err=True)
        elif dry_run:
            say(f"{said} looked at: {places} would be derived again; nothing is written", err=True)
        else:
            say(f"{said} looked at: {places} derived again", err=True)
        for market, point, fault in found.faults[:MOST_FAULTS]:
            say(f"{market} {point} was left as it is: {fault}", err=True)
        if len(found.faults) > MOST_FAULTS:
            say(f"and {len(found.faults) - MOST_FAULTS} more: --json tells all", err=True)
