"""CR.M023, the report that ends an order, and NASS, the notice that subscribed services stopped.

**CR.M023.** Its guide (Enedis.SGE.GUI.0505) is not public. What is known of it: it comes apart from the data, tells how
many files there are, and closes the order. It is therefore read by what its elements and columns are called, whatever
they stand in; `adapters.fr_enedis.simulator` writes a stand-in of ours. The first CH message is the end of the order,
with the number of files; each point that the report names is one more, done or refused.

**NASS.** One service of one point that is told is one CH message: the state of that service, ended where a reason tells
so, else running.

Sources: Enedis.SGE.GUI.0503 (R6X) v1.5.2, sections 1.1 and 2.1, on the report; a public reader of NASS v1.0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import IO, Any

from adapters.common import jsonform
from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.fr_enedis import csvpieces, names, ondemand
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import MARKET
from adapters.fr_enedis.labels import plain
from adapters.fr_enedis.ondemand import ONE_OFF, Order, Reader, Walk
from adapters.fr_enedis.times import start_of_day
from energycomm.kernel.messages import KernelMessage, RequestStatus
from energycomm.kernel.vocabulary import RequestState
from energycomm.market.contract import DocumentType, MemberHead, Transaction

REPORT, NOTICE = "CR.M023", "NASS"
NOTICE_KEYS = frozenset(("header", "services"))
"""First keys of a notice."""
MOST_POINTS = 20_000
"""Points of one report: twice as many as an order may have."""

_POINT = frozenset(("idprm", "prm", "identifiant prm", "pointid", "id prm"))
_ORDER = frozenset(("iddemande", "affaireid", "idaffaire", "numeroaffaire", "id demande", "numero affaire"))
_FILES = re.compile(r"(nb|nombre|total).*(fichier|archive)|(fichier|archive)s? .*(nb|nombre|total)|nbfichiers?")
_STATE = re.compile(r"statut|etat|resultat")
_CODE = re.compile(r"code")
_WORDS = re.compile(r"libelle|motif|message|commentaire")
_BEGINNING = 64
"""Bytes that tell JSON from a table."""
_LISTS = ("points", "prms", "listePrm", "listePoints", "mesures", "resultats")
"""Lists of points that are read one by one."""
_REFUSED = re.compile(r"refus|rejet|non recevable|non realise|nonrealise|ko|erreur|echec|absen|inconnu|indisponible")
"""Words of a state that say that there is no data."""


# --- CR.M023 ---


class Report:
    """What a report says.

    Attributes:
      order: number of the case.
      files: how many files it announces.
      points: what it says of each point.
    """

    def __init__(self) -> None:
        self.order: str | None = None
        self.files: int | None = None
        self.points: list[dict[str, str]] = []

    def take(self, said: Any, depth: int = 0) -> None:
        """Take what a part of the document says, whatever it stands in."""
        if isinstance(said, list):
            for one in said:
                self.take(one, depth + 1)
        elif isinstance(said, dict):
            told = {plain(str(name)): value for name, value in said.items()}
            if any(name in _POINT and isinstance(value, str) for name, value in told.items()):
                if len(self.points) >= MOST_POINTS:
                    raise Unreadable(refusal("JSON_LIMIT", "points", expected=f"{MOST_POINTS} points at most"))
                self.points.append({name: str(value) for name, value in told.items() if _is_leaf(value)})
            for name, value in told.items():
                self._leaf(name, value)
                if isinstance(value, dict | list):
                    self.take(value, depth + 1)

    def _leaf(self, name: str, value: Any) -> None:
        if name in _ORDER and isinstance(value, str) and 0 < len(value) <= 40:
            self.order = self.order or value
        elif _FILES.search(name) and not isinstance(value, bool) and re.fullmatch("[0-9]{1,5}", str(value)):
            self.files = int(value) if self.files is None else self.files
        elif self.files is None and name in ("fichiers", "archives") and isinstance(value, list):
            self.files = len(value)


def _is_leaf(value: Any) -> bool:
    return isinstance(value, str | int) and len(str(value)) <= 400


def report(content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction]:
    """The head and the transactions of a report: points one by one where the order and the number of files stand before
    them, else after the whole was read.

    Args:
      content: of the member.
      name: its file name.

    Raises:
      Unreadable: it names no order, or does not tell how many files there are.
    """
    said, head, position = Report(), None, 1
    for part in _parts(content):
        said.take(part)
        if head is None and said.files is not None and said.points:
            head = _report_head(said, name)
            yield from _opening(said, head)
        if head is not None:
            for point in said.points:
                position += 1
                yield _point(point, head, position)
            said.points.clear()
    if head is None:
        head = _report_head(said, name)
        yield from _opening(said, head)
        for position, point in enumerate(said.points, 2):
            yield _point(point, head, position)


def _parts(content: IO[bytes]) -> Iterator[Any]:
    lines = csvpieces.Lines(content, _BEGINNING)
    if not lines.getvalue().lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        yield from (dict(row) for row in csvpieces.rows(lines, ()))
    else:
        for path, value in jsonform.split(lines, [(name,) for name in _LISTS]):
            yield value if path[-1:] and path[-1] in _LISTS else {path[-1] if path else "": value}


def _report_head(said: Report, name: str) -> dict[str, Any]:
    """What every message of the report starts with."""
    named = names.tokens(name)
    order = said.order or named.get("order")
    if order is None:
        raise Unreadable(refusal("HEADER_INVALID", "idDemande", None, "the number of the order"))
    if said.files is None:
        raise Unreadable(refusal("SYN_MISSING", "nbFichiers", None, "the number of files of the order"))
    at = names.written(name)
    if at is None:
        raise Unreadable(refusal("HEADER_INVALID", "horodate", None, "a file name that ends in its time stamp"))
    return _head(REPORT, order, named.get("contract"), at)


def _opening(said: Report, head: dict[str, Any]) -> Iterator[MemberHead | Transaction]:
    """The head, and the end of the order."""
    order, files = head["request_reference"], said.files or 0
    yield MemberHead(
        type=REPORT,
        version=ondemand.VERSION,
        sender=ondemand.SENDER,
        receiver=head["receiver"],
        request=order,
        files=files,
    )
    whole = RequestStatus(
        **head,
        reference=f"{order}:{REPORT}",
        request=order,
        state="done" if files else "refused",
        state_code=REPORT,
        particulars=kept([("nbFichiers", files)])[0],
    )
    yield _transaction(1, whole, (order, files))


def _point(point: Mapping[str, str], head: dict[str, Any], position: int) -> Transaction:
    """What became of one point."""
    order = head["request_reference"]
    prm = next(value for label, value in point.items() if label in _POINT)
    state, code, words = _outcome(point)
    one = RequestStatus(
        **{**head, "access_point": prm[:40] or None},
        reference=f"{order}:{REPORT}:{prm}"[:400],
        request=f"{order}:{prm}"[:64],
        state=state,
        state_code=(code or state)[:64],
        particulars=kept([("libelle", words)])[0],
    )
    return _transaction(position, one, sorted(point.items()))


def _outcome(point: Mapping[str, str]) -> tuple[RequestState, str | None, str | None]:
    """What became of a point: state, code and words."""
    states = [value for name, value in point.items() if _STATE.search(name)]
    code = next((value for name, value in point.items() if _CODE.search(name) and "prm" not in name), None)
    words = next((value for name, value in point.items() if _WORDS.search(name)), None)
    refused = any(_REFUSED.search(plain(value)) for value in states) or bool(code and code.upper().startswith("SGT"))
    return "refused" if refused else "done", code or (states[0] if states else None), words


def _head(flux: str, order: str | None, receiver: str | None, at: datetime) -> dict[str, Any]:
    return {
        "market": MARKET,
        "market_type": flux,
        "sender": ondemand.SENDER,
        "receiver": receiver,
        "sender_role": "grid-operator",
        "receiver_role": "supplier",
        "request_reference": order,
        "created": at,
        "effective": at,
        "initiated_by_us": True,
    }


def _transaction(position: int, message: RequestStatus, content: Any) -> Transaction:
    return Transaction(
        position=position,
        type=message.market_type,
        version=ondemand.VERSION,
        reference=message.reference,
        access_point=message.access_point,
        sender=ondemand.SENDER,
        identity=ondemand.identity_of(message.market_type, message.request_reference, message.reference, repr(content)),
        messages=(message,),
    )


# --- NASS ---

RUNNING = "0"
"""motifFinCode of a service that did not stop."""


def notice(piece: Any, order: Order, notes: Notes) -> list[KernelMessage]:
    """The state of each service of a point.

    Raises:
      Unreadable: a service names neither its kind nor its start.
    """
    messages: list[KernelMessage] = []
    for segment in _objects(piece.get("segments")):
        for service in _objects(segment.get("serviceSouscrits")) or _objects(segment.get("servicesSouscrits")):
            messages.append(_service(service, segment.get("segment"), order))
    if not messages:
        raise Unreadable(refusal("SYN_MISSING", "services/segments/serviceSouscrits", None, "a service"))
    return messages


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _service(service: Mapping[str, Any], segment: Any, order: Order) -> RequestStatus:
    kind, start = service.get("typeServiceSouscrit"), service.get("dateDebut")
    if not isinstance(kind, str) or not kind:
        path = "services/segments/serviceSouscrits/typeServiceSouscrit"
        raise Unreadable(refusal("SYN_MISSING", path, None, "CDC, IDX, PMAX, ENERGIE or ITC"))
    motive = service.get("motifFinCode")
    code = None if motive is None else str(motive)
    stopped = code not in (None, "", RUNNING)
    end = _day(service.get("dateFin"))
    at = start_of_day(end) if stopped and end is not None else order.written
    if at is None:
        raise Unreadable(refusal("SYN_MISSING", "services/segments/serviceSouscrits/dateFin", None, "a day"))
    told = {
        "segment": segment,
        "typeService": service.get("typeService"),
        "etatService": service.get("etatService"),
        "dateDebut": _day(start) or start,
        "motifFinLibelle": service.get("motifFinLibelle"),
    }
    return RequestStatus(
        **{**order.head, "created": order.written or at, "effective": at},
        market_reason=code or None,
        request=f"{kind}:{start or '-'}"[:64],
        state="done" if stopped else "in-course",
        state_code=(code or str(service.get("etatService") or RUNNING))[:64],
        object_code=kind[:64],
        effect_date=end,
        initiated_by_us=True,
        particulars=kept((name, value if isinstance(value, date) else _text(value)) for name, value in told.items())[0],
    )


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)[:400]


def _day(value: Any) -> date | None:
    try:
        found = date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
    return found if 1900 <= found.year <= 2199 else None


NOTICES = Reader((NOTICE,), dict[str, Any], notice, {}, (), "services that stopped; one CH message per point")


class Notices(Walk):
    """The walk through a notice.

    Args:
      name: file name of the member.
    """

    def __init__(self, name: str) -> None:
        super().__init__({NOTICE: NOTICES}, name)

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; raises `Unreadable` where the member ends badly."""
        for path, found in jsonform.split(content, [("services",)]):
            if path == ("header",) and self.order is None:
                fields = found if isinstance(found, dict) else {}
                held = {name: fields.get(name) for name in ("idDemande", "idDestinataire", "idPublication")}
                self.order = self._order({**held, "codeFlux": NOTICE, "modePublication": ONE_OFF})
                self.order = self.order._replace(recurrent=True)
                yield self.order.member_head()
            elif path == ("services",):
                if self.order is None:
                    raise Unreadable(refusal("HEADER_MISSING", "header", None, "the header before the services"))
                yield self._transaction(found, self.order)
        if self.order is None:
            raise Unreadable(refusal("HEADER_MISSING", "header", None, "header"))

    def refer(self, piece: Any, order: Order) -> str:
        """``PRM:NASS``."""
        return f"{ondemand.point_of(piece) or '-'}:{NOTICE}"


def types() -> dict[str, DocumentType]:
    """The rows of the table of types."""
    about = "report that ends an order; its form is not public, it is read by the names of its elements"
    return {
        REPORT: DocumentType(REPORT, "json", "header,nbFichiers", (ondemand.VERSION,), about),
        NOTICE: DocumentType(NOTICE, "json", "header,services", (ondemand.VERSION,), NOTICES.about),
    }
