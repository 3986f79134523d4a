"""`energycomm correct tickets`, `delegate` and `export`: what no correction frees, and who takes it up."""

from __future__ import annotations

from typing import Annotated, cast
from zoneinfo import ZoneInfo

import typer

from energycomm.commands.correct_analyse import end_of
from energycomm.commands.options import choice, options_of
from energycomm.commands.output import Form, Json, listed, print_facts, print_heading, print_json, print_rows, say
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.correction.analysis import DIMENSIONS, Dimension, judged_cases, members
from energycomm.correction.export import export
from energycomm.correction.tickets import DELEGABLE, Ticket, change_ticket, delegate, tickets
from energycomm.correction.trackers import TrackerTrouble, open_tracker
from energycomm.eis.database import reading
from energycomm.eis.messages import summaries
from energycomm.eis.states import TICKET_STATES
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted
from energycomm.kernel.instants import now_micros
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.listsearch import TicketSearch
from energycomm.pipeline.opening import open_store
from energycomm.texts.catalogues import translate


@recorded("correct tickets", changing=("set_state", "owner", "due", "link"))
@options_of(TicketSearch, {"owner": "--of"})
@listed
def tickets_(
    wanted: TicketSearch,
    form: Form,
    number: Annotated[int | None, typer.Argument(metavar="ID", help="One ticket, with its evidence.")] = None,
    set_state: Annotated[
        str | None, choice("--set", TICKET_STATES, "state of a ticket", "Put the ticket in this state")
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Give the ticket to this person.")] = None,
    due: Annotated[str | None, typer.Option(help="Day it is due, YYYY-MM-DD.")] = None,
    link: Annotated[str | None, typer.Option(help="Address of it in another tracker.")] = None,
) -> None:
    """List tickets, or show and change one.

    Example: energycomm correct tickets 3 --owner anna --set waiting
    """
    config = load()
    with open_store(config) as store:
        if number is not None:
            until = end_of(due, ZoneInfo(config.web.zone))
            found = [change_ticket(store, number, state=set_state, owner=owner, due=until, link=link)]
        elif set_state or owner or due or link:
            raise UserError("Which ticket is to be changed?", "Name its number.")
        else:
            found = tickets(store, **wanted.known(store.engine).model_dump())
    if number is not None and not form.asked:
        _print_ticket(found[0])
    else:
        head = ("id", "state", "class", "title", "grid operator", "messages", "owner", "due")
        rows = [
            (t.id, t.state, translate(t.error_class, "en"), t.title, t.grid_operator, len(t.messages), t.owner, t.due)
            for t in found
        ]
        form.show(found if number is None else found[0], head, rows)


@recorded("correct delegate", changing=True)
def delegate_(
    ids: Annotated[list[int] | None, typer.Argument(metavar="ID", help="Messages.")] = None,
    to: Annotated[str, typer.Option("--to", help="The colleague.")] = "",
    group: Annotated[
        str, choice("--group", DIMENSIONS, "thing to group by", "With --only: what groups have in common")
    ] = "code",
    only: Annotated[str | None, typer.Option(help="Which group, by its key.")] = None,
    note: Annotated[str, typer.Option(help="What the colleague should know.")] = "",
    by: Annotated[str | None, typer.Option("--by", help="Who does it; the user of the system by default.")] = None,
    json: Json = False,
) -> None:
    """Give refused messages, or a group of them, to a colleague, with a note.

    Example: energycomm correct delegate --only CO-R05 --to ben --note "call the grid operator"
    """
    if not to:
        raise UserError("To whom?", "Name the colleague with --to.")
    if bool(ids) == (only is not None):
        raise UserError("Which messages?", "Name their numbers, or a group with --only.")
    config = load()
    with open_store(config) as store:
        if only is not None:
            markets = installed_adapters(config.mapping_files)
            found = members(judged_cases(store.engine, markets), cast(Dimension, group), now_micros())
            if only not in found:
                raise UserError(f"There is no group {only!r}.", f"Groups: {', '.join(list(found)[:20])}.")
            ids = [one.case.id for one in found[only]]
        given = delegate(store, ids or [], to, by or system_user(), note)
        rest = sorted(set(ids or ()) - set(given))
        with reading(store.engine) as connection:
            states = {one.id: one.state for one in summaries(connection, rest)}
    kept = {number: _kept(states.get(number)) for number in rest}
    if json:
        print_json({"delegated": given, "passed_over": {str(number): why for number, why in kept.items()}})
    else:
        say(f"{len(given)} of {counted(len(ids or []), 'message is', 'messages are')} {to}'s now")
    for number, why in kept.items():
        say(f"message {number} was not given: {why}", err=True)
    if not given:
        raise typer.Exit(ExitCode.USAGE)


def _kept(state: str | None) -> str:
    """Why a message in a state was not given to a colleague."""
    if state is None:
        return "there is none"
    if state == "ticketed":
        return "it is in a ticket; `energycomm correct tickets ID --owner NAME` gives that to somebody"
    return f"it is {state}, and only messages that are {', '.join(DELEGABLE)} can be given"


@recorded("correct export", changing=True)
@listed
def export_(
    form: Form,
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="ID", help="Tickets; all that are open or were exported if none.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Name of the tracker; the only one if there is one.")] = None,
) -> None:
    """Export tickets to Jira, GitLab or a webhook; existing issues are updated, never created twice.

    Example: energycomm correct export 3 4 --to jira
    """
    config = load()
    names = [tracker.name for tracker in config.trackers]
    if not names:
        raise UserError("No tracker is configured.", "Add [[trackers]] to energycomm.toml.")
    if to is None and len(names) > 1:
        raise UserError("There are several trackers.", f"Name one with --to: {', '.join(names)}.")
    setting = next((tracker for tracker in config.trackers if to in (None, tracker.name)), None)
    if setting is None:
        raise UserError(f"There is no tracker {to!r}.", f"Trackers: {', '.join(names)}.")
    try:
        tracker = open_tracker(setting, config.folder)
    except TrackerTrouble as trouble:
        raise UserError(f"The tracker {setting.name} cannot be used: {trouble}.") from None
    with open_store(config) as store:
        known = {ticket.id: ticket for ticket in tickets(store)}
        for number in numbers or ():
            if number not in known:
                raise UserError(f"There is no ticket {number}.", "`energycomm correct tickets` lists them.")
        chosen = [known[number] for number in numbers or sorted(known)]
        if not numbers:
            chosen = [ticket for ticket in chosen if ticket.state != "closed" or ticket.link]
        done = export(
            store, tracker, setting.name, chosen, public_url=config.web.public_url, zone=ZoneInfo(config.web.zone)
        )
    form.show(
        done,
        ("ticket", "what", "there", "address or reason"),
        [(one.ticket, one.what, one.remote, one.words or one.url) for one in done],
    )
    if any(one.what == "failed" for one in done):
        raise typer.Exit(ExitCode.UNREADABLE)


def _print_ticket(ticket: Ticket) -> None:
    print_facts(
        [
            ("ticket", f"{ticket.id} {ticket.title}"),
            ("state", ticket.state),
            ("class", translate(ticket.error_class, "en")),
            ("grid operator", ticket.grid_operator),
            ("owner", ticket.owner),
            ("due", ticket.due),
            ("link", ticket.link),
            ("messages", ticket.messages[:50]),
        ]
    )
    print_heading("Evidence")
    rows = [(translate(one["class"], "en"), one["messages"], one["found"]) for one in ticket.evidence["evidence"]]
    print_rows(("class", "messages", "found"), rows)
