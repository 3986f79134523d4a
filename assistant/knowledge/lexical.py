"""BM25 with tokens that know codes: E17, MIG6, C15, FR-R03 stay whole, words are stemmed in their language."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.extras import need
from assistant.knowledge.concepts import concepts, fold
from assistant.knowledge.language import SMALL_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.5, 0.75

STEMMERS = {"en": "english", "fr": "french", "nl": "dutch", "de": "german"}

_WORD = re.compile(r"[^\W_]+(?:[-_./][^\W_]+)*")
_INNER = re.compile(r"[^\W_]+")
_HAS_DIGIT = re.compile(r"\d")
_SPLIT_CODE = re.compile(r"^([a-z]{1,4})[-_. ]?([a-z]{0,2})[-_. ]?0*(\d{1,4})$")

CODE_MARK = "#"
"""Put before tokens that are codes, which are the same in every language."""

_RULE_CODE = re.compile(
    r"\b[A-Z]{2,4}[-_. ]?[A-Z]{1,2}[-_. ]?\d{2,3}\b|\b[a-z]{2,6}(?:-[a-z0-9]+){2,}\b|"
    r"\b(?:VR|BR)[.-]\d{1,3}(?:[.-]\d+)?\b",
)
_CODE = re.compile(r"\b(?:[A-Z]{1,6}[-_]?\d{1,4}[A-Z]?|\d{3}|[A-Z]{2,5}[-_][A-Z0-9]{2,})\b")


def tokens(text: str, language: str | None) -> list[str]:
    """Tokens of a text: stems of its words without small words, its codes whole, the concepts that it names.

    Args:
      text: the text.
      language: language of the text; words are not stemmed when it is unknown.
    """
    found: list[str] = concepts(text, language)
    small = SMALL_WORDS.get(language or "", frozenset())
    for match in _WORD.finditer(text):
        word = match.group()
        if _HAS_DIGIT.search(word) or "_" in word or (word.isupper() and 1 < len(word) <= 6):
            found.append(CODE_MARK + code_form(word))
            if not any(separator in word for separator in "-_./"):
                continue
        for part in _INNER.findall(word):
            lowered = part.lower()
            if lowered not in small and not (len(lowered) == 1 and lowered.isalpha()):
                found.append(fold(_stem(lowered, language or "")))
    return found


def code_form(code: str) -> str:
    """One form for all ways to write a code: FR-R03, fr_r03 and FRR3 are one."""
    lowered = code.lower()
    parts = _SPLIT_CODE.match(lowered)
    if parts:
        return f"{parts.group(1)}{parts.group(2)}{int(parts.group(3))}"
    return re.sub(r"[-_. ]", "", lowered)


def rule_codes(text: str) -> frozenset[str]:
    """Codes in a question that may name a rule: FR-R03, common-index-goes-back, VR.200; in `code_form`."""
    return frozenset(code_form(match.group()) for match in _RULE_CODE.finditer(text))


def codes(text: str) -> frozenset[str]:
    """All codes of a text, of rules, reasons, flows and formats; in `code_form`."""
    return frozenset(code_form(match.group()) for match in _CODE.finditer(text)) | rule_codes(text)


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> str:
    name = STEMMERS.get(language)
    return str(_stemmer(name).stemWord(word)) if name else word


@lru_cache(maxsize=8)
def _stemmer(name: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(name)


COLUMNS = ("data", "indices", "indptr")
"""The arrays of an index: scores, the texts that have them, and where those of each token begin."""


class Bm25:
    """A BM25 index (bm25s, Lucene's variant) of tokenised texts, in their order."""

    def __init__(
        self, index: Any, vocabulary: dict[str, int], size: int, columns: Mapping[str, Any] | None = None
    ) -> None:
        self._index = index
        self._columns = columns if columns is not None else getattr(index, "scores", {})
        self._vocabulary = vocabulary
        self.size = size

    @classmethod
    def build(cls, texts: Iterable[Sequence[str]]) -> Bm25:
        """Index texts.

        Args:
          texts: the tokens of each text; they are not kept.
        """
        need("bm25s")
        import bm25s

        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(token, len(vocabulary)) for token in text] for text in texts]
        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        if vocabulary:
            index.index((ids, vocabulary), show_progress=False)
        return cls(index, vocabulary, len(ids))

    def save(self, folder: Path) -> None:
        """Write the index to a folder."""
        if self._vocabulary:
            self._index.save(str(folder), corpus=None, show_progress=False)

    @classmethod
    def load(cls, folder: Path, size: int) -> Bm25:
        """Read an index of `size` texts that `save` wrote; nothing was written for texts without tokens."""
        import json

        import numpy as np

        if not (folder / "params.index.json").is_file():
            return cls(None, {}, size)
        # The package is not imported to read its files: what it imports costs more than they do.
        vocabulary = json.loads((folder / "vocab.index.json").read_text("utf-8"))
        columns = {name: np.load(folder / f"{name}.csc.index.npy", mmap_mode="r") for name in COLUMNS}
        return cls(None, vocabulary, size, columns)

    def scores(self, query: Sequence[str] | Mapping[str, float]) -> NDArray[np.float32]:
        """The score of every text, shape (size,).

        Args:
          query: the tokens, each counted once; or tokens with their weights.
        """
        import numpy as np

        weights = query if isinstance(query, Mapping) else dict.fromkeys(query, 1.0)
        scores = np.zeros(self.size, dtype=np.float32)
        for token, weight in weights.items():
            position = self._vocabulary.get(token)
            if position is not None:
                # The index holds, token by token, the texts that have it and what it adds to their scores.
                columns = self._columns
                start, end = int(columns["indptr"][position]), int(columns["indptr"][position + 1])
                scores[columns["indices"][start:end]] += weight * columns["data"][start:end]
        return scores

    def knows(self, token: str) -> bool:
        """Whether any text has a token."""
        return token in self._vocabulary

    def texts_with(self, token: str) -> NDArray[np.int64]:
        """The numbers of the texts that have a token."""
        import numpy as np

        position = self._vocabulary.get(token)
        if position is None:
            return np.empty(0, dtype=np.int64)
        columns = self._columns
        start, end = int(columns["indptr"][position]), int(columns["indptr"][position + 1])
        return np.asarray(columns["indices"][start:end], dtype=np.int64)

    def rarity(self, token: str) -> float:
        """How rare a token is among the texts: the logarithm of their number by those that have it."""
        position = self._vocabulary.get(token)
        if position is None:
            return math.log(self.size + 1)
        starts = self._columns["indptr"]
        return math.log((self.size + 1) / (int(starts[position + 1]) - int(starts[position]) + 0.5))
