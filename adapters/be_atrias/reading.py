"""Reads one element by the mapping table into plain values, and says everything that is wrong with it in one walk.

The order of elements is not judged, empty elements count as absent, and what the table does not know is left out and
noted: a document of a newer version is read as far as it can be.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any, TypeAlias

from lxml import etree

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import WORDS, Document, Leaf, Node, Table
from adapters.be_atrias.times import LEGAL
from adapters.common.times import Moment
from adapters.common.values import ValueType, has_fraction, value_types
from energycomm.kernel.verdicts import Refusal

Values: TypeAlias = dict[str, Any]
"""What an element holds: name of a field -> its value; name of a group -> list of `Values`."""

_CURRENCY = re.compile(r"[A-Z]{3}")
_OPEN = frozenset(("reason",))
"""Lists whose unknown codes become no word; the code itself is carried beside it."""


class Reading:
    """The walk through one element.

    Attributes:
      values: what was read.
      refusals: what forbids digestion.
      notes: what was noticed besides.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.values: Values = {}
        self.raw: dict[str, str] = {}
        self.refusals: list[Refusal] = []
        self.notes: list[Refusal] = []

    def walk(self, element: etree._Element, node: Node, document: Document) -> None:
        """Read an element that stands for a node of the table."""
        self._walk(element, node, self.values, node.tag, f"{{{document.namespace}}}")

    def _walk(self, element: etree._Element, node: Node, into: Values, path: str, space: str) -> None:
        seen: set[str] = set()
        cut = len(space)
        for child in element:
            tag = str(child.tag)
            name = tag[cut:] if tag.startswith(space) else ""
            known = node.children.get(name)
            if known is None:
                self.notes.append(refusal("NOTE_ELEMENT_UNKNOWN", f"{path}/{name or tag}", _text(child)))
                continue
            here = f"{path}/{name}"
            if known.group is not None:
                item: Values = {}
                self._walk(child, known, item, here, space)
                into.setdefault(known.group, []).append(item)
            elif name in seen:
                self.refusals.append(refusal("SYN_UNEXPECTED", here, _text(child) or name, "this element once"))
            elif known.leaf is not None:
                if len(child):
                    self.refusals.append(refusal("SYN_UNEXPECTED", here, str(child[0].tag), "a value, no elements"))
                elif text := _text(child):
                    self._leaf(text, known.leaf, into, here)
                elif known.needed:
                    self.refusals.append(refusal("SYN_MISSING", here, expected="an element with a value"))
            else:
                self._walk(child, known, into, here, space)
            seen.add(name)
        for name, known in node.children.items():
            if known.needed and name not in seen:
                self.refusals.append(refusal("SYN_MISSING", f"{path}/{name}", expected="an element with a value"))

    def _leaf(self, text: str, leaf: Leaf, into: Values, path: str) -> None:
        self.raw[leaf.name] = text
        if leaf.codes is not None:
            known = self.table.codes[leaf.codes].words
            if text in known:
                into[leaf.name] = known[text]
            elif leaf.codes in WORDS and leaf.codes not in _OPEN:
                self.refusals.append(refusal("SYN_CODE", path, text, "one of " + ", ".join(known)))
            elif leaf.codes not in _OPEN:
                self._text(text, leaf, into, path)
            return
        longest = self.table.longest.get(leaf.type)
        if longest is not None:
            self._text(text, leaf, into, path)
            return
        kind = _TYPES[leaf.type]
        try:
            value = kind.convert(text)
        except (ValueError, ArithmeticError):
            self.refusals.append(refusal("SYN_VALUE", path, text, kind.expected))
            return
        if isinstance(value, Moment):
            if value.naive:
                self.notes.append(refusal("NOTE_TIME_NAIVE", path, text, value.at.isoformat()))
            value = value.at
        into[leaf.name] = value
        if leaf.type == "index" and has_fraction(text):
            self.notes.append(refusal("NOTE_INDEX_FRACTION", path, text, str(into[leaf.name])))

    def _text(self, text: str, leaf: Leaf, into: Values, path: str) -> None:
        longest = self.table.longest.get(leaf.type, 64)
        text = " ".join(text.split())
        if len(text) > longest:
            self.refusals.append(refusal("SYN_VALUE", path, text, f"at most {longest} characters"))
        else:
            into[leaf.name] = text


def _text(element: etree._Element) -> str | None:
    return (element.text or "").strip() or None


def _currency(text: str) -> str:
    if not _CURRENCY.fullmatch(text):
        raise ValueError(text)
    return text


_TYPES = {**value_types(LEGAL), "currency": ValueType(_currency, "three capitals like EUR")}


def fingerprint(element: etree._Element, seed: blake2b) -> bytes:
    """Sixteen bytes that are equal exactly for equal content after an equal seed, whatever white space and attributes.

    Args:
      element: one CH message.
      seed: hash of what its header brings into it; left as it is.
    """
    state = seed.copy()
    for part in element.iter(etree.Element):
        state.update(f"{part.tag}\x1f{len(part)}\x1f{(part.text or '').strip()}\x1e".encode("utf-8", "surrogatepass"))
    return state.digest()
