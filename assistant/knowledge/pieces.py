"""How multilingual-e5-small cuts a text into pieces of words: the likeliest ones of its vocabulary (a Unigram model).

Kudo, Subword Regularization (ACL 2018), section 3.2; normalised as SentencePiece's nmt_nfkc. It gives what the library
tokenizers gives (`tests/assistant/test_pieces.py` compares them), which needs 260 MB and a second for this vocabulary
before the first word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPACE = "\u2581"
"""Stands for the space before a word."""

UNKNOWN_BELOW = 10.0
"""How much less likely than the least likely piece a character is that is in none."""

_CONTROLS = (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)
_SPACES = (0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD)
_PLAIN: dict[int, str | None] = {**dict.fromkeys(_CONTROLS), **dict.fromkeys(_SPACES, " ")}
_BLANKS = re.compile(" {2,}")

WORDS_KEPT = 50_000


class Vocabulary(Struct, frozen=True):
    """Pieces in the order of their bytes, as they are kept: to read them all would take longer than to cut a question.

    Attributes:
      longest: letters of the longest.
      width: bytes of the longest.
      pieces: each in UTF-8, filled up with zeros to this width.
      numbers: the number of each, an int32.
    """

    longest: int
    width: int
    pieces: memoryview
    numbers: memoryview


def ordered(pieces: Sequence[str]) -> Vocabulary:
    """A vocabulary in which pieces are looked up.

    Args:
      pieces: the pieces; the place of each is its number.
    """
    import numpy as np

    written = np.array([piece.encode() for piece in pieces])
    order = np.argsort(written)
    return Vocabulary(
        longest=max(map(len, pieces)),
        width=written.itemsize,
        pieces=memoryview(written[order].tobytes()),
        numbers=memoryview(order.astype("<i4").tobytes()),
    )


class Pieces:
    """Cuts texts into pieces.

    Args:
      vocabulary: the pieces that there are.
      scores: the logarithmic probability of each, in the order of their numbers.
      unknown: the number of what is in no piece.
    """

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float] | NDArray[np.float32], unknown: int) -> None:
        import numpy as np

        self._written = np.frombuffer(vocabulary.pieces, f"S{vocabulary.width}")
        self._numbers = np.frombuffer(vocabulary.numbers, "<i4")
        self._scores = np.asarray(scores)
        self._longest = vocabulary.longest
        self._unknown = unknown
        self._unknown_score = float(self._scores.min()) - UNKNOWN_BELOW
        self._of_word = lru_cache(WORDS_KEPT)(self._cut)

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces."""
        return [number for word in words_of(text) for number in self._of_word(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The likeliest pieces of one word (Viterbi); characters in no piece, side by side, are one unknown."""
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]
        best += [(float("-inf"), 0, 0)] * len(word)
        known = self._known(word)
        for start in range(len(word)):
            before = best[start][0]
            alone = False
            for end, number, score in known[start]:
                alone = alone or end == start + 1
                if before + score > best[end][0]:
                    best[end] = (before + score, start, number)
            if not alone and before + self._unknown_score > best[start + 1][0]:
                best[start + 1] = (before + self._unknown_score, start, self._unknown)
        found: list[int] = []
        at = len(word)
        while at:
            _, start, number = best[at]
            if not (number == self._unknown and found and found[-1] == self._unknown):
                found.append(number)
            at = start
        return tuple(reversed(found))

    def _known(self, word: str) -> list[list[tuple[int, int, float]]]:
        """The pieces that stand in a word, by where they begin: end, number and score of each, the shortest first."""
        import numpy as np

        width = self._written.itemsize
        spans = [
            (start, end)
            for start in range(len(word))
            for end in range(start + 1, min(start + self._longest, len(word)) + 1)
        ]
        parts = [word[start:end].encode("utf-8", "surrogatepass") for start, end in spans]
        # An array holds no longer text than its pieces, and none with a zero at its end.
        parts = [part if len(part) <= width and part[-1] else b"" for part in parts]
        keys = np.array(parts, self._written.dtype)
        places = np.minimum(np.searchsorted(self._written, keys), len(self._written) - 1)
        found: list[list[tuple[int, int, float]]] = [[] for _ in word]
        hits = np.flatnonzero(self._written[places] == keys)
        numbers = self._numbers[places[hits]]
        for hit, number, score in zip(hits.tolist(), numbers.tolist(), self._scores[numbers].tolist(), strict=True):
            start, end = spans[hit]
            found[start].append((end, number, score))
        return found


def words_of(text: str) -> list[str]:
    """The words of a text, normalised, each with the space before it; a text begins with one."""
    plain = _BLANKS.sub(" ", unicodedata.normalize("NFKC", text.translate(_PLAIN)))
    if not plain:
        return []
    parts = plain.split(" ")
    first = parts[0] if plain[0] == " " else SPACE + parts[0]
    return [word for word in (first, *(SPACE + part for part in parts[1:])) if word]
