"""Instants as people read them, in the legal time of their market."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any

from energycomm.kernel.instants import EPOCH, legal

NO_TIME = "no time of its own"
"""What is shown for the instant of a message that bears none."""
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True)
class LegalTime:
    """Instants in the legal time of their market, or in ours where they belong to none.

    Attributes:
      zones: the legal time of each market.
      own: ours, for arrivals, tickets and other instants of this house.
    """

    zones: Mapping[str, tzinfo]
    own: tzinfo

    def zone(self, market: str | None = None) -> tzinfo:
        """The zone of a market; ours where none is named, or one that is not installed."""
        return self.zones.get(market or "", self.own)

    def when(self, at: datetime | None, market: str | None = None) -> str:
        """An instant to the second; empty where there is none. See `legal`."""
        return "" if at is None else legal(at.replace(microsecond=0), self.zone(market))

    def to_the_minute(self, at: datetime | None, market: str | None = None) -> str:
        """An instant without its seconds, for lists."""
        return "" if at is None else legal(at.replace(second=0, microsecond=0), self.zone(market))

    def told(self, value: Any, market: str | None = None) -> Any:
        """A value of JSON as people read it: each instant in it, at any depth, in legal time; all else as it is."""
        if isinstance(value, dict):
            return {name: self.told(one, market) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.told(one, market) for one in value]
        if not isinstance(value, str) or _INSTANT.fullmatch(value) is None:
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return value
        return NO_TIME if at == EPOCH else self.when(at, market)

    def day(self, at: datetime | date | None, market: str | None = None) -> str:
        """The civil day of an instant; empty where there is none."""
        if isinstance(at, datetime):
            at = at.astimezone(self.zone(market)).date()
        return "" if at is None else at.isoformat()
