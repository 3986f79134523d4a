"""Predicates of the tests' own small folder of rules."""

from __future__ import annotations

from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.predicate import predicate


@predicate
def even(number: int) -> bool:
    """Whether a number is even.

    >>> even(2), even(3)
    (True, False)
    """
    return number % 2 == 0


@predicate
def stated(text: str | None) -> str:
    """The text, or a dash where there is none.

    >>> stated(None)
    '-'
    """
    return text or "-"


@predicate
def half_of_even(number: int) -> int | None:
    """Half of an even number; unknown for an odd one.

    >>> half_of_even(6), half_of_even(7)
    (3, None)
    """
    return number // 2 if number % 2 == 0 else None


@predicate
def breaks_on(text: str, bad: str) -> bool:
    """Whether the text is another than the bad one, on which it breaks.

    >>> breaks_on("a", "b")
    True
    """
    if text == bad:
        raise ValueError(f"cannot judge {text}")
    return True


@predicate(needs_message=True)
def of_type(message: KernelMessage, market_type: str) -> bool:
    """Whether the message is of a type of the market."""
    return message.market_type == market_type
