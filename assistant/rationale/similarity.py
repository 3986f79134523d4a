"""The unsupervised methods of the study: similarity of n-grams and of embeddings, and mixtures of methods."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.knowledge.embedding import Embedder
from assistant.rationale.choosing import Choice
from assistant.rationale.port import Question, Rationale
from assistant.rationale.terms import Weights, dot, grams, words

TOP_1 = Choice(rule="top_k", k=1, threshold=0.0)


def asked(item: Question) -> str:
    """The text that sentences are compared with: the answer where it is known (the study's task), else the question."""
    return item.answer or item.question


class NGrams:
    """Cosine of TF-IDF vectors of word n-grams, fitted on the sentences of the context only (study, appendix B).

    Args:
      choice: top-k, or a threshold; the study found .25 on its data.
      low, high: sizes of the n-grams; the study does not state its own.
    """

    def __init__(self, choice: Choice = TOP_1, *, low: int = 1, high: int = 2) -> None:
        self.name = f"n-grams {low}-{high}"
        self.choice = choice
        self._low, self._high = low, high

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Cosine of every sentence with what is asked."""
        return [self._score(item) for item in items]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        return [self.choice(scores) for scores in self.score(items)]

    def _score(self, item: Question) -> list[float]:
        weights = Weights(grams(words(sentence), self._low, self._high) for sentence in item.sentences)
        vector = weights.vector(grams(words(asked(item)), self._low, self._high))
        return [dot(vector, sentence) for sentence in weights.vectors]


class EmbeddingSimilarity:
    """Cosine of embeddings of what is asked and of each sentence.

    Args:
      choice: top-k, or a threshold; the study found .68 for SBERT and .72 for SFR on its data.
    """

    def __init__(self, embedder: Embedder, choice: Choice = TOP_1) -> None:
        self.name = f"embedding {embedder.name}"
        self.choice = choice
        self._embedder = embedder

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Cosine of every sentence with what is asked."""
        questions = list(dict.fromkeys(asked(item) for item in items))
        sentences = list(dict.fromkeys(sentence for item in items for sentence in item.sentences))
        if not sentences:
            return [[] for _ in items]
        question_vectors = dict(zip(questions, self._embedder.embed_queries(questions), strict=True))
        sentence_vectors = dict(zip(sentences, self._embedder.embed_passages(sentences), strict=True))
        return [
            [float(question_vectors[asked(item)] @ sentence_vectors[sentence]) for sentence in item.sentences]
            for item in items
        ]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        return [self.choice(scores) for scores in self.score(items)]


class Hybrid:
    """A weighted mean of methods, each scaled to 0..1 within its context, since their scores have no common scale."""

    def __init__(
        self, methods: Sequence[Rationale], choice: Choice = TOP_1, *, weights: Sequence[float] | None = None
    ) -> None:
        self._weights = tuple(weights or [1.0] * len(methods))
        if not methods or len(self._weights) != len(methods) or sum(self._weights) <= 0:
            raise ValueError("a hybrid needs methods, and one weight for each, not all 0")
        self.name = "hybrid " + " + ".join(method.name for method in methods)
        self.choice = choice
        self._methods = tuple(methods)

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """The weighted mean for every sentence."""
        return mixed([method.score(items) for method in self._methods], self._weights)

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        return [self.choice(scores) for scores in self.score(items)]


def mixed(parts: Sequence[Sequence[Sequence[float]]], weights: Sequence[float] | None = None) -> list[list[float]]:
    """The weighted mean of several methods' scores of the same items, each scaled to 0..1 within its context.

    Args:
      parts: the scores of each method.
      weights: one for each method; all alike when None.
    """
    shares = weights or [1.0] * len(parts)
    scaled = [[_scaled(scores) for scores in part] for part in parts]
    return [
        [
            sum(w * value for w, value in zip(shares, column, strict=True)) / sum(shares)
            for column in zip(*rows, strict=True)
        ]
        for rows in zip(*scaled, strict=True)
    ]


def _scaled(scores: Sequence[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
