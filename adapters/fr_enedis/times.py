"""The border where the dates of each flux become instants or civil days.

All Enedis times are French legal time. What each flux writes, and what it becomes:

==========  ==============================  =========================================================================
Flux        Written                         Read as
==========  ==============================  =========================================================================
C15, R15    date-time with offset           an instant, with the offset that was written (`moment`)
X12, X13    date-time with offset; header   an instant; the header is always naive and taken as Paris time;
            naive; ``2024-11-23+01:00``     the effect date is a civil day, its offset says nothing (`day`)
R151        day, meaning its END            midnight in Paris at the start of the next day (`end_of_day`)
F15         day                             a civil day; as an instant midnight in Paris at its start (`start_of_day`)
==========  ==============================  =========================================================================

A date-time without offset in a field that should have one is taken as Paris time and noted. On the October Sunday the
hour from 02:00 to 03:00 happens twice: the first pass (summer time, +02:00) is assumed. On the March Sunday that hour
does not exist: it is read with the offset before the change (+01:00), so 02:30 is the same instant as 03:30+02:00.

Instants carry fixed offsets and no named zone: two of them are then compared and subtracted by their instants.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

ZONE = "Europe/Paris"
_PARIS = ZoneInfo(ZONE)
_DAY_LENGTH = len("2024-10-04")
_FIRST_YEAR, _LAST_YEAR = 1900, 2199
"""Years outside are taken for mistakes: Python's dates end at 9999, and no access point is older than the grid."""


class Moment(NamedTuple):
    """A date-time as read.

    Attributes:
      at: the instant, with a fixed offset.
      naive: no offset was written and Paris time was assumed.
    """

    at: datetime
    naive: bool


@lru_cache(maxsize=8192)
def moment(text: str) -> Moment:
    """Read a date-time, with or without offset.

    Args:
      text: ISO date-time; digits of the second beyond the sixth are cut off.

    Raises:
      ValueError: no date-time, or a year outside 1900 to 2199.
    """
    read = datetime.fromisoformat(text)
    _check_year(read.year)
    if len(text) <= _DAY_LENGTH:
        raise ValueError(f"{text!r} has no time")
    if read.tzinfo is not None:
        return Moment(read, False)
    return Moment(_in_paris(read), True)


@lru_cache(maxsize=8192)
def day(text: str) -> date:
    """Read a civil day; an offset after it says nothing and is dropped.

    Raises:
      ValueError: no day, or a year outside 1900 to 2199.
    """
    read = date.fromisoformat(text[:_DAY_LENGTH])
    _check_year(read.year)
    return read


@lru_cache(maxsize=8192)
def end_of_day(text: str) -> datetime:
    """The instant at which a civil day ends in Paris: midnight at the start of the next day (R151).

    Raises:
      ValueError: no day, or a year outside 1900 to 2199.
    """
    return start_of_day(day(text) + timedelta(days=1))


@lru_cache(maxsize=8192)
def start_of_day(civil: date) -> datetime:
    """Midnight in Paris at the start of a civil day."""
    return _in_paris(datetime(civil.year, civil.month, civil.day))


def _in_paris(naive: datetime) -> datetime:
    """Paris time with a fixed offset; ``fold`` 0 is the first pass of the repeated hour."""
    offset = naive.replace(tzinfo=_PARIS, fold=0).utcoffset()
    assert offset is not None  # a named zone always has one
    return naive.replace(tzinfo=timezone(offset))


def _check_year(year: int) -> None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"year {year} is outside {_FIRST_YEAR} to {_LAST_YEAR}")
