"""The opening balance: what a supplier knows of an access point on the day it begins with this gateway.

It is told by ordinary Kernel messages whose market type is `OPENING`: their source is the supplier, not the market.
They are judged like others; where a message of the market and the opening contradict each other, the finding says so.
"""

from __future__ import annotations

from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    RequestStatus,
    StartOfSupply,
)

OPENING = "OpeningBalance"
"""Market type of the messages of an opening balance."""

OPENING_KINDS: tuple[type[KernelMessage], ...] = (
    StartOfSupply,
    AccessPointData,
    ContractTerms,
    CustomerData,
    MeterData,
    MeterReading,
    RequestStatus,
    EndOfSupply,
)
"""The kinds that an opening balance is told by, in business order."""


def is_opening(message: KernelMessage) -> bool:
    """Whether a message belongs to an opening balance."""
    return message.market_type == OPENING
