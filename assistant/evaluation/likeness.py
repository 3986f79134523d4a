"""Fits what says whether a question of which words are left over is read right (`assistant.operations.likeness`).

A set of fresh questions is asked before the grammar is changed for it, and what came near is recorded with whether it
was right, by the gold of the set, in `questions/near.jsonl`; the grammar may change then. Known are the development
questions that the grammar reads right, those that must be refused, and the questions of `development.jsonl`, which
passages answer. No question that was recorded is known to the fitting.

Example: python -m assistant.evaluation.likeness sqlite:///demo/energycomm.db --record more.jsonl
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct
from sqlalchemy import make_url

from assistant.config import AssistantConfig
from assistant.evaluation.worked import DEVELOPMENT, Question, catalogue, given_by, questions, readings_of, right
from assistant.knowledge.models import open_embedder
from assistant.operations import grammar, likeness
from assistant.operations.house import House
from assistant.operations.likeness import REFUSED, Known, Model, Near
from assistant.operations.understanding import Understood, understand
from assistant.trust import fingerprint
from energycomm.config import Config

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORDED = Path(__file__).parent / "questions" / "near.jsonl"
LEFT_TO_PASSAGES = RECORDED.with_name("development.jsonl")
OUTSIDERS = "worked_outsiders"
"""The development set that holds recorded questions and more of their kinds: it is not known to the fitting, and is
shipped as known."""
STRENGTH = 0.1
"""Inverse of the regularisation."""
FOLDS = 8
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
SCALE = 127
"""Of the whole numbers as which vectors are stored."""
_PHRASING = re.compile(r"-(?:en|fr|nl)\d+$")
"""What the identifier of a question ends with that has several phrasings."""


class Recorded(Struct, frozen=True, kw_only=True):
    """A reading of a question at first sight.

    Attributes:
      set: the file of the question.
      text: the question.
      refused: whether it must be refused.
      near: the reading.
      right: whether its answer was.
    """

    set: str
    text: str
    refused: bool
    near: Near
    right: bool


class Line(Struct, frozen=True, kw_only=True):
    """A known question: in its own words, what it asks for, its plan; `family` is the same in all its phrasings."""

    question: str
    asked: str
    plan: str
    family: str
    set: str


class _Lines(NamedTuple):
    """Questions, families and sets of the known questions."""

    questions: NDArray[np.str_]
    families: NDArray[np.str_]
    sets: NDArray[np.str_]


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


def recorded(house: House, asked: Iterable[tuple[Path, Question]]) -> Iterator[Recorded]:
    """What comes near in questions that the grammar does not read whole.

    Args:
      house: answers, without this reading.
      asked: the questions.
    """
    today = datetime.now(UTC).date()
    for path, question in asked:
        taken = _apart(house, question.text)
        if taken is None or grammar.is_none(taken) or any(one.worked for one in readings_of(house, question.text)):
            continue
        for near, plans in likeness.near_readings(taken, today):
            found = list(given_by(house.answers(plans, taken.language)))
            if found:
                refused = question.form in ("refusal", "unknown")
                good = not refused and any(right(question, one) for one in found)
                yield Recorded(set=path.stem, text=question.text, refused=refused, near=near, right=good)


def known_lines(house: House, asked: Iterable[tuple[Path, Question]]) -> Iterator[Line]:
    """The questions that are known: those that the grammar reads right, and those that must be refused.

    Args:
      house: answers, without this reading.
      asked: the development questions.
    """
    today = datetime.now(UTC).date()
    there: set[str] = set()
    for path, question in asked:
        taken = _apart(house, question.text)
        if taken is None or question.text in there or question.form == "unknown":
            continue
        there.add(question.text)
        line = Line(
            question=likeness.masked(taken), asked=REFUSED, plan=REFUSED,
            family=f"{path.stem} {_PHRASING.sub('', question.id)}", set=path.stem,
        )  # fmt: skip
        if question.form == "refusal":
            yield line
            continue
        read = grammar.plans(taken, today)
        if isinstance(read, tuple) and any(right(question, one) for one in readings_of(house, question.text)):
            of, plan = likeness.shape(read[0])
            yield msgspec.structs.replace(line, asked=of, plan=plan)
    for text in LEFT_TO_PASSAGES.read_text(encoding="utf-8").splitlines():
        told = {} if text.startswith("#") else json.loads(text)
        taken = _apart(house, told["question"]) if told else None
        if taken is not None and grammar.plans(taken, today) is None:
            family = str(told.get("twin", told["id"]))
            yield Line(
                question=likeness.masked(taken), asked=REFUSED, plan=REFUSED, family=family, set=LEFT_TO_PASSAGES.stem
            )


def _apart(house: House, text: str) -> Understood | None:
    return understand(text, house.lexicon, datetime.now(UTC).date())


def fitted(lines: Sequence[Line], rows: Sequence[Recorded], threshold: float) -> tuple[Model, Known, str]:
    """The model, what is known, and what the model would have done, cross-validated by question.

    Args:
      lines: the known questions.
      rows: the readings at first sight.
      threshold: how sure a reading must be.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    embedder = open_embedder(AssistantConfig())
    vectors = np.asarray(embedder.embed_queries([line.question for line in lines]), dtype=np.float32)
    known = Known(vectors, np.array([line.asked for line in lines]), np.array([line.plan for line in lines]))
    of_lines = _Lines(*(np.array([getattr(line, name) for line in lines]) for name in ("question", "family", "set")))
    asked = list(dict.fromkeys(text for row in rows for text in _texts(row)))
    of = dict(zip(asked, np.asarray(embedder.embed_queries(asked), dtype=np.float32), strict=True))
    seen = [known.features(row.near, np.array([of[text] for text in _texts(row)]), _but(row, of_lines)) for row in rows]
    names = list(seen[0])
    matrix = np.array([[one[name] for name in names] for one in seen])
    truth = np.array([row.right for row in rows], dtype=int)
    groups = np.unique([row.text for row in rows], return_inverse=True)[1]
    made = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=3000))
    sure = np.zeros(len(rows))
    for train, test in GroupKFold(FOLDS).split(matrix, truth, groups):
        made.fit(matrix[train], truth[train])
        sure[test] = made.predict_proba(matrix[test])[:, 1]
    made.fit(matrix, truth)
    scaler, logistic = made[0], made[-1]
    weights = logistic.coef_[0] / scaler.scale_
    bias = float(logistic.intercept_[0] - (weights * scaler.mean_).sum())
    model = Model(
        comment=f"Logistic model of `the reading is right`, fitted on {len(rows)} readings of {groups.max() + 1} "
        "questions at first sight (questions/near.jsonl) with `python -m assistant.evaluation.likeness`.",
        embedder=embedder.name,
        weights={"bias": round(bias, 3), **{name: round(float(w), 3) for name, w in zip(names, weights, strict=True)}},
        threshold=threshold,
    )  # fmt: skip
    return model, known, _told(rows, sure)


def _texts(row: Recorded) -> tuple[str, str]:
    """What vectors are made of: the question in its own words, and its last part."""
    return row.near.question, likeness.last_part(row.near.question, row.text)


def _but(row: Recorded, lines: _Lines) -> NDArray[np.bool_]:
    """The known questions that the fitting does not look at: the recorded ones, and all phrasings of a row's own."""
    same = lines.families[lines.questions == row.near.question]
    left_out: NDArray[np.bool_] = (lines.sets == OUTSIDERS) | np.isin(lines.families, same)
    return left_out


def _told(rows: Sequence[Recorded], sure: NDArray[np.float64]) -> str:
    """A table of thresholds: of each question the surest reading counts."""
    best: dict[str, int] = {}
    for place, row in enumerate(rows):
        if row.text not in best or sure[place] > sure[best[row.text]]:
            best[row.text] = place
    lines = ["| threshold | right | wrong | refusals answered |", "| --- | --- | --- | --- |"]
    for threshold in THRESHOLDS:
        answered = [rows[place] for place in best.values() if sure[place] >= threshold]
        good = sum(row.right for row in answered)
        refused = sum(row.refused for row in answered)
        lines.append(f"| {threshold} | {good} | {len(answered) - good - refused} | {refused} |")
    there = [rows[place] for place in best.values()]
    lines.append(f"of {len(there)} questions, {sum(row.refused for row in there)} of them to be refused")
    return "\n".join(lines)


def _main(database: str, *options: str) -> None:
    settings: dict[str, Any] = {"database": database}
    config = Config(**settings)
    house = House(config)
    encoder = msgspec.json.Encoder()
    if options[:1] == ("--record",):
        fresh = recorded(house, asked_of(config, map(Path, options[1:])))
        with RECORDED.open("ab") as file:
            file.writelines(encoder.encode(row) + b"\n" for row in fresh)
        return
    lines = list(known_lines(house, asked_of(config, DEVELOPMENT)))
    rows = [msgspec.json.decode(line, type=Recorded) for line in RECORDED.read_bytes().splitlines()]
    threshold = float(options[0]) if options else likeness.shipped_model().threshold
    model, known, told = fitted(lines, rows, threshold)
    folder = Path(likeness.__file__).parent
    (folder / "likeness.json").write_bytes(likeness.stored(model))
    np.savez_compressed(
        folder / likeness.KNOWN, vectors=np.rint(known.vectors * SCALE).astype(np.int8), scale=np.float32(SCALE),
        asked=known.asked, plans=known.plans,
    )  # fmt: skip
    print(f"{len(lines)} known questions; SHA-256 for assistant/trust.py: {fingerprint(folder / likeness.KNOWN)}")
    print(told)


if __name__ == "__main__":
    _main(*sys.argv[1:])
