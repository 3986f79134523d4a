"""The study's table 4.1: every rationale method on a set, with intervals, other units, ERASER's IOU-F1 and bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assistant.evaluation.forms import RationaleItem
from assistant.evaluation.intervals import mean_of
from assistant.evaluation.lessons import lesson
from assistant.evaluation.report import Cell, Report, Table
from assistant.knowledge.embedding import Embedder
from assistant.rationale.choosing import Choice
from assistant.rationale.fitting import Measured, cross_validate, tuned
from assistant.rationale.measures import BINS, hit_at_1, iou, iou_f1, size_bin
from assistant.rationale.port import Rationale
from assistant.rationale.similarity import TOP_1, EmbeddingSimilarity, Hybrid, NGrams

MEASURES = ("IoU characters", "IoU tokens", "IoU count", "IOU-F1 (ERASER)", "hit@1", "chosen")


NOTES = (
    "IoU is the study's (eq. 4.1): length of the intersection over length of the union, the best of several "
    "gold sets; ± is a 95 % Student-t interval. Folds share no question and no context; rules of choice are "
    "tuned on the other folds. IOU-F1 counts spans and is another measure."
)


def evaluate(
    name: str,
    items: Sequence[RationaleItem],
    embedder: Embedder | None,
    *,
    others: Sequence[Rationale] = (),
    across: bool = False,
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
    """
    taught = lesson(name, items)
    results: list[tuple[str, str, Measured]] = []
    untrained: list[Rationale] = [NGrams(), NGrams(high=3)]
    if embedder is not None:
        untrained += [EmbeddingSimilarity(embedder), Hybrid([NGrams(), EmbeddingSimilarity(embedder)])]
    for method in untrained:
        scores = method.score(taught.items)
        results.append((method.name, "top 1", _by(scores, items, TOP_1)))
        results.append((method.name, "tuned by folds", tuned(taught, scores)))
        told(f"{method.name} done")
    for method in others:
        chosen = method.choose(taught.items)
        results.append((method.name, "its own", Measured(scores=method.score(taught.items), chosen=chosen, choices=[])))
        told(f"{method.name} done")
    if embedder is None or not across:
        results.append(("light, words only", "cross-validated", cross_validate(taught, None, "words")))
    if embedder is not None:
        results.append(("light", "cross-validated", cross_validate(taught, embedder, "across" if across else "full")))
    told("light done")
    table = Table(
        title=f"{name}: {len(items)} contexts, {sum(len(item.sentences) for item in items)} sentences",
        keys=("method", "rule"),
        measures=MEASURES,
        rows=tuple(_row(method, rule, items, measured) for method, rule, measured in results),
        plot=("IoU characters",),
    )
    bins = Table(
        title=f"{name}: IoU by number of sentences",
        keys=("method", "rule"),
        measures=tuple(label for label, _, _ in BINS),
        rows=tuple(_bins(method, rule, items, measured) for method, rule, measured in results),
    )
    return Report(
        title=f"Rationales: {name}",
        command=command,
        tables=(table, bins),
        notes=(NOTES,),
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
