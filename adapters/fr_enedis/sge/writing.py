"""Writes the XML of a request from a plain tree whose leaves say what they must look like.

The tree is this adapter's own schema of the requests: every leaf has a type, and one that does not fit it is a refusal
with the field of the Kernel message it came from. Elements are written in the order of the tree, since every service
wants its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from lxml import etree

from adapters.common.codes import Unreadable
from adapters.fr_enedis.codes import refusal

Written: TypeAlias = str | date | bool
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"

_ANY = "[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ufffe\\uffff\\ud800-\\udfff]"
TYPES: dict[str, tuple[re.Pattern[str], str]] = {
    "point": (re.compile("[0-9]{14}"), "14 digits"),
    "login": (
        re.compile(r"[0-9a-zA-Z][-._0-9a-zA-Z]{0,255}@[0-9a-zA-Z][-._0-9a-zA-Z]{1,255}\.[a-zA-Z]{2,63}"),
        "an e-mail address",
    ),
    "contract": (re.compile(_ANY + "{1,15}"), "1 to 15 characters"),
    "service": (re.compile(_ANY + "{1,15}"), "1 to 15 characters"),
    "text": (re.compile(_ANY + "{1,255}"), "1 to 255 characters"),
    "line": (re.compile(_ANY + "{1,38}"), "1 to 38 characters"),
    "postal": (re.compile("[0-9]{5}"), "5 digits"),
    "municipality": (re.compile("[0-9A-Z]{5}"), "5 digits or capitals"),
    "day": (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "a day"),
    "boolean": (re.compile("true|false"), "true or false"),
    "code": (re.compile("[A-Z0-9_]{1,15}"), "a code"),
    "title": (re.compile("M|Mme"), "M or Mme"),
    "number": (re.compile("[0-9]{1,4}"), "a number"),
    "unit": (re.compile("[a-z]{1,7}"), "a unit"),
    "version": (re.compile(r"[1-9][0-9]*\.[0-9]+"), "a version"),
    "duration": (re.compile("P[0-9A-Z]{1,14}"), "an ISO 8601 duration like P1D"),
    "period": (re.compile("P1D|P1M"), "P1D or P1M"),
}
"""Name of a leaf's type -> what it must match, and that in words."""


class Leaf(NamedTuple):
    """An element with a value.

    Attributes:
      tag: its name.
      type: a key of `TYPES`.
      field: path of the Kernel message's field that it comes from, for refusals too.
      optional: it is left out where it has no value.
      of: gives the value of a message and our reference, where it is not that of the field.
    """

    tag: str
    type: str
    field: str
    optional: bool = False
    of: Callable[[Any, str], Written | None] | None = None


class Node(NamedTuple):
    """An element with children; one whose children are all left out is left out itself.

    Attributes:
      tag: its name.
      children: in the order of the service.
      when: whether a message has it at all.
    """

    tag: str
    children: Sequence[Leaf | Node | Each]
    when: Callable[[Any], object]


class Each(NamedTuple):
    """A tree that is written several times.

    Attributes:
      tree: written once for each.
      of: what of a message it is written of, each a message itself.
    """

    tree: Leaf | Node
    of: Callable[[Any], Sequence[Any]]


Tree: TypeAlias = Leaf | Node | Each


def node(tag: str, *children: Tree, when: Callable[[Any], object] = lambda message: True) -> Node:
    """An element with children. See `Node`."""
    return Node(tag, children, when)


def refuse(code: str, path: str, value: str | None, expected: str) -> Unreadable:
    """A refusal to build."""
    return Unreadable(refusal(code, path=path, value=value, expected=expected))


def append(parent: etree._Element, tree: Tree, message: Any, reference: str, namespace: str | None = None) -> None:
    """Write a tree below an element.

    Args:
      parent: grows.
      tree: what to write.
      message: whose values are written.
      reference: our own.
      namespace: namespace of its outermost element; those inside have none.

    Raises:
      Unreadable: a needed value is missing (BUILD_MISSING) or is not of its type (BUILD_VALUE).
    """
    if isinstance(tree, Each):
        for one in tree.of(message):
            append(parent, tree.tree, one, reference)
        return
    tag = f"{{{namespace}}}{tree.tag}" if namespace else tree.tag
    if isinstance(tree, Node):
        element = etree.Element(tag)
        for child in tree.children if tree.when(message) else ():
            append(element, child, message, reference)
        if len(element):
            parent.append(element)
        return
    value = tree.of(message, reference) if tree.of is not None else attrgetter(tree.field)(message)
    if value is None:
        if tree.optional:
            return
        raise refuse("BUILD_MISSING", tree.field, None, f"{tree.tag}: {TYPES[tree.type][1]}")
    text = _written(value)
    pattern, words = TYPES[tree.type]
    if pattern.fullmatch(text) is None:
        raise refuse("BUILD_VALUE", tree.field, text, f"{tree.tag}: {words}")
    etree.SubElement(parent, tag).text = text


def _written(value: Written) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else value


def envelope(
    header: Tree | None, header_namespace: str | None, body: Tree, body_namespace: str, message: Any, reference: str
) -> bytes:
    """A whole SOAP envelope of a message.

    Raises:
      Unreadable: as `append`.
    """
    root = etree.Element(f"{{{SOAP}}}Envelope", nsmap={"soapenv": SOAP, "req": body_namespace})
    if header is not None:
        append(etree.SubElement(root, f"{{{SOAP}}}Header"), header, message, reference, header_namespace)
    append(etree.SubElement(root, f"{{{SOAP}}}Body"), body, message, reference, body_namespace)
    etree.cleanup_namespaces(root, keep_ns_prefixes=["soapenv", "req"])
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)
