"""What the Belgian adapter gives to be measured: the documents of its mapping table that are digested, as the schemas
have them that are made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.be_atrias.documents import DIGESTERS
from adapters.be_atrias.mapping import FILE, Document, Table
from adapters.common.coverage import Ledger, LedgerDocument
from adapters.common.schemaleaves import documents_of

REASONS = Path(__file__).parent / "left_out.csv"

SETTINGS: dict[str, Sequence[Mapping[str, str]]] = {"MeteredSeries": ({}, {"QuantityMissing": "false"})}


def ledger(table: Table) -> Ledger:
    """The documents of a mapping table, and the file of the reasons."""
    documents = [_document(document) for label, document in table.documents.items() if label in DIGESTERS]
    return Ledger(documents, REASONS)


def _document(document: Document) -> LedgerDocument:
    declared = documents_of(FILE.parent / "schemas" / f"{document.label}.xsd")
    return LedgerDocument(
        label=document.label,
        type=document.label,
        root=next(one.root for one in declared if one.root.name == document.root),
        namespace=document.namespace,
        qualified=True,
        values={"DocumentType": (document.type, "E99")},
        settings=SETTINGS.get(document.label, ({},)),
    )
