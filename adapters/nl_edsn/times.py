"""The border where the dates of EDSN's messages become instants or civil days.

Header times and the readings of the P4 portal are date-times with an offset, often ``Z``: instants, with the offset
that was written. Mutation dates, reading dates and query dates are civil days (xs:date, which may bear an offset that
says nothing): an event of a day holds from midnight in Amsterdam at its start, and the index of a day is the one at
that midnight. So a day is 24 hours long, 23 on the last Sunday of March, 25 on the last Sunday of October.

How legal time is read is told in `adapters.common.times`.
"""

from __future__ import annotations

from adapters.common.dates import Dates
from adapters.common.times import LegalTime

ZONE = "Europe/Amsterdam"
_AMSTERDAM = LegalTime(ZONE)
_DATES = Dates(_AMSTERDAM)

moment = _AMSTERDAM.moment
"""A date-time as read, with the offset that was written."""
start_of_day = _AMSTERDAM.start_of_day
"""Midnight in Amsterdam at the start of a civil day."""
minutes_of_day = _AMSTERDAM.minutes_of_day
"""Minutes of a civil day in Amsterdam: 1440, 1380 or 1500."""

needed_instant = _DATES.needed_instant
"""The instant of a date-time field that must be there."""
civil_day = _DATES.civil_day
"""The civil day of a field, None where it is missing."""
needed_day = _DATES.needed_day
"""The civil day of a field that must be there, and midnight in Amsterdam at its start."""
