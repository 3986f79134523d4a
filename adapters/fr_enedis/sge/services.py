"""The one table of the SGE services that are asked: which Kernel kind each serves, and the body of its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from adapters.fr_enedis.sge import bodies
from adapters.fr_enedis.sge.writing import Tree

B2B = "http://www.enedis.fr/sge/b2b"
M023 = "https://sge-b2b.enedis.fr/services"


class Service(NamedTuple):
    """One service.

    Attributes:
      name: as its WSDL calls it; `market_type` of a Kernel message may name it.
      kind: the Kernel kind it serves.
      namespace: of the request's element.
      body: the request.
      version: of the service, as its header repeats it.
      header: which header element it wants, if any.
      serves: further conditions on the message, where one kind has several services.
    """

    name: str
    kind: str
    namespace: str
    body: Tree
    version: str = "1.0"
    header: Literal["entete", "enteteP", "none"] = "entete"
    serves: Callable[[Any], bool] = lambda message: True


SERVICES: tuple[Service, ...] = (
    Service(
        "RechercheServicesSouscritsMesures",
        "SearchRequest",
        f"{B2B}/rechercherservicessouscritsmesures/v1.0",
        bodies.SEARCH_SERVICES,
        serves=lambda message: message.access_point is not None,
    ),
    Service(
        "RecherchePoint",
        "SearchRequest",
        f"{B2B}/services/rechercherpoint/v2.0",
        bodies.SEARCH_POINT,
        version="2.0",
        serves=lambda message: message.access_point is None,
    ),
    Service(
        "RechercheServicesAccesDonnees",
        "SearchRequest",
        f"{B2B}/rechercherservicesaccesdonnees/v1.0",
        bodies.SEARCH_ACCESSES,
        serves=lambda message: False,
    ),
    Service(
        "ConsultationDonneesTechniquesContractuelles",
        "MasterDataRequest",
        f"{B2B}/services/consulterdonneestechniquescontractuelles/v1.0",
        bodies.POINT_DATA,
        serves=lambda message: not message.points,
    ),
    Service(
        "CommandeInformationsTechniquesEtContractuelles",
        "MasterDataRequest",
        f"{M023}/commandeinformationstechniquesetcontractuelles/v1",
        bodies.PUBLISHED_POINT_DATA,
        header="none",
        serves=lambda message: bool(message.points),
    ),
    Service(
        "ConsultationMesures",
        "MeteredDataRequest",
        f"{B2B}/services/consultermesures/v1.1",
        bodies.INVOICING_MEASURES,
        version="1.1",
        serves=lambda message: (
            message.measure == "invoicing" and message.start is None and message.end is None and not message.points
        ),
    ),
    Service(
        "CommandeHistoriqueDonneesMesuresFacturantes",
        "MeteredDataRequest",
        f"{M023}/commandehistoriquedonneesmesuresfacturantes/v1",
        bodies.PUBLISHED_INVOICING,
        header="none",
        serves=lambda message: message.measure == "invoicing",
    ),
    Service(
        "ConsultationMesuresDetaillees",
        "MeteredDataRequest",
        f"{B2B}/services/consultationmesuresdetaillees/common",
        bodies.DETAILED_MEASURES,
        version="3.0",
        header="none",
        serves=lambda message: not message.points,
    ),
    Service(
        "CommandeHistoriqueDonneesMesuresFines",
        "MeteredDataRequest",
        f"{M023}/commandehistoriquedonneesmesuresfines/v1",
        bodies.PUBLISHED_MEASURES,
        header="none",
        serves=lambda message: bool(message.points),
    ),
    Service(
        "CommandeTransmissionHistoriqueMesures",
        "MeteredDataRequest",
        f"{B2B}/commandertransmissionhistoriquemesures/v1.0",
        bodies.HISTORY,
        header="enteteP",
        serves=lambda message: False,
    ),
    Service(
        "CommandeCollectePublicationMesures",
        "MeteringServiceOrder",
        f"{B2B}/commandercollectepublicationmesures/v3.0",
        bodies.COLLECTION,
        version="3.0",
        serves=lambda message: not message.further,
    ),
    Service(
        "CommandeTransmissionDonneesInfraJ",
        "MeteringServiceOrder",
        f"{B2B}/commandertransmissiondonneesinfraj/v1.0",
        bodies.INTRADAY,
        serves=lambda message: bool(message.further),
    ),
    Service(
        "CommandeArretServiceSouscritMesures",
        "MeteringServiceStop",
        f"{B2B}/commanderarretservicesouscritmesures/v1.0",
        bodies.STOP,
    ),
    Service(
        "CommandeAccesDonneesMesures",
        "DataAccessOrder",
        f"{B2B}/commanderaccesdonneesmesures/v1.0",
        bodies.DATA_ACCESS,
        serves=lambda message: message.action == "open" and not message.further and message.rhythm is None,
    ),
    Service(
        "CommandeServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderservicesaccesdonnees/v1.0",
        bodies.ACCESS_SERVICE,
        serves=lambda message: message.action == "open",
    ),
    Service(
        "CommandeRenouvellementServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderRenouvellementServicesAccesDonnees/v1.0",
        bodies.RENEWAL,
        serves=lambda message: message.action == "renew",
    ),
    Service(
        "CommandeModificationOptionsServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderModificationOptionsServicesAccesDonnees/v1.0",
        bodies.CHANGE,
        serves=lambda message: message.action == "change",
    ),
    Service(
        "CommandeArretServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderarretservicesaccesdonnees/v1.0",
        bodies.ACCESS_END,
        serves=lambda message: message.action == "end",
    ),
)
"""Every service. Of several for one kind the one named by `market_type` is asked, else the first that serves the
message."""

BY_NAME: dict[str, Service] = {service.name: service for service in SERVICES}
KINDS: frozenset[str] = frozenset(service.kind for service in SERVICES)
