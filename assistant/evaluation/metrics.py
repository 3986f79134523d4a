"""Measures of rankings and of cited sets."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

CUTS = (1, 3, 5, 10)


def recall_at(ranking: Sequence[str], relevant: Collection[str], cut: int) -> float:
    """Share of the relevant documents among the first `cut`."""
    return len(set(ranking[:cut]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 over the rank of the first relevant document; 0 without one."""
    return next((1.0 / rank for rank, key in enumerate(ranking, start=1) if key in relevant), 0.0)


def average_precision(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Mean of the precisions at the ranks of the relevant documents."""
    hits, total = 0, 0.0
    for rank, key in enumerate(ranking, start=1):
        if key in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant) if relevant else 0.0


def ndcg_at(ranking: Sequence[str], grades: Mapping[str, float], cut: int = 10) -> float:
    """Normalised discounted cumulative gain: gain = grade, discount = log2(rank + 1), as trec_eval has it."""
    gained = sum(grades.get(key, 0.0) / math.log2(rank + 1) for rank, key in enumerate(ranking[:cut], start=1))
    best = sorted(grades.values(), reverse=True)[:cut]
    ideal = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(best, start=1))
    return gained / ideal if ideal else 0.0


def precision_recall(chosen: Collection[str], relevant: Collection[str]) -> tuple[float, float]:
    """Precision and recall of a set; nothing chosen has precision 0, nothing relevant recall 0."""
    right = len(set(chosen) & set(relevant))
    return (right / len(set(chosen)) if chosen else 0.0, right / len(set(relevant)) if relevant else 0.0)


def f1(precision: float, recall: float) -> float:
    """Their harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def ranking_scores(ranking: Sequence[str], grades: Mapping[str, float]) -> dict[str, float]:
    """All measures of one ranking."""
    relevant = set(grades)
    scores = {f"recall@{cut}": recall_at(ranking, relevant, cut) for cut in (*CUTS, 100)}
    scores["MRR"] = reciprocal_rank(ranking, relevant)
    scores["nDCG@10"] = ndcg_at(ranking, grades)
    scores["MAP"] = average_precision(ranking, relevant)
    return scores
