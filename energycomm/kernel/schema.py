"""Writes kernel.xsd, the XML Schema of Kernel XML, from the definitions of the messages.

``python -m energycomm.kernel.schema`` writes the file anew; a test fails while it is not up to date.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

from lxml import etree
from msgspec import Struct

from energycomm.kernel import vocabulary
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import INCOMING, KernelMessage
from energycomm.kernel.requests import CustomerRequest, MeasureKind, Request
from energycomm.kernel.shape import (
    DAY_PATTERN,
    INSTANT_PATTERN,
    INTEGER_PATTERN,
    NAMESPACE,
    UNIQUE,
    Attribute,
    Child,
    Scalar,
    ScalarName,
    scalar_of,
    shape_of,
)

XSD_PATH = Path(__file__).with_name("kernel.xsd")
"""The schema that is shipped."""

BATCH = "batch"
"""Element that holds many messages, so that one call checks them all. It is never stored or sent."""

_XS = "http://www.w3.org/2001/XMLSchema"
_HEADS: tuple[type[KernelMessage], ...] = (KernelMessage, Request, CustomerRequest)
"""Classes whose attributes many kinds share, the wider ones first: one attribute group each."""
_NAMED = (
    "Text", "Name", "Code", "Identifier", "Unit", "ShortCode", "Instant", "CivilDay", "WholeNumber", "Ordinal",
    "Index", "Number", "Amount", "Energy", "Function", "Role", "Reason", "ContractStatus", "ConnectionStatus",
    "CustomerCategory", "Grid", "Direction", "Qualification", "ReadingNature", "VolumeNature", "Quality",
    "MeterAction", "RequestState", "Currency",
)  # fmt: skip
"""Scalar types of the vocabulary that have a name in the schema."""
_BASES: dict[ScalarName, tuple[str, str | None, str]] = {
    "text": ("xs:string", None, ""),
    "word": ("xs:string", None, ""),
    "instant": ("xs:dateTime", INSTANT_PATTERN, "An instant, with the offset from UTC that the market wrote."),
    "day": ("xs:date", DAY_PATTERN, "A civil day, without zone."),
    "decimal": ("xs:decimal", None, "A decimal number without exponent."),
    "integer": ("xs:integer", INTEGER_PATTERN, "A whole number."),
    "truth": ("xs:boolean", "true|false", "Yes or no."),
}
"""Scalar -> XML Schema type it restricts, pattern, documentation."""
TRUTH = "Truth"
"""Name of the type of yes and no."""


def schema_text() -> str:
    """kernel.xsd as it follows from the definitions of today."""
    root = etree.Element(f"{{{_XS}}}schema", nsmap=cast("dict[str, str]", {"xs": _XS, "k": NAMESPACE, None: NAMESPACE}))
    root.set("targetNamespace", NAMESPACE)
    root.set("elementFormDefault", "qualified")
    root.set("attributeFormDefault", "unqualified")
    root.set("version", "1.0")
    _document(
        root,
        "Kernel messages: generic energy messages, the same for all markets. One global element per kind; scalars are"
        " attributes, parts are elements. Attributes that are left out are unknown, or have the default that is given."
        " Written from the definitions in energycomm.kernel by `python -m energycomm.kernel.schema`: do not edit.",
    )
    for kind, cls in KINDS.items():
        direction = "Incoming" if cls in INCOMING else "Outgoing"
        element = _add(root, "element", name=kind, type=kind)
        _document(element, f"{direction}. {_about(cls)}")
        _unique(element, *UNIQUE)
    _batch(root)
    _heads(root)
    for kind, cls in KINDS.items():
        _complex_type(root, kind, cls)
    for part in parts():
        _complex_type(root, part.__name__, part)
    _simple_types(root)
    etree.indent(root, "  ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def main() -> None:
    """Write kernel.xsd."""
    XSD_PATH.write_text(schema_text(), encoding="utf-8")


def _about(cls: type[Struct]) -> str:
    return " ".join(shape_of(cls).about.split())


def _add(parent: etree._Element, tag: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{_XS}}}{tag}", attributes)


def _document(parent: etree._Element, text: str) -> None:
    if text:
        documentation = _add(_add(parent, "annotation"), "documentation")
        documentation.text = text


def _unique(element: etree._Element, child: str, attribute: str) -> None:
    """No two children of a name have the same value of an attribute."""
    unique = _add(element, "unique", name=f"{element.get('name')}.{child}.{attribute}")
    _add(unique, "selector", xpath=f"k:{child}")
    _add(unique, "field", xpath=f"@{attribute}")


def _batch(root: etree._Element) -> None:
    element = _add(root, "element", name=BATCH)
    _document(element, "Many messages, for checking them in one call. Never stored or sent.")
    choice = _add(_add(element, "complexType"), "choice", minOccurs="0", maxOccurs="unbounded")
    for kind in KINDS:
        _add(choice, "element", ref=kind)


def _heads(root: etree._Element) -> None:
    for number, head in enumerate(_HEADS):
        group = _add(root, "attributeGroup", name=head.__name__)
        _document(group, _about(head))
        shared = _fields(_HEADS[number - 1]) if number else set()
        if number:
            _add(group, "attributeGroup", ref=_HEADS[number - 1].__name__)
        for attribute in shape_of(head).attributes:
            if attribute.field not in shared:
                _attribute(group, attribute)


def _fields(cls: type[Struct]) -> set[str]:
    return {attribute.field for attribute in shape_of(cls).attributes}


def _complex_type(root: etree._Element, name: str, cls: type[Struct]) -> None:
    shape = shape_of(cls)
    kind = _add(root, "complexType", name=name)
    _document(kind, _about(cls))
    if shape.children:
        sequence = _add(kind, "sequence")
        for child in shape.children:
            _child(sequence, child)
    head = next((head for head in reversed(_HEADS) if issubclass(cls, head)), None)
    if head is not None:
        _add(kind, "attributeGroup", ref=head.__name__)
    shared = _fields(head) if head is not None else set()
    for attribute in shape.attributes:
        if attribute.field not in shared:
            _attribute(kind, attribute)


def _child(sequence: etree._Element, child: Child) -> None:
    occurs = {"minOccurs": "1" if child.required else "0"}
    if child.many:
        occurs["maxOccurs"] = str(child.most)
    element = _add(sequence, "element", name=child.name, type=child.part.__name__, **occurs)
    _document(element, child.declared.english)


def parts() -> list[type[Struct]]:
    """Every part that a kind holds, each once, by name."""
    found = {child.part for cls in KINDS.values() for child in shape_of(cls).children}
    waiting = list(found)
    while waiting:
        inner = {child.part for child in shape_of(waiting.pop()).children} - found
        found |= inner
        waiting.extend(inner)
    return sorted(found, key=lambda part: part.__name__)


def _attribute(parent: etree._Element, attribute: Attribute) -> None:
    attributes = {"name": attribute.name}
    name = _name_of(attribute.scalar)
    if name is not None:
        attributes["type"] = name
    if attribute.required:
        attributes["use"] = "required"
    elif attribute.default is not None:
        attributes["default"] = str(attribute.default)
    element = _add(parent, "attribute", **attributes)
    _document(element, attribute.declared.english)
    if name is None:
        _restrict(_add(element, "simpleType"), attribute.scalar)


@cache
def _names() -> dict[Scalar, str]:
    """Scalar -> name of its type in the schema, for those that have one."""
    names: dict[Scalar, str] = {scalar_of(getattr(vocabulary, name)): name for name in _NAMED}
    names[scalar_of(MeasureKind)] = "MeasureKind"
    names[Scalar("truth")] = TRUTH
    return names


def _name_of(scalar: Scalar) -> str | None:
    return _names().get(scalar)


def _simple_types(root: etree._Element) -> None:
    for scalar, name in _names().items():
        kind = _add(root, "simpleType", name=name)
        _document(kind, _BASES[scalar.name][2])
        _restrict(kind, scalar)


def _restrict(kind: etree._Element, scalar: Scalar) -> None:
    """The restriction that a scalar is: facets in the order that XML Schema wants."""
    base, pattern, _ = _BASES[scalar.name]
    restriction = _add(kind, "restriction", base=base)
    if scalar.name == "decimal":
        pattern = scalar.digits()
    facets: list[tuple[str, Any]] = [
        ("minLength", scalar.shortest),
        ("maxLength", scalar.longest),
        ("pattern", scalar.pattern or pattern),
        ("minInclusive", _bound(scalar, scalar.least, "T00:00:00Z")),
        ("maxInclusive", _bound(scalar, scalar.most, "T23:59:59.999999Z")),
    ]
    for facet, value in facets:
        if value is not None:
            _add(restriction, facet, value=str(value))
    for word in scalar.words:
        _add(restriction, "enumeration", value=word)


def _bound(scalar: Scalar, bound: int | str | None, time: str) -> int | str | None:
    return f"{bound}{time}" if scalar.name == "instant" and bound is not None else bound


if __name__ == "__main__":
    main()
