"""What the Dutch adapter gives to be measured: the answers of the P4 portal.

The schema of the connection register's messages is one for all of them, and holds more than any of them sends: which
leaves belong to which message is still to be told before they are measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.common.coverage import Ledger, LedgerDocument
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.nl_edsn.header import HEADER, ROLES
from adapters.nl_edsn.types import BY_LABEL, Row

REASONS = Path(__file__).parent / "left_out.csv"
DOCUMENTS = ("P4CollectedDataBatchResultResponse", "P4CollectedDataBatchResponse")
CONTENT = "P4Content"

HEAD: dict[str, str] = {
    "": "ContentHash ConversationID CorrelationID CreationTimestamp DocumentID ExpiresAt MessageID ProcessTypeID "
    "RepeatedRequest TestRequest",
    "Manifest": "NumberofItems",
    "Manifest/ManifestItem": "Description LanguageCode MimeTypeQualifierCode UniformResourceIdentifier",
    "Destination/Receiver": "Authority ContactTypeIdentifier ReceiverID",
    "Destination/Service": "ServiceName ServiceMethod",
    "Source": "Authority ContactTypeIdentifier SenderID",
}
"""Element of the header -> its leaves, as EDSN's own schemas have them."""

VALUES: dict[str, Sequence[str]] = {
    "CreationTimestamp": ("2026-03-11T05:12:44Z", "2026-03-12T05:12:44Z"),
    "ContactTypeIdentifier": tuple(ROLES),
    "P4Register/ID": ("1.8.1", "1.8.2", "2.8.1"),
    "MeasureUnit": ("KWH", "MTQ"),
    "Reading": ("10245.118", "10246"),
    "ReadingDateTime": ("2026-03-11T00:00:00+01:00", "2026-03-12T00:00:00+01:00"),
    "QueryDate": ("2026-03-11", "2026-03-12"),
}
SETTINGS: Sequence[Mapping[str, str]] = (
    {},
    {"RejectionCode": "", "RejectionText": ""},
    {"QueryReason": "INT", "RejectionCode": "", "RejectionText": ""},
)


def ledger() -> Ledger:
    """The answers of the P4 portal, and the file of the reasons."""
    return Ledger([_document(BY_LABEL[label]) for label in DOCUMENTS], REASONS)


def _document(row: Row) -> LedgerDocument:
    declared = next(found.root for found in documents_of(row.schema.path) if found.root.name == row.piece)
    content = declared if row.piece == CONTENT else SchemaElement(CONTENT, children=[declared])
    return LedgerDocument(
        label=row.label,
        type=row.label,
        root=SchemaElement(row.root, children=[_header(), content]),
        namespace=row.namespaces[-1],
        qualified=True,
        values=VALUES,
        settings=SETTINGS,
    )


def _header() -> SchemaElement:
    header = SchemaElement(HEADER)
    for path, names in HEAD.items():
        parent = header
        for name in path.split("/") if path else ():
            found = next((one for one in parent.children if one.name == name), None)
            if found is None:
                found = SchemaElement(name)
                parent.children.append(found)
            parent = found
        parent.children += [SchemaElement(name, "text") for name in names.split()]
    return header
