"""Lists page by page: `items`, and `next` to go on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """A piece of a list.

    Attributes:
      items: in the order of the list.
      next: the cursor of the piece after it; None at the end.
    """

    items: tuple[T, ...]
    next: str | None = None


class Acted(Struct, frozen=True, kw_only=True):
    """The result of a change.

    Attributes:
      id: of what was changed.
      state: its state now.
    """

    id: int
    state: str


class Counted(Struct, frozen=True, kw_only=True):
    """How many things a change touched, and which.

    Attributes:
      asked: how many were named.
      done: those that were changed.
    """

    asked: int
    done: tuple[int, ...]


def page_of(found: Sequence[T], limit: int, place: Callable[[T], object]) -> Page[T]:
    """A page of a list of which one more than the page was asked for.

    Args:
      found: at most `limit` + 1 things.
      limit: how many a page holds.
      place: what the cursor says of a thing: the next page begins after it.
    """
    shown = tuple(found[:limit])
    return Page(items=shown, next=str(place(shown[-1])) if len(found) > limit else None)
