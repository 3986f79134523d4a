"""Starts and ends of supply that are deduced from the history, in the words of their market."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from energycomm.kernel.instants import local_day, micros, midnight
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import Announcement


def head(like: KernelMessage, words: Announcement, at: datetime, what: str) -> dict[str, Any]:
    """The head of a deduced message.

    Args:
      like: the message that it is deduced from: its parties, point and energy are taken over.
      words: how the market announces it.
      at: when it takes effect.
      what: start or end, for its reference.
    """
    reference = like.contract_reference
    fields: dict[str, Any] = {
        "market": like.market,
        "energy": like.energy,
        "market_type": words.market_type,
        "market_reason": words.event,
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
    if words.sender is not None:
        fields |= {"sender": words.sender, "sender_role": words.sender_role}
    if words.numbered:
        # Letters no register gives: nobody takes the number for one of its own.
        fields["request_reference"] = f"D{(like.access_point or '')[-9:]}{'S' if what == 'start' else 'E'}"
    return fields


def whole_day(zone: ZoneInfo, at: datetime, words: Announcement) -> datetime:
    """An instant; in markets with whole days only, the midnight before it in legal time."""
    return midnight(zone, local_day(zone, micros(at))) if words.whole_days else at
