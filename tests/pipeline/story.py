"""A short life of an access point as CH messages, to be delivered in any order."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    StartOfSupply,
)
from energycomm.kernel.parts import Register
from energycomm.kernel.vocabulary import Function
from energycomm.market.contract import Transaction

PARIS_WINTER = timezone(timedelta(hours=1))
BEGIN = datetime(2026, 1, 5, tzinfo=PARIS_WINTER)


def day(number: int) -> datetime:
    """Midnight of the n-th day of the story."""
    return BEGIN + timedelta(days=number)


def head(prm: str, at: datetime, flow: str, reason: str | None, reference: str) -> dict[str, Any]:
    """The head of a message of the story."""
    return {
        "market": "FR",
        "market_type": flow,
        "market_reason": reason,
        "reference": f"{prm}:{reference}",
        "created": at + timedelta(days=1, hours=5),
        "effective": at,
        "access_point": prm,
        "sender": "17X000000000FR1A",
        "receiver": "17X000000000EC1B",
        "sender_role": "grid-operator",
    }


def transaction(messages: list[KernelMessage]) -> Transaction:
    """The messages as one CH message."""
    first = messages[0]
    return Transaction(
        position=1,
        type=first.market_type,
        version="1",
        reference=first.reference,
        access_point=first.access_point,
        sender=first.sender,
        identity=hashlib.blake2b(repr(messages).encode(), digest_size=16).digest(),
        messages=tuple(messages),
    )


def start(prm: str, at: datetime, contract: str = "123456789") -> Transaction:
    """An entry into our perimeter with its master data."""
    common = head(prm, at, "C15", "MES", f"{contract}:MES:{at.isoformat()}") | {"contract_reference": contract}
    return transaction(
        [
            StartOfSupply(
                **common,
                reason="move-in",
                supplier="17X000000000EC1B",
                balance_responsible="17X000000000EC1B",
                contract_start=at.date(),
            ),
            AccessPointData(**common, reason="move-in", segment="C5", connection_status="connected", phases=1),
            ContractTerms(
                **common,
                reason="move-in",
                contract_status="in-service",
                contract_start=at.date(),
                sequence=1,
                sequence_start=at.date(),
                tariff="BTINFCU4",
                subscribed_power=Decimal("6"),
                power_unit="kVA",
                calendar="DI000001",
                contract_kind="GRD-F",
            ),
            MeterData(**common, reason="move-in", action="present", meter="13451014311879", meter_type="CCB"),
        ]
    )


def end(prm: str, at: datetime, contract: str = "123456789") -> Transaction:
    """An exit from our perimeter."""
    common = head(prm, at, "C15", "RES", f"{contract}:RES:{at.isoformat()}") | {"contract_reference": contract}
    return transaction([EndOfSupply(**common, reason="termination", contract_end=at, contract_status="terminated")])


def reading(
    prm: str, at: datetime, wh: int, *, function: Function = "original", contract: str = "123456789"
) -> Transaction:
    """A periodic reading, its correction or its cancellation."""
    extra: dict[str, Any] = (
        {"correlation": f"R{at:%Y%m%d}", "correction_reason": "CORR_IDX"} if function != "original" else {}
    )
    message = MeterReading(
        **head(prm, at, "R15", "CYCL", f"R{at:%Y%m%d}:{function}:{wh}"),
        **extra,
        function=function,
        contract_reference=contract,
        reason="periodic",
        reading_reference=f"R{at:%Y%m%d}",
        qualification="periodic",
        nature="read",
        calendar="DI000001",
        meter="13451014311879",
        meter_type="CCB",
        registers=(Register(grid="distributor", time_class="BASE", value=wh // 1000, unit="kWh", rank=1, digits=6),),
    )
    return transaction([message])


def story(prm: str = "99000000000017") -> list[Transaction]:
    """An entry, readings, a correction, a cancellation, an index that goes back, an exit, a new entry."""
    return [
        start(prm, day(0)),
        reading(prm, day(31), 1_100_000),
        reading(prm, day(59), 1_250_000),
        reading(prm, day(59), 1_240_000, function="replace"),
        reading(prm, day(90), 1_200_000),
        reading(prm, day(120), 1_400_000),
        reading(prm, day(120), 1_400_000, function="cancel"),
        end(prm, day(150)),
        reading(prm, day(150), 1_500_000),
        start(prm, day(200), "987654321"),
        reading(prm, day(230), 1_600_000, contract="987654321"),
        reading(prm, day(170), 1_550_000),
    ]
