"""The scalar types and closed word lists that Kernel messages are written in.

A word list is a ``Literal``: the type checker, the XML Schema and the rules' checks at load all read the same list.
Words are those of ebIX and CIM where these have one; the ebIX code stands beside the word in `EBIX_REASON` and
`EBIX_DOCUMENT`.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

# --- scalars -----------------------------------------------------------------------------------------------------

# Every scalar says what it may hold: kernel.xsd is written from it, and a message that holds anything else is refused
# before it reaches the store. A field that is kept in a column has no wider bounds than its column.

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=400)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=199)]
"""One of two names that are kept together, with a blank between them."""
Code: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Identifier: TypeAlias = Annotated[str, Meta(min_length=1, max_length=40)]
MarketType: TypeAlias = Annotated[str, Meta(min_length=1, max_length=40)]
"""A market's word for a type or a version."""
Unit: TypeAlias = Annotated[str, Meta(min_length=1, max_length=16)]
ShortCode: TypeAlias = Annotated[str, Meta(min_length=1, max_length=8)]
Instant: TypeAlias = Annotated[datetime, Meta(tz=True, extra={"least": "1900-01-01", "most": "9999-12-30"})]
"""With an offset. The last day of the calendar is left out: local time of it would be beyond."""
CivilDay: TypeAlias = Annotated[date, Meta(extra={"least": "1900-01-01", "most": "9999-12-31"})]
WholeNumber: TypeAlias = Annotated[int, Meta(ge=-2_147_483_648, le=2_147_483_647)]
"""What four bytes hold."""
Ordinal: TypeAlias = Annotated[int, Meta(ge=1, le=2_147_483_647)]
Months: TypeAlias = Annotated[int, Meta(ge=1, le=120)]
"""Length of a calendar step: a month is 1, a year 12."""
Index: TypeAlias = Annotated[int, Meta(ge=-999_999_999_999, le=999_999_999_999)]
"""Twelve digits: a million times that, in Wh, is still what eight bytes hold."""
Number: TypeAlias = Annotated[Decimal, Meta(extra={"whole": 18, "fraction": 12})]
"""A decimal number with at most so many digits before and after the point."""
Amount: TypeAlias = Annotated[Decimal, Meta(extra={"whole": 12, "fraction": 10})]
"""Money, power, or another number that is kept in a column of its own: 24 characters with sign and point."""

# --- word lists --------------------------------------------------------------------------------------------------

Energy = Literal["electricity", "gas"]
Function = Literal["original", "replace", "cancel"]
Role = Literal["supplier", "grid-operator", "balance-responsible", "metering-responsible", "clearing-house"]
Reason = Literal[
    "first-connection",
    "move-in",
    "move-out",
    "supplier-switch",
    "end-of-contract",
    "termination",
    "contract-change",
    "master-data-change",
    "customer-change",
    "meter-change",
    "tariff-change",
    "periodic",
    "on-demand",
    "historical",
    "correction",
    "event",
    "invoicing",
    "combined-switch",
    "rectification",
    "cancellation",
    "other",
]
ContractStatus = Literal["in-service", "terminated", "pending"]
ConnectionStatus = Literal["connected", "disconnected", "limited", "not-connected"]
CustomerCategory = Literal["residential", "professional"]
Grid = Literal["distributor", "supplier"]
Direction = Literal["consumption", "production"]
Qualification = Literal["before-event", "after-event", "periodic"]
ReadingNature = Literal["read", "estimated", "self-read", "unknown"]
VolumeNature = Literal["measured", "estimated", "regularised", "unknown"]
Quality = Literal["as-read", "estimated", "calculated", "revised", "missing", "definitive"]
PointType = Literal["consumption", "production", "exchange", "other"]
ChargeType = Literal["subscription", "fee", "tariff", "other"]
InvoicePart = Literal["general", "recapitulation", "taxes", "e-invoice"]
SettlementVersion = Literal["preliminary", "first", "second", "third", "correction", "final"]
PowerNature = Literal["subscribed", "limit", "connected", "reached"]
RelationNature = Literal["parent", "child", "part", "bundle", "neighbour", "other"]
MeterAction = Literal["present", "installed", "removed", "reconfigured"]
RequestState = Literal["sent", "acknowledged", "in-course", "done", "refused", "cancelled"]
ReceivedState = Literal["open", "answered", "withdrawn"]
"""State of a request that we received."""

FRENCH: dict[str, str] = {
    "acknowledged": "réception confirmée",
    "active-energy": "énergie active",
    "active-power": "puissance active",
    "after-event": "après l'événement",
    "answered": "traitée",
    "as-read": "relevé",
    "balance-responsible": "responsable d'équilibre",
    "before-event": "avant l'événement",
    "bundle": "groupe",
    "calculated": "calculé",
    "cancel": "annulation",
    "cancellation": "annulation",
    "cancelled": "annulée",
    "change": "modification",
    "child": "point fils",
    "clearing-house": "chambre de compensation",
    "combined-switch": "changement combiné",
    "connected": "connecté",
    "consumption": "consommation",
    "contract-change": "changement de contrat",
    "correction": "correction",
    "curve": "courbe",
    "customer-change": "changement de client",
    "definitive": "définitif",
    "general": "général",
    "recapitulation": "récapitulatif",
    "taxes": "taxes",
    "e-invoice": "facture électronique",
    "disconnected": "déconnecté",
    "distributor": "distributeur",
    "done": "terminée",
    "electricity": "électricité",
    "end": "fin",
    "end-of-contract": "fin de contrat",
    "energy": "énergie",
    "estimated": "estimé",
    "event": "événement",
    "exchange": "échange",
    "fee": "redevance",
    "final": "finale",
    "first": "première",
    "first-connection": "première mise en service",
    "gas": "gaz",
    "grid-operator": "gestionnaire de réseau",
    "historical": "historique",
    "in-course": "en cours",
    "in-service": "en service",
    "index": "index",
    "installed": "posé",
    "invoicing": "facturation",
    "limit": "limite",
    "limited": "limité",
    "master-data-change": "changement de données du point",
    "maximum-power": "puissance maximale",
    "measured": "mesuré",
    "meter-change": "changement de compteur",
    "metering-responsible": "responsable du comptage",
    "missing": "manquant",
    "move-in": "emménagement",
    "move-out": "déménagement",
    "natural-gas": "gaz naturel",
    "neighbour": "point voisin",
    "not-connected": "non raccordé",
    "on-demand": "à la demande",
    "open": "ouverture",
    "original": "original",
    "other": "autre",
    "parent": "point père",
    "part": "partie",
    "pending": "en attente",
    "periodic": "périodique",
    "preliminary": "provisoire",
    "present": "présent",
    "production": "production",
    "professional": "professionnel",
    "reached": "atteinte",
    "reactive-capacitive": "énergie réactive capacitive",
    "reactive-energy": "énergie réactive",
    "reactive-inductive": "énergie réactive inductive",
    "read": "relevé",
    "reconfigured": "reconfiguré",
    "rectification": "rectification",
    "refused": "refusée",
    "regularised": "régularisé",
    "removed": "déposé",
    "renew": "renouvellement",
    "replace": "remplacement",
    "residential": "résidentiel",
    "revised": "révisé",
    "second": "deuxième",
    "self-read": "auto-relevé",
    "sent": "envoyée",
    "subscribed": "souscrite",
    "subscription": "abonnement",
    "supplier": "fournisseur",
    "supplier-switch": "changement de fournisseur",
    "tariff": "tarif",
    "tariff-change": "changement de tarif",
    "terminated": "résilié",
    "termination": "résiliation",
    "third": "troisième",
    "unknown": "inconnu",
    "withdrawn": "retirée",
}
"""Word of a list -> how a French text says it, in the gender of what it mostly tells of."""

Sha256 = Annotated[str, Meta(max_length=64, pattern=r"^[0-9a-f]{64}$")]
Currency = Annotated[str, Meta(max_length=3, pattern=r"^[A-Z]{3}$")]
