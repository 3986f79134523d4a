"""The border where the market's dates become instants in Belgian time.

Instants are given the offset that Belgian legal time has at that moment, whatever offset was written (ebIX documents
write UTC): a supply that starts at 23:00Z in winter starts on the civil day after, and rules compare civil days. The
instant itself is not changed. A date-time without offset is taken as Belgian time; in the hour that happens twice the
first pass is assumed.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

ZONE = "Europe/Brussels"
_BRUSSELS = ZoneInfo(ZONE)
_FIRST_YEAR, _LAST_YEAR = 1900, 2199
_DAY_LENGTH = len("2026-03-01")


class Moment(NamedTuple):
    """A date-time as read.

    Attributes:
      at: the instant, with the fixed offset of Belgian time.
      naive: no offset was written and Belgian time was assumed.
    """

    at: datetime
    naive: bool


@lru_cache(maxsize=8192)
def moment(text: str) -> Moment:
    """Read a date-time, with or without offset.

    Raises:
      ValueError: no date-time, or a year outside 1900 to 2199.
    """
    read = datetime.fromisoformat(text)
    if len(text) <= _DAY_LENGTH:
        raise ValueError(f"{text!r} has no time")
    _check(read.year)
    return Moment(belgian(read), read.tzinfo is None)


@lru_cache(maxsize=8192)
def day(text: str) -> date:
    """Read a civil day.

    Raises:
      ValueError: no day, or a year outside 1900 to 2199.
    """
    read = date.fromisoformat(text)
    _check(read.year)
    return read


def belgian(at: datetime) -> datetime:
    """An instant with the fixed offset of Belgian time; one without offset is taken as Belgian time."""
    local = at.replace(tzinfo=_BRUSSELS, fold=0) if at.tzinfo is None else at.astimezone(_BRUSSELS)
    offset = local.utcoffset()
    assert offset is not None  # a named zone always has one
    return local.replace(tzinfo=timezone(offset))


@lru_cache(maxsize=8192)
def midnight(civil: date) -> datetime:
    """Midnight in Belgium at the start of a civil day."""
    return belgian(datetime(civil.year, civil.month, civil.day))


def _check(year: int) -> None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"year {year} is outside {_FIRST_YEAR} to {_LAST_YEAR}")
