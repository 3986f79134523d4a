"""The field's words in English, French and Dutch, and where a question has them. They stand in words.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import resources

from msgspec import Struct

from assistant.knowledge.language import is_question_word
from assistant.operations.catalogue import plain

_TOKEN = re.compile(r"[a-z0-9§_]+")


class Phrase(Struct, frozen=True):
    """Words that stand for a value of a slot; a word that ends with * stands for all that begin so."""

    slot: str
    value: str
    words: tuple[str, ...]


class Match(Struct, frozen=True, order=True):
    """Where a question has a phrase: from word `start` to before `end`."""

    start: int
    end: int
    slot: str
    value: str


def tokens_of(text: str) -> list[str]:
    """The words of a text, without accents and in small letters."""
    return _TOKEN.findall(plain(text))


@lru_cache(maxsize=1)
def phrases() -> tuple[Phrase, ...]:
    """Every phrase of words.csv, the longest first."""
    text = resources.files("assistant.operations").joinpath("words.csv").read_text("utf-8")
    found = [
        Phrase(row["slot"], row["value"], tuple(word.strip().split()))
        for row in csv.DictReader(text.splitlines())
        for word in (row["words"] or "").split(";")
        if word.strip()
    ]
    return tuple(sorted(found, key=lambda phrase: (-len(phrase.words), -sum(map(len, phrase.words)))))


@lru_cache(maxsize=1)
def _by_first() -> dict[str, tuple[Phrase, ...]]:
    """Phrases by the first two letters of their first word: a question is compared with few."""
    found: dict[str, list[Phrase]] = {}
    for phrase in phrases():
        found.setdefault(phrase.words[0].rstrip("*")[:1], []).append(phrase)
    return {letter: tuple(some) for letter, some in found.items()}


def matches(tokens: Sequence[str]) -> list[Match]:
    """Every phrase that a question has; in one slot the longest, and none inside of another."""
    found: list[Match] = []
    taken: dict[str, set[int]] = {}
    candidates = [
        Match(at, at + len(phrase.words), phrase.slot, phrase.value)
        for at, token in enumerate(tokens)
        for phrase in _by_first().get(token[:1], ())
        if _stands(phrase.words, tokens, at)
    ]
    for one in sorted(candidates, key=lambda match: (match.start - match.end, match.start)):
        places = set(range(one.start, one.end))
        if not places & taken.setdefault(one.slot, set()):
            taken[one.slot] |= places
            found.append(one)
    return sorted(found)


def _stands(words: Sequence[str], tokens: Sequence[str], at: int) -> bool:
    if at + len(words) > len(tokens):
        return False
    return all(
        token.startswith(word[:-1]) if word.endswith("*") else token == word
        for word, token in zip(words, tokens[at:], strict=False)
    )


def rest_of(tokens: Sequence[str], found: Iterable[Match]) -> tuple[str, ...]:
    """The words of a question that carry meaning and stand for nothing that is known."""
    covered = {place for one in found for place in range(one.start, one.end)}
    return tuple(
        token
        for place, token in enumerate(tokens)
        if place not in covered and not token.startswith("§") and len(token) > 1 and not is_question_word(token)
    )
