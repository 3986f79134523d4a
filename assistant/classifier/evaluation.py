"""The table of all models: every measure on access points and months that none of them has seen."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from assistant.classifier.calibration import risk_coverage
from assistant.classifier.comments import Comments
from assistant.classifier.measures import (
    MEASURES,
    CodeScore,
    by_code,
    confusions,
    grouped,
    length_range,
    scores,
)
from assistant.classifier.models import fit_model, open_model
from assistant.classifier.port import (
    FORMS,
    Card,
    Example,
    Form,
    Prediction,
    Predictor,
    dataset_hash,
    read_card,
    read_dataset,
    without_opinion,
)
from assistant.classifier.robustness import shortened, shuffled, without_history
from assistant.classifier.storage import read_model
from assistant.evaluation.report import Curve, Report, Table
from energycomm.errors import UserError

SPOILT = (
    ("fields in another order", shuffled),
    ("history missing", without_history),
    ("second half missing", shortened),
)
WORST = 15
"""Codes and confusions that are shown."""
CHEAP = ("majority", "tfidf")
"""Models that are fitted when they are not there, because it takes seconds."""


class Measured(Struct, frozen=True):
    """One model with what it said of the two kept parts.

    Attributes:
      kind: which model.
      model: the model.
      points, months: what it said of unseen access points, and of unseen months.
      speed: messages a second.
      memory: largest memory of the process after it, MB.
      seconds: its training took.
    """

    kind: str
    model: Predictor
    points: list[Prediction]
    months: list[Prediction]
    speed: float
    memory: float
    seconds: float


def evaluate(
    dataset: Path,
    folder: Path,
    kinds: Sequence[str],
    command: str,
    told: Callable[[str], None] = lambda _: None,
    sample: int | None = None,
) -> tuple[Report, list[Measured]]:
    """Measure models on the kept parts of a data set.

    Args:
      dataset: the data set.
      folder: of the trained models, one folder each.
      kinds: which models; cheap ones are fitted when they are not there or were fitted to another data set.
      command: how to get the report again.
      told: is told what is being done.
      sample: messages of each part at most; their order in the data set is one by hash.
    """
    card = read_card(dataset)
    points, months = read_dataset(dataset, "points")[:sample], read_dataset(dataset, "months")[:sample]
    comments = Comments(card.comments)
    measured = []
    for kind in kinds:
        opened = opened_model(kind, dataset, folder, told)
        if opened is not None:
            measured.append(_measured(kind, *opened, points, months, card.flows))
            told(f"{kind}: {measured[-1].speed:.0f} messages a second")
    tables = [_main(measured, points, months, comments)]
    best = max(measured, key=lambda one: _share(points, one.points), default=None)
    if best is not None:
        tables += _slices(best, points, comments)
        tables += _doubts(measured, points, comments, card.flows)
        tables += _held_out(measured, points, card)
    curves = tuple(_curve(one, points) for one in measured if one.kind != "majority")
    return Report(title="Models of the verdicts", command=command, tables=tuple(tables), curves=curves), measured


def opened_model(kind: str, dataset: Path, folder: Path, told: Callable[[str], None]) -> tuple[Predictor, float] | None:
    """A trained model and the seconds of its training; cheap ones are fitted now; None for what has to be trained."""
    name, _, form = kind.partition(":")
    place = folder / kind.replace(":", "-")
    known = read_model(place) if (place / "model.json").is_file() else {}
    fitting = known.get("data") == dataset_hash(dataset)
    if not fitting and name in CHEAP:
        told(f"{kind}: fitted now")
        fit_model(name, dataset, place, form=form_of(form))
    elif not known:
        told(f"{kind}: not trained (`energycomm assistant train --model {kind}`)")
        return None
    elif not fitting:
        told(f"{kind}: trained on another data set than {dataset}")
    unlearned = read_model(place).get("unlearned")
    if unlearned:
        told(f"{kind}: its time was too short for {len(unlearned)} codes, which it never says")
    return open_model(place), float(read_model(place).get("seconds", 0.0))


def form_of(word: str) -> Form:
    """The form that a word names; `facts` when it is empty.

    Raises:
      UserError: there is no such form.
    """
    if word not in ("", *FORMS):
        raise UserError(f"There is no form {word!r} of a text.", f"Forms: {', '.join(FORMS)}.")
    return cast(Form, word or "facts")


def _measured(
    kind: str,
    model: Predictor,
    seconds: float,
    points: Sequence[Example],
    months: Sequence[Example],
    flows: Mapping[str, int],
) -> Measured:
    model.predict([one.text(model.form) for one in points[:8]])  # what is loaded late is loaded now
    begun = time.perf_counter()
    said = model.predict([one.text(model.form) for one in points])
    speed = len(points) / max(time.perf_counter() - begun, 1e-9)
    later = model.predict([one.text(model.form) for one in months])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
    said, later = without_opinion(said, points, flows), without_opinion(later, months, flows)
    return Measured(kind, model, said, later, speed, memory, seconds)


def _main(
    measured: Sequence[Measured], points: Sequence[Example], months: Sequence[Example], comments: Comments
) -> Table:
    rows: list[dict[str, Any]] = []
    for one in measured:
        cost = {"messages/s": round(one.speed), "MB": round(one.memory), "training s": round(one.seconds)}
        rows.append(
            {"model": one.model.name, "on": "access points", **scores(points, one.points, comments).row(), **cost}
        )
        if months:
            rows.append({"model": one.model.name, "on": "months", **scores(months, one.months, comments).row()})
    measures = (*MEASURES, "messages/s", "MB", "training s")
    title = "Access points, and months, that no model has seen"
    return Table(title=title, keys=("model", "on"), measures=measures, rows=tuple(rows), plot=("A_error exact",))


def _slices(best: Measured, points: Sequence[Example], comments: Comments) -> list[Table]:
    """The best model by market, origin, number of codes and length of the history, and its worst codes."""
    keys: tuple[tuple[str, Callable[[Example], str]], ...] = (
        ("market", lambda one: one.market),
        ("origin", lambda one: f"{one.origin}, {one.klass}"),
        ("codes of the message", lambda one: str(min(len(one.codes), 3))),
        ("messages before", length_range),
    )
    tables = []
    for name, key in keys:
        rows: list[dict[str, Any]] = []
        for value, numbers in grouped(points, key).items():
            part = [points[n] for n in numbers]
            rows.append({name: value, **scores(part, [best.points[n] for n in numbers], comments).row()})
        title = f"{best.model.name} by {name}"
        tables.append(Table(title=title, keys=(name,), measures=MEASURES, rows=tuple(rows)))
    worst = by_code(points, best.points)[:WORST]
    tables.append(code_table(f"{best.model.name}: its weakest codes", worst))
    missed = confusions(points, best.points).most_common(WORST)
    taken: list[dict[str, Any]] = [{"verdict": label, "said": said, "times": times} for (label, said), times in missed]
    title = f"{best.model.name}: what it takes for what"
    return [*tables, Table(title=title, keys=("verdict", "said"), measures=("times",), rows=tuple(taken))]


def code_table(title: str, found: Sequence[CodeScore]) -> Table:
    """Codes with their precision and recall."""
    rows: list[dict[str, Any]] = [
        {"code": one.code, "messages": one.messages, "precision": one.precision, "recall": one.recall} for one in found
    ]
    return Table(title=title, keys=("code",), measures=("messages", "precision", "recall"), rows=tuple(rows))


def _doubts(
    measured: Sequence[Measured], points: Sequence[Example], comments: Comments, flows: Mapping[str, int]
) -> list[Table]:
    """Every model on texts with something wrong with them."""
    rows: list[dict[str, Any]] = []
    sample = list(points)[:1000]
    for one in measured:
        if one.kind == "majority":
            continue
        texts = [example.text(one.model.form) for example in sample]
        rows.append(
            {"model": one.model.name, "texts": "as they are", **scores(sample, one.points[:1000], comments).row()}
        )
        for name, change in SPOILT:
            said = without_opinion(one.model.predict([change(text) for text in texts]), sample, flows)
            rows.append({"model": one.model.name, "texts": name, **scores(sample, said, comments).row()})
    measures = ("A_class", "A_error exact", "coverage", "A_error answered")
    title = "Texts with something wrong with them"
    return [Table(title=title, keys=("model", "texts"), measures=measures, rows=tuple(rows))]


def _held_out(measured: Sequence[Measured], points: Sequence[Example], card: Card) -> list[Table]:
    """What models make of messages whose rule they were never told of."""
    codes = set(card.made.get("held_out", ()))
    numbers = [n for n, one in enumerate(points) if codes & set(one.codes)]
    if not numbers:
        return []
    rows: list[dict[str, Any]] = []
    for one in measured:
        said = [one.points[n] for n in numbers]
        rest = [set(points[n].codes) - codes for n in numbers]
        rows.append(
            {
                "model": one.model.name,
                "messages": len(numbers),
                "abstained": sum(p.abstained for p in said) / len(said),
                "refused": sum(bool(p.codes) for p in said) / len(said),
                "the other codes right": sum(set(p.codes) == r for p, r in zip(said, rest, strict=True)) / len(said),
            }
        )
    measures = ("messages", "abstained", "refused", "the other codes right")
    title = f"Messages that break a rule unknown to the models ({', '.join(sorted(codes))})"
    return [Table(title=title, keys=("model",), measures=measures, rows=tuple(rows))]


def _curve(one: Measured, points: Sequence[Example]) -> Curve:
    right = [example.codes == said.codes for example, said in zip(points, one.points, strict=True)]
    found = risk_coverage([said.probability for said in one.points], right)
    step = max(1, len(found) // 200)
    line = tuple((point.coverage, point.risk) for point in found[::step])
    return Curve(title=f"{one.model.name}: wrong answers among those given", x="coverage", y="risk", points=line)


def _share(examples: Sequence[Example], said: Sequence[Prediction]) -> float:
    return sum(e.codes == p.codes for e, p in zip(examples, said, strict=True)) / max(1, len(examples))


def draw_confusions(examples: Sequence[Example], said: Sequence[Prediction], path: Path, most: int = 30) -> None:
    """A picture of what is taken for what: the labels with most mistakes, and what was said of them.

    Args:
      examples: messages.
      said: of each.
      path: where to write, SVG.
      most: labels at most.
    """
    from matplotlib.figure import Figure

    missed = confusions(examples, said)
    names: dict[str, int] = {}
    for (label, other), times in missed.items():
        names[label] = names.get(label, 0) + times
        names[other] = names.get(other, 0) + times
    labels = sorted(sorted(names, key=lambda name: -names[name])[:most])
    at = {name: number for number, name in enumerate(labels)}
    cells = [[0] * len(labels) for _ in labels]
    for example, one in zip(examples, said, strict=True):
        label, other = example.label, ", ".join(one.codes) or "accepted"
        if label in at and other in at:
            cells[at[label]][at[other]] += 1
    figure = Figure(figsize=(0.32 * len(labels) + 3, 0.32 * len(labels) + 3))
    axes = figure.subplots()
    axes.imshow([[cell**0.5 for cell in row] for row in cells], cmap="Blues")
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            if cell:
                axes.text(x, y, str(cell), ha="center", va="center", fontsize=6, color="red" if x != y else "black")
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=6)
    axes.set_yticks(range(len(labels)), labels, fontsize=6)
    axes.set(xlabel="said", ylabel="verdict", title="Confusions: the labels with most mistakes")
    figure.savefig(path, bbox_inches="tight")
