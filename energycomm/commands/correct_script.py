"""`energycomm correct script`: correction scripts listed, shown, tried out and run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from energycomm.commands.language import told
from energycomm.commands.options import known_scripts, starting
from energycomm.commands.output import (
    Form,
    Json,
    Paper,
    listed,
    print_facts,
    print_heading,
    print_json,
    print_rows,
    say,
    say_text,
)
from energycomm.commands.recording import recorded, system_user
from energycomm.config import load
from energycomm.correction import campaign
from energycomm.correction.library import LoadedScript, find_script, read_scripts
from energycomm.correction.planning import Outline, Planned, Preview, difference, trials
from energycomm.correction.script import Selection
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import Gateway, open_catalogue
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="Correction scripts.")

Script = Annotated[str, typer.Argument(help="Name of the script.", autocompletion=starting(known_scripts))]


@app.command("list")
@listed
def list_(form: Form) -> None:
    """List the correction scripts, shipped ones and your own.

    Example: energycomm correct script list
    """
    scripts = read_scripts(load().scripts_folder).values()
    told = [{"name": one.name, "title": one.declared.title, "automatic": one.declared.automatic} for one in scripts]
    rows = [(one.name, "automatic" if one.declared.automatic else "", one.declared.title) for one in scripts]
    form.show(told, ("name", "loop", "title"), rows)


@app.command()
def show(name: Script, json: Json = False) -> None:
    """Show a script: what it does, which messages it selects, its parameters.

    Example: energycomm correct script show create-missing-start
    """
    config = load()
    found = find_script(name, open_catalogue(config.rules_folder).rules, config.scripts_folder)
    declared = found.declared
    if json:
        print_json({"name": found.name, "documentation": found.documentation, "declared": declared, "path": found.path})
        return
    print_facts([("script", f"{found.name}: {declared.title}"), ("file", found.path)])
    print_facts([(part, getattr(declared.selection, part)) for part in Selection.__struct_fields__])
    print_heading("What it does")
    say_text(found.documentation)
    if declared.parameters:
        print_heading("Parameters")
        print_rows(("name", "default", "meaning"), [(p.name, p.default, p.help) for p in declared.parameters])


@app.command()
@recorded("correct script run", changing=("yes", "propose"))
def run(
    name: Script,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter.")] = None,
    only: Annotated[list[int] | None, typer.Option("--message", help="Only these messages.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many actions at most.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without, the dry run is shown and nothing is done.")
    ] = False,
    propose: Annotated[bool, typer.Option(help="Record the campaign and let a colleague approve it.")] = False,
    diffs: Annotated[int, typer.Option("--diff", min=0, help="Show the differences of so many messages.")] = 3,
    key: Annotated[str | None, typer.Option(help="A second run with the same key does nothing.")] = None,
    by: Annotated[str | None, typer.Option(help="Who does it; the user of the system by default.")] = None,
    why: Annotated[str, typer.Option(help="Reason, for the record.")] = "",
    json: Json = False,
) -> None:
    """Show a dry run of a script; with --yes run it where it frees a message and costs no accepted one.

    Example: energycomm correct script run create-missing-start --limit 10
    """
    config = load()
    parameters = _parameters(set_ or [])
    if (yes or propose) and not why:
        raise UserError("Give a reason; it is recorded with the campaign.", 'Add --why "...".')
    with open_store(config) as store:
        gateway = Gateway(config, store)
        found = find_script(name, gateway.catalogue.rules, config.scripts_folder)
        tried, number, record = Outline(diffs), None, None
        with progress(None, "tried out") as watch:
            parts = trials(store, gateway.writer, found, parameters, limit=limit, only=only, watch=watch)
            items = _noting(parts, tried)
            first = next(items, None)
            if (yes or propose) and (first is not None or key is not None):
                number = campaign.start(
                    store,
                    found,
                    chain(() if first is None else (first,), items),
                    by=user(by),
                    why=why,
                    parameters=found.values(parameters),
                    selected=lambda: tried.selected,
                    key=key,
                )
            deque(items, maxlen=0)
        if not json:
            _print_preview(found, tried)
        others = [] if number is None else campaign.rivals(store, number)
        if number is not None:
            record = campaign.show(store, number)
            if yes and not propose:
                with progress(len(tried.useful), "done") as watch:
                    record = campaign.run(
                        store, gateway.writer, number, four_eyes=config.correction.four_eyes, watch=watch
                    )
    if json:
        print_json({"preview": _facts(tried), "campaign": record, "rivals": others})
    elif record is not None:
        _print_campaign(record, others)
    elif not yes and tried.useful:
        say('Nothing is done yet; --yes --why "..." does it.')


def _print_campaign(record: campaign.CampaignRecord, others: list[campaign.Rival]) -> None:
    say(f"campaign {record.id} is {record.state}; it freed {counted(record.freed, 'message')}")
    for one in others:
        say(one.words)


def user(by: str | None) -> str:
    """The acting person: as given, else the user of the system."""
    return by or system_user()


def _noting(parts: Iterable[Preview], tried: Outline) -> Iterator[Planned]:
    """The items worth doing; what each part found is noted."""
    for part in parts:
        tried.add(part)
        yield from part.useful


@contextmanager
def progress(total: int | None, words: str = "messages") -> Iterator[Any]:
    """A progress bar on standard error, where that is a terminal; gives a function (done, freed)."""
    console = Paper(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(told(words), total=total)
        yield lambda done, freed=0: bar.update(task, completed=done)


def _parameters(words: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise UserError(f"{word!r} is no parameter.", "Write --set NAME=VALUE.")
        values[name] = value
    return values


def _facts(tried: Outline) -> dict[str, object]:
    return {
        "selected": tried.selected,
        "actions": tried.tried,
        "useful": tried.useful,
        "freed": tried.freed,
        "lost": tried.lost,
        "faults": {str(number): words for number, words in tried.faults.items()},
    }


def _print_preview(script: LoadedScript, tried: Outline) -> None:
    say(f"{script.name}: {counted(tried.selected, 'message')} selected; dry run: {tried}")
    for one in tried.items:
        print_heading(f"message {one.case.id} {one.case.kind} {one.case.identifier or ''}: {one.action.note}")
        say_text(difference(one))
    if useless := tried.tried - len(tried.useful):
        print_heading(f"{counted(useless, 'action is', 'actions are')} left out")
        print_rows(("message", "why"), tried.left_out)
    for number, words in list(tried.faults.items())[:20]:
        say(f"message {number}: the script raised {words}", err=True)
