"""Splitting text into sentences, with their offsets, in English, French, Dutch and German."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

_ABBREVIATIONS = (
    # Without the full stop; what is often followed by another word of the same sentence.
    "e.g i.e etc cf vs no nos art fig p pp ex env approx al resp incl excl mr mrs ms dr st vol sec chap min max "
    "par ch réf ref tél m mm mme mlle n° av apr "
    "bijv bv o.a d.w.z enz nr blz z.b d.h bzw usw u.a ca"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())

_END = re.compile(r"""[.!?…]+["'»”’)\]]*(?:[ \u00a0\u202f]»)?(?=\s|$)|\n""")
_LAST_WORD = re.compile(r"([^\s(«“\"']+)$")
_NEXT = re.compile(r"\s*([^\s])")


class Sentence(Struct, frozen=True):
    """A sentence of a text: `text[start:end]`."""

    start: int
    end: int
    text: str


def split(text: str, offset: int = 0) -> tuple[Sentence, ...]:
    """The sentences of a text, in order, without the white space around them.

    The end of a line ends a sentence too (in our documents a line is a paragraph, a list item, a table row or a line of
    code). An abbreviation, an initial, a full stop within a number or code, an ellipsis before a small letter do not.

    Args:
      text: the text.
      offset: what to add to every offset.
    """
    found: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        if match.group()[0] != "\n" and not _ends(text, match.start(), match.end()):
            continue
        _add(found, text, start, match.end(), offset)
        start = match.end()
    _add(found, text, start, len(text), offset)
    return tuple(found)


@lru_cache(maxsize=4096)
def texts(text: str) -> tuple[str, ...]:
    """The sentences of a text without their offsets."""
    return tuple(sentence.text for sentence in split(text))


def _add(found: list[Sentence], text: str, start: int, end: int, offset: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped and any(character.isalnum() for character in stripped):
        begin = start + len(piece) - len(piece.lstrip())
        found.append(Sentence(begin + offset, begin + len(stripped) + offset, stripped))


def _ends(text: str, at: int, after: int) -> bool:
    if text[at] in "!?":
        return True
    if text[at] == "…" or text[at : at + 2] == "..":
        following = _NEXT.match(text, after)
        return text[at - 1 : at + 2] != "[…]" and (following is None or following.group(1).isupper())
    word = _LAST_WORD.search(text, max(0, at - 24), at)
    last = word.group(1).lower() if word else ""
    following = _NEXT.match(text, after)
    if following is None:
        return True
    if last in ABBREVIATIONS or last.rpartition("(")[2] in ABBREVIATIONS:
        return False
    if len(last) == 1 and last.isalpha():
        return False
    if last.isdigit() and len(last) <= 2 and (at - len(last) == 0 or text[at - len(last) - 1] == "\n"):
        return False  # the number of a list item
    return not following.group(1).islower()
