"""A question that no operation takes whole is read as the known question that it is like.

No list holds all that people say around a question: *a lady swears blind she is still with us: do we supply ...?*
A known question has a plan. The names of the question that is asked, its codes, markets, numbers, days and states, are
put where the known one has its own, and what comes of it is a reading. A small logistic model of how like both are, and
how like the question is to those that must be refused, says how sure the reading is; the fitting is
`assistant.evaluation.likeness`.

Names that the known question has no place for are never left out: whoever names a second rule asks about it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from assistant.config import AssistantConfig
from assistant.extras import CORE, installed
from assistant.knowledge.models import open_embedder
from assistant.operations.family import Plan
from assistant.operations.understanding import Understood
from assistant.operations.vocabulary import HOLDINGS
from assistant.trust import shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assistant.knowledge.embedding import Embedder

    Vectors = NDArray[np.float32]

KNOWN = "likeness.npz"
MOST = 4
"""Readings of a question that are judged: those that are likest."""
LOOKED_AT = 200
"""Known questions that readings are made of: the nearest."""
NEIGHBOURS = 10
"""Known questions that vote for what is asked."""
REFUSALS = 3
"""Questions that must be refused whose likeness counts: the nearest."""
TOLD, HELD = 0.06, 0.02
"""What it counts to say the same beside names, and each value that only one of both restricts by, against a cosine."""
UNLIKE = 0.8
"""The likeness where no known question is near; that of two questions at random is as low."""

MASKS = {
    "market": "country", "code": "rule", "unknown_code": "rule", "message": "number", "envelope": "number",
    "request": "number", "point": "point", "number": "number", "days": "date", "kind": "kind", "type": "type",
    "ebix_reason": "reason", "gateway": "code", "exit_code": "number", "file": "file", "version": "version",
    "prefix": "prefix", "set": "set", "stage": "stage",
}  # fmt: skip
"""Slots of names, and the word that stands for each: a question about France is like one about Denmark."""
_NAMES = frozenset(MASKS) - {"kind", "set", "stage"} | {"reference", "meter", "invoice_number"}
"""Slots of what is never left out."""
_VALUES = frozenset(("kind", "set", "stage", "state", "severity", "class", "direction"))
"""Slots of what restricts."""
_WORDS = frozenset(
    ("listed", "list", "setting", "command", "script", "word", "event", "pointed", "kept", "scope", "gateway_prefix",
     "repair")
)  # fmt: skip
"""Slots of names that are words as well."""
_PUT = _NAMES | _VALUES | _WORDS
"""Slots whose values are put where the known question has its own."""
_UNTOLD = frozenset((
    "filler", "english", "fact", "gloss", "listed", "list", "setting", "command", "script", "word", *HOLDINGS,
    *_NAMES, *_VALUES,
))  # fmt: skip
"""Slots that do not say what is asked."""
_HOW = ("do", "how", "thing", "what", "about", "by", "fields")
"""Fields of a plan that say what is asked for; the others restrict it."""
_FIXED = frozenset((*_HOW, "same", "severer", "count", "language", "having", "missing", "attribute"))
"""Fields of a plan that hold no name."""
_FREE = frozenset(("words", "hints", "spare"))
"""Fields of a plan that hold words of their question: such a plan is no pattern for another one."""
_MARK = "§"
"""What stands in a pattern for a name: §market.0, the first market that is named; §days.since."""
_DAYS = ("since", "until", "day", "other")

Pattern = list[dict[str, Any]]
"""Plans as data, in which marks stand for names."""


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A known question.

    Attributes:
      text: as it was asked.
      language: en, fr or nl.
      asked: what its plan asks for, see `shape`; empty where it must be refused, or is left to the passages.
      plans: its plans, in which marks stand for names.
      told: what it says beside names, as slot=value.
      held: what it names that its plans have no mark for, in the same form.
    """

    text: str
    language: str = "en"
    asked: str = ""
    plans: tuple[dict[str, Any], ...] = ()
    told: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


class Near(Struct, kw_only=True):
    """A reading of a question, made of a known one.

    Attributes:
      plans: what is asked.
      like: the known question that is likest of those that give these plans.
      features: what tells whether the reading is right, by name.
    """

    plans: tuple[Plan, ...]
    like: Line
    features: dict[str, float]


class Guess(Struct, frozen=True, kw_only=True):
    """A reading by likeness, the known question that it was read like, and how sure it is, 0..1."""

    plans: tuple[Plan, ...]
    like: str
    sure: float


class Known:
    """Questions that are known.

    Args:
      vectors: a unit vector for each, of shape (questions, length).
      lines: the questions.
    """

    def __init__(self, vectors: Vectors, lines: Sequence[Line]) -> None:
        import numpy as np

        self.vectors, self.lines = vectors, lines
        self.refused = np.array([not line.asked for line in lines], dtype=bool)
        self._patterns = [msgspec.json.encode(line.plans) for line in lines]

    def near(self, asked: Understood, vector: Vectors, but: NDArray[np.bool_] | None = None) -> list[Near]:
        """The likest readings of a question, the likest first.

        Args:
          asked: the question, taken apart.
          vector: of it, of shape (length,).
          but: true for the known questions that are not looked at.
        """
        import numpy as np

        likeness = self.vectors @ vector
        if but is not None:
            likeness = np.where(but, -1.0, likeness)
        order = np.argsort(-np.where(self.refused, -1.0, likeness))[:LOOKED_AT]
        found: dict[tuple[Plan, ...], _Alike] = {}
        made: dict[bytes, tuple[tuple[Plan, ...], frozenset[str]] | None] = {}
        told = frozenset(told_of(asked))
        for place in order:
            line, pattern = self.lines[place], self._patterns[place]
            if pattern not in made:  # many questions ask the same
                plans = filled(line, asked) if likeness[place] > 0 else None
                made[pattern] = None if plans is None else (plans, frozenset(held_of(asked, line.plans)))
            reading = made[pattern]
            if reading is not None:
                plans, held = reading
                alike = _Alike(line, float(likeness[place]), told, held)
                if plans not in found or alike.score > found[plans].score:
                    found[plans] = alike
        ranked = sorted(found.items(), key=lambda one: -one[1].score)
        around = self._around(likeness, order)
        return [
            Near(plans=plans, like=one.line, features={
                **one.features(place, ranked, around), "length": len(asked.tokens) / 20,
            })
            for place, (plans, one) in enumerate(ranked[:MOST])
        ]  # fmt: skip

    def _around(self, likeness: Vectors, order: NDArray[np.int64]) -> _Around:
        """What stands around a question.

        Args:
          likeness: of each known question to it.
          order: the nearest that operations answer.
        """
        import numpy as np

        nearest: dict[str, float] = {}
        for place in order:
            nearest.setdefault(self.lines[place].asked, float(likeness[place]))
        refusals = np.sort(likeness[self.refused])[::-1][:REFUSALS]
        close = np.argsort(-likeness)[:NEIGHBOURS]
        return _Around(
            nearest=nearest,
            votes=Counter(self.lines[place].asked for place in order[:NEIGHBOURS]),
            refusal=max(float(refusals[0]), UNLIKE) if len(refusals) else UNLIKE,
            refusals=max(float(refusals.mean()), UNLIKE) if len(refusals) else UNLIKE,
            refused=float(self.refused[close].mean()),
        )


class _Around(Struct, frozen=True, kw_only=True):
    """What stands around a question.

    Attributes:
      nearest: what is asked -> the likeness of the nearest known question that asks it.
      votes: how many of the nearest ask it.
      refusal, refusals: likeness of the nearest question that must be refused, and the mean of the nearest three.
      refused: share of such questions among the nearest of all.
    """

    nearest: dict[str, float]
    votes: Counter[str]
    refusal: float
    refusals: float
    refused: float


class _Alike:
    """How like a question is to a known one.

    Args:
      line: the known question.
      likeness: cosine of both.
      told: what the question says beside names.
      held: what it restricts by that the known one's plans have no mark for.
    """

    def __init__(self, line: Line, likeness: float, told: frozenset[str], held: frozenset[str]) -> None:
        known = frozenset(line.told)
        self.line, self.likeness = line, likeness
        self.alike, self.extra = len(told & known) / max(1, len(told | known)), len(known - told)
        self.unlike = len(held.symmetric_difference(line.held))
        self.score = likeness + TOLD * self.alike - HELD * self.unlike

    def features(
        self, place: int, ranked: Sequence[tuple[tuple[Plan, ...], _Alike]], around: _Around
    ) -> dict[str, float]:
        """What tells whether the reading is right, by name.

        Args:
          place: of the reading among all.
          ranked: the readings, the likest first.
          around: what stands around the question.
        """
        others = [one.score for _, one in ranked if one is not self]
        nearest = max(around.nearest.get(self.line.asked, UNLIKE), UNLIKE)
        return {
            "likeness": self.likeness - UNLIKE,
            "asked": nearest - UNLIKE,
            "other": max(around.nearest.values()) - nearest,
            "nearer": max(around.nearest.values()) - self.likeness,
            "told_alike": self.alike,
            "told_extra": float(self.extra),
            "held_unlike": float(self.unlike),
            "vote": around.votes[self.line.asked] / NEIGHBOURS,
            "place": float(place),
            "before_next": self.score - max(others, default=UNLIKE),
            "refusals": around.refusals - UNLIKE,
            "refused": around.refused,
            "rather_refusal": around.refusal - nearest,
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
    """Reads questions that are like known ones.

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

    def guesses(self, asked: Understood) -> Iterator[Guess]:
        """The readings that are sure enough, the surest first.

        Args:
          asked: the question, taken apart.
        """
        model, embedder = shipped_model(), self._embedder()
        if embedder.name != model.embedder:
            return  # vectors of another model are not comparable
        found = shipped_known().near(asked, embedder.embed_queries([masked(asked)])[0])
        for sure, near in sorted(((model(one.features), one) for one in found), key=lambda one: -one[0]):
            if sure >= model.threshold:
                yield Guess(plans=near.plans, like=near.like.text, sure=round(sure, 3))


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


def line_of(asked: Understood, plans: Sequence[Plan]) -> Line | None:
    """A known question; None where its plans hold words of it, so that they are no pattern for others.

    Args:
      asked: the question, taken apart.
      plans: what it asks; none where it must be refused, or is left to the passages.
    """
    base = Line(text=asked.text, language=asked.language, told=told_of(asked))
    if not plans:
        return base
    pattern = tuple(_pattern(one, "", asked) for one in msgspec.to_builtins(tuple(plans)))
    if any(_free(one) for one in pattern):
        return None
    return msgspec.structs.replace(base, asked=shape(plans[0])[0], plans=pattern, held=held_of(asked, pattern))


def filled(line: Line, asked: Understood) -> tuple[Plan, ...] | None:
    """The plans of a known question with the names of another; None where these do not fit.

    Args:
      line: the known question.
      asked: the other one, taken apart.
    """
    used: set[tuple[str, str]] = set()
    try:
        plans = tuple(msgspec.convert(_filled(one, asked, used), Plan, strict=False) for one in line.plans)
    except (LookupError, msgspec.ValidationError):
        return None
    covered = _places(asked, used)
    left = [one for one in asked.found if one.slot in _NAMES and covered.isdisjoint(range(one.start, one.end))]
    return None if left else plans


def _pattern(node: Any, field: str, asked: Understood) -> Any:
    """Data of a plan, in which marks stand for the names of its question."""
    if isinstance(node, dict):
        return {name: _pattern(one, name, asked) for name, one in node.items()}
    if isinstance(node, (list, tuple)):
        return [_pattern(one, field, asked) for one in node]
    if field in _FIXED or node is None or isinstance(node, bool):
        return node
    text = str(node).lower()
    for name in _DAYS:
        day = getattr(asked.days, name)
        if day is not None and str(day) == text:
            return f"{_MARK}days.{name}"
    for slots in (_NAMES, _VALUES, _WORDS):
        for slot in sorted(slots):
            values = [value.lower() for value in asked.values(slot)]
            if text in values:
                return f"{_MARK}{slot}.{values.index(text)}"
    return node


def _filled(node: Any, asked: Understood, used: set[tuple[str, str]]) -> Any:
    """The same with the names of another question; LookupError where it has none such."""
    if isinstance(node, dict):
        return {name: _filled(one, asked, used) for name, one in node.items()}
    if isinstance(node, (list, tuple)):
        return [_filled(one, asked, used) for one in node]
    if not isinstance(node, str) or not node.startswith(_MARK):
        return node
    slot, _, at = node[len(_MARK) :].partition(".")
    if slot == "days":
        day = getattr(asked.days, at)
        if day is None:
            raise LookupError(node)
        used.update((one.slot, one.value) for one in asked.found if one.slot == "days")
        return str(day)
    value = asked.values(slot)[int(at)]
    used.add((slot, value))
    return value


def _free(node: Any) -> bool:
    """Whether a plan holds words of its question, or a day that it does not name."""
    if isinstance(node, dict):
        return node.get("do") == "tables" or any(
            (name in _FREE and one) or (name in ("since", "until", "on", "off") and not str(one).startswith(_MARK))
            or _free(one)
            for name, one in node.items()
        )  # fmt: skip
    return isinstance(node, (list, tuple)) and any(map(_free, node))


def _places(asked: Understood, used: set[tuple[str, str]]) -> set[int]:
    """The places of words for these names."""
    return {place for one in asked.found if (one.slot, one.value) in used for place in range(one.start, one.end)}


def _marks(node: Any) -> Iterator[str]:
    if isinstance(node, str) and node.startswith(_MARK):
        yield node[len(_MARK) :]
    elif isinstance(node, (dict, list, tuple)):
        for one in node.values() if isinstance(node, dict) else node:
            yield from _marks(one)


def held_of(asked: Understood, plans: Sequence[Any]) -> tuple[str, ...]:
    """What a question restricts by that no mark of some plans stands for, as slot=value.

    Args:
      asked: the question, taken apart.
      plans: plans with marks.
    """
    used: set[tuple[str, str]] = set()
    for mark in _marks(plans):
        slot, _, at = mark.partition(".")
        used.update((slot, value) for number, value in enumerate(asked.values(slot)) if str(number) == at)
    covered = _places(asked, used)
    held = {f"{one.slot}={one.value}" for one in asked.found
            if one.slot in _VALUES and covered.isdisjoint(range(one.start, one.end))}  # fmt: skip
    return tuple(sorted(held))


def told_of(asked: Understood) -> tuple[str, ...]:
    """What a question says beside names, as slot=value.

    Args:
      asked: the question, taken apart.
    """
    return tuple(sorted({f"{one.slot}={one.value}" for one in asked.found if one.slot not in _UNTOLD}))


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
        return Known(vectors, msgspec.json.decode(held["lines"].tobytes(), type=list[Line]))


def packed(known: Known, scale: int) -> dict[str, Any]:
    """What is stored of known questions: vectors as whole numbers of this scale, and the lines as JSON.

    Args:
      known: the questions.
      scale: of the whole numbers.
    """
    import numpy as np

    return {
        "vectors": np.rint(known.vectors * scale).astype(np.int8),
        "scale": np.float32(scale),
        "lines": np.frombuffer(msgspec.json.encode(known.lines), dtype=np.uint8),
    }


def stored(model: Model) -> bytes:
    """The content of `likeness.json`."""
    return json.dumps(msgspec.to_builtins(model), indent=2).encode() + b"\n"
