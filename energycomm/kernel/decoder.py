"""Reads Kernel XML into messages. Anything else gives a refusal with place and reason."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from lxml import etree
from msgspec import Struct

from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.safexml import parse_bytes, shorten
from energycomm.kernel.shape import (
    DAY_PATTERN,
    DECIMAL_PATTERN,
    INSTANT_PATTERN,
    INTEGER_PATTERN,
    NAMESPACE,
    Child,
    Scalar,
    shape_of,
)
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.written import Reader, Written

_INTEGER = re.compile(INTEGER_PATTERN).fullmatch
_DECIMAL = re.compile(DECIMAL_PATTERN).fullmatch
_INSTANT = re.compile(INSTANT_PATTERN).fullmatch
_DAY = re.compile(DAY_PATTERN).fullmatch
_BLANK = " \t\r\n"


class _Element(NamedTuple):
    """A child element that a kind or part may have."""

    declared: Child
    reading: _Reading
    most: int | None
    """How many of it there may be, where the bounds of the fields are minded."""


class _Reading(NamedTuple):
    """What is needed to read one kind or part, made once."""

    cls: type[Struct]
    attributes: dict[str, tuple[str, Reader]]
    """Attribute name -> field, function from text to value (KeyError or ValueError where it is none)."""
    children: dict[str, _Element]
    """Element name with namespace -> what is needed to read it."""
    required: frozenset[str]
    """Fields of the attributes that must be there."""
    required_children: frozenset[str]
    many: tuple[str, ...]
    """Fields that hold a tuple of parts."""


class _Wrong(Exception):
    """What is wrong with an element. Its path is put together on the way out, where one is needed."""

    def __init__(self, what: str, path: str, value: str | None, expected: str) -> None:
        super().__init__(what)
        self.what, self.path, self.value, self.expected = what, path, value, expected


def decode_element(element: etree._Element, *, bounded: bool = False) -> KernelMessage | Refusal:
    """The message that a root element of Kernel XML holds, or why it holds none.

    Args:
      element: the root.
      bounded: mind the bounds of the fields too. What is stored was written under the bounds of its day, and stays
        readable when they become narrower.
    """
    kind = _ROOTS.get(str(element.tag))
    if kind is None:
        name = etree.QName(element)
        if name.namespace != NAMESPACE:
            return _refusal("NAMESPACE", f"/{name.localname}", name.namespace or "", f"namespace {NAMESPACE}")
        return _refusal("KIND", f"/{name.localname}", name.localname, "one of " + ", ".join(KINDS))
    try:
        return cast(KernelMessage, _read(element, _reading_of(kind, bounded)))
    except _Wrong as wrong:
        return _refusal(wrong.what, f"/{etree.QName(element).localname}{wrong.path}", wrong.value, wrong.expected)


_ROOTS = {f"{{{NAMESPACE}}}{name}": kind for name, kind in KINDS.items()}


def decode_xml(xml: str | bytes, *, bounded: bool = False) -> KernelMessage | Refusal:
    """The message that a Kernel XML document holds, or why it holds none."""
    if isinstance(xml, str):
        if not bounded and (found := WRITTEN.message(xml)) is not None:
            return found
        try:
            xml = xml.encode("utf-8")
        except UnicodeEncodeError as error:
            return _refusal("SYNTAX", "", f"U+{ord(error.object[error.start]):04X}", "characters that XML can hold")
    element = parse_bytes(xml)
    return element if isinstance(element, Refusal) else decode_element(element, bounded=bounded)


def _refusal(what: str, path: str, value: str | None, expected: str) -> Refusal:
    return Refusal(code=f"KERNEL_XML_{what}", path=path, value=shorten(value), expected=expected)


def _read(element: etree._Element, reading: _Reading) -> Struct:
    """One kind or part from its element; raises `_Wrong`."""
    values: dict[str, Any] = {}
    attributes = reading.attributes
    name = text = ""
    try:
        for name, text in cast("list[tuple[str, str]]", element.items()):
            field, read = attributes[name]
            values[field] = read(text)
    except (KeyError, ValueError):
        raise _wrong_attribute(reading, name, text) from None
    if not reading.required <= values.keys():
        missing = next(one for one in shape_of(reading.cls).attributes if one.required and one.field not in values)
        raise _Wrong("MISSING", f"/@{missing.name}", None, missing.scalar.expected())
    if element.text and element.text.strip(_BLANK):
        raise _Wrong("TEXT", "", str(element.text), "no text between elements")
    for child in element:
        _read_child(child, reading, values)
    if not reading.required_children <= values.keys():
        absent = next(one for one in shape_of(reading.cls).children if one.required and one.field not in values)
        raise _Wrong("MISSING", f"/{absent.name}", None, f"an element {absent.name}")
    for field in reading.many:
        if field in values:
            values[field] = tuple(values[field])
    try:
        return reading.cls(**values)
    except ValueError as error:  # what its fields together must be
        raise _Wrong("VALUE", "", None, str(error)) from None


def _read_child(child: etree._Element, reading: _Reading, values: dict[str, Any]) -> None:
    """Put what a child element holds among the values of its parent; raises `_Wrong`."""
    if child.tail and child.tail.strip(_BLANK):
        raise _Wrong("TEXT", "", str(child.tail), "no text between elements")
    found = reading.children.get(str(child.tag))
    if found is None:
        raise _unknown_element(child, reading)
    declared, of_part, most = found
    held = values.setdefault(declared.field, []) if declared.many else None
    try:
        if held is None:
            if declared.field in values:
                raise _Wrong("ELEMENT", "", declared.name, "the element once")
            values[declared.field] = _read(child, of_part)
            return
        if most is not None and len(held) >= most:
            raise _Wrong("ELEMENT", "", declared.name, f"at most {most} of it")
        held.append(_read(child, of_part))
    except _Wrong as wrong:
        number = "" if held is None else f"[{len(held) + 1}]"
        wrong.path = f"/{declared.name}{number}{wrong.path}"
        raise


def _wrong_attribute(reading: _Reading, name: str, text: str) -> _Wrong:
    for declared in shape_of(reading.cls).attributes:
        if declared.name == name:
            return _Wrong("VALUE", f"/@{name}", text, declared.scalar.expected())
    return _Wrong("ATTRIBUTE", f"/@{name}", text, "no such attribute here")


def _unknown_element(child: etree._Element, reading: _Reading) -> _Wrong:
    name = etree.QName(child)
    allowed = ", ".join(one.declared.name for one in reading.children.values()) or "no element"
    code = "ELEMENT" if name.namespace == NAMESPACE else "NAMESPACE"
    value = name.localname if name.namespace == NAMESPACE else name.namespace or ""
    return _Wrong(code, f"/{name.localname}", value, f"{allowed} of namespace {NAMESPACE}")


@cache
def _reading_of(cls: type[Struct], bounded: bool) -> _Reading:
    shape = shape_of(cls)
    return _Reading(
        cls,
        {one.name: (one.field, _reader_of(one.scalar, bounded)) for one in shape.attributes},
        {
            f"{{{NAMESPACE}}}{one.name}": _Element(one, _reading_of(one.part, bounded), one.most if bounded else None)
            for one in shape.children
        },
        frozenset(one.field for one in shape.attributes if one.required),
        frozenset(one.field for one in shape.children if one.required),
        tuple(one.field for one in shape.children if one.many),
    )


def _reader_of(scalar: Scalar, bounded: bool) -> Reader:
    """The function that turns an attribute's text into its value; it raises KeyError or ValueError where the text is
    none."""
    readers: dict[str, Reader] = {
        "text": _matching(scalar.pattern) if scalar.pattern else str,
        "word": {word: word for word in scalar.words}.__getitem__,
        "integer": _read_integer,
        "decimal": _read_decimal,
        "truth": {"true": True, "false": False}.__getitem__,
        "instant": _read_instant,
        "day": _read_day,
    }
    read = readers[scalar.name]
    return _within(scalar, read) if bounded else read


def _matching(pattern: str) -> Reader:
    matches = re.compile(pattern, re.ASCII).fullmatch

    @lru_cache(1024)
    def read_text(text: str) -> str:
        if not matches(text):
            raise ValueError(text)
        return text

    return read_text


def _within(scalar: Scalar, read: Reader) -> Reader:
    """A function that reads a value and minds the bounds of its field."""

    def read_within(text: str) -> Any:
        value = read(text)
        if not scalar.holds(value):
            raise ValueError(text)
        return value

    return read_within


def _read_integer(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) <= 18) and not _INTEGER(text):
        raise ValueError(text)
    return int(text)


@lru_cache(1024)
def _read_decimal(text: str) -> Decimal:
    if not _DECIMAL(text):
        raise ValueError(text)
    return Decimal(text)


@lru_cache(1024)  # messages of one envelope share their instants
def _read_instant(text: str) -> datetime:
    if not _INSTANT(text):
        raise ValueError(text)
    return datetime.fromisoformat(text)


@lru_cache(1024)
def _read_day(text: str) -> date:
    if not _DAY(text):
        raise ValueError(text)
    return date.fromisoformat(text)


WRITTEN = Written(lambda scalar: _reader_of(scalar, bounded=False))
"""What needs no parser."""
