"""Instants as integers, and civil days in a zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(at: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z of an aware datetime."""
    delta = at - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@lru_cache(maxsize=8192)  # the readings of a day share their instant, and that of the day before
def instant(value: int) -> datetime:
    """The datetime, in UTC, of microseconds since the epoch."""
    return EPOCH + timedelta(microseconds=value)


def local_day(zone: ZoneInfo, value: int) -> date:
    """The civil day of an instant (microseconds since the epoch) in a zone."""
    return instant(value).astimezone(zone).date()


def midnight(zone: ZoneInfo, day: date) -> datetime:
    """The first instant of a civil day in a zone, with the offset that holds then."""
    at = datetime(day.year, day.month, day.day, tzinfo=zone)
    return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()))


def now_micros() -> int:
    """The present."""
    return micros(datetime.now(UTC))
