"""Dutch fixtures and what is read of them."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, TypeVar

from adapters.common.conformance.subject import Read, read
from adapters.nl_edsn import adapter
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Address, Register
from energycomm.market.contract import Transaction
from tests.adapters.subjects import FIXTURES

US, EDSN, GRID, OTHER, BRP = "8719999100104", "8712423010208", "8719999100401", "8719999100203", "8719999100302"
POINT, GAS_POINT, THIRD, FOURTH = (
    "871999910000000010",
    "871999910000000027",
    "871999910000000034",
    "871999910000000041",
)

HEAD: dict[str, Any] = {
    "market": "NL",
    "market_type": "request",
    "reference": "back-office-1",
    "created": datetime.fromisoformat("2026-01-12T14:00:00+01:00"),
    "effective": datetime.fromisoformat("2026-02-01T00:00:00+01:00"),
    "access_point": POINT,
    "sender": US,
    "sender_role": "supplier",
    "receiver": EDSN,
    "grid_operator": GRID,
}
ADDRESS = Address(street="Voorbeeldkade", number="12", postal_code="9999 AB", city="Testdorp", country="NL")
GAINING: dict[str, Any] = {
    "requested_date": date(2026, 2, 1),
    "surname": "Voorbeeld",
    "first_name": "T.",
    "birth_date": date(1980, 1, 31),
    "address": ADDRESS,
    "supplier": US,
    "balance_responsible": BRP,
}

REQUESTS: dict[str, dict[str, Any]] = {
    "MoveInRequest": {**GAINING, "company_id": "90000013"},
    "SupplierSwitchRequest": GAINING,
    "MoveOutRequest": {"requested_date": date(2026, 3, 1)},
    "EndOfSupplyRequest": {"requested_date": date(2026, 3, 1)},
    "MasterDataUpdate": {"surname": "Voorbeeld", "name_prefix": "van"},
    "EndOfSupplyNotice": {"requested_date": date(2026, 4, 30), "surname": "Voorbeeld", "email": "t@example.org"},
    "MeterReadingSubmission": {
        "requested_date": date(2026, 2, 1),
        "reason": "supplier-switch",
        "nature": "self-read",
        "meter": "E0041005514782119",
        "request_reference": "70020001",
        "registers": (
            Register(grid="distributor", time_class="L", value=10101, unit="kWh", digits=6),
            Register(grid="distributor", time_class="N", value=880, unit="kWh", digits=6, direction="production"),
        ),
    },
    "SearchRequest": {"access_point": None, "address": ADDRESS},
    "MasterDataRequest": {"market_type": "MasterDataRequest"},
    "ContractDataRequest": {"birth_key": "04-17", "iban_key": "482"},
    "MeteredDataRequest": {"receiver": GRID, "measure": "index", "start": date(2026, 1, 11), "resolution": "day"},
}
"""A good request of every kind that is built."""

M = TypeVar("M", bound=KernelMessage)


def fixture(name: str) -> bytes:
    """The bytes of a fixture."""
    return (FIXTURES / "nl" / name).read_bytes()


def digested(content: bytes | str, name: str = "member.xml") -> Read:
    """What the adapter makes of a member; of a fixture where a name is given."""
    return read(adapter, fixture(content) if isinstance(content, str) else content, name)


def transactions(content: bytes | str) -> list[Transaction]:
    """The CH messages of a member, none refused."""
    found = digested(content)
    assert found.refusal is None
    assert [transaction.refusals for transaction in found.transactions] == [()] * len(found.transactions)
    return found.transactions


def only(transaction: Transaction, kind: type[M]) -> M:
    """The only Kernel message of a kind in a CH message."""
    (found,) = [message for message in transaction.messages if isinstance(message, kind)]
    return found


def every(transaction: Transaction, kind: type[M]) -> list[M]:
    """The Kernel messages of a kind in a CH message."""
    return [message for message in transaction.messages if isinstance(message, kind)]


def without_reading(content: bytes, number: int) -> bytes:
    """A member without one of its P4 readings."""
    found = list(re.finditer(rb"\s*<P4Reading>.*?</P4Reading>", content, re.DOTALL))[number]
    return content[: found.start()] + content[found.end() :]


def request(kind: str, **changes: Any) -> KernelMessage:
    """A good request with changes."""
    return KINDS[kind](**{**HEAD, **REQUESTS[kind], **changes})
