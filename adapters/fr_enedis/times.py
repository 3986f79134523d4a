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

How legal time is read is told in `adapters.common.times`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from adapters.common.codes import Unreadable, refusal
from adapters.common.dates import Dates
from adapters.common.times import LegalTime, Moment

ZONE = "Europe/Paris"
_PARIS = LegalTime(ZONE)
_DATES = Dates(_PARIS)

moment = _PARIS.moment
"""A date-time as read, with the offset that was written."""
day = _PARIS.day
"""A civil day."""
start_of_day = _PARIS.start_of_day
"""Midnight in Paris at the start of a civil day."""
here = _PARIS.here
"""An instant with the offset that Paris has then."""
again = _PARIS.again
"""The second instant of a local time that comes twice in the October night."""

instant = _DATES.instant
"""The instant of a date-time field, None where it is missing."""
needed_instant = _DATES.needed_instant
"""The instant of a date-time field that must be there."""
civil_day = _DATES.civil_day
"""The civil day of a field, None where it is missing."""


def instant_at(written: str, path: str, *, or_day: bool = False) -> Moment:
    """A date-time.

    Args:
      written: as the market wrote it.
      path: where it stands, for refusals.
      or_day: a day means its start.

    Raises:
      Unreadable: no date-time in 1900 to 2199 (SYN_VALUE).
    """
    try:
        return moment(f"{written} 00:00:00" if or_day and len(written) <= len("2026-06-01") else written)
    except ValueError:
        raise Unreadable(refusal("SYN_VALUE", path, written, "a date-time in 1900 to 2199")) from None


@lru_cache(maxsize=8192)
def end_of_day(text: str) -> datetime:
    """The instant at which a civil day ends in Paris: midnight at the start of the next day (R151).

    Raises:
      ValueError: no day, or a year outside 1900 to 2199.
    """
    return start_of_day(day(text) + timedelta(days=1))
