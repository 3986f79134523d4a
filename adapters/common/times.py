"""The border where a market's dates become instants or civil days.

A date-time without offset is taken as the market's legal time and said to be naive. On the October Sunday one hour
happens twice: its first pass (summer time) is assumed. On the March Sunday one hour does not exist: it is read with the
offset before the change, so 02:30+01:00 is the same instant as 03:30+02:00.

Instants carry fixed offsets and no named zone: two of them are then compared and subtracted by their instants.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

FIRST_YEAR, LAST_YEAR = 1900, 2199
"""Years outside are taken for mistakes: Python's dates end at 9999, and no access point is older than the grid."""

_DAY_LENGTH = len("2024-10-04")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?")
_REMEMBERED = 8192


class Moment(NamedTuple):
    """A date-time as read.

    Attributes:
      at: the instant, with a fixed offset.
      naive: no offset was written and legal time was assumed.
    """

    at: datetime
    naive: bool


class LegalTime:
    """The legal time of a market. What was read before is remembered: the messages of a file share their dates."""

    moment: Callable[[str], Moment]
    """Read a date-time, with or without offset; digits of the second beyond the sixth are cut off. Raises `ValueError`
    where it is none, has no time, or lies outside the years 1900 to 2199."""
    day: Callable[[str], date]
    """Read a civil day; an offset after it says nothing and is dropped. Raises `ValueError` where it is none, or lies
    outside the years 1900 to 2199."""
    start_of_day: Callable[[date], datetime]
    """Midnight at the start of a civil day."""

    def __init__(self, zone: str, *, keeps_offset: bool = True) -> None:
        """Args:
        zone: IANA name.
        keeps_offset: an instant keeps the offset that was written; else it is given the one that legal time has then.
        """
        self.zone = zone
        self._info = ZoneInfo(zone)
        self._keeps_offset = keeps_offset
        self.moment = lru_cache(maxsize=_REMEMBERED)(self._moment)
        self.day = lru_cache(maxsize=_REMEMBERED)(_day)
        self.start_of_day = lru_cache(maxsize=_REMEMBERED)(self._start_of_day)

    def here(self, at: datetime) -> datetime:
        """An instant with the offset that legal time has then; one without offset is taken as legal time."""
        there = at.replace(tzinfo=self._info, fold=0) if at.tzinfo is None else at.astimezone(self._info)
        offset = there.utcoffset()
        assert offset is not None  # a named zone always has one
        return there.replace(tzinfo=timezone(offset))

    def again(self, at: datetime) -> datetime:
        """The second instant of the same local time, in the night in which it comes twice; else the same instant."""
        there = at.astimezone(self._info).replace(fold=1)
        return self.here(there.astimezone(UTC))

    def minutes_of_day(self, civil: date) -> int:
        """Minutes of a civil day: 1440; 1380 and 1500 where the clock changes."""
        length = self.start_of_day(civil + timedelta(days=1)) - self.start_of_day(civil)
        return int(length.total_seconds()) // 60

    def _moment(self, text: str) -> Moment:
        read = datetime.fromisoformat(text)
        if len(text) <= _DAY_LENGTH:
            raise ValueError(f"{text!r} has no time")
        _check_year(read.year)
        naive = read.tzinfo is None
        return Moment(self.here(read) if naive or not self._keeps_offset else read, naive)

    def _start_of_day(self, civil: date) -> datetime:
        return self.here(datetime(civil.year, civil.month, civil.day))


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError(f"{text!r} is no day")
    read = date.fromisoformat(text[:_DAY_LENGTH])
    _check_year(read.year)
    return read


def _check_year(year: int) -> None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"year {year} is outside {FIRST_YEAR} to {LAST_YEAR}")
