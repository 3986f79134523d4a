"""What the French adapter gives to be measured: its fluxes with their headers, and the codes that steer digesters."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from lxml import etree

from adapters.common.coverage import LeafPath, Ledger, LedgerDocument, opened, write_json, write_xml
from adapters.common.schemaleaves import SchemaElement, documents_of, leaves_of
from adapters.fr_enedis import c68, ondemand, reports
from adapters.fr_enedis.c15 import CATEGORY, CONNECTION_STATUS, CONTRACT_STATUS, PHASES, QUALIFICATION
from adapters.fr_enedis.r6x import READERS
from adapters.fr_enedis.registers import NATURE
from adapters.fr_enedis.sge import answers
from adapters.fr_enedis.sge.writing import SOAP
from adapters.fr_enedis.types import FLUXES, Flux

REASONS = Path(__file__).parent / "left_out.csv"
ANSWERS = Path(__file__).parent / "sge" / "answers.csv"
"""What the SGE answers with: an element and its leaves; ``*`` is all that an element holds, ``.`` its own text."""

LISTS: dict[str, str] = {"C12": "Contrat", "R171": "serieMesuresDateesListe"}
"""Label -> element that the pieces stand in, where they are no children of the root."""

WORDS = {"Identifiant_Flux": "Libelle_Flux", "idFlux": "libelle"}
"""Leaf of a header that names the flux -> that which says it in words."""

BESIDE: dict[str, dict[str, str]] = {
    "C15": {"Contrat": "Identifiant"},
    "R15": {"En_Tete_Flux": "Nature_Contrat Identifiant_Contrat"},
    "R151": {"En_Tete_Flux": "Identifiant_Contrat Numero_Abonnement"},
    "R17": {
        "En_Tete_Flux": "Identifiant_Contrat Coordonnees_Emetteur Coordonnees_Destinataire",
        "Coordonnees_Emetteur": "Nom Complement Num Voie Code_Postal Cedex Commune Pays",
        "Coordonnees_Destinataire": "Nom Complement Num Voie Code_Postal Cedex Commune Pays",
    },
    "R50": {"En_Tete_Flux": "Identifiant_Contrat Numero_Abonnement"},
    "F15-detail": {"En_Tete_Flux": "Identifiant_Contrat", "Releve": "Id_Releve *"},
    "F15-general": {"En_Tete_Flux": "Identifiant_Contrat"},
    "C12": {
        "En_Tete_Flux": "Mode_Generation",
        "Contrat": "Identifiant Date_Debut",
        "Responsable_Equilibre": "Date_Debut Date_Fin Raison_Sociale",
        "Client_Contractant": "Code_EIC Raison_Sociale",
    },
    "F12-detail": {"Rappel_En_Tete": "Agence_ERDF", "Sous_Total_Fichier": "Rang_Fichier Nb_Fichier Sous_Total_HT"},
}
"""Label -> element -> leaves that our schema does not declare, as Enedis' own schemas have them."""

HEADER = """
siDemandeur typeDestinataire idDestinataire codeFlux idDemande modePublication idCanalContact idPublication format
publicationCrp
"""
"""Leaves of the header of measures in JSON, one-off and recurrent."""
DUE = "type horodateDebutPublication frequence"
"""Leaves of what the header of recurrent measures tells of their dates."""

NOTICE_LEAVES = """
header/idDestinataire services[]/idPrm services[]/segments[]/segment
services[]/segments[]/serviceSouscrits[]/typeServiceSouscrit services[]/segments[]/serviceSouscrits[]/typeService
services[]/segments[]/serviceSouscrits[]/etatService services[]/segments[]/serviceSouscrits[]/dateDebut
services[]/segments[]/serviceSouscrits[]/dateFin services[]/segments[]/serviceSouscrits[]/motifFinCode
services[]/segments[]/serviceSouscrits[]/motifFinLibelle
"""
"""Leaves of a notice of stopped services."""

SNAPSHOT: dict[str, Sequence[str]] = {
    "etatAlimentation": [code for code in CONNECTION_STATUS if code],
    "etatContractuel": ("SERVC", "RESIL"),
    "clientFinal/categorie": ("RES", "PRO"),
    "nbFilsBranchement": ("2", "4"),
    "puissanceRaccordementSoutirage/unite": ("kVA", "kW"),
    "puissanceSouscrite/valeur": ("6", "9"),
    "puissanceSouscrite/unite": ("kVA", "kW"),
    "puissance/valeur": ("6", "9"),
    "puissance/unite": ("kVA", "kW"),
    "niveauOuvertureServices/code": ("1", "2"),
    "situationsContractuelles/dateDebut": ("2026-01-20", "2026-01-21"),
}
"""Values of C68 of which its digester knows the meaning."""

VALUES: dict[str, Sequence[str]] = {
    "Etat_Alimentation": [code for code in CONNECTION_STATUS if code],
    "Etat_Contractuel": list(CONTRACT_STATUS),
    "Mode_Alimentation": list(PHASES),
    "Titulaire_Contrat/Categorie": list(CATEGORY),
    "Code_Qualification": list(QUALIFICATION),
    "Nature_Index": [code for code in NATURE if code],
    "Pas_Courbe_De_Charge_Soutirage": ("10", "30"),
    "Nature_Evenement": ("MES", "CMAT"),
    "Operation/Categorie_Materiel": ("COMPTEUR", "COMPTEUR LINKY"),
    "Unite_Mesure_Index": ("Wh", "kWh"),
    "Unite_Mesure_Puissance": ("VA", "kVA"),
    "Pas_Publication": ("30", "60"),
    "Date_Facture": ("2026-03-03", "2026-03-04"),
    "Grandeur_Metier": ("CONS", "PROD"),
    "@Statut_Point": ("R", "E"),
    "Donnees_Par_Type_Mesure*/Type_Mesure": ("EA", "ER"),
    "Donnees_Par_Type_Mesure*/Unite_Mesure": ("kWh", "kVArh"),
    "Date_Debut_Mesure": ("2026-03-01", "2026-03-02"),
    "Date_Fin_Mesure": ("2026-04-01", "2026-04-02"),
    "Granularite": ("10", "30"),
    "statut/@code": ("TERMN", "COURS", "ANNUL"),
    "Devise": ("EUR", "XAF"),
    "modePublication": ("P", "Q"),
    "points/d": ("2026-03-01 00:30:00", "2026-03-02 00:30:00"),
    "points/p": ("PT30M", "PT10M"),
    "points/n": ("R", "B"),
    "points/iv": ("2", "1"),
    "points/ec": ("6", "1"),
    "points/v": ("12", "13"),
    "mesure/v": ("12", "13"),
    "mesure/d": ("2026-03-01T00:30:00+01:00", "2026-03-02T00:30:00+01:00"),
    "mesure/p": ("PT30M", "PT10M"),
    "mesure/n": ("R", "B"),
    "mesure/valeur": ("12", "13"),
    "mesure/dateDebut": ("2026-02-01", "2026-02-02"),
    "mesure/dateFin": ("2026-03-01", "2026-03-02"),
    "mesure/nature/@code": ("REEL", "ESTIME"),
    "grandeurPhysique/@code": ("EA", "ERI"),
    "consulterMesuresDetailleesResponseV3/contexte/grandeur/calendrier/classeTemporelle/valeur/v": ("12", "13"),
    "calendrier/idCalendrier": ("DI000001", "DI000002"),
    "cadranTotalisateur/valeur/v": ("812", "813"),
    "grandeur/grandeurMetier": ("CONS", "PROD"),
    "libelleGrille": ("Distributeur", "Fournisseur"),
    "codeGrille": ("D", "F"),
    "valeur/d": ("2026-03-01 00:00:00", "2026-03-02 00:00:00"),
    "periode/date*": ("2026-03-01 00:00:00", "2026-03-02 00:00:00"),
    "dbtMesure": ("2026-03-01", "2026-03-02"),
    "finMesure": ("2026-03-03", "2026-03-04"),
    "codeNature": ("R", "E"),
    "codeStatut": ("I", "R"),
    "libelleNature": ("Réel", "Estimé"),
    "libelleStatut": ("Initial", "Annulé"),
    "iv": ("0", "1"),
    "acquittement/resultat/@code": (answers.SUCCESS, "SGT401"),
    "erreur/resultat/@code": ("SGT401", "SGT500"),
}
"""Values of which a digester knows the meaning, where the schema leaves them open."""

SETTINGS: dict[str, Sequence[Mapping[str, str]]] = {
    "C15": (
        {"Date_Resiliation": ""},
        {"Nature_Evenement": "RES", "Etat_Contractuel": "RESILIE"},
        {"Nature_Evenement": "CMAT"},
        {"Tension_De_Livraison": "", "Structure_Tarifaire/Libelle_Plage_Heures_Creuses": ""},
    ),
    "C12": ({}, {"Nature_Evenement": "RES"}, {"Tension_De_Livraison": "", "Adresse_Postale/Commune": ""}),
    "F12-detail": ({}, {"Element_Valorise/*/Date_Debut": ""}),
    **dict.fromkeys(("R63", "R63A", "R63B"), ({"grandeurPhysique": "PA"},)),
    **dict.fromkeys(
        ("R64", "R64A", "R64B"),
        (
            {"grandeurPhysique": "EA"},
            {"grandeurPhysique": "EA", "codeGrille": ""},
            {"grandeurPhysique": "EA", "idClasseTemporelle": "", "calendrier/classeTemporelle/codeCadran": ""},
        ),
    ),
    "R65": ({"grandeurPhysique": "EA", "points/d": "2026-03-01"},),
    **dict.fromkeys(("R66", "R66B"), ({"grandeurPhysique": "PMA"},)),
    "R67": (
        {"grandeurPhysique": "EA"},
        {"grandeurPhysique": "EA", "codeGrille": ""},
        {"grandeurPhysique": "EA", "codeNature": "", "codeStatut": ""},
        {"grandeurPhysique": "EA", "idMotifReleve": "", "idClasseTemporelle": ""},
    ),
    "SGE-Fault": ({}, {"erreur/resultat": ""}, {"erreur/resultat": "", "erreur/resultat/@code": ""}),
    "SGE-consulterMesuresDetailleesResponse": (
        {"grandeurPhysique": "PA"},
        {"grandeurPhysique": "PMA", "mesure/p": "", "mesure/n": ""},
        {"grandeurPhysique": "EA", "mesure/p": "", "mesure/n": ""},
    ),
    "SGE-consulterMesuresDetailleesResponseV3": (
        {"grandeurPhysique": "EA", "consulterMesuresDetailleesResponseV3/grandeur/grandeurPhysique": "PA"},
        {"grandeurPhysique": "EA", "points/p": "", "points/n": "", "points/d": "2026-03-01"},
        {
            "grandeurPhysique": "EA",
            "points/*": "",
            "idClasseTemporelle": "",
            "calendrier/classeTemporelle/codeCadran": "",
        },
    ),
    "SGE-rechercherPointResponse": ({}, {"numeroSerie": ""}),
    "X12-X13": ({}, {"jalon/affaireEtat/@code": "CPRE"}, {"donneesPoint/id": "", "donneesGenerales/segment": ""}),
}


def ledger() -> Ledger:
    """The documents of `adapters.fr_enedis.types`, those on demand, and the file of the reasons."""
    fluxes = [*map(_document, FLUXES), *map(_on_demand, READERS)]
    with ANSWERS.open(newline="", encoding="utf-8") as rows:
        answered = groupby(csv.DictReader(rows), lambda row: row["element"])
        said = [_answer(element, [row["leaf"] for row in leaves]) for element, leaves in answered]
    return Ledger([*fluxes, _snapshot(), _notice(), *said], REASONS, unknown=(reports.REPORT,))


def _snapshot() -> LedgerDocument:
    """C68, an array of points, by the file of its leaves."""
    root = _tree((leaf.path, leaf.type) for leaf in c68.LEAVES)
    return LedgerDocument(
        label=c68.FLUX,
        type=c68.FLUX,
        root=root,
        values=VALUES | SNAPSHOT,
        settings=({}, {"tensionLivraison": ""}, {"numSiret": "", "numeroSerie": "", "telephoneFixe": ""}),
        name="ENEDIS_C68_P_ITC_M0000AC1_00001_20260306080000.json",
        write=lambda document, values: b"[" + write_json(document, values) + b"]",
    )


def _notice() -> LedgerDocument:
    """NASS, by the leaves that a public reader takes."""
    root = _tree((path, "text") for path in NOTICE_LEAVES.split())
    return LedgerDocument(
        label=reports.NOTICE,
        type=reports.NOTICE,
        root=root,
        values={
            "dateDebut": ("2026-01-20", "2026-01-21"),
            "dateFin": ("2026-03-01", "2026-03-02"),
            "motifFinCode": ("4", "7"),
        },
        name="ENEDIS_NASS_Q_SERV_7100009_00001_20260306100000.json",
        write=write_json,
    )


def _tree(leaves: Iterable[tuple[str, str]]) -> SchemaElement:
    """The elements of paths, a mark ``[]`` behind those that may stand several times."""
    root = SchemaElement("")
    for path, kind in leaves:
        held = root
        for step in path.split("/"):
            name = step.removesuffix("[]")
            found = next((child for child in held.children if child.name == name), None)
            if found is None:
                found = SchemaElement(name, many=step.endswith("[]"))
                held.children.append(found)
            held = found
        held.type = {"truth": "flag"}.get(kind, kind)
    return root


def _answer(element: str, leaves: Iterable[str]) -> LedgerDocument:
    """A SOAP envelope by the leaves of the element that says something."""
    root = SchemaElement("Envelope")
    for leaf in leaves:
        held = root
        for step in ("Header" if element == "acquittement" else "Body", element, *leaf.strip(".").split("/")):
            found = next((child for child in held.children if child.name == step), None) or SchemaElement(step)
            if found not in held.children and step:
                held.children.append(found)
            held = found if step else held
        held.type = "text"
    label = f"{answers.FLUX}-{element}"
    return LedgerDocument(
        label=label,
        type=answers.LABEL,
        root=root,
        values=VALUES,
        settings=SETTINGS.get(label, ({},)),
        name="answer-LUM-1_20260301T080000Z.xml",
        write=_write_answer,
    )


def _write_answer(document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
    """The envelope in the namespace of SOAP; one that says neither success nor failure says success."""
    root = etree.fromstring(write_xml(document, values))
    if root.find("Header") is None:
        acquittement = etree.SubElement(etree.SubElement(root, "Header"), "acquittement")
        etree.SubElement(acquittement, "resultat", code=answers.SUCCESS)
    if root.find("Body") is None:
        etree.SubElement(etree.SubElement(root, "Body"), "Done")
    for name in ("Envelope", "Header", "Body", "Fault"):
        for element in root.iter(name):
            element.tag = f"{{{SOAP}}}{name}"
    return etree.tostring(root)


def _on_demand(flux: str) -> LedgerDocument:
    measures = leaves_of("mesures", READERS[flux].shape)
    measures.many = True
    head = [SchemaElement("header", children=_leaves(HEADER.split()))]
    if flux[-1] in "AB":
        head.append(SchemaElement("echeances", children=_leaves(DUE.split())))
    return LedgerDocument(
        label=flux,
        type=ondemand.LABEL,
        root=SchemaElement("", children=[*head, measures]),
        values={"codeFlux": (flux,), **VALUES},
        settings=SETTINGS[flux],
        name=f"{flux.lower()}.json",
        write=write_json,
    )


def _with_unread(root: SchemaElement, label: str) -> SchemaElement:
    """The element with the leaves that no code reads."""
    for name, unread in BESIDE.get(label, {}).items():
        held = next(one for one in _all(root) if one.name == name)
        held.children = [*_leaves(unread.split()), *held.children]
        held.type = None
    return root


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
    return LedgerDocument(
        label=row.label,
        type=row.label,
        root=opened(_with_unread(root, row.label)),
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
