"""The contract of loaders: list what there is, load it, ask what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Protocol

from msgspec import Struct

from assistant.knowledge.documents import Document


class Failure(Struct, frozen=True):
    """What could not be loaded, and why, in words."""

    id: str
    why: str


class Loader(Protocol):
    """One source of documents.

    A loader knows nothing of the index: `ids` tells which documents exist (those the index has beyond them are pruned),
    `load` brings them, `poll` names those that changed.

    Attributes:
      source: name of the source, stored with every document: docs, rules, confluence:OPS.
    """

    source: str

    def ids(self) -> Iterable[str]:
        """Ids of all documents that exist now."""
        ...

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The documents, all of them or those of `ids`; what cannot be read comes as a `Failure`."""
        ...

    def poll(self, since: datetime) -> Iterable[str]:
        """Ids of documents that were added or changed since an aware instant; may name too many, never too few."""
        ...


def day_of(text: str | None) -> date | None:
    """A day from an ISO date or date and time; None where there is none."""
    if not text:
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
