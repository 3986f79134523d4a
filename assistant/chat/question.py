"""What can be asked: words, and not too many."""

from __future__ import annotations

import re

from energycomm.errors import UserError

LONGEST_QUESTION = 2_000
"""Characters of a question."""

_WORD = re.compile(r"[^\W_]{2,}|\d")


def has_words(question: str) -> bool:
    """Whether there is a word or a number in a question."""
    return _WORD.search(question) is not None


def asked_question(question: str) -> str:
    """A question as it may be asked.

    Args:
      question: as it was typed.

    Returns:
      The question without the white space around it.

    Raises:
      UserError: it has no word, or is too long.
    """
    question = question.strip()
    if not has_words(question):
        raise UserError("The question has no word.", "Type a question, such as: What is FR-R06?")
    if len(question) > LONGEST_QUESTION:
        raise UserError(
            f"The question has {len(question)} characters; expected are at most {LONGEST_QUESTION}.",
            "Ask less at once; a document is indexed, or attached to a conversation of the web chat.",
        )
    return question
