"""What the Dutch adapter gives to be measured: EDSN's messages, and SOAP's envelopes and faults.

One schema of ours reads all messages of the connection register. Which of its elements each of them has is told by
``elements.csv``: as EDSN's own schemas have them where they are public, as public software reads them elsewhere.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from lxml import etree

from adapters.common.coverage import LeafPath, Ledger, LedgerDocument, write_xml
from adapters.common.reading import local
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.nl_edsn.header import ROLES
from adapters.nl_edsn.types import BY_LABEL, ROWS, SOAP, SOAP_NAMESPACES, Row

REASONS = Path(__file__).parent / "left_out.csv"
ELEMENTS = Path(__file__).parent / "elements.csv"
"""Messages, an element of theirs, and the leaves in it."""
IN_SOAP = "P4CollectedDataBatchResponse"
"""The message that stands for all those in a SOAP envelope."""

VALUES: dict[str, Sequence[str]] = {
    "CreationTimestamp": ("2026-03-11T05:12:44Z", "2026-03-12T05:12:44Z"),
    "Timestamp/Created": ("2026-03-11T05:12:44Z", "2026-03-12T05:12:44Z"),
    "ContactTypeIdentifier": tuple(ROLES),
    "P4Register/ID": ("1.8.1", "1.8.2", "2.8.1"),
    "P4Register/MeasureUnit": ("KWH", "MTQ"),
    "Register/MeasureUnit": ("KWH", "MTQ"),
    "Volume/MeasureUnit": ("KWH", "MTQ"),
    "P4Reading/Reading": ("10245.118", "10246"),
    "ReadingDateTime": ("2026-03-11T00:00:00+01:00", "2026-03-12T00:00:00+01:00"),
    "ReadingMethod": ("N01", "N02"),
    "ProductType": ("ELK", "GAS"),
    "MeteringDirection": ("LVR", "TLV"),
    "EnergyFlowDirection": ("LVR", "TLV"),
    "MutationReason": ("MOVEIN", "SWITCHLV"),
    "EnergyDeliveryStatus": ("ACT", "INA"),
    "PhysicalStatus": ("IBD", "UBD"),
    "PhysicalCapacity": ("3x25", "1x35"),
    "Switchability": ("J", "N"),
    "MaxResults": ("J", "N"),
}
SETTINGS: Sequence[Mapping[str, str]] = (
    {},
    {"*Rejection/*": ""},
    {"Portaal_Content/Portaal_MeteringPoint/*": ""},
    {"*Rejection/*": "", "QueryReason": "INT"},
    {"*Rejection/*": "", "ExternalReference": "", "EACPeak": "", "EACOffPeak": "", "ResultSet": "1"},
    {"CalorificCorrectedVolume": ""},
    {"Volume/Register/MeasureUnit": "", "Volume/ValidFromDate": "", "Volume/ValidToDate": ""},
    {"*/SOAPFault/*": ""},
)


def ledger() -> Ledger:
    """EDSN's messages, SOAP's envelopes and faults, and the file of the reasons."""
    faults = [_soap(f"{SOAP}-{number}", space) for number, space in zip(("1.1", "1.2"), SOAP_NAMESPACES, strict=True)]
    return Ledger([*(_document(row) for row in ROWS), *faults, _enveloped(BY_LABEL[IN_SOAP])], REASONS)


def _document(row: Row) -> LedgerDocument:
    root = _elements(row.label, row.root)
    _take_types(root, None, _pieces(row.schema.path))
    return LedgerDocument(row.label, row.label, root, row.namespaces[-1], True, VALUES, SETTINGS)


@cache
def _pieces(schema: Path) -> dict[str, SchemaElement]:
    return {found.root.name: found.root for found in documents_of(schema)}


def _soap(label: str, namespace: str) -> LedgerDocument:
    """An envelope, or one with a fault in it; all of its elements are read by their local names."""
    return LedgerDocument(label, SOAP, _elements(label, "Envelope"), namespace, True, VALUES, SETTINGS)


def _enveloped(row: Row) -> LedgerDocument:
    """A message in an envelope."""

    def write(document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
        envelope = etree.fromstring(write_xml(document, values))
        for element in envelope[-1].iterdescendants():
            element.tag = f"{{{row.namespaces[-1]}}}{local(str(element.tag))}"
        return etree.tostring(envelope)

    document = _soap(SOAP, SOAP_NAMESPACES[0])
    document.root.children.append(SchemaElement("Body", children=[_document(row).root]))
    return document._replace(write=write)


def _elements(label: str, name: str) -> SchemaElement:
    """The elements of a message, as the table has them."""
    root = SchemaElement(name)
    with ELEMENTS.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if any(fnmatchcase(label, pattern) for pattern in row["document"].split()):
                parent = root
                for step in row["element"].split("/"):
                    parent = _child(parent, step)
                parent.children += [SchemaElement(leaf, "text") for leaf in row["leaves"].split()]
    return root


def _child(parent: SchemaElement, name: str) -> SchemaElement:
    found = next((one for one in parent.children if one.name == name), None)
    if found is None:
        found = SchemaElement(name)
        parent.children.append(found)
    return found


def _take_types(element: SchemaElement, declared: SchemaElement | None, pieces: Mapping[str, SchemaElement]) -> None:
    """Give the leaves the types that our schema has for them, from the pieces on that it declares."""
    known = {one.name: one for one in declared.children} if declared is not None else {}
    for child in element.children:
        found = known.get(child.name) or pieces.get(child.name)
        if child.type is None:
            _take_types(child, found, pieces)
        elif found is not None:
            child.type, child.simple, child.codes = found.type, found.simple, found.codes
