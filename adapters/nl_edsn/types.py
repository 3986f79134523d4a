"""The one table of what this adapter reads: which envelope in which namespaces, which element is a CH message, which
digester reads it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from adapters.common.outcome import Digester
from adapters.common.schemas import Schema
from adapters.nl_edsn import answers, collected, exchange, perimeter, points
from adapters.nl_edsn.header import Context
from energycomm.market.contract import DocumentType

SOAP_NAMESPACES = ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope")
SOAP = "SOAP"

FOLDER = Path(__file__).parent / "schemas"

_PORTAAL = Schema(FOLDER / "portaal.xsd")
_P4 = Schema(FOLDER / "p4.xsd")


class Row(NamedTuple):
    """One row.

    Attributes:
      label: names the row and is the market's message type.
      namespaces: namespaces of the known versions, oldest first.
      versions: the versions of the schemas that these namespaces had when this adapter was written.
      piece: element that is one CH message.
      schema: our schema of the piece.
      digester: reads a piece.
      about: in words.
    """

    label: str
    namespaces: tuple[str, ...]
    versions: tuple[str, ...]
    piece: str
    schema: Schema
    digester: Digester[Context]
    about: str

    @property
    def root(self) -> str:
        """Root element of the business document."""
        return f"{self.label}Envelope"


def nedu(name: str, number: int = 1) -> str:
    """The namespace of a message of the old family."""
    return f"urn:nedu:edsn:data:{name.lower()}:{number}:standard"


def cmf(name: str, number: int = 2) -> str:
    """The namespace of a message of the new family (C-AR 2)."""
    return f"urn:cmf:edsn:data:{name.lower()}:{number}:standard"


def _row(label: str, piece: str, digester: Digester[Context], about: str, versions: tuple[str, ...] = ("1",)) -> Row:
    """A row whose namespaces bear the numbers of the versions."""
    namespaces = tuple(nedu(label, int(version[0])) for version in versions)
    return Row(label, namespaces, versions, piece, _P4 if piece.startswith("P4") else _PORTAAL, digester, about)


def _answer(label: str, about: str) -> Row:
    return _row(label, "Portaal_Content", answers.ANSWER, about)


ROWS: tuple[Row, ...] = (
    _row(
        "P4CollectedDataBatchResultResponse",
        "P4MeteringPoint",
        collected.DIGESTER,
        "smart-meter data by day, interval or month; one CH message per query",
        ("2.0",),
    ),
    _row(
        "P4CollectedDataBatchResponse",
        "P4Content",
        answers.ANSWER,
        "whether the P4 portal took our queries; one CH message",
        ("2.0",),
    ),
    Row(
        "SearchMeteringPointsResponse",
        (nedu("searchmeteringpointsresponse"), cmf("searchmeteringpointsresponse")),
        ("1.6", "2.1"),
        "Content",
        _PORTAAL,
        answers.SEARCH,
        "points that a search found; one CH message",
    ),
    _row(
        "ContractDataResponse",
        "Portaal_Content",
        answers.CONTRACT,
        "end and notice of a contract (CER); one CH message",
        ("1.2",),
    ),
    _row(
        "MasterDataResponse",
        "Portaal_Content",
        answers.MASTER_DATA,
        "master data of a point that we asked for; one CH message",
        ("1", "2.1"),
    ),
    _row(
        "MasterDataUpdateResponse",
        "Portaal_MeteringPoint",
        points.UPDATE,
        "list of mutations of points; one CH message per point",
        ("1", "2.1"),
    ),
    _row(
        "GainResultResponse",
        "Portaal_MeteringPoint",
        perimeter.GAIN,
        "list of points gained; one CH message per point",
    ),
    _row(
        "LossResultResponse",
        "Portaal_MeteringPoint",
        perimeter.LOSS,
        "list of points lost; one CH message per point",
    ),
    _row(
        "MeterReadingExchangeResponse",
        "Portaal_MeteringPoint",
        exchange.DIGESTER,
        "established readings and volumes; one CH message per point",
    ),
    _row(
        "MeterReadingExchangeAcknowledgement",
        "Portaal_Content",
        answers.ACKNOWLEDGEMENT,
        "answer to a reading that we told; one CH message",
    ),
    _answer("MoveInResponse", "answer to a move in; one CH message"),
    _answer("MoveOutResponse", "answer to a move out; one CH message"),
    _answer("ChangeOfSupplierResponse", "answer to a change of supplier; one CH message"),
    _answer("EndOfSupplyResponse", "answer to an end of supply; one CH message"),
)
"""Every row, in the order of the documentation."""

BY_LABEL: dict[str, Row] = {row.label: row for row in ROWS}
BY_ROOT: dict[str, Row] = {row.root: row for row in ROWS}

TYPES: dict[str, DocumentType] = {
    row.label: DocumentType(row.label, "xml", row.root, row.versions, row.about) for row in ROWS
} | {
    SOAP: DocumentType(
        SOAP,
        "xml",
        "Envelope",
        ("1.1", "1.2"),
        "any of these in a SOAP envelope, or a SOAP fault; as the channel got it",
    )
}

PREFIXES = ("urn:nedu:edsn:", "urn:cmf:edsn:", "urn:edsn:edsn:", "urn:nl:edsn:")
"""Beginnings of EDSN's namespaces: what bears one of them is ours, read or not."""


def contents(row: Row, namespace: str) -> str:
    """The element that is a CH message, in one of the row's namespaces: C-AR 2 has another name for the content."""
    if row.piece == "Content":
        return "CAR_Content" if namespace.startswith("urn:cmf:") else "Portaal_Content"
    return row.piece
