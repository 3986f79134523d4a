"""Predicates: the named functions that rules may call, and the decorator that declares them.

A predicate is a pure function in ``rules/predicates.py``. Its annotations are its contract: the rules' checks at load
read them. A parameter annotated ``X | None`` accepts an absent value and judges it itself; any other parameter that
receives an absent value makes the result unknown and the function is not called. A result of ``None`` means unknown
too. The docstring is printed in the KernelRules document; its doctest examples are run when the rules are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__energycomm_predicate__"


@dataclass(frozen=True)
class PredicateMark:
    """What the decorator notes on a function.

    Attributes:
      needs_message: the function's first parameter is the Kernel message; a rule does not write it.
    """

    needs_message: bool = False


@overload
def predicate(function: F) -> F: ...


@overload
def predicate(*, needs_message: bool = ...) -> Callable[[F], F]: ...


def predicate(function: F | None = None, *, needs_message: bool = False) -> F | Callable[[F], F]:
    """Declare a function as a predicate that rules may call by its name.

    Args:
      function: the function, when used without parentheses.
      needs_message: hand the Kernel message as a hidden first argument.

    Returns:
      The function itself, marked.
    """

    def mark(target: F) -> F:
        setattr(target, MARK, PredicateMark(needs_message=needs_message))
        return target

    return mark if function is None else mark(function)
