"""`energycomm outbox`: list notifications to the back office, and send them again."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.backoffice.notification import list_outbox
from energycomm.backoffice.notification import retry as retry_rows
from energycomm.commands.options import choice
from energycomm.commands.outgoing import chosen
from energycomm.commands.output import Json, print_json, print_rows
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.eis.states import NOTIFICATION_STATES
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import open_store

app = typer.Typer(no_args_is_help=True, help="Notifications to the back office.")


@app.command("list")
@recorded("outbox list")
def list_(
    state: Annotated[
        str | None, choice("--state", NOTIFICATION_STATES, "state of a notification", "Only in this state")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, the newest first.")] = 50,
    json: Json = False,
) -> None:
    """List notifications, with the reason of those that failed.

    Example: energycomm outbox list --state dead
    """
    with open_store(load()) as store:
        rows = list_outbox(store, state, limit)
    if json:
        print_json(rows)
        return
    head = ("id", "message", "event", "at", "state", "attempts", "next attempt", "last error")
    print_rows(
        head,
        [(r.id, r.message_id, r.event, r.at, r.state, r.attempts, r.next_at, r.last_error) for r in rows],
    )


@app.command()
@recorded("outbox retry", changing=True)
def retry(
    ids: Annotated[list[int] | None, typer.Argument(help="Dead notifications.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False,
) -> None:
    """Send dead notifications again, under their old idempotency keys.

    Example: energycomm outbox retry --all
    """
    named = chosen(ids, everything, "notifications")
    with open_store(load()) as store:
        number = retry_rows(store, named)
    typer.echo(f"{counted(number, 'notification is', 'notifications are')} due again")
