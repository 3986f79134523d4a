"""Texts as they are compared: without accents, in small letters, a plural as its singular."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache


def plain(text: str) -> str:
    """A text without accents, in small letters."""
    if text.isascii():
        return text.lower()  # as below, twenty times sooner: most of a documentation
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def contains(text: str, words: Iterable[str]) -> bool:
    """Whether a text has every word, as the beginning of one of its own; a plural finds the singular."""
    there = plain(text)
    return all(re.search(rf"(?<!\w){re.escape(stem(plain(word)))}", there) for word in words)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word without the ending of its plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
