"""Texts of messages as rows of numbers, for the models that are no language models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

Matrix: TypeAlias = Any
Floats: TypeAlias = Any
"""Arrays: numpy's types are not known where the extra is not installed."""

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)d?"
_SPAN = re.compile(rf"^{_NUMBER}(?:\.\.{_NUMBER})?$")
HEAD = 6
"""Words at the beginning of a text: market, kind, type, the market's reason, reason, function."""


def place_of(text: str) -> str:
    """Market and kind of a text: which rules can be meant at all."""
    return " ".join(text.split(" ", 2)[:2])


class Features(Protocol):
    """Turns texts into rows of numbers."""

    def fit(self, texts: Sequence[str]) -> None:
        """Learn what to count."""

    def rows(self, texts: Sequence[str]) -> Matrix:
        """A row for each text, dense or sparse."""

    def state(self) -> dict[str, Any]:
        """Everything `restore` needs, plain values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state` was of."""


class WordCounts:
    """TF-IDF of words: every fact is one word."""

    def __init__(self, least: int = 2) -> None:
        self.least = least
        self.columns: dict[str, int] = {}
        self.weights: Floats = np.zeros(0, np.float32)

    def fit(self, texts: Sequence[str]) -> None:
        """Keep the words of at least so many texts."""
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(set(self._words(text)))
        kept = sorted(word for word, count in seen.items() if count >= self.least)
        self.columns = {word: number for number, word in enumerate(kept)}
        counts = np.asarray([seen[word] for word in kept], np.float64)
        self.weights = (np.log((1 + len(texts)) / (1 + counts)) + 1).astype(np.float32)

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Rows of length one, sparse."""
        from scipy.sparse import csr_matrix

        indices: list[int] = []
        values: list[float] = []
        ends = [0]
        for text in texts:
            counts = Counter(self.columns[word] for word in self._words(text) if word in self.columns)
            found = np.asarray([(1 + np.log(n)) * self.weights[at] for at, n in counts.items()])
            length = float(np.sqrt((found**2).sum())) or 1.0
            indices += counts
            values += (found / length).tolist()
            ends.append(len(indices))
        return csr_matrix((values, indices, ends), shape=(len(texts), len(self.columns)), dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """Words and weights."""
        return {"words": list(self.columns), "weights": self.weights.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state` was of."""
        self.columns = {word: number for number, word in enumerate(state["words"])}
        self.weights = np.asarray(state["weights"], np.float32)

    @staticmethod
    def _words(text: str) -> Iterator[str]:
        """The words; of `name=number` the sign alone, because no number comes twice."""
        for word in text.split():
            name, equals, value = word.partition("=")
            found = _SPAN.match(value) if equals else None
            if found:
                yield f"{name}={'-' if found[1].startswith('-') else '0' if float(found[1]) == 0 else '+'}"
            else:
                yield word


class Columns:
    """Numbers as numbers, words as yes or no: what trees can split on."""

    def __init__(self, least: int = 3) -> None:
        self.least = least
        self.columns: dict[str, int] = {}

    def fit(self, texts: Sequence[str]) -> None:
        """Keep the columns of at least so many texts."""
        seen: Counter[str] = Counter()
        for text in texts:
            seen.update(dict(self._cells(text)))
        kept = sorted(name for name, count in seen.items() if count >= self.least)
        self.columns = {name: number for number, name in enumerate(kept)}

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Sparse rows; an absent number is 0, told apart by the column that says that it is there."""
        from scipy.sparse import csr_matrix

        indices: list[int] = []
        values: list[float] = []
        ends = [0]
        for text in texts:
            for name, value in dict(self._cells(text)).items():
                at = self.columns.get(name)
                if at is not None:
                    indices.append(at)
                    values.append(value)
            ends.append(len(indices))
        return csr_matrix((values, indices, ends), shape=(len(texts), len(self.columns)), dtype=np.float32)

    def state(self) -> dict[str, Any]:
        """The names of the columns."""
        return {"columns": list(self.columns)}

    def restore(self, state: dict[str, Any]) -> None:
        """Become what `state` was of."""
        self.columns = {name: number for number, name in enumerate(state["columns"])}

    @staticmethod
    def _cells(text: str) -> Iterator[tuple[str, float]]:
        words = text.split()
        for number, word in enumerate(words[:HEAD]):
            yield f"{number}:{word}", 1.0
        section = ""
        for word in words[HEAD:]:
            if word == "|":
                section = ""
            elif not section:
                section = word
            elif section == "before":
                yield f"before:{word.rpartition('/')[0]}", 1.0
            else:
                name, equals, value = word.partition("=")
                found = _SPAN.match(value) if equals else None
                if found is None:
                    yield f"{section}:{word}", 1.0
                    continue
                low = float(found[1])
                yield f"{section}:{name}?", 1.0
                yield f"{section}:{name}", low
                yield f"{section}:{name}^", float(found[2]) if found[2] else low


def encoded(state: dict[str, Any]) -> bytes:
    """The state of features as JSON."""
    return msgspec.json.encode(state)
