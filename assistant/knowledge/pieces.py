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

SPACE = "\u2581"
"""Stands for the space before a word."""

UNKNOWN_BELOW = 10.0
"""How much less likely than the least likely piece a character is that is in none."""

_CONTROLS = (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)
_SPACES = (0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD)
_PLAIN: dict[int, str | None] = {**dict.fromkeys(_CONTROLS), **dict.fromkeys(_SPACES, " ")}
_BLANKS = re.compile(" {2,}")

WORDS_KEPT = 50_000


class Pieces:
    """Cuts texts into pieces.

    Args:
      vocabulary: the pieces; the place of each is its number.
      scores: the logarithmic probability of each.
      unknown: the number of what is in no piece.
    """

    def __init__(self, vocabulary: Sequence[str], scores: Sequence[float], unknown: int) -> None:
        self._numbers = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self._scores = scores
        self._longest = max(map(len, vocabulary))
        self._unknown = unknown
        self._unknown_score = min(scores) - UNKNOWN_BELOW
        self._of_word = lru_cache(WORDS_KEPT)(self._cut)

    def numbers(self, text: str) -> list[int]:
        """The numbers of a text's pieces."""
        return [number for word in words_of(text) for number in self._of_word(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The likeliest pieces of one word (Viterbi); characters in no piece, side by side, are one unknown."""
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]
        best += [(float("-inf"), 0, 0)] * len(word)
        for start in range(len(word)):
            before = best[start][0]
            alone = False
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                number = self._numbers.get(word[start:end])
                if number is not None:
                    alone = alone or end == start + 1
                    if before + self._scores[number] > best[end][0]:
                        best[end] = (before + self._scores[number], start, number)
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


def words_of(text: str) -> list[str]:
    """The words of a text, normalised, each with the space before it; a text begins with one."""
    plain = _BLANKS.sub(" ", unicodedata.normalize("NFKC", text.translate(_PLAIN)))
    if not plain:
        return []
    parts = plain.split(" ")
    first = parts[0] if plain[0] == " " else SPACE + parts[0]
    return [word for word in (first, *(SPACE + part for part in parts[1:])) if word]
