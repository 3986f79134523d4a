"""Every field of every kind of Kernel message at its bounds and past them, as documents that people hand in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple

from msgspec import Struct

from energycomm.kernel.family import KINDS
from energycomm.kernel.shape import Scalar, Shape, shape_of


class FieldCase(NamedTuple):
    """A document with one field at a bound (`within`) or past it."""

    name: str
    document: bytes
    within: bool


FITTING = {
    "[A-Z]{2}": "FR",
    "[A-Z]{3}": "EUR",
    "[0-9]{4}-[0-9]{2}": "2024-03",
    "[^=\\s]+": "Nature",
    "[0-9a-f]{64}": "0f" * 32,
}
"""Pattern of a text -> one that fits."""


def cases() -> Iterator[FieldCase]:
    """Every field of every kind at and past every bound."""
    for kind, cls in KINDS.items():
        least = _least(cls)
        for attribute in shape_of(cls).attributes:
            for word, value, within in _values(attribute.scalar):
                name = f"{kind}.{attribute.field} {word}"
                yield FieldCase(name, _document(kind, least | {attribute.field: value}), within)
        for child in shape_of(cls).children:
            part = _least(child.part)
            for attribute in shape_of(child.part).attributes:
                for word, value, within in _values(attribute.scalar):
                    held = part | {attribute.field: value}
                    name = f"{kind}.{child.field}.{attribute.field} {word}"
                    yield FieldCase(
                        name, _document(kind, least | {child.field: [held] if child.many else held}), within
                    )
            if child.many and child.most is not None and child.most <= 10_000:
                for number, within in ((child.most, True), (child.most + 1, False)):
                    name = f"{kind}.{child.field} {number} parts"
                    yield FieldCase(name, _document(kind, least | {child.field: [part] * number}), within)


def _document(kind: str, fields: dict[str, Any]) -> bytes:
    return json.dumps({"kind": kind} | fields).encode()


def _least(cls: type[Struct]) -> dict[str, Any]:
    """The required fields, each with a plain value."""
    shape: Shape = shape_of(cls)
    plain: dict[str, Any] = {}
    for attribute in shape.attributes:
        if attribute.required or attribute.field in ("market_type", "access_point"):
            plain[attribute.field] = _plain(attribute.scalar)
    plain.update({"market": "FR"} if "market" in {one.field for one in shape.attributes} else {})
    for child in shape.children:
        if child.required:
            plain[child.field] = [_least(child.part)] if child.many else _least(child.part)
    return plain


def _plain(scalar: Scalar) -> Any:
    if scalar.words:
        return scalar.words[0]
    if scalar.pattern:
        return FITTING[scalar.pattern]
    return {
        "text": "99000000000017"[: scalar.longest],
        "integer": 30,
        "decimal": "1.5",
        "truth": True,
        "instant": "2024-03-05T00:00:00+01:00",
        "day": "2024-03-05",
    }[scalar.name]


def _values(scalar: Scalar) -> Iterator[tuple[str, Any, bool]]:
    """Word, value, and whether it is within the bounds."""
    yield "list", ["x"], False
    if scalar.words:
        yield "word", "x" * 30, False
        return
    if scalar.name == "text" and scalar.pattern is None:
        longest = scalar.longest or 0
        yield "longest", "x" * longest, True
        yield "longest in four bytes each", "\U0001f9e8" * longest, True
        yield "too long", "x" * (longest + 1), False
        yield "much too long", "x" * 100_000, False
        yield "empty", "", False
        yield "markup", '<&">\t\r\n'[:longest], True
        for word, character in (("nul", "\x00"), ("control", "\x01"), ("half", "\ud800"), ("noncharacter", "\uffff")):
            yield word, f"a{character}", False
    elif scalar.name == "text":
        yield "other", "x", False
        yield "line end", f"{_plain(scalar)}\n", False
    elif scalar.name == "integer":
        assert isinstance(scalar.least, int)
        assert isinstance(scalar.most, int)
        yield "least", scalar.least, True
        yield "most", scalar.most, True
        yield "below", scalar.least - 1, False
        yield "above", scalar.most + 1, False
        yield "beyond eight bytes", 1 << 80, False
        yield "fraction", 1.5, False
    elif scalar.name == "decimal":
        whole, fraction = scalar.whole or 0, scalar.fraction or 0
        yield "most digits", f"-{'9' * whole}.{'9' * fraction}", True
        yield "too many before", "9" * (whole + 1), False
        yield "too many after", f"0.{'0' * fraction}1", False
        yield "exponent", "1E+400", False
        yield "no number", "NaN", False
    elif scalar.name in ("day", "instant"):
        time = "T12:00:00+00:00" if scalar.name == "instant" else ""
        least, most = (date.fromisoformat(str(bound)) for bound in (scalar.least, scalar.most))
        yield "first", f"{least}{time}", True
        yield "last", f"{most}{time}", True
        yield "before the first", f"{least - timedelta(1)}{time}", False
        if most < date.max:
            yield "after the last", f"{most + timedelta(1)}{time}", False
        yield "of no calendar", f"2024-02-30{time}", False
        yield "first of all", f"0001-01-01{time}", False
        if time:
            yield "without offset", "2024-03-05T00:00:00", False
            yield "beyond the calendar", "9999-12-31T23:59:59-14:00", False
