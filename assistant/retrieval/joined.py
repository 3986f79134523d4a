"""Searching the index and the documents of a conversation as one."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Protocol

from assistant.knowledge.documents import Passage
from assistant.retrieval.query import Found, Query, best_of


class Searching(Protocol):
    """Finds passages: `assistant.retrieval.search.Search`, or several of them joined."""

    def search(self, query: Query) -> list[Found]:
        """The best passages, best first."""
        ...

    def beginnings(self, code: str) -> list[Found]:
        """The first passage of a rule in each of its languages."""
        ...

    def after(self, passage: Passage) -> Passage | None:
        """The passage behind one in its document."""
        ...


class Joined:
    """Two searches as one. Their scores are no measure for each other: they take turns.

    Args:
      first: whose best goes first.
      second: the other.
    """

    def __init__(self, first: Searching, second: Searching) -> None:
        self._both = (first, second)

    def search(self, query: Query) -> list[Found]:
        """The best passages of both, in turns."""
        turns = zip_longest(*(one.search(query) for one in self._both))
        return best_of([item for item in chain.from_iterable(turns) if item is not None], query.limit)

    def beginnings(self, code: str) -> list[Found]:
        """The first passage of a rule in each of its languages."""
        return [item for one in self._both for item in one.beginnings(code)]

    def after(self, passage: Passage) -> Passage | None:
        """The passage behind one in its document."""
        return next((found for one in self._both if (found := one.after(passage)) is not None), None)
