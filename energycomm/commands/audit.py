"""`energycomm audit`: who read personal data or changed something through the web services."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from energycomm.commands.output import Json, print_json, print_rows
from energycomm.config import load
from energycomm.errors import UserError
from energycomm.pipeline.gateway import open_store
from energycomm.webservice.audit import list_audit

ACTIONS = ("read", "change", "refused", "sign-in")

app = typer.Typer(no_args_is_help=True, help="The audit of the web services.")


@app.callback()
def audit() -> None:
    """The audit of the web services."""


@app.command("list")
def list_(
    person: Annotated[str | None, typer.Option(help="Only of this person.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this: read, change, refused, sign-in.")] = None,
    since: Annotated[str | None, typer.Option(help="On or after this day, YYYY-MM-DD.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on where a former list ended (its `next`).")] = None,
    json: Json = False,
) -> None:
    """List who read personal data or changed something, the newest first.

    Example: energycomm audit list --person anna --action change
    """
    if action is not None and action not in ACTIONS:
        raise UserError(f"{action!r} is no action of the audit.", f"Actions: {', '.join(ACTIONS)}.")
    try:
        day = None if since is None else datetime.fromisoformat(since).replace(tzinfo=UTC)
    except ValueError:
        raise UserError(f"{since} is no day.", "Write it YYYY-MM-DD.") from None
    with open_store(load()) as store:
        try:
            page = list_audit(store, person=person, action=action, since=day, limit=limit, cursor=cursor)
        except ValueError:
            raise UserError(f"{cursor!r} is no cursor of a list.", "Take `next` of the list before.") from None
    if json:
        print_json(page)
        return
    head = ("at", "person", "via", "action", "what", "subject", "status", "from")
    rows = [(e.at, e.person, e.via, e.action, e.what, e.subject, e.status, e.address) for e in page.entries]
    print_rows(head, rows)
    if page.next:
        typer.echo(f"more: --cursor {page.next}", err=True)
