"""The XML Schema of each document, made from the mapping table, and the check of a document against it.

The table is the source: the schema says in the language of other tools what the table says, so that what is sent can
be checked by them too. `python -m adapters.be_atrias.schema FOLDER [TABLE]` writes the files. Where the table names a
schema of the market for a document (`schema:`), documents satisfy that one as well.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from lxml import etree

from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import every, namespace_of, piece_of, read_table, table
from adapters.common.table import Document, Node, Table
from energycomm.kernel.verdicts import Refusal

FOLDER = Path(__file__).parent / "schemas"
_XS = "http://www.w3.org/2001/XMLSchema"
_FACETS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "instant": ("dateTime", ()),
    "day": ("date", ()),
    "number": ("decimal", (("totalDigits", "32"), ("fractionDigits", "12"))),
    "whole": ("integer", (("minInclusive", "-999999999"), ("maxInclusive", "999999999"))),
    "position": ("integer", (("minInclusive", "1"), ("maxInclusive", "999999999"))),
    "index": ("decimal", (("totalDigits", "27"), ("fractionDigits", "9"))),
    "flag": ("boolean", ()),
    "duration": ("duration", ()),
    "currency": ("token", (("pattern", "[A-Z]{3}"),)),
}


def schema_of(mapping: Table, document: Document) -> bytes:
    """The XML Schema of a document, as a file."""
    space, piece = namespace_of(document), piece_of(document).node
    root = etree.Element(f"{{{_XS}}}schema", nsmap={"xs": _XS, "be": space})
    root.set("targetNamespace", space)
    root.set("elementFormDefault", "qualified")
    version = next(iter(document.versions))
    _annotate(root, f"{document.label}: {document.about}. Made from the mapping table {version}; do not edit.")
    used: set[tuple[str, str | None]] = set()
    for node in (piece, document.head):
        _collect(node, used)
    for kind, codes in sorted(used, key=str):
        _type(root, mapping, kind, codes)
    _element(root, piece, top=True)
    whole = _sub(root, "element", name=document.head.tag)
    sequence = _sub(_sub(whole, "complexType"), "sequence")
    for child in document.head.children.values():
        _element(sequence, child)
    _sub(sequence, "element", ref=f"be:{piece.tag}", maxOccurs="unbounded")
    etree.indent(root)
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


def _collect(node: Node, used: set[tuple[str, str | None]]) -> None:
    for child in node.children.values():
        if child.leaf is not None:
            used.add((child.leaf.type, child.leaf.codes))
        _collect(child, used)


def _name(kind: str, codes: str | None) -> str:
    return codes or kind


def _type(root: etree._Element, mapping: Table, kind: str, codes: str | None) -> None:
    if codes is not None:
        base, facets = "token", tuple(("enumeration", code) for code in mapping.codes[codes].words)
        if codes in ("reason", "unit", "product", "time_class", "power_unit", "cancelled"):
            facets = (("minLength", "1"), ("maxLength", str(mapping.longest["code"])))  # new codes are for the rules
    elif kind in _FACETS:
        base, facets = _FACETS[kind]
    else:
        base, facets = "token", (("minLength", "1"), ("maxLength", str(mapping.longest[kind])))
    attributes = mapping.raw["types"].get(kind, {}).get("attributes", {})
    simple = _sub(root, "simpleType", name=_name(kind, codes) + ("Content" if attributes else ""))
    restriction = _sub(simple, "restriction", base=f"xs:{base}")
    for facet, value in facets:
        _sub(restriction, facet, value=value)
    if attributes:
        content = _sub(_sub(root, "complexType", name=_name(kind, codes)), "simpleContent")
        extension = _sub(content, "extension", base=f"be:{_name(kind, codes)}Content")
        for attribute in attributes:
            _sub(extension, "attribute", name=attribute, type="xs:token")


def _element(parent: etree._Element, node: Node, *, top: bool = False) -> None:
    element = _sub(parent, "element", name=node.tag)
    if not top and not node.needed:
        element.set("minOccurs", "0")
    if node.group is not None:
        element.set("maxOccurs", "unbounded")
    if node.leaf is not None:
        element.set("type", f"be:{_name(node.leaf.type, node.leaf.codes)}")
        return
    sequence = _sub(_sub(element, "complexType"), "sequence")
    for child in node.children.values():
        _element(sequence, child)


def _sub(parent: etree._Element, tag: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{_XS}}}{tag}", attributes)


def _annotate(root: etree._Element, text: str) -> None:
    _sub(_sub(root, "annotation"), "documentation").text = text


_compiled = threading.local()


def check(mapping: Table, document: Document, root: etree._Element) -> list[Refusal]:
    """What the schemas of a document say of a whole document: ours, and the market's where there is one.

    Returns:
      One refusal (SYN_SCHEMA) per error; empty where the document is valid.
    """
    found = []
    for compiled in _schemas(mapping, document):
        if not compiled.validate(root):
            log: list[etree._LogEntry] = list(compiled.error_log)  # type: ignore[call-overload]
            found += [refusal("SYN_SCHEMA", error.path or "", expected=error.message[:300]) for error in log]
    return found


def _schemas(mapping: Table, document: Document) -> list[etree.XMLSchema]:
    """The compiled schemas of a document, kept per thread: an error log belongs to the last check of its schema."""
    # The document is kept beside its schemas, so that its identity stays its own.
    known: dict[int, tuple[Document, list[etree.XMLSchema]]] = _compiled.__dict__.setdefault("schemas", {})
    if id(document) not in known:
        schemas = [etree.XMLSchema(etree.fromstring(schema_of(mapping, document)))]
        if document.schema is not None:
            schemas.append(document.schema.compiled())
        known[id(document)] = (document, schemas)
    return known[id(document)][1]


def write_schemas(folder: Path, mapping: Table) -> list[Path]:
    """Write the schema of every document of a table into a folder; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for label, document in every(mapping).items():
        path = folder / f"{label}.xsd"
        path.write_bytes(schema_of(mapping, document))
        written.append(path)
    return written


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:]]
    for file in write_schemas(
        arguments[0] if arguments else FOLDER, read_table(arguments[1]) if arguments[1:] else table()
    ):
        print(file)
