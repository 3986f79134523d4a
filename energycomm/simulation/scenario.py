"""What to simulate: how many access points, for how long, with which faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

from energycomm.simulation.faults import FaultRates


@dataclass(frozen=True, slots=True)
class Scenario:
    """The arguments of one simulation. Equal scenarios give equal bytes.

    Attributes:
      access_points: how many access points live in it.
      months: for how many months.
      seed: of all chance.
      first: first day.
      daily_share: share of the access points that send an index every day, 0 to 1.
      faults: what goes wrong, and how often.
      per_file: at most so many access points in one XML file.
      follow: day from which other fluxes follow those of daily measures, where the market has some; what is measured by
        subscription is then simulated too. Faults are not played with it.
    """

    access_points: int
    months: int
    seed: int
    first: date = date(2025, 1, 1)
    daily_share: float = 0.1
    faults: FaultRates = field(default_factory=FaultRates)
    per_file: int = 500
    follow: date | None = None

    @property
    def days(self) -> int:
        """Length in days: whole civil months."""
        year, month = divmod(self.first.month - 1 + self.months, 12)
        last = self.first.replace(day=1)
        end = last.replace(year=last.year + year, month=month + 1) + timedelta(days=self.first.day - 1)
        return (end - self.first).days
