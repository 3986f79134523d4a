"""Patience of channels: what is tried again, when, how often, and when a channel is left alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from energycomm.transport.channel import Arrival, Sent, TechnicalError
from energycomm.transport.patience import CircuitBreaker, GuardedIn, GuardedOut, SystemClock, delay, next_delay
from energycomm.transport.settings import ChannelSetting
from tests.transport.arrivals import Message
from tests.transport.memory import MemoryIn, MemoryOut


class TestClock:
    """A clock that passes only when somebody waits."""

    __test__ = False

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []
        self.stops = False

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> bool:
        self.time += seconds
        self.waits.append(seconds)
        return not self.stops


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


def fault(
    code: str = "CHANNEL_BROKEN", *, maybe_sent: bool = False, retry_after: float | None = None
) -> TechnicalError:
    return TechnicalError(code=code, channel="c", detail="as told", maybe_sent=maybe_sent, retry_after=retry_after)


def setting(**changes: float | None) -> ChannelSetting:
    plain = {"jitter": 0.0, "first_wait": 1.0, "wait_factor": 2.0, "break_after": 100, **changes}
    return ChannelSetting.model_validate({"name": "c", "market": "XX", "direction": "out", **plain})


@given(failures=some.integers(1, 10_000), chance=some.floats(0, 1), jitter=some.floats(0, 1))
def test_a_wait_is_never_longer_than_the_longest_and_never_negative(
    failures: int, chance: float, jitter: float
) -> None:
    """Chance shortens waits, so that clients do not come back together."""
    policy = setting(wait_factor=3, longest_wait=60, jitter=jitter)
    whole = min(60.0, 3.0 ** min(failures - 1, 60))
    assert whole * (1 - jitter) - 1e-9 <= delay(policy, failures, chance) <= whole


def test_waits_grow_and_the_other_sides_wish_is_kept() -> None:
    """Twice as long each time; never less than Retry-After; not at all where that is beyond our patience."""
    policy = setting(longest_wait=5, patience=20, attempts=9)
    assert [delay(policy, n, 0.3) for n in range(1, 6)] == [1, 2, 4, 5, 5]
    assert next_delay(policy, fault("CHANNEL_SERVER", retry_after=12), 1, 0, 0) == 12
    assert next_delay(policy, fault("CHANNEL_SERVER", retry_after=21), 1, 0, 0) is None
    assert next_delay(policy, fault("CHANNEL_SERVER"), 1, 19.5, 0) is None


def test_a_flapping_channel_is_tried_again_with_the_same_bytes(clock: TestClock) -> None:
    """Two faults, then it passes; the message is there once."""
    out = MemoryOut()
    out.faults.extend([fault(), fault("CHANNEL_TIMEOUT", maybe_sent=True)])
    sent = GuardedOut(out, setting(), clock).send(Message())
    assert isinstance(sent, Sent)
    assert out.attempts == ["r1", "r1", "r1"]
    assert list(out.sent) == ["r1"]
    assert clock.waits == [1.0, 2.0]


@pytest.mark.parametrize("code", ["CHANNEL_LOGIN", "CHANNEL_HOST_KEY", "CHANNEL_TLS", "CHANNEL_REFUSED"])
def test_what_a_person_must_put_right_is_not_tried_again(clock: TestClock, code: str) -> None:
    """One attempt, no wait."""
    out = MemoryOut()
    out.faults.append(fault(code))
    outcome = GuardedOut(out, setting(), clock).send(Message())
    assert isinstance(outcome, TechnicalError)
    assert (outcome.code, out.attempts, clock.waits) == (code, ["r1"], [])


def test_an_attempt_that_may_have_arrived_is_not_forgotten(clock: TestClock) -> None:
    """A later attempt that surely failed does not make the first one surely failed."""
    out = MemoryOut()
    out.faults.extend([fault(maybe_sent=True), fault(), fault(), fault()])
    outcome = GuardedOut(out, setting(), clock).send(Message())
    assert isinstance(outcome, TechnicalError)
    assert outcome.maybe_sent


def test_polling_is_tried_again_until_something_came(clock: TestClock) -> None:
    """Faults before the first arrival are waited out."""
    channel = MemoryIn()
    channel.put("a", b"1")
    channel.faults.extend([fault(), fault()])
    assert [type(item) for item in GuardedIn(channel, setting(), clock).poll()] == [Arrival]


def test_a_fault_after_arrivals_ends_the_poll(clock: TestClock) -> None:
    """What was yielded is being worked on; the next poll goes on."""

    class Breaking(MemoryIn):
        def poll(self) -> Iterator[Arrival | TechnicalError]:
            yield from super().poll()
            yield fault()

    channel = Breaking()
    channel.put("a", b"1")
    kinds = [type(item) for item in GuardedIn(channel, setting(), clock).poll()]
    assert kinds == [Arrival, TechnicalError]
    assert clock.waits == []


def test_after_several_failures_a_channel_is_left_alone_then_tried_once(clock: TestClock) -> None:
    """Open: no attempt is made. After the pause one is; if it fails the pause is doubled."""
    out = MemoryOut()
    guarded = GuardedOut(out, setting(break_after=3, attempts=1), clock)
    out.faults.extend(fault() for _ in range(4))
    for _ in range(3):
        guarded.send(Message())
    assert guarded.state() == "open"
    refused = guarded.send(Message())
    assert isinstance(refused, TechnicalError)
    assert (refused.code, refused.retry_after, len(out.attempts)) == ("CHANNEL_OPEN", 30.0, 3)
    assert fault().detail in refused.detail
    assert fault().code in refused.detail
    clock.time += 30
    assert guarded.state() == "half-open"
    assert isinstance(guarded.send(Message()), TechnicalError)
    assert len(out.attempts) == 4
    clock.time += 59
    assert guarded.state() == "open"
    clock.time += 1
    assert isinstance(guarded.send(Message()), Sent)
    assert guarded.state() == "closed"


def test_only_one_attempt_is_made_while_half_open(clock: TestClock) -> None:
    """Others wait for what becomes of it; one that never reports does not block for ever."""
    breaker = CircuitBreaker(setting(break_after=1, break_for=10), clock)
    breaker.failed(fault())
    clock.time = 10
    assert breaker.enter() == 0
    assert breaker.enter() == 10
    clock.time = 20
    assert breaker.enter() == 0


def test_a_refused_login_opens_the_circuit_at_once_and_a_refused_message_never(clock: TestClock) -> None:
    """Repeated logins lock accounts; a bad message says nothing of the channel."""
    breaker = CircuitBreaker(setting(break_after=3), clock)
    for _ in range(10):
        breaker.failed(fault("CHANNEL_REFUSED"))
    assert breaker.state() == "closed"
    breaker.failed(fault("CHANNEL_LOGIN"))
    assert breaker.state() == "open"


def test_messages_keep_to_the_pace(clock: TestClock) -> None:
    """Thirty a minute: two seconds between them."""
    guarded = GuardedOut(MemoryOut(), setting(per_minute=30), clock)
    for number in range(4):
        assert isinstance(guarded.send(Message(reference=str(number))), Sent)
    assert clock.time == 6.0


def test_a_stop_ends_the_wait(clock: TestClock) -> None:
    """SIGTERM is not kept waiting by a market that is down."""
    clock.stops = True
    out = MemoryOut()
    out.faults.extend([fault(), fault()])
    assert isinstance(GuardedOut(out, setting(), clock).send(Message()), TechnicalError)
    assert len(out.attempts) == 1
    stop = threading.Event()
    stop.set()
    began = time.monotonic()
    assert SystemClock(stop).sleep(30) is False
    assert time.monotonic() - began < 5
