"""Who leads a duty: it is begun anew after the lead was lost, and left to others where what it needs fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from energycomm.config import Config
from energycomm.daemon.duties import Desk, Duty, OutsideDuty
from energycomm.daemon.locks import open_locks
from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from tests.daemon.conftest import Notes
from tests.daemon.test_daemon import until
from tests.postgres import PostgresServer


@contextmanager
def desks(url: str, number: int) -> Iterator[list[Desk]]:
    """Desks of so many hosts over one database."""
    config = Config.model_validate({"database": url, "daemon": {"poll_seconds": 0.05}})
    with opened(url) as engine:
        migrations.upgrade(engine)
        stop = threading.Event()
        made = [Desk(config, Store(engine), open_locks(engine), Notes(), stop, str(n)) for n in range(number)]
        yield made
        for desk in made:
            desk.locks.close()


@contextmanager
def at_work(*duties: Duty) -> Iterator[None]:
    """Duties in their threads, until the end of the block."""
    for duty in duties:
        duty.start()
    try:
        yield
    finally:
        duties[0].desk.stop.set()
        for duty in duties:
            duty.join()


class Work(Duty):
    """Has something at hand from its first turn on."""

    def __init__(self, desk: Desk, key: str, every: float = 0.05) -> None:
        super().__init__(desk, key, every)
        self.at_hand, self.told = False, [""]

    def turn(self) -> float | None:
        """Say with what it begins."""
        self.told.append("goes on" if self.at_hand else "begins")
        self.at_hand = True
        return None

    def rest(self) -> None:
        """Let go."""
        self.at_hand = False


@pytest.mark.thorough
def test_a_lead_that_was_lost_and_won_again_begins_anew(postgres: PostgresServer) -> None:
    """All duties of a worker lose their locks at once, and the first that asks opens a new session for all of them:
    one that slept meanwhile must not take itself for the leader that it was."""
    name = postgres.create_database()
    with desks(postgres.url(name), 1) as (desk,):
        sleeper, other = Work(desk, "sleeper", 2.5), Work(desk, "other")
        with at_work(sleeper, other):
            until(lambda: sleeper.told[-1] == "begins" and other.told[-1] == "goes on")
            with psycopg.connect(postgres.url(name).replace("+psycopg", "")) as connection:
                query = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = %s"
                (database,) = connection.execute(
                    "SELECT oid FROM pg_database WHERE datname = current_database()"
                ).fetchone() or (0,)
                assert connection.execute(query, (database,)).fetchall()
            until(lambda: other.told.count("begins") == 2)
            until(lambda: len(sleeper.told) > 2)
        assert sleeper.told[1:3] == ["begins", "begins"]
    postgres.drop_database(name)


class Reach(OutsideDuty):
    """Needs something that not every host reaches."""

    def __init__(self, desk: Desk, there: Callable[[], bool]) -> None:
        super().__init__(desk, "poll/far", 0.02, "far")
        self.there, self.turns = there, 0

    def turn(self) -> float | None:
        """Try it."""
        self.turns += 1
        if self.there():
            self.works()
        else:
            self.fails("no route to host")
        return None


@pytest.mark.thorough
def test_what_a_host_cannot_reach_is_left_to_another_one(postgres: PostgresServer) -> None:
    """After three failures; the alarm says so, and a lone worker goes on trying."""
    name = postgres.create_database()
    with desks(postgres.url(name), 2) as (here, there):
        blind, seeing = Reach(here, lambda: False), Reach(there, lambda: True)
        with at_work(blind):
            until(lambda: blind.turns > 3)
            seeing.start()
            until(lambda: seeing.turns > 3)
            turns = blind.turns
            time.sleep(0.3)
            assert blind.turns == turns
            assert there.leads == {"poll/far"}
        seeing.join()
        assert isinstance(here.report, Notes)
        assert isinstance(there.report, Notes)
        assert ("CHANNEL_FAILING", True) in here.report.alarms()
        assert ("CHANNEL_FAILING", True) not in there.report.alarms()
    postgres.drop_database(name)


@pytest.mark.thorough
def test_an_alarm_ends_when_another_worker_has_led_for_longer_than_it_would_fail(postgres: PostgresServer) -> None:
    """Until then nobody knows whether the channel works for the other one."""
    name = postgres.create_database()
    with desks(postgres.url(name), 1) as (desk,):
        duty = Reach(desk, lambda: False)
        for _ in range(3):
            duty.fails("no route to host")
        duty.led_by_another()
        assert isinstance(desk.report, Notes)
        assert desk.report.alarms()[-1] == ("CHANNEL_FAILING", True)
        assert duty._elsewhere is not None
        duty._elsewhere -= 61
        duty.led_by_another()
        assert desk.report.alarms()[-1] == ("CHANNEL_FAILING", False)
    postgres.drop_database(name)
