"""The border where the market's dates become instants in Belgian time.

Instants are given the offset that Belgian legal time has at that moment, whatever offset was written (ebIX documents
write UTC): a supply that starts at 23:00Z in winter starts on the civil day after, and rules compare civil days. The
instant itself is not changed. A date-time without offset is taken as Belgian time; in the hour that happens twice the
first pass is assumed.
"""

from __future__ import annotations

from adapters.common.times import LegalTime

ZONE = "Europe/Brussels"
LEGAL = LegalTime(ZONE, keeps_offset=False)
"""Belgian legal time."""

belgian = LEGAL.here
"""An instant with the offset of Belgian time; one without offset is taken as Belgian time."""
midnight = LEGAL.start_of_day
"""Midnight in Belgium at the start of a civil day."""
