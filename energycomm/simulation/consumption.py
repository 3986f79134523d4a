"""How much energy flows: a yearly shape in whole numbers, and the load of one access point along it.

Everything is integer arithmetic, so that the same seed gives the same indexes on every machine. The energy up to an
instant is a closed formula: a reading costs the same whether the previous one was a day or a year ago.
"""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import NamedTuple, Protocol

from energycomm.simulation.almanac import Almanac

MONTH_WEIGHT = (165, 150, 125, 95, 75, 65, 60, 58, 68, 85, 120, 155)
"""Weight of a day by month: an electrically heated home in a temperate climate."""
HIGH_SEASON = frozenset((11, 12, 1, 2, 3))
YEAR = 1_000_000
"""Units of weight in a year: a load of a year is spread over them."""


class Bands(NamedTuple):
    """Energy by band, in Wh: high or low season, peak or off-peak hours."""

    peak_high: int
    off_peak_high: int
    peak_low: int
    off_peak_low: int


class Shape:
    """The course of consumption over the days of a simulation, the same for all access points that follow it."""

    def __init__(self, almanac: Almanac, rng: Random) -> None:
        """Draw the weather of every day from `rng`."""
        margin = -almanac.number(almanac.dates[0])
        weights = [MONTH_WEIGHT[day.month - 1] * YEAR // 36900 * rng.randint(85, 115) // 100 for day in almanac.dates]
        high = [w if day.month in HIGH_SEASON else 0 for w, day in zip(weights, almanac.dates, strict=True)]
        self._margin = margin
        self._weights = weights
        self._high_days = [day.month in HIGH_SEASON for day in almanac.dates]
        self._high = [0, *accumulate(high)]
        self._all = [0, *accumulate(weights)]

    def until(self, day: int, minute: int) -> tuple[int, int]:
        """Weight of the high season and of the low season, from the almanac's first day to an instant."""
        n = day + self._margin
        part = self._weights[n] * minute // 1440
        high = self._high[n]
        low = self._all[n] - high
        return (high + part, low) if self._high_days[n] else (high, low + part)


class Draw(Protocol):
    """What an access point draws."""

    def until(self, day: int, minute: int) -> Bands:
        """Energy drawn up to an instant, in Wh by band; differences are what counts."""


class Load(NamedTuple):
    """What one access point draws: Wh in a year, and the share of the peak hours in percent."""

    shape: Shape
    yearly: int
    peak_share: int

    def until(self, day: int, minute: int) -> Bands:
        """Energy drawn up to an instant, in Wh by band; differences are what counts."""
        high, low = self.shape.until(day, minute)
        high_wh = self.yearly * high // YEAR
        low_wh = self.yearly * low // YEAR
        peak_high = high_wh * self.peak_share // 100
        peak_low = low_wh * self.peak_share // 100
        return Bands(peak_high, high_wh - peak_high, peak_low, low_wh - peak_low)
