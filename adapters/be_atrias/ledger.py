"""What the Belgian adapter gives to be measured: the documents of its mapping table that are digested, as the schemas
have them that are made from it; the interchanges of the older generation; the calorific values."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path

import yaml

from adapters.be_atrias import calorific
from adapters.be_atrias.edifact import digesting as edifact
from adapters.be_atrias.edifact.control import released
from adapters.be_atrias.mapping import FILE, namespace_of, type_of
from adapters.common.coverage import LeafPath, Ledger, LedgerDocument
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.common.table import Document, Table

REASONS = Path(__file__).parent / "left_out.csv"
DECLARED = Path(__file__).parent / "edifact" / "declared.yaml"
_ELEMENT = re.compile(r"\{([0-9.]+)(?:=([^}]*))?\}")
_QUALIFIER = re.compile(r"[+:]([^+:{}]+)")

SETTINGS: dict[str, Sequence[Mapping[str, str]]] = {"MeteredSeries": ({}, {"QuantityMissing": "false"})}


def ledger(table: Table) -> Ledger:
    """The documents of a mapping table, and the file of the reasons."""
    documents = [_document(table, document) for document in table.documents.values()]
    messages = yaml.safe_load(DECLARED.read_bytes())["messages"]
    interchanges = [_interchange(label, segments) for label, segments in messages.items()]
    return Ledger([*documents, *interchanges, _calorific(table)], REASONS)


def _document(table: Table, document: Document) -> LedgerDocument:
    declared = documents_of(FILE.parent / "schemas" / f"{document.label}.xsd")
    return LedgerDocument(
        label=document.label,
        type=document.label,
        root=next(one.root for one in declared if one.root.name == document.root),
        namespace=namespace_of(document),
        qualified=True,
        values={
            "DocumentType": (type_of(table, document), "E99"),
            "UnitType": ("KVA", "KWT"),
            "SettlementRegime": ("R1", "R3"),
        },
        settings=SETTINGS.get(document.label, ({},)),
    )


# --- EDIFACT ---


def _interchange(label: str, segments: Sequence[str]) -> LedgerDocument:
    """An interchange of one message, as its segments with their data elements in braces."""
    root, values = SchemaElement(label), {}
    for name, segment in _named(segments):
        element = SchemaElement(name)
        for number, given in _ELEMENT.findall(segment):
            element.children.append(SchemaElement(number, "text"))
            if given:
                values[f"{name}/{number}"] = given.split("|")
        root.children.append(element)
    return LedgerDocument(
        label=label,
        type=edifact.LABEL,
        root=root,
        values=values,
        settings=({}, {"DTM+137/*": ""}, {"QTY*/6411": ""}),
        name="member.edi",
        write=partial(_write_interchange, segments),
    )


def _named(segments: Sequence[str]) -> list[tuple[str, str]]:
    """The segments with their names: tag and qualifier, the value of a characteristic under it, ``#2`` for a second."""
    found: dict[str, str] = {}
    above = ""
    for segment in segments:
        qualifier = _QUALIFIER.search(_ELEMENT.sub("", segment[3:])) if segment[:3] not in ("UNB", "UNH") else None
        name = f"{segment[:3]}+{qualifier[1]}" if qualifier else segment[:3]
        above = name if segment.startswith("CCI") else above
        name = f"{above}/CAV" if segment.startswith("CAV") else name
        found[f"{name}#2" if name in found else name] = segment
    return list(found.items())


def _write_interchange(segments: Sequence[str], document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
    written: list[str] = []
    for name, segment in _named(segments):
        told = {number: values.get((name, number), "") for number, _ in _ELEMENT.findall(segment)}
        if name == "UNT":
            told = {"0074": str(len(written)), "0062": values["UNH", "0062"]}
        elif name == "UNZ":
            told = {"0036": "1", "0020": values["UNB", "0020"]}
        if any(told.values()) or not told:
            filled = _ELEMENT.sub(lambda found, told=told: released(told[found[1]]), segment)  # type: ignore[misc]
            written.append(filled.rstrip("+:") + "'")
    return "".join(written).encode("latin-1")


# --- calorific values ---


def _calorific(table: Table) -> LedgerDocument:
    columns = {column: names[0] for column, names in table.raw["calorific"].items()}
    values = {columns["month"]: ("2026-03", "2026-04"), columns["value"]: ("11,4", "11,5")}
    root = SchemaElement(calorific.LABEL, children=[SchemaElement(name, "text") for name in columns.values()])
    return LedgerDocument(calorific.LABEL, calorific.LABEL, root, values=values, name="member.csv", write=_write_table)


def _write_table(document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
    lines = StringIO()
    names = [child.name for child in document.root.children]
    csv.writer(lines).writerows([names, [values.get((name,), "") for name in names]])
    return lines.getvalue().encode()
