"""Builds the SOAP request of one outgoing Kernel message.

Our reference goes wherever the service has a place for it: ``infoDemandeur/referenceDemandeur`` of the header, which
the acquittement repeats, and ``refExterne``, ``refFrn`` or ``referenceDemandeur`` of the request, which X12 repeats as
``referenceDemandeur`` of the affaire. ConsultationMesuresDetaillees has neither: its answer is matched with the call by
the channel (see `adapters.fr_enedis.sge.answers`).
"""

from __future__ import annotations

from adapters.common.codes import Unreadable
from adapters.fr_enedis.sge.bodies import POINT
from adapters.fr_enedis.sge.services import BY_NAME, KINDS, SERVICES, Service
from adapters.fr_enedis.sge.writing import Leaf, Node, envelope, node, refuse
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import Request
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

TECHNICAL = "http://www.enedis.fr/sge/b2b/technique/v1.0"
TECHNICAL_4 = "http://www.erdf.fr/sge/b2b/dictionnaire/v4.0/dc"
CONTENT_TYPE = "text/xml; charset=utf-8"
_ASKING = node(
    "infoDemandeur",
    Leaf("loginDemandeur", "login", "requester_login"),
    Leaf("referenceDemandeur", "text", "reference", of=lambda message, reference: reference),
)


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
        content = envelope(*_header(service), service.body, service.namespace, message, reference)
    except Unreadable as unreadable:
        return unreadable.refusal
    return OutgoingMessage(type=service.name, content=content, reference=reference, content_type=CONTENT_TYPE)


def _service(message: Request) -> Service:
    kind = type(message).__name__
    if kind not in KINDS:
        raise refuse("BUILD_KIND", "kind", kind, ", ".join(sorted(KINDS)))
    own = [service for service in SERVICES if service.kind == kind]
    named = BY_NAME.get(message.market_type)
    found = named if named is not None else next((service for service in own if service.serves(message)), None)
    if found is None or found.kind != kind:
        raise refuse("BUILD_SERVICE", "market_type", message.market_type, ", ".join(service.name for service in own))
    return found


def _header(service: Service) -> tuple[Node | None, str | None]:
    """The header element of the service and its namespace."""
    if service.header == "none":
        return None, None
    version = Leaf("version", "version", "market_type", of=lambda message, reference: service.version)
    if service.header == "entete":
        return node("entete", version, _ASKING), TECHNICAL
    return node("enteteP", version, node("infoFonctionnelles", POINT), _ASKING), TECHNICAL_4
