"""How much a caller may take: requests in a minute, bytes in a body."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

MOST_CALLERS = 10_000
"""Callers remembered; the least recently seen are forgotten first, which only ever forgives."""


class Allowance(NamedTuple):
    """What is left of a caller's allowance.

    Attributes:
      granted: whether this request may go on.
      left: requests that may follow at once.
      wait: seconds until one more may; 0 when it may now.
    """

    granted: bool
    left: int
    wait: float


class RateLimit:
    """A bucket a caller that fills evenly and holds one minute's requests; kept in this process only.

    Args:
      per_minute: requests of one caller in a minute.
      clock: seconds, never going back.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute, self._clock = per_minute, clock
        self._rate = per_minute / 60
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def spend(self, caller: str) -> Allowance:
        """Take one request from a caller's allowance."""
        return self._take(caller, 1.0)

    def look(self, caller: str) -> Allowance:
        """Whether one more would be granted, without taking it."""
        return self._take(caller, 0.0)

    def _take(self, caller: str, cost: float) -> Allowance:
        now = self._clock()
        with self._lock:
            level, seen = self._buckets.pop(caller, (float(self.per_minute), now))
            level = min(float(self.per_minute), level + (now - seen) * self._rate)
            granted = level >= 1.0
            if granted:
                level -= cost
            self._buckets[caller] = (level, now)
            while len(self._buckets) > MOST_CALLERS:
                del self._buckets[next(iter(self._buckets))]
        return Allowance(granted, int(level), 0.0 if level >= 1.0 else (1.0 - level) / self._rate)
