"""A number with its noun, for sentences that people read: 1 message, 2 messages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun.

    Args:
      number: how many.
      noun: of one.
      plural: of any other number; the noun with an s by default.
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
