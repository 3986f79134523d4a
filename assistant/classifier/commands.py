"""`energycomm assistant classify`, `shadow`, `disagreements`, `drift`, `evaluate classifier`: the second opinion."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistant.classifier.port import NO_OPINION
from energycomm.commands.output import (
    Form,
    Json,
    listed,
    print_facts,
    print_heading,
    print_json,
    print_rows,
    say,
    say_text,
)
from energycomm.commands.recording import recorded
from energycomm.errors import ExitCode, UserError

if TYPE_CHECKING:
    from assistant.classifier.opinion import Adviser, Opinion
    from energycomm.config import Config

Model = Annotated[
    str | None, typer.Option("--model", help="Kind of model, or the folder of one; the best one measured by default.")
]
Market = Annotated[str | None, typer.Option(help="Only of this market: FR.")]


@recorded("assistant classify")
def classify(
    what: Annotated[
        str | None, typer.Argument(metavar="ID|FILE", help="Number of a Kernel message, or a file with Kernel XML.")
    ] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="The messages that were rejected last.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="With --rejected: how many at most.")] = 50,
    model: Model = None,
    json: Json = False,
) -> None:
    """Predict the verdicts of messages with a model; nothing is decided or stored.

    Exit code 1: the model abstains.

    Example: energycomm assistant classify 17
    """
    if (what is None) != rejected:
        raise UserError("Name a message, a file, or --rejected.", "energycomm assistant classify 17", ExitCode.USAGE)
    config, adviser = _adviser(model)
    if what is not None and not what.isdigit():
        opinions = [adviser.of_file(Path(what))]
    else:
        opinions = _of_store(config, adviser, None if what is None else int(what), limit)
    if json:
        print_json(opinions if rejected else opinions[0])
    elif rejected:
        print_rows(
            ("id", "market", "kind", "rules", "model", "probability", "agrees"),
            [
                (o.message_id, o.market, o.kind, o.verdict, _says(o), f"{o.probability:.3f}", _agrees(o))
                for o in opinions
            ],
        )
    else:
        _print_opinion(opinions[0])
    if not rejected and opinions[0].abstained:
        raise typer.Exit(ExitCode.REJECTED)


def shadow(
    once: Annotated[bool, typer.Option("--once", help="Stop when every message has a prediction.")] = False,
    every: Annotated[float, typer.Option(min=1, help="Seconds between two queries of the EIS.")] = 30,
    most: Annotated[int | None, typer.Option(min=1, help="Stop after so many messages.")] = None,
    model: Model = None,
) -> None:
    """Run a model on every message beside the gateway and store its predictions in the EIS; Ctrl-C stops it.

    It is a separate process: the gateway never waits for it.

    Example: energycomm assistant shadow --once
    """
    from assistant.classifier.opinion import shadow as keep_up
    from energycomm.pipeline.opening import open_store

    config, adviser = _adviser(model)
    asked = wrong = 0
    with open_store(config) as store:
        try:
            while True:
                for messages, otherwise in keep_up(store, adviser, most=None if most is None else most - asked):
                    asked, wrong = asked + messages, wrong + otherwise
                    say(f"{asked} messages, {wrong} disagreements", err=True)
                if once or (most is not None and asked >= most):
                    break
                time.sleep(every)
        except KeyboardInterrupt:
            pass
    say(f"{adviser.name}: {asked} messages, {wrong} disagreements")


@recorded("assistant disagreements")
@listed
def disagreements(
    form: Form,
    market: Market = None,
    model: Annotated[str | None, typer.Option(help="Name and version of a model, as in `message show`.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
) -> None:
    """List messages whose verdict differs from a confident prediction: a rule may be missing or wrong.

    The most confident come first. Needs `energycomm assistant shadow`.

    Example: energycomm assistant disagreements --market FR
    """
    from energycomm.config import load
    from energycomm.eis.messages import show_message
    from energycomm.eis.predictions import disagreements as surest
    from energycomm.pipeline.opening import open_store

    with open_store(load()) as store:
        found = surest(store.engine, model=model, market=market.upper() if market else None, limit=form.taken(limit))
        shown = {one.message_id: show_message(store.engine, one.message_id) for one in found}
    rows: list[dict[str, Any]] = []
    for one in found:
        detail = shown[one.message_id]
        assert detail is not None  # a prediction refers to its message
        verdict = ", ".join(sorted({f.error_code for f in detail.findings if f.current and f.severity == "error"}))
        rows.append(
            {
                "message_id": one.message_id,
                "type": f"{detail.summary.market} {detail.summary.type} {detail.summary.kind}",
                "rules": verdict or "accepted",
                "model": ", ".join(one.codes) or "accepted",
                "probability": one.probability,
                "comment": one.comment,
                "by": one.model,
            }
        )
    form.show(
        rows,
        ("id", "type", "rules", "model", "probability", "comment"),
        [(r["message_id"], r["type"], r["rules"], r["model"], f"{r['probability']:.3f}", r["comment"]) for r in rows],
    )


def drift(
    model: Annotated[str | None, typer.Option(help="Name and version of a model.")] = None, json: Json = False
) -> None:
    """Show the agreement of model and rules by time, rule and market; exit code 1 if it fell after a change of rules.

    Needs `energycomm assistant shadow`.

    Example: energycomm assistant drift
    """
    from assistant.classifier.drift import drift as found_drift
    from assistant.classifier.drift import read_pairs
    from energycomm.config import load
    from energycomm.pipeline.gateway import open_catalogue
    from energycomm.pipeline.opening import open_store

    config = load()
    with open_store(config) as store:
        pairs = read_pairs(store, model)
    if not pairs:
        raise UserError("No model has predicted a judged message.", "Run `energycomm assistant shadow --once`.")
    found = found_drift(pairs, open_catalogue(config.rules_folder).version)
    if json:
        print_json(found)
    else:
        _print_drift(found)
    if found.alarms:
        raise typer.Exit(ExitCode.REJECTED)


def classifier(
    data: Annotated[Path | None, typer.Option(help="The data set; the one built last by default.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Kind of model, with the form of its texts (tfidf:raw); may be repeated. All by default."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Messages of each held-out part at most.")] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(help="Instead, a file or folder of market envelopes, judged in a store of its own; repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write the report and its pictures into.")] = None,
    json: Json = False,
) -> None:
    """All models of the verdicts on unseen access points and months, as one table.

    Example: energycomm assistant evaluate classifier
    """
    from assistant.classifier.dataset_commands import chosen
    from assistant.classifier.evaluation import code_table, draw_confusions, evaluate
    from assistant.classifier.measures import by_code
    from assistant.classifier.models import KINDS
    from assistant.classifier.port import read_dataset
    from assistant.classifier.storage import classifier_folder
    from assistant.config import load_config
    from assistant.evaluation.report import write
    from assistant.extras import need

    kinds = model or list(KINDS)
    for kind in kinds:
        if kind.partition(":")[0] not in KINDS:
            raise UserError(f"There is no model {kind!r}.", f"Models: {', '.join(KINDS)}.")
    if samples:
        _print_samples(samples, model or [None], json)
        return
    need("numpy", "scipy", "sklearn", "rouge_score", "sacrebleu")
    file = chosen(data)
    command = " ".join(["energycomm", *sys.argv[1:]])
    report, measured = evaluate(file, classifier_folder(load_config()), kinds, command, _told, sample)
    if json:
        print_json(report)
    else:
        say_text(report.markdown())
    if out is not None:
        points = read_dataset(file, "points")[:sample]
        for path in write(report, out):
            _told(str(path))
        for one in measured:
            codes = code_table(f"{one.model.name}: every code", by_code(points, one.points))
            (out / f"codes-{one.kind.replace(':', '-')}.md").write_text(codes.markdown() + "\n", encoding="utf-8")
            draw_confusions(points, one.points, out / f"confusions-{one.kind.replace(':', '-')}.svg")


def _print_samples(samples: Sequence[Path], models: Sequence[str | None], json: bool) -> None:
    """What models say of the messages of market files, flow by flow, beside the rules."""
    from assistant.classifier.samples import measured, sampled_store

    found = {}
    for model in models:
        config, adviser = _adviser(model)
        with sampled_store(config, samples) as store:
            found[adviser.name] = measured(store, adviser)
    if json:
        print_json(found)
        return
    head = ("flow", "messages", "no opinion", "class right", "codes right", "answered", "answered right")
    for name, flows in found.items():
        print_rows(
            head,
            [
                (
                    one.flow,
                    one.messages,
                    one.no_opinion,
                    one.class_right,
                    one.codes_right,
                    one.answered,
                    one.answered_right,
                )
                for one in flows
            ],
            name,
        )


def _adviser(model: str | None) -> tuple[Config, Adviser]:
    from assistant.classifier.models import KINDS
    from assistant.classifier.opinion import Adviser
    from assistant.classifier.storage import DEFAULT, model_folder
    from assistant.config import load_config
    from assistant.extras import need
    from energycomm.config import load
    from energycomm.market.installed import installed_adapters
    from energycomm.pipeline.gateway import open_catalogue, open_engine

    need("numpy", "scipy")
    config = load()
    kind = model or DEFAULT
    folder = model_folder(load_config(), kind) if kind in KINDS else Path(kind)
    catalogue = open_catalogue(config.rules_folder)
    engine = open_engine(catalogue, config.engine, config.curve_tolerance)
    return config, Adviser(folder, catalogue, engine, installed_adapters(config.mapping_files))


def _of_store(config: Config, adviser: Adviser, number: int | None, limit: int) -> list[Opinion]:
    from assistant.classifier.opinion import rejected_ids
    from energycomm.pipeline.opening import open_store

    with open_store(config) as store:
        found = adviser.opinions(store, rejected_ids(store, limit) if number is None else [number])
    if number is not None and not found:
        raise UserError(f"There is no incoming Kernel message {number}.", "`energycomm message list` lists them.")
    return found


def _says(one: Opinion) -> str:
    if one.klass == NO_OPINION:
        return NO_OPINION
    return "does not know" if one.abstained else one.error_code or "accepted"


def _agrees(one: Opinion) -> str:
    return "" if one.agrees is None else "yes" if one.agrees else "NO"


def _print_opinion(one: Opinion) -> None:
    print_facts(
        [
            ("message", f"{one.message_id or 'of the file'} ({one.market} {one.kind})"),
            ("model", one.model),
            ("says", _says(one)),
            ("would say", one.error_code or "accepted" if one.abstained and one.klass != NO_OPINION else None),
            ("comment", one.comment),
            ("probability", f"{one.probability:.3f}"),
            ("rules said", one.verdict),
            ("agrees", _agrees(one)),
        ]
    )
    print_heading("What it read")
    say_text(one.text)


def _print_drift(found: Any) -> None:
    print_facts(
        [
            ("rules of today", found.rules),
            *((f"model {name}", f"learned from {learned}") for name, learned in found.models.items()),
            ("outdated", list(found.outdated) or None),
        ]
    )
    for title, shares in (
        ("By week", found.weeks),
        ("By market", found.markets),
        ("By rule, the worst first", found.codes),
    ):
        print_heading(title)
        rows = [(s.group, s.messages, f"{s.agreed:.3f}", f"{s.abstained:.3f}") for s in shares]
        print_rows(("what", "messages", "agreed", "abstained"), rows, aligned=True)
    if found.alarms:
        print_heading("Alarm: rules moved and the model did not")
        print_rows(
            ("model", "what", "since rules", "agreed before", "after", "messages"),
            [
                (a.model, a.what, a.rules, f"{a.before:.3f}", f"{a.after:.3f}", f"{a.messages[0]}, {a.messages[1]}")
                for a in found.alarms
            ],
            aligned=True,
        )


def _told(line: str) -> None:
    say(line, err=True)
