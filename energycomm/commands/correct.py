"""`energycomm correct`: refused messages analysed, corrected by scripts, replayed, delegated, ticketed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from energycomm.commands.correct_analyse import analyse
from energycomm.commands.correct_edit import edit_
from energycomm.commands.correct_script import app as script_app
from energycomm.commands.correct_script import progress, user
from energycomm.commands.correct_tickets import delegate_, export_, tickets_
from energycomm.commands.output import Form, Json, listed, print_facts, print_json, print_rows, say
from energycomm.commands.recording import recorded
from energycomm.commands.rejudging import judged_by
from energycomm.commands.running import ProcessNumber, Work
from energycomm.config import load
from energycomm.correction import campaign
from energycomm.correction.library import load_scripts
from energycomm.correction.loop import loop as run_loop
from energycomm.correction.replaying import TODAY, replay_changed, replay_messages
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import Gateway, open_engine
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.replay import REPLAYABLE

app = typer.Typer(no_args_is_help=True, help="Refused messages: analysed, corrected, replayed.")
app.add_typer(script_app, name="script")

By = Annotated[str | None, typer.Option("--by", help="Who does it; the user of the system by default.")]
Why = Annotated[str, typer.Option("--why", help="Reason, for the record.")]


app.command()(analyse)
app.command("edit")(edit_)
app.command("tickets")(tickets_)
app.command("delegate")(delegate_)
app.command("export")(export_)


@app.command()
@recorded("correct replay", changing=True)
def replay(
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="ID", help="Messages; all that are marked if none.")
    ] = None,
    rules: Annotated[
        str, typer.Option(help="today, then (those that judged a message first), or a version's first digits.")
    ] = TODAY,
    stuck: Annotated[
        bool, typer.Option("--stuck", help="All stuck messages whose verdicts come out otherwise today, found in bulk.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="With --stuck: only those that arrived on or after this day, YYYY-MM-DD.")
    ] = None,
    work: Work = None,
    processes: ProcessNumber = None,
    by: By = None,
    why: Why = "replay",
    json: Json = False,
) -> None:
    """Send messages through the Kernel again, in business order per access point.

    Example: energycomm correct replay 17 18 --rules then --why "calendar was added"
    """
    if stuck and (ids or rules != TODAY):
        raise UserError("--stuck chooses the messages and judges them by the rules of today.", "Leave out the others.")
    if not stuck and (since or work or processes):
        raise UserError("--since, --work and --processes belong to --stuck.", "Add --stuck, or leave them out.")
    config = load()
    with open_store(config) as store:
        gateway = Gateway(config, store)
        if stuck:
            with judged_by(config, store, config.rules_folder, since, work, processes, REPLAYABLE) as found:
                done = replay_changed(store, gateway.writer, found, by=user(by), why=why)
        else:
            done = replay_messages(
                store,
                gateway.writer,
                ids or None,
                by=user(by),
                why=why,
                rules=rules,
                engine_of=lambda catalogue: open_engine(catalogue, config.engine, config.curve_tolerance),
            )
    states = {str(number): state for number, state in done.states.items()}
    if json:
        print_json(
            {
                "marked": len(done.marked),
                "states": states,
                "rules": {str(number): digest for number, digest in done.rules.items()},
                "passed_over": {str(number): reason for number, reason in done.passed_over.items()},
            }
        )
        return
    print_rows(("message", "state"), list(states.items()))
    for number, reason in done.passed_over.items():
        say(f"message {number} was not sent back: {reason}", err=True)
    say(f"{done.accepted} of {counted(len(done.marked), 'message is', 'messages are')} accepted now", err=True)


@app.command()
@recorded("correct loop", changing=True)
def loop(
    waited: Annotated[int, typer.Option(min=0, help="Include messages in quarantine only after so many days.")] = 0,
    ticket: Annotated[
        bool, typer.Option("--tickets/--no-tickets", help="Make tickets for the remaining messages.")
    ] = True,
    owner: Annotated[str | None, typer.Option(help="Owner of the tickets.")] = None,
    due: Annotated[int | None, typer.Option(min=0, help="Days until the tickets are due.")] = None,
    by: By = None,
    why: Why = "correction loop",
    json: Json = False,
) -> None:
    """Run the automatic scripts, each where its dry run frees a message, until none does; make tickets for the rest.

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
            load_scripts(gateway.catalogue.rules, config.scripts_folder).values(),
            by=user(by),
            why=why,
            waited_days=waited,
            ticket=ticket,
            owner=owner,
            due_days=due,
            watch=lambda words: say(words, err=True),
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


@app.command()
@recorded("correct history")
@listed
def history(
    form: Form,
    number: Annotated[int | None, typer.Argument(metavar="ID", help="One campaign, message by message.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 100,
) -> None:
    """List the campaigns, or show one.

    Example: energycomm correct history 3
    """
    with open_store(load()) as store:
        if number is None:
            found: Sequence[Any] = campaign.campaigns(store, limit=form.taken(limit))
        else:
            record = campaign.show(store, number)
            found = campaign.items_of(store, number, form.taken(limit))
    if number is None:
        head = ("id", "script", "state", "by", "why", "when", "selected", "items", "freed")
        rows = [
            (c.id, c.script, c.state, c.by, c.why, c.created_at, c.selected, sum(c.items.values()), c.freed)
            for c in found
        ]
        form.show(found, head, rows, limit=limit)
    else:
        if not form.asked:
            print_campaign(record)
        form.show(
            {"campaign": record, "items": found},
            ("message", "access point", "action", "state", "from", "to", "result", "note"),
            [(i.message_id, i.access_point, i.action, i.state, i.before, i.after, i.result_id, i.note) for i in found],
            limit=limit,
        )


@app.command()
@recorded("correct approve", changing=True)
def approve(
    number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], by: By = None, json: Json = False
) -> None:
    """Agree to a campaign that a colleague proposed.

    Example: energycomm correct approve 3
    """
    with open_store(load()) as store:
        campaign.approve(store, number, user(by))
        record = campaign.show(store, number)
    if json:
        print_json(record)
        return
    say(f"campaign {number} is approved; `energycomm correct resume {number}` runs it")


@app.command()
@recorded("correct resume", changing=True)
def resume(number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], json: Json = False) -> None:
    """Run the rest of a campaign that was proposed, cancelled or interrupted.

    Example: energycomm correct resume 3
    """
    config = load()
    with open_store(config) as store, progress(sum(campaign.show(store, number).items.values())) as watch:
        gateway = Gateway(config, store)
        record = campaign.run(store, gateway.writer, number, four_eyes=config.correction.four_eyes, watch=watch)
    _tell(record, json=json)


@app.command()
@recorded("correct cancel", changing=True)
def cancel(number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], json: Json = False) -> None:
    """Stop a campaign after the current access point; `resume` continues it.

    Example: energycomm correct cancel 3
    """
    with open_store(load()) as store:
        _tell(campaign.cancel(store, number), json=json)


@app.command()
@recorded("correct undo", changing=True)
def undo(
    number: Annotated[int, typer.Argument(metavar="ID", help="Campaign.")], by: By = None, json: Json = False
) -> None:
    """Undo a campaign; its messages are judged again with their former content.

    Example: energycomm correct undo 3
    """
    config = load()
    with open_store(config) as store:
        _tell(campaign.undo(store, Gateway(config, store).writer, number, user(by)), json=json)


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
