"""Choosing the rule of choice on validation data: the sweep of thresholds and of k that the study makes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from assistant.rationale.choosing import Choice
from assistant.rationale.measures import GoldSets, Unit, iou
from assistant.rationale.port import Question

TOP_KS = (1, 2, 3, 5)


def candidates(scores: Sequence[Sequence[float]], *, fallback: bool = True, steps: int = 40) -> list[Choice]:
    """The rules worth trying: thresholds at the quantiles of the scores, alone and with a limit, and the k best."""
    values = sorted(score for row in scores for score in row)
    if not values:
        return [Choice(rule="top_k", k=1, threshold=0.0)]
    marks = sorted({values[round(i * (len(values) - 1) / steps)] for i in range(steps // 3, steps)})
    marks += [value for value in (0.05 * i for i in range(2, 20)) if values[0] < value < values[-1]]
    rules = [Choice(rule="top_k", k=k, threshold=0.0) for k in TOP_KS]
    rules += [Choice(rule="threshold", threshold=mark, k=k, fallback=fallback) for mark in marks for k in (0, 2, 3)]
    if values[0] >= 0 and values[-1] <= 1:
        rules += [Choice(rule="expected_iou", k=k) for k in (0, 3)]
    return rules


def best_choice(
    scores: Sequence[Sequence[float]],
    items: Sequence[Question],
    golds: Sequence[GoldSets],
    *,
    rules: Sequence[Choice] | None = None,
    unit: Unit = "characters",
) -> tuple[Choice, float]:
    """The rule with the highest mean IoU on these items, and that mean.

    Args:
      scores: the method's scores on the validation items.
      rules: what is tried; `candidates(scores)` when None.
    """
    lengths = [[len(sentence) for sentence in item.sentences] for item in items]

    def value(rule: Choice) -> float:
        return mean(
            iou(rule(row, sizes), gold, item.sentences, unit)
            for row, sizes, gold, item in zip(scores, lengths, golds, items, strict=True)
        )

    tried = list(rules or candidates(scores))
    values = [value(rule) for rule in tried]
    # Of equal ones the first: the simpler rule.
    best = max(range(len(tried)), key=lambda number: (values[number], -number))
    return tried[best], values[best]
