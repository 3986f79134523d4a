"""Reads Kernel XML into messages. Anything else gives a refusal with place and reason."""

from __future__ import annotations

import re
from collections.abc import Callable
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
    Attribute,
    Child,
    Scalar,
    shape_of,
)
from energycomm.kernel.verdicts import Refusal

_INTEGER = re.compile(INTEGER_PATTERN).fullmatch
_DECIMAL = re.compile(DECIMAL_PATTERN).fullmatch
_INSTANT = re.compile(INSTANT_PATTERN).fullmatch
_DAY = re.compile(DAY_PATTERN).fullmatch
_BLANK = " \t\r\n"

Reader = Callable[[str], Any]


class _Reading(NamedTuple):
    """What is needed to read one kind or part, made once."""

    cls: type[Struct]
    attributes: dict[str, tuple[str, Reader, Attribute]]
    """Attribute name -> field, function from text to value (ValueError where it is none), declaration."""
    children: dict[str, Child]
    """Element name with namespace -> declaration."""
    required: tuple[Attribute, ...]
    required_children: tuple[Child, ...]


def decode_element(element: etree._Element, *, bounded: bool = False) -> KernelMessage | Refusal:
    """The message that a root element of Kernel XML holds, or why it holds none.

    Args:
      element: the root.
      bounded: mind the bounds of the fields too. What is stored was written under the bounds of its day, and stays
        readable when they become narrower.
    """
    name = etree.QName(element)
    kind = KINDS.get(name.localname)
    if name.namespace != NAMESPACE:
        return _refusal("NAMESPACE", f"/{name.localname}", name.namespace or "", f"namespace {NAMESPACE}")
    if kind is None:
        return _refusal("KIND", f"/{name.localname}", name.localname, "one of " + ", ".join(KINDS))
    found = _read(element, _reading_of(kind, bounded), f"/{name.localname}", bounded)
    assert isinstance(found, (KernelMessage, Refusal))
    return found


def decode_xml(xml: str | bytes, *, bounded: bool = False) -> KernelMessage | Refusal:
    """The message that a Kernel XML document holds, or why it holds none."""
    if isinstance(xml, str):
        try:
            xml = xml.encode("utf-8")
        except UnicodeEncodeError as error:
            return _refusal("SYNTAX", "", f"U+{ord(error.object[error.start]):04X}", "characters that XML can hold")
    element = parse_bytes(xml)
    return element if isinstance(element, Refusal) else decode_element(element, bounded=bounded)


def _refusal(what: str, path: str, value: str | None, expected: str) -> Refusal:
    return Refusal(code=f"KERNEL_XML_{what}", path=path, value=shorten(value), expected=expected)


def _read(element: etree._Element, reading: _Reading, path: str, bounded: bool) -> Struct | Refusal:
    """One kind or part from its element."""
    values: dict[str, Any] = {}
    known = reading.attributes
    for name, text in cast("list[tuple[str, str]]", element.items()):
        entry = known.get(name)
        if entry is None:
            return _refusal("ATTRIBUTE", f"{path}/@{name}", text, "no such attribute here")
        try:
            values[entry[0]] = entry[1](text)
        except ValueError:
            return _refusal("VALUE", f"{path}/@{name}", text, entry[2].scalar.expected())
    for attribute in reading.required:
        if attribute.field not in values:
            return _refusal("MISSING", f"{path}/@{attribute.name}", None, attribute.scalar.expected())
    if element.text and element.text.strip(_BLANK):
        return _refusal("TEXT", path, str(element.text), "no text between elements")
    for child in element:
        if child.tail and child.tail.strip(_BLANK):
            return _refusal("TEXT", path, str(child.tail), "no text between elements")
        if refusal := _read_child(child, reading, values, path, bounded):
            return refusal
    for declared in reading.required_children:
        if declared.field not in values:
            return _refusal("MISSING", f"{path}/{declared.name}", None, f"an element {declared.name}")
    for declared in reading.children.values():
        if declared.many and declared.field in values:
            values[declared.field] = tuple(values[declared.field])
    try:
        return reading.cls(**values)
    except ValueError as error:  # what its fields together must be
        return _refusal("VALUE", path, None, str(error))


def _read_child(
    child: etree._Element, reading: _Reading, values: dict[str, Any], path: str, bounded: bool
) -> Refusal | None:
    declared = reading.children.get(str(child.tag))
    if declared is None:
        name = etree.QName(child)
        allowed = ", ".join(one.name for one in reading.children.values()) or "no element"
        code = "ELEMENT" if name.namespace == NAMESPACE else "NAMESPACE"
        value = name.localname if name.namespace == NAMESPACE else name.namespace or ""
        return _refusal(code, f"{path}/{name.localname}", value, f"{allowed} of namespace {NAMESPACE}")
    held = values.setdefault(declared.field, []) if declared.many else None
    where = f"{path}/{declared.name}[{len(held) + 1}]" if held is not None else f"{path}/{declared.name}"
    if held is None and declared.field in values:
        return _refusal("ELEMENT", where, declared.name, "the element once")
    if bounded and held is not None and declared.most is not None and len(held) >= declared.most:
        return _refusal("ELEMENT", where, declared.name, f"at most {declared.most} of it")
    part = _read(child, _reading_of(declared.part, bounded), where, bounded)
    if isinstance(part, Refusal):
        return part
    if held is None:
        values[declared.field] = part
    else:
        held.append(part)
    return None


@cache
def _reading_of(cls: type[Struct], bounded: bool) -> _Reading:
    shape = shape_of(cls)
    return _Reading(
        cls,
        {one.name: (one.field, _reader_of(one.scalar, bounded), one) for one in shape.attributes},
        {f"{{{NAMESPACE}}}{one.name}": one for one in shape.children},
        tuple(one for one in shape.attributes if one.required),
        tuple(one for one in shape.children if one.required),
    )


def _reader_of(scalar: Scalar, bounded: bool) -> Reader:
    """The function that turns an attribute's text into its value; it raises ValueError where the text is none."""
    words = {word: word for word in scalar.words}

    def read_word(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return words[text]

    readers: dict[str, Reader] = {
        "text": _matching(scalar.pattern) if scalar.pattern else str,
        "word": read_word,
        "integer": _read_integer,
        "decimal": _read_decimal,
        "truth": _read_truth,
        "instant": _read_instant,
        "day": _read_day,
    }
    read = readers[scalar.name]
    return _within(scalar, read) if bounded else read


def _matching(pattern: str) -> Reader:
    matches = re.compile(pattern, re.ASCII).fullmatch

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
    if not _INTEGER(text):
        raise ValueError(text)
    return int(text)


def _read_decimal(text: str) -> Decimal:
    if not _DECIMAL(text):
        raise ValueError(text)
    return Decimal(text)


def _read_truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


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
