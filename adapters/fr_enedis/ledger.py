"""What the French adapter gives to be measured: its fluxes with their headers, and the codes that steer digesters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from adapters.common.coverage import Ledger, LedgerDocument, opened
from adapters.common.schemaleaves import SchemaElement, documents_of
from adapters.fr_enedis.c15 import CATEGORY, CONNECTION_STATUS, CONTRACT_STATUS, PHASES, QUALIFICATION
from adapters.fr_enedis.registers import NATURE
from adapters.fr_enedis.types import FLUXES, Flux

REASONS = Path(__file__).parent / "left_out.csv"

LISTS: dict[str, str] = {"C12": "Contrat", "R171": "serieMesuresDateesListe"}
"""Label -> element that the pieces stand in, where they are no children of the root."""

WORDS = {"Identifiant_Flux": "Libelle_Flux", "idFlux": "libelle"}
"""Leaf of a header that names the flux -> that which says it in words."""

BESIDE: dict[str, dict[str, str]] = {
    "C15": {"Contrat": "Identifiant"},
    "R15": {"En_Tete_Flux": "Nature_Contrat Identifiant_Contrat"},
    "R151": {"En_Tete_Flux": "Identifiant_Contrat Numero_Abonnement"},
    "R50": {"En_Tete_Flux": "Identifiant_Contrat Numero_Abonnement"},
    "F15-detail": {"En_Tete_Flux": "Identifiant_Contrat"},
    "F15-general": {"En_Tete_Flux": "Identifiant_Contrat"},
    "C12": {
        "En_Tete_Flux": "Mode_Generation",
        "Contrat": "Identifiant Date_Debut",
        "Responsable_Equilibre": "Date_Debut Date_Fin Raison_Sociale",
        "Client_Contractant": "Code_EIC Raison_Sociale",
    },
    "F12-detail": {"Rappel_En_Tete": "Agence_ERDF", "Sous_Total_Fichier": "Rang_Fichier Nb_Fichier Sous_Total_HT"},
}
"""Label -> element of the head -> leaves that no code reads, as Enedis' own schemas have them."""

VALUES: dict[str, Sequence[str]] = {
    "Etat_Alimentation": [code for code in CONNECTION_STATUS if code],
    "Etat_Contractuel": list(CONTRACT_STATUS),
    "Mode_Alimentation": list(PHASES),
    "Titulaire_Contrat/Categorie": list(CATEGORY),
    "Code_Qualification": list(QUALIFICATION),
    "Nature_Index": [code for code in NATURE if code],
    "Pas_Courbe_De_Charge_Soutirage": ("10", "30"),
    "Nature_Evenement": ("MES", "CMAT"),
    "Unite_Mesure_Index": ("Wh", "kWh"),
    "Unite_Mesure_Puissance": ("VA", "kVA"),
    "Pas_Publication": ("30", "60"),
    "Date_Facture": ("2026-03-03", "2026-03-04"),
    "Grandeur_Metier": ("CONS", "PROD"),
    "@Statut_Point": ("R", "E"),
    "Granularite": ("10", "30"),
    "statut/@code": ("TERMN", "COURS", "ANNUL"),
    "Devise": ("EUR", "XAF"),
}
"""Values of which a digester knows the meaning, where the schema leaves them open."""

SETTINGS: dict[str, Sequence[Mapping[str, str]]] = {
    "C15": (
        {},
        {"Nature_Evenement": "RES", "Etat_Contractuel": "RESILIE"},
        {"Nature_Evenement": "CMAT"},
        {"Tension_De_Livraison": "", "Structure_Tarifaire/Libelle_Plage_Heures_Creuses": ""},
    ),
    "C12": ({}, {"Nature_Evenement": "RES"}, {"Tension_De_Livraison": "", "Adresse_Postale/Commune": ""}),
    "F12-detail": ({}, {"Element_Valorise/*/Date_Debut": ""}),
    "X12-X13": ({}, {"jalon/affaireEtat/@code": "CPRE"}, {"donneesPoint/id": ""}),
}


def ledger() -> Ledger:
    """The documents of `adapters.fr_enedis.types`, and the file of the reasons."""
    return Ledger([_document(row) for row in FLUXES], REASONS)


def _document(row: Flux) -> LedgerDocument:
    declared = next(found.root for found in documents_of(row.schema.path) if found.root.name == row.piece)
    declared.many = True
    if row.piece == row.root:
        inside = [_header(row) if one.name == row.header.element else one for one in declared.children]
        root = SchemaElement(row.root, children=inside)
    else:
        pieces = [declared]
        if row.nested:
            pieces = [SchemaElement(LISTS[row.label], children=[*_beside(row), declared])]
        beside = [] if row.nested else _beside(row)
        root = SchemaElement(row.root, children=[_header(row), *beside, *pieces])
    for name, unread in BESIDE.get(row.label, {}).items():
        held = next(one for one in _all(root) if one.name == name)
        held.children = [*_leaves(unread.split()), *held.children]
    return LedgerDocument(
        label=row.label,
        type=row.label,
        root=opened(root),
        namespace=row.namespace,
        values={**VALUES, **_header_values(row)},
        settings=SETTINGS.get(row.label, ({},)),
    )


def _header(row: Flux) -> SchemaElement:
    names = row.header
    leaves = [names.flux, names.version, names.sender, names.receiver, names.created, names.instance]
    children = _leaves(name for name in leaves if name is not None)
    if names.flux in WORDS:
        children += _leaves([WORDS[names.flux]])
    if not row.beside:
        children += _leaves(name for name in row.entering if name not in leaves)
    return SchemaElement(names.element, children=children)


def _header_values(row: Flux) -> dict[str, Sequence[str]]:
    names = row.header
    head = names.element
    values: dict[str, Sequence[str]] = {
        f"{head}/{names.flux}": row.fluxes,
        f"{head}/{names.created}": ("2026-03-01T02:00:00+01:00", "2026-03-02T02:00:00+01:00"),
    }
    if names.version:
        values[f"{head}/{names.version}"] = (row.versions[-1], "0.9")
    return values


def _beside(row: Flux) -> list[SchemaElement]:
    """The elements beside the header, with the facts that enter messages in the first of them."""
    found = []
    for number, name in enumerate(row.beside):
        if name == row.counter:
            found.append(SchemaElement(name, "whole"))
            continue
        facts = [fact.rpartition("/")[2] for fact in row.entering] if number == 0 else []
        found.append(SchemaElement(name, children=_leaves(facts)))
    if row.counter and row.counter not in row.beside:
        next(one for one in found if one.name == "Sous_Total_Fichier").children.append(
            SchemaElement(row.counter, "whole")
        )
    return found


def _all(element: SchemaElement) -> Iterator[SchemaElement]:
    for child in element.children:
        yield child
        yield from _all(child)


def _leaves(names: Iterable[str]) -> list[SchemaElement]:
    return [SchemaElement(name, "text") for name in names]
