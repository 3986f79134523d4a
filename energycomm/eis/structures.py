"""Rows of the store as structures: each field is filled from the column that bears its name."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct

from energycomm.kernel.instants import moment

T = TypeVar("T", bound=Struct)


def filled(type_: type[T], row: Mapping[Any, Any], **known: Any) -> T:
    """A structure filled from a row. Instants are made of microseconds (see `moment`), texts of bytes in hexadecimal.

    Args:
      type_: the structure.
      row: columns by name; those that no field is named after are left out, fields without a column keep their default.
      known: fields whose values are no column's.
    """
    for name, is_instant in _fields(type_):
        if name not in known and name in row:
            value = row[name]
            if is_instant and value is not None:
                value = moment(value)
            known[name] = value.hex() if isinstance(value, bytes) else value
    return type_(**known)


@cache
def _fields(type_: type[Struct]) -> tuple[tuple[str, bool], ...]:
    """Name of each field, and whether it is an instant."""
    hints = typing.get_type_hints(type_)
    return tuple((name, datetime in (hints[name], *typing.get_args(hints[name]))) for name in type_.__struct_fields__)
