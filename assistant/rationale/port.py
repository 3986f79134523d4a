"""The rationale port: which sentences carry an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Question(Struct, frozen=True, kw_only=True):
    """What a rationale is wanted for.

    Attributes:
      question: the question.
      sentences: the sentences of one context, in their order.
      answer: the answer, where one is known; None when the sentences themselves are to answer.
      context: titles and table header above the sentences, for models that read them.
    """

    question: str
    sentences: tuple[str, ...]
    answer: str | None = None
    context: str = ""


class Rationale(Protocol):
    """A method that marks the sentences of a context.

    Attributes:
      name: name of the method in tables and configuration.
    """

    name: str

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """A score between 0 and 1 for every sentence of every item: how likely it carries the answer."""
        ...

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """Indexes of the chosen sentences of every item, ascending; never empty where there are sentences."""
        ...
