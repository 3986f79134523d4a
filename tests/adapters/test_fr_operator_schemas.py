"""Documents with every element that the operator's schemas have, optional ones too: taken, and nothing is lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import xmlschema
from lxml import etree

from adapters.common.conformance.subject import read
from adapters.common.coverage import LedgerDocument, entries, example_values, matches, opened
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.fr_enedis import adapter
from energycomm.kernel.codec import encode

SCHEMAS = {
    "C15": "GRD.XSD.0301.Flux_C15_v5.2.0.xsd",
    "C12": "ENEDIS.SGE.XSD.0130.C12_v1.12.1.xsd",
    "R17": "ENEDIS.SGE.XSD.0132.R17_v1.9.1.xsd",
    "R50": "Enedis.SGE.GUI.0316.Flux_R50_v1.1.0.xsd",
    "R4x": "Enedis.SGE.XSD.0409.R4x_v1.1.1.xsd",
    "R171": "ENEDIS.SGE.XSD.0315.Flux_R171_v1.2.0.xsd",
    "R151": "Enedis.SGE.XSD.0315.Flux_R151_v1.2.0.xsd",
}
VALUES: Mapping[str, Sequence[str]] = {
    "Contrat/Code_EIC_*": ("17XLUMINEFICT01X", "17XLUMINEFICT02X"),
    "Date_Previsionnelle_Deploiement_Compteur_Linky": ("2026-03", "2026-04"),
    "Commune/@Code_INSEE": ("01999", "01998"),
    "Operation/Categorie_Materiel": ("COMPTEUR", "DISJONCTEUR"),
    "Mois_*": ("01/03/2026", "01/04/2026"),
    "Agence_ERDF": ("0321", "0322"),
    "Nature_EV": ("01", "02"),
}
"""What has a form that no list of examples knows."""
NEEDED = {"PRM/Segment_Clientele", "En_Tete_Flux/Identifiant_Emetteur"}
"""Leaves that have one value, without which a document is refused."""


@pytest.mark.thorough
@pytest.mark.parametrize("label", SCHEMAS)
def test_an_instance_with_every_element_loses_nothing(label: str, shared: Path) -> None:
    ledger = adapter.ledger()
    ours = next(one for one in ledger.documents if one.label == label)
    found = [one.root for one in documents_of(shared / "markets/fr/xsd_2026" / SCHEMAS[label])]
    root = next(one for one in found if one.name == ours.root.name)
    document = ours._replace(root=opened(root), values={**VALUES, **_single(root), **ours.values})
    lost = [one.path for one in entries(adapter, document, ledger.reasoned()) if one.outcome == "missing"]
    assert [path for path in lost if path not in NEEDED] == []


def _single(root: SchemaElement) -> dict[str, Sequence[str]]:
    """Leaves of which one value alone is valid: whether it is there is what they say."""
    values: dict[str, Sequence[str]] = {}
    for number, (leaf, element) in enumerate(root.leaves(), start=1):
        path = "/".join(leaf)
        codes = [code for code in element.codes if code]
        one = codes or list(example_values(element, number))[:2]
        if len(one) == 1 and not any(matches(pattern, path) for pattern in VALUES):
            values[path] = (one[0], "")
    return values


def test_every_schema_is_of_a_document_of_ours() -> None:
    assert {one.label for one in adapter.ledger().documents if isinstance(one, LedgerDocument)} >= set(SCHEMAS)


WHOLE = {
    "C15": "xsd_2026/GRD.XSD.0301.Flux_C15_v5.2.0.xsd",
    "C12": "xsd_2026/ENEDIS.SGE.XSD.0130.C12_v1.12.1.xsd",
    "R15": "xsd/ENEDIS.SGE.XSD.0293.Flux_R15_v2.3.2.xsd",
    "F15-detail": "xsd_2026/GRD.XSD.0299.Flux_F15_Donnees_Detail_v4.0.4.xsd",
    "F15-general": "xsd_2026/GRD.XSD.0302.Flux_F15_Donnees_Generales_v4.0.4.xsd",
    "F12-detail": "xsd_2026/Enedis.SGE.XSD.0126.F12_Donnees_Detail_1.10.4.xsd",
    "F12-taxes": "xsd_2026/Enedis.SGE.XSD.0128.F12_Donnees_Taxes_1.10.4.xsd",
}
"""Flux of which a document with every element twice is plain, the richest of them."""
FIRST_COUNTS = {"Contrat/Responsable_Equilibre/Code_EIC"}
"""Leaves that hold for a whole file, of which the first counts."""


@pytest.mark.thorough
@pytest.mark.parametrize("label", WHOLE)
def test_what_stands_twice_is_there_twice(label: str, shared: Path) -> None:
    """Every element twice where it may repeat, every branch of a choice, each text, number and day another one: all of
    them stand in the Kernel messages, or their leaf is left out with a reason."""
    ledger = adapter.ledger()
    ours = next(one for one in ledger.documents if one.label == label)
    schema = xmlschema.XMLSchema(str(shared / "markets/fr" / WHOLE[label]))
    document = _Document(schema.elements[ours.root.name], {**ours.values, **VALUES})
    assert list(schema.iter_errors(document.content)) == []
    found = read(adapter, document.content, f"{label}.xml")
    assert [one for transaction in found.transactions for one in transaction.refusals] == []
    kept = "\n".join(encode(message) for transaction in found.transactions for message in transaction.messages)
    left_out = [row.path for row in ledger.reasoned() if fnmatchcase(label, row.document)]
    lost = {path for path, value in document.told if not any(form in kept for form in _forms(value))}
    assert {path for path in lost if not any(matches(row, path) for row in left_out)} - FIRST_COUNTS == set()


_KINDS = {"decimal": "number", "date": "day", "dateTime": "instant", "boolean": "flag"}


def _forms(value: str) -> tuple[str, ...]:
    """What a value may look like in a message: midnight of a day in Paris in UTC, W in kW."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*", value):
        day = date.fromisoformat(value[:10])
        return str(day), str(day - timedelta(days=1))
    return (value,)


class _Document:
    """A document of a schema; `told` has the path and value of its leaves that have a value of their own."""

    def __init__(self, declared: Any, values: Mapping[str, Sequence[str]]) -> None:
        self.values = values
        self.told: list[tuple[str, str]] = []
        self.turn: Counter[str] = Counter()
        self.content = etree.tostring(self._element(declared, ""))

    def _element(self, declared: Any, path: str) -> etree._Element:
        made = etree.Element(declared.name if declared.qualified else declared.local_name)
        for name, attribute in declared.type.attributes.items() if declared.type.is_complex() else ():
            made.set(name, self._value(attribute.type, f"{path}/@{name}"))
        if declared.type.has_complex_content():
            self._group(declared.type.content, made, path)
        elif declared.type.is_simple() or declared.type.has_simple_content():
            simple = declared.type.content if declared.type.is_complex() else declared.type
            made.text = self._value(simple, path)
        return made

    def _group(self, group: Any, made: etree._Element, path: str) -> None:
        for _ in range(1 if group.max_occurs == 1 else 2):
            parts = list(group)
            if group.model == "choice":
                self.turn[path] += 1
                parts = parts[self.turn[path] % len(parts) :][:1]
            for part in parts:
                if hasattr(part, "model"):
                    self._group(part, made, path)
                    continue
                for _ in range(1 if part.max_occurs == 1 else 2):
                    below = f"{path}/{part.local_name}" if path else part.local_name
                    made.append(self._element(part, below))

    def _value(self, simple: Any, path: str) -> str:
        self.turn[path] += 1
        turn = self.turn[path]
        given = [value for pattern, values in self.values.items() if matches(pattern, path) for value in values]
        codes = [value for value in (*given, *(str(one) for one in simple.enumeration or ())) if simple.is_valid(value)]
        if codes:
            return codes[turn % len(codes)]
        leaf = SchemaElement(path.rpartition("/")[2], _KINDS.get(str(simple.primitive_type.local_name)), simple=simple)
        number = 100_000 + len(self.told)
        padded = [f"{number:0{width}}"[-width:] for width in range(1, 20)]
        made = next((one for one in (*example_values(leaf, number), *padded) if simple.is_valid(one)), "")
        if len(made) > 4:  # shorter ones are found anywhere
            self.told.append((path, made))
        return made
