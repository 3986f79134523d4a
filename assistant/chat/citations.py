"""Checking what a generator wrote: every citation was in the prompt, every quote and number is in its source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assistant.chat.answer import Flag, Highlight, Statement
from assistant.knowledge.documents import Passage
from assistant.knowledge.sentences import split

# What looks like an id in brackets; a model that makes ids up makes them up in this form too.
_CITED = re.compile(r"\[\s*([0-9A-Za-z]{6,12}(?:\s*[,;]\s*[0-9A-Za-z]{6,12})*|\d{1,2})\s*\]")
_QUOTED = re.compile(r"[“«\"]\s*([^“”«»\"]{12,}?)\s*[”»\"]")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
_SPACES = re.compile(r"\s+")
_LETTERS = re.compile(r"[^\W\d_]+")

# `One` is an article in French and Dutch, and `neuf` and `elf` are other words too: they are not held against anybody.
_IN_WORDS = {
    word: figure
    for words in (
        "2:two 3:three 4:four 5:five 6:six 7:seven 8:eight 9:nine 10:ten 11:eleven 12:twelve 13:thirteen 14:fourteen "
        "15:fifteen 16:sixteen 18:eighteen 20:twenty 30:thirty 40:forty 60:sixty 100:hundred "
        "1000:thousand",
        "2:deux 3:trois 4:quatre 5:cinq 7:sept 8:huit 10:dix 11:onze 12:douze 13:treize 14:quatorze 15:quinze "
        "16:seize 20:vingt 30:trente 40:quarante 60:soixante 100:cent 1000:mille",
        "2:twee 3:drie 4:vier 5:vijf 6:zes 7:zeven 8:acht 9:negen 10:tien 12:twaalf 13:dertien 14:veertien "
        "15:vijftien 16:zestien 18:achttien 20:twintig 30:dertig 40:veertig 60:zestig 100:honderd 1000:duizend",
    )
    for figure, word in (pair.split(":") for pair in words.split())
}

LEAST_COPIED = 5
"""Words of a statement without citation that stand in a passage for it to be the source."""

_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " ", "–": "-"})


def check(
    text: str, passages: Mapping[str, Passage], *, need_citation: bool = True
) -> tuple[tuple[Statement, ...], tuple[Flag, ...]]:
    """The statements of a generated answer that stand the check.

    Args:
      text: what the generator wrote, with ids of passages between square brackets.
      passages: the passages of the prompt by id.
      need_citation: whether a statement without any citation is dropped.

    Returns:
      The statements that are left, and a flag for every kind of fault that was found.
    """
    flags: list[Flag] = []
    kept: list[Statement] = []
    for words, ids in _statements(text):
        known = tuple(dict.fromkeys(id for id in ids if id in passages))
        if len(known) < len(set(ids)):
            flags.append("citation_not_retrieved")
        known = known or _standing(words, passages)
        if not known and need_citation:
            flags.append("statement_without_source")
            continue
        sources = [passages[id] for id in known]
        quotes = [match.group(1) for match in _QUOTED.finditer(words)]
        if any(not any(stands_in(quote, source.text) for source in sources) for quote in quotes):
            flags.append("quote_not_in_source")
            continue
        if not numbers_hold(words, [f"{source.context}\n{source.text}" for source in sources]):
            flags.append("number_not_in_source")
            continue
        quoted = bool(quotes) or any(stands_in(words, source.text) for source in sources)
        kept.append(Statement(text=words, citations=known, quoted=quoted))
    return tuple(kept), tuple(dict.fromkeys(flags))


def _standing(words: str, passages: Mapping[str, Passage]) -> tuple[str, ...]:
    """The first passage in which a whole statement stands word for word: whoever copies and forgets the id cites it."""
    if len(words.split()) < LEAST_COPIED:
        return ()
    return tuple(id for id, passage in passages.items() if stands_in(words, passage.text))[:1]


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text word for word; white space and the form of quotation marks are no words."""
    return _plain(quote).strip(" .…") in _plain(text)


def numbers_hold(statement: str, sources: Sequence[str]) -> bool:
    """Whether every number of a statement stands in one of its sources, in figures or in words."""
    return _numbers(statement) <= {number for source in sources for number in _numbers(source)}


def _numbers(text: str) -> set[str]:
    found = {match.group().replace(",", ".") for match in _NUMBER.finditer(text)}
    return found | {_IN_WORDS[word] for word in _LETTERS.findall(text.casefold()) if word in _IN_WORDS}


def highlights(statement: Statement, passage: Passage) -> tuple[Highlight, ...]:
    """The sentences of a passage that a statement repeats, as spans of the document's text."""
    found = []
    quotes = [match.group(1) for match in _QUOTED.finditer(statement.text)] or [statement.text]
    for sentence in split(passage.text, passage.start):
        if any(stands_in(quote, sentence.text) or stands_in(sentence.text, quote) for quote in quotes):
            found.append(Highlight(start=sentence.start, end=sentence.end, text=sentence.text))
    return tuple(found)


def _statements(text: str) -> list[tuple[str, list[str]]]:
    """Sentences with the ids that they cite; a citation after the full stop belongs to the sentence before it."""
    found: list[tuple[str, list[str]]] = []
    for sentence in split(re.sub(r"([.!?])(\s*\[[^\]]+\])", r"\2\1", text)):
        ids = [id.strip() for match in _CITED.finditer(sentence.text) for id in re.split(r"[,;]", match.group(1))]
        words = _SPACES.sub(" ", _CITED.sub("", sentence.text)).replace(" .", ".").strip()
        if any(character.isalnum() for character in words):
            found.append((words, ids))
        elif found and ids:
            found[-1][1].extend(ids)
    return found


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text.translate(_MARKS)).strip().casefold()
