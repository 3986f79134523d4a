"""Instants as integers, and civil days in a market's zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_zones: dict[str, str] = {}


def set_zone(market: str, name: str) -> None:
    """Tell the legal time of a market (IANA name); its adapter says it."""
    _zones[market] = name
    _zone.cache_clear()


def micros(at: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z of an aware datetime."""
    delta = at - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@lru_cache(maxsize=8192)  # the readings of a day share their instant, and that of the day before
def instant(value: int) -> datetime:
    """The datetime, in UTC, of microseconds since the epoch."""
    return EPOCH + timedelta(microseconds=value)


@lru_cache(maxsize=32)
def _zone(market: str) -> ZoneInfo:
    return ZoneInfo(_zones.get(market, "UTC"))


def local_day(market: str, value: int) -> date:
    """The civil day of an instant in the legal time of a market."""
    return instant(value).astimezone(_zone(market)).date()


def midnight(market: str, day: date) -> datetime:
    """The first instant of a civil day in the legal time of a market, with the offset that holds then."""
    at = datetime(day.year, day.month, day.day, tzinfo=_zone(market))
    return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()))


def now_micros() -> int:
    """The present."""
    return micros(datetime.now(UTC))
