"""The limits of both databases for a column, checked before a row is written.

PostgreSQL minds the length of texts and the range of numbers, and its texts hold no U+0000; SQLite minds none of that.
What one of them would not take is not given to the other either, so that the same messages end in the same store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, SmallInteger, String, Table

from energycomm.cells import STEERING

_RANGES: tuple[tuple[type[Any], int], ...] = ((SmallInteger, 15), (BigInteger, 63), (Integer, 31))
"""Type of a column -> bits of its numbers; the more special type first."""

_UNFIT = re.compile(f"[{STEERING}\ud800-\udfff\ufffe\uffff]")


KEPT = "kept"
"""What `Column.info` names the function that makes the text of a column of a value that is none yet."""


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
    written as escapes, ends of lines and marks of direction too, by which a name would look like another or like a line
    of ours; what is longer than `longest` characters is cut. For names that others chose and values
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
        column, value = table.columns[name], f"v{number}"
        kind, scope[f"c{number}"] = column.type, column
        tests.append(f"fits(c{number}, {value})")
        if isinstance(kind, String) and kind.length:
            plain = f"isinstance({value}, str) and {value}.isascii() and {value}.isprintable()"
            tests[-1] = f"({plain} and len({value}) <= {kind.length} or {tests[-1]})"
        if column.nullable:
            tests[-1] = f"({value} is None or {tests[-1]})"
    given = ", ".join(f"v{number}" for number in range(len(names)))
    # The source is made of nothing but numbers of our own table definitions: no input reaches it.
    made: Callable[..., bool] = eval(f"lambda {given}: {' and '.join(tests)}", scope)  # noqa: S307 - as above
    return made


def _bits(column: Column[Any]) -> int | None:
    return next((bits for kind, bits in _RANGES if isinstance(column.type, kind)), None)


Values = Sequence[Any]
"""The values of one column in some rows, in their order."""


def ordered(table: Table, rows: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """New rows of a table with their values in the order of its columns.

    Args:
      table: where they go.
      rows: value by name of column; a column that may be empty, or has a default, may be left out.

    Raises:
      TypeError: one names a column that the table has not, or leaves out one that needs a value.
    """
    row_of = _row_of(table)
    return [row_of(**row) for row in rows]


def columns_of(table: Table, rows: Iterable[Mapping[str, Any]]) -> list[Values]:
    """New rows of a table as they may be stored: the values of each of its columns, in their order.

    Args:
      table: where they go.
      rows: as for `ordered`; there is at least one.

    Raises:
      Misfit: one holds what one of the databases would refuse.
      TypeError: as by `ordered`.
    """
    columns: list[Values] = list(zip(*ordered(table, rows), strict=True))
    check(table, _names(table), columns)
    return columns


def completed(table: Table, columns: Mapping[str, Values]) -> list[Values]:
    """`columns_of` rows that are given as columns.

    Args:
      table: where they go.
      columns: values by name of column; all have as many, one at least. A column that may be empty, or has a default,
        may be left out.

    Raises:
      Misfit: one holds what one of the databases would refuse.
      TypeError: as by `ordered`.
    """
    number = len(next(iter(columns.values())))
    first = _row_of(table)(**{name: values[0] for name, values in columns.items()})
    found = [columns.get(name) or (value,) * number for name, value in zip(_names(table), first, strict=True)]
    check(table, _names(table), found)
    return found


def check(table: Table, names: tuple[str, ...], columns: Sequence[Values]) -> None:
    """Check values before they are stored.

    Args:
      table: where they go.
      names: of the columns.
      columns: the values of each of them.

    Raises:
      Misfit: one holds what one of the databases would refuse.
    """
    for place, holds, alike in _checks(table, names):
        values = columns[place]
        told = [value for value in (set(values) if alike else values) if value is not None]
        if told and not holds(told):
            column = table.columns[names[place]]
            wrong = next(value for value in values if value is not None and not holds([value]))
            raise Misfit(f"{table.name}.{column.name}", wrong, expected(column))


@cache
def _names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


@cache
def _row_of(table: Table) -> Callable[..., tuple[Any, ...]]:
    """A function that takes the columns of a table by name, and gives a row. It is generated: every row that is stored
    passes it."""
    given = []
    for column in table.columns:
        default = getattr(column.default, "arg", None)
        needed = not column.nullable and default is None
        given.append(column.name if needed else f"{column.name}={default!r}")
    # No column has a name that begins so.
    scope = {f"_{column.name}": partial(_text, column.info[KEPT]) for column in table.columns if KEPT in column.info}
    values = (f"_{column.name}({column.name})" if KEPT in column.info else column.name for column in table.columns)
    # The source is made of nothing but names of our own table definitions: no input reaches it.
    made: Callable[..., tuple[Any, ...]] = eval(f"lambda *, {', '.join(given)}: ({', '.join(values)},)", scope)  # noqa: S307 - as above
    return made


def _text(kept: Callable[[Any], str], value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else kept(value)


Holds = Callable[[list[Any]], bool]
"""Whether a column of both databases holds each of some values, of which there is one at least."""


@cache
def _checks(table: Table, names: tuple[str, ...]) -> list[tuple[int, Holds, bool]]:
    """The places of those columns that do not hold every value of their type, what they hold, and whether rows often
    have the same value there. Halves of characters are left to the drivers, which both refuse them; so are numbers of
    more than eight bytes."""
    found: list[tuple[int, Holds, bool]] = []
    for place, name in enumerate(names):
        column = table.columns[name]
        if isinstance(column.type, String):
            found.append((place, partial(_texts_fit, column.type.length), column.type.length is not None))
        elif (bits := _bits(column)) is not None and bits < 63:
            found.append((place, partial(_numbers_fit, bits), True))
    return found


def _texts_fit(longest: int | None, texts: list[str]) -> bool:
    return "\0" not in "".join(texts) and (longest is None or max(map(len, texts)) <= longest)


def _numbers_fit(bits: int, numbers: list[int]) -> bool:
    return -(1 << bits) <= min(numbers) and max(numbers) < 1 << bits
