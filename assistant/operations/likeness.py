"""A question of which words are left over is read without them, where questions like it are known.

No list holds all that people say around a question: *a lady swears blind she is still with us: do we supply ...?*
Whether what is left over changes what is asked is judged by questions that are known: it is like those with the same
plan, or like those with another one, or like those that must be refused or that passages answer. A small logistic
model of these likenesses says how sure a reading is; the fitting is `assistant.evaluation.likeness`.

Names, numbers, days, and words that deny are never left over: whoever names a second rule asks about it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from assistant.config import AssistantConfig
from assistant.extras import CORE, installed
from assistant.knowledge.models import open_embedder
from assistant.operations.family import Plan
from assistant.operations.grammar import left_readings
from assistant.operations.understanding import TELLING, Understood
from assistant.operations.vocabulary import tokens_of
from assistant.trust import shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assistant.knowledge.embedding import Embedder

    Vectors = NDArray[np.float32]

KNOWN = "likeness.npz"
MOST = 4
"""Readings of a question that are judged: those that leave the fewest words."""
NEIGHBOURS = 10
"""Known questions that vote for a plan."""
UNLIKE = 0.8
"""The likeness where no known question has such a plan; that of two questions at random is as low."""
REFUSED = ""
"""The plan of a question that must be refused, or is left to the passages."""

MASKS = {
    "market": "country", "code": "rule", "unknown_code": "rule", "message": "number", "envelope": "number",
    "request": "number", "point": "point", "number": "number", "days": "date", "kind": "kind", "type": "type",
    "ebix_reason": "reason", "gateway": "code", "exit_code": "number", "file": "file", "version": "version",
    "prefix": "prefix", "set": "set", "stage": "stage",
}  # fmt: skip
"""Slots of names, and the word that stands for each: a question about France is like one about Denmark."""
_NAMED = (*MASKS, "state", "severity", "class", "direction", "listed", "list", "setting", "command", "script", "word")
_HOW = ("do", "how", "thing", "what", "about", "by", "fields")
"""Fields of a plan that say what is asked for; the others restrict it."""
_PIECES = re.compile(r"(?<=[.!?;:])\s+|,\s+")
_SENTENCES = re.compile(r"(?<=[.!?;])\s+")


class Near(Struct, frozen=True, kw_only=True):
    """A reading of a question that leaves words over.

    Attributes:
      question: in its own words, with a word for each kind of name.
      asked: what its plan asks for.
      plan: the same, and by what it restricts.
      left: the words that are left over.
      unknown: how many of them the vocabulary does not know.
      tokens, telling: how many words the question has, and those that tell something.
      named: how many kinds of names and values are used.
      before: share of the words left over that stand before the last sentence.
      apart: share of them that stand before its last part, between commas.
    """

    question: str
    asked: str
    plan: str
    left: tuple[str, ...]
    unknown: int
    tokens: int
    telling: int
    named: int
    before: float
    apart: float


class Guess(Struct, frozen=True, kw_only=True):
    """A reading that leaves words over, and how sure it is, 0..1."""

    plans: tuple[Plan, ...]
    left: tuple[str, ...]
    sure: float


class Known:
    """Questions that are known.

    Args:
      vectors: a unit vector for each, of shape (questions, length).
      asked: what each asks for, see `shape`; `REFUSED` for those that no operation answers.
      plans: the same, and by what each restricts.
    """

    def __init__(self, vectors: Vectors, asked: NDArray[np.str_], plans: NDArray[np.str_]) -> None:
        self.vectors, self.asked, self.plans = vectors, asked, plans

    def features(self, near: Near, vectors: Vectors, but: NDArray[np.bool_] | None = None) -> dict[str, float]:
        """What tells whether a reading is right.

        Args:
          near: the reading.
          vectors: of its question and of its last part, of shape (2, length).
          but: true for the known questions that are not looked at.
        """
        import numpy as np

        # Where all that is left over stands before the last part, that part may be the whole question.
        likeness = (self.vectors @ vectors.T)[:, : 2 if near.apart == 1 else 1].max(axis=1)
        if but is not None:
            likeness = np.where(but, -1.0, likeness)
        refused = self.asked == REFUSED

        def best(which: NDArray[np.bool_]) -> float:
            return max(float(likeness[which].max(initial=-1.0)), UNLIKE)

        same, alike = best(self.plans == near.plan), best(self.asked == near.asked)
        most, refusal = best(~refused), best(refused)
        close = np.argsort(-np.where(refused, -1.0, likeness))[:NEIGHBOURS]
        return {
            "same": same - UNLIKE,
            "alike": alike - UNLIKE,
            "other": most - same,
            "other_kind": most - alike,
            "refusal": refusal - UNLIKE,
            "rather_refusal": refusal - same,
            "vote": float(np.mean(self.asked[close] == near.asked)),
            "vote_same": float(np.mean(self.plans[close] == near.plan)),
            "left": float(len(near.left)),
            "unknown": float(near.unknown),
            "of_all": len(near.left) / max(near.tokens, 1),
            "of_telling": len(near.left) / max(near.telling, 1),
            "used": float(near.telling - len(near.left)),
            "named": float(near.named),
            "before": near.before,
            "apart": near.apart,
        }


class Model(Struct, frozen=True, kw_only=True):
    """The logistic model.

    Attributes:
      comment: what it was fitted on, and how.
      embedder: name of the embedder whose vectors are known.
      weights: weight by feature, and `bias`.
      threshold: how sure a reading must be.
    """

    comment: str
    embedder: str
    weights: dict[str, float]
    threshold: float

    def __call__(self, features: dict[str, float]) -> float:
        """How sure a reading is, 0..1."""
        total = self.weights["bias"] + sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


class Likeness:
    """Reads questions of which words are left over.

    Args:
      embedder: opens what makes vectors of questions; it is opened at the first such question.
    """

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder

    @classmethod
    def of(cls, config: AssistantConfig) -> Likeness | None:
        """The reader of an installation; None where the packages of the embedder are not installed.

        Args:
          config: names the embedder.
        """
        if not installed(*CORE):
            return None
        return cls(lambda: open_embedder(config))

    def guesses(self, asked: Understood, today: date) -> Iterator[Guess]:
        """The readings that are sure enough, the surest first.

        Args:
          asked: the question, taken apart.
          today: the day it is asked.
        """
        found = list(near_readings(asked, today))
        model = shipped_model()
        if not found:
            return
        embedder = self._embedder()
        if embedder.name != model.embedder:
            return  # vectors of another model are not comparable
        question = found[0][0].question
        vectors = embedder.embed_queries([question, last_part(question, asked.text)])
        judged = [(model(shipped_known().features(near, vectors)), near, plans) for near, plans in found]
        for sure, near, plans in sorted(judged, key=lambda one: -one[0]):
            if sure >= model.threshold:
                yield Guess(plans=plans, left=near.left, sure=round(sure, 3))


def near_readings(asked: Understood, today: date) -> Iterator[tuple[Near, tuple[Plan, ...]]]:
    """The readings of a question that leave words over which may be left over, those that leave the fewest first.

    Args:
      asked: the question, taken apart.
      today: the day it is asked.
    """
    covered: dict[int, set[str]] = {}
    for one in asked.found:
        for place in range(one.start, one.end):
            covered.setdefault(place, set()).add(one.slot)
    question = masked(asked)
    telling = len(asked.telling())
    number = 0
    for plans, places in left_readings(asked, today):
        words = tuple(asked.word(place) for place in places)
        if number == MOST:
            return
        if not words or any(not word or word in TELLING or word[0] == "§" or word.isdigit() for word in words):
            continue
        number += 1
        gone = set(places)
        named = {one.slot for one in asked.found if one.slot in _NAMED and gone.isdisjoint(range(one.start, one.end))}
        of, plan = shape(plans[0])
        yield Near(
            question=question, asked=of, plan=plan, left=words,
            unknown=sum(not covered.get(place, set()) - {"filler"} for place in places),
            tokens=len(asked.tokens), telling=telling, named=len(named),
            before=_before(_SENTENCES, asked.text, words), apart=_before(_PIECES, asked.text, words),
        ), plans  # fmt: skip


def _before(pieces: re.Pattern[str], text: str, words: tuple[str, ...]) -> float:
    """The share of words that stand before the last piece of a text only."""
    found = pieces.split(text)
    if len(found) < 2 or not words:
        return 0.0
    last = set(tokens_of(found[-1]))
    return sum(word not in last for word in words) / len(words)


def last_part(question: str, text: str) -> str:
    """The words of a question that stand behind its last full stop or comma.

    Args:
      question: in its own words, see `masked`.
      text: as it was asked.
    """
    there = {*tokens_of(_PIECES.split(text)[-1]), *MASKS.values(), "name"}
    words = question.split()
    at = next((place for place in range(len(words), 0, -1) if words[place - 1] not in there), 0)
    return " ".join(words[at:]) or question


def masked(asked: Understood) -> str:
    """A question with a word for each kind of name.

    Args:
      asked: the question, taken apart.
    """
    names = {}
    for one in asked.found:
        if one.slot in MASKS:
            names.update(dict.fromkeys(range(one.start, one.end), MASKS[one.slot]))
    words: list[str] = []
    for place, token in enumerate(asked.tokens):
        word = names.get(place, "name" if token[0] == "§" else token)
        if not (place in names and words and words[-1] == word):
            words.append(word)
    return " ".join(words)


def shape(plan: Plan) -> tuple[str, str]:
    """What a plan asks for, and the same with the names of what it is restricted by.

    Args:
      plan: the plan.
    """
    said: dict[str, Any] = msgspec.to_builtins(plan)
    restricted = {**said.pop("where", {}), **said}
    asked = " ".join(f"{name}={_text(said[name])}" for name in _HOW if said.get(name))
    return asked, " ".join((asked, *sorted(name for name, value in restricted.items() if value and name not in _HOW)))


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@lru_cache(maxsize=1)
def shipped_model() -> Model:
    """The model that goes along with EnergyComm."""
    return msgspec.json.decode(
        resources.files("assistant.operations").joinpath("likeness.json").read_bytes(), type=Model
    )


@lru_cache(maxsize=1)
def shipped_known() -> Known:
    """The known questions that go along with EnergyComm.

    Raises:
      UserError: the file is another one.
    """
    import numpy as np

    with (
        resources.as_file(resources.files("assistant.operations") / KNOWN) as packed,
        np.load(shipped(packed), allow_pickle=False) as held,
    ):
        vectors = held["vectors"].astype(np.float32) / held["scale"]
        return Known(vectors, held["asked"], held["plans"])


def stored(model: Model) -> bytes:
    """The content of `likeness.json`."""
    return json.dumps(msgspec.to_builtins(model), indent=2).encode() + b"\n"
