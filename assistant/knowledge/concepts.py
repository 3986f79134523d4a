"""The field's words in several languages: `diminue`, `goes back` and `lager` are one concept.

Texts and questions get a token for every concept that they name, so that BM25 finds a rule whose words differ from the
question's. The list is a file that the people of the field extend (`assistant/retrieval/terms.csv`).
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from functools import lru_cache
from importlib import resources

CONCEPT_MARK = "@"
"""Put before tokens that are concepts, which are the same in every language."""

_WORD = re.compile(r"[^\W_]+")
LONGEST = 3
"""Words of the longest term."""


def concepts(text: str, language: str | None) -> list[str]:
    """The concepts that a text names, each as often as it does, longer terms before the words within them.

    Args:
      text: the text.
      language: its language; without one, or with one that the list does not have, all languages are tried.
    """
    terms = _terms(language if language in ("en", "fr", "nl") else None)
    words = [fold(match.group().lower()) for match in _WORD.finditer(text)]
    found: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(LONGEST, len(words) - at), 0, -1):
            named = terms.get(" ".join(words[at : at + length]))
            if named:
                found += [CONCEPT_MARK + concept for concept in named]
                at += length - 1
                break
        at += 1
    return found


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """A word without accents: many type without them."""
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@lru_cache(maxsize=1)
def word_list() -> str:
    """The list as it is written, to be told from another one."""
    return resources.files("assistant.retrieval").joinpath("terms.csv").read_text("utf-8")


@lru_cache(maxsize=8)
def _terms(language: str | None) -> dict[str, tuple[str, ...]]:
    text = word_list()
    found: dict[str, tuple[str, ...]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        for column in (language,) if language else ("en", "fr", "nl"):
            for term in (row[column] or "").split("|"):
                key = " ".join(fold(word.lower()) for word in _WORD.findall(term))
                if key and row["concept"] not in found.get(key, ()):
                    found[key] = (*found.get(key, ()), row["concept"])
    return found
