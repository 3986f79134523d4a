"""A question that asks two things, in its parts: each is answered, or named as one that the sources do not answer."""

from __future__ import annotations

import re

from assistant.knowledge.language import SMALL_WORDS

_ASKING = (
    r"how (?:long|often|many|much|far|do|does|is|are|can)|how|when|where|who|whom|which|what|why|"
    r"can|may|must|does|do|is it|are they|will|"
    r"comment|combien|quand|où|qui|que|quel(?:le)?s?|lequel|laquelle|pourquoi|peut-on|doit-on|est-ce|"
    r"à (?:qui|quel(?:le)?)|"
    r"hoe|hoeveel|wanneer|waar|wie|wat|welke?|waarom|mag|kan|moet"
)
_BETWEEN = re.compile(rf"(?:,?\s+(?:and|et|en)\s+|[?;]\s+)(?=(?:{_ASKING})\b)", re.IGNORECASE)
_BEGINS = re.compile(
    rf"^\W*(?:(?:in|on|by|for|from|at|to|within|à|de|pour|dans|op|voor)\s+)?(?:{_ASKING}|is|are|has|have)\b",
    re.IGNORECASE,
)

_POINTER = re.compile(
    r"\b(?:it|its|they|them|their|these|those|il|elle|ils|elles|lui|leur|het|hem|haar|ze|zij|hun|deze)\b", re.IGNORECASE
)
"""Words that stand for what the part before speaks of."""

_ONE = re.compile(r"(?i)\b(?:which|what)\s+ones?\b|\b(?:lequel|laquelle|lesquel(?:le)?s)\b")
"""What stands for the thing of which the part before asks which one."""

_THING = re.compile(
    r"(?i)\b(?:which|what|quel(?:le)?s?)\s+((?:(?!(?:is|are|do|does|did|has|have|may|must|can|will|est|sont|faut|a)\b)"
    r"[\w-]+\s+){1,3})"
)

_THOSE = re.compile(
    r"(?i)\b(?:those|that|the ones?|celles?|ceux|celui|die|dat)"
    r"(?=\s+(?:for|of|in|on|to|with|from|de|du|des|pour|van|voor)\b)"
)
"""What stands for the thing of the part before alone, without what is told of it there."""

_OF_IT = re.compile(r"(?i)\s+(?:for|of|in|on|to|with|from|by|de|du|des|pour|dans|van|voor|met)\s.*")

LEAST_WORDS = 3
"""Words of a part: what is shorter belongs to the part before it."""


def parts_of(question: str) -> tuple[str, ...]:
    """The parts of a question, each as a question; the question itself where it asks one thing."""
    pieces = [piece.strip(" ,;") for piece in _BETWEEN.split(question.strip().rstrip("?").strip())]
    if len(pieces) < 2 or not _BEGINS.match(question) or any(len(piece.split()) < LEAST_WORDS for piece in pieces):
        return (question,)
    return tuple(f"{piece[0].upper()}{piece[1:]}?" for piece in pieces)


def in_full(part: str, first: str, language: str) -> str:
    """A part as it is searched: what stands for the subject of the first part is replaced by the words of that part.

    Args:
      part: the part.
      first: the first part of the question.
      language: of the question.
    """
    if part == first:
        return part
    thing = _THING.search(first)
    if thing is not None and _ONE.search(part):
        return _ONE.sub(thing.group().strip(), part, count=1)
    if _THOSE.search(part):
        return _THOSE.sub(_OF_IT.sub("", _BEGINS.sub("", first).rstrip("?")).strip(), part, count=1)
    if not _POINTER.search(part) or _POINTER.search(first):
        return part
    said = _BEGINS.sub("", first).rstrip("?")
    words = [word for word in said.split() if word.casefold() not in SMALL_WORDS.get(language, ())]
    return _POINTER.sub(" ".join(words), part, count=1)
