"""Documents with every element that the operator's schemas have, optional ones too: taken, and nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from adapters.common.coverage import LedgerDocument, entries, example_values, matches, opened
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.fr_enedis import adapter

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
}
"""What has a form that no list of examples knows."""
NEEDED = {"PRM/Segment_Clientele", "En_Tete_Flux/Identifiant_Emetteur"}
"""Leaves that have one value, without which a document is refused."""


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
