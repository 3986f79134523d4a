"""Enedis in a simulation: it reads our SGE requests, answers them, follows them in X12, and sends the files ordered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from xml.sax.saxutils import escape  # nosec B406 # it writes XML and reads none
from zoneinfo import ZoneInfo

from lxml import etree

from adapters.fr_enedis.simulator import affairs, published
from energycomm.simulation.answering import Asked, Document

REASONS = (
    ("SGT566", "Ce service nécessite l'accord du client."),
    ("SGT401", "Demande non recevable."),
    ("SGT570", "Les données du point ne sont pas disponibles."),
)
"""Why a request is refused for what it asks."""
_ORDERS = frozenset(("DataAccessOrder", "MeteringServiceOrder", "MeteringServiceStop", "MeteredDataRequest"))
"""Kinds by which an affaire is opened."""
_SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
_TECHNICAL = "http://www.enedis.fr/sge/b2b/technique/v1.0"
_PARIS = ZoneInfo("Europe/Paris")
_STATES = ("DMTR", "DMREC", "CPRE")


class _Read(NamedTuple):
    """What Enedis reads in a request: its body, element and namespace of the service, point, and account."""

    body: etree._Element
    operation: str
    namespace: str
    point: str
    login: str


class FrenchClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """The acknowledgement; of an order, two snapshots of its affaire: receivable, and done; of an order of files,
        these and their report."""
        request = _read(asked)
        number = asked.number("M")
        order = published.ordered(request.body, number, at)
        if order is not None:
            return [_opened(asked, request, at, number), *published.files(order)]
        affaire = asked.number("B") if asked.kind in _ORDERS else None
        documents = [_answer(asked, request, at, affaire)]
        if affaire is not None:
            documents.append(_snapshot(asked, request, at, affaire, 2))
            documents.append(_snapshot(asked, request, at, affaire, 3))
        return documents

    def refuse(self, asked: Asked, at: datetime, choice: int) -> Sequence[Document]:
        """A fault with a code of business."""
        code, text = REASONS[choice % len(REASONS)]
        request = _read(asked)
        body = f"""    <soapenv:Fault>
      <faultcode>soapenv:Server</faultcode>
      <faultstring>Erreur fonctionnelle</faultstring>
      <detail>
        <tec:erreur>
{_result(asked, request, code, text, None)}        </tec:erreur>
      </detail>
    </soapenv:Fault>
"""
        return [Document(_name(asked, at), _envelope("", body))]


def _read(asked: Asked) -> _Read:
    root = asked.root
    body = root.find(f"{{{_SOAP}}}Body")
    if body is None or not len(body):
        raise ValueError(f"request {asked.reference} has no body")
    name = etree.QName(body[0])
    login = next((element.text for element in root.iter("{*}loginUtilisateur", "{*}initiateurLogin")), None)
    point = next((element.text for element in body.iter("{*}pointId")), None)
    return _Read(body[0], name.localname, name.namespace or "", point or "", login or "")


def _name(asked: Asked, at: datetime) -> str:
    return f"answer-{asked.reference}_{at:%Y%m%dT%H%M%SZ}"


def _envelope(header: str, body: str) -> bytes:
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<soapenv:Envelope xmlns:soapenv="{_SOAP}" xmlns:tec="{_TECHNICAL}">
{header}  <soapenv:Body>
{body}  </soapenv:Body>
</soapenv:Envelope>
""".encode()


def _result(asked: Asked, request: _Read, code: str, text: str, affaire: str | None) -> str:
    point = f"<pointId>{escape(request.point)}</pointId>" if request.point else ""
    opened = f"<affaireId>{affaire}</affaireId>" if affaire else ""
    about = f"          <infoFonctionnelles>{point}{opened}</infoFonctionnelles>\n" if point or opened else ""
    login = f"<loginDemandeur>{escape(request.login)}</loginDemandeur>" if request.login else ""
    ours = f"<referenceDemandeur>{escape(asked.reference)}</referenceDemandeur>"
    return f"""          <resultat code="{code}">{escape(text)}</resultat>
{about}          <infoDemandeur>{login}{ours}</infoDemandeur>
"""


def _answer(asked: Asked, request: _Read, at: datetime, affaire: str | None) -> Document:
    header = f"""  <soapenv:Header>
    <tec:acquittement>
{_result(asked, request, "SGT200", "Succès", affaire)}    </tec:acquittement>
  </soapenv:Header>
"""
    opened = f"<affaireId>{affaire}</affaireId>" if affaire else ""
    operation = f"{request.operation}Response"
    body = f'    <req:{operation} xmlns:req="{escape(request.namespace)}">{opened}</req:{operation}>\n'
    return Document(_name(asked, at), _envelope(header, body))


def _opened(asked: Asked, request: _Read, at: datetime, number: str) -> Document:
    """The answer of a service of files: the number of the order, and nothing else."""
    body = f'    <m023:affaireId xmlns:m023="{escape(request.namespace)}">{number}</m023:affaireId>\n'
    return Document(_name(asked, at), _envelope("", body))


def _snapshot(asked: Asked, request: _Read, at: datetime, affaire: str, count: int) -> Document:
    """X12 of one affaire with so many of its milestones."""
    local = at.astimezone(_PARIS).replace(microsecond=0)
    effect = local.strftime("%Y-%m-%d") + local.strftime("%z")[:3] + ":00"
    milestones = [
        ((local + timedelta(seconds=7 * number)).isoformat(timespec="milliseconds"), effect, code)
        for number, code in enumerate(_STATES[:count], 1)
    ]
    status = f'<statut code="{"TERMN" if count == len(_STATES) else "COURS"}"/>'
    created = (local + timedelta(minutes=count)).strftime("%Y-%m-%dT%H:%M:%S")
    body = affairs.affair_xml(affaire, escape(asked.reference), escape(request.point), "AME", status, milestones)
    return Document(f"{count}_x12_{affaire}", (affairs.head("X12", created, 1) + body + affairs.TAIL).encode())
