"""`energycomm rules`: the rules that the Kernel applies, listed, shown, checked and printed."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from energycomm.bulk.verdicts import Verdicts
from energycomm.choices import one_of
from energycomm.commands.language import named
from energycomm.commands.options import known_codes, options_of, starting
from energycomm.commands.output import Form, Json, listed, print_json, print_json_list, print_rows, say, say_text
from energycomm.commands.recording import recorded
from energycomm.commands.rejudging import judged_by
from energycomm.commands.running import ProcessNumber, Work
from energycomm.config import load
from energycomm.correction.difference import differences
from energycomm.correction.impact import bring_about, catalogue_named, rules_named, versions_of
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.comments import built_comments
from energycomm.engine.document import as_html, as_markdown, asked, rule_facts
from energycomm.engine.folder import read_catalogue
from energycomm.engine.problems import Problem
from energycomm.engine.rule import Rule
from energycomm.engine.rulebook import described, rule_book
from energycomm.errors import UserError
from energycomm.kernel.counting import counted
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.listsearch import RuleSearch
from energycomm.pipeline.opening import open_store

app = typer.Typer(no_args_is_help=True, help="The rules that the Kernel applies.")

BROKEN = 2
"""Exit code when a rule file is broken."""

Folder = Annotated[Path | None, typer.Option("--rules", help="Folder of rules; that of the configuration by default.")]


class Format(StrEnum):
    """The form of the KernelRules document."""

    md = "md"
    html = "html"
    both = "both"


NAMED = "A folder of rules, first digits of a stored version, or a day: the rules of then"


@app.command("list")
@options_of(RuleSearch, {"rule_set": "--set"})
@listed
def list_rules(
    wanted: RuleSearch,
    form: Form,
    folder: Folder = None,
) -> None:
    """List the rules with their error codes.

    Example: energycomm rules list --market fr --kind MeterReading
    """
    catalogue = _catalogue(folder)
    found = catalogue.matching(**wanted.model_dump())
    rows: list[tuple[str, ...]] = [
        (rule.error_code or asked(rule), rule.code, rule.rule_set, rule.severity if rule.judges else "", rule.title)
        for rule in found
    ]
    form.show(
        rule_book(catalogue, found),
        ("code", "rule", "set", "severity", "title"),
        rows,
        f"{counted(len(rows), 'rule')}, version {catalogue.version}",
    )


@app.command()
def show(
    code: Annotated[
        str,
        typer.Argument(
            help="Code of a rule, error code, the market's own code, or ebIX reason.",
            autocompletion=starting(known_codes),
        ),
    ],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show a rule: condition, source, comments and examples.

    Example: energycomm rules show FR-R03
    """
    catalogue = _catalogue(folder)
    found = _named(catalogue, code)
    if json:
        print_json([described(rule) for rule in found])
        return
    for rule in found:
        say(f"{rule.error_code or rule.code} {named(rule.title)}", rule.sentence, "")
        rows = [*rule_facts(rule).rows, ("Reads", ", ".join(rule.reads)), ("File", f"{rule.file}:{rule.line}")]
        for label, text in rows:
            say_text(f"  {label + ':':<16}{text.replace('`', '')}")
        say("")


@app.command()
@listed
def comments(
    form: Form,
    code: Annotated[str | None, typer.Argument(help="Only of this rule: its code or error code.")] = None,
    market: Annotated[str | None, typer.Option(help="Only rules of this market: fr.")] = None,
    folder: Folder = None,
) -> None:
    """Show the comments of the rules in both languages, with the values of the examples that fail.

    Example: energycomm rules comments --market fr
    """
    catalogue = _catalogue(folder)
    rules = _named(catalogue, code) if code else catalogue.matching(_market(catalogue, market) if market else None)
    found = list(built_comments(catalogue, rules))
    if form.asked:
        rows = [(one.error_code, one.place, one.en, one.fr) for one in found]
        form.show([one._asdict() for one in found], ("code", "example", "English", "French"), rows)
        return
    for one in found:
        say(f"{one.error_code}  {one.place}", f"  {one.en}", f"  {one.fr}")


@app.command()
def check(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of rules; that of the configuration by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Check every rule file, predicate, code list and example; exit code 2 if there are mistakes.

    Example: energycomm rules check rules/
    """
    place = folder or load().rules_folder
    catalogue, problems = read_catalogue(place)
    if json:
        told = [problem._asdict() for problem in problems]
        print_json({"version": catalogue.version, "rules": len(catalogue.rules), "problems": told})
    elif problems:
        _print_problems(place, problems)
    else:
        examples = sum(len(rule.examples) for rule in catalogue.rules)
        say(
            f"{counted(len(catalogue.rules), 'rule')}, {counted(examples, 'example')}, "
            f"{counted(len(catalogue.predicates), 'predicate')}, "
            f"{counted(len(catalogue.codes.entries), 'code')}: all right (version {catalogue.version})"
        )
    if problems:
        raise typer.Exit(BROKEN)


@app.command()
def document(
    market: Annotated[str, typer.Option(help="The market: fr.")],
    out: Annotated[Path, typer.Option(help="Folder to write to; created if needed.")],
    form: Annotated[Format, typer.Option("--format", help="Form of the document.")] = Format.both,
    folder: Folder = None,
) -> None:
    """Write the KernelRules document of a market: all its rules, for reading.

    Example: energycomm rules document --market fr --out docs/rules
    """
    catalogue = _catalogue(folder)
    name = _market(catalogue, market)
    out.mkdir(parents=True, exist_ok=True)
    writers = {Format.md: as_markdown, Format.html: as_html}
    for suffix, write in writers.items():
        if form in (suffix, Format.both):
            path = out / f"KernelRules-{name}.{suffix.value}"
            path.write_text(write(catalogue, name), encoding="utf-8")
            say(str(path))


Since = Annotated[str, typer.Option(help="Messages that arrived on or after this day, YYYY-MM-DD.")]
Limit = Annotated[int, typer.Option(min=1, help="How many messages to list at most.")]


@app.command()
@listed
def versions(form: Form) -> None:
    """List the versions of the rules that messages were judged by: since when each is used.

    Example: energycomm rules versions
    """
    with open_store(load()) as store:
        found = versions_of(store)
    rows = [(one.version, one.first_used_at, one.engine) for one in found]
    form.show(found, ("version", "first used", "engine"), rows)


@app.command("impact")
@recorded("rules impact")
def impact_(
    since: Since,
    by: Annotated[
        str | None,
        typer.Option("--rules", metavar="RULES", help=f"{NAMED}; the folder of the configuration by default."),
    ] = None,
    limit: Limit = 50,
    work: Work = None,
    processes: ProcessNumber = None,
    json: Json = False,
) -> None:
    """Judge stored messages by other rules and show which verdicts would change; nothing is stored.

    Accepted messages are judged too: what would the rules of March have said of all that came since?

    Example: energycomm rules impact --since 2026-01-01 --rules changed-rules/
    """
    config = load()
    zone = ZoneInfo(config.web.zone)
    with (
        open_store(config) as store,
        rules_named(store, by or str(config.rules_folder), zone) as folder,
        judged_by(config, store, folder, since, work, processes) as found,
    ):
        if json:
            print_json_list({"judged": found.judged, "changes": found.words}, "messages", found.shifts())
            return
        _tell(found, limit, counted(found.changed, "verdict would change", "verdicts would change"))


@app.command()
@recorded("rules apply", changing=True)
def apply(
    since: Since,
    limit: Limit = 50,
    work: Work = None,
    processes: ProcessNumber = None,
    json: Json = False,
) -> None:
    """Judge stored messages again by the rules of the configuration, and change the verdicts that come out otherwise.

    Restart the daemon first, so that it judges by the same rules. A run that was interrupted is done again.

    Example: energycomm rules apply --since 2026-01-01
    """
    config = load()
    with open_store(config) as store:
        gateway = Gateway(config, store)
        with judged_by(config, store, config.rules_folder, since, work, processes) as found:
            points = bring_about(store, gateway.writer, found)
            if json:
                told = {"judged": found.judged, "access_points": points, "changes": found.words}
                print_json_list(told, "messages", found.shifts())
                return
            _tell(found, limit, counted(found.changed, "verdict changed", "verdicts changed"))
            say(f"{counted(points, 'access point')} judged from the first message on", err=True)


def _tell(found: Verdicts, limit: int, changed: str) -> None:
    say(f"{counted(found.judged, 'message')} judged again, {changed}", err=True)
    print_rows(("verdicts", "change"), [(number, words) for words, number in found.words.most_common()])
    rows: list[tuple[str, ...]] = [
        (str(one.message_id), one.kind, one.access_point, one.words) for one in islice(found.shifts(), limit)
    ]
    if rows:
        print_rows(("message", "kind", "access point", "change"), rows, "Messages")


@app.command()
@listed
def diff(
    form: Form,
    old: Annotated[
        str, typer.Argument(metavar="A", help="Folder of rules, first digits of a stored version, or a day.")
    ],
    new: Annotated[
        str, typer.Argument(metavar="B", help="Folder of rules, first digits of a stored version, or a day.")
    ],
) -> None:
    """Describe the differences between two versions of the rules.

    Example: energycomm rules diff 3f2a rules/
    """
    config = load()
    with open_store(config) as store:
        zone = ZoneInfo(config.web.zone)
        found = differences(catalogue_named(store, old, zone), catalogue_named(store, new, zone))
    if form.asked:
        head = ("change", "what", "how")
        form.show([dict(zip(head, one, strict=True)) for one in found], head, found)
        return
    if not found:
        say("The rules and code lists are the same.", err=True)
    for change, what, how in found:
        say(f"{change} {what}: {how}")


def _catalogue(folder: Path | None) -> Catalogue:
    place = folder or load().rules_folder
    catalogue, problems = read_catalogue(place)
    if problems:
        _print_problems(place, problems)
        raise typer.Exit(BROKEN)
    return catalogue


def _named(catalogue: Catalogue, code: str) -> tuple[Rule, ...]:
    found = catalogue.find(code)
    if not found:
        close = catalogue.like(code)
        advice = f"Did you mean {', '.join(close)}?" if close else "`energycomm rules list` lists them."
        raise UserError(f"No rule has the code {code}.", advice)
    return found


def _market(catalogue: Catalogue, market: str) -> str:
    return one_of("--market", market, catalogue.markets, "market with rules")


def _print_problems(place: Path, problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        file = place / problem.file if (place / problem.file).exists() else problem.file
        rule = f" rule {problem.rule}:" if problem.rule else ""
        say(f"{file}:{problem.line}:{rule} {problem.reason}. {problem.advice}", err=True)
    say(f"{len(problems)} problem(s); no rule of this folder is used", err=True)
