"""Dutch and Belgian messages for the tests of scripts, as their markets write them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from energycomm.kernel.messages import (
    AccessPointData,
    EndOfSupply,
    KernelMessage,
    MeasureSeries,
    MeterReading,
    StartOfSupply,
)
from energycomm.kernel.parts import Address, Position, Register

WINTER = timezone(timedelta(hours=1))


def with_check_digit(body: str) -> str:
    """A GS1 number of its figures without the check digit."""
    weighted = sum(int(figure) * (1 if place % 2 else 3) for place, figure in enumerate(reversed(body)))
    return body + str(-weighted % 10)


SUPPLIER, BALANCE, GRID = (with_check_digit(f"8719999{number}") for number in ("10010", "10030", "30000"))
EDSN = "8712423010208"

DUTCH = with_check_digit("87199990000000123")
BELGIAN = with_check_digit("54144001000000123")


def at(day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    """An instant of January 2026 in Amsterdam and Brussels."""
    return datetime(2026, 1, day, hour, minute, second, tzinfo=WINTER)


def dutch(kind: type[KernelMessage], when: datetime, market_type: str, **more: Any) -> KernelMessage:
    """A message of the register."""
    fields: dict[str, Any] = {
        "market": "NL",
        "market_type": market_type,
        "reference": f"{market_type} {when.isoformat()} {more.get('access_point', DUTCH)}",
        "created": when + timedelta(days=1, hours=5),
        "effective": when,
        "access_point": DUTCH,
        "sender": EDSN,
        "receiver": SUPPLIER,
        "sender_role": "clearing-house",
        "receiver_role": "supplier",
        "grid_operator": GRID,
    }
    return kind(**fields | more)


def gain(when: datetime, **more: Any) -> KernelMessage:
    """The point comes to us."""
    fields: dict[str, Any] = {
        "market_reason": "MOVEIN",
        "reason": "move-in",
        "supplier": SUPPLIER,
        "balance_responsible": BALANCE,
        "request_reference": "70000010001",
    }
    return dutch(StartOfSupply, when, "GainResultResponse", **fields | more)


def loss(when: datetime) -> KernelMessage:
    """The point leaves us."""
    fields: dict[str, Any] = {
        "market_reason": "MOVEOUT",
        "reason": "move-out",
        "request_reference": "70000010002",
        "new_supplier": with_check_digit("871999990099"),
    }
    return dutch(EndOfSupply, when, "LossResultResponse", **fields)


def quarters(when: datetime, first: int = 1, count: int = 96, **more: Any) -> KernelMessage:
    """A day of quarters, numbered from `first` on."""
    positions = tuple(Position(position=first + n, value=Decimal(100)) for n in range(count))
    fields: dict[str, Any] = {
        "sender": GRID,
        "sender_role": "grid-operator",
        "market_reason": "INTERVAL",
        "end": when + timedelta(days=1),
        "resolution": 15,
        "unit": "Wh",
        "product": "active-energy",
        "direction": "consumption",
        "positions": positions,
    }
    return dutch(MeasureSeries, when, "P4CollectedDataBatchResultResponse", **fields | more)


def index(when: datetime, value: int, **more: Any) -> KernelMessage:
    """The index of a day."""
    register = Register(grid="supplier", time_class="L", value=value, unit="kWh")
    fields: dict[str, Any] = {
        "sender": GRID,
        "sender_role": "grid-operator",
        "market_reason": "DAY",
        "qualification": "periodic",
        "nature": "read",
        "meter": "E0000000000000001",
        "registers": (register,),
    }
    return dutch(MeterReading, when, "P4CollectedDataBatchResultResponse", **fields | more)


def address(when: datetime, postal_code: str) -> KernelMessage:
    """The data of the point with its address."""
    where = Address(street="Voorbeeldweg", number="1", postal_code=postal_code, city="Voorbeeld", country="NL")
    fields: dict[str, Any] = {"market_reason": "CONNUPD", "direction": "consumption", "address": where}
    return dutch(AccessPointData, when, "MasterDataUpdateResponse", **fields)


def belgian(kind: type[KernelMessage], when: datetime, market_type: str, **more: Any) -> KernelMessage:
    """A message of the Belgian market."""
    fields: dict[str, Any] = {
        "market": "BE",
        "market_type": market_type,
        "reference": f"{market_type}-{when.isoformat()}",
        "created": when - timedelta(days=3),
        "effective": when,
        "access_point": BELGIAN,
        "sender": with_check_digit("541440001000"),
        "receiver": with_check_digit("541440001001"),
        "sender_role": "clearing-house",
        "receiver_role": "supplier",
        "grid_operator": with_check_digit("541440001002"),
    }
    return kind(**fields | more)


def access(when: datetime) -> KernelMessage:
    """An access begins."""
    parties = {"supplier": with_check_digit("541440001001"), "balance_responsible": with_check_digit("541440001003")}
    return belgian(StartOfSupply, when, "StartOfAccess", market_reason="E65", reason="move-in", **parties)


def terminated(when: datetime) -> KernelMessage:
    """An access ends."""
    return belgian(EndOfSupply, when, "StopOfAccess", market_reason="E66", reason="move-out")


def voltage(when: datetime) -> KernelMessage:
    """New data of the point."""
    return belgian(AccessPointData, when, "MasterData", market_reason="E32", reason="master-data-change", phases=3)
