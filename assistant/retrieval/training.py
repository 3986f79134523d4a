"""Fitting the feature ranker: a logistic regression over the candidates of questions whose right passage is known."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from assistant.extras import need
from assistant.retrieval.query import Query
from assistant.retrieval.reranker import FEATURES, FeatureRanker, features
from assistant.retrieval.search import RERANKED, Search


class Judged(Struct, frozen=True, kw_only=True):
    """A question and the keys of the documents that answer it."""

    question: str
    relevant: frozenset[str]


class Fit(Struct, frozen=True, kw_only=True):
    """What was fitted, and the mean reciprocal rank of held-out questions before and after it orders them."""

    weights: dict[str, float]
    before: float
    after: float
    questions: int


def fit(search: Search, judged: Iterable[Judged], seed: int = 7) -> Fit:
    """Fit on two thirds of the questions, measure on the rest.

    Args:
      search: an index of the passages, without a reranker.
      judged: the questions.
      seed: of the split.
    """
    need("sklearn", "numpy")
    import random

    import numpy as np
    from sklearn.linear_model import LogisticRegression

    cases = []
    for item in judged:
        found = search.search(Query(text=item.question, limit=RERANKED, rerank=False))
        right = [hit.passage.document in item.relevant for hit in found]
        if any(right) and not all(right):
            rows = features(item.question, [hit.passage for hit in found], found)
            cases.append((item.question, found, rows, right))
    random.Random(seed).shuffle(cases)  # noqa: S311 - a split, no secret
    held = len(cases) // 3
    x = [[row[name] for name in FEATURES] for _, _, rows, _ in cases[held:] for row in rows]
    y = [label for _, _, _, right in cases[held:] for label in right]
    model = LogisticRegression(max_iter=1000, class_weight="balanced").fit(np.array(x), np.array(y))
    weights = {name: round(float(w), 4) for name, w in zip(FEATURES, model.coef_[0], strict=True)}
    weights["bias"] = round(float(model.intercept_[0]), 4)
    ranker = FeatureRanker(weights)
    before = after = 0.0
    for question, found, _, right in cases[:held]:
        before += 1 / (right.index(True) + 1)
        scores = ranker.scores(question, [hit.passage for hit in found], found)
        ordered = sorted(range(len(found)), key=lambda place: -scores[place])
        after += 1 / ([right[place] for place in ordered].index(True) + 1)
    count = max(1, held)
    return Fit(weights=weights, before=round(before / count, 4), after=round(after / count, 4), questions=len(cases))


def save(fitted: Fit, path: Path, trained_on: str) -> None:
    """Write the weights, with what they were trained on and measured at."""
    content = {
        "trained_on": trained_on,
        "questions": fitted.questions,
        "held_out_mrr": {"fusion": fitted.before, "reranked": fitted.after},
        "weights": fitted.weights,
    }
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
