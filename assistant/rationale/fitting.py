"""Fitting the light model, and measuring it by cross-validation in which no text is on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from assistant.extras import need
from assistant.knowledge.embedding import Embedder
from assistant.rationale import features
from assistant.rationale.choosing import Choice
from assistant.rationale.folds import FOLDS, folds_of
from assistant.rationale.light import FORMAT, Card, Light, Pair, Variant
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.trees import Forest, Linear
from assistant.rationale.tuning import best_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

TREES = {
    "max_iter": 200,
    "learning_rate": 0.05,
    "max_leaf_nodes": 12,
    "min_samples_leaf": 20,
    "l2_regularization": 5.0,
    "max_features": 0.3,
    "random_state": 0,
}
"""Chosen on two folds of SciFact and QED; nothing here is sensitive."""

REGULARISATION = 0.05


class Lesson(Struct, frozen=True, kw_only=True):
    """A set to learn from.

    Attributes:
      name: as the card names it.
      items, golds: contexts and their gold sets; no gold set means that no sentence carries the answer.
      weight: weight of all its sentences together, beside other sets.
    """

    name: str
    items: Sequence[Question]
    golds: Sequence[GoldSets]
    weight: float = 1.0


class Measured(Struct, frozen=True, kw_only=True):
    """What cross-validation gave for every item, in the order of the items.

    Attributes:
      scores: probabilities by a model that saw neither the item's question nor its context.
      chosen: sentences chosen by the rule that was best on the other folds.
    """

    scores: list[list[float]]
    chosen: list[tuple[int, ...]]
    choices: list[Choice]


def fit_pair(rows: Matrix, labels: NDArray[np.int64], weights: NDArray[np.float64], columns: tuple[str, ...]) -> Pair:
    """Both models on the same rows, as plain arrays."""
    need("sklearn")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(rows, sample_weight=weights)
    linear = LogisticRegression(C=REGULARISATION, max_iter=400)
    linear.fit(scaler.transform(rows), labels, sample_weight=weights)
    trees: Any = HistGradientBoostingClassifier(**TREES).fit(rows, labels, sample_weight=weights)
    return Pair(
        columns=columns,
        forest=Forest.from_fitted(trees),
        linear=Linear(
            mean=np.asarray(scaler.mean_, np.float32),
            scale=np.asarray(scaler.scale_, np.float32),
            weights=np.asarray(linear.coef_[0], np.float32),
            intercept=float(linear.intercept_[0]),
        ),
    )


def fit_variant(lessons: Sequence[Lesson], embedder: Embedder | None, variant: Variant) -> Pair:
    """One of the three models, on all lessons."""
    lexical, vectors = variant != "across", embedder if variant != "words" else None
    parts, labels, weights = [], [], []
    for lesson in lessons:
        rows = np.concatenate(features.matrix(lesson.items, vectors, lexical=lexical))
        truth = np.concatenate([_labels(item, gold) for item, gold in zip(lesson.items, lesson.golds, strict=True)])
        parts.append(rows)
        labels.append(truth)
        weights.append(np.full(len(rows), lesson.weight / len(rows)))
    weight = np.concatenate(weights)
    # The mean weight is 1, so that regularisation means the same for any number of sets.
    weight *= len(weight) / weight.sum()
    columns = features.names(lexical=lexical, embedded=variant != "words")
    return fit_pair(np.concatenate(parts), np.concatenate(labels), weight, columns)


def fit(
    lessons: Sequence[Lesson], across: Sequence[Lesson], embedder: Embedder, choice: Choice, card: dict[str, Any]
) -> Light:
    """The whole model.

    Args:
      lessons: sets whose questions are in the language of their sentences.
      across: sets for the model across languages.
      embedder: the embedder that it will be used with.
      choice: the rule of choice, from `cross_validate`.
      card: further fields of the card: trained_on, measured, licence.
    """
    models: dict[Variant, Pair] = {
        "full": fit_variant(lessons, embedder, "full"),
        "words": fit_variant(lessons, None, "words"),
        "across": fit_variant(across, embedder, "across"),
    }
    return Light(Card(format=FORMAT, embedder=embedder.name, choice=choice, **card), models, embedder)


def cross_validate(
    lesson: Lesson, embedder: Embedder | None, variant: Variant = "full", *, folds: int = FOLDS, seed: int = 0
) -> Measured:
    """Scores and choices for every item of a set, by models and rules that did not see it.

    Items that share a question, an answer or a sentence of context are in one fold. The rule of choice is tuned on the
    scores of the other folds, which are themselves out of fold.
    """
    items, golds = lesson.items, lesson.golds
    place = folds_of(items, folds, seed)
    rows = features.matrix(items, embedder if variant != "words" else None, lexical=variant != "across")
    truth = [_labels(item, gold) for item, gold in zip(items, golds, strict=True)]
    columns = features.names(lexical=variant != "across", embedded=variant != "words")
    scores: list[list[float]] = [[] for _ in items]
    for fold in range(folds):
        inside = [number for number in range(len(items)) if place[number] != fold]
        outside = [number for number in range(len(items)) if place[number] == fold]
        if not outside:
            continue
        taught = np.concatenate([rows[number] for number in inside])
        pair = fit_pair(taught, np.concatenate([truth[n] for n in inside]), np.ones(len(taught)), columns)
        for number in outside:
            scores[number] = [float(value) for value in pair.probabilities(rows[number])]
    return _choose(items, golds, scores, place, folds)


def _choose(
    items: Sequence[Question], golds: Sequence[GoldSets], scores: list[list[float]], place: list[int], folds: int
) -> Measured:
    chosen: list[tuple[int, ...]] = [() for _ in items]
    choices = []
    for fold in range(folds):
        inside = [number for number in range(len(items)) if place[number] != fold]
        choice, _ = best_choice([scores[n] for n in inside], [items[n] for n in inside], [golds[n] for n in inside])
        choices.append(choice)
        for number in range(len(items)):
            if place[number] == fold:
                chosen[number] = choice(scores[number], [len(sentence) for sentence in items[number].sentences])
    return Measured(scores=scores, chosen=chosen, choices=choices)


def tuned(lesson: Lesson, scores: list[list[float]], *, folds: int = FOLDS, seed: int = 0) -> Measured:
    """The same for a method that is not fitted: only its rule of choice is, on the other folds."""
    return _choose(lesson.items, lesson.golds, scores, folds_of(lesson.items, folds, seed), folds)


def _labels(item: Question, gold: GoldSets) -> NDArray[np.int64]:
    marked = frozenset().union(*gold) if gold else frozenset()
    return np.array([int(index in marked) for index in range(len(item.sentences))], dtype=np.int64)
