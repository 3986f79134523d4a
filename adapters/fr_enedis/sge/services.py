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
      version: of the service, as its header repeats it.
      header: which header element it wants, if any.
      body: the request.
      serves: further conditions on the message, where one kind has several services.
    """

    name: str
    kind: str
    namespace: str
    version: str
    header: Literal["entete", "enteteP", "none"]
    body: Tree
    serves: Callable[[Any], bool] = lambda message: True

    @property
    def path(self) -> str:
        """Where the service is, below the address of the SGE."""
        return f"/{self.name}/v{self.version}"


SERVICES: tuple[Service, ...] = (
    Service(
        "RechercheServicesSouscritsMesures",
        "SearchRequest",
        f"{B2B}/rechercherservicessouscritsmesures/v1.0",
        "1.0",
        "entete",
        bodies.SEARCH_SERVICES,
        lambda message: message.access_point is not None,
    ),
    Service(
        "RecherchePoint",
        "SearchRequest",
        f"{B2B}/services/rechercherpoint/v2.0",
        "2.0",
        "entete",
        bodies.SEARCH_POINT,
        lambda message: message.access_point is None,
    ),
    Service(
        "RechercheServicesAccesDonnees",
        "SearchRequest",
        f"{B2B}/rechercherservicesaccesdonnees/v1.0",
        "1.0",
        "entete",
        bodies.SEARCH_ACCESSES,
        lambda message: False,
    ),
    Service(
        "ConsultationDonneesTechniquesContractuelles",
        "MasterDataRequest",
        f"{B2B}/services/consulterdonneestechniquescontractuelles/v1.0",
        "1.0",
        "entete",
        bodies.POINT_DATA,
    ),
    Service(
        "CommandeInformationsTechniquesEtContractuelles",
        "MasterDataRequest",
        f"{M023}/commandeinformationstechniquesetcontractuelles/v1",
        "1.0",
        "none",
        bodies.PUBLISHED_POINT_DATA,
        lambda message: False,
    ),
    Service(
        "ConsultationMesures",
        "MeteredDataRequest",
        f"{B2B}/services/consultermesures/v1.1",
        "1.1",
        "entete",
        bodies.INVOICING_MEASURES,
        lambda message: message.measure == "invoicing" and message.start is None and message.end is None,
    ),
    Service(
        "CommandeHistoriqueDonneesMesuresFacturantes",
        "MeteredDataRequest",
        f"{M023}/commandehistoriquedonneesmesuresfacturantes/v1",
        "1.0",
        "none",
        bodies.PUBLISHED_INVOICING,
        lambda message: message.measure == "invoicing",
    ),
    Service(
        "ConsultationMesuresDetaillees",
        "MeteredDataRequest",
        f"{B2B}/services/consultationmesuresdetaillees/common",
        "3.0",
        "none",
        bodies.DETAILED_MEASURES,
    ),
    Service(
        "CommandeHistoriqueDonneesMesuresFines",
        "MeteredDataRequest",
        f"{M023}/commandehistoriquedonneesmesuresfines/v1",
        "1.0",
        "none",
        bodies.PUBLISHED_MEASURES,
        lambda message: False,
    ),
    Service(
        "CommandeTransmissionHistoriqueMesures",
        "MeteredDataRequest",
        f"{B2B}/commandertransmissionhistoriquemesures/v1.0",
        "1.0",
        "enteteP",
        bodies.HISTORY,
        lambda message: False,
    ),
    Service(
        "CommandeCollectePublicationMesures",
        "MeteringServiceOrder",
        f"{B2B}/commandercollectepublicationmesures/v3.0",
        "3.0",
        "entete",
        bodies.COLLECTION,
    ),
    Service(
        "CommandeTransmissionDonneesInfraJ",
        "MeteringServiceOrder",
        f"{B2B}/commandertransmissiondonneesinfraj/v1.0",
        "1.0",
        "entete",
        bodies.INTRADAY,
        lambda message: False,
    ),
    Service(
        "CommandeArretServiceSouscritMesures",
        "MeteringServiceStop",
        f"{B2B}/commanderarretservicesouscritmesures/v1.0",
        "1.0",
        "entete",
        bodies.STOP,
    ),
    Service(
        "CommandeAccesDonneesMesures",
        "DataAccessOrder",
        f"{B2B}/commanderaccesdonneesmesures/v1.0",
        "1.0",
        "entete",
        bodies.DATA_ACCESS,
        lambda message: message.action == "open",
    ),
    Service(
        "CommandeServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderservicesaccesdonnees/v1.0",
        "1.0",
        "entete",
        bodies.ACCESS_SERVICE,
        lambda message: False,
    ),
    Service(
        "CommandeRenouvellementServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderRenouvellementServicesAccesDonnees/v1.0",
        "1.0",
        "entete",
        bodies.RENEWAL,
        lambda message: message.action == "renew",
    ),
    Service(
        "CommandeModificationOptionsServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderModificationOptionsServicesAccesDonnees/v1.0",
        "1.0",
        "entete",
        bodies.CHANGE,
        lambda message: message.action == "change",
    ),
    Service(
        "CommandeArretServicesAccesDonnees",
        "DataAccessOrder",
        f"{B2B}/commanderarretservicesaccesdonnees/v1.0",
        "1.0",
        "entete",
        bodies.ACCESS_END,
        lambda message: message.action == "end",
    ),
)
"""Every service. Of several for one kind the one named by `market_type` is asked, else the first that serves the
message."""

BY_NAME: dict[str, Service] = {service.name: service for service in SERVICES}
KINDS: frozenset[str] = frozenset(service.kind for service in SERVICES)
