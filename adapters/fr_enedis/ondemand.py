"""Measures that Enedis sends in JSON and CSV (the R6X family): the walk through a member, which is the same for all.

One element of ``mesures`` (one point) is one CH message; of a CSV, all lines of a point. The header is short: it names
the flux and the order, but neither a sender, nor a version, nor the time at which it was written. A CSV has none: its
name tells the same.

* The sender is written ENEDIS.
* The time of writing is that of the file's name where it ends in a time stamp, else the end of the period told.
* The addressee is the contract (GRD-F...) or the company's number, not an EIC.
* idDemande is carried as the request's reference, so that a publication is found with the order that caused it; it
  enters identities. Windows of two orders may overlap: the same measure then comes in two CH messages.
* A file of mode P answers one order, ``periode`` is what was asked for. One of mode Q, H or M is a recurrent
  publication: its ``periode`` is when the values reached Enedis, and says nothing of what is missing.

Sources: Enedis.SGE.GUI.0503 (R6X) v1.5.2, JSON schemas 0510 to 0513, 0515, 0532 to 0534.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import chain
from typing import IO, Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from adapters.common import jsonform
from adapters.common.codes import Unreadable
from adapters.common.outcome import FAULTS, Notes
from adapters.common.particulars import kept
from adapters.fr_enedis import csvpieces, names
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import MARKET
from adapters.fr_enedis.times import instant_at
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import MOST_PARTICULARS
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import DocumentType, MemberHead, Transaction

SENDER = "ENEDIS"
LABEL, TABLE = "R6X", "R6X-CSV"
_MEASURES = ("mesures",)
VERSION = "1"
"""The header declares none: the only one known."""
MAX_PIECE = 48 << 20
"""Bytes that may be read for one point: two years in steps of five minutes, in both directions."""
_HALF = "\ufffe"
"""What half a character (\\ud800 alone) is read as: JSON can say it, and no encoding can write it."""
ONE_OFF = "P"
"""modePublication of a file that answers an order; Q, H and M are recurrent."""
Content = TypeVar("Content", bound=Struct)
Word = Annotated[str, Meta(min_length=1, max_length=64)]
Words = Annotated[str, Meta(max_length=400)]
Point = Annotated[str, Meta(min_length=1, max_length=40)]


class Order(NamedTuple):
    """What the header, or the name, says of a publication.

    Attributes:
      flux: R63, R64A, ...
      head: keyword arguments that every Kernel message starts with, without created.
      written: time stamp of the file's name.
      recurrent: it is a publication that comes again and again, not the answer to an order.
      publication: identifier of the recurrent publication.
    """

    flux: str
    head: dict[str, Any]
    written: datetime | None
    recurrent: bool = False
    publication: str | None = None

    def created(self, until: str) -> datetime:
        """When the file was written: as its name says, else the end of the period told."""
        return self.written or instant(until, "periode/dateFin")

    def member_head(self) -> MemberHead:
        """The head of the member."""
        order = None if self.recurrent else self.head["request_reference"]
        return MemberHead(type=self.flux, version=VERSION, sender=SENDER, receiver=self.head["receiver"], request=order)


class Reader(NamedTuple):
    """What reads the pieces of one family of fluxes.

    Attributes:
      fluxes: their codes; the first is that of a CSV whose name tells none.
      shape: the type of a piece: its schema.
      digest: Kernel messages of a piece; the order's head then bears its reference and point.
      columns: of its CSV: plain label -> path of the JSON leaf.
      needed: labels that tell the family, and without which it cannot be read.
      about: in words.
    """

    fluxes: tuple[str, ...]
    shape: Any
    digest: Callable[[Any, Order, Notes], list[KernelMessage]]
    columns: Mapping[str, str]
    needed: tuple[str, ...]
    about: str


def instant(written: str, path: str) -> datetime:
    """A naive date-time or a day as an instant in Paris.

    Raises:
      Unreadable: no date-time in 1900 to 2199 (SYN_VALUE).
    """
    return instant_at(written, path, or_day=True).at


class Walk:
    """The walk through one member.

    Args:
      readers: by flux.
      name: file name of the member.
      table: it is a CSV.
    """

    def __init__(self, readers: Mapping[str, Reader], name: str, *, table: bool = False) -> None:
        self.readers, self.name, self.table = readers, name, table
        self.position = 0
        self.order: Order | None = None

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; raises `Unreadable` where the member ends badly."""
        told = False
        waiting: list[Any] = []
        held = 0
        for path, found in self._rows(content) if self.table else jsonform.split(content, [_MEASURES], MAX_PIECE):
            if path == ("header",):
                self.order = self._order(found)
                if not told:
                    told = True
                    yield self.order.member_head()
                for piece in waiting:
                    yield self._transaction(piece, self.order)
                waiting.clear()
            elif path == _MEASURES and self.order is None:
                # Members of JSON have no order: measures wait for a header behind them, as long as memory allows.
                waiting.append(found)
                held += len(repr(found))
                if held > MAX_PIECE:
                    expected = f"the header before {MAX_PIECE >> 20} MB of measures"
                    raise Unreadable(refusal("HEADER_MISSING", path="header", expected=expected))
            elif path == _MEASURES and self.order is not None:
                yield self._transaction(found, self.order)
        if self.order is None:
            raise Unreadable(refusal("HEADER_MISSING", path="header", expected="header"))

    def _rows(self, content: IO[bytes]) -> Iterator[jsonform.Part]:
        """The parts of a CSV as those of the JSON: a header of what the name tells, then the points."""
        lines = csvpieces.Lines(content)
        readers = [reader for flux, reader in self.readers.items() if flux == reader.fluxes[0]]
        named = names.tokens(self.name)
        reader = self.readers.get(named.get("flux", "")) or next(
            (one for one in readers if lines.labels >= set(one.needed)), None
        )
        if reader is None:
            wanted = "; or ".join(", ".join(one.needed) for one in readers)
            raise Unreadable(refusal("CSV_COLUMNS", value=", ".join(sorted(lines.labels))[:200], expected=wanted))
        yield (
            ("header",),
            {
                "codeFlux": named.get("flux", reader.fluxes[0]),
                "idDemande": named.get("order"),
                "idDestinataire": named.get("contract"),
                "modePublication": named.get("mode", ONE_OFF),
            },
        )
        for piece in csvpieces.pieces(lines, reader.columns, reader.needed):
            yield _MEASURES, piece

    def _order(self, header: Any) -> Order:
        fields = header if isinstance(header, dict) else {}
        flux = fields.get("codeFlux")
        if not isinstance(flux, str) or flux.upper() not in self.readers:
            known = ", ".join(sorted(self.readers))
            code = "TYPE_UNKNOWN" if isinstance(flux, str) else "HEADER_INVALID"
            raise Unreadable(
                refusal(code, path="header/codeFlux", value=None if flux is None else str(flux), expected=known)
            )
        flux = flux.upper()
        texts: dict[str, str | None] = {}
        for name in ("idDemande", "idDestinataire", "idPublication"):
            value = fields.get(name)
            if value is not None and (type(value) is not str or not 0 < len(value) <= 40 or _HALF in value):
                path = f"header/{name}"
                raise Unreadable(refusal("HEADER_INVALID", path=path, value=str(value), expected="1 to 40 characters"))
            texts[name] = value
        head = {
            "market": MARKET,
            "market_type": flux,
            "sender": SENDER,
            "receiver": texts["idDestinataire"],
            "sender_role": "grid-operator",
            "receiver_role": "supplier",
            "request_reference": texts["idDemande"],
        }
        recurrent = flux[-1] in "ABX" or str(fields.get("modePublication") or ONE_OFF).upper() != ONE_OFF
        return Order(flux, head, names.written(self.name), recurrent, texts["idPublication"])

    def _transaction(self, piece: Any, order: Order) -> Transaction:
        reader = self.readers[order.flux]
        self.position += 1
        notes: Notes = []
        messages: list[KernelMessage] = []
        refusals: tuple[Refusal, ...] = ()
        # Equal content gives equal text; what no text can hold is written as an escape.
        text = repr(piece)
        reference = self.refer(piece, order)
        head = {**order.head, "reference": reference, "access_point": point_of(piece)}
        head["reason"] = "periodic" if order.recurrent else "on-demand"
        try:
            _whole(piece)
            csvpieces.whole_point(point_of(piece), "mesures/idPrm")
            messages = reader.digest(shaped(piece, reader.shape), order._replace(head=head), notes)
            messages = [_published(message, order) for message in messages]
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
            identity=identity_of(order.flux, order.head["request_reference"], reference, text),
            messages=tuple(messages),
            refusals=refusals,
            notes=tuple(dict.fromkeys(notes)),
        )

    def refer(self, piece: Any, order: Order) -> str:
        """The reference of a piece, however broken it is."""
        return refer(piece)


def _published(message: KernelMessage, order: Order) -> KernelMessage:
    """The message with the publication it came by."""
    if order.publication is None or len(message.particulars) >= MOST_PARTICULARS:
        return message
    made, _ = kept([("idPublication", order.publication)])
    return structs.replace(message, particulars=(*message.particulars, *made))


def identity_of(flux: str, order: str | None, reference: str, text: str) -> bytes:
    """The identity of a CH message, of its flux, its order, its reference and its content as text."""
    state = blake2b(digest_size=16)
    state.update(repr((MARKET, SENDER, flux, order, reference)).encode())
    state.update(text.encode("utf-8", "surrogatepass"))
    return state.digest()


def shaped(piece: Any, shape: type[Content]) -> Content:
    """A piece as the type that is its schema. Null and empty text say no more than an element that is not there.

    Raises:
      Unreadable: it does not fit (SYN_MISSING, SYN_VALUE), with the place.
    """
    try:
        return msgspec.convert(piece, shape, strict=False)
    except msgspec.ValidationError:
        pass  # most pieces are right as they are: only the others are gone through
    try:
        return msgspec.convert(_said(piece), shape, strict=False)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at ")
        path = place.strip("`").replace("$", "mesures", 1).replace(".", "/") or "mesures"
        code = "SYN_MISSING" if "missing required field" in words else "SYN_VALUE"
        raise Unreadable(refusal(code, path=path, expected=words)) from None


def _said(piece: Any) -> Any:
    """A piece without its nulls and empty texts."""
    if isinstance(piece, list):
        return [_said(item) for item in piece if item is not None]
    if isinstance(piece, dict):
        return {name: _said(item) for name, item in piece.items() if item is not None and item != ""}
    return piece


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
    """The rows of the table of types."""
    about = "; ".join(f"{', '.join(reader.fluxes)} {reader.about}" for reader in readers) + "; one CH message per point"
    columns = csvpieces.SEPARATOR.join(dict.fromkeys(chain.from_iterable(reader.needed for reader in readers)))
    return {
        LABEL: DocumentType(LABEL, "json", "header,mesures", (VERSION,), about),
        TABLE: DocumentType(TABLE, "other", columns, (VERSION,), about),
    }
