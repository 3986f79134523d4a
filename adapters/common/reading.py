"""Reads the XML of one CH message once, into plain dictionaries that digesters work on. Namespaces are left behind: the
adapter has chosen the message's version by them."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from lxml import etree

from adapters.common.codes import Unreadable, refusal
from energycomm.kernel.verdicts import Refusal

Fields: TypeAlias = dict[str, Any]
"""An element's content: tag of a leaf -> its text without outer white space; tag of an element with children -> the
list of their `Fields`, ``@name`` -> value of an attribute in them. Empty elements are left out."""
TEXT = "#"
"""Name of an element's own text, where it is read with its attributes."""


@lru_cache(maxsize=4096)
def local(tag: str) -> str:
    """The local name of a tag ``{namespace}name``."""
    return tag.rpartition("}")[2]


def namespace_of(tag: str) -> str | None:
    """The namespace of a tag ``{namespace}name``, None where it has none."""
    return tag[1:].partition("}")[0] if tag.startswith("{") else None


def read(element: etree._Element) -> Fields:
    """The content of an element, touching every element below it once.

    Raises:
      Unreadable: a leaf stands twice in the same parent (SYN_UNEXPECTED).
    """
    fields: Fields = {}
    for child in element:
        tag = local(child.tag)
        text = child.text
        if text is None or text.isspace():
            if len(child):
                inner = read(child)
                if child.attrib:
                    inner.update((f"@{local(name)}", value) for name, value in child.attrib.items())
                held = fields.get(tag)
                if held is None:
                    fields[tag] = [inner]
                elif type(held) is list:
                    held.append(inner)
                else:
                    raise Unreadable(twice(element, tag))
        elif tag in fields:
            raise Unreadable(twice(element, tag))
        else:
            fields[tag] = text.strip()
    return fields


def read_with_attributes(element: etree._Element) -> Fields:
    """The content of an element with its attributes (``@name``); every child becomes a list of `Fields`, text under
    `TEXT`."""
    fields: Fields = {f"@{name!s}": str(value) for name, value in element.attrib.items()}
    if element.text and element.text.strip():
        fields[TEXT] = element.text.strip()
    for child in element:
        fields.setdefault(local(str(child.tag)), []).append(read_with_attributes(child))
    return fields


def read_loosely(element: etree._Element) -> Fields:
    """What can be read of an element that its schema refused: leaves and nodes, the last of equal tags. Never fails."""
    fields: Fields = {}
    for child in element:
        tag = local(str(child.tag))
        if len(child):
            if type(fields.get(tag)) is not list:
                fields[tag] = []
            fields[tag].append(read_loosely(child))
        elif child.text and child.text.strip():
            fields[tag] = child.text.strip()
    return fields


def nodes(fields: Fields, tag: str) -> list[Fields]:
    """The elements of a tag that have children; none where there is nothing, or a leaf."""
    held = fields.get(tag)
    return held if type(held) is list else []


def node(fields: Fields, *path: str) -> Fields:
    """The first element at a path of tags that has children, or an empty one."""
    for tag in path:
        held = fields.get(tag)
        if type(held) is not list:
            return {}
        fields = held[0]
    return fields


def leaf(fields: Fields, tag: str) -> str | None:
    """The text of a leaf, whatever else stands there in content that was refused."""
    held = fields.get(tag)
    return held if type(held) is str else None


FLAGS: dict[str | None, bool | None] = {"1": True, "true": True, "0": False, "false": False, None: None}
"""The values of an xs:boolean."""


def flag(fields: Fields, tag: str) -> bool | None:
    """An xs:boolean, None where it is missing."""
    text = fields.get(tag)
    return None if text is None else text in ("1", "true")


def whole(fields: Fields, tag: str) -> int | None:
    """A whole number, None where it is missing."""
    text = fields.get(tag)
    return None if text is None else int(text)


decimal = lru_cache(maxsize=4096)(Decimal)
"""A decimal of its text; powers, coefficients and prices repeat."""


def number(fields: Fields, tag: str) -> Decimal | None:
    """A decimal number, None where it is missing."""
    text = fields.get(tag)
    return None if text is None else decimal(text)


def need(fields: Fields, tag: str, path: str) -> str:
    """The text of a leaf that must be there.

    Raises:
      Unreadable: it is missing or empty (SYN_MISSING).
    """
    held = fields.get(tag)
    if type(held) is not str:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/{tag}", expected="an element with a value"))
    return held


def need_node(fields: Fields, tag: str, path: str) -> Fields:
    """The first element of a tag that must be there with children.

    Raises:
      Unreadable: it is missing or empty (SYN_MISSING).
    """
    held = fields.get(tag)
    if type(held) is not list:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/{tag}", expected="an element with children"))
    first: Fields = held[0]
    return first


def twice(element: etree._Element, tag: str) -> Refusal:
    """The refusal of a leaf that stands twice."""
    path = f"{local(str(element.tag))}/{tag}"
    return refusal("SYN_UNEXPECTED", path=path, value=tag, expected="this element once")
