"""Meters of the simulation: which registers they have and what these show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from energycomm.kernel.vocabulary import Grid
from energycomm.simulation.consumption import Bands, Draw

Band: TypeAlias = Literal["all", "peak", "off-peak", "peak-high", "off-peak-high", "peak-low", "off-peak-low"]

ONE: tuple[Band, ...] = ("all",)
TWO: tuple[Band, ...] = ("peak", "off-peak")
FOUR: tuple[Band, ...] = ("peak-high", "off-peak-high", "peak-low", "off-peak-low")

_START_SHARE: dict[Band, int] = {
    "all": 100,
    "peak": 61,
    "off-peak": 39,
    "peak-high": 33,
    "off-peak-high": 21,
    "peak-low": 28,
    "off-peak-low": 18,
}


def energy_of(band: Band, bands: Bands) -> int:
    """The energy of one register's band, in Wh."""
    if band == "all":
        return sum(bands)
    if band == "peak":
        return bands.peak_high + bands.peak_low
    if band == "off-peak":
        return bands.off_peak_high + bands.off_peak_low
    return bands[FOUR.index(band)]


@dataclass(frozen=True, slots=True)
class Meter:
    """One meter of an access point.

    Attributes:
      serial: serial number.
      smart: read from afar, and keeps the grid operator's registers beside the supplier's.
      digits: digits of a register, in kWh.
      start: index of a register of all energy when the simulation first sees the meter, in Wh.
      origin: energy of the access point at that moment.
    """

    serial: str
    smart: bool
    digits: int
    start: int
    origin: Bands

    def index(self, grid: Grid, band: Band, energy: Bands) -> int:
        """What a register shows, in Wh, before it is cut to the register's digits."""
        start = self.start if grid == "supplier" else self.start // 3
        return start * _START_SHARE[band] // 100 + energy_of(band, energy) - energy_of(band, self.origin)

    def shown_kwh(self, index: int) -> int:
        """What the register shows of an index in Wh: whole kWh, through zero when its digits are used up."""
        return int(index // 1000 % 10**self.digits)

    def shown_wh(self, index: int) -> int:
        """The same in Wh, as a smart meter tells it."""
        return int(index % (1000 * 10**self.digits))


def first_meter(serial: str, *, smart: bool, start: int, load: Draw, day: int) -> Meter:
    """The meter that hangs on the wall when the access point enters the simulation."""
    return Meter(serial, smart, 6 if smart else 5, start, load.until(day, 0))
