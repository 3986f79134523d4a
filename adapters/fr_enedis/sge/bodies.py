"""The bodies of the requests, one tree for each service: what of a Kernel message goes where.

Assumed, where no public document says more than the types:

* What is asked for without a direction is asked for what is taken from the grid (soutirage).
* ``cadreAcces`` is ACCORD_CLIENT where the customer agreed, else SERVICE_ACCES: an access that was opened before.
* objetCode is that of the published requests: AME access to measures, ASS the end of a service, HDM history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.fr_enedis.sge.writing import Leaf, Node, Tree, node, refuse

DETAILED = {"curve": "COURBE", "energy": "ENERGIE", "index": "INDEX", "maximum-power": "PMAX"}
QUANTITIES = {"curve": "PA", "energy": "EA", "index": "EA", "maximum-power": "PMA"}
"""Measure -> mesuresTypeCode and grandeurPhysique of ConsultationMesuresDetaillees."""
PUBLISHED = {"curve": "COURBES", "energy": "ENERGIE", "index": "INDEX", "maximum-power": "PMAX"}
COLLECTED = {"curve": "CDC", "index": "IDX"}
ACCESSED = {"curve": "CDC", "energy": "ENERGIE", "index": "IDX", "maximum-power": "PMAX"}
CATEGORIES = {"residential": "RES", "professional": "PRO"}
MINUTES = {"PT5M": "5", "PT10M": "10", "PT15M": "15", "PT30M": "30", "PT1H": "60", "PT60M": "60"}
"""Step of a curve -> minutes."""


def _said(tag: str, code: str) -> Leaf:
    return Leaf(tag, "code", "market_type", of=lambda message, reference: code)


def _ours(tag: str) -> Leaf:
    return Leaf(tag, "text", "reference", optional=True, of=lambda message, reference: reference)


def _coded(tag: str, codes: Mapping[str, str]) -> Leaf:
    def code(message: Any, reference: str) -> str:
        if message.measure not in codes:
            raise refuse("BUILD_VALUE", "measure", message.measure, f"{tag}: one of {', '.join(codes)}")
        return codes[message.measure]

    return Leaf(tag, "code", "measure", of=code)


def _step(message: Any, reference: str) -> str | None:
    if message.resolution is not None and message.resolution not in MINUTES:
        raise refuse("BUILD_VALUE", "resolution", message.resolution, f"one of {', '.join(MINUTES)}")
    return MINUTES.get(message.resolution or "")


def _street(message: Any, reference: str) -> str | None:
    return " ".join(part for part in (message.address.number, message.address.street) if part) or None


def _criteria(message: Any) -> bool:
    if message.address is None and message.meter is None and message.customer is None:
        raise refuse("BUILD_MISSING", "address", None, "a criterion: address, meter or customer")
    return True


def _is_collected(code: str) -> Leaf:
    def of(message: Any, reference: str) -> bool:
        if message.measure not in COLLECTED:
            raise refuse("BUILD_VALUE", "measure", message.measure, f"one of {', '.join(COLLECTED)}")
        return COLLECTED[message.measure] == code

    return Leaf({"CDC": "cdc", "IDX": "idx"}[code], "boolean", "measure", of=of)


def _is_fed(message: Any, reference: str) -> bool:
    return bool(message.direction == "production")


POINT = Leaf("pointId", "point", "access_point")
LOGIN = Leaf("initiateurLogin", "login", "requester_login")
USER = Leaf("loginUtilisateur", "login", "requester_login")
CONTRACT = Leaf("contratId", "contract", "contract")
WHO = (POINT, LOGIN, CONTRACT)
"""In the order that most services have them."""
AGREED = Leaf("autorisationClient", "boolean", "consent", optional=True)
ACCESS = _said("objetCode", "AME")
OURS = _ours("refExterne")
START, END = Leaf("dateDebut", "day", "start"), Leaf("dateFin", "day", "end")
ON = Leaf("dateDebut", "day", "start", of=lambda message, _: message.start or message.requested_date)
UNTIL = END._replace(optional=True)
CORRECTED = Leaf("mesuresCorrigees", "boolean", "corrected", of=lambda message, _: message.corrected or False)
WHETHER_CORRECTED = Leaf("mesuresCorrigees", "boolean", "corrected", optional=True)
SENSE = Leaf("sens", "code", "direction", of=lambda *of: "INJECTION" if _is_fed(*of) else "SOUTIRAGE")
DRAWN = Leaf("soutirage", "boolean", "direction", of=lambda *of: not _is_fed(*of))
FED = Leaf("injection", "boolean", "direction", of=_is_fed)
_FRAMES = {True: "ACCORD_CLIENT", False: "SERVICE_ACCES"}
FRAME = Leaf("cadreAcces", "code", "consent", of=lambda message, _: _FRAMES[bool(message.consent)])
COMPANY = node(
    "personneMorale", Leaf("denominationSociale", "text", "company"), when=lambda message: message.company is not None
)
NAME = Leaf("nom", "text", "customer")
PERSON = node("personnePhysique", NAME, when=lambda message: message.company is None)
MAYBE_PERSON = node("personnePhysique", NAME._replace(optional=True), when=lambda message: message.company is None)
AGREEMENT = Leaf("accord", "boolean", "consent")
CLIENT = AGREEMENT._replace(tag="accordClient")
CONSENT = node("declarationAccordClient", AGREEMENT, COMPANY, MAYBE_PERSON)
SERVICE = Leaf("serviceSouscritId", "service", "service")
OPTION = node("optionPublication", WHETHER_CORRECTED, Leaf("periodiciteTransmission", "period", "rhythm"))


def _ordered(service: str, *general: Tree, asked: Node) -> Node:
    """The body of an order: what is general to it, and what is asked for."""
    return node(service, node("demande", node("donneesGenerales", *general), asked))


def _published(request: str, *asked: Tree) -> Node:
    """The body of an order of a file (M023)."""
    general = node("donneesGenerales", LOGIN, CONTRACT, _ours("referenceDemandeur"))
    return node(request, general, node("demande", _said("format", "JSON"), node("pointIds", POINT), *asked, FRAME))


# --- search ---

ADDRESS = node(
    "adresseInstallation",
    Leaf("batiment", "line", "address.addition", optional=True),
    Leaf("numeroEtNomVoie", "line", "address.street", optional=True, of=_street),
    Leaf("codePostal", "postal", "address.postal_code", optional=True),
    Leaf("codeInseeCommune", "municipality", "address.municipality_code", optional=True),
    when=lambda message: message.address is not None,
)
CRITERIA = node(
    "criteres",
    ADDRESS,
    Leaf("matriculeOuNumeroSerie", "text", "meter", optional=True),
    Leaf("nomClientFinalOuDenominationSociale", "text", "customer", optional=True),
    Leaf("categorieClientFinalCode", "code", "category", True, lambda message, _: CATEGORIES.get(message.category)),
    Leaf("rechercheHorsPerimetre", "boolean", "widened", optional=True),
    when=_criteria,
)

SEARCH_POINT = node("rechercherPoint", CRITERIA, USER)
"""RecherchePoint v2.0: by address, meter or customer; the name of a customer only beside another criterion."""

SEARCH_SERVICES = node("rechercherServicesSouscritsMesures", node("criteres", POINT, CONTRACT), USER)
"""RechercheServicesSouscritsMesures v1.0: the metering services of a point."""

SEARCH_ACCESSES = node("rechercherServicesAccesDonnees", node("criteres", POINT, CONTRACT), USER)
"""RechercheServicesAccesDonnees v1.0.1: the accesses to data of a point."""


# --- technical and contractual data ---

POINT_DATA = node("consulterDonneesTechniquesContractuelles", POINT, USER, AGREED)
"""ConsultationDonneesTechniquesContractuelles v1.0: at once."""

PUBLISHED_POINT_DATA = _published("demandePublicationITC", _said("sens", "SOUTIRAGE"))
"""CommandeInformationsTechniquesEtContractuelles (M023): as a file (C68)."""


# --- measures and history ---

INVOICING_MEASURES = node("consulterMesures", POINT, LOGIN._replace(tag="loginDemandeur"), CONTRACT, AGREED)
"""ConsultationMesures v1.1: what was invoiced, at once, without a period."""

_DETAIL = node(
    "demande",
    LOGIN,
    POINT,
    _coded("mesuresTypeCode", DETAILED),
    _coded("grandeurPhysique", QUANTITIES),
    START,
    END,
    Leaf("mesuresPas", "period", "resolution", optional=True),
    CORRECTED,
    SENSE,
    FRAME,
)
DETAILED_MEASURES = node("consulterMesuresDetailleesV3", _DETAIL)
"""ConsultationMesuresDetaillees v3.0: curve, energy, index or highest power of a period, at once."""

PUBLISHED_MEASURES = _published(
    "demandePublicationMesuresFines", _coded("mesuresTypeCode", PUBLISHED), WHETHER_CORRECTED, START, END, SENSE
)
"""CommandeHistoriqueDonneesMesuresFines (M023): as a file (R63 to R66)."""

PUBLISHED_INVOICING = _published("demandePublicationMesuresFacturantes", START, END, SENSE)
"""CommandeHistoriqueDonneesMesuresFacturantes (M023): as a file (R67)."""

_CURVE_STEP = node(
    "pasCdc",
    Leaf("valeur", "number", "resolution", optional=True, of=_step),
    Leaf("unite", "unit", "resolution", optional=True, of=lambda *of: "min" if _step(*of) else None),
)
_HISTORY = node(
    "historiqueMesures",
    START,
    END,
    node("declarationAccordClient", CLIENT),
    _coded("mesureType", COLLECTED),
    CORRECTED._replace(tag="mesureCorrigee"),
    _CURVE_STEP,
)
HISTORY = _ordered(
    "commanderTransmissionHistoriqueMesures",
    _ours("refFrn"),
    _said("objetCode", "HDM"),
    CONTRACT,
    POINT,
    LOGIN,
    asked=_HISTORY,
)
"""CommandeTransmissionHistoriqueMesures v1.0: as a file; its header wants the point too."""


# --- collection and publication of measures ---

_COLLECTED = node(
    "accesMesures",
    ON,
    UNTIL,
    node("declarationAccordClient", AGREEMENT, COMPANY, PERSON),
    _coded("mesuresTypeCode", COLLECTED),
    DRAWN,
    FED,
    Leaf("mesuresPas", "duration", "step", optional=True),
    CORRECTED,
    Leaf("transmissionRecurrente", "boolean", "rhythm", of=lambda message, _: message.rhythm is not None),
    Leaf("periodiciteTransmission", "duration", "rhythm", optional=True),
)
COLLECTION = _ordered("commanderCollectePublicationMesures", OURS, ACCESS, *WHO, asked=_COLLECTED)
"""CommandeCollectePublicationMesures v3.0: a curve or indexes, recorded and published from a day on."""

_WITHIN_THE_DAY = node(
    "accesDonnees",
    node("declarationAccordClient", CLIENT, FED, DRAWN, COMPANY, PERSON),
    FED,
    DRAWN,
    _is_collected("CDC"),
    _is_collected("IDX"),
    Leaf("ptd", "boolean", "measure", of=lambda *_: False),
)
INTRADAY = _ordered("commanderTransmissionDonneesInfraJ", OURS, ACCESS, *WHO, asked=_WITHIN_THE_DAY)
"""CommandeTransmissionDonneesInfraJ v1.0: measures within the day."""

STOP = _ordered(
    "commanderArretServiceSouscritMesures",
    _ours("refFrn"),
    _said("objetCode", "ASS"),
    *WHO,
    asked=node("arretServiceSouscrit", SERVICE),
)
"""CommandeArretServiceSouscritMesures v1.0: the end of a collection or publication."""


# --- access to data ---

_MEASURES = node("accesDonnees", ON, UNTIL, CONSENT, _coded("typeDonnees", ACCESSED), DRAWN, FED)
DATA_ACCESS = _ordered(
    "commanderAccesDonneesMesures", OURS, ACCESS, POINT, LOGIN, node("contrat", CONTRACT), asked=_MEASURES
)
"""CommandeAccesDonneesMesures v1.0: access to one kind of measures for a time."""

_OPTIONS = node("optionsPublication", OPTION, when=lambda message: message.rhythm is not None)
_SUBSCRIBED = node("serviceSouscrit", _coded("typeDonnees", ACCESSED), _OPTIONS)
ACCESS_SERVICE = _ordered(
    "commanderServicesAccesDonnees", OURS, *WHO, UNTIL, SENSE, CONSENT, asked=node("servicesSouscrits", _SUBSCRIBED)
)
"""CommandeServicesAccesDonnees v1.0: access with publication."""

RENEWAL = _ordered(
    "commanderRenouvellementServicesAccesDonnees",
    *WHO,
    SENSE,
    CONSENT,
    UNTIL,
    asked=node("servicesSouscrits", SERVICE),
)
"""CommandeRenouvellementServicesAccesDonnees v1.0."""

_CHANGED = node(
    "serviceSouscrit",
    SERVICE,
    node("ajouterOptionsPublication", OPTION, when=lambda message: not message.withdraw),
    node("supprimerOptionsPublication", OPTION, when=lambda message: message.withdraw),
)
CHANGE = _ordered(
    "commanderModificationOptionsServicesAccesDonnees", *WHO, SENSE, asked=node("servicesSouscrits", _CHANGED)
)
"""CommandeModificationOptionsServicesAccesDonnees v1.0: a publication is added or taken away."""

ACCESS_END = _ordered("commanderArretServicesAccesDonnees", OURS, *WHO, SENSE, asked=node("servicesSouscrits", SERVICE))
"""CommandeArretServicesAccesDonnees v1.0."""
