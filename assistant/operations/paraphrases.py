"""Ways of saying the same: turns of phrase in three languages, put as the grammar knows them. They stand in
paraphrases.csv.

In `said`, `(a|b)` are alternatives, `?` behind them says that they may be absent, `_` is a name (a code of a rule, the
number of a message), `{market}` a word for a market, and what `<a|b>` found is kept. In `meant`, `_1` is the first that
was kept. An empty `meant` is a turn of phrase that restricts nothing.
"""

from __future__ import annotations

import csv
import re
from functools import lru_cache, partial
from importlib import resources

from assistant.operations.vocabulary import phrases

_NAME = r"(§\d+)"
_OPTIONAL = (
    (re.compile(r" ?\(([^()]*)\)\?$"), r"(?: ?(?:\1))?"),
    (re.compile(r"\(([^()]*[^() ])\)\? "), r"(?:(?:\1) )?"),
    (re.compile(r"\(([^()]*)\)\?"), r"(?:\1)?"),
)
_KEPT = re.compile(r"_(\d)")


def rephrased(tokens: list[str]) -> list[str]:
    """The words of a question, with every turn of phrase put as the grammar knows it.

    Args:
      tokens: the words, see `vocabulary.tokens_of`.
    """
    text = " ".join(tokens)
    for said, meant in _turns():
        text = said.sub(partial(_put, meant), text)
    return text.split()


def _put(meant: str, found: re.Match[str]) -> str:
    return _KEPT.sub(lambda kept: found[int(kept[1])] or "", meant)


@lru_cache(maxsize=1)
def turns() -> tuple[tuple[str, str, str], ...]:
    """The rows of paraphrases.csv: language, what is said, what is meant."""
    text = resources.files("assistant.operations").joinpath("paraphrases.csv").read_text("utf-8")
    return tuple((row["language"], row["said"], row["meant"]) for row in csv.DictReader(text.splitlines()))


@lru_cache(maxsize=1)
def _turns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_pattern(said), meant) for _, said, meant in turns())


def _pattern(said: str) -> re.Pattern[str]:
    pattern = said
    for optional, put in _OPTIONAL:
        pattern = optional.sub(put, pattern)
    pattern = re.sub(r"\((?!\?)", "(?:", pattern)
    pattern = pattern.replace("<", "(").replace(">", ")").replace("_", _NAME).replace("{market}", _market())
    return re.compile(rf"(?<!\S)(?:{pattern})(?!\S)")


@lru_cache(maxsize=1)
def _market() -> str:
    """The words for one market."""
    words = {" ".join(one.words).replace("*", r"\w*") for one in phrases()
             if one.slot == "market" and len(one.value) == 2}  # fmt: skip
    return rf"(?:(?:la|le|les|l|the) )?((?:{'|'.join(sorted(words, key=len, reverse=True))}))"
