"""What the commands over outgoing things have in common: which of the dead go out again."""

from __future__ import annotations

from collections.abc import Callable

import typer

from energycomm.commands.output import say
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.counting import counted


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


def send_again(named: list[int] | None, retry: Callable[[list[int] | None], int], one: str, several: str) -> int:
    """Send dead ones again, and say of each that was named and is not dead that it stays as it is.

    Args:
      named: those that are meant; None for all.
      retry: makes those of some numbers due, or all; how many.
      one, several: what one is called, what several are.

    Returns:
      How many are due again.

    Raises:
      typer.Exit: some were named, and none of them is dead.
    """
    if named is None:
        return retry(None)
    passed_over = [number for number in dict.fromkeys(named) if not retry([number])]
    for number in passed_over:
        say(f"{one} {number} stays as it is: there is none that is dead", err=True)
    due = len(set(named)) - len(passed_over)
    if not due:
        say(f"{counted(0, one, several)} due again; --state dead lists those that are dead", err=True)
        raise typer.Exit(ExitCode.USAGE)
    return due
