"""The days of a simulation in the legal time of a market, with the two offsets that a day may have."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo


def _offset(day: date, hour: int, zone: ZoneInfo) -> str:
    written = datetime(day.year, day.month, day.day, hour, tzinfo=zone).strftime("%z")
    return f"{written[:3]}:{written[3:]}"


class Almanac:
    """Numbered days: day 0 is the first day of the simulation; negative numbers are the days before.

    Clocks change between one and four in the morning in every zone that a market of ours uses, and nothing in a
    simulated life happens in those hours: a day has one offset before, and one after.
    """

    def __init__(self, zone: str, first: date, days: int, margin: int = 120) -> None:
        """Write the almanac of `days` days from `first` on, with `margin` days at either side."""
        self.first = first
        self.days = days
        self._margin = margin
        where = ZoneInfo(zone)
        self.dates = [first + timedelta(days=n) for n in range(-margin, days + margin)]
        self._iso = [day.isoformat() for day in self.dates]
        self._early = [_offset(day, 0, where) for day in self.dates]
        self._late = [_offset(day, 12, where) for day in self.dates]

    def civil(self, day: int) -> date:
        """The civil day of a number."""
        return self.dates[day + self._margin]

    def iso(self, day: int) -> str:
        """The civil day, YYYY-MM-DD."""
        return self._iso[day + self._margin]

    def instant(self, day: int, minute: int = 0, seconds: str = "00") -> str:
        """An instant of a day, ISO 8601 with the legal offset. `minute` counts on the clock, from 0 to 1439."""
        n = day + self._margin
        offset = self._early[n] if minute < 120 else self._late[n]
        return f"{self._iso[n]}T{minute // 60:02d}:{minute % 60:02d}:{seconds}{offset}"

    def stamp(self, day: int, minute: int, seconds: str = "00") -> str:
        """The instant as file names carry it: YYYYMMDDHHMMSS."""
        return f"{self.iso(day).replace('-', '')}{minute // 60:02d}{minute % 60:02d}{seconds}"

    def number(self, of: date) -> int:
        """The number of a civil day."""
        return (of - self.first).days
