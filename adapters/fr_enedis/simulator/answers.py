"""Enedis in a simulation: it reads our SGE requests, answers them, and follows what it opened in X12."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from xml.sax.saxutils import escape  # nosec B406 # it writes XML and reads none
from zoneinfo import ZoneInfo

from lxml import etree

from adapters.fr_enedis.simulator.codes import OPERATOR, SUPPLIER
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
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
_STATES = (("DMTR", "Demande transmise"), ("DMREC", "Demande recevable"), ("CPRE", "Close, prestation réalisée"))


class _Read(NamedTuple):
    """What Enedis reads in a request: element and namespace of the service, point, and account."""

    operation: str
    namespace: str
    point: str
    login: str


class FrenchClerk:
    """Satisfies `energycomm.simulation.answering.Clerk`."""

    def accept(self, asked: Asked, at: datetime) -> Sequence[Document]:
        """The acknowledgement; of an order, two snapshots of its affaire: receivable, and done."""
        request = _read(asked)
        affaire = _affaire(asked) if asked.kind in _ORDERS else None
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
    root = safexml.parse_bytes(asked.content)
    if isinstance(root, Refusal):
        raise ValueError(f"request {asked.reference} is no SOAP request: {root}")
    body = root.find(f"{{{_SOAP}}}Body")
    if body is None or not len(body):
        raise ValueError(f"request {asked.reference} has no body")
    name = etree.QName(body[0])
    login = next((element.text for element in root.iter("{*}loginUtilisateur", "{*}initiateurLogin")), None)
    point = next((element.text for element in body.iter("{*}pointId")), None)
    return _Read(name.localname, name.namespace or "", point or "", login or "")


def _affaire(asked: Asked) -> str:
    """The number that Enedis gives what a request opens."""
    return f"B{int.from_bytes(hashlib.sha256(asked.reference.encode()).digest()[:4], 'big') % 10**7:07d}"


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


def _snapshot(asked: Asked, request: _Read, at: datetime, affaire: str, milestones: int) -> Document:
    """X12 of one affaire with so many of its milestones."""
    local = at.astimezone(_PARIS).replace(microsecond=0)
    effect = local.strftime("%Y-%m-%d") + local.strftime("%z")[:3] + ":00"
    told = []
    for number, (code, label) in enumerate(_STATES[:milestones], 1):
        moment = (local + timedelta(seconds=7 * number)).isoformat(timespec="milliseconds")
        told.append(
            f"        <jalon><num>{number}</num><dateHeure>{moment}</dateHeure>"
            f"<affaireDateEffet>{effect}</affaireDateEffet>"
            f'<affaireEtat code="{code}"><libelle>{label}</libelle></affaireEtat></jalon>\n'
        )
    done = milestones == len(_STATES)
    status = '<statut code="TERMN"/>' if done else '<statut code="COURS"/>'
    created = (local + timedelta(minutes=milestones)).strftime("%Y-%m-%dT%H:%M:%S")
    content = f"""<?xml version="1.0" encoding="UTF-8"?>
<affaires>
  <enteteFlux>
    <idFlux>X12</idFlux>
    <libelle>Suivi des affaires initiées par le fournisseur</libelle>
    <versionXsd>2.0.0</versionXsd>
    <idEmetteur>{OPERATOR}</idEmetteur>
    <idDestinataire>{SUPPLIER}</idDestinataire>
    <dateCreation>{created}</dateCreation>
  </enteteFlux>
  <nbAffaires>1</nbAffaires>
  <affaire id="{affaire}">
    <donneesGenerales>
      <referenceDemandeur>{escape(asked.reference)}</referenceDemandeur>
      {status}
      <jalons>
{"".join(told)}      </jalons>
      <donneesPoint>
        <id>{escape(request.point)}</id>
        <segmentClientele code="C5"><libelle>C5</libelle></segmentClientele>
      </donneesPoint>
      <segment>C5</segment>
    </donneesGenerales>
    <demande>
      <donneesGenerales>
        <objet code="AME"><libelle>Transmission récurrente des index quotidiens</libelle></objet>
        <pointId>{escape(request.point)}</pointId>
        <media code="PTL"><libelle>PORTAIL</libelle></media>
      </donneesGenerales>
    </demande>
  </affaire>
</affaires>
"""
    return Document(f"{milestones}_x12_{affaire}", content.encode())
