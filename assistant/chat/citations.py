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


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text word for word; white space and the form of quotation marks are no words."""
    return _plain(quote).strip(" .…") in _plain(text)


def numbers_hold(statement: str, sources: Sequence[str]) -> bool:
    """Whether every number of a statement stands in one of its sources."""
    there = {match.group().replace(",", ".") for source in sources for match in _NUMBER.finditer(source)}
    return all(match.group().replace(",", ".") in there for match in _NUMBER.finditer(statement))


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
