"""A channel with patience: tries again with growing waits, leaves a broken one alone, and keeps to a pace."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import msgspec
import structlog

from energycomm.transport.breaker import BreakerState, CircuitBreaker
from energycomm.transport.channel import Arrival, Direction, Incoming, Outgoing, Sending, Sent, TechnicalError
from energycomm.transport.retry import Clock, RetryPolicy

log = structlog.get_logger()


class Pace:
    """At most so many attempts a minute, evenly spread.

    Args:
      clock: the time.
      per_minute: attempts a minute; None for no limit.
    """

    def __init__(self, clock: Clock, per_minute: float | None = None) -> None:
        self._clock = clock
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = clock.now()

    def wait(self) -> bool:
        """Wait for the next attempt's time; False when the process is to stop."""
        now = self._clock.now()
        due = max(self._next, now)
        self._next = due + self._gap
        return due <= now or self._clock.sleep(due - now)


class Guard:
    """What both directions share.

    Args:
      policy: when to try again.
      breaker: when to leave the channel alone.
      clock: the time.
      pace: how fast attempts may follow each other.
      chance: gives random numbers from 0 to 1.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        breaker: CircuitBreaker,
        clock: Clock,
        pace: Pace | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.policy, self.breaker, self.clock, self.chance = policy, breaker, clock, chance
        self.pace = pace or Pace(clock)

    def enter(self, channel: str) -> TechnicalError | None:
        """Wait for the pace, then ask the breaker; the error when the attempt may not be made."""
        if not self.pace.wait():
            return TechnicalError(code="CHANNEL_OPEN", channel=channel, detail="the process stops")
        left = self.breaker.enter()
        if left <= 0:
            return None
        detail = f"left alone for {left:.0f} more seconds after it failed several times"
        return TechnicalError(code="CHANNEL_OPEN", channel=channel, detail=detail, retry_after=left)

    def again(self, error: TechnicalError, failures: int, waited: float) -> float | None:
        """Report a failure and wait; the seconds waited, None to give up."""
        self.breaker.failed(error)
        delay = self.policy.next_delay(error, failures, waited, self.chance())
        if delay is None or self.breaker.state() == "open":
            return None
        log.warning("channel.retry", channel=error.channel, code=error.code, detail=error.detail, seconds=delay)
        return delay if self.clock.sleep(delay) else None


class GuardedIn:
    """An incoming channel with patience. `poll` tries again only while it has yielded nothing."""

    direction: Direction = "in"

    def __init__(self, channel: Incoming, guard: Guard) -> None:
        self.channel, self.guard = channel, guard
        self.name, self.market = channel.name, channel.market

    def state(self) -> BreakerState:
        """State of the circuit breaker."""
        return self.guard.breaker.state()

    @property
    def more(self) -> bool:
        """Whether more can be polled as soon as the arrivals of the last poll are acknowledged."""
        return bool(getattr(self.channel, "more", False))

    def check(self) -> str | TechnicalError:
        """Test the channel itself, once, regardless of the breaker."""
        return self.channel.check()

    def close(self) -> None:
        """Close the channel itself."""
        self.channel.close()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """As the channel's own, after as many attempts as the policy allows."""
        failures, waited = 0, 0.0
        while True:
            refused = self.guard.enter(self.name)
            if refused is not None:
                yield refused
                return
            given, error = False, None
            for item in self.channel.poll():
                if isinstance(item, TechnicalError) and item.item is None:
                    error = item
                    break
                if not given:
                    self.guard.breaker.succeeded()
                given = True
                yield item
            if error is None:
                self.guard.breaker.succeeded()
                return
            failures += 1
            delay = self.guard.again(error, failures, waited) if not given else None
            if delay is None:
                if given:
                    self.guard.breaker.failed(error)
                yield error
                return
            waited += delay


class GuardedOut:
    """An outgoing channel with patience: the same bytes at every attempt."""

    direction: Direction = "out"

    def __init__(self, channel: Sending, guard: Guard) -> None:
        self.channel, self.guard = channel, guard
        self.name, self.market = channel.name, channel.market

    def state(self) -> BreakerState:
        """State of the circuit breaker."""
        return self.guard.breaker.state()

    def check(self) -> str | TechnicalError:
        """Test the channel itself, once, regardless of the breaker."""
        return self.channel.check()

    def close(self) -> None:
        """Close the channel itself."""
        self.channel.close()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """As the channel's own, after as many attempts as the policy allows.

        Returns:
          Where the last attempt failed its error, `maybe_sent` when any attempt may have arrived.
        """
        failures, waited, maybe_sent = 0, 0.0, False
        last: TechnicalError | None = None
        while True:
            refused = self.guard.enter(self.name)
            if refused is not None:
                # What went wrong says more than that the breaker is open now.
                return msgspec.structs.replace(last or refused, maybe_sent=maybe_sent)
            outcome = self.channel.send(message)
            if isinstance(outcome, Sent):
                self.guard.breaker.succeeded()
                return outcome
            maybe_sent = maybe_sent or outcome.maybe_sent
            failures, last = failures + 1, outcome
            delay = self.guard.again(outcome, failures, waited)
            if delay is None:
                return msgspec.structs.replace(outcome, maybe_sent=maybe_sent)
            waited += delay
