"""Writes a Kernel message as a document, by the mapping table: the way back of reading, one to one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from lxml import etree

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import namespace_of, piece_of
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.table import Document, Leaf, Node, Table


def write(table: Table, document: Document, head: Mapping[str, Any], piece: Mapping[str, Any]) -> bytes:
    """The bytes of a document of one CH message.

    Args:
      table: the mapping table.
      document: which document.
      head: values of its header, by field.
      piece: values of the CH message, by field.

    Raises:
      Unreadable: a value that cannot be written (BUILD_VALUE), or one that is needed is missing (BUILD_MISSING).
    """
    space, node = namespace_of(document), piece_of(document).node
    writer = _Writer(table, f"{{{space}}}")
    root = etree.Element(f"{{{space}}}{document.root}", nsmap={None: space})  # type: ignore[dict-item]
    writer.fill(root, document.head, head, document.head.tag)
    writer.fill(etree.SubElement(root, f"{{{space}}}{node.tag}"), node, piece, node.tag)
    etree.indent(root)
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


class _Writer:
    def __init__(self, table: Table, space: str) -> None:
        self.table, self.space = table, space

    def fill(self, parent: etree._Element, node: Node, values: Any, path: str) -> None:
        """Write the leaves below a node; what has none is left out."""
        for tag, child in node.children.items():
            here = f"{path}/{tag}"
            if child.group is not None:
                for item in _value(values, (child.group,)) or ():
                    self.fill(etree.SubElement(parent, self.space + tag), child, item, here)
            elif child.leaf is not None:
                value = _value(values, child.leaf.targets[0].path)
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
        for name, text in self.table.raw["types"].get(leaf.type, {}).get("attributes", {}).items():
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


def _value(values: Any, path: tuple[str, ...]) -> Any:
    """What stands at a path of fields in values or in a part of a message; None where nothing does."""
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else getattr(values, name, None)
    return values


def _text(leaf: Leaf, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return belgian(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
