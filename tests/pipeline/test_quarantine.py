"""Messages that wait too long are given up, and not forgotten."""

from __future__ import annotations

from pathlib import Path

from energycomm.pipeline.quarantine import GIVEN_UP, give_up
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, reading, start

DAY = 86_400_000_000
PRM = "99000000000017"


def test_a_message_that_waited_too_long_is_rejected_with_its_own_code(database_url: str) -> None:
    """After the configured days, and not before."""
    desk = Desk(database_url)
    desk.deliver([reading(PRM, day(31), 1_000_000)])
    assert give_up(desk.store, NOW + 29 * DAY, desk.version) == 0
    assert give_up(desk.store, NOW + 30 * DAY, desk.version) == 1
    assert set(desk.states().values()) == {f"rejected {GIVEN_UP}"}
    assert ("message-rejected",) in desk.rows("SELECT event FROM outbox")


def test_giving_up_twice_does_nothing_the_second_time(tmp_path: Path) -> None:
    """A message is given up once."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading(PRM, day(31), 1_000_000)])
    assert [give_up(desk.store, NOW + 40 * DAY, desk.version) for _ in range(2)] == [1, 0]


def test_a_message_that_was_given_up_is_accepted_when_its_predecessor_comes_after_all(tmp_path: Path) -> None:
    """The start of supply frees it, whenever it comes."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading(PRM, day(31), 1_000_000)])
    give_up(desk.store, NOW + 40 * DAY, desk.version)
    desk.deliver([start(PRM, day(0))])
    assert set(desk.states().values()) == {"accepted"}


def test_a_message_that_was_given_up_stays_so_while_nothing_frees_it(tmp_path: Path) -> None:
    """Another late message of the access point does not send it back to quarantine."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading(PRM, day(31), 1_000_000)])
    give_up(desk.store, NOW + 40 * DAY, desk.version)
    desk.deliver([reading(PRM, day(20), 900_000)], NOW + 41 * DAY)
    assert sorted(desk.states().values()) == ["quarantined", f"rejected {GIVEN_UP}"]
