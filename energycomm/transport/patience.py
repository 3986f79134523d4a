"""A channel with patience: tries again with growing waits, leaves a broken one alone, and keeps to a pace.

How patient it is stands in its settings (`ChannelSetting`). Only technical errors are tried again, never an answer.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, Protocol, TypeVar

import msgspec

from energycomm.logs import Log
from energycomm.transport.channel import Arrival, Channel, Direction, Incoming, Outgoing, Sending, Sent, TechnicalError
from energycomm.transport.settings import ChannelSetting

log = Log()

BreakerState = Literal["closed", "open", "half-open"]

ABOUT_ONE_ITEM: Final = frozenset({"CHANNEL_CONFLICT", "CHANNEL_REFUSED", "CHANNEL_TOO_LARGE"})
"""Codes that say nothing of the channel: the next message may well pass."""

AT_ONCE: Final = frozenset({"CHANNEL_CONFIG", "CHANNEL_HOST_KEY", "CHANNEL_LOGIN", "CHANNEL_TLS"})
"""Codes that open the circuit at the first time: repeated logins lock accounts."""

IGNORED: Final = frozenset({"CHANNEL_BUSY", "CHANNEL_LIMITED", "CHANNEL_OPEN"})
"""Codes of a channel that works."""


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


def delay(setting: ChannelSetting, failures: int, chance: float, asked: float | None = None) -> float:
    """Seconds to wait after so many failures in a row.

    Args:
      setting: of the channel.
      failures: 1 after the first failure.
      chance: a random number from 0 to 1.
      asked: seconds that the other side asked for; never less than that.
    """
    # The exponent is bounded: a float overflows long before a market comes back.
    whole = min(setting.longest_wait, setting.first_wait * setting.wait_factor ** min(failures - 1, 64))
    return max(whole * (1 - setting.jitter * chance), asked or 0.0)


def next_delay(
    setting: ChannelSetting, error: TechnicalError, failures: int, waited: float, chance: float
) -> float | None:
    """Seconds to wait before the next attempt; None to give up.

    Args:
      setting: of the channel.
      error: what the last attempt ended with.
      failures: attempts that failed so far.
      waited: seconds waited so far.
      chance: a random number from 0 to 1.
    """
    # Whoever polls already goes on doing so; waiting a few seconds for that would be idle.
    if not error.transient or error.code == "CHANNEL_BUSY" or failures >= setting.attempts:
        return None
    seconds = delay(setting, failures, chance, error.retry_after)
    return seconds if waited + seconds <= setting.patience else None


class CircuitBreaker:
    """The state of one channel: closed (attempts pass), open (none does), half-open (one does).

    Args:
      setting: of the channel: after how many failures in a row it opens, for how long.
      clock: the time.
    """

    def __init__(self, setting: ChannelSetting, clock: Clock) -> None:
        self._setting, self._clock = setting, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = setting.break_for
        self._opened_at: float | None = None
        self._trial_since: float | None = None
        self._cause: TechnicalError | None = None

    @property
    def cause(self) -> TechnicalError | None:
        """The error that came last."""
        with self._lock:
            return self._cause

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
            self._failures, self._pause = 0, self._setting.break_for
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
            self._cause = error
            if self._opened_at is not None:
                # The one attempt failed: twice the pause.
                self._pause = min(self._pause * 2, self._setting.break_longest)
            elif self._failures < self._setting.break_after and error.code not in AT_ONCE:
                return
            self._opened_at, self._trial_since = self._clock.now(), None

    def try_now(self) -> None:
        """Let one attempt pass, however long the channel was to be left alone."""
        with self._lock:
            if self._opened_at is not None:
                self._opened_at, self._trial_since = self._clock.now() - self._pause, None

    def _left(self) -> float:
        """Seconds until the next attempt may be made."""
        assert self._opened_at is not None
        return max(0.0, self._opened_at + self._pause - self._clock.now())


Either = TypeVar("Either", bound=Channel)


class Guarded(Generic[Either]):
    """What both directions share.

    Args:
      channel: the channel itself: each call is one attempt.
      setting: its settings.
      clock: the time.
      chance: gives random numbers from 0 to 1.
    """

    def __init__(
        self, channel: Either, setting: ChannelSetting, clock: Clock, chance: Callable[[], float] = random.random
    ) -> None:
        self.channel: Either = channel
        self.name, self.market = channel.name, channel.market
        self._setting, self._clock, self._chance = setting, clock, chance
        self.breaker = CircuitBreaker(setting, clock)
        self._gap = 60 / setting.per_minute if setting.per_minute else 0.0
        self._next = clock.now()

    def state(self) -> BreakerState:
        """State of the circuit breaker."""
        return self.breaker.state()

    def check(self) -> str | TechnicalError:
        """Test the channel itself, once, regardless of the breaker."""
        return self.channel.check()

    def close(self) -> None:
        """Close the channel itself."""
        self.channel.close()

    def _enter(self) -> TechnicalError | None:
        """Wait for the pace, then ask the breaker; the error when the attempt may not be made."""
        now = self._clock.now()
        due = max(self._next, now)
        self._next = due + self._gap
        if due > now and not self._clock.sleep(due - now):
            return TechnicalError(code="CHANNEL_OPEN", channel=self.name, detail="the process stops")
        left = self.breaker.enter()
        if left <= 0:
            return None
        cause = self.breaker.cause
        why = f"{cause.code}: {cause.detail}" if cause is not None else "it failed"
        detail = f"{why}; left alone for {left:.0f} more seconds"
        return TechnicalError(code="CHANNEL_OPEN", channel=self.name, detail=detail, retry_after=left, cause=cause)

    def _again(self, error: TechnicalError, failures: int, waited: float) -> float | None:
        """Report a failure and wait; the seconds waited, None to give up."""
        self.breaker.failed(error)
        seconds = next_delay(self._setting, error, failures, waited, self._chance())
        if seconds is None or self.breaker.state() == "open":
            return None
        log.warning("channel.retry", channel=error.channel, code=error.code, detail=error.detail, seconds=seconds)
        return seconds if self._clock.sleep(seconds) else None


class GuardedIn(Guarded[Incoming]):
    """An incoming channel with patience. `poll` tries again only while it has yielded nothing."""

    direction: Direction = "in"

    @property
    def more(self) -> bool:
        """Whether more can be polled as soon as the arrivals of the last poll are acknowledged."""
        return bool(getattr(self.channel, "more", False))

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """As the channel's own, after as many attempts as the policy allows."""
        failures, waited = 0, 0.0
        while True:
            refused = self._enter()
            if refused is not None:
                yield refused
                return
            given, error = False, None
            for item in self.channel.poll():
                if isinstance(item, TechnicalError) and item.item is None:
                    error = item
                    break
                if not given:
                    self.breaker.succeeded()
                given = True
                yield item
            if error is None:
                self.breaker.succeeded()
                return
            failures += 1
            delay = self._again(error, failures, waited) if not given else None
            if delay is None:
                if given:
                    self.breaker.failed(error)
                yield error
                return
            waited += delay


class GuardedOut(Guarded[Sending]):
    """An outgoing channel with patience: the same bytes at every attempt."""

    direction: Direction = "out"

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """As the channel's own, after as many attempts as the policy allows.

        Returns:
          Where the last attempt failed its error, `maybe_sent` when any attempt may have arrived.
        """
        failures, waited, maybe_sent = 0, 0.0, False
        last: TechnicalError | None = None
        while True:
            refused = self._enter()
            if refused is not None:
                # What went wrong says more than that the breaker is open now.
                return msgspec.structs.replace(last or refused, maybe_sent=maybe_sent)
            outcome = self.channel.send(message)
            if isinstance(outcome, Sent):
                self.breaker.succeeded()
                return outcome
            maybe_sent = maybe_sent or outcome.maybe_sent
            failures, last = failures + 1, outcome
            delay = self._again(outcome, failures, waited)
            if delay is None:
                return msgspec.structs.replace(outcome, maybe_sent=maybe_sent)
            waited += delay


def try_now(channel: object) -> None:
    """Let one attempt of a channel with patience pass, however long it was to be left alone."""
    if isinstance(channel, Guarded):
        channel.breaker.try_now()
