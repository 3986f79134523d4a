"""The field's words in English, French and Dutch, and where a question has them. They stand in words.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources

from msgspec import Struct

from assistant.knowledge.language import is_question_word
from assistant.operations.plaintext import plain

LANGUAGES = ("en", "fr", "nl")

ENDINGS = frozenset(("", "s", "es", "e", "ed", "d", "ing", "er", "ent", "ee", "ees", "en", "t", "de", "te", "n", "x"))
"""Endings of plurals and inflections in the three languages: rule and rules, rejet and rejets, wacht and wachten."""

BETWEEN = frozenset((
    "the", "a", "an", "our", "still", "yet", "already", "ever", "s",
    "le", "la", "les", "l", "un", "une", "notre", "nos", "encore", "toujours", "deja",
    "de", "het", "een", "onze", "nog", "steeds", "al", "reeds",
))  # fmt: skip
"""Small words that may stand inside a phrase: attendent encore une réponse."""

HOLDINGS = ("held", "in_place", "so_far", "runs", "keeps", "invoice_value", "any_severity")
"""Slots of what the store holds of points and invoices: elsewhere their words are like any others, the name of a list,
what a rule is about."""

TURNED = ("kind", "list", "class", "subject")
"""Slots whose English names are also said with their last word in front: a charge of the grid is a grid charge."""
TURNING = ("of", "for")

SHORTEST_STEM = 4
SHORTEST_TYPO = 5
CLOSE = 0.84
"""How alike a misspelt word and the word that is meant are at least, from 0 to 1; both begin with the same letter."""

_TOKEN = re.compile(r"[a-z0-9§_]+")


class Phrase(Struct, frozen=True):
    """Words that stand for a value of a slot.

    A word that ends with * stands for all that begin so, one that begins with * for all that end so.

    Attributes:
      slot, value: what the words stand for.
      words: one after the other.
      languages: in which they do.
    """

    slot: str
    value: str
    words: tuple[str, ...]
    languages: tuple[str, ...] = ()


class Match(Struct, frozen=True, order=True):
    """Where a question has a phrase: from word `start` to before `end`."""

    start: int
    end: int
    slot: str
    value: str
    languages: tuple[str, ...] = ()


def tokens_of(text: str) -> list[str]:
    """The words of a text, without accents and in small letters."""
    return _TOKEN.findall(plain(text))


@lru_cache(maxsize=1)
def phrases() -> tuple[Phrase, ...]:
    """Every phrase of words.csv."""
    text = resources.files("assistant.operations").joinpath("words.csv").read_text("utf-8")
    found: dict[tuple[str, str, tuple[str, ...]], tuple[str, ...]] = {}
    for row in csv.DictReader(text.splitlines()):
        for language in LANGUAGES:
            for words in filter(None, (row[language] or "").split(";")):
                key = row["slot"], row["value"], tuple(words.split())
                found[key] = (*found.get(key, ()), language)
    return tuple(Phrase(*key, languages) for key, languages in found.items())


@lru_cache(maxsize=1)
def _by_first() -> dict[str, tuple[Phrase, ...]]:
    """Phrases by the first letter of their first word: a question is compared with few."""
    found: dict[str, list[Phrase]] = {}
    for phrase in phrases():
        found.setdefault(phrase.words[0][:1], []).append(phrase)
    return {letter: tuple(some) for letter, some in found.items()}


def matches(tokens: Sequence[str]) -> list[Match]:
    """Every phrase that a question has; in one slot the longest, and none inside of another."""
    return list(_matches(tuple(tokens)))


@lru_cache(maxsize=256)
def _matches(tokens: tuple[str, ...]) -> tuple[Match, ...]:
    """As `matches`: each operation asks for the same words anew."""
    candidates = []
    for at, token in enumerate(tokens):
        for phrase in (*_by_first().get(token[:1], ()), *_by_first().get("*", ())):
            end = _end(phrase.words, tokens, at, gaps=phrase.slot != "group")
            if end and not (token in _general() and phrase.words[0] != token and phrase.words[0].isalpha()):
                exact = phrase.words == tuple(tokens[at:end])
                candidates.append((-len(phrase.words), not exact, at, end, phrase))
    for at, token in enumerate(tokens[1:-1], start=1):
        candidates += _turned(tokens, at) if token in TURNING else ()
    found: list[Match] = []
    taken: dict[str, set[int]] = {}
    for _, _, at, end, phrase in sorted(candidates, key=lambda one: one[:3]):
        places = set(range(at, end))
        if not places & taken.setdefault(phrase.slot, set()):
            taken[phrase.slot] |= places
            found.append(Match(at, end, phrase.slot, phrase.value, phrase.languages))
    more = _coordinated(tokens, found)
    named = {one.start for one in more}
    return tuple(sorted([*(one for one in found if one.slot != "intent" or one.start not in named), *more]))


JOINED = frozenset(("and", "or", "not", "et", "ou", "ni", "pas", "en", "of", "niet", "noch"))
"""Words that join two names whose rest is said once: the start and the end of supply."""


def _coordinated(tokens: Sequence[str], found: Sequence[Match]) -> list[Match]:
    """Kinds of message of which only the first word is said beside another one with the same rest."""
    kinds = [one for one in found if one.slot == "kind" and one.end - one.start > 1]
    taken = {place for one in found if one.slot == "kind" for place in range(one.start, one.end)}
    more = []
    for one in kinds:
        rest = tuple(word for word in tokens[one.start + 1 : one.end] if word not in BETWEEN)
        for place in range(max(one.start - NEAREST, 0), min(one.end + NEAREST, len(tokens))):
            between = tokens[place + 1 : one.start] if place < one.start else tokens[one.end : place]
            joined = not JOINED.isdisjoint(between) and all(word in JOINED or is_question_word(word) or word in PLACED
                                                            for word in between)  # fmt: skip
            named = place < one.start or tokens[place - 1] in BETWEEN  # and the end; not: and end in 2026
            value = _with_rest(tokens[place], rest) if joined and named and place not in taken else None
            if value is not None and value != one.value:
                more.append(Match(place, place + 1, "kind", value))
    return more


NEAREST = 5
"""Words between two names that share their rest, at most."""
PLACED = frozenset(("but", "on", "both", "mais", "sur", "maar", "over"))
"""Words that may stand there too, beside the smallest."""


def _with_rest(first: str, rest: tuple[str, ...]) -> str | None:
    """The kind whose name is a word and a rest."""
    return next(
        (
            one.value for one in phrases()
            if one.slot == "kind" and _same(one.words[0], first)
            and len(told := [word for word in one.words[1:] if word not in BETWEEN]) == len(rest)
            and all(map(_same, told, rest))
        ),
        None,
    )  # fmt: skip


def _turned(tokens: Sequence[str], at: int) -> Iterator[tuple[int, bool, int, int, Phrase]]:
    """Names of more than one word whose last word stands before an "of" at a place, and whose others behind it."""
    for phrase in _by_last().get(tokens[at - 1][:1], ()):
        *front, last = phrase.words
        end = _end(("", *front), tokens, at) if _same(last, tokens[at - 1]) else 0
        if end and not "".join(tokens[end : end + 1]).startswith("§"):  # the status of request 1 is that of one
            yield -len(phrase.words) - 1, False, at - 1, end, phrase


@lru_cache(maxsize=1)
def _by_last() -> dict[str, tuple[Phrase, ...]]:
    """Names of more than one English word by the first letter of their last one."""
    found: dict[str, list[Phrase]] = {}
    for phrase in phrases():
        if phrase.slot in TURNED and "en" in phrase.languages and len(phrase.words) > 1:
            found.setdefault(phrase.words[-1][:1], []).append(phrase)
    return {letter: tuple(some) for letter, some in found.items()}


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    """Words of no matter of their own: produce is no form of product."""
    return frozenset(phrase.words[0] for phrase in phrases() if phrase.slot == "filler" and len(phrase.words) == 1)


def _end(words: Sequence[str], tokens: Sequence[str], at: int, *, gaps: bool = True) -> int:
    """Where a phrase that begins at a place ends, with articles and the like in between; 0 where it is not there."""
    place = at
    for word in words:
        while gaps and at < place < len(tokens) and tokens[place] in BETWEEN and not _same(word, tokens[place]):
            place += 1
        if place >= len(tokens) or (word and not _same(word, tokens[place])):
            return 0
        place += 1
    return place


def _same(word: str, token: str) -> bool:
    if word == token:
        return True
    if word.endswith("*"):
        begun = word[:-1]  # an ending holds no digit: Invoice2 is no invoice
        return token.startswith(begun) and not any(sign.isdigit() for sign in token[len(begun) :])
    if word.startswith("*"):
        return token.endswith(word[1:]) and _is_word(token[: 1 - len(word)])
    return not is_question_word(token) and inflected(word, token)


def _is_word(front: str) -> bool:
    """Whether the front of a compound tells something: `validatie` of validatieregels; there are no rules of water."""
    phrases_of = _by_first().get(front[:1], ())
    return not front or any(len(one.words) == 1 and _same(one.words[0], front) for one in phrases_of)


def inflected(one: str, other: str) -> bool:
    """Whether two words are forms of one, as far as their endings tell."""
    if one[:SHORTEST_STEM] != other[:SHORTEST_STEM] or len(one) < SHORTEST_STEM:
        return False
    stem = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[stem:] in ENDINGS and other[stem:] in ENDINGS


@lru_cache(maxsize=1)
def english() -> dict[tuple[str, str], str]:
    """The first English words for each value of a slot."""
    found: dict[tuple[str, str], str] = {}
    for phrase in phrases():
        if "en" in phrase.languages:
            found.setdefault((phrase.slot, phrase.value), " ".join(word.strip("*") for word in phrase.words))
    return found


@lru_cache(maxsize=1)
def _spelt() -> dict[str, tuple[str, ...]]:
    words = {word for phrase in phrases() for part in phrase.words if len(word := part.strip("*")) >= SHORTEST_TYPO}
    found: dict[str, list[str]] = {}
    for word in sorted(words):
        found.setdefault(word[0], []).append(word)
    return {letter: tuple(some) for letter, some in found.items()}


def meant(token: str) -> str | None:
    """The word of the vocabulary that a misspelt one means; None where none is close enough."""
    if len(token) < SHORTEST_TYPO or not token.isalpha():
        return None
    known = _spelt().get(token[0], ())
    for at in range(1, len(token) - 1):  # feild: two letters are swapped
        swapped = f"{token[:at]}{token[at + 1]}{token[at]}{token[at + 2 :]}"
        if swapped != token and swapped in known:
            return swapped
    return next(iter(get_close_matches(token, known, n=1, cutoff=CLOSE)), None)


def language_of(tokens: Sequence[str], found: Iterable[Match], small: dict[str, frozenset[str]]) -> str:
    """The language of a question: that of its small words and of the field's words; English where they are even.

    Args:
      tokens: its words.
      found: phrases of the vocabulary in it.
      small: language -> its small words.
    """
    votes = {language: float(sum(token in small[language] for token in tokens)) for language in LANGUAGES}
    for one in found:
        for language in one.languages if len(one.languages) < len(LANGUAGES) else ():
            votes[language] += 1 / len(one.languages)
    return max(LANGUAGES, key=lambda language: votes[language])
