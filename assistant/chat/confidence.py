"""How sure the assistant is that the sources answer a question: a small calibrated model, and its threshold.

The features are few and readable. The most telling one is coverage: how much of what is asked, weighed by how rare it
is in everything that is known, the evidence names. A question about sourdough shares small words with every rule and
nothing that is rare.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from msgspec import Struct

from assistant.knowledge.concepts import CONCEPT_MARK
from assistant.knowledge.lexical import CODE_MARK, Bm25, tokens
from assistant.retrieval.query import Found

FEATURES = ("coverage", "rarest", "dense", "support", "code", "shared")


class Confidence(Struct, frozen=True, kw_only=True):
    """The model.

    Attributes:
      weights: weight by feature, and `bias`.
      dense_centre: cosine that counts as 0; the embedder's cosines live in a narrow band.
      threshold: confidence below which the assistant abstains.
    """

    weights: dict[str, float]
    dense_centre: float
    threshold: float

    def __call__(self, features: dict[str, float]) -> float:
        """The confidence, 0..1."""
        total = self.weights["bias"] + sum(self.weights[name] * value for name, value in features.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@lru_cache(maxsize=1)
def shipped() -> Confidence:
    """The model that goes along with EnergyComm."""
    text = resources.files("assistant.chat").joinpath("confidence.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return Confidence(weights=content["weights"], dense_centre=content["dense_centre"], threshold=content["threshold"])


def features(
    question: str, language: str, found: Sequence[Found], evidence: Sequence[str], support: float, bm25: Bm25,
    dense_centre: float,
) -> dict[str, float]:  # fmt: skip
    """The features of an answer.

    Args:
      question: the question as it was searched.
      language: its language.
      found: what was found, best first.
      evidence: the texts that the answer rests on, with their context.
      support: the best sentence's score by the rationale model, 0..1.
      bm25: tells how rare a word is.
      dense_centre: see `Confidence`.
    """
    shared = any(item.passage.metadata.language == language for item in found[:3])
    asked = asked_tokens(question, language)
    named = {token for text in evidence for token in _all_tokens(text)}
    weights = {token: bm25.rarity(token) for token in asked}
    if not shared:
        # Across languages only codes, concepts and names can be the same.
        neutral = {token for token in asked if token[0] in (CODE_MARK, CONCEPT_MARK)}
        weights = {token: weight for token, weight in weights.items() if token in neutral or token in named}
    total = sum(weights.values())
    rarest = sorted(weights, key=lambda token: -weights[token])[:2]
    return {
        "coverage": sum(weight for token, weight in weights.items() if token in named) / total if total else 0.0,
        "rarest": sum(token in named for token in rarest) / len(rarest) if rarest else 0.0,
        "dense": max((item.dense or 0.0 for item in found), default=0.0) - dense_centre,
        "support": support,
        "code": float(any(item.by_code for item in found)),
        "shared": float(shared),
    }


def asked_tokens(question: str, language: str) -> list[str]:
    """What a question asks for: its concepts, its codes, and those of its words that name no concept."""
    found = dict.fromkeys(tokens(question, language))
    # A word that names a concept counts once, as the concept: its other forms are as good.
    words = [token for token in found if token[0] not in (CODE_MARK, CONCEPT_MARK)]
    covered = {word for word in words if _names_concept(word, question, language)}
    return [token for token in found if token not in covered]


def _names_concept(stem: str, question: str, language: str) -> bool:
    import re

    for word in re.findall(r"[^\W_]+", question):
        made = tokens(word, language)
        if stem in made and any(token[0] == CONCEPT_MARK for token in made):
            return True
    return False


def _all_tokens(text: str) -> set[str]:
    from assistant.knowledge.language import detect

    return set(tokens(text, detect(text) or "en")) | set(tokens(text, "en"))
