"""Sentence scores where no trained rationale model is: words in common, and nearness of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assistant.config import AssistantConfig
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.language import detect
from assistant.knowledge.lexical import tokens
from assistant.rationale.port import Question, Rationale
from energycomm.errors import UserError

LOW, HIGH = 0.78, 0.92
"""Cosines between unrelated and equal texts, as multilingual-e5-small gives them."""


class PlainScorer:
    """The mean of the share of the question's words in a sentence and of their cosine, which is scaled to 0..1."""

    name = "plain"

    def __init__(self, embedder: Embedder | None = None, threshold: float = 0.5) -> None:
        self._embedder = embedder
        self._threshold = threshold

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """A score between 0 and 1 for every sentence of every item."""
        return [self._one(item) for item in items]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """Sentences above the threshold, at least the best one."""
        chosen = []
        for scores in self.score(items):
            above = tuple(number for number, score in enumerate(scores) if score >= self._threshold)
            chosen.append(above or ((scores.index(max(scores)),) if scores else ()))
        return chosen

    def _one(self, item: Question) -> list[float]:
        asked = f"{item.question} {item.answer or ''}".strip()
        wanted = set(tokens(asked, detect(asked)))
        language = detect(" ".join(item.sentences))
        shares = [len(wanted & set(tokens(s, language))) / max(1, len(wanted)) for s in item.sentences]
        if self._embedder is None or not item.sentences:
            return shares
        cosines = self._embedder.embed_passages(list(item.sentences)) @ self._embedder.embed_queries([asked])[0]
        near = [min(1.0, max(0.0, (float(cosine) - LOW) / (HIGH - LOW))) for cosine in cosines]
        return [(share + close) / 2 for share, close in zip(shares, near, strict=True)]


def open_rationale(config: AssistantConfig, embedder: Embedder) -> Rationale:
    """The rationale model that the configuration names; the shipped one by default, the plain scorer without any.

    A file is a light model (`train-rationale`), a folder a classifier (`train-classifier`).

    Raises:
      UserError: a configured model cannot be read.
    """
    from assistant.rationale.light import Light

    if config.rationale == "plain":
        return PlainScorer(embedder)
    if config.rationale and Path(config.rationale).is_dir():
        from assistant.rationale.classifier import Classifier

        return Classifier.load(Path(config.rationale), device=config.device or "cpu")
    try:
        return Light.load(Path(config.rationale) if config.rationale else None, embedder)
    except UserError:
        if config.rationale:
            raise
        return PlainScorer(embedder)
