"""When to try again: a pure policy, and the clock that waits. Only technical errors are, never an answer."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from msgspec import Struct

from energycomm.transport.channel import TechnicalError


class Clock(Protocol):
    """Time, so that tests need none."""

    def now(self) -> float:
        """Seconds that only go up."""
        ...

    def sleep(self, seconds: float) -> bool:
        """Wait; False when the process is to stop instead."""
        ...


class SystemClock:
    """The clock of this machine.

    Args:
      stop: ends every wait when it is set; whoever waits then gives up.
    """

    def __init__(self, stop: threading.Event | None = None) -> None:
        self._stop = stop or threading.Event()

    def now(self) -> float:
        """Seconds that only go up."""
        return time.monotonic()

    def sleep(self, seconds: float) -> bool:
        """Wait; False when the process is to stop instead."""
        return not self._stop.wait(max(seconds, 0))


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often and how patiently something is tried again.

    Attributes:
      attempts: attempts in all, the first one too.
      first: seconds before the second attempt.
      factor: each wait is so many times the one before.
      longest: longest wait, in seconds.
      jitter: share of each wait that is left to chance, from 0 to 1, so that many clients do not come back together.
      patience: seconds that all waits together may take.
    """

    attempts: int = 4
    first: float = 1.0
    factor: float = 3.0
    longest: float = 60.0
    jitter: float = 0.5
    patience: float = 120.0

    def delay(self, failures: int, chance: float, asked: float | None = None) -> float:
        """Seconds to wait after so many failures in a row.

        Args:
          failures: 1 after the first failure.
          chance: a random number from 0 to 1.
          asked: seconds that the other side asked for; never less than that.
        """
        # The exponent is bounded: a float overflows long before a market comes back.
        whole = min(self.longest, self.first * self.factor ** min(failures - 1, 64))
        return max(whole * (1 - self.jitter * chance), asked or 0.0)

    def next_delay(self, error: TechnicalError, failures: int, waited: float, chance: float) -> float | None:
        """Seconds to wait before the next attempt; None to give up.

        Args:
          error: what the last attempt ended with.
          failures: attempts that failed so far.
          waited: seconds waited so far.
          chance: a random number from 0 to 1.
        """
        # Whoever polls already goes on doing so; waiting a few seconds for that would be idle.
        if not error.transient or error.code == "CHANNEL_BUSY" or failures >= self.attempts:
            return None
        delay = self.delay(failures, chance, error.retry_after)
        return delay if waited + delay <= self.patience else None
