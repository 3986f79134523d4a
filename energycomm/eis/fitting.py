"""What both databases accept in a column, told before either is asked.

PostgreSQL minds the length of texts and the range of numbers, and its texts hold no U+0000; SQLite minds none of that.
What one of them would not take is not given to the other either, so that the same messages end in the same store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
    """A text as both databases hold it and a terminal shows it: control characters and halves of characters are
    written as escapes, and what is longer than `longest` characters is cut. For names that others chose and values
    that are told; a value that counts is refused instead."""
    if not text.isascii() or not text.isprintable():
        text = _UNFIT.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


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


def _bits(column: Column[Any]) -> int | None:
    return next((bits for kind, bits in _RANGES if isinstance(column.type, kind)), None)


def check(table: Table, rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...] | None = None) -> None:
    """Check rows before they are stored.

    Args:
      table: where they go.
      rows: a value for each column in the table's order, or in that of `columns`.
      columns: names of the columns.

    Raises:
      Misfit: one holds what one of the databases would refuse.
    """
    _checker(table, columns)(rows)


@cache
def _checker(table: Table, names: tuple[str, ...] | None) -> Callable[[Sequence[tuple[Any, ...]]], None]:
    """A function that checks rows of a table. It is generated: every row that is stored passes it."""
    columns = [table.columns[name] for name in names] if names else list(table.columns)
    lines = ["def check(rows):", "    for row in rows:"]
    for number, column in enumerate(columns):
        condition = _condition(column)
        if condition:
            lines.append(f"        value = row[{number}]")
            lines.append(f"        if value is not None and ({condition}): fail({number}, value)")
    lines.append("        pass")

    def fail(number: int, value: object) -> None:
        column = columns[number]
        raise Misfit(f"{table.name}.{column.name}", value, expected(column))

    scope: dict[str, Any] = {"fail": fail}
    # The source is made of nothing but numbers of our own table definitions: no input reaches it.
    exec(compile("\n".join(lines), f"<check of {table.name}>", "exec"), scope)  # noqa: S102 - as above
    checker: Callable[[Sequence[tuple[Any, ...]]], None] = scope["check"]
    return checker


def _condition(column: Column[Any]) -> str:
    """What a value must not be, as an expression. Halves of characters are left to the drivers, which both refuse
    them; so are numbers of more than eight bytes."""
    if isinstance(column.type, String):
        length = f"len(value) > {column.type.length} or " if column.type.length is not None else ""
        return f"{length}'\\0' in value"
    bits = _bits(column)
    return f"not -{1 << bits} <= value < {1 << bits}" if bits is not None and bits < 63 else ""
