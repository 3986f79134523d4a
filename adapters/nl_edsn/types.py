"""The one table of what this adapter reads: which envelope in which namespaces, which element is a CH message, which
digester reads it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from adapters.common.outcome import Digester
from adapters.common.schemas import Schema
from adapters.nl_edsn import answers, collected, exchange, files, notices, perimeter, points
from adapters.nl_edsn.header import Context
from energycomm.market.contract import DocumentType

SOAP_NAMESPACES = ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope")
SOAP = "SOAP"

FOLDER = Path(__file__).parent / "schemas"

_PORTAAL = Schema(FOLDER / "portaal.xsd")
_P4 = Schema(FOLDER / "p4.xsd")
_FILES = Schema(FOLDER / "files.xsd")


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


def service(name: str, number: int = 1) -> str:
    """The namespace of a message of the file service."""
    return f"urn:nl:edsn:service:{name.lower()}:env:{number}"


NEW_FAMILY = {"SearchMeteringPoints": 2, "GetMeteringPoint": 3}
"""Service -> the first number of its answers, and of its requests, in the new family; the requests of the second begin
with 2."""


def namespace(name: str, version: str) -> str:
    """The namespace of a message in a version: its family and its number follow from both.

    Args:
      name: the market's message type.
      version: 1.2, or the number alone.
    """
    number = int(version.partition(".")[0])
    if name.startswith(("FileList", "FileUpload")):
        return service(name, number)
    first = next((first for known, first in NEW_FAMILY.items() if name.startswith(known)), None)
    if first is not None and number >= (2 if name.endswith("Request") else first):
        return cmf(name, number)
    return nedu(name, number)


P4_CONTENT, CONTENT, CAR_CONTENT = ("P4Content",), ("Portaal_Content",), ("CAR_Content",)
P4_POINT, POINT = (*P4_CONTENT, "P4MeteringPoint"), (*CONTENT, "Portaal_MeteringPoint")
REJECTION = (*CONTENT, "Portaal_Rejection")


def _row(
    label: str,
    piece: tuple[str, ...],
    digester: Digester[Context],
    about: str,
    versions: tuple[str, ...] = ("1.0",),
    schema: Schema = _PORTAAL,
) -> Row:
    """A row whose namespaces bear the numbers of the versions."""
    namespaces = tuple(namespace(label, version) for version in versions)
    pieces = (CONTENT, CAR_CONTENT) if any(label.startswith(one) for one in NEW_FAMILY) else (piece,)
    return Row(label, namespaces, versions, pieces, schema, digester, f"{about}; one CH message")


def _list(label: str, digester: Digester[Context], about: str, versions: tuple[str, ...] = ("1.0",)) -> Row:
    row = _row(label, REJECTION if digester is answers.REJECTED else POINT, digester, about, versions)
    return row._replace(about=f"{row.about} per point")


ROWS: tuple[Row, ...] = (
    _row(
        "P4CollectedDataBatchResultResponse",
        P4_POINT,
        collected.DIGESTER,
        "smart-meter data by day, interval or month of one query",
        ("2.0",),
        _P4,
    ),
    _row(
        "P4CollectedDataBatchResponse",
        P4_CONTENT,
        answers.REQUEST,
        "whether the P4 portal took our queries",
        ("2.0",),
        _P4,
    ),
    _row("SearchMeteringPointsResponse", CONTENT, answers.SEARCH, "points that a search found", ("1.7", "2.1")),
    _row("ContractDataResponse", CONTENT, answers.CONTRACT, "end and notice of a contract (CER)", ("1.2",)),
    _row("MasterDataResponse", CONTENT, answers.MASTER_DATA, "master data of a point that we asked for", ("1", "2.1")),
    _row(
        "GetSCMPInformationResponse",
        CONTENT,
        answers.MASTER_DATA,
        "what the register tells of a point to who does not supply it",
        ("2.1",),
    ),
    _row(
        "GetMeteringPointResponse",
        CONTENT,
        answers.MASTER_DATA,
        "all that the register holds of a point",
        ("2.1", "3.1"),
    ),
    _list("MasterDataUpdateResponse", points.UPDATE, "list of mutations of points", ("1", "2.1")),
    _list("UpdateResultResponse", points.UPDATE, "list of mutations that were asked for"),
    _list("MasterDataGainResponse", points.UPDATE, "list of points just won, with their least master data", ("1.1",)),
    _list("GainResultResponse", perimeter.GAIN, "list of points gained"),
    _list("LossResultResponse", perimeter.LOSS, "list of points lost"),
    _list("RejectionResultResponse", answers.REJECTED, "list of requests that were rejected"),
    _list("MasterDataBatchRejectionResponse", answers.REJECTED, "list of queries of a batch that were rejected"),
    _list("NoticeEOSResponse", notices.DIGESTER, "list of supplies that will end", ("1.3",)),
    _list("NoticeEOSNotification", notices.DIGESTER, "supplies that will end, as their supplier tells", ("1.3",)),
    _row("NoticeEOSAcknowledgement", CONTENT, answers.ACKNOWLEDGEMENT, "answer to a notice that supplies will end"),
    _list("MeterReadingExchangeResponse", exchange.DIGESTER, "established readings and volumes"),
    _row("MeterReadingExchangeAcknowledgement", CONTENT, answers.ACKNOWLEDGEMENT, "answer to a reading that we told"),
    _list("RejectionMeterReadingResponse", answers.REJECTED, "list of readings that were rejected"),
    _row("MoveInResponse", CONTENT, answers.REQUEST, "answer to a move in"),
    _row("MoveOutResponse", CONTENT, answers.REQUEST, "answer to a move out"),
    _row("ChangeOfSupplierResponse", CONTENT, answers.REQUEST, "answer to a change of supplier"),
    _row("EndOfSupplyResponse", CONTENT, answers.REQUEST, "answer to an end of supply"),
    _row("ChangeOfPVResponse", CONTENT, answers.REQUEST, "answer to a change of balance responsible party"),
    _row("NameChangeResponse", CONTENT, answers.REQUEST, "answer to a change of name", ("1.1",)),
    *(
        _row(f"{name}BatchResponse", CONTENT, answers.REQUEST, "whether a batch was taken; its outcome is polled")
        for name in ("MoveIn", "MoveOut", "ChangeOfSupplier", "EndOfSupply", "ChangeOfPV", "MasterData")
    ),
    *(
        _row(f"File{name}", (content,), files.DIGESTER, about, (version,), _FILES)
        for name, content, about, version in (
            ("ExchangeResponse", "Portaal_Content", "files that wait for us", "1.4"),
            ("ExchangeAcknowledgement", "Portaal_Content", "whether a file was taken", "1.1"),
            ("ExchangeResultResponse", "Portaal_Content", "what became of our files", "1.1"),
            ("ExchangeSignOffAcknowledgement", "Portaal_Content", "whether a file was signed off", "1.1"),
            ("ListResponse", "FileListResponseContent", "list of files", "1.0"),
            ("UploadAcknowledgement", "FileUploadAcknowledgementContent", "whether a file was uploaded", "1.0"),
        )
    ),
)
"""Every row, in the order of the documentation."""

BY_LABEL: dict[str, Row] = {row.label: row for row in ROWS}


def types_of(rows: Iterable[Row]) -> dict[str, DocumentType]:
    """The visible table of what is read."""
    return {row.label: DocumentType(row.label, "xml", row.root, row.versions, row.about) for row in rows} | {
        SOAP: DocumentType(
            SOAP,
            "xml",
            "Envelope",
            ("1.1", "1.2"),
            "any of these in a SOAP envelope, or a SOAP fault; as the channel got it",
        )
    }


SENT_ENDS = ("RequestEnvelope", "NotificationEnvelope", "QueryEnvelope")
"""Ends of the roots that parties send to EDSN."""

OF_OPERATORS = ("CreateMeteringPoint",)
"""Services that only grid operators use."""

PREFIXES = ("urn:nedu:edsn:", "urn:cmf:edsn:", "urn:edsn:edsn:", "urn:nl:edsn:")
"""Beginnings of EDSN's namespaces: what bears one of them is ours, read or not."""
