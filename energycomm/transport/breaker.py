"""A circuit breaker: who failed several times in a row is left alone for a while, then tried with one attempt."""

from __future__ import annotations

import threading
from typing import Final, Literal

from energycomm.transport.channel import TechnicalError
from energycomm.transport.retry import Clock

BreakerState = Literal["closed", "open", "half-open"]

ABOUT_ONE_ITEM: Final = frozenset({"CHANNEL_CONFLICT", "CHANNEL_REFUSED", "CHANNEL_TOO_LARGE"})
"""Codes that say nothing of the channel: the next message may well pass."""

AT_ONCE: Final = frozenset({"CHANNEL_CONFIG", "CHANNEL_HOST_KEY", "CHANNEL_LOGIN", "CHANNEL_TLS"})
"""Codes that open the circuit at the first time: repeated logins lock accounts."""

IGNORED: Final = frozenset({"CHANNEL_BUSY", "CHANNEL_LIMITED", "CHANNEL_OPEN"})
"""Codes of a channel that works."""


class CircuitBreaker:
    """The state of one channel: closed (attempts pass), open (none does), half-open (one does).

    Args:
      clock: the time.
      threshold: failures in a row that open it.
      pause: seconds that it stays open the first time; doubled each time that the one attempt fails.
      longest: longest pause in seconds.
    """

    def __init__(self, clock: Clock, threshold: int = 5, pause: float = 30.0, longest: float = 900.0) -> None:
        self._clock, self._threshold, self._first_pause, self._longest = clock, threshold, pause, longest
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = pause
        self._opened_at: float | None = None
        self._trial_since: float | None = None

    def state(self) -> BreakerState:
        """What it lets pass at this moment."""
        with self._lock:
            if self._opened_at is None:
                return "closed"
            return "open" if self._left() > 0 else "half-open"

    def enter(self) -> float:
        """Ask to make an attempt: 0 when it may be made, else the seconds to leave the channel alone.

        Whoever is let in reports with `succeeded` or `failed`. An attempt that never does counts as failed after
        another pause.
        """
        with self._lock:
            if self._opened_at is None:
                return 0.0
            left = self._left()
            if left > 0:
                return left
            now = self._clock.now()
            if self._trial_since is not None and now - self._trial_since < self._pause:
                return self._pause - (now - self._trial_since)
            self._trial_since = now
            return 0.0

    def succeeded(self) -> None:
        """An attempt worked: closed."""
        with self._lock:
            self._failures, self._pause = 0, self._first_pause
            self._opened_at = self._trial_since = None

    def failed(self, error: TechnicalError) -> None:
        """An attempt ended with an error; errors that do not concern the channel count as success."""
        if error.code in IGNORED:
            with self._lock:
                self._trial_since = None
            return
        if error.code in ABOUT_ONE_ITEM:
            self.succeeded()
            return
        with self._lock:
            self._failures += 1
            if self._opened_at is not None:
                self._pause = min(self._pause * 2, self._longest)
            elif self._failures < self._threshold and error.code not in AT_ONCE:
                return
            self._opened_at, self._trial_since = self._clock.now(), None

    def _left(self) -> float:
        """Seconds until the next attempt may be made."""
        assert self._opened_at is not None
        return max(0.0, self._opened_at + self._pause - self._clock.now())
