"""The typed tree that a rule's expression becomes: values and conditions.

Conditions are judged in three values: true, false and unknown. A comparison that reads an absent value is unknown;
``and``, ``or`` and ``not`` follow Kleene's logic (false and unknown is false, true or unknown is true); an unknown
condition never counts as a violation. `Presence` is never unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from energycomm.engine.predicates import Predicate
from energycomm.engine.valuetypes import ValueType


@dataclass(frozen=True)
class Constant:
    """A literal of the expression."""

    value: Any
    type: ValueType


@dataclass(frozen=True)
class Read:
    """A value that is read: ``("tariff",)``, ``("history", "known")``, ``("item", "value")``, ``("previous", "days")``,
    ``("particular", "text", "Nature_Evenement")``.

    Attributes:
      path: ``item`` stands for the singular of the list, whatever its name.
      name: the value as the rule writes it.
      type: its type; optional when any step of the path may be absent.
    """

    path: tuple[str, ...]
    name: str
    type: ValueType


@dataclass(frozen=True)
class Call:
    """A predicate applied to values."""

    predicate: Predicate
    arguments: tuple[Value, ...]
    type: ValueType


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers joined by ``+ - * /``."""

    operator: str
    left: Value
    right: Value
    type: ValueType


@dataclass(frozen=True)
class Count:
    """The number of items of a list."""

    operand: Read
    type: ValueType


Value: TypeAlias = Constant | Read | Call | Arithmetic | Count


@dataclass(frozen=True)
class Truth:
    """A value that is itself true or false."""

    operand: Value


@dataclass(frozen=True)
class Comparison:
    """Two values compared: ``== != < <= > >=``."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True)
class Membership:
    """A value is one of some constants."""

    operand: Value
    constants: tuple[Any, ...]


@dataclass(frozen=True)
class InList:
    """A code is in a code list of the market, on the message's day or another."""

    list: str
    operand: Value
    day: Value | None


@dataclass(frozen=True)
class HasError:
    """The message was rejected with an error code."""

    error_code: str


@dataclass(frozen=True)
class Presence:
    """A value is there."""

    operand: Value


@dataclass(frozen=True)
class Not:
    """The contrary."""

    operand: Condition


@dataclass(frozen=True)
class And:
    """Every one holds."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    """At least one holds."""

    operands: tuple[Condition, ...]


Condition: TypeAlias = Truth | Comparison | Membership | InList | HasError | Presence | Not | And | Or

ALWAYS = And(())
"""The condition that every message satisfies."""


def children(term: Value | Condition) -> tuple[Value | Condition, ...]:
    """The terms directly inside a term."""
    match term:
        case Call(arguments=inner):
            return inner
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return (left, right)
        case And(operands=parts) | Or(operands=parts):
            return parts
        case Truth(operand=inner_term) | Presence(operand=inner_term) | Not(operand=inner_term):
            return (inner_term,)
        case Membership(operand=member) | Count(operand=member):
            return (member,)
        case InList(operand=code, day=day):
            return (code,) if day is None else (code, day)
        case _:
            return ()


def reads(term: Value | Condition) -> tuple[str, ...]:
    """Names of the values that a term reads, as the rule writes them, in order and once each."""
    found: dict[str, None] = {}
    stack: list[Value | Condition] = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Read):
            found[current.name] = None
        stack.extend(reversed(children(current)))
    return tuple(found)
