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
      pieces: paths below the root of the elements that are one CH message each.
      schema: our schema of them.
      digester: reads a piece.
      about: in words.
    """

    label: str
    namespaces: tuple[str, ...]
    versions: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
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


P4_CONTENT, CONTENT, CAR_CONTENT = ("P4Content",), ("Portaal_Content",), ("CAR_Content",)
P4_POINT, POINT = (*P4_CONTENT, "P4MeteringPoint"), (*CONTENT, "Portaal_MeteringPoint")


def _row(
    label: str, piece: tuple[str, ...], digester: Digester[Context], about: str, versions: tuple[str, ...] = ("1",)
) -> Row:
    """A row whose namespaces bear the numbers of the versions."""
    namespaces = tuple(nedu(label, int(version[0])) for version in versions)
    schema = _P4 if piece[0] == "P4Content" else _PORTAAL
    return Row(label, namespaces, versions, (piece,), schema, digester, f"{about}; one CH message")


def _list(label: str, digester: Digester[Context], about: str, versions: tuple[str, ...] = ("1",)) -> Row:
    row = _row(label, POINT, digester, about, versions)
    return row._replace(about=f"{row.about} per point")


ROWS: tuple[Row, ...] = (
    _row(
        "P4CollectedDataBatchResultResponse",
        P4_POINT,
        collected.DIGESTER,
        "smart-meter data by day, interval or month of one query",
        ("2.0",),
    ),
    _row(
        "P4CollectedDataBatchResponse", P4_CONTENT, answers.REQUEST, "whether the P4 portal took our queries", ("2.0",)
    ),
    Row(
        "SearchMeteringPointsResponse",
        (nedu("searchmeteringpointsresponse"), cmf("searchmeteringpointsresponse")),
        ("1.6", "2.1"),
        (CONTENT, CAR_CONTENT),
        _PORTAAL,
        answers.SEARCH,
        "points that a search found; one CH message",
    ),
    _row("ContractDataResponse", CONTENT, answers.CONTRACT, "end and notice of a contract (CER)", ("1.2",)),
    _row(
        "MasterDataResponse",
        CONTENT,
        answers.MASTER_DATA,
        "master data of a point that we asked for",
        ("1", "2.1"),
    ),
    _list("MasterDataUpdateResponse", points.UPDATE, "list of mutations of points", ("1", "2.1")),
    _list("GainResultResponse", perimeter.GAIN, "list of points gained"),
    _list("LossResultResponse", perimeter.LOSS, "list of points lost"),
    _list("MeterReadingExchangeResponse", exchange.DIGESTER, "established readings and volumes"),
    _row("MeterReadingExchangeAcknowledgement", CONTENT, answers.ACKNOWLEDGEMENT, "answer to a reading that we told"),
    _row("MoveInResponse", CONTENT, answers.REQUEST, "answer to a move in"),
    _row("MoveOutResponse", CONTENT, answers.REQUEST, "answer to a move out"),
    _row("ChangeOfSupplierResponse", CONTENT, answers.REQUEST, "answer to a change of supplier"),
    _row("EndOfSupplyResponse", CONTENT, answers.REQUEST, "answer to an end of supply"),
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
