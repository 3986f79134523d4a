"""Reads what the SGE answers: one SOAP envelope is one CH message.

==============================================  ======================================================================
Answer                                          Becomes
==============================================  ======================================================================
acquittement with SGT200, or the response of a  a request answer, accepted; ``request`` is the affaire that was opened.
service that has no acquittement                Where none was, the answer is all there is: a request status ``done``
                                                comes with it
acquittement or fault ``erreur`` with a code    a request answer, refused, with that code
of business (SGT4.., SGT566, SGT570)
fault with another code, or without ``erreur``  an error report: Enedis could not process what was sent
measures in the response                        messages of their own (`adapters.fr_enedis.sge.measures`)
==============================================  ======================================================================

``correlation`` is our reference: ``infoDemandeur/referenceDemandeur`` where the answer repeats it, else the part of the
file's name after ``answer-``, by which the channel that made the call tells which call was answered. What X12 reports
of the affaire later bears the same reference.

What an answer says beyond that, such as the data of a point or the services that were opened, is kept as particulars of
the message. A response of measures that holds none is an answer with the reason NO_MEASURES. Measures that cannot be
read are noted and do not touch the answer, whose bytes are kept.

An answer bears no time: its instant is that of the file's name where it ends in ``_YYYYMMDDTHHMMSSZ``, as the channel
that made the call writes it; else the year 1970 stands for it, and a note says so. It does not enter the identity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import IO, Any, NamedTuple

import msgspec
from lxml import etree

from adapters.common.codes import Unreadable
from adapters.common.outcome import FAULTS, Notes, business_order
from adapters.common.reading import Fields, read_with_attributes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import MARKET
from adapters.fr_enedis.outcome import PARTICULARS
from adapters.fr_enedis.sge import measures
from adapters.fr_enedis.sge.services import SERVICES
from adapters.fr_enedis.sge.writing import SOAP
from energycomm.kernel import safexml
from energycomm.kernel.instants import EPOCH
from energycomm.kernel.messages import ErrorReport, KernelMessage, RequestAnswer, RequestStatus
from energycomm.kernel.parts import AnswerReason, FoundPoint
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import DocumentType, MemberHead, Transaction

LABEL = "SGE-answer"
FLUX = "SGE"
VERSION = "1.0"
ROOT = "Envelope"
SENDER = "ENEDIS"
NOBODY = "REQUESTER"
"""Addressee of an answer that names no account."""
OURS = re.compile(r"https?://(?:www\.|sge-b2b\.)?(?:enedis|erdf)\.fr/")
"""Namespaces that only Enedis uses."""
SUCCESS = "SGT200"
BUSINESS = re.compile(r"SGT4..|SGT566|SGT570")
"""Codes by which a request is refused for what it asks; any other one is a failure of the exchange."""
_BARE = frozenset(
    (
        *(service.namespace for service in SERVICES if service.header == "none"),
        "http://www.enedis.fr/sge/b2b/services/consultationmesuresdetaillees/v2.0",
    )
)
"""Namespaces of the services that answer without an acquittement."""
NO_MEASURES = AnswerReason(code="NO_MEASURES", text="The answer holds no measures.")
"""Reason of an answer that was given, and gives nothing."""
_NAME = re.compile(r"^answer-(?P<reference>.+?)(?:_(?P<at>\d{8}T\d{6}Z))?(?:\.xml)?$", re.IGNORECASE)
_MOST_POINTS = 200
_MAX_BYTES = 32 << 20
_encode = msgspec.msgpack.Encoder().encode

TYPES: dict[str, DocumentType] = {
    LABEL: DocumentType(LABEL, "xml", ROOT, (VERSION,), "answers of the SGE services; one CH message per SOAP envelope")
}


class Answer(NamedTuple):
    """What matters of an answer.

    Attributes:
      code, text: of ``resultat``, or of the fault.
      fault: the answer is a SOAP fault.
      operation: name of the response's element.
      reference: our reference, as the answer repeats it.
      login: account that asked.
      point: access point.
      affaire: the market's reference of what was opened.
      found: access points found by a search.
      parts: its elements, by the label of their particulars.
      measures: the response, where it is one of measures.
    """

    code: str
    text: str | None
    fault: bool
    operation: str | None
    reference: str | None
    login: str | None
    point: str | None
    affaire: str | None
    found: tuple[FoundPoint, ...]
    parts: dict[str, etree._Element]
    measures: etree._Element | None = None


def is_ours(namespaces: tuple[str, ...]) -> bool:
    """Whether a SOAP envelope that declares these namespaces comes from Enedis."""
    return any(OURS.match(namespace) for namespace in namespaces)


def is_bare(name: str, namespaces: tuple[str, ...]) -> bool:
    """Whether a SOAP envelope is named as the answer to a call of ours, and names nobody: a fault of SOAP alone."""
    return _NAME.match(re.split(r"[/\\]", name)[-1]) is not None and set(namespaces) <= {SOAP}


def digest(content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction]:
    """The head and the only transaction of an answer.

    Args:
      content: the SOAP envelope, read whole: at most 32 MB.
      name: file name; ``answer-<reference>_<time>.xml`` where a channel wrote it.

    Raises:
      Unreadable: no SOAP envelope of the SGE, or one without its header or content.
    """
    data = content.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise Unreadable(refusal("SGE_LIMIT", path=name, expected=f"an answer of at most {_MAX_BYTES} bytes"))
    root = safexml.parse_bytes(data)
    if isinstance(root, Refusal):
        raise Unreadable(root)
    if etree.QName(root).localname != ROOT:
        raise Unreadable(refusal("ROOT_UNEXPECTED", value=str(root.tag), expected=ROOT))
    answer = _read(root)
    by_name = _NAME.match(re.split(r"[/\\]", name)[-1])
    ours = answer.reference or (by_name["reference"][:255] if by_name else None)
    at = _instant(by_name["at"] if by_name else None)
    notes = [] if at is not None else [refusal("NOTE_TIME_UNKNOWN", path=name, expected="answer-..._YYYYMMDDTHHMMSSZ")]
    reference = f"{ours or '-'}:{answer.operation or 'fault'}:{answer.code}"[:400]
    measured, told = _measures(answer, reference, at)
    notes += told
    empty = answer.measures is not None and not measured and not told
    *others, message = _messages(answer, ours, reference, at or EPOCH, (NO_MEASURES,) if empty else ())
    for label, element in answer.parts.items():
        (message,), left = PARTICULARS.added((message,), f"{FLUX}-{label}", element)
        notes += left
    yield MemberHead(type=FLUX, version=VERSION, sender=SENDER, receiver=answer.login or NOBODY)
    yield Transaction(
        position=1,
        type=FLUX,
        version=VERSION,
        reference=reference,
        access_point=answer.point,
        sender=SENDER,
        identity=_identity(root, ours),
        messages=tuple(sorted((*others, message, *measured), key=business_order)),
        notes=tuple(notes),
    )


def _measures(answer: Answer, reference: str, at: datetime | None) -> tuple[list[KernelMessage], Notes]:
    """The messages of the measures of an answer, and what was noticed."""
    notes: Notes = []
    if answer.measures is None:
        return [], notes
    try:
        return measures.measures(answer.measures, _head(answer, reference), at, notes), notes
    except Unreadable as unreadable:
        found = unreadable.refusal
        return [], [*notes, refusal("NOTE_MEASURES_UNREAD", found.path, found.value, found.expected)]
    except FAULTS as fault:
        value = f"{type(fault).__name__}: {fault}"
        return [], [*notes, refusal("NOTE_MEASURES_UNREAD", path="Envelope/Body", value=value)]


def _instant(written: str | None) -> datetime | None:
    try:
        return datetime.strptime(written or "", "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _head(answer: Answer, reference: str) -> dict[str, Any]:
    return {
        "market": MARKET,
        "market_type": FLUX,
        "market_reason": answer.operation,
        "reference": reference,
        "access_point": answer.point,
        "request_reference": answer.affaire,
        "sender": SENDER,
        "receiver": answer.login or NOBODY,
        "sender_role": "grid-operator",
        "receiver_role": "supplier",
    }


def _messages(
    answer: Answer, ours: str | None, reference: str, at: datetime, reasons: tuple[AnswerReason, ...]
) -> Iterator[KernelMessage]:
    head = {**_head(answer, reference), "correlation": ours, "created": at, "effective": at}
    accepted = answer.code == SUCCESS and not answer.fault
    if accepted and answer.affaire is None and ours is not None:
        yield RequestStatus(**head, request=ours[:64], state="done", state_code=answer.code, initiated_by_us=True)
    if accepted or BUSINESS.fullmatch(answer.code):
        yield RequestAnswer(
            **head,
            accepted=accepted,
            code=answer.code,
            text=answer.text,
            request=answer.affaire,
            found=answer.found,
            reasons=reasons,
        )
    else:
        yield ErrorReport(**head, code=answer.code, text=answer.text)


def _identity(root: etree._Element, ours: str | None) -> bytes:
    state = blake2b(digest_size=16)
    state.update(repr((MARKET, SENDER, FLUX, ours)).encode("utf-8", "surrogatepass"))
    state.update(_encode(_plain(root)))
    return state.digest()


def _plain(element: etree._Element) -> Any:
    """Names without prefixes, attributes, text and children, in their order."""
    name = etree.QName(element)
    text = (element.text or "").strip()
    return [name.localname, sorted(element.attrib.items()), text, [_plain(child) for child in element]]


# --- the parts of an answer ---


def _read(root: etree._Element) -> Answer:
    soap = etree.QName(root).namespace or SOAP
    body = root.find(f"{{{soap}}}Body")
    if body is None or not len(body):
        raise Unreadable(refusal("HEADER_MISSING", path="Envelope/Body", expected="a SOAP body with an answer"))
    header = root.find(f"{{{soap}}}Header")
    acknowledged = _find(header, ("acquittement", "acquittementP"))
    content = body[0]
    operation = etree.QName(content).localname
    if operation == "Fault":
        return _fault(content, acknowledged)
    if acknowledged is None and etree.QName(content).namespace not in _BARE:
        raise Unreadable(refusal("HEADER_MISSING", path="Envelope/Header", expected="acquittement"))
    said = _Said(acknowledged)
    return Answer(
        code=said.code or SUCCESS,
        text=said.text,
        fault=False,
        operation=operation[:64],
        reference=said.reference,
        login=said.login,
        point=said.point or _text(content, "pointId", 40),
        affaire=said.affaire or _affaire(content),
        found=tuple(_points(content)),
        parts={operation: content} | ({} if acknowledged is None else {"acquittement": acknowledged}),
        measures=content if operation in measures.ANSWERS and (said.code or SUCCESS) == SUCCESS else None,
    )


def _fault(fault: etree._Element, acknowledged: etree._Element | None) -> Answer:
    error = _find(fault, ("erreur",))
    said = _Said(error if error is not None else acknowledged)
    words = (_text(fault, "faultstring", 400), _text(error, "commentaire", 400) if error is not None else None)
    return Answer(
        code=said.code or (_text(fault, "faultcode", 64) or "FAULT").rpartition(":")[2] or "FAULT",
        text=said.text or next((word for word in words if word), None),
        fault=True,
        operation=None,
        reference=said.reference,
        login=said.login,
        point=said.point,
        affaire=said.affaire,
        found=(),
        parts={"Fault": fault},
    )


class _Said:
    """What ``acquittement`` and ``erreur`` both say."""

    def __init__(self, element: etree._Element | None) -> None:
        fields: Fields = {} if element is None else read_with_attributes(element)
        result = _first(fields, "resultat")
        asked, about = _first(fields, "infoDemandeur"), _first(fields, "infoFonctionnelles")
        self.code: str | None = (result.get("@code") or "").strip()[:64] or None
        self.text: str | None = (result.get("#") or "")[:400] or None
        self.reference = _leaf(asked, "referenceDemandeur", 255)
        self.login = _leaf(asked, "loginDemandeur", 40)
        self.point = _leaf(about, "pointId", 40)
        self.affaire = _leaf(about, "affaireId", 64)


def _first(fields: Fields, tag: str) -> Fields:
    held = fields.get(tag)
    return held[0] if held else {}


def _leaf(fields: Fields, tag: str, most: int) -> str | None:
    return (_first(fields, tag).get("#") or "")[:most] or None


def _find(parent: etree._Element | None, names: tuple[str, ...]) -> etree._Element | None:
    if parent is None:
        return None
    return next((child for child in parent.iter(etree.Element) if etree.QName(child).localname in names), None)


def _text(parent: etree._Element, name: str, most: int) -> str | None:
    found = _find(parent, (name,))
    return ((found.text or "").strip()[:most] or None) if found is not None else None


def _affaire(content: etree._Element) -> str | None:
    """The affaire that a response names: its own text (M023), affaireId, or demandeId."""
    found = _find(content, ("affaireId", "demandeId"))
    return ((found.text or "").strip()[:64] or None) if found is not None else None


def _points(content: etree._Element) -> Iterator[FoundPoint]:
    """The points that a search found, 200 at most."""
    if etree.QName(content).localname != "rechercherPointResponse":
        return
    number = 0
    for point in content.iter("point"):
        identifier = (point.get("id") or "").strip()[:64]
        number += 1
        if not identifier or number > _MOST_POINTS:
            continue
        yield FoundPoint(
            access_point=identifier,
            city=_text(point, "ligne6", 400),
            customer=_text(point, "nomClientFinalOuDenominationSociale", 400),
            meter=_text(point, "numeroSerie", 64) or _text(point, "matricule", 64),
        )
