"""Words of a sentence as the lexical methods see them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*", re.UNICODE)
_NUMBER = re.compile(r"\d")

STEM = 5
"""Letters that are kept for the coarse match: a stem that needs no language."""

_STOP_WORDS = """
    a an and are as at be been but by can could did do does for from had has have how if in into is it its may might
    more most must no not of on or shall should so such than that the their them then there these they this those to
    was were what when where which while who whom whose why will with would you your
    au aux avec ce ces cet cette comment dans de des du elle en est et être il ils je la le les leur lui mais ne nous
    on ou où par pas pour pourquoi qu que quel quelle quelles quels qui quoi sa sans se ses si son sont sur un une vous
    aan als bij dan dat de deze die dit door een en er het hoe hun ik in is je maar met naar niet of om onder ook op
    over te tot uit van voor waarom wanneer wat we welke werd wie wordt worden ze zijn zo
    aber als am an auch auf aus bei das dass dem den der des die durch ein eine einem einen einer es für hat ich im in
    ist mit nach nicht noch oder sich sie sind um und von vor warum war was wenn wer werden wie wird wo zu zum zur
"""
# English, French, Dutch and German words that say nothing about the subject.


def fold(text: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


_FOLDED_STOP_WORDS = frozenset(fold(word) for word in _STOP_WORDS.split())


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """All words of a text, folded, in order; a code or a number with its points and hyphens is one word."""
    return tuple(_WORD.findall(fold(text)))


@lru_cache(maxsize=65536)
def content(text: str) -> tuple[str, ...]:
    """The words of a text that say something about its subject."""
    return tuple(word for word in words(text) if word not in _FOLDED_STOP_WORDS)


def stem(word: str) -> str:
    """The coarse form of a word; numbers and codes stay whole."""
    return word if _NUMBER.search(word) else word[:STEM]


def grams(tokens: Sequence[str], low: int = 1, high: int = 2) -> list[str]:
    """All n-grams of `low` to `high` words."""
    return [" ".join(tokens[i : i + size]) for size in range(low, high + 1) for i in range(len(tokens) - size + 1)]


class Weights:
    """TF-IDF as in the study (eq. B.2): tf = f/T, idf = ln(N/n) + 1, from the sentences of one context only."""

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        documents = [Counter(tokens) for tokens in sentences]
        seen: Counter[str] = Counter()
        for document in documents:
            seen.update(document.keys())
        self._idf = {term: math.log(len(documents) / count) + 1.0 for term, count in seen.items()}
        self.vectors = [self._vector(document) for document in documents]

    def vector(self, tokens: Sequence[str]) -> dict[str, float]:
        """The unit vector of another text; terms that the context does not have are dropped."""
        return self._vector(Counter(token for token in tokens if token in self._idf))

    def idf(self, term: str) -> float:
        """Weight of a term; that of a term in no sentence is the highest there is."""
        return self._idf.get(term, math.log(max(len(self.vectors), 1)) + 1.0)

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        total = sum(counts.values())
        vector = {term: count / total * self._idf[term] for term, count in counts.items()}
        norm = math.sqrt(sum(value * value for value in vector.values()))
        return {term: value / norm for term, value in vector.items()} if norm else {}


def dot(a: dict[str, float], b: dict[str, float]) -> float:
    """Product of two sparse vectors."""
    if len(b) < len(a):
        a, b = b, a
    return sum(value * b[term] for term, value in a.items() if term in b)
