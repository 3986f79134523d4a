"""On-demand fluxes in JSON (R64, R67): the walk through a member, which is the same for both.

One element of ``mesures`` (one point) is one CH message. The header is short: it names the flux and the request, but
neither a sender, nor a version, nor the time at which it was written.

* The sender is written ENEDIS.
* The time of writing is that of the file's name where it ends in a time stamp, else the end of the period asked for.
* The addressee is the contract (GRD-F...), not an EIC.
* idDemande is carried as the request's reference, so that a publication is found with the order that caused it; it
  enters identities. Windows of two orders may overlap: the same reading then comes in two CH messages.
* Only active energy (EA) is read; another quantity is left out and noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import IO, Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from adapters.common import jsonform
from adapters.common.codes import Unreadable
from adapters.common.outcome import FAULTS, Notes
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.curves import direction
from adapters.fr_enedis.header import MARKET
from adapters.fr_enedis.times import instant_at, moment
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.vocabulary import Direction, Grid
from energycomm.market.contract import DocumentType, MemberHead, Transaction

SENDER = "ENEDIS"
LABEL = "R64-R67"
_MEASURES = ("mesures",)
VERSION = "1"
"""The header declares none: the only one known."""
_STAMP = re.compile(r"_([0-9]{14})(?:\.[A-Za-z]+)*$")
_HALF = "\ufffe"
"""What half a character (\\ud800 alone) is read as: JSON can say it, and no encoding can write it."""
Content = TypeVar("Content", bound=Struct)
Inner = TypeVar("Inner", bound=Struct)
Word = Annotated[str, Meta(min_length=1, max_length=64)]
Words = Annotated[str, Meta(max_length=400)]
Point = Annotated[str, Meta(min_length=1, max_length=40)]
GRID: dict[str | None, Grid] = {
    "Distributeur": "distributor",
    "Fournisseur": "supplier",
    "D": "distributor",
    "F": "supplier",
}
"""libelleGrille or codeGrille -> whose time classes they are."""
GRID_OF_CALENDAR: dict[str, Grid] = {"DI": "distributor", "FC": "supplier"}
"""First letters of a calendar's identifier -> the same."""
ACTIVE = "EA"
_QUANTITY = "mesures/contexte/grandeur"


class Period(Struct, frozen=True):
    """The period that was asked for."""

    dateDebut: Word  # noqa: N815
    dateFin: Word  # noqa: N815


class Calendar(Struct, Generic[Inner], frozen=True, kw_only=True):
    """One calendar of time classes; each flux names its ``identifier`` otherwise."""

    libelleGrille: Word | None = None  # noqa: N815
    codeGrille: Word | None = None  # noqa: N815
    classeTemporelle: tuple[Inner, ...] = ()  # noqa: N815


class Quantity(Struct, Generic[Inner], frozen=True):
    """One quantity by the calendars of a flux."""

    grandeurPhysique: Word  # noqa: N815
    unite: Word
    grandeurMetier: Word | None = None  # noqa: N815
    calendrier: tuple[Inner, ...] = ()


class Measures(Struct, Generic[Inner], frozen=True):
    """The schema of one piece: all that was measured of one point."""

    idPrm: Point  # noqa: N815
    periode: Period
    contexte: tuple[Inner, ...]


class ActiveEnergy(NamedTuple):
    """One time class of active energy: its content, its grid and calendar, its direction and unit."""

    item: Any
    grid: Grid
    calendar: str | None
    sense: Direction
    unit: str


class Order(NamedTuple):
    """What the header says of a publication.

    Attributes:
      flux: R64, R67.
      head: keyword arguments that every Kernel message starts with, without created.
      written: time stamp of the file's name.
    """

    flux: str
    head: dict[str, Any]
    written: datetime | None

    def created(self, until: str) -> datetime:
        """When the file was written: as its name says, else the end of the period asked for."""
        return self.written or instant(until, "periode/dateFin")


class Reader(NamedTuple):
    """What reads the pieces of one flux.

    Attributes:
      flux: its code.
      shape: the type of a piece, `Measures` of something: its schema.
      digest: Kernel messages of a piece; the order's head then bears its reference and point.
    """

    flux: str
    shape: Any
    digest: Callable[[Any, Order, Notes], list[KernelMessage]]


def instant(written: str, path: str) -> datetime:
    """A naive date-time or a day as an instant in Paris.

    Raises:
      Unreadable: no date-time in 1900 to 2199 (SYN_VALUE).
    """
    return instant_at(written, path, or_day=True).at


def active(setting: Any, identifier: str, notes: Notes) -> Iterator[ActiveEnergy]:
    """The time classes of active energy, with what stands above them; another quantity is noted.

    Args:
      setting: of a piece.
      identifier: the field of a calendar that a refusal points at.
      notes: what was noticed.

    Raises:
      Unreadable: neither the name of a calendar nor the first letters of its identifier tell whose it is (SYN_CODE).
    """
    for quantity in setting.grandeur:
        if quantity.grandeurPhysique != ACTIVE:
            code = quantity.grandeurPhysique
            notes.append(refusal("NOTE_CODE_UNKNOWN", f"{_QUANTITY}/grandeurPhysique", code, ACTIVE))
            continue
        sense = direction(quantity.grandeurMetier, f"{_QUANTITY}/grandeurMetier", notes)
        for calendar in quantity.calendrier:
            name = calendar.codeGrille or calendar.libelleGrille
            grid = GRID.get(name) or GRID_OF_CALENDAR.get((calendar.identifier or "")[:2])
            if grid is None:
                path, value = f"{_QUANTITY}/calendrier/{identifier}", name or calendar.identifier
                raise Unreadable(refusal("SYN_CODE", path, value, "one of D, F"))
            for item in calendar.classeTemporelle:
                yield ActiveEnergy(item, grid, calendar.identifier, sense, quantity.unite)


class Walk:
    """The walk through one member.

    Args:
      readers: by flux.
      name: file name of the member.
    """

    def __init__(self, readers: dict[str, Reader], name: str) -> None:
        self.readers, self.name = readers, name
        self.position = 0
        self.order: Order | None = None

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; raises `Unreadable` where the member ends badly."""
        told = False
        for path, found in jsonform.split(content, [_MEASURES]):
            if path == ("header",):
                self.order = self._order(found)
                if not told:
                    told = True
                    yield MemberHead(
                        type=self.order.flux, version=VERSION, sender=SENDER, receiver=self.order.head["receiver"]
                    )
            elif path == _MEASURES and self.order is None:
                raise Unreadable(refusal("HEADER_MISSING", path="header", expected="the header before the measures"))
            elif path == _MEASURES and self.order is not None:
                yield self._transaction(found, self.order)
        if self.order is None:
            raise Unreadable(refusal("HEADER_MISSING", path="header", expected="header"))

    def _order(self, header: Any) -> Order:
        fields = header if isinstance(header, dict) else {}
        flux = fields.get("codeFlux")
        if not isinstance(flux, str) or flux not in self.readers:
            known = ", ".join(sorted(self.readers))
            code = "TYPE_UNKNOWN" if isinstance(flux, str) else "HEADER_INVALID"
            raise Unreadable(
                refusal(code, path="header/codeFlux", value=None if flux is None else str(flux), expected=known)
            )
        texts: dict[str, str | None] = {}
        for name in ("idDemande", "idDestinataire"):
            value = fields.get(name)
            if value is not None and (type(value) is not str or not 0 < len(value) <= 40 or _HALF in value):
                path = f"header/{name}"
                raise Unreadable(refusal("HEADER_INVALID", path=path, value=str(value), expected="1 to 40 characters"))
            texts[name] = value
        stamp = _STAMP.search(self.name)
        try:
            written = moment(datetime.strptime(stamp[1], "%Y%m%d%H%M%S").isoformat()).at if stamp else None
        except ValueError:
            written = None
        head = {
            "market": MARKET,
            "market_type": flux,
            "sender": SENDER,
            "receiver": texts["idDestinataire"],
            "sender_role": "grid-operator",
            "receiver_role": "supplier",
            "request_reference": texts["idDemande"],
        }
        return Order(flux, head, written)

    def _transaction(self, piece: Any, order: Order) -> Transaction:
        reader = self.readers[order.flux]
        self.position += 1
        notes: Notes = []
        messages: list[KernelMessage] = []
        refusals: tuple[Refusal, ...] = ()
        # Equal content gives equal text; what no text can hold is written as an escape.
        text = repr(piece)
        reference = refer(piece)
        head = {**order.head, "reference": reference, "access_point": point_of(piece)}
        try:
            _whole(piece)
            messages = reader.digest(shaped(piece, reader.shape), order._replace(head=head), notes)
        except Unreadable as unreadable:
            refusals, messages = (unreadable.refusal,), []
        except FAULTS as fault:
            found = f"{type(fault).__name__}: {fault}"
            refusals, messages = (refusal("DIGEST_FAILED", path="mesures", value=found),), []
        messages.sort(key=lambda message: message.effective)
        return Transaction(
            position=self.position,
            type=order.flux,
            version=VERSION if not refusals else None,
            reference=reference,
            access_point=point_of(piece),
            sender=SENDER,
            identity=_identity(order, reference, text),
            messages=tuple(messages),
            refusals=refusals,
            notes=tuple(notes),
        )


def _identity(order: Order, reference: str, text: str) -> bytes:
    state = blake2b(digest_size=16)
    state.update(repr((MARKET, SENDER, order.flux, order.head["request_reference"], reference)).encode())
    state.update(text.encode())
    return state.digest()


def shaped(piece: Any, shape: type[Content]) -> Content:
    """A piece as the type that is its schema.

    Raises:
      Unreadable: it does not fit (SYN_MISSING, SYN_VALUE), with the place.
    """
    try:
        return msgspec.convert(piece, shape, strict=False)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at ")
        path = place.strip("`").replace("$", "mesures", 1).replace(".", "/") or "mesures"
        code = "SYN_MISSING" if "missing required field" in words else "SYN_VALUE"
        raise Unreadable(refusal(code, path=path, expected=words)) from None


def point_of(piece: Any) -> str | None:
    """The identifier of the point, however broken the piece is."""
    found = piece.get("idPrm") if isinstance(piece, dict) else None
    return found[:40].replace(_HALF, "?") or None if isinstance(found, str) else None


def refer(piece: Any) -> str:
    """``PRM:first day..last day`` of the period asked for, however broken the piece is."""
    period = piece.get("periode") if isinstance(piece, dict) else None
    period = period if isinstance(period, dict) else {}
    days = [str(period.get(name) or "-")[:10].replace(_HALF, "?") for name in ("dateDebut", "dateFin")]
    return f"{point_of(piece) or '-'}:{days[0]}..{days[1]}"


def _whole(piece: Any, path: str = "mesures") -> None:
    """Make sure that all texts of a piece can be written.

    Raises:
      Unreadable: one holds half a character, which JSON can say and no encoding can write (SYN_VALUE).
    """
    if isinstance(piece, str):
        if _HALF in piece:
            raise Unreadable(refusal("SYN_VALUE", path=path, value=ascii(piece), expected="characters of Unicode"))
    elif isinstance(piece, list):
        for item in piece:
            _whole(item, path)
    elif isinstance(piece, dict):
        for key, item in piece.items():
            _whole(key, path)
            _whole(item, f"{path}/{key}")


def types(readers: Sequence[Reader]) -> dict[str, DocumentType]:
    """The row of the table of types."""
    about = "indexes (R64) and energies (R67) on demand; one CH message per point"
    return {LABEL: DocumentType(LABEL, "json", "header,mesures", (VERSION,), about)}
