"""Follow-up questions: what an earlier question was about is taken along, when the new one leans on it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from assistant.knowledge.language import is_question_word
from assistant.knowledge.lexical import rule_codes

SHORT, LONG = 4, 7
"""Words that carry meaning: a question with fewer than SHORT and a pronoun leans on the one before; one that begins
with `and` does up to LONG."""

_GOES_ON = re.compile(
    r"(?i)^\s*(?:and|et|en|und|but|mais|maar|what about|how about|hoe zit|why\??$|"
    r"pourquoi\s*\?*$|waarom\??$|so|then|alors)\b"
)
_POINTS_BACK = re.compile(
    r"(?i)\b(?:it|its|that one|this one|those|these|them|they|the same|celui-ci|celle-ci|ceux-ci|cela|ça|ce dernier|"
    r"cette règle|ce cas|le même|la même|lui|dat|dit|die|deze regel|this rule|that rule|such a case|which one|"
    r"lequel|laquelle)\b"
)
_WORD = re.compile(r"[\w-]+")


class Turn(Struct, frozen=True, kw_only=True):
    """A question that was asked before, as it was understood, and the codes of the rules it was answered with."""

    understood: str
    codes: tuple[str, ...] = ()


def in_context(question: str, history: Sequence[Turn]) -> str:
    """The question with what it leans on; itself when it stands alone.

    Args:
      question: the new question.
      history: the turns before, the latest last.
    """
    if not history or rule_codes(question):
        return question
    meaning = [word for word in _WORD.findall(question) if not is_question_word(word)]
    if _GOES_ON.search(question):
        leans = len(meaning) <= LONG
    else:
        # In a longer question a pronoun mostly points at a noun of its own.
        leans = len(meaning) < (SHORT if _POINTS_BACK.search(question) else 2)
    if not leans:
        return question
    last = history[-1]
    # Long chains would drown the new question: what the last one was about is enough, it had its own context.
    return f"{last.understood[:300].rstrip(' ?')} — {question}"
