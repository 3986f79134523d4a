"""Domain rows: the fields of a message that declare a column, in the table of its kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs
from sqlalchemy import BigInteger, Boolean, Column, Integer, String, Text
from sqlalchemy.types import TypeEngine

from energycomm.eis.arrays import array_text, json_text
from energycomm.eis.fitting import KEPT
from energycomm.kernel.declaration import Declared
from energycomm.kernel.family import KINDS
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.shape import Scalar, shape_of

LONGEST_WORD = 24
"""Characters of a word of a closed list."""

SEARCHED = frozenset((("grid_charge", "lines"),))
"""(Table, column) of parts that queries look into (`energycomm.invoicing.keeping`): they are kept as JSON."""

_HEAD = len(KernelMessage.__struct_fields__)
_json = msgspec.json.Encoder(decimal_format="string")


class KeptField(NamedTuple):
    """A field of a kind and the column that keeps it. `scalar` is None where it holds parts: of several, which are kept
    as arrays (`energycomm.eis.arrays`), `part` is the class; one alone is kept as JSON."""

    column: str
    field: str
    declared: Declared
    scalar: Scalar | None
    required: bool
    part: type[Struct] | None = None


@cache
def kept_fields(cls: type[KernelMessage]) -> tuple[KeptField, ...]:
    """The fields of a kind that are kept in its domain table.

    Raises:
      TypeError: a word of a closed list is longer than its column; a mistake in the declaration.
    """
    if cls.kept is None:
        return ()
    shape = shape_of(cls)
    head = {name: column for column, name in cls.kept.head.items()}
    found = []
    for one in shape.attributes:
        column = head.get(one.field, one.declared.kept)
        if column is not None:
            if any(len(word) > LONGEST_WORD for word in one.scalar.words):
                raise TypeError(f"{cls.__name__}.{one.field}: a word has more than {LONGEST_WORD} characters")
            required = one.required or one.default is not None
            found.append(KeptField(column, one.field, one.declared, one.scalar, required))
    for child in shape.children:
        if child.declared.kept is not None:
            part = child.part if child.many else None
            found.append(KeptField(child.declared.kept, child.field, child.declared, None, child.many, part))
    return tuple(found)


def columns(table: str) -> list[Column[Any]]:
    """The columns of a domain table that keep fields of messages, from the declarations of its kinds.

    Raises:
      TypeError: two kinds keep values of different types in one column; a mistake in the declaration.
    """
    kinds = [cls for cls in KINDS.values() if cls.kept is not None and cls.kept.table == table]
    found: dict[str, list[KeptField]] = {}
    for cls in kinds:
        for one in kept_fields(cls):
            found.setdefault(one.column, []).append(one)
    made: list[Column[Any]] = []
    for name, fields in found.items():
        types = {repr(_type(one.scalar)): _type(one.scalar) for one in fields}
        if len(types) > 1:
            raise TypeError(f"{table}.{name} cannot be {' and '.join(types)}")
        needed = len(fields) == len(kinds) and all(one.required for one in fields)
        keeping = json_text if (table, name) in SEARCHED else array_text
        info = {} if fields[0].part is None else {KEPT: keeping}
        made.append(Column(name, next(iter(types.values())), nullable=not needed, info=info))
    if any(cls.kept is not None and cls.kept.whole for cls in kinds):
        made.append(Column("content", Text, nullable=False, comment="All fields of the message, JSON."))
    return made


def _type(scalar: Scalar | None) -> TypeEngine[Any]:
    if scalar is None:
        return Text()
    if scalar.name == "integer":
        return Integer() if -(1 << 31) <= int(scalar.least or 0) <= int(scalar.most or 0) < 1 << 31 else BigInteger()
    if scalar.name == "decimal":
        return String((scalar.whole or 0) + (scalar.fraction or 0) + 2)  # with sign and point
    kinds: dict[str, TypeEngine[Any]] = {
        "text": String(scalar.longest),
        "word": String(LONGEST_WORD),
        "truth": Boolean(),
        "instant": BigInteger(),
        "day": String(10),
    }
    return kinds[scalar.name]


def row_of(message: KernelMessage) -> dict[str, Any]:
    """The kept fields of a message by column, in stored form; several parts as they are, until their row is stored."""
    return _maker(type(message))(message)


@cache
def _maker(cls: type[KernelMessage]) -> Callable[[KernelMessage], dict[str, Any]]:
    """The function that makes rows of a kind. It is generated: every accepted message passes it."""
    conversions: dict[str | None, Callable[[Any], Any]] = {
        "decimal": lambda value: format(value, "f"),
        "instant": micros,
        "day": lambda value: value.isoformat(),
    }
    scope: dict[str, Any] = {"own_fields": _own_fields}
    items = []
    for number, one in enumerate(kept_fields(cls)):
        value = f"m.{one.field}"
        convert = conversions.get(one.scalar.name if one.scalar else None)
        if one.scalar is None and one.part is None:
            convert = _alone
        if convert is not None:
            scope[f"c{number}"] = convert
            value = f"None if {value} is None else c{number}({value})"
        items.append(f"{one.column!r}: {value}")
    if cls.kept is not None and cls.kept.whole:
        items.append("'content': own_fields(m)")
    # The source is made of nothing but names of our own fields and columns: no input reaches it.
    made: Callable[[KernelMessage], dict[str, Any]] = eval(f"lambda m: {{{', '.join(items)}}}", scope)  # noqa: S307 - as above
    return made


def _alone(part: Struct) -> str:
    return _json.encode(part).decode()


def _own_fields(message: KernelMessage) -> str:
    """The fields of a message that are its own, not those of the head, as JSON."""
    own = zip(message.__struct_fields__[_HEAD:], structs.astuple(message)[_HEAD:], strict=True)
    return _json.encode({name: value for name, value in own if value is not None}).decode()


@cache
def array_columns(table: str) -> dict[str, type[Struct]]:
    """The columns of a table that keep parts as arrays -> the class of the parts; none of a table of anything else."""
    kinds = (cls for cls in KINDS.values() if cls.kept is not None and cls.kept.table == table)
    found = {one.column: one.part for cls in kinds for one in kept_fields(cls)}
    return {name: part for name, part in found.items() if part is not None and (table, name) not in SEARCHED}


@cache
def declarations(table: str) -> dict[str, Declared]:
    """What is declared of the columns of a domain table; none of a column that is computed."""
    kinds = (cls for cls in KINDS.values() if cls.kept is not None and cls.kept.table == table)
    return {one.column: one.declared for cls in kinds for one in kept_fields(cls)}
