"""How sure the assistant is that the sources answer a question: a small calibrated model, and its threshold.

The features are few and readable. The most telling one is coverage: how much of what is asked, weighed by how rare it
is in everything that is known, the evidence names. A question about sourdough shares small words with every rule and
nothing that is rare. The languages differ by a constant: cosines lie lower in one that no document is written in, and
fewer of its words are known to stand for others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from msgspec import Struct

from assistant.knowledge.documents import Passage
from assistant.knowledge.lexical import tokens
from assistant.retrieval.asking import Asked
from assistant.retrieval.query import Found

FEATURES = ("coverage", "rarest", "named", "dense", "support", "code", "foreign")


class Confidence(Struct, frozen=True, kw_only=True):
    """The model.

    Attributes:
      weights: weight by feature, and `bias`.
      dense_centre: cosine that counts as 0; the embedder's cosines live in a narrow band.
      threshold: confidence below which the assistant abstains.
      thresholds: the same by the question's language, where enough questions were there to choose one.
      languages: what is added for a question in a language, by its code; 0 for those that are not there.
    """

    weights: dict[str, float]
    dense_centre: float
    threshold: float
    thresholds: dict[str, float] = {}
    languages: dict[str, float] = {}

    def least(self, language: str | None) -> float:
        """The confidence below which a question in a language is not answered."""
        return self.thresholds.get(language or "", self.threshold)

    def __call__(self, features: dict[str, float], language: str | None = None) -> float:
        """The confidence, 0..1.

        Args:
          features: what `features` found.
          language: the question's language.
        """
        total = self.weights["bias"] + self.languages.get(language or "", 0.0)
        total += sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=1)
def shipped() -> Confidence:
    """The model that goes along with EnergyComm."""
    text = resources.files("assistant.chat").joinpath("confidence.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return Confidence(
        weights=content["weights"], dense_centre=content["dense_centre"], threshold=content["threshold"],
        thresholds=content.get("thresholds", {}), languages=content.get("languages", {}),
    )  # fmt: skip


def features(
    asked: Asked, found: Sequence[Found], evidence: Sequence[Passage], support: float, named: float, dense_centre: float
) -> dict[str, float]:
    """The features of an answer.

    Args:
      asked: the question as it was searched, term by term.
      found: what was found, best first.
      evidence: the passages that the answer rests on.
      support: the best sentence's score by the rationale model, 0..1.
      named: share of what is asked that the sentence names which the answer begins with.
      dense_centre: see `Confidence`.
    """
    foreign = sum(item.passage.metadata.language != asked.language for item in found)
    spoken = [(passage.metadata.language, passage.embedded) for passage in evidence]
    coverage, rarest = asked.coverage([(frozenset(tokens(text, language)), language) for language, text in spoken])
    return {
        "coverage": coverage,
        "rarest": rarest,
        "named": named,
        "dense": max((item.dense or 0.0 for item in found), default=0.0) - dense_centre,
        "support": support,
        "code": float(any(item.by_code for item in found)),
        # Cosines are lower across languages, and fewer words can be compared.
        "foreign": foreign / len(found) if found else 0.0,
    }
