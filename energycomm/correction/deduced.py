"""Starts and ends of supply that are deduced from the history: what each market calls the plainest of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from energycomm.kernel.instants import local_day, micros, midnight
from energycomm.kernel.messages import KernelMessage


class Words(Struct, frozen=True, kw_only=True):
    """How a market announces that supply begins or ends, and no more than that.

    Attributes:
      market_type, event: message type and reason of the market.
      sender, sender_role: who announces it; that of the messages around it when None.
      dossier: whether a number of the transaction is demanded.
      whole_days: whether supply begins and ends at midnight in the market's legal time.
    """

    market_type: str
    event: str
    sender: str | None = None
    sender_role: str | None = None
    dossier: bool = False
    whole_days: bool = False


_EDSN = "8712423010208"

ENTRY: Mapping[str, Words] = {
    "FR": Words(market_type="C15", event="MES"),
    "NL": Words(
        market_type="GainResultResponse",
        event="MOVEIN",
        sender=_EDSN,
        sender_role="clearing-house",
        dossier=True,
        whole_days=True,
    ),
    "BE": Words(market_type="StartOfAccess", event="E65", whole_days=True),
}
"""Market -> its entry."""

EXIT: Mapping[str, Words] = {
    "FR": Words(market_type="C15", event="RES"),
    "NL": Words(
        market_type="LossResultResponse",
        event="EOSUPPLY",
        sender=_EDSN,
        sender_role="clearing-house",
        dossier=True,
        whole_days=True,
    ),
    "BE": Words(market_type="StopOfAccess", event="E20", whole_days=True),
}
"""Market -> its exit."""


def head(like: KernelMessage, words: Words | None, at: datetime, what: str) -> dict[str, Any]:
    """The head of a deduced message.

    Args:
      like: the message that it is deduced from: its parties, point and energy are taken over.
      words: of the market; those of `like` when None.
      at: when it takes effect.
      what: start or end, for its reference.
    """
    reference = like.contract_reference
    fields: dict[str, Any] = {
        "market": like.market,
        "energy": like.energy,
        "market_type": like.market_type if words is None else words.market_type,
        "market_reason": like.market_reason if words is None else words.event,
        "reference": f"deduced {what} {like.access_point} {reference or f'{at:%Y-%m-%d}'}",
        "created": at,
        "effective": at,
        "access_point": like.access_point,
        "sender": like.sender,
        "receiver": like.receiver,
        "sender_role": like.sender_role,
        "receiver_role": like.receiver_role,
        "grid_operator": like.grid_operator,
    }
    if words is not None and words.sender is not None:
        fields |= {"sender": words.sender, "sender_role": words.sender_role}
    if words is not None and words.dossier:
        # Letters no register gives: nobody takes the number for one of its own.
        fields["request_reference"] = f"D{(like.access_point or '')[-9:]}{'S' if what == 'start' else 'E'}"
    return fields


def whole_day(zone: ZoneInfo, at: datetime, words: Words | None) -> datetime:
    """An instant, put to the midnight before it in the market's legal time where it knows whole days only."""
    if words is None or not words.whole_days:
        return at
    return midnight(zone, local_day(zone, micros(at)))
