"""`energycomm correct`: refused messages analysed, corrected by scripts, replayed, delegated, ticketed."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from energycomm.commands.correct_analyse import analyse, end_of
from energycomm.commands.correct_edit import edit_
from energycomm.commands.correct_script import app as script_app
from energycomm.commands.output import Json, print_facts, print_heading, print_json, print_rows
from energycomm.config import load
from energycomm.correction import campaign
from energycomm.correction.acting import judge_again
from energycomm.correction.cases import read_cases, stuck_ids
from energycomm.correction.loop import loop as run_loop
from energycomm.correction.script import load_scripts
from energycomm.correction.tickets import Ticket, change_ticket, delegate, tickets
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway, open_store
from energycomm.pipeline.replay import mark

app = typer.Typer(no_args_is_help=True, help="Refused messages: analysed, corrected, replayed.")
app.add_typer(script_app, name="script")

By = Annotated[str | None, typer.Option("--by", help="Who does it; the user of the system by default.")]
Why = Annotated[str, typer.Option("--why", help="Words for the record.")]


@app.callback()
def correct() -> None:
    """Refused messages: analysed, corrected, replayed."""


app.command()(analyse)
app.command("edit")(edit_)


@app.command()
def replay(
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]...", help="Messages; all that are marked if none.")
    ] = None,
    by: By = None,
    why: Why = "replay",
    json: Json = False,
) -> None:
    """Send messages through the Kernel again with the rules of today, in business order per access point.

    Example: energycomm correct replay 17 18 --why "calendar was added"
    """
    config = load()
    with open_store(config) as store:
        if ids:
            with store.transaction() as tx:
                marked = mark(tx, ids, user(by), why)
        else:
            marked = stuck_ids(store.engine, ("to_replay",))
        gateway = Gateway(config, store)
        places = {(case.message.market, case.identifier) for case in read_cases(store.engine, marked)}
        for market, identifier in sorted(places, key=lambda place: (place[0], place[1] or "")):
            judge_again(store, gateway.writer, market, identifier)
        with store.transaction() as tx:
            rows = tx.driver.matching("SELECT id, state FROM kernel_message WHERE true", marked, "id", "ORDER BY id")
    states = {str(number): state for number, state in rows}
    if json:
        print_json({"marked": len(marked), "states": states})
        return
    print_rows(("message", "state"), list(states.items()))
    passed = sum(state in ("accepted", "treated") for state in states.values())
    typer.echo(f"{passed} of {len(marked)} messages are accepted now", err=True)


@app.command()
def loop(
    waited: Annotated[int, typer.Option(min=0, help="Touch what waits in quarantine only after so many days.")] = 0,
    ticket: Annotated[bool, typer.Option("--tickets/--no-tickets", help="Make tickets for what is left.")] = True,
    owner: Annotated[str | None, typer.Option(help="Who takes up the tickets.")] = None,
    due: Annotated[int | None, typer.Option(min=0, help="Days until the tickets are due.")] = None,
    by: By = None,
    why: Why = "correction loop",
    json: Json = False,
) -> None:
    """Run the automatic scripts until nothing moves, each only where its dry run frees something; ticket the rest.

    Example: energycomm correct loop --waited 7 --due 14
    """
    config = load()
    if config.correction.four_eyes:
        raise UserError("The loop acts alone, and the configuration asks for four eyes.", "Propose campaigns instead.")
    with open_store(config) as store:
        gateway = Gateway(config, store)
        report = run_loop(
            store,
            gateway.writer,
            load_scripts(config.scripts_folder).values(),
            by=user(by),
            why=why,
            waited_days=waited,
            ticket=ticket,
            owner=owner,
            due_days=due,
            watch=lambda words: typer.echo(words, err=True),
        )
    if json:
        print_json(report)
        return
    print_facts(
        [
            ("freed", report.freed),
            ("campaigns", [step.campaign_id for step in report.steps]),
            ("still stuck", report.left),
            ("tickets", len(report.tickets)),
            ("tickets closed", len(report.closed)),
        ]
    )


@app.command("tickets")
def tickets_(
    number: Annotated[int | None, typer.Argument(metavar="[ID]", help="One ticket, with its evidence.")] = None,
    state: Annotated[str | None, typer.Option(help="Only in this state: open, waiting, closed.")] = None,
    set_state: Annotated[str | None, typer.Option("--set", help="Put the ticket in this state.")] = None,
    owner: Annotated[str | None, typer.Option(help="Give the ticket to this person.")] = None,
    due: Annotated[str | None, typer.Option(help="Day it is due, YYYY-MM-DD.")] = None,
    link: Annotated[str | None, typer.Option(help="Address of it in another tracker.")] = None,
    json: Json = False,
) -> None:
    """List tickets, or show and change one.

    Example: energycomm correct tickets 3 --owner anna --set waiting
    """
    with open_store(load()) as store:
        if number is not None:
            found = [change_ticket(store, number, state=set_state, owner=owner, due=end_of(due), link=link)]
        elif set_state or owner or due or link:
            raise UserError("Which ticket is to be changed?", "Name its number.")
        else:
            found = tickets(store, state=state)
    if json:
        print_json(found if number is None else found[0])
    elif number is not None:
        _print_ticket(found[0])
    else:
        head = ("id", "state", "class", "title", "operator", "messages", "owner", "due")
        rows = [
            (t.id, t.state, t.error_class, t.title, t.grid_operator, len(t.messages), t.owner, t.due) for t in found
        ]
        print_rows(head, rows)


@app.command("delegate")
def delegate_(
    ids: Annotated[list[int], typer.Argument(metavar="ID...", help="Messages.")],
    to: Annotated[str, typer.Option("--to", help="The colleague.")],
    note: Annotated[str, typer.Option(help="What the colleague should know.")] = "",
    by: By = None,
) -> None:
    """Give refused messages to a colleague, with a note.

    Example: energycomm correct delegate 17 18 --to ben --note "call the grid operator"
    """
    with open_store(load()) as store:
        given = delegate(store, ids, to, user(by), note)
    typer.echo(f"{len(given)} of {len(ids)} messages are {to}'s now")


@app.command()
def history(
    number: Annotated[int | None, typer.Argument(metavar="[ID]", help="One campaign, message by message.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 100,
    json: Json = False,
) -> None:
    """List the campaigns, or show what one did.

    Example: energycomm correct history 3
    """
    with open_store(load()) as store:
        if number is None:
            found: Sequence[Any] = campaign.campaigns(store, limit=limit)
        else:
            record = campaign.show(store, number)
            found = campaign.items_of(store, number, limit)
    if json:
        print_json(found if number is None else {"campaign": record, "items": found})
    elif number is None:
        head = ("id", "script", "state", "by", "why", "when", "selected", "items", "freed")
        rows = [
            (c.id, c.script, c.state, c.by, c.why, c.created_at, c.selected, sum(c.items.values()), c.freed)
            for c in found
        ]
        print_rows(head, rows)
    else:
        print_campaign(record)
        print_rows(
            ("message", "access point", "action", "state", "from", "to", "result", "note"),
            [(i.message_id, i.access_point, i.action, i.state, i.before, i.after, i.result_id, i.note) for i in found],
        )


@app.command()
def approve(number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], by: By = None) -> None:
    """Agree to a campaign that a colleague proposed.

    Example: energycomm correct approve 3
    """
    with open_store(load()) as store:
        campaign.approve(store, number, user(by))
    typer.echo(f"campaign {number} is approved; `energycomm correct resume {number}` runs it")


@app.command()
def resume(number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], json: Json = False) -> None:
    """Run what is left of a campaign that was proposed, cancelled or cut off.

    Example: energycomm correct resume 3
    """
    config = load()
    with open_store(config) as store, progress(sum(campaign.show(store, number).items.values())) as watch:
        gateway = Gateway(config, store)
        record = campaign.run(store, gateway.writer, number, four_eyes=config.correction.four_eyes, watch=watch)
    _tell(record, json=json)


@app.command()
def cancel(number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], json: Json = False) -> None:
    """Stop a campaign after the access point it is at; `resume` goes on with it.

    Example: energycomm correct cancel 3
    """
    with open_store(load()) as store:
        _tell(campaign.cancel(store, number), json=json)


@app.command()
def undo(
    number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], by: By = None, json: Json = False
) -> None:
    """Take back what a campaign stored; the messages are judged again as they were.

    Example: energycomm correct undo 3
    """
    config = load()
    with open_store(config) as store:
        _tell(campaign.undo(store, Gateway(config, store).writer, number, user(by)), json=json)


def user(by: str | None) -> str:
    """Who does it: as told, else the user of the system."""
    return by or getpass.getuser()


@contextmanager
def progress(total: int) -> Iterator[Any]:
    """A progress bar on standard error, where that is a terminal; gives a function (done, freed)."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("messages", total=total)
        yield lambda done, freed=0: bar.update(task, completed=done)


def print_campaign(record: campaign.CampaignRecord) -> None:
    """A campaign for a person."""
    print_facts(
        [
            ("campaign", f"{record.id} ({record.script})"),
            ("state", record.state),
            ("by", record.by),
            ("approved by", record.approved_by),
            ("why", record.why),
            ("selected", record.selected),
            ("items", [f"{name}:{count}" for name, count in record.items.items()]),
            ("freed", record.freed),
        ]
    )


def _tell(record: campaign.CampaignRecord, *, json: bool) -> None:
    if json:
        print_json(record)
    else:
        print_campaign(record)


def _print_ticket(ticket: Ticket) -> None:
    print_facts(
        [
            ("ticket", f"{ticket.id} {ticket.title}"),
            ("state", ticket.state),
            ("class", ticket.error_class),
            ("grid operator", ticket.grid_operator),
            ("owner", ticket.owner),
            ("due", ticket.due),
            ("link", ticket.link),
            ("messages", ticket.messages[:50]),
        ]
    )
    print_heading("Evidence")
    rows = [(one["class"], one["messages"], one["found"]) for one in ticket.evidence["evidence"]]
    print_rows(("class", "messages", "found"), rows)
