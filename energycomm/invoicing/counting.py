"""What the registers of an access point counted between two days, from the readings that hold.

A register counts on from reading to reading: past its last digit it begins at zero again, and its index times the
coefficient of the reading is energy. Where a meter was changed, the last index of the old one and the first of the new
one, both of the instant of the change, are bridged; where one of them is missing, or an index fell without a reason,
nothing is known of the time between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from itertools import pairwise

from msgspec import Struct, field

KWH = {"Wh": Decimal(1000), "kWh": Decimal(1), "MWh": Decimal("0.001")}
"""Unit of energy -> how many of it are a kWh."""


class Index(Struct, frozen=True, kw_only=True):
    """An index of one register.

    Attributes:
      at: microseconds since 1970.
      turn: 0 before an event of that instant, 1 at a periodic reading, 2 after an event.
      day: civil day of the instant: the index is that of its start.
      value: in `unit`.
      coefficient: energy of one step of the index, where told; it holds until another is, or the meter changes.
      digits: of the register, where told.
      rollover: it passed through zero since the index before.
      meter: serial number, where told.
    """

    at: int
    turn: int
    day: date
    value: Decimal
    unit: str
    coefficient: Decimal | None = None
    digits: int | None = None
    rollover: bool = False
    meter: str | None = None


class _Count(Struct, frozen=True):
    """What a register counted up to the start of a day, in kWh, since its run began."""

    day: date
    run: int
    total: Decimal


class Counts(Struct):
    """What the registers of a point counted; the distributor's classes hold where both grids have them."""

    classes: dict[str, list[_Count]] = field(default_factory=dict)

    def add(self, time_class: str, indexes: Iterable[Index], changes: Sequence[int]) -> None:
        """Take the indexes of a register.

        Args:
          time_class: what it counts; a class that is known stays as it is.
          indexes: those that hold.
          changes: instants at which the meter was changed.
        """
        ordered = sorted(indexes, key=lambda one: (one.at, one.turn))
        if not ordered or time_class in self.classes:
            return
        run, total, coefficient = 0, Decimal(0), ordered[0].coefficient or Decimal(1)
        counts = [_Count(ordered[0].day, run, total)]
        for low, high in pairwise(ordered):
            if any(low.at < at <= high.at for at in changes) and high.turn:
                coefficient = Decimal(1)
            coefficient = high.coefficient or coefficient
            steps = _steps(low, high, changes)
            if steps is None:
                run += 1
                total = Decimal(0)
            else:
                total += steps * coefficient
            counts.append(_Count(high.day, run, total))
        self.classes[time_class] = counts

    def knows(self, time_class: str, day: date) -> bool:
        """Whether there is an index of a day."""
        return any(one.day == day for one in self.classes.get(time_class, ()))

    def between(self, time_class: str, first: date, after: date) -> Decimal | None:
        """Energy in kWh from the start of a day to that of another; None where it is not known, or where indexes of one
        of these days differ."""
        here = self.classes.get(time_class, ())
        found = {
            end.total - start.total
            for start in here
            for end in here
            if start.day == first and end.day == after and start.run == end.run
        }
        return None if not found or max(found) - min(found) > 1 else min(found)


def _steps(low: Index, high: Index, changes: Sequence[int]) -> Decimal | None:
    """What an index counted on to the one that follows, in kWh; None where it is not known."""
    if low.at == high.at:
        if low.turn != high.turn or low.value / KWH[low.unit] == high.value / KWH[high.unit]:
            return Decimal(0)
        # Two sources of one instant: they differ by what one of them cuts off, or contradict each other.
        same = abs(low.value / KWH[low.unit] - high.value / KWH[high.unit]) < 1
        return Decimal(0) if same else None
    if any(low.at < at < high.at or (at == high.at and high.turn) or (at == low.at and not low.turn) for at in changes):
        return None
    if None not in (low.meter, high.meter) and low.meter != high.meter:
        return None
    # Indexes are cut off to whole kWh, as meters show them.
    steps = [(one.value / KWH[one.unit]).to_integral_value(ROUND_FLOOR) for one in (low, high)]
    counted = steps[1] - steps[0]
    if counted < 0:
        if not high.rollover or high.digits is None:
            return None
        counted += Decimal(10) ** high.digits / KWH[high.unit]
    return counted
