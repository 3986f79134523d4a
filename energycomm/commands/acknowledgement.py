"""`energycomm acknowledgement`: list what acknowledges envelopes to their senders, and send it again."""

from __future__ import annotations

from typing import Annotated

import typer

from energycomm.commands.options import options_of
from energycomm.commands.outgoing import chosen, send_again
from energycomm.commands.output import Form, listed, say
from energycomm.commands.recording import recorded
from energycomm.config import load
from energycomm.kernel.counting import counted
from energycomm.pipeline.acknowledgement import kept_acknowledgements
from energycomm.pipeline.acknowledgement import retry as retry_rows
from energycomm.pipeline.listsearch import AcknowledgementSearch
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Acknowledgements to the senders of envelopes.")


@app.command("list")
@recorded("acknowledgement list")
@options_of(AcknowledgementSearch)
@listed
def list_(
    wanted: AcknowledgementSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most, the oldest first.")] = 50,
) -> None:
    """List acknowledgements, with the reason of those that could not be sent.

    Example: energycomm acknowledgement list --state dead
    """
    with open_store(load()) as store:
        rows = kept_acknowledgements(store, state=wanted.state, limit=form.taken(limit))
    head = ("envelope", "market", "type", "reference", "state", "attempts", "sent", "channel", "last error")
    form.show(
        rows,
        head,
        [
            (r.envelope_id, r.market, r.type, r.reference, r.state, r.attempts, r.sent_at, r.channel, r.last_error)
            for r in rows
        ],
        limit=limit,
    )


@app.command()
@recorded("acknowledgement retry", changing=True)
def retry(
    envelopes: Annotated[
        list[int] | None, typer.Argument(help="Envelopes with dead acknowledgements.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead ones.")] = False,
) -> None:
    """Send dead acknowledgements again, with the same bytes.

    Example: energycomm acknowledgement retry --all
    """
    named = chosen(envelopes, everything, "envelopes", "numbers")
    with open_store(load()) as store:
        number = send_again(named, lambda ids: retry_rows(store, ids), "envelope", "acknowledgements")
    say(f"{counted(number, 'acknowledgement is', 'acknowledgements are')} due again")
