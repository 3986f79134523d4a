"""The bodies of the requests, one function for each service: what of a Kernel message goes where.

Assumed, where no public document says more than the types:

* What is asked for without a direction is asked for what is taken from the grid (soutirage).
* ``cadreAcces`` is ACCORD_CLIENT where the customer agreed, else SERVICE_ACCES: an access that was opened before.
* objetCode is that of the published requests: AME access to measures, ASS the end of a service, HDM history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapters.fr_enedis.sge.writing import Leaf, Node, Tree, refuse
from energycomm.kernel.requests import (
    DataAccessOrder,
    MasterDataRequest,
    MeteredDataRequest,
    MeteringServiceOrder,
    MeteringServiceStop,
    SearchRequest,
)

DETAILED = {
    "curve": ("COURBE", "PA"),
    "energy": ("ENERGIE", "EA"),
    "index": ("INDEX", "EA"),
    "maximum-power": ("PMAX", "PMA"),
}
"""Measure -> mesuresTypeCode and grandeurPhysique of ConsultationMesuresDetaillees."""
PUBLISHED = {"curve": "COURBES", "energy": "ENERGIE", "index": "INDEX", "maximum-power": "PMAX"}
COLLECTED = {"curve": "CDC", "index": "IDX"}
ACCESSED = {"curve": "CDC", "energy": "ENERGIE", "index": "IDX", "maximum-power": "PMAX"}
MINUTES = {"PT5M": "5", "PT10M": "10", "PT15M": "15", "PT30M": "30", "PT1H": "60", "PT60M": "60"}
"""Step of a curve -> minutes."""


def _login(message: Any, tag: str = "initiateurLogin") -> Leaf:
    return Leaf(tag, "login", message.requester_login, "requester_login")


def _point(message: Any) -> Leaf:
    return Leaf("pointId", "point", message.access_point, "access_point")


def _contract(message: Any) -> Leaf:
    return Leaf("contratId", "contract", message.contract, "contract")


def _ours(tag: str, reference: str) -> Leaf:
    return Leaf(tag, "text", reference, "reference", optional=True)


def _object(code: str) -> Leaf:
    return Leaf("objetCode", "code", code, "market_type")


def _who(message: Any) -> list[Tree]:
    """Point, login and contract, in the order that most services have them."""
    return [_point(message), _login(message), _contract(message)]


def _ordered(service: str, general: Sequence[Tree], asked: Node) -> Node:
    """The body of an order: what is general to it, and what is asked for."""
    return Node(service, [Node("demande", [Node("donneesGenerales", list(general)), asked])])


def _measure(tag: str, message: Any, codes: dict[str, str]) -> Leaf:
    code = codes.get(message.measure or "")
    if code is None:
        raise refuse("BUILD_VALUE", "measure", message.measure, f"{tag}: one of {', '.join(codes)}")
    return Leaf(tag, "code", code, "measure")


def _sense(message: Any) -> Leaf:
    word = "INJECTION" if message.direction == "production" else "SOUTIRAGE"
    return Leaf("sens", "code", word, "direction")


def _flags(message: Any) -> tuple[Leaf, Leaf]:
    """soutirage and injection."""
    fed = message.direction == "production"
    return Leaf("soutirage", "boolean", not fed, "direction"), Leaf("injection", "boolean", fed, "direction")


def _frame(message: Any) -> Leaf:
    return Leaf("cadreAcces", "code", "ACCORD_CLIENT" if message.consent else "SERVICE_ACCES", "consent")


def _person(message: Any, *, needed: bool) -> Node:
    if message.company is not None:
        return Node("personneMorale", [Leaf("denominationSociale", "text", message.company, "company")])
    return Node("personnePhysique", [Leaf("nom", "text", message.customer, "customer", optional=not needed)])


def _consent(message: Any, *, needed: bool = False) -> Node:
    return Node(
        "declarationAccordClient",
        [Leaf("accord", "boolean", message.consent, "consent"), _person(message, needed=needed)],
    )


def _day(tag: str, value: Any, field: str, *, optional: bool = False) -> Leaf:
    return Leaf(tag, "day", value, field, optional)


# --- search ---


def search_point(message: SearchRequest, reference: str) -> Node:
    """RecherchePoint v2.0: by address, meter or customer; the name of a customer only beside another criterion."""
    address = message.address
    installation = (
        []
        if address is None
        else [
            Leaf("batiment", "line", address.addition, "address.addition", optional=True),
            Leaf("numeroEtNomVoie", "line", _street(address), "address.street", optional=True),
            Leaf("codePostal", "postal", address.postal_code, "address.postal_code", optional=True),
            Leaf("codeInseeCommune", "municipality", address.municipality_code, "address.municipality_code", True),
        ]
    )
    category = {"residential": "RES", "professional": "PRO"}.get(message.category or "")
    criteria = Node(
        "criteres",
        [
            Node("adresseInstallation", installation),
            Leaf("matriculeOuNumeroSerie", "text", message.meter, "meter", optional=True),
            Leaf("nomClientFinalOuDenominationSociale", "text", message.customer, "customer", optional=True),
            Leaf("categorieClientFinalCode", "code", category, "category", optional=True),
            Leaf("rechercheHorsPerimetre", "boolean", message.widened, "widened", optional=True),
        ],
    )
    if address is None and message.meter is None and message.customer is None:
        raise refuse("BUILD_MISSING", "address", None, "a criterion: address, meter or customer")
    return Node("rechercherPoint", [criteria, _login(message, "loginUtilisateur")])


def _street(address: Any) -> str | None:
    return " ".join(part for part in (address.number, address.street) if part) or None


def search_services(message: SearchRequest, reference: str) -> Node:
    """RechercheServicesSouscritsMesures v1.0: the metering services of a point."""
    criteria = Node("criteres", [_point(message), _contract(message)])
    return Node("rechercherServicesSouscritsMesures", [criteria, _login(message, "loginUtilisateur")])


def search_accesses(message: SearchRequest, reference: str) -> Node:
    """RechercheServicesAccesDonnees v1.0.1: the accesses to data of a point."""
    criteria = Node("criteres", [_point(message), _contract(message)])
    return Node("rechercherServicesAccesDonnees", [criteria, _login(message, "loginUtilisateur")])


# --- technical and contractual data ---


def point_data(message: MasterDataRequest, reference: str) -> Node:
    """ConsultationDonneesTechniquesContractuelles v1.0: at once."""
    agreed = Leaf("autorisationClient", "boolean", message.consent, "consent", optional=True)
    children = [_point(message), _login(message, "loginUtilisateur"), agreed]
    return Node("consulterDonneesTechniquesContractuelles", children)


def published_point_data(message: MasterDataRequest, reference: str) -> Node:
    """CommandeInformationsTechniquesEtContractuelles (M023): as a file (C68)."""
    asked = [
        *_as_file(message),
        Leaf("sens", "code", "SOUTIRAGE", "market_type"),
        _frame(message),
    ]
    return Node("demandePublicationITC", [_published_head(message, reference), Node("demande", asked)])


def _published_head(message: Any, reference: str) -> Node:
    return Node("donneesGenerales", [_login(message), _contract(message), _ours("referenceDemandeur", reference)])


def _as_file(message: Any) -> list[Tree]:
    return [Leaf("format", "code", "JSON", "market_type"), Node("pointIds", [_point(message)])]


# --- measures and history ---


def invoicing_measures(message: MeteredDataRequest, reference: str) -> Node:
    """ConsultationMesures v1.1: what was invoiced, at once, without a period."""
    agreed = Leaf("autorisationClient", "boolean", message.consent, "consent", optional=True)
    children = [_point(message), _login(message, "loginDemandeur"), _contract(message), agreed]
    return Node("consulterMesures", children)


def detailed_measures(message: MeteredDataRequest, reference: str) -> Node:
    """ConsultationMesuresDetaillees v3.0: curve, energy, index or highest power of a period, at once."""
    codes = DETAILED.get(message.measure)
    if codes is None:
        raise refuse("BUILD_VALUE", "measure", message.measure, f"one of {', '.join(DETAILED)}")
    asked: list[Tree] = [
        _login(message),
        _point(message),
        Leaf("mesuresTypeCode", "code", codes[0], "measure"),
        Leaf("grandeurPhysique", "code", codes[1], "measure"),
        _day("dateDebut", message.start, "start"),
        _day("dateFin", message.end, "end"),
        Leaf("mesuresPas", "period", message.resolution, "resolution", optional=True),
        Leaf("mesuresCorrigees", "boolean", message.corrected or False, "corrected"),
        _sense(message),
        _frame(message),
    ]
    return Node("consulterMesuresDetailleesV3", [Node("demande", asked)])


def published_measures(message: MeteredDataRequest, reference: str) -> Node:
    """CommandeHistoriqueDonneesMesuresFines (M023): as a file (R63 to R66)."""
    asked = [
        *_as_file(message),
        _measure("mesuresTypeCode", message, PUBLISHED),
        Leaf("mesuresCorrigees", "boolean", message.corrected, "corrected", optional=True),
        _day("dateDebut", message.start, "start"),
        _day("dateFin", message.end, "end"),
        _sense(message),
        _frame(message),
    ]
    return Node("demandePublicationMesuresFines", [_published_head(message, reference), Node("demande", asked)])


def published_invoicing(message: MeteredDataRequest, reference: str) -> Node:
    """CommandeHistoriqueDonneesMesuresFacturantes (M023): as a file (R67)."""
    asked = [
        *_as_file(message),
        _day("dateDebut", message.start, "start"),
        _day("dateFin", message.end, "end"),
        _sense(message),
        _frame(message),
    ]
    return Node("demandePublicationMesuresFacturantes", [_published_head(message, reference), Node("demande", asked)])


def history(message: MeteredDataRequest, reference: str) -> Node:
    """CommandeTransmissionHistoriqueMesures v1.0: as a file; its header wants the point too."""
    step = message.resolution
    if step is not None and step not in MINUTES:
        raise refuse("BUILD_VALUE", "resolution", step, f"one of {', '.join(MINUTES)}")
    duration = Node(
        "pasCdc",
        [
            Leaf("valeur", "number", MINUTES.get(step or ""), "resolution", optional=True),
            Leaf("unite", "unit", None if step is None else "min", "resolution", optional=True),
        ],
    )
    general: list[Tree] = [
        _ours("refFrn", reference),
        _object("HDM"),
        _contract(message),
        _point(message),
        _login(message),
    ]
    asked: list[Tree] = [
        _day("dateDebut", message.start, "start"),
        _day("dateFin", message.end, "end"),
        Node("declarationAccordClient", [Leaf("accordClient", "boolean", message.consent, "consent")]),
        _measure("mesureType", message, COLLECTED),
        Leaf("mesureCorrigee", "boolean", message.corrected or False, "corrected"),
        duration,
    ]
    return _ordered("commanderTransmissionHistoriqueMesures", general, Node("historiqueMesures", asked))


# --- collection and publication of measures ---


def collection(message: MeteringServiceOrder, reference: str) -> Node:
    """CommandeCollectePublicationMesures v3.0: a curve or indexes, recorded and published from a day on."""
    general = [_ours("refExterne", reference), _object("AME"), *_who(message)]
    asked: list[Tree] = [
        _day("dateDebut", message.start or message.requested_date, "start"),
        _day("dateFin", message.end, "end", optional=True),
        _consent(message, needed=True),
        _measure("mesuresTypeCode", message, COLLECTED),
        *_flags(message),
        Leaf("mesuresPas", "duration", message.step, "step", optional=True),
        Leaf("mesuresCorrigees", "boolean", message.corrected or False, "corrected"),
        Leaf("transmissionRecurrente", "boolean", message.rhythm is not None, "rhythm"),
        Leaf("periodiciteTransmission", "duration", message.rhythm, "rhythm", optional=True),
    ]
    return _ordered("commanderCollectePublicationMesures", general, Node("accesMesures", asked))


def intraday(message: MeteringServiceOrder, reference: str) -> Node:
    """CommandeTransmissionDonneesInfraJ v1.0: measures within the day."""
    drawn, fed = _flags(message)
    consent = Node(
        "declarationAccordClient",
        [Leaf("accordClient", "boolean", message.consent, "consent"), fed, drawn, _person(message, needed=True)],
    )
    general = [_ours("refExterne", reference), _object("AME"), *_who(message)]
    asked: list[Tree] = [
        consent,
        fed,
        drawn,
        Leaf("cdc", "boolean", message.measure == "curve", "measure"),
        Leaf("idx", "boolean", message.measure == "index", "measure"),
        Leaf("ptd", "boolean", False, "measure"),
    ]
    if message.measure not in COLLECTED:
        raise refuse("BUILD_VALUE", "measure", message.measure, f"one of {', '.join(COLLECTED)}")
    return _ordered("commanderTransmissionDonneesInfraJ", general, Node("accesDonnees", asked))


def stop(message: MeteringServiceStop, reference: str) -> Node:
    """CommandeArretServiceSouscritMesures v1.0: the end of a collection or publication."""
    general = [_ours("refFrn", reference), _object("ASS"), *_who(message)]
    stopped = Node("arretServiceSouscrit", [Leaf("serviceSouscritId", "service", message.service, "service")])
    return _ordered("commanderArretServiceSouscritMesures", general, stopped)


# --- access to data ---


def access(message: DataAccessOrder, reference: str) -> Node:
    """CommandeAccesDonneesMesures v1.0: access to one kind of measures for a time."""
    general: list[Tree] = [
        _ours("refExterne", reference),
        _object("AME"),
        _point(message),
        _login(message),
        Node("contrat", [_contract(message)]),
    ]
    asked: list[Tree] = [
        _day("dateDebut", message.start or message.requested_date, "start"),
        _day("dateFin", message.end, "end", optional=True),
        _consent(message),
        _measure("typeDonnees", message, ACCESSED),
        *_flags(message),
    ]
    return _ordered("commanderAccesDonneesMesures", general, Node("accesDonnees", asked))


def access_service(message: DataAccessOrder, reference: str) -> Node:
    """CommandeServicesAccesDonnees v1.0: access with publication."""
    general: list[Tree] = [
        _ours("refExterne", reference),
        *_who(message),
        _day("dateFin", message.end, "end", optional=True),
        _sense(message),
        _consent(message),
    ]
    options = Node("optionsPublication", [_option(message)] if message.rhythm is not None else [])
    ordered = Node("serviceSouscrit", [_measure("typeDonnees", message, ACCESSED), options])
    return _ordered("commanderServicesAccesDonnees", general, Node("servicesSouscrits", [ordered]))


def _option(message: DataAccessOrder) -> Node:
    return Node(
        "optionPublication",
        [
            Leaf("mesuresCorrigees", "boolean", message.corrected, "corrected", optional=True),
            Leaf("periodiciteTransmission", "period", message.rhythm, "rhythm"),
        ],
    )


def _service(message: DataAccessOrder) -> Leaf:
    return Leaf("serviceSouscritId", "service", message.service, "service")


def renewal(message: DataAccessOrder, reference: str) -> Node:
    """CommandeRenouvellementServicesAccesDonnees v1.0."""
    general: list[Tree] = [
        *_who(message),
        _sense(message),
        _consent(message),
        _day("dateFin", message.end, "end", optional=True),
    ]
    return _ordered(
        "commanderRenouvellementServicesAccesDonnees", general, Node("servicesSouscrits", [_service(message)])
    )


def change(message: DataAccessOrder, reference: str) -> Node:
    """CommandeModificationOptionsServicesAccesDonnees v1.0: a publication is added or taken away."""
    tag = "supprimerOptionsPublication" if message.withdraw else "ajouterOptionsPublication"
    general = [*_who(message), _sense(message)]
    changed = Node("serviceSouscrit", [_service(message), Node(tag, [_option(message)])])
    return _ordered("commanderModificationOptionsServicesAccesDonnees", general, Node("servicesSouscrits", [changed]))


def end(message: DataAccessOrder, reference: str) -> Node:
    """CommandeArretServicesAccesDonnees v1.0."""
    general = [_ours("refExterne", reference), *_who(message), _sense(message)]
    return _ordered("commanderArretServicesAccesDonnees", general, Node("servicesSouscrits", [_service(message)]))
