"""Parts of messages (registers, energies, intervals of a curve) as they are kept in one column: by field, not by part.

Each field is written once for all parts of a message: one value where all have the same, else a list. Long lists of
numbers are arrays of the differences from one to the next. The whole is compressed against a dictionary
(`energycomm.eis.packing`) and written as text, behind the number of this form:

    1BASE64 of packed [NUMBER OF PARTS, {FIELD: VALUE or [VALUE, ...] or NUMBERS, ...}] in MessagePack
    NUMBERS   digits after the point (255: whole numbers) | type code of Python's `array` | differences, little-endian

Values are those of JSON: decimal numbers, days and instants are texts. What earlier versions stored is JSON; it is read
as ever, and `energycomm eis compact` writes it anew.
"""

from __future__ import annotations

import binascii
import re
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, structs

from energycomm.eis.packing import PARTS, pack, unpack
from energycomm.kernel.shape import shape_of

P = TypeVar("P", bound=Struct)

NONE: Final = "[]"
"""No parts; JSON and this form write it alike."""
_FORM: Final = "1"
_LONG: Final = 12
"""Numbers from which an array is smaller than a list."""
_WHOLE: Final = 255
_CODES: Final = (("b", 7), ("h", 15), ("i", 31), ("q", 63))
"""Type codes of arrays -> bits of their numbers."""
_DECIMAL: Final = re.compile(r"-?[0-9]+(?:\.([0-9]+))?")

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


def array_text(parts: Sequence[Struct]) -> str:
    """Parts of a message, all of one class, as they are kept. Equal parts give equal text.

    Args:
      parts: without parts of their own.
    """
    if not parts:
        return NONE
    return _FORM + binascii.b2a_base64(pack(array_content(parts), PARTS), newline=False).decode()


def json_text(parts: Sequence[Struct]) -> str:
    """Parts as JSON, for columns that queries look into. Equal parts give equal text."""
    return msgspec.json.encode(_told(array_content(parts))).decode() if parts else NONE


def array_content(parts: Sequence[Struct]) -> bytes:
    """What of parts is compressed; there is at least one."""
    columns: dict[str, Any] = {}
    number = len(parts)
    for (name, told), values in zip(
        _fields(type(parts[0])), zip(*map(structs.astuple, parts), strict=True), strict=True
    ):
        first = values[0]
        if told is not None and (first is not None or values.count(None) < number):
            values = tuple(None if value is None else told(value) for value in values)
            first = values[0]
        if values.count(first) < number:
            columns[name] = _column(values)
        elif first is not None:
            columns[name] = first
    return _encode((number, columns))


def parts_of(stored: str) -> list[dict[str, Any]]:
    """The parts in a column, each with what it states by field: values as JSON has them.

    Raises:
      ValueError: this version does not support the form.
    """
    if stored[:1] in "[{":
        found: list[dict[str, Any]] = msgspec.json.decode(stored)
        return found
    if not stored.startswith(_FORM):
        raise ValueError("parts in a form that this version does not support")
    return _told(unpack(binascii.a2b_base64(stored[len(_FORM) :])))


def _told(content: bytes) -> list[dict[str, Any]]:
    """The parts of `array_content`."""
    number, columns = _decode(content)
    names = tuple(columns)
    lists = [_values(column, number) for column in columns.values()]
    rows = zip(*lists, strict=True) if lists else [()] * number
    whole = not any(None in one for one in lists)
    if whole:
        return [dict(zip(names, row, strict=True)) for row in rows]
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]


def parts_json(stored: str) -> str:
    """The parts in a column as JSON; equal parts give equal JSON, in whichever form they are kept."""
    return msgspec.json.encode(parts_of(stored)).decode()


def parts_as(stored: str, cls: type[P]) -> list[P]:
    """The parts in a column, of their class. Raises as `parts_of` does."""
    return msgspec.convert(parts_of(stored), list[cls])  # type: ignore[valid-type]


FORMER: Final = "substr({column}, 1, 1) = '[' AND {column} <> '[]'"
"""SQL: the condition of parts that are kept as earlier versions did, with the name of the column to be filled in."""


@cache
def _fields(cls: type[Struct]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    """Names of the fields of a part, and how values become those of JSON; None where they are.

    Raises:
      TypeError: the part has parts of its own; a mistake in a declaration.
    """
    shape = shape_of(cls)
    if shape.children:
        raise TypeError(f"{cls.__name__}: parts of parts are not kept")
    texts: dict[str, Callable[[Any], Any]] = {"decimal": str, "instant": _builtin, "day": _builtin}
    told = {one.field: texts.get(one.scalar.name) for one in shape.attributes}
    return tuple((name, told[name]) for name in cls.__struct_fields__)


def _builtin(value: object) -> str:
    text: str = msgspec.to_builtins(value)
    return text


def _column(values: tuple[Any, ...]) -> Any:
    """The values of a field that differ."""
    if len(values) < _LONG:
        return values
    first = values[0]
    if type(first) is int:
        return _numbers(values, _WHOLE) if all(type(value) is int for value in values) else values
    if type(first) is str and (found := _DECIMAL.fullmatch(first)) is not None:
        digits = len(found[1] or "")
        try:
            wholes = [int(value.replace(".", "")) for value in values]
        except (AttributeError, ValueError):  # one of them says nothing, or is no number
            return values
        if _decimals(wholes, digits) == list(values):
            return _numbers(wholes, digits)
    return values


def _numbers(values: Sequence[int], digits: int) -> Any:
    differences = [values[0], *(after - before for before, after in pairwise(values))]
    least, most = min(differences), max(differences)
    for code, bits in _CODES:
        if -(1 << bits) <= least and most < 1 << bits:
            found = array(code, differences)
            if sys.byteorder == "big":
                found.byteswap()
            return bytes((digits, ord(code))) + found.tobytes()
    return values if digits == _WHOLE else _decimals(values, digits)


def _values(column: Any, number: int) -> list[Any]:
    """A value for each part."""
    if isinstance(column, list):
        return column
    if not isinstance(column, bytes):
        return [column] * number
    differences = array(chr(column[1]), column[2:])
    if sys.byteorder == "big":
        differences.byteswap()
    wholes = list(accumulate(differences))
    return wholes if column[0] == _WHOLE else _decimals(wholes, column[0])


def _decimals(wholes: Sequence[int], digits: int) -> list[str]:
    """Decimal numbers as texts, from whole numbers of their last digit."""
    if not digits:
        return [str(whole) for whole in wholes]
    found = []
    for whole in wholes:
        text = f"{whole:0{digits + 1 + (whole < 0)}d}"
        found.append(f"{text[:-digits]}.{text[-digits:]}")
    return found
