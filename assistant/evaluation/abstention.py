"""Knowing when not to answer: precision and recall of refusals, the risk-coverage curve, and fitting the confidence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistant.chat import confidence as confidence_
from assistant.chat.assistant import Assistant, rests_on
from assistant.evaluation.forms import TestQuestion
from assistant.evaluation.metrics import f1
from assistant.evaluation.report import Cell, Curve, Report, Table
from assistant.evaluation.scoring import Outcome
from assistant.extras import need
from assistant.knowledge.language import detect
from assistant.retrieval.asking import Asked

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
FITTED = ("coverage", "rarest", "named", "dense", "support", "foreign")
"""Features whose weights are fitted."""

BY_HAND = ("code", "fit", "unfit")
"""Those that occur too seldom in questions to be learned, and stay."""

SPOKEN = "language "
"""Before a language's code among the features: 1 for questions in it."""

LEAST_OF_LANGUAGE = 20
"""Development questions in a language for a constant of its own, which the one with most of them lacks; and
unanswerable ones for a threshold of its own."""

SCALE = {"dense": 30.0}
"""Cosines lie within a narrow band: without a scale regularisation would switch them off."""


def refusals(outcomes: Sequence[Outcome], threshold: float | None = None) -> dict[str, Cell]:
    """How well refusing goes: a refusal is right where the sources do not say.

    Args:
      threshold: confidence below which it would refuse; the outcomes' own refusals when None. Scoring at another
        threshold needs outcomes asked with threshold 0.
    """
    refused = [o.refused if threshold is None else o.refused or o.confidence < threshold for o in outcomes]
    wanted = [o.kind == "unanswerable" for o in outcomes]
    both = sum(a and b for a, b in zip(refused, wanted, strict=True))
    precision = both / sum(refused) if any(refused) else 0.0
    recall = both / sum(wanted) if any(wanted) else 0.0
    answered = [o for o, no in zip(outcomes, refused, strict=True) if not no]
    return {
        "refusal precision": precision,
        "refusal recall": recall,
        "refusal F1": f1(precision, recall),
        "coverage": len(answered) / max(len(outcomes), 1),
        "risk": 1 - sum(o.right for o in answered) / len(answered) if answered else 0.0,
        "accuracy, answered and answerable": (
            sum(o.right for o in answered if o.kind != "unanswerable")
            / max(sum(o.kind != "unanswerable" for o in answered), 1)
        ),
    }


def risk_coverage(outcomes: Sequence[Outcome]) -> list[tuple[float, float]]:
    """Coverage and risk (share of wrong answers) as answers are given in the order of their confidence.

    An answer to an unanswerable question is wrong, whatever it says.
    """
    order = sorted(outcomes, key=lambda o: -o.confidence)
    points, wrong = [], 0
    for count, outcome in enumerate(order, start=1):
        wrong += not outcome.right
        points.append((count / len(order), wrong / count))
    return points


def area(points: Sequence[tuple[float, float]]) -> float:
    """Area under the risk-coverage curve: the mean risk over all coverages; less is better."""
    return sum(risk for _, risk in points) / len(points) if points else 0.0


def evaluate(outcomes: Sequence[Outcome], command: str = "") -> Report:
    """Tables and curves of outcomes that were asked with threshold 0."""
    measures = tuple(refusals(outcomes[:1], 0.5))
    rows: list[dict[str, Cell]] = []
    curves = []
    for language in sorted({o.language for o in outcomes}):
        part = [o for o in outcomes if o.language == language]
        rows += [{"language": language, "threshold": t, **refusals(part, t)} for t in THRESHOLDS]
        points = risk_coverage(part)
        curves.append(
            Curve(
                title=f"Risk over coverage, {language} (area {area(points):.3f})", x="coverage", y="risk",
                points=tuple(points),
            )
        )  # fmt: skip
    table = Table(title="Refusals by threshold", keys=("language", "threshold"), measures=measures, rows=tuple(rows))
    return Report(title="Abstention", command=command, tables=(table,), curves=tuple(curves))


def feature_rows(assistant: Assistant, questions: Sequence[TestQuestion]) -> list[dict[str, float]]:
    """What the confidence sees of each question."""
    rows = []
    centre = confidence_.shipped().dense_centre
    for question in questions:
        text = question.question
        language = detect(text) or "en"
        asked = Asked(text, language, assistant.index.bm25, assistant.index.lexicon)
        evidence, found, _ = assistant.read(asked, assistant.search(text))
        seen = confidence_.features(*rests_on(asked, found, evidence), centre)
        rows.append({**seen, f"{SPOKEN}{language}": 1.0})
    return rows


def fit(rows: Sequence[dict[str, float]], answerable: Sequence[bool], most_wrong: float = 0.1) -> dict[str, Any]:
    """Fit the confidence's weights and its threshold on development questions.

    Args:
      rows: features of every question, and its language, as `feature_rows` gives them.
      answerable: whether the sources answer it.
      most_wrong: largest share of unanswerable development questions that may be answered: the threshold is the lowest
        that keeps it, in steps of a hundredth.

    Returns:
      The content of `confidence.json`.
    """
    need("sklearn")
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    kept = confidence_.shipped()
    often = Counter(name for row in rows for name in row if name.startswith(SPOKEN)).most_common()
    others = [name for name, times in often[1:] if times >= LEAST_OF_LANGUAGE]
    names = (*FITTED, *others)
    matrix = np.array([[row.get(name, 0.0) * SCALE.get(name, 1.0) for name in names] for row in rows])
    truth = np.array(answerable, dtype=int)
    model = LogisticRegression(C=1.0, max_iter=1000, class_weight="balanced").fit(matrix, truth)
    sure = model.predict_proba(matrix)[:, 1]
    of_language = {
        name: [
            float(value) for value, row, there in zip(sure, rows, answerable, strict=True) if name in row and not there
        ]
        for name, _ in often
    }
    thresholds = {
        name.removeprefix(SPOKEN): _threshold(empty, most_wrong)
        for name, empty in of_language.items()
        if len(empty) >= LEAST_OF_LANGUAGE
    }
    found = {n: round(float(w) * SCALE.get(n, 1.0), 3) for n, w in zip(names, model.coef_[0], strict=True)}
    return {
        "comment": "Logistic model of `the sources answer the question`, fitted on questions/development.jsonl with "
        "`energycomm assistant evaluate abstention --fit`; code, fit and unfit are set by hand.",
        "weights": {
            "bias": round(float(model.intercept_[0]), 3), **{name: found[name] for name in FITTED},
            **{name: kept.weights[name] for name in BY_HAND},
        },
        "languages": {name.removeprefix(SPOKEN): found[name] for name in others},
        "dense_centre": kept.dense_centre,
        "threshold": _threshold([float(value) for value in sure[truth == 0]], most_wrong),
        "thresholds": thresholds,
    }  # fmt: skip


def _threshold(empty: Sequence[float], most_wrong: float) -> float:
    """The lowest threshold above which no larger share of the unanswerable questions lies."""
    ordered = sorted(empty)
    above = int(most_wrong * len(ordered))
    return round(min(max(ordered[len(ordered) - 1 - above] + 0.005, 0.05), 0.95), 2) if ordered else 0.5


def save(content: dict[str, Any], path: Path) -> None:
    """Write `confidence.json`."""
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
