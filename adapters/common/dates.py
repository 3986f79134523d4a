"""Fields of a CH message that hold dates, read in a market's legal time; a missing offset is noted."""

from __future__ import annotations

from datetime import date, datetime

from adapters.common.codes import Unreadable, refusal
from adapters.common.outcome import Notes
from adapters.common.reading import Fields, need
from adapters.common.times import FIRST_YEAR, LAST_YEAR, LegalTime

_INSTANT = f"a date-time in {FIRST_YEAR} to {LAST_YEAR}"
_DAY = f"a day in {FIRST_YEAR} to {LAST_YEAR}"


class Dates:
    """The date fields of a market's messages. All methods raise `Unreadable` for a date that no calendar has
    (SYN_VALUE), and those whose field is needed where it is missing (SYN_MISSING)."""

    def __init__(self, legal: LegalTime) -> None:
        """Args:
        legal: the market's legal time.
        """
        self._legal = legal

    def instant(self, fields: Fields, tag: str, path: str, notes: Notes) -> datetime | None:
        """The instant of a date-time field, None where it is missing."""
        return None if fields.get(tag) is None else self.needed_instant(fields, tag, path, notes)

    def needed_instant(self, fields: Fields, tag: str, path: str, notes: Notes) -> datetime:
        """The instant of a date-time field that must be there."""
        text = need(fields, tag, path)
        try:
            found = self._legal.moment(text)
        except ValueError:
            raise Unreadable(refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected=_INSTANT)) from None
        if found.naive:
            notes.append(refusal("NOTE_TIME_NAIVE", path=f"{path}/{tag}", value=text, expected=found.at.isoformat()))
        return found.at

    def civil_day(self, fields: Fields, tag: str, path: str) -> date | None:
        """The civil day of a field, None where it is missing."""
        text = fields.get(tag)
        if type(text) is not str:
            return None
        try:
            return self._legal.day(text)
        except ValueError:
            raise Unreadable(refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected=_DAY)) from None

    def needed_day(self, fields: Fields, tag: str, path: str) -> tuple[date, datetime]:
        """The civil day of a field that must be there, and midnight at its start in legal time."""
        need(fields, tag, path)
        civil = self.civil_day(fields, tag, path)
        assert civil is not None
        return civil, self._legal.start_of_day(civil)
