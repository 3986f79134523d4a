"""Fits what says whether a question is read right like a known one (`assistant.operations.likeness`).

Known are the development questions that the grammar reads right, those that must be refused, and the questions of
`development.jsonl`, which passages answer. The model is fitted on the sets of strangers, who wrote without knowing the
grammar: each of their questions is read with the known questions of the other sets alone.

Example: python -m assistant.evaluation.likeness sqlite:///demo/energycomm.db
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from sqlalchemy import make_url

from assistant.config import AssistantConfig
from assistant.evaluation.worked import DEVELOPMENT, Question, catalogue, given_by, questions, readings_of, right
from assistant.knowledge.models import open_embedder
from assistant.operations import grammar, likeness
from assistant.operations.family import Plan
from assistant.operations.house import House
from assistant.operations.likeness import Known, Line, Model, Near
from assistant.operations.understanding import Understood, understand
from assistant.operations.worked import Worked
from assistant.trust import fingerprint
from energycomm.config import Config

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assistant.operations.likeness import Vectors

LEFT_TO_PASSAGES = Path(__file__).parent / "questions" / "development.jsonl"
STRANGERS = ("worked_outsiders", "worked_refusals", "worked_strangers")
"""Sets of authors who did not know the grammar, a letter or two each: the model is fitted on their questions that the
grammar does not read. No author is read with questions of its own, nor with those written after them (same file)."""
WEIGHTS = {"worked_refusals": 0.3}
"""What a question of a set counts, where not 1: one author wrote nothing but what sounds like our questions."""
_BY_STRANGERS = re.compile(r"([A-Z]{1,2})\d+")
"""Identifiers of their questions; the letters are the author's."""
STRENGTH = 0.3
"""Inverse of the regularisation."""
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
SCALE = 127
"""Of the whole numbers as which vectors are stored."""
_PHRASING = re.compile(r"-(?:en|fr|nl)\d+$")
"""What the identifier of a question ends with that has several phrasings."""


class Asked(Struct, frozen=True, kw_only=True):
    """A development question as the grammar alone reads it.

    Attributes:
      set: its file.
      family: the same in all its phrasings.
      taken: the question, taken apart.
      question: with its gold; None where passages answer it.
      plans: what the grammar reads, if it is right.
      worked: whether it is answered without likeness.
      none: whether it asks for what no fact answers.
    """

    set: str
    family: str
    taken: Understood
    question: Question | None = None
    plans: tuple[Plan, ...] = ()
    worked: bool = False
    none: bool = False

    @property
    def author(self) -> str:
        """The stranger who wrote it; empty where it was written by somebody who knew the grammar."""
        if self.question is None or self.set not in STRANGERS:
            return ""
        found = _BY_STRANGERS.fullmatch(self.question.id)
        return f"{self.set} {found[1]}" if found else ""


class Row(Struct, frozen=True, kw_only=True):
    """A reading of a stranger's question: how it was made, whether it is right, and of which question it is one."""

    near: Near
    right: bool
    of: Asked


def asked_of(config: Config, paths: Iterable[Path]) -> list[tuple[Path, Question]]:
    """The questions of sets, with their gold.

    Args:
      config: its rules and its store, which is SQLite.
      paths: the sets.
    """
    database = make_url(config.database_url).database
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
        known = catalogue(config.rules_folder)
        return [(path, question) for path in paths for question in questions(path, known, store)]


def read(house: House, asked: Iterable[tuple[Path, Question]]) -> Iterator[Asked]:
    """The development questions as the grammar alone reads them, each once, and those that passages answer.

    Args:
      house: answers, without likeness.
      asked: the questions.
    """
    today = datetime.now(UTC).date()
    there: set[str] = set()
    for path, question in asked:
        taken = understand(question.text, house.lexicon, today)
        if taken is None or question.text in there:
            continue
        there.add(question.text)
        readings = readings_of(house, question.text)
        plans = grammar.plans(taken, today)
        good = isinstance(plans, tuple) and question.gold and any(right(question, one) for one in readings)
        yield Asked(
            set=path.stem, family=f"{path.stem} {_PHRASING.sub('', question.id)}", taken=taken, question=question,
            plans=plans if good and isinstance(plans, tuple) else (), worked=any(one.worked for one in readings),
            none=grammar.is_none(taken),
        )  # fmt: skip
    for text in LEFT_TO_PASSAGES.read_text(encoding="utf-8").splitlines():
        told = {} if text.startswith("#") else json.loads(text)
        taken = understand(told["question"], house.lexicon, today) if told else None
        if taken is not None and grammar.plans(taken, today) is None:
            yield Asked(set=LEFT_TO_PASSAGES.stem, family=str(told.get("twin", told["id"])), taken=taken)


def known_of(asked: Iterable[Asked], found: Sequence[Row] = ()) -> list[tuple[Asked, Line]]:
    """The questions that are known: those that are read right, and those that no operation answers.

    Args:
      asked: the development questions.
      found: readings of those that the grammar does not read: the likest one counts where it is right.
    """
    plans = {row.of.taken.text: row.near.plans for row in found if row.right and row.near.features["place"] == 0}
    known = []
    for one in asked:
        there = one.plans or plans.get(one.taken.text, ())
        if there or one.question is None or one.question.form == "refusal":
            line = likeness.line_of(one.taken, there)
            known += [] if line is None else [(one, line)]
    return known


Answers = Callable[[tuple[Plan, ...], str], list[Worked]]


def rows_of(
    answers: Answers, asked: Sequence[Asked], known: Known, of: Sequence[Asked], vectors: Vectors
) -> Iterator[Row]:
    """The readings of the strangers' questions.

    Args:
      answers: of plans, in a language.
      asked: the development questions.
      known: those that are known.
      of: the same, as the grammar reads them.
      vectors: of the development questions, of shape (questions, length).
    """
    authors = np.array([line.author for line in of])
    after = np.array([line.set if line.set in STRANGERS and not line.author else "" for line in of])
    for one, vector in zip(asked, vectors, strict=True):
        if one.question is None or one.none or one.worked or not one.author:
            continue
        for near in known.near(one.taken, vector, (authors == one.author) | (after == one.set)):
            given = list(given_by(answers(near.plans, one.taken.language)))
            if given:
                good = bool(one.question.gold) and any(right(one.question, answer) for answer in given)
                yield Row(near=near, right=good, of=one)


def fitted(rows: Sequence[Row], embedder: str, threshold: float) -> tuple[Model, str]:
    """The model, and what it would have done, cross-validated by author.

    Args:
      rows: the readings.
      embedder: the name of what made the vectors.
      threshold: how sure a reading must be.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import LeaveOneGroupOut
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    names = list(rows[0].near.features)
    matrix = np.array([[row.near.features[name] for name in names] for row in rows])
    truth = np.array([row.right for row in rows], dtype=int)
    weights = np.array([WEIGHTS.get(row.of.set, 1.0) for row in rows])
    authors = np.array([row.of.author for row in rows])
    made = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=3000))
    sure = np.zeros(len(rows))
    for train, test in LeaveOneGroupOut().split(matrix, truth, authors):
        made.fit(matrix[train], truth[train], logisticregression__sample_weight=weights[train])
        sure[test] = made.predict_proba(matrix[test])[:, 1]
    made.fit(matrix, truth, logisticregression__sample_weight=weights)
    scaler, logistic = made[0], made[-1]
    found = logistic.coef_[0] / scaler.scale_
    bias = float(logistic.intercept_[0] - (found * scaler.mean_).sum())
    model = Model(
        comment=f"Logistic model of `the reading is right`, fitted on {len(rows)} readings of strangers' questions "
        "with `python -m assistant.evaluation.likeness`.",
        embedder=embedder,
        weights={"bias": round(bias, 3), **{name: round(float(w), 3) for name, w in zip(names, found, strict=True)}},
        threshold=threshold,
    )  # fmt: skip
    return model, _told(rows, sure)


def _told(rows: Sequence[Row], sure: NDArray[np.float64]) -> str:
    """A table of thresholds: of each question the surest reading counts."""
    best: dict[str, int] = {}
    for place, row in enumerate(rows):
        text = row.of.taken.text
        if text not in best or sure[place] > sure[best[text]]:
            best[text] = place
    lines = [
        "| threshold | right | wrong | refusals answered | of them of one author |",
        "| --- | --- | --- | --- | --- |",
    ]
    there = [rows[place] for place in best.values()]
    for threshold in THRESHOLDS:
        answered = [rows[place] for place in best.values() if sure[place] >= threshold]
        good = sum(row.right for row in answered)
        refused = [row for row in answered if _refused(row)]
        one = sum(row.of.set in WEIGHTS for row in refused)
        lines.append(f"| {threshold} | {good} | {len(answered) - good - len(refused)} | {len(refused)} | {one} |")
    refused = [row for row in there if _refused(row)]
    one = sum(row.of.set in WEIGHTS for row in refused)
    lines.append(f"of {len(there)} questions, {len(refused)} of them to be refused, {one} of these of one author")
    return "\n".join(lines)


def _refused(row: Row) -> bool:
    return row.of.question is not None and not row.of.question.gold


def _main(database: str, *options: str) -> None:
    settings: dict[str, Any] = {"database": database}
    config = Config(**settings)
    house = House(config)
    asked = list(read(house, asked_of(config, DEVELOPMENT)))
    embedder = open_embedder(AssistantConfig())
    vectors = np.asarray(embedder.embed_queries([likeness.masked(one.taken) for one in asked]), dtype=np.float32)
    of = dict(zip(map(id, asked), vectors, strict=True))
    rows: list[Row] = []
    answers = cache(house.answers)
    for _ in ("by the grammar alone", "and by likeness"):
        lines = known_of(asked, rows)
        known = Known(np.array([of[id(one)] for one, _ in lines]), [line for _, line in lines])
        rows = list(rows_of(answers, asked, known, [one for one, _ in lines], vectors))
    threshold = float(options[0]) if options else likeness.shipped_model().threshold
    model, told = fitted(rows, embedder.name, threshold)
    folder = Path(likeness.__file__).parent
    (folder / "likeness.json").write_bytes(likeness.stored(model))
    np.savez_compressed(folder / likeness.KNOWN, **likeness.packed(known, SCALE))
    print(f"{len(lines)} known questions; SHA-256 for assistant/trust.py: {fingerprint(folder / likeness.KNOWN)}")
    print(told)


if __name__ == "__main__":
    _main(*sys.argv[1:])
