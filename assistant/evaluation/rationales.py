"""The study's table 4.1: every rationale method on a set, with intervals, other units, ERASER's IOU-F1 and bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from assistant.evaluation.forms import RationaleItem
from assistant.evaluation.intervals import mean_of
from assistant.evaluation.report import Cell, Report, Table
from assistant.evaluation.training_sets import lesson
from assistant.knowledge.embedding import Embedder
from assistant.rationale.attention import AttentionRationale, Head
from assistant.rationale.choosing import Choice
from assistant.rationale.fitting import Lesson, Measured, cross_validate, tuned
from assistant.rationale.folds import folds_of
from assistant.rationale.measures import BINS, hit_at_1, iou, iou_f1, size_bin
from assistant.rationale.port import Rationale
from assistant.rationale.similarity import TOP_1, EmbeddingSimilarity, Hybrid, NGrams, mixed

MEASURES = ("IoU characters", "IoU tokens", "IoU count", "IOU-F1 (ERASER)", "hit@1", "chosen")


NOTES = (
    "IoU is the study's (eq. 4.1): length of the intersection over length of the union, the best of several "
    "gold sets; ± is a 95 % Student-t interval. Folds share no question and no context; rules of choice are "
    "tuned on the other folds. IOU-F1 counts spans and is another measure."
)


class Scored(Rationale, Protocol):
    """A method that chooses sentences from its scores by one rule."""

    choice: Choice


def evaluate(
    name: str,
    items: Sequence[RationaleItem],
    embedder: Embedder | None,
    *,
    others: Sequence[Scored] = (),
    across: bool = False,
    fold: int | None = None,
    sweep: int = 0,
    command: str = "",
    told: Callable[[str], None] = lambda line: None,
) -> Report:
    """Every method on one set: untrained ones with top 1 and with a tuned rule, the light model by folds.

    Args:
      name: of the set.
      items: contexts with gold rationales.
      embedder: for embedding similarity and the light model; None leaves them out.
      others: further methods, already trained or needing no training (classifier, attention), as they are.
      across: whether questions and sentences are in different languages.
      fold: only the contexts of this fold are measured; the others are learnt from and tuned on.
      sweep: contexts of the other folds on which the layer, head and rule of attention are chosen; 0 leaves them.
    """
    taught = lesson(name, items)
    place = folds_of(taught.items)
    inside = [number for number in range(len(items)) if fold is None or place[number] == fold]
    shown = [items[number] for number in inside]
    untrained = _untrained(taught, embedder, told)
    results: list[tuple[str, str, Measured]] = []
    for plain, scores in untrained.items():
        results.append((plain, "top 1", _by(scores, items, TOP_1)))
        results.append((plain, "tuned by folds", tuned(taught, scores)))
    if embedder is None or not across:
        results.append(("light, words only", "cross-validated", cross_validate(taught, None, "words")))
    if embedder is not None:
        results.append(("light", "cross-validated", cross_validate(taught, embedder, "across" if across else "full")))
    told("light done")
    results = [(named, rule, _part(measured, inside)) for named, rule, measured in results]
    swept: list[Table] = []
    votes = [
        [scores[number] for number in inside]
        for plain, scores in untrained.items()
        if plain == NGrams().name or plain.startswith("embedding")
    ]
    for method in others:
        if sweep and isinstance(method, AttentionRationale):
            swept.append(_swept(method, [i for i, own in zip(items, place, strict=True) if own != fold], sweep))
        scores = method.score([item.asked for item in shown])
        results.append((method.name, "its own", _by(scores, shown, method.choice)))
        votes.append(scores)
        told(f"{method.name} done")
    if others:
        results.append(("hybrid of n-grams, embedding and the others", "top 1", _by(mixed(votes), shown, TOP_1)))
    part = "" if fold is None else f", fold {fold}"
    return Report(
        title=f"Rationales: {name}{part}",
        command=command,
        tables=(*_tables(f"{name}{part}", shown, results), *swept),
        notes=(NOTES,),
    )


def _untrained(taught: Lesson, embedder: Embedder | None, told: Callable[[str], None]) -> dict[str, list[list[float]]]:
    """The scores of the methods that learn nothing, by their names."""
    methods: list[Rationale] = [NGrams(), NGrams(high=3)]
    if embedder is not None:
        methods += [EmbeddingSimilarity(embedder), Hybrid([NGrams(), EmbeddingSimilarity(embedder)])]
    found = {}
    for method in methods:
        found[method.name] = method.score(taught.items)
        told(f"{method.name} done")
    return found


def _tables(name: str, items: Sequence[RationaleItem], results: Sequence[tuple[str, str, Measured]]) -> list[Table]:
    sentences = sum(len(item.sentences) for item in items)
    return [
        Table(
            title=f"{name}: {len(items)} contexts, {sentences} sentences",
            keys=("method", "rule"),
            measures=MEASURES,
            rows=tuple(_row(method, rule, items, measured) for method, rule, measured in results),
            plot=("IoU characters",),
        ),
        Table(
            title=f"{name}: IoU by number of sentences",
            keys=("method", "rule"),
            measures=tuple(label for label, _, _ in BINS),
            rows=tuple(_bins(method, rule, items, measured) for method, rule, measured in results),
        ),
    ]


def _swept(method: AttentionRationale, items: Sequence[RationaleItem], count: int) -> Table:
    """Choose layer, head and rule on some contexts; the best ones, the means of layers and of all as a table."""
    some = items[:: max(len(items) // count, 1)][:count]
    found = method.sweep([item.asked for item in some], [item.gold_sets for item in some])
    method.look_at(*found[0][:2])
    shown = found[:8] + [row for row in found[8:] if row[0].head is None][:3]
    shown += [row for row in found if row[0] == Head() and row not in shown]
    return Table(
        title=f"{method.family}: layers and heads, on {len(some)} contexts of the other folds",
        keys=("layer", "head", "rule"),
        measures=("IoU characters",),
        rows=tuple(
            {
                "layer": "mean of all" if head.layer is None else head.layer,
                "head": "mean of all" if head.head is None else head.head,
                "rule": choice.rule.replace("_", " ") + f" {choice.k or round(choice.threshold, 2)}",
                "IoU characters": value,
            }
            for head, choice, value in shown
        ),
    )


def _part(measured: Measured, inside: Sequence[int]) -> Measured:
    return Measured(
        scores=[measured.scores[number] for number in inside],
        chosen=[measured.chosen[number] for number in inside],
        choices=measured.choices,
    )


def _by(scores: list[list[float]], items: Sequence[RationaleItem], choice: Choice) -> Measured:
    chosen = [choice(row, [len(s) for s in item.sentences]) for row, item in zip(scores, items, strict=True)]
    return Measured(scores=scores, chosen=chosen, choices=[choice])


def _row(method: str, rule: str, items: Sequence[RationaleItem], measured: Measured) -> dict[str, Cell]:
    pairs = list(zip(measured.chosen, items, strict=True))
    return {
        "method": method,
        "rule": rule,
        "IoU characters": mean_of([iou(chosen, item.gold_sets, item.sentences) for chosen, item in pairs]),
        "IoU tokens": mean_of([iou(chosen, item.gold_sets, item.sentences, "tokens") for chosen, item in pairs]),
        "IoU count": mean_of([iou(chosen, item.gold_sets, item.sentences, "sentences") for chosen, item in pairs]),
        "IOU-F1 (ERASER)": iou_f1(
            measured.chosen, [item.gold_sets for item in items], [item.sentences for item in items]
        ),
        "hit@1": mean_of(
            [hit_at_1(scores, item.gold_sets) for scores, item in zip(measured.scores, items, strict=True)]
        ),
        "chosen": round(sum(len(chosen) for chosen in measured.chosen) / max(len(items), 1), 2),
    }


def _bins(method: str, rule: str, items: Sequence[RationaleItem], measured: Measured) -> dict[str, Cell]:
    values: dict[str, list[float]] = {label: [] for label, _, _ in BINS}
    for chosen, item in zip(measured.chosen, items, strict=True):
        values[size_bin(len(item.sentences))].append(iou(chosen, item.gold_sets, item.sentences))
    row: dict[str, Cell] = {"method": method, "rule": rule}
    row.update({label: mean_of(found) if found else None for label, found in values.items()})
    return row
