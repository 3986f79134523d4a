"""What the commands over outgoing things have in common: which of the dead go out again."""

from __future__ import annotations

from energycomm.errors import UserError


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
