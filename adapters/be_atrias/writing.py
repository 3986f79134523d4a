"""Writes plain values as a document, by the mapping table: the way back of `reading`, one to one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from lxml import etree

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import Document, Leaf, Node, Table
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable


def write(table: Table, document: Document, head: Mapping[str, Any], pieces: list[Mapping[str, Any]]) -> bytes:
    """The bytes of a document.

    Args:
      table: the mapping table.
      document: which document.
      head: values of header and context.
      pieces: values of each CH message.

    Raises:
      Unreadable: a value that cannot be written (BUILD_VALUE), or one that is needed is missing (BUILD_MISSING).
    """
    writer = _Writer(table, document)
    root = etree.Element(f"{{{document.namespace}}}{document.root}", nsmap={None: document.namespace})  # type: ignore[dict-item]
    writer.fill(root, document.head, head, document.root)
    for values in pieces:
        element = etree.SubElement(root, f"{{{document.namespace}}}{document.piece.tag}")
        writer.fill(element, document.piece, values, document.piece.tag)
    etree.indent(root)
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


class _Writer:
    def __init__(self, table: Table, document: Document) -> None:
        self.table, self.space = table, f"{{{document.namespace}}}"

    def fill(self, parent: etree._Element, node: Node, values: Mapping[str, Any], path: str) -> None:
        """Write the fields below a node."""
        for tag, child in node.children.items():
            here = f"{path}/{tag}"
            if child.group is not None:
                for item in values.get(child.group) or ():
                    self.fill(etree.SubElement(parent, self.space + tag), child, item, here)
            elif child.leaf is not None:
                value = values.get(child.leaf.name)
                if value is not None:
                    self._leaf(etree.SubElement(parent, self.space + tag), child.leaf, value, here)
                elif child.needed:
                    raise Unreadable(refusal("BUILD_MISSING", here, expected=f"a value for {child.leaf.name}"))
            else:
                below = etree.SubElement(parent, self.space + tag)
                self.fill(below, child, values, here)
                if len(below) == 0:
                    parent.remove(below)

    def _leaf(self, element: etree._Element, leaf: Leaf, value: Any, path: str) -> None:
        for name, text in self.table.attributes.get(leaf.type, {}).items():
            element.set(name, text)
        text = _text(leaf, value)
        if leaf.codes is not None:
            text = self.table.codes[leaf.codes].codes.get(str(value), text)
        longest = self.table.longest.get(leaf.type)
        if longest is not None and len(text) > longest:
            raise Unreadable(refusal("BUILD_VALUE", path, text, f"at most {longest} characters"))
        try:
            element.text = text
        except ValueError:
            raise Unreadable(refusal("BUILD_VALUE", path, ascii(text), "characters that XML can hold")) from None


def _text(leaf: Leaf, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return belgian(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if leaf.type == "duration":
        return f"P{value // 1440}D" if value % 1440 == 0 else f"PT{value}M"
    return str(value)
