"""`energycomm message`: Kernel messages listed, shown with all that happened to them, and explained."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from energycomm.commands.language import folders, language, named, told
from energycomm.commands.options import options_of
from energycomm.commands.output import (
    NO_TIME,
    Form,
    Json,
    legal_time,
    listed,
    print_facts,
    print_heading,
    print_json,
    print_rows,
    say,
    say_text,
)
from energycomm.commands.recording import of_message, recorded
from energycomm.config import Config, load
from energycomm.correction.explanation import Explanation, FailedRule, Waiting, explain_ch_message
from energycomm.correction.explanation import explain as explain_message
from energycomm.eis.away import refuse_archived
from energycomm.eis.messages import MessageDetail, list_messages, show_message
from energycomm.eis.predictions import PredictionRecord
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.told_comments import Commented, comment_in
from energycomm.engine.wording import condition_in_words
from energycomm.errors import UserError
from energycomm.kernel.verdicts import Refusal
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_catalogue, open_engine
from energycomm.pipeline.messagesearch import MessageSearch
from energycomm.pipeline.opening import open_store
from energycomm.texts import wording
from energycomm.texts.catalogues import translate

app = typer.Typer(no_args_is_help=True, help="Kernel messages and their verdicts.")


@app.command("list")
@recorded("message list")
@options_of(MessageSearch)
@listed
def list_(
    wanted: MessageSearch,
    form: Form,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue where a former list ended (its `next`).")] = None,
) -> None:
    """List Kernel messages, the newest first unless they are sorted otherwise.

    Example: energycomm message list --state rejected --code FR-R03
    """
    config = load()
    try:
        with open_store(config) as store:
            asked = wanted.filter(
                store.engine,
                lambda: open_catalogue(config.rules_folder),
                installed_adapters(config.mapping_files),
                ZoneInfo(config.web.zone),
            )
            page = list_messages(store.engine, asked, limit=limit, cursor=cursor)
    except ValueError:
        raise UserError(f"{cursor!r} is no cursor of a list.", "Take `next` of the list before.") from None
    times = legal_time()
    form.show(
        page,
        ("id", "type", "kind", "access point", "effective", "state", "codes / waits for"),
        [
            (
                m.id,
                m.type,
                m.kind,
                m.access_point,
                times.when(m.effective, m.market) or NO_TIME,
                m.state,
                m.codes or m.waits_for or "",
            )
            for m in page.messages
        ],
        following=page.next,
    )


@app.command()
@recorded("message show", subject=of_message)
def show(
    message_id: Annotated[int, typer.Argument(metavar="ID", help="Number of the Kernel message.")], json: Json = False
) -> None:
    """Show one Kernel message: origin, content, verdicts and effects.

    Example: energycomm message show 17
    """
    found = _find(message_id)
    if json:
        print_json(found)
    else:
        _print_detail(found, _catalogue(load()))


@app.command()
@recorded("message explain", subject=of_message)
def explain(
    message_id: Annotated[
        str, typer.Argument(metavar="ID", help="Number of a Kernel message, or ch:NUMBER for a refused CH message.")
    ],
    json: Json = False,
) -> None:
    """Explain the state of a message: schema errors, violated rules with the values they read, what it waits for.

    It uses the rules of today and the history before the message in business order.

    Example: energycomm message explain 17
    """
    config = load()
    with open_store(config) as store:
        if message_id.startswith("ch:"):
            found = explain_ch_message(config, store, _number(message_id[3:]))
        else:
            catalogue = open_catalogue(config.rules_folder)
            engine, markets = (
                open_engine(catalogue, config.engine, config.curve_tolerance),
                installed_adapters(config.mapping_files),
            )
            found = explain_message(store, catalogue, engine, markets, _number(message_id))
            if found is None:
                refuse_archived(store.engine, _number(message_id))
    if found is None and message_id.startswith("ch:"):
        raise UserError(f"There is no CH message {message_id[3:]}.", "`energycomm envelope show` lists them.")
    if found is None:
        raise UserError(f"There is no Kernel message {message_id}.", "`energycomm message list` lists them.")
    if json:
        print_json(found)
    else:
        _print_explanation(found, _catalogue(config))


def _catalogue(config: Config) -> Catalogue | None:
    """The rules, whose words what was found is told by; None for English, in which it is kept."""
    return None if language() == "en" else open_catalogue(config.rules_folder)


def _comment(finding: Commented, catalogue: Catalogue | None) -> str:
    return finding.comment if catalogue is None else comment_in(finding, catalogue, language(), folders())


def _print_explanation(found: Explanation, catalogue: Catalogue | None) -> None:
    for refusal in found.schema_errors:
        _print_refusal(refusal)
    for error in found.verdict:
        say(f"{error.error_code} {_comment(error, catalogue)}")
        value = "(absent)" if error.value is None else legal_time().told(error.value, found.market)
        say(f"    rule {error.rule}, field {error.field}, value {value}")
        if not error.still:
            say("    with the rules and the history of today it would not be found")
    if found.waiting is not None:
        _print_waiting(found.waiting)
    if (settled := found.settled) is not None:
        facts = [("settled", settled.at), ("by", settled.by), ("why", settled.why), ("message", settled.message_id)]
        print_facts(facts)
    if found.archived is not None:
        say(found.archived)
    if found.faultless:
        say(_FAULTLESS)
    times = legal_time()
    for rule in found.failed:
        weighed = f"{rule.code} {named(rule.title)} ({rule.outcome}, {rule.severity}"
        print_heading(f"{weighed})" if rule.item is None else f"{weighed}, item {rule.item})")
        say(rule.sentence)
        print_facts([("demands", _demands(rule, catalogue)), ("source", rule.source), ("broke", rule.error)])
        read = times.told(rule.read, found.market)
        print_facts([(f"  {name}", "(absent)" if value is None else value) for name, value in read.items()])
    if found.evidence:
        print_heading("Probable error class")
        evidence = [
            (translate(one.error_class, language(), folders()), told(one.words), one.message_id)
            for one in found.evidence
        ]
        print_rows(("class", "found", "message"), evidence)
    if found.around:
        print_heading("Around it, in business time")
        rows = [
            (
                f"{one.offset:+d}",
                one.id,
                one.kind,
                times.when(one.effective, found.market) or NO_TIME,
                one.state,
                one.reference,
            )
            for one in found.around
        ]
        print_rows(("", "id", "kind", "effective", "state", "reference"), rows)


_FAULTLESS = "Nothing is wrong: the schema holds, no rule is violated, and it waits for nothing."


def _print_waiting(waiting: Waiting) -> None:
    print_facts([("waits for", waiting.what), ("until", waiting.until or "given up")])
    if waiting.misdated:
        print_heading("An error in its date is likelier than a message still to come")
        print_rows(("found", "message"), [(doubt.words, doubt.message_id) for doubt in waiting.doubts])


def _print_refusal(refusal: Refusal) -> None:
    say(f"{refusal.code} {named(wording('at'))} {refusal.path}")
    for name, value in (("found", refusal.value), ("expected", refusal.expected), ("do", refusal.advice)):
        if value:
            say(f"    {name}: {value}")


def _find(number: int) -> MessageDetail:
    with open_store(load()) as store:
        found = show_message(store.engine, number)
        if found is None:
            refuse_archived(store.engine, number)
    if found is None:
        raise UserError(f"There is no Kernel message {number}.", "`energycomm message list` lists them.")
    return found


def _demands(rule: FailedRule, catalogue: Catalogue | None) -> str:
    """What a rule demands, in the reader's words."""
    found = None if catalogue is None else next((one for one in catalogue.rules if one.code == rule.rule), None)
    return rule.demands if found is None else condition_in_words(found, language())


def _print_detail(found: MessageDetail, catalogue: Catalogue | None) -> None:
    summary, origin = found.summary, found.origin
    print_facts(
        [
            ("message", f"{summary.id} ({summary.kind})"),
            ("state", summary.state),
            ("waits for", summary.waits_for),
            ("access point", summary.access_point),
            ("effective", legal_time().when(summary.effective, summary.market) or NO_TIME),
            ("market type", f"{summary.market} {summary.type}"),
            ("received", summary.received_at),
            ("corrects", found.corrects),
            ("injected by", found.injected_by),
        ]
    )
    if origin is not None:
        print_heading("Where it came from")
        print_facts(
            [
                ("envelope", f"{origin.envelope_id} {origin.envelope}"),
                ("member", origin.member),
                ("CH message", f"{origin.ch_message_id} (number {origin.position} of the member)"),
                ("reference", origin.reference),
                ("siblings", [f"{other.id} {other.kind} {other.state};" for other in found.siblings]),
            ]
        )
    if found.particulars:
        print_heading("Particulars of the market")
        print_rows(("name", "value"), list(found.particulars.items()))
    current = [finding for finding in found.findings if finding.current]
    if current:
        print_heading("Why")
        print_rows(
            ("code", "field", "value", "comment"),
            [(f.error_code, f.field, f.value, _comment(f, catalogue)) for f in current],
        )
    if found.predictions:
        print_heading("Predictions of models (they decide nothing)")
        print_rows(("model", "says", "probability", "agrees", "comment"), [_opinion(one) for one in found.predictions])
    print_heading("What happened to it")
    print_rows(
        ("when", "from", "to", "by", "rules", "why"),
        [(c.at, c.before, c.after, c.by, c.rules, c.why) for c in found.changes],
    )
    if found.effects or found.notifications:
        print_heading("Effects")
        rows: list[tuple[object, ...]] = [(effect.table, effect.id) for effect in found.effects]
        rows += [("notification", f"{note.event} ({note.state})") for note in found.notifications]
        print_rows(("table", "row"), rows)
    print_heading("Kernel XML")
    say_text(found.xml)


def _opinion(one: PredictionRecord) -> tuple[object, ...]:
    says = "does not know" if one.abstained else ", ".join(one.codes) or "accepted"
    agrees = None if one.agrees is None else "yes" if one.agrees else "NO"
    return one.model, says, f"{one.probability:.3f}", agrees, one.comment


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"{text!r} is no number of a message.", "`energycomm message list` lists them.") from None
