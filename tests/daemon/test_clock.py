"""A clock that jumps: what waits goes on, in order, and nothing is given up or removed by its word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from io import BytesIO
from pathlib import Path

import pytest

from energycomm.backoffice.notification import Failure, Notification, tell_all
from energycomm.daemon.clock import BELIEVED, TOLERANCE, ClockWatch
from energycomm.daemon.housekeeping import Housekeeping
from energycomm.kernel import instants
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.rows import moments
from tests.daemon.conftest import Office
from tests.daemon.test_outbox import messages, states

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
JUMPS = [HOUR, -HOUR, 6 * HOUR, -6 * HOUR, YEAR, -YEAR]


class Clocks:
    """A wall clock that can be set, and the even time."""

    def __init__(self) -> None:
        self.even, self.off = 1000.0, 1.7e9

    def watch(self) -> ClockWatch:
        return ClockWatch(lambda: int((self.even + self.off) * 1e6), lambda: self.even)

    def wall(self) -> int:
        return int((self.even + self.off) * 1e6)


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The clock that the whole program reads, `by` seconds off."""
    told = {"by": 0.0}

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz or UTC) + timedelta(seconds=told["by"])

    monkeypatch.setattr(instants, "datetime", Jumping)
    return told


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_jump_is_told_until_the_clock_is_right_again(seconds: float) -> None:
    clocks = Clocks()
    watch = clocks.watch()
    assert watch.trouble(0) is None
    clocks.off += seconds
    clocks.even += 60
    words = watch.trouble(0)
    assert words is not None
    assert ("forward" if seconds > 0 else "back") in words
    assert f"{abs(seconds):.0f} s" in words
    clocks.off -= seconds
    clocks.even += 60
    assert watch.trouble(0) is None


def test_a_clock_that_stays_where_it_went_is_believed_after_a_day() -> None:
    clocks = Clocks()
    watch = clocks.watch()
    clocks.off += YEAR
    assert watch.trouble(0) is not None
    clocks.even += BELIEVED - 60
    assert watch.trouble(0) is not None
    clocks.even += 120
    assert watch.trouble(0) is None
    clocks.off -= YEAR
    assert watch.trouble(0) is not None


def test_a_clock_that_is_corrected_a_little_at_a_time_is_believed() -> None:
    clocks = Clocks()
    watch = clocks.watch()
    for _ in range(100):
        clocks.even += 60
        clocks.off += TOLERANCE / 2
        assert watch.trouble(0) is None


def test_a_clock_that_is_behind_the_store_is_not_believed_from_the_first_look() -> None:
    """As after a start with an empty battery: there is nothing that it jumped from."""
    clocks = Clocks()
    watch = clocks.watch()
    assert watch.trouble(clocks.wall() + int(YEAR * 1e6)) is not None
    assert watch.trouble(clocks.wall()) is None


@pytest.mark.parametrize("seconds", [400 * 24 * HOUR, -400 * 24 * HOUR])
def test_the_calendar_rests_while_the_clock_is_wrong(
    office: Office, jump: dict[str, float], seconds: float, tmp_path: Path
) -> None:
    """Raw bytes of today are not removed because it is next year for an hour; nothing that waits is given up."""
    policy = office.config.retention.model_copy(update={"raw_days": 365})
    office.desk.config = office.config.model_copy(update={"retention": policy})
    office.gateway.inbound.archive([(BytesIO(b"content"), "a.txt")], "test")
    messages(office, (1, "a"))
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'")
        tx.driver.run("UPDATE kernel_message SET state = 'quarantined', waits_until = ?", (now_micros() + 60_000_000,))
    tidy = Housekeeping(office.desk, office.gateway.rules_version_id)
    assert office.desk.locks.take(tidy.key)
    jump["by"] = seconds
    tidy.turn()
    assert office.notes.alarms() == [("CLOCK_JUMPED", True)]
    assert office.rows("SELECT count(*) FROM raw_chunk") == [(1,)]
    assert office.rows("SELECT state FROM kernel_message") == [("quarantined",)]
    jump["by"] = 0.0
    tidy.turn()
    assert office.notes.alarms()[-1] == ("CLOCK_JUMPED", False)
    assert office.rows("SELECT count(*) FROM purge") == [(0,)]


def test_the_calendar_would_do_it_were_the_clock_believed(office: Office, jump: dict[str, float]) -> None:
    """The same store, a daemon that begins on that day: it is the watch that kept it."""
    policy = office.config.retention.model_copy(update={"raw_days": 365})
    office.desk.config = office.config.model_copy(update={"retention": policy})
    office.gateway.inbound.archive([(BytesIO(b"content"), "a.txt")], "test")
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'")
    jump["by"] = 400 * 24 * HOUR
    tidy = Housekeeping(office.desk, office.gateway.rules_version_id)
    assert office.desk.locks.take(tidy.key)
    tidy.turn()
    assert office.rows("SELECT count(*) FROM raw_chunk") == [(0,)]


class Silent:
    """A target that nobody listens at, then somebody."""

    def __init__(self) -> None:
        self.listening, self.told = False, list[int]()

    def tell(self, notification: Notification) -> Failure | None:
        if not self.listening:
            return Failure("target", "nobody listens", retry_after=90 * 24 * HOUR)
        self.told.append(notification.id)
        return None


@pytest.mark.parametrize("seconds", [6 * HOUR, YEAR])
def test_what_was_put_off_by_a_clock_that_was_ahead_does_not_wait_for_that_time(
    office: Office, jump: dict[str, float], seconds: float
) -> None:
    messages(office, (1, "a"))
    target = Silent()
    jump["by"] = seconds
    tell_all(office.store, target)
    jump["by"] = 0.0
    target.listening = True
    assert tell_all(office.store, target).sent == 1
    assert states(office) == ["sent"]


def test_what_is_told_of_a_message_keeps_its_order_when_the_clock_is_put_back(office: Office) -> None:
    """The withdrawal that is told an hour earlier by the clock comes after the acceptance all the same."""
    messages(office, (1, "accepted"))
    ((message_id, told_at),) = office.rows("SELECT message_id, at FROM outbox")
    with office.store.transaction() as tx:
        assert moments(tx, [message_id], told_at - 3_600_000_000) == {message_id: told_at + 1}
        assert moments(tx, [message_id], told_at + 5) == {message_id: told_at + 5}
