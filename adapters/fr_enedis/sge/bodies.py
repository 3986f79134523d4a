"""The bodies of the requests, one tree for each service: what of a Kernel message goes where.

Assumed, where no public document says more than the types:

* What is asked for without a direction is asked for what is taken from the grid (soutirage).
* A person who agreed is named with form of address and first name where these are told.
* ``cadreAcces`` is ACCORD_CLIENT where the customer agreed, else SERVICE_ACCES: an access that was opened before.
* objetCode is that of the published requests: AME access to measures, ASS the end of a service, HDM history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from adapters.fr_enedis.sge.writing import Each, Leaf, Node, Tree, node, refuse

DETAILED = {"curve": "COURBE", "energy": "ENERGIE", "index": "INDEX", "maximum-power": "PMAX"}
QUANTITIES = {"curve": "PA", "energy": "EA", "index": "EA", "maximum-power": "PMA"}
"""Measure -> mesuresTypeCode and grandeurPhysique of ConsultationMesuresDetaillees."""
PRODUCTS = {
    "active": "PA",
    "reactive-inductive": "PRI",
    "reactive-capacitive": "PRC",
    "voltage": "E",
    "all": "TOUT",
}
"""Product of a curve -> its grandeurPhysique."""
TITLES = {"M": "M", "M.": "M", "MME": "Mme", "MADAME": "Mme", "MONSIEUR": "M"}
"""Form of address, in capitals -> civilite."""
PUBLISHED = {"curve": "COURBES", "energy": "ENERGIE", "index": "INDEX", "maximum-power": "PMAX"}
COLLECTED = {"curve": "CDC", "index": "IDX"}
ACCESSED = {"curve": "CDC", "energy": "ENERGIE", "index": "IDX", "maximum-power": "PMAX"}
CATEGORIES = {"residential": "RES", "professional": "PRO"}
MOST_POINTS, MOST_POINTS_OF_DAYS = 1_500, 10_000
"""Points of one order of a file: of curves and indexes, and of anything else (Enedis.SGE.GUI.0503 v1.5.2, 1)."""
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


def _quantity(message: Any, reference: str) -> str:
    if message.product is None:
        return QUANTITIES.get(message.measure, "")
    if message.measure != "curve" and message.product != "all":
        raise refuse("BUILD_VALUE", "product", message.product, "none or all: only a curve is of one quantity")
    if message.product not in PRODUCTS:
        raise refuse("BUILD_VALUE", "product", message.product, f"one of {', '.join(PRODUCTS)}")
    return PRODUCTS[message.product]


def _title(message: Any, reference: str) -> str | None:
    if message.title is not None and message.title.upper() not in TITLES:
        raise refuse("BUILD_VALUE", "title", message.title, "M or Mme")
    return TITLES.get((message.title or "").upper())


def _recurrent(message: Any, reference: str) -> bool:
    """Whether the order is of a recurrent publication.

    Raises:
      Unreadable: it is not, and has a rhythm all the same, which the market does not receive (BUILD_VALUE).
    """
    if message.recurrent is False and message.rhythm is not None:
        expected = "no rhythm where recurrent is false: leave out the rhythm, or order a recurrent publication"
        raise refuse("BUILD_VALUE", "rhythm", message.rhythm, expected)
    return bool(message.rhythm is not None if message.recurrent is None else message.recurrent)


def _each_point(message: Any) -> list[Any]:
    most = MOST_POINTS if getattr(message, "measure", None) in ("curve", "index") else MOST_POINTS_OF_DAYS
    if len(message.points) >= most:
        raise refuse("BUILD_VALUE", "points", str(len(message.points)), f"{most} points at most: send several orders")
    return [message, *(structs.replace(message, access_point=one.access_point) for one in message.points)]


def _each_measure(message: Any) -> list[Any]:
    return [message, *(structs.replace(message, measure=one.measure) for one in message.further)]


def _alone(message: Any, reference: str) -> str | None:
    """The point of a service that takes one alone."""
    if getattr(message, "points", ()):
        raise refuse("BUILD_VALUE", "points", str(len(message.points)), "no further point: this service takes one")
    if getattr(message, "further", ()):
        told = ", ".join(one.measure for one in message.further)
        raise refuse("BUILD_VALUE", "further", told, "no further measures: this service takes one kind")
    point: str | None = message.access_point
    return point


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
        for one in _each_measure(message):
            if one.measure not in COLLECTED:
                raise refuse("BUILD_VALUE", "measure", one.measure, f"one of {', '.join(COLLECTED)}")
        return code in [COLLECTED[one.measure] for one in _each_measure(message)]

    return Leaf({"CDC": "cdc", "IDX": "idx"}[code], "boolean", "measure", of=of)


def _is_fed(message: Any, reference: str) -> bool:
    return bool(message.direction == "production")


POINT = Leaf("pointId", "point", "access_point")
ALONE = POINT._replace(of=_alone)
LOGIN = Leaf("initiateurLogin", "login", "requester_login")
USER = Leaf("loginUtilisateur", "login", "requester_login")
CONTRACT = Leaf("contratId", "contract", "contract")
WHO = (ALONE, LOGIN, CONTRACT)
WHO_OF_ALL = (POINT, LOGIN, CONTRACT)
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
TITLE = Leaf("civilite", "title", "title", optional=True, of=_title)
NAME = Leaf("nom", "text", "customer")
FIRST_NAME = Leaf("prenom", "text", "first_name", optional=True)
PERSON = node("personnePhysique", TITLE, NAME, FIRST_NAME, when=lambda message: message.company is None)
MAYBE_PERSON = PERSON._replace(when=lambda message: message.company is None and message.customer is not None)
TITLED_PERSON = node("personnePhysique", TITLE._replace(optional=False), NAME, FIRST_NAME, when=MAYBE_PERSON.when)
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
    return node(
        request,
        general,
        node("demande", _said("format", "JSON"), node("pointIds", Each(POINT, _each_point)), *asked, FRAME),
    )


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

POINT_DATA = node("consulterDonneesTechniquesContractuelles", ALONE, USER, AGREED)
"""ConsultationDonneesTechniquesContractuelles v1.0: at once."""

PUBLISHED_POINT_DATA = _published("demandePublicationITC", _said("sens", "SOUTIRAGE"))
"""CommandeInformationsTechniquesEtContractuelles (M023): as a file (C68)."""


# --- measures and history ---

INVOICING_MEASURES = node("consulterMesures", ALONE, LOGIN._replace(tag="loginDemandeur"), CONTRACT, AGREED)
"""ConsultationMesures v1.1: what was invoiced, at once, without a period."""

_DETAIL = node(
    "demande",
    LOGIN,
    ALONE,
    _coded("mesuresTypeCode", DETAILED),
    Leaf("grandeurPhysique", "code", "product", of=_quantity),
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
    node("declarationAccordClient", CLIENT, COMPANY, TITLED_PERSON),
    _coded("mesureType", COLLECTED),
    CORRECTED._replace(tag="mesureCorrigee"),
    _CURVE_STEP,
)
HISTORY = _ordered(
    "commanderTransmissionHistoriqueMesures",
    _ours("refFrn"),
    _said("objetCode", "HDM"),
    CONTRACT,
    ALONE,
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
    Leaf("transmissionRecurrente", "boolean", "recurrent", of=_recurrent),
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
INTRADAY = _ordered("commanderTransmissionDonneesInfraJ", OURS, ACCESS, *WHO_OF_ALL, asked=_WITHIN_THE_DAY)
"""CommandeTransmissionDonneesInfraJ v1.0: a curve, indexes or both within the day."""

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
    "commanderAccesDonneesMesures", OURS, ACCESS, ALONE, LOGIN, node("contrat", CONTRACT), asked=_MEASURES
)
"""CommandeAccesDonneesMesures v1.0: access to one kind of measures for a time."""

_OPTIONS = node("optionsPublication", OPTION, when=lambda message: message.rhythm is not None)
_SUBSCRIBED = node("serviceSouscrit", _coded("typeDonnees", ACCESSED), _OPTIONS)
ACCESS_SERVICE = _ordered(
    "commanderServicesAccesDonnees",
    OURS,
    *WHO_OF_ALL,
    UNTIL,
    SENSE,
    CONSENT,
    asked=node("servicesSouscrits", Each(_SUBSCRIBED, _each_measure)),
)
"""CommandeServicesAccesDonnees v1.0: access to one kind of measures or several, with publication (F300, F305)."""

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
