"""The one table of what this adapter reads: which element is a CH message, in which versions, by which digester."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from adapters.common.outcome import Digester, Outcome
from adapters.common.schemas import Schema
from adapters.fr_enedis import affaires, c12, c15, curves, f12, f15, r15, r17, r151, r171
from adapters.fr_enedis.header import EN_TETE_FLUX, ENTETE, ENTETE_FLUX, ENTETE_R171, Context, HeaderNames
from energycomm.market.contract import DocumentType

FOLDER = Path(__file__).parent / "schemas"


class Flux(NamedTuple):
    """One row.

    Attributes:
      label: names the row.
      fluxes: message types that the root element may hold; the header says which.
      root: root element.
      piece: child of the root that holds the CH messages; the root itself where the file is one.
      header: names of the header.
      beside: further elements of head data beside the header.
      entering: head data that enter Kernel messages beyond what every header has.
      counter: fact beside the pieces that announces their number.
      nested: pieces and what stands beside them are one level deeper, inside a child of the root; facts beside them are
        then named ``element/leaf``.
      namespace: namespace of the root element; its children have none.
      versions: versions it can read, oldest first.
      schema: our schema of the piece.
      digester: reads a piece as one CH message, or
      outcomes: as several.
      about: in words.
    """

    label: str
    fluxes: tuple[str, ...]
    root: str
    piece: str
    versions: tuple[str, ...]
    schema: Schema
    about: str
    header: HeaderNames = EN_TETE_FLUX
    beside: tuple[str, ...] = ()
    entering: tuple[str, ...] = ()
    counter: str | None = None
    nested: bool = False
    namespace: str | None = None
    digester: Digester[Context] | None = None
    outcomes: Callable[[etree._Element, Context, Schema], Iterable[Outcome]] | None = None


FLUXES: tuple[Flux, ...] = (
    Flux(
        label="C15",
        fluxes=("C15",),
        root="C15",
        piece="PRM",
        versions=c15.VERSIONS,
        schema=Schema(FOLDER / "c15.xsd"),
        about="situation of C5 points after each event; one CH message per PRM",
        beside=("Contrat",),
        entering=("Code_EIC_Fournisseur", "Code_EIC_Responsable_Equilibre", "Nature_Contrat"),
        digester=c15.DIGESTER,
    ),
    Flux(
        label="R15",
        fluxes=("R15",),
        root="R15",
        piece="PRM",
        versions=r15.VERSIONS,
        schema=Schema(FOLDER / "r15.xsd"),
        about="readings and energies of C5 and P4 points, with corrections; one CH message per PRM",
        digester=r15.DIGESTER,
    ),
    Flux(
        label="R151",
        fluxes=("R151",),
        root="R151",
        piece="PRM",
        versions=r151.VERSIONS,
        schema=Schema(FOLDER / "r151.xsd"),
        about="daily indexes and highest powers of C5 points; one CH message per PRM",
        entering=r151.ENTERING,
        digester=r151.DIGESTER,
    ),
    Flux(
        label="F15-detail",
        fluxes=("F15",),
        root="F15_Detail_Facturation",
        piece="Donnees_Valorisation",
        versions=f15.VERSIONS,
        schema=Schema(FOLDER / "f15.xsd"),
        about="lines of the grid invoice of C5 points; one CH message per Donnees_Valorisation",
        beside=("Rappel_En_Tete",),
        entering=f15.ENTERING,
        digester=f15.CHARGE,
    ),
    Flux(
        label="F15-general",
        fluxes=("F15",),
        root="F15_Donnees_Generales",
        piece="F15_Donnees_Generales",
        versions=f15.VERSIONS,
        schema=Schema(FOLDER / "f15.xsd"),
        about="head and totals of the grid invoice of C5 points; one CH message per file",
        digester=f15.INVOICE,
    ),
    Flux(
        label="C12",
        fluxes=("C12",),
        root="C12",
        piece="PRM",
        versions=c12.VERSIONS,
        schema=Schema(FOLDER / "c12.xsd"),
        about="situation of C2 to C4 points after each event; one CH message per PRM",
        beside=("Responsable_Equilibre", "Client_Contractant"),
        entering=c12.ENTERING,
        nested=True,
        digester=c12.DIGESTER,
    ),
    Flux(
        label="R50",
        fluxes=("R50",),
        root="R50",
        piece="PRM",
        versions=curves.R50_VERSIONS,
        schema=Schema(FOLDER / "r50.xsd"),
        about="half-hour curves of C5 points; one CH message per PRM",
        entering=curves.R50_ENTERING,
        digester=curves.R50,
    ),
    Flux(
        label="R4x",
        fluxes=("R4x", "R4Q", "R4H", "R4M"),
        root="Courbe",
        piece="Corps",
        versions=curves.R4X_VERSIONS,
        schema=Schema(FOLDER / "r4x.xsd"),
        about="curves of a C1 to C4 point, daily, weekly or monthly; one CH message per file",
        header=ENTETE,
        entering=curves.R4X_ENTERING,
        digester=curves.R4X,
    ),
    Flux(
        label="R171",
        fluxes=("R171",),
        root="R171",
        piece="serieMesuresDatees",
        versions=r171.VERSIONS,
        schema=Schema(FOLDER / "r171.xsd"),
        about="daily indexes and quantities of C2 to C4 points; one CH message per serieMesuresDatees",
        header=ENTETE_R171,
        nested=True,
        namespace=r171.NAMESPACE,
        digester=r171.DIGESTER,
    ),
    Flux(
        label="R17",
        fluxes=("R17",),
        root="Index_C2_C3_C4",
        piece="Corps_PRM",
        versions=r17.VERSIONS,
        schema=Schema(FOLDER / "r17.xsd"),
        about="indexes and consumptions of C2 to C4 points by part of the grid invoice; one CH message per Corps_PRM",
        digester=r17.DIGESTER,
    ),
    Flux(
        label="F12-detail",
        fluxes=("F12",),
        root="Detail_Facturation",
        piece="Sous_Lot",
        versions=f12.VERSIONS,
        schema=Schema(FOLDER / "f12.xsd"),
        about="lines of the grid invoice of C1 to C4 points; one CH message per Sous_Lot",
        beside=("Rappel_En_Tete", "Sous_Total_Fichier"),
        entering=f12.ENTERING,
        counter="Nb_Sous_Lot",
        digester=f12.CHARGE,
    ),
    Flux(
        label="F12-general",
        fluxes=("F12",),
        root="Donnees_Generales",
        piece="Donnees_Generales",
        versions=f12.VERSIONS,
        schema=Schema(FOLDER / "f12.xsd"),
        about="head and totals of the grid invoice of C1 to C4 points; one CH message per file",
        digester=f12.GENERAL,
    ),
    Flux(
        label="F12-recapitulation",
        fluxes=("F12",),
        root="Detail_Recapitulatif",
        piece="Detail_Recapitulatif",
        versions=f12.VERSIONS,
        schema=Schema(FOLDER / "f12.xsd"),
        about="sums of the grid invoice of C1 to C4 points by tariff; one CH message per file",
        digester=f12.RECAPITULATION,
    ),
    Flux(
        label="F12-taxes",
        fluxes=("F12",),
        root="Detail_Taxes",
        piece="Detail_Taxes",
        versions=f12.VERSIONS,
        schema=Schema(FOLDER / "f12.xsd"),
        about="contributions of the grid invoice of C1 to C4 points; one CH message per file",
        digester=f12.TAXES,
    ),
    Flux(
        label="F12-e-invoice",
        fluxes=("F12",),
        root="Detail_Facturation_Demat",
        piece="Detail_Facturation_Demat",
        versions=f12.E_INVOICE_VERSIONS,
        schema=Schema(FOLDER / "f12.xsd"),
        about="electronic form of the grid invoice of C1 to C4 points; one CH message per file",
        digester=f12.E_INVOICE,
    ),
    Flux(
        label="X12-X13",
        fluxes=("X12", "X13", "X14", "X15"),
        root="affaires",
        piece="affaire",
        versions=affaires.VERSIONS,
        schema=Schema(FOLDER / "affaires.xsd"),
        about="requests that we made (X12, X14) or that concern us (X13, X15); one CH message per milestone",
        header=ENTETE_FLUX,
        beside=("nbAffaires",),
        counter="nbAffaires",
        outcomes=affaires.outcomes,
    ),
)
"""Every row, in the order of the documentation."""

BY_LABEL: dict[str, Flux] = {row.label: row for row in FLUXES}
BY_ROOT: dict[str, Flux] = {row.root: row for row in FLUXES}
ROOTS = ", ".join(sorted(BY_ROOT))
"""The root elements, for people."""
TYPES: dict[str, DocumentType] = {
    row.label: DocumentType(row.label, "xml", row.root, row.versions, row.about) for row in FLUXES
}

UNREAD_ROOTS: dict[str, str] = {
    "Recapitulatif": "F12",
}
"""Root elements of Enedis fluxes that no digester reads -> flux. They are taken from the names of the fluxes; none was
seen in a file."""

JSON_KEYS = frozenset(("header", "mesures"))
"""First keys of the JSON of measures (R63 to R67)."""
