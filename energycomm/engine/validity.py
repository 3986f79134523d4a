"""Rules by the days on which the same ones are in force."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Generic, TypeVar

from energycomm.engine.rule import Rule
from energycomm.kernel.messages import KernelMessage

T = TypeVar("T")


class Segments(Generic[T]):
    """What is built of the rules in force, one for each span of days without a change; built on first use.

    Args:
      rules: all rules, whatever their days.
      build: makes the thing of the rules that are in force together.
    """

    def __init__(self, rules: Sequence[Rule], build: Callable[[Sequence[Rule]], T]) -> None:
        self._rules = rules
        self._build = build
        borders = {rule.since for rule in rules if rule.since}
        borders |= {rule.until + timedelta(days=1) for rule in rules if rule.until and rule.until < date.max}
        self.borders = sorted(borders)
        self._days = [day.toordinal() for day in self.borders]
        self._built: list[T | None] = [None] * (len(self.borders) + 1)
        self.only: T | None = None
        """What holds on every day, once it was built; None where rules begin or end."""

    def on(self, message: KernelMessage) -> T:
        """What holds on the message's effective day, in the offset that the market wrote."""
        place = bisect_right(self._days, message.effective.toordinal()) if self._days else 0
        built = self._built[place]
        if built is None:
            day = self.borders[place - 1] if place else date.min
            built = self._built[place] = self._build([rule for rule in self._rules if rule.in_force(day)])
            self.only = None if self._days else built
        return built
