"""The types of values in rule expressions, inferred from annotations of messages, facts and predicates."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

NUMBERS = frozenset({"int", "decimal", "float"})

_SCALARS: dict[type, str] = {
    bool: "bool",
    int: "int",
    Decimal: "decimal",
    float: "float",
    str: "str",
    date: "date",
    datetime: "datetime",
}

_NAMES = {
    "bool": "yes/no",
    "int": "whole number",
    "decimal": "decimal number",
    "float": "number",
    "str": "text",
    "date": "civil day",
    "datetime": "instant",
    "struct": "structure",
    "list": "list",
    "any": "anything",
}


@dataclass(frozen=True)
class ValueType:
    """The type of a value.

    Attributes:
      bases: the kinds of value it may be; several for a number that may be whole or decimal.
      optional: it may be absent.
      words: the only texts it may be, for closed word lists.
      struct: the structure, or the structure of a list's items.
    """

    bases: frozenset[str]
    optional: bool = False
    words: frozenset[str] | None = None
    struct: type[msgspec.Struct] | None = None

    @property
    def is_number(self) -> bool:
        """Whether every value of the type is a number."""
        return self.bases <= NUMBERS

    def __str__(self) -> str:
        if self.words is not None and len(self.words) <= 8:
            return "one of " + ", ".join(sorted(self.words))
        return " or ".join(_NAMES[base] for base in sorted(self.bases))

    def required(self) -> ValueType:
        """The same type, never absent."""
        return replace(self, optional=False)


def one(base: str, *, optional: bool = False) -> ValueType:
    """The type with a single base."""
    return ValueType(frozenset({base}), optional)


BOOL = one("bool")
TEXT = one("str")
WHOLE = one("int")


def type_of(annotation: Any) -> ValueType:
    """The type that an annotation means.

    Raises:
      TypeError: the annotation is none that expressions can handle.
    """
    if annotation is Any or annotation is object:
        return one("any", optional=True)
    if annotation in _SCALARS:
        return one(_SCALARS[annotation])
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return ValueType(frozenset({"struct"}), struct=annotation)
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return type_of(arguments[0])
    if origin is Literal:
        return ValueType(frozenset({"str"}), words=frozenset(str(word) for word in arguments))
    if origin in (tuple, list) or annotation in (tuple, list):
        item = type_of(arguments[0]) if arguments else one("any")
        return ValueType(frozenset({"list"}), struct=item.struct)
    if origin is Union or origin is types.UnionType:
        members = [type_of(argument) for argument in arguments if argument is not type(None)]
        return ValueType(
            frozenset().union(*(member.bases for member in members)),
            optional=type(None) in arguments or any(member.optional for member in members),
            words=_either(members),
            struct=members[0].struct if len(members) == 1 else None,
        )
    raise TypeError(f"{annotation!r} is no type that rules can handle")


def _either(members: list[ValueType]) -> frozenset[str] | None:
    """The words of any of some types; None where one of them is not closed."""
    words = [member.words for member in members if member.words is not None]
    return frozenset().union(*words) if words and len(words) == len(members) else None


@cache
def fields_of(struct: type[msgspec.Struct]) -> dict[str, ValueType]:
    """Name -> type of every field of a structure, in order."""
    hints = typing.get_type_hints(struct, include_extras=False)
    return {name: type_of(hints[name]) for name in struct.__struct_fields__}


def accepts(parameter: ValueType, value: ValueType) -> bool:
    """Whether a parameter takes a value (absence apart)."""
    if "any" in parameter.bases or "any" in value.bases:
        return True
    if "list" in value.bases or "struct" in value.bases:
        same_form = value.bases == parameter.bases
        return same_form and (
            parameter.struct is None or value.struct is None or issubclass(value.struct, parameter.struct)
        )
    bases = parameter.bases
    if "decimal" in bases or "float" in bases:
        bases = bases | {"int"}
    return value.bases <= bases
