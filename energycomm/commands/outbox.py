"""`energycomm outbox`: list notifications to the back office, and send them again."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.backoffice.notification import list_outbox
from energycomm.backoffice.notification import retry as retry_rows
from energycomm.commands.options import options_of
from energycomm.commands.outgoing import chosen, send_again
from energycomm.commands.output import Form, Json, listed, print_json, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.kernel.counting import counted
from energycomm.pipeline.listsearch import NotificationSearch
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Notifications to the back office.")


@app.command("list")
@recorded("outbox list")
@options_of(NotificationSearch)
@listed
def list_(
    wanted: NotificationSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, the newest first.")] = 50,
) -> None:
    """List notifications, with the reason of those that failed.

    Example: energycomm outbox list --state dead
    """
    with open_store(load()) as store:
        rows = list_outbox(store, wanted.state, form.taken(limit))
    head = ("id", "message", "event", "at", "state", "attempts", "next attempt", "last error")
    form.show(
        rows,
        head,
        [(r.id, r.message_id, r.event, r.at, r.state, r.attempts, r.next_at, r.last_error) for r in rows],
        limit=limit,
    )


@app.command()
@recorded("outbox retry", changing=True)
def retry(
    ids: Annotated[list[int] | None, typer.Argument(help="Dead notifications.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False,
    json: Json = False,
) -> None:
    """Send dead notifications again, under their old idempotency keys.

    Example: energycomm outbox retry --all
    """
    named = chosen(ids, everything, "notifications")
    with open_store(load()) as store:
        number = send_again(named, lambda ids: retry_rows(store, ids), "notification", "notifications")
    if json:
        print_json({"due_again": number})
        return
    say(f"{counted(number, 'notification is', 'notifications are')} due again")
