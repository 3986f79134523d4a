"""Whether the clock of the host can be believed: it is held against the time that only goes up, and the store.

What is due by the calendar and cannot be taken back (removing what is old, giving up what waits) must not happen
because somebody set the clock a year ahead for an hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from energycomm.kernel.instants import instant, now_micros

SECOND = 1_000_000
TOLERANCE = 300.0
"""Seconds by which the clock may differ at a look from what it should say: time services correct less at once."""
BELIEVED = 86_400.0
"""Seconds that a clock must go evenly until it is believed as it is: a person has a day to put it right."""


def steady() -> float:
    """Seconds that only go up, those that the host slept too."""
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class ClockWatch:
    """Watches the clock from one look to the next.

    Args:
      wall: the clock, microseconds since the epoch.
      even: seconds that only go up.
    """

    def __init__(self, wall: Callable[[], int] = now_micros, even: Callable[[], float] = steady) -> None:
        self._wall, self._even = wall, even
        self._right = wall() / SECOND - even()
        """What the clock says beyond the even time, while it is right."""
        self._seen = self._right
        self._since: float | None = None
        """Even time at which the trouble began, or the clock jumped once more."""
        self._known = 0
        """A latest arrival that the clock was behind of for long enough to be believed all the same."""

    def trouble(self, latest: int) -> str | None:
        """Look at the clock.

        Args:
          latest: when the latest envelope arrived, microseconds since the epoch.

        Returns:
          Why it is not believed, in words; None when it is.
        """
        wall, even = self._wall(), self._even()
        off = wall / SECOND - even
        if self._since is None or abs(off - self._seen) > TOLERANCE:
            self._since = even
        self._seen = off
        words = self._words(wall, off, latest)
        if words is not None and even - self._since < BELIEVED:
            return words
        self._since, self._right = None, off
        if words is not None:
            self._known = latest
        return None

    def _words(self, wall: int, off: float, latest: int) -> str | None:
        says = f"it says {instant(wall):%Y-%m-%d %H:%M} UTC"
        if abs(off - self._right) > TOLERANCE:
            forward, by = off > self._right, f"{abs(off - self._right):.0f} s"
            return f"the clock went forward by {by}; {says}" if forward else f"the clock went back by {by}; {says}"
        if latest != self._known and wall + TOLERANCE * SECOND < latest:
            return f"the clock is behind; {says}, the latest envelope arrived {instant(latest):%Y-%m-%d %H:%M} UTC"
        return None
