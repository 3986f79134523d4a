"""What the commands over outgoing things have in common: a state to list, and which of the dead go out again."""

from __future__ import annotations

from collections.abc import Sequence

from energycomm.errors import UserError


def check_state(state: str | None, states: Sequence[str], of: str) -> None:
    """Refuse a state that is none.

    Args:
      state: as it was typed; None for all.
      states: those that there are.
      of: what has them, with its article.

    Raises:
      UserError: it is none.
    """
    if state is not None and state not in states:
        raise UserError(f"{state!r} is no state of {of}.", f"States: {', '.join(states)}.")


def chosen(ids: list[int] | None, everything: bool, what: str, by: str = "ids") -> list[int] | None:
    """The dead ones that go out again; None for all.

    Args:
      ids: those that were named.
      everything: whether all are meant.
      what: their name, in the plural.
      by: what they are named by.

    Raises:
      UserError: neither or both were said.
    """
    if bool(ids) == everything:
        raise UserError(f"Name the {what}.", f"Name their {by}, or --all.")
    return None if everything else ids
