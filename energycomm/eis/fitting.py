"""The limits of both databases for a column, checked before a row is written.

PostgreSQL minds the length of texts and the range of numbers, and its texts hold no U+0000; SQLite minds none of that.
What one of them would not take is not given to the other either, so that the same messages end in the same store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, SmallInteger, String, Table

_RANGES: tuple[tuple[type[Any], int], ...] = ((SmallInteger, 15), (BigInteger, 63), (Integer, 31))
"""Type of a column -> bits of its numbers; the more special type first."""

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Misfit(ValueError):
    """A value that a column of one of the databases does not hold.

    Attributes:
      column: table and column.
      value: the value found, shortened.
      expected: what the column holds.
    """

    def __init__(self, column: str, value: object, expected: str) -> None:
        self.column, self.value, self.expected = column, storable(str(value), 120), expected
        super().__init__(f"{column}: found {self.value!r}, expected {expected}")


def storable(text: str, longest: int) -> str:
    """A text that both databases can store and a terminal can show: control characters and halves of characters are
    written as escapes, and what is longer than `longest` characters is cut. For names that others chose and values
    that are told; a value that counts is refused instead."""
    if not text.isascii() or not text.isprintable():
        text = _UNFIT.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def comparable(text: str) -> str:
    """A text that both databases can compare with: neither NUL nor half a character.

    Raises:
      ValueError: it is none.
    """
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ValueError("holds a character that no text may hold")
    return text


def expected(column: Column[Any]) -> str:
    """In words, what a column holds."""
    kind = column.type
    if isinstance(kind, String):
        return f"text of at most {kind.length} characters, without U+0000" if kind.length else "text without U+0000"
    bits = _bits(column)
    if bits is not None:
        return f"a whole number from {-(1 << bits)} to {(1 << bits) - 1}"
    if isinstance(kind, LargeBinary):
        return "bytes"
    return str(kind)


def fits(column: Column[Any], value: object) -> bool:
    """Whether both databases hold a value in a column, as far as its content goes."""
    if value is None:
        return bool(column.nullable)
    kind = column.type
    if isinstance(kind, String):
        if not isinstance(value, str) or "\x00" in value or (kind.length is not None and len(value) > kind.length):
            return False
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True
    bits = _bits(column)
    if bits is not None:
        return isinstance(value, int) and -(1 << bits) <= value < 1 << bits
    return True


def all_fit(table: Table, names: Sequence[str]) -> Callable[..., bool]:
    """A function of the values of some columns, in the order of their names: whether `fits` says so of each. It is
    generated: every message that arrives passes it, and most texts are short and plain.

    Args:
      table: the table.
      names: of the columns.
    """
    scope: dict[str, Any] = {"fits": fits}
    tests = []
    for number, name in enumerate(names):
        kind, value = table.columns[name].type, f"v{number}"
        scope[f"c{number}"] = table.columns[name]
        plain = f"isinstance({value}, str) and {value}.isascii() and {value}.isprintable() and len({value})"
        longest = kind.length if isinstance(kind, String) else None
        tests.append(f"({plain} <= {longest} or fits(c{number}, {value}))" if longest else f"fits(c{number}, {value})")
    given = ", ".join(f"v{number}" for number in range(len(names)))
    # The source is made of nothing but numbers of our own table definitions: no input reaches it.
    made: Callable[..., bool] = eval(f"lambda {given}: {' and '.join(tests)}", scope)  # noqa: S307 - as above
    return made


def _bits(column: Column[Any]) -> int | None:
    return next((bits for kind, bits in _RANGES if isinstance(column.type, kind)), None)


def ordered(table: Table, rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """New rows of a table, checked, with their values in the order of its columns.

    Args:
      table: where they go.
      rows: value by name of column; a column that may be empty, or has a default, may be left out.

    Raises:
      Misfit: one holds what one of the databases would refuse.
      TypeError: one names a column that the table has not, or leaves out one that needs a value.
    """
    row_of = _row_of(table)
    return [row_of(**row) for row in rows]


def check(table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Check changed values before they are stored.

    Args:
      table: where they go.
      columns: names of the columns.
      rows: a value for each of them.

    Raises:
      Misfit: one holds what one of the databases would refuse.
    """
    checks = _checks(table, columns)
    for row in rows:
        checks(*row)


@cache
def _row_of(table: Table) -> Callable[..., tuple[Any, ...]]:
    """A function that takes the columns of a table by name, and gives a row. It is generated: every row that is stored
    passes it."""
    columns = list(table.columns)
    given = []
    for column in columns:
        default = getattr(column.default, "arg", None)
        needed = not column.nullable and default is None
        given.append(column.name if needed else f"{column.name}={default!r}")
    names = ", ".join(column.name for column in columns)
    return _made(table, columns, f"def {table.name}(*, {', '.join(given)}):", f"    return ({names},)")


@cache
def _checks(table: Table, names: tuple[str, ...]) -> Callable[..., None]:
    """A function that takes values of some columns of a table, in their order."""
    columns = [table.columns[name] for name in names]
    return _made(table, columns, f"def {table.name}({', '.join(names)}):", "    return None")


def _made(table: Table, columns: Sequence[Column[Any]], head: str, end: str) -> Callable[..., Any]:
    """A function of columns that checks each of them."""
    conditions = [(number, column.name, _condition(column)) for number, column in enumerate(columns)]
    body = [f"    if {name} is not None and ({told}): fail({n}, {name})" for n, name, told in conditions if told]

    def fail(number: int, value: object) -> None:
        column = columns[number]
        raise Misfit(f"{table.name}.{column.name}", value, expected(column))

    scope: dict[str, Any] = {"fail": fail}
    # The source is made of nothing but names and numbers of our own table definitions: no input reaches it.
    exec(compile("\n".join((head, *body, end)), f"<{table.name}>", "exec"), scope)  # noqa: S102 - as above
    made: Callable[..., Any] = scope[table.name]
    return made


def _condition(column: Column[Any]) -> str:
    """What a value must not be, as an expression. Halves of characters are left to the drivers, which both refuse
    them; so are numbers of more than eight bytes."""
    if isinstance(column.type, String):
        length = f"len({column.name}) > {column.type.length} or " if column.type.length is not None else ""
        return f"{length}'\\0' in {column.name}"
    bits = _bits(column)
    return f"not -{1 << bits} <= {column.name} < {1 << bits}" if bits is not None and bits < 63 else ""
