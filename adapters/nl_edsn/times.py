"""The border where the dates of EDSN's messages become instants or civil days.

Header times and the readings of the P4 portal are date-times with an offset, often ``Z``: instants, with the offset
that was written. Mutation dates, reading dates and query dates are civil days (xs:date, which may bear an offset that
says nothing): an event of a day holds from midnight in Amsterdam at its start, and the index of a day is the one at
that midnight. So a day is 24 hours long, 23 on the last Sunday of March, 25 on the last Sunday of October.

A date-time without offset is taken as Amsterdam time and noted; of the hour that comes twice in October the first is
meant.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

ZONE = "Europe/Amsterdam"
_AMSTERDAM = ZoneInfo(ZONE)
_DAY_LENGTH = len("2024-10-04")
_FIRST_YEAR, _LAST_YEAR = 1900, 2199
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the time of a fault that bears none."""


class Moment(NamedTuple):
    """A date-time as read.

    Attributes:
      at: the instant, with a fixed offset.
      naive: no offset was written and Amsterdam time was assumed.
    """

    at: datetime
    naive: bool


@lru_cache(maxsize=8192)
def moment(text: str) -> Moment:
    """Read a date-time, with or without offset; digits of the second beyond the sixth are cut off.

    Raises:
      ValueError: no date-time, or a year outside 1900 to 2199.
    """
    read = datetime.fromisoformat(text)
    _check_year(read.year)
    if len(text) <= _DAY_LENGTH:
        raise ValueError(f"{text!r} has no time")
    if read.tzinfo is not None:
        return Moment(read, False)
    return Moment(_local(read), True)


@lru_cache(maxsize=8192)
def day(text: str) -> date:
    """Read a civil day; an offset after it is dropped.

    Raises:
      ValueError: no day, or a year outside 1900 to 2199.
    """
    read = date.fromisoformat(text[:_DAY_LENGTH])
    _check_year(read.year)
    return read


@lru_cache(maxsize=8192)
def start_of_day(civil: date) -> datetime:
    """Midnight in Amsterdam at the start of a civil day, with a fixed offset."""
    return _local(datetime(civil.year, civil.month, civil.day))


def minutes_of_day(civil: date) -> int:
    """Minutes of a civil day in Amsterdam: 1440, 1380 or 1500."""
    length = start_of_day(civil + timedelta(days=1)) - start_of_day(civil)
    return int(length.total_seconds()) // 60


def _local(naive: datetime) -> datetime:
    offset = naive.replace(tzinfo=_AMSTERDAM, fold=0).utcoffset()
    assert offset is not None  # a named zone always has one
    return naive.replace(tzinfo=timezone(offset))


def _check_year(year: int) -> None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"year {year} is outside {_FIRST_YEAR} to {_LAST_YEAR}")
