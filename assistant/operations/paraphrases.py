"""Ways of saying the same: turns of phrase in three languages, put as the grammar knows them. They stand in
paraphrases.csv.

In `said`, `(a|b)` are alternatives, `?` behind them says that they may be absent, `_` is a name (a code of a rule, the
number of a message), `{market}` a word for a market, and what `<a|b>` found is kept. In `meant`, `_1` is the first that
was kept. An empty `meant` is a turn of phrase that restricts nothing.
"""

from __future__ import annotations

import csv
import re
from functools import cache, lru_cache, partial
from importlib import resources

from assistant.operations.vocabulary import phrases

_NAME = r"(§\d+)"
_OPTIONAL = (
    (re.compile(r" ?\(([^()]*)\)\?$"), r"(?: ?(?:\1))?"),
    (re.compile(r"\(([^()]*[^() ])\)\? "), r"(?:(?:\1) )?"),
    (re.compile(r"\(([^()]*)\)\?"), r"(?:\1)?"),
)
_KEPT = re.compile(r"_(\d)")
_GROUP = re.compile(r"[(<]([^()<>]*)[)>](\?|\*|\{0,\d\})?")
_LITERAL = re.compile(r"(?<!\\)\b[a-z0-9]+(?![?*])")
_WORDS = re.compile(r"[a-z0-9 ]+")
_PLACES = 0xE000
"""The first of the characters that stand for groups while a turn of phrase is taken apart: no text has them."""

Wanted = tuple[tuple[str, ...], ...]


def rephrased(tokens: list[str]) -> list[str]:
    """The words of a question, with every turn of phrase put as the grammar knows it.

    Args:
      tokens: the words, see `vocabulary.tokens_of`.
    """
    text = " ".join(tokens)
    for _, said, meant in turns():
        # Few of them can stand in a question, and a pattern takes a thousand times longer to compile than to rule out.
        if may_stand_in(said, text):
            text = pattern_of(said).sub(partial(_put, meant), text)
    return text.split()


def _put(meant: str, found: re.Match[str]) -> str:
    return _KEPT.sub(lambda kept: found[int(kept[1])] or "", meant)


@lru_cache(maxsize=1)
def turns() -> tuple[tuple[str, str, str], ...]:
    """The rows of paraphrases.csv: language, what is said, what is meant."""
    text = resources.files("assistant.operations").joinpath("paraphrases.csv").read_text("utf-8")
    return tuple((row["language"], row["said"], row["meant"]) for row in csv.DictReader(text.splitlines()))


def may_stand_in(said: str, text: str) -> bool:
    """Whether a text has the words without which a turn of phrase is not found in it.

    Args:
      said: the turn, as `turns` has it.
      text: the words of a question.
    """
    return all(any(word in text for word in words) for words in _wanted(said))


@cache
def _wanted(said: str) -> Wanted:
    """What a text has in which a turn of phrase is found, one of each: its words, and its plain alternatives."""
    groups: list[tuple[str, ...]] = []

    def taken(found: re.Match[str]) -> str:
        choices = tuple(choice.strip() for choice in found[1].split("|"))
        if found[2] or not all(_WORDS.fullmatch(choice) for choice in choices):
            return " "
        groups.append(choices)
        return chr(_PLACES + len(groups) - 1)

    rest, before = said, ""
    while rest != before:
        rest, before = _GROUP.sub(taken, rest), rest
    if "|" in rest:
        return ()
    return tuple((word,) for word in _LITERAL.findall(rest.replace("{market}", " "))) + tuple(
        choices for number, choices in enumerate(groups) if chr(_PLACES + number) in rest
    )


@cache
def pattern_of(said: str) -> re.Pattern[str]:
    """What finds a turn of phrase.

    Args:
      said: the turn, as `turns` has it.
    """
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
