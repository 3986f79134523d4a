"""The closed family of Kernel messages, and properties of each kind."""

from __future__ import annotations

from typing import TypeAlias

from energycomm.kernel.messages import INCOMING, KernelMessage
from energycomm.kernel.requests import OUTGOING

KINDS: dict[str, type[KernelMessage]] = {cls.__name__: cls for cls in (*INCOMING, *OUTGOING)}
"""Name of the kind -> its class, in the order of the documentation."""

Kind: TypeAlias = str

RANK: dict[Kind, int] = {
    name: rank
    for rank, name in enumerate(
        (
            "EndOfSupply",
            "StartOfSupply",
            "AccessPointData",
            "ContractTerms",
            "CustomerData",
            "PointParties",
            "PointRelations",
            "MeterData",
            "MeterReading",
            "MeteredVolume",
            "MeasureSeries",
            "AggregatedSeries",
            "PriceList",
            "SettlementAmounts",
            "GridCharge",
            "GridInvoice",
            "ReceivedRequest",
            "RequestStatus",
        )
    )
}
"""Order of messages of one access point at the same instant: the end of a supply frees the point for the next start,
and master data comes before the readings that are judged by it. Kinds that are not listed come last."""

FUNCTION_RANK: dict[str, int] = {"original": 0, "replace": 1, "cancel": 2}

SIDE_RANK: dict[str | None, int] = {"before-event": -1, "after-event": 1}
"""Order of readings of one instant: the last one before an event, those of the round, the first one after it."""


def kind_of(message: KernelMessage) -> Kind:
    """The name of a message's kind."""
    return type(message).__name__


def is_incoming(kind: Kind) -> bool:
    """Whether the market sends messages of this kind to us."""
    return KINDS[kind] in INCOMING
