"""Instants as integers, and civil days in a zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
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


def moment(value: int) -> datetime | None:
    """The datetime of microseconds since the epoch; None for the epoch itself.

    A message that bears no time (an answer without a header, a fault) is kept at the epoch, so that its place in the
    business order depends on its content alone. What people and programs are shown says that it has no time.
    """
    return None if value == 0 else instant(value)


def local_day(zone: ZoneInfo, value: int) -> date:
    """The civil day of an instant (microseconds since the epoch) in a zone."""
    return instant(value).astimezone(zone).date()


def midnight(zone: ZoneInfo, day: date) -> datetime:
    """The first instant of a civil day in a zone, with the offset that holds then."""
    at = datetime(day.year, day.month, day.day, tzinfo=zone)
    return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()))


def legal(at: datetime, zone: tzinfo) -> str:
    """An instant as people read it: day and time of a zone, `2024-10-04 00:00`, with seconds where there are any.

    The offset stands behind it where the time alone names two instants: in the hour that the clocks repeat in autumn.
    Every comment, page and table shows instants by this function; data (JSON, XML, exports) keep ISO with offset.

    Args:
      at: an aware datetime.
      zone: legal time of the market.

    >>> paris = ZoneInfo("Europe/Paris")
    >>> legal(datetime.fromisoformat("2024-10-03T22:00:00Z"), paris)
    '2024-10-04 00:00'
    >>> legal(datetime.fromisoformat("2026-10-25T01:30:05Z"), paris)
    '2026-10-25 02:30:05+01:00'
    """
    try:
        local = at.astimezone(zone)
    except OverflowError:  # the first or last hours that a date can hold
        local = at
    twice = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
    precision = "microseconds" if local.microsecond else "seconds" if local.second else "minutes"
    return (local if twice else local.replace(tzinfo=None)).isoformat(" ", precision)


FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(9999, 12, 30)
"""Civil days that people may ask for: there are instants on both sides of each."""


def now_micros() -> int:
    """The present."""
    return micros(datetime.now(UTC))
