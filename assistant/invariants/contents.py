"""The messages of a kind as columns of values, and what is true of them as bits: bit n is the n-th message or item.

Conditions are joined and counted for all messages at once by the operations of whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.classifier.material import Case
from assistant.invariants.vocabulary import Told
from energycomm.engine import terms
from energycomm.engine.codes import CodeLists
from energycomm.engine.interpretation import contexts, value_of

Bits = int
"""Bit n: of the n-th row."""

MOST_ITEMS = 12
"""Items of one message that are looked at: a curve has thousands that are alike."""


@dataclass
class Contents:
    """Messages of one market and kind, or their items.

    Attributes:
      cases: the messages.
      owners: place of the message of each row.
      columns: the values of each told value, by its text; unknown ones are None.
      accepted: the rows of accepted messages that did not turn out to be wrong.
    """

    cases: Sequence[Case]
    owners: list[int]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    accepted: Bits = 0

    @property
    def size(self) -> int:
        """How many rows."""
        return len(self.owners)

    def messages(self, rows: Bits) -> list[int]:
        """Places of the messages that some rows belong to, in order."""
        return sorted({self.owners[place] for place in places(rows)})

    def points(self, rows: Bits) -> int:
        """How many access points some rows are of."""
        return len({self.cases[self.owners[place]].access_point for place in places(rows)})


def contents_of(
    cases: Sequence[Case],
    told: Sequence[Told],
    codes: CodeLists,
    each: str | None,
    wrong: frozenset[int] = frozenset(),
) -> Contents:
    """Put messages into columns.

    Args:
      cases: messages of one market and kind, with their histories.
      told: what is said of them; the values that predicates take stand before them.
      codes: the code lists.
      each: list whose items are the rows; None: the messages themselves.
      wrong: numbers of accepted messages that turned out to be wrong; they do not count as accepted.
    """
    found = Contents(cases, [])
    rows = []
    for place, case in enumerate(cases):
        for _, context in contexts(case.message, case.history, codes, frozenset(), each)[:MOST_ITEMS]:
            rows.append(context)
            found.owners.append(place)
    found.accepted = bits(
        [not cases[owner].stored.codes and cases[owner].stored.id not in wrong for owner in found.owners]
    )
    for one in told:
        arguments = _argument_columns(one.term, found.columns)
        if arguments is None:
            column = [_asked(value_of, (one.term, context)) for context in rows]
        else:
            column = _called(one.term, arguments)
        if any(value is not None for value in column):
            found.columns[one.text] = column
    return found


def _argument_columns(term: terms.Value, columns: dict[str, list[Any]]) -> list[list[Any]] | None:
    """The columns that a predicate is asked of; None where it is to be asked of the messages themselves."""
    if not isinstance(term, terms.Call) or term.predicate.needs_message:
        return None
    names = [one.name for one in term.arguments if isinstance(one, terms.Read)]
    if len(names) != len(term.arguments) or not all(name in columns for name in names):
        return None
    return [columns[name] for name in names]


def _called(term: terms.Value, arguments: list[list[Any]]) -> list[Any]:
    """A predicate of columns; it is asked once of equal values. What it breaks on is unknown."""
    assert isinstance(term, terms.Call)
    known: dict[tuple[Any, ...], Any] = {}
    required = [not wanted.optional for _, wanted in term.predicate.parameters]
    column = []
    for values in zip(*arguments, strict=True):
        if values not in known:
            absent = any(value is None and need for value, need in zip(values, required, strict=False))
            known[values] = None if absent else _asked(term.predicate.function, values)
        column.append(known[values])
    return column


def _asked(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    try:
        return function(*values)
    except Exception:  # a predicate may break on what no rule guards it from
        return None


def bits(values: Sequence[Any]) -> Bits:
    """The rows that are true."""
    return int("".join("1" if value else "0" for value in reversed(values)) or "0", 2)


def places(rows: Bits, most: int | None = None) -> list[int]:
    """The numbers of some rows, in order; of the first ones alone where so many are enough."""
    found: list[int] = []
    while rows and len(found) != most:
        lowest = rows & -rows
        found.append(lowest.bit_length() - 1)
        rows ^= lowest
    return found
