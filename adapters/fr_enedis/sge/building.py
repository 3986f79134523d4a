"""Builds the SOAP request of one outgoing Kernel message.

Our reference goes wherever the service has a place for it: ``infoDemandeur/referenceDemandeur`` of the header, which
the acquittement repeats, and ``refExterne``, ``refFrn`` or ``referenceDemandeur`` of the request, which X12 repeats as
``referenceDemandeur`` of the affaire. ConsultationMesuresDetaillees has neither: its answer is matched with the call by
the channel (see `adapters.fr_enedis.sge.answers`).
"""

from __future__ import annotations

from adapters.common.codes import Unreadable
from adapters.fr_enedis.sge.services import BY_NAME, KINDS, SERVICES, Service
from adapters.fr_enedis.sge.writing import Leaf, Node, envelope, refuse
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import Request
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

TECHNICAL = "http://www.enedis.fr/sge/b2b/technique/v1.0"
TECHNICAL_4 = "http://www.erdf.fr/sge/b2b/dictionnaire/v4.0/dc"
CONTENT_TYPE = "text/xml; charset=utf-8"


def build(message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
    """The request of a message. See `energycomm.market.contract.Adapter.build`.

    Args:
      message: of one of `KINDS`; `market_type` may name the service.
      reference: our reference, 1 to 255 characters.

    Returns:
      The request, or a refusal: BUILD_KIND for a kind that no service serves, BUILD_SERVICE where `market_type` names
      a service of another kind, BUILD_MISSING and BUILD_VALUE for a field that the service needs or cannot take.
    """
    try:
        if not isinstance(message, Request):
            raise refuse("BUILD_KIND", "kind", type(message).__name__, ", ".join(sorted(KINDS)))
        service = _service(message)
        content = envelope(*_header(service, message, reference), service.body(message, reference), service.namespace)
    except Unreadable as unreadable:
        return unreadable.refusal
    return OutgoingMessage(type=service.name, content=content, reference=reference, content_type=CONTENT_TYPE)


def _service(message: Request) -> Service:
    kind = type(message).__name__
    if kind not in KINDS:
        raise refuse("BUILD_KIND", "kind", kind, ", ".join(sorted(KINDS)))
    named = BY_NAME.get(message.market_type)
    if named is not None:
        if named.kind != kind:
            own = ", ".join(service.name for service in SERVICES if service.kind == kind)
            raise refuse("BUILD_SERVICE", "market_type", message.market_type, own)
        return named
    found = next((service for service in SERVICES if service.kind == kind and service.serves(message)), None)
    if found is None:
        own = ", ".join(service.name for service in SERVICES if service.kind == kind)
        raise refuse("BUILD_SERVICE", "market_type", message.market_type, own)
    return found


def _header(service: Service, message: Request, reference: str) -> tuple[Node | None, str | None]:
    """The header element of the service and its namespace."""
    if service.header == "none":
        return None, None
    version = Leaf("version", "version", service.version, "market_type")
    asking = Node(
        "infoDemandeur",
        [
            Leaf("loginDemandeur", "login", message.requester_login, "requester_login"),
            Leaf("referenceDemandeur", "text", reference, "reference"),
        ],
    )
    if service.header == "entete":
        return Node("entete", [version, asking]), TECHNICAL
    point = Node("infoFonctionnelles", [Leaf("pointId", "point", message.access_point, "access_point")])
    return Node("enteteP", [version, point, asking]), TECHNICAL_4
