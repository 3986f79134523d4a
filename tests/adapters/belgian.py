"""What the tests of the Belgian adapter share: its fixtures, and requests that are whole."""

from __future__ import annotations

import io
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from adapters.be_atrias import adapter
from adapters.be_atrias.mapping import every, namespace_of, piece_of, table
from adapters.common.conformance.subject import Read, read
from adapters.common.pieces import Reading, Values
from adapters.common.table import Document
from adapters.common.views import XML
from energycomm.kernel import safexml
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Register
from energycomm.kernel.verdicts import Refusal
from tests.adapters.subjects import FIXTURES

FOLDER = FIXTURES / "be"
MARKET, SUPPLIER, BALANCE, OTHER = "5419999000017", "5419999000024", "5419999000048", "5419999000055"
POINT = "541449000000001017"
REFERENCE = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


def content(name: str) -> bytes:
    """The bytes of a fixture."""
    return (FOLDER / name).read_bytes()


def digested(text: bytes, label: str | None = None) -> Read:
    """What the adapter makes of a member."""
    return read(adapter, text, label=label)


def messages(name: str) -> list[KernelMessage]:
    """Every Kernel message of a fixture."""
    return [message for transaction in digested(content(name)).transactions for message in transaction.messages]


def stream(text: bytes | str) -> io.BytesIO:
    """A stream of a text."""
    return io.BytesIO(text.encode("latin-1") if isinstance(text, str) else text)


HEAD: dict[str, Any] = {
    "market": "BE",
    "market_type": "Request",
    "reference": "R-1",
    "created": datetime.fromisoformat("2026-02-01T10:00:00+01:00"),
    "effective": datetime.fromisoformat("2026-03-01T00:00:00+01:00"),
    "access_point": POINT,
    "sender": SUPPLIER,
    "receiver": MARKET,
    "sender_role": "supplier",
    "receiver_role": "clearing-house",
    "requested_date": date(2026, 3, 1),
}
CUSTOMER: dict[str, Any] = {
    "category": "professional",
    "company": "EXEMPLE SA",
    "company_id": "0123456749",
    "balance_responsible": BALANCE,
    "supplier": SUPPLIER,
    "subscribed_power": Decimal("9.2"),
    "consent": True,
}
OWN: dict[str, dict[str, Any]] = {
    "SupplierSwitchRequest": CUSTOMER,
    "MoveInRequest": CUSTOMER,
    "CombinedSwitchRequest": CUSTOMER,
    "MoveOutRequest": {},
    "EndOfSupplyRequest": {"cause": "UNPAID"},
    "CancellationRequest": {"correlation": "R-0", "cancelled_kind": "MoveInRequest"},
    "ContractChangeRequest": {"tariff": "LS_HILO", "calendar": "HILO"},
    "MasterDataRequest": {"consent": True},
    "MasterDataUpdate": {"category": "residential", "surname": "VOORBEELD"},
    "MeteredDataRequest": {"measure": "curve", "start": date(2026, 1, 1), "end": date(2026, 1, 31), "consent": True},
    "MeterReadingSubmission": {
        "effective": datetime.fromisoformat("2026-01-31T00:00:00+01:00"),
        "requested_date": None,
        "nature": "self-read",
        "registers": (Register(grid="distributor", time_class="HI", value=10_500, unit="kWh", digits=6),),
    },
}
"""What a request of each kind says besides the head."""


def request(kind: str, **changes: Any) -> KernelMessage:
    """A request that is whole, with changes."""
    return KINDS[kind](**{**HEAD, **OWN[kind], **changes})


class ReadBack(NamedTuple):
    """A document as whoever receives it reads it: values of its header and pieces, and what is wrong with it."""

    document: Document
    head: Values
    pieces: list[Values]
    refusals: list[Refusal]


def read_back(content: bytes) -> ReadBack:
    """Read any document of the mapping table whole, also those that we send."""
    root = safexml.parse_bytes(content)
    assert not isinstance(root, Refusal)
    space, _, name = str(root.tag).rpartition("}")
    document = next(row for row in every(table()).values() if row.root == name)
    assert space[1:] == namespace_of(document)
    head, node, pieces, refusals = Reading(table(), XML), piece_of(document).node, [], []
    for element in root:
        tag = str(element.tag).rpartition("}")[2]
        if tag == node.tag:
            reading = Reading(table(), XML)
            reading.walk(element, node)
            pieces.append(reading.values)
            refusals += reading.refusals
        elif tag in document.head.children:
            head.take(tag, element, document.head, document.head.tag)
    return ReadBack(document, head.values, pieces, [*head.refusals, *refusals])
