"""The primary of two PostgreSQL servers dies in the middle of the work; the standby goes on, and nothing shows it."""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, text

from energycomm.config import Config
from energycomm.daemon.locks import AdvisoryLocks
from energycomm.daemon.worker import Worker
from energycomm.eis import migrations
from energycomm.eis.comparison import canonical
from energycomm.eis.database import is_lost, opened, reading, writing
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.daemon.chaos_judgement import compare
from tests.daemon.conftest import Notes
from tests.daemon.test_daemon import until
from tests.replication import Pair, replicating

KEEPALIVES = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with replicating() as made:
        yield made


def arriving(folder: Path, points: int, months: int) -> list[Path]:
    """Envelopes of a simulated French life, in the order that they were made."""
    simulator = load_simulator("FR")
    assert simulator is not None
    simulator.simulate(Scenario(points, months, 1, per_file=20), folder / "sim")
    return sorted((folder / "sim" / "envelopes").iterdir())


def done(pair: Pair, name: str) -> tuple[int, int]:
    """How many contents are finished, and how many envelopes are not; nothing where nobody answers."""
    query = (
        "SELECT count(DISTINCT sha256) FILTER (WHERE state = 'done'), "
        "count(*) FILTER (WHERE state IN ('archived', 'processing')) FROM envelope"
    )
    try:
        with psycopg.connect(pair.primary.conninfo(), dbname=name, connect_timeout=2) as connection:
            ((finished, waiting),) = connection.execute(query).fetchall()
    except psycopg.OperationalError:
        return 0, 0
    return finished, waiting


def _midway(pair: Pair, name: str, before: int) -> bool:
    finished, waiting = done(pair, name)
    return finished > before and waiting > 0


@contextlib.contextmanager
def working(config: Config, notes: Notes) -> Iterator[None]:
    """Two workers with all their duties, in threads of this process."""
    stop = threading.Event()
    threads = [threading.Thread(target=Worker(str(n), config, notes, stop).run) for n in (1, 2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def work_through(pair: Pair, folder: Path, envelopes: list[Path], failovers: int) -> None:
    """Let two workers take envelopes in while the primary dies, and hold its store against a quiet one."""
    name = pair.primary.create_database()
    url = pair.url(name)
    with opened(url) as engine:
        migrations.upgrade(engine)
    for place in ("in", "told"):
        (folder / place).mkdir()
    config = Config.model_validate(
        {
            "database": url,
            "batch_size": 5,
            "daemon": {"poll_seconds": 0.2, "send_seconds": 0.2, "attempts": 1000},
            "notify": {"folder": str(folder / "told")},
            "channels": [
                {
                    "name": "drop",
                    "market": "FR",
                    "direction": "in",
                    "kind": "folder",
                    "path": str(folder / "in"),
                    "settle": 0,
                }
            ],
        }
    )
    rng, notes = random.Random(3), Notes()
    with working(config, notes):
        for number in range(failovers):
            for path in envelopes[number::failovers]:
                shutil.copy(path, folder / path.name)
                (folder / path.name).rename(folder / "in" / path.name)
            before = sum(len(envelopes[n::failovers]) for n in range(number))
            until(partial(_midway, pair, name, before))
            time.sleep(rng.uniform(0, 0.2))
            pair.fail_over()
            if number + 1 < failovers:
                pair.heal()
        until(lambda: done(pair, name) == (len(envelopes), 0))
        with opened(url) as engine, reading(engine) as connection:
            waiting = text("SELECT count(*) FROM outbox WHERE state <> 'sent'")
            until(lambda: connection.execute(waiting).scalar() == 0)
    assert ("DATABASE_LOST", True) in notes.alarms(), "the failover came when nobody worked"
    assert ("DUTY_FAULT", True) not in notes.alarms()
    assert notes.counted("energycomm_envelope_faults") == {}
    quiet = f"sqlite:///{folder}/quiet.db"
    with opened(quiet) as engine:
        migrations.upgrade(engine)
        inbound = Gateway(Config.model_validate({"database": quiet}), Store(engine)).inbound
        total(inbound.take(inbound.in_order(envelopes), "drop"))
        meaning = canonical(engine, carriers=False)
    found = compare(url, meaning, folder / "told")
    assert found.differences == []
    assert found.told > 0


def test_a_standby_gives_no_lock(pair: Pair) -> None:
    """It would give one to each host that asks another server."""
    server = pair.standby
    with opened(f"postgresql://postgres@{server.host}:{server.port}/postgres") as engine:
        locks = AdvisoryLocks(engine)
        with pytest.raises(UserError) as lost:
            locks.take("poll/enedis")
        assert is_lost(lost.value)
        assert not locks.holds("poll/enedis")
        locks.close()


def test_the_server_that_is_written_to_is_found_and_left_when_it_is_no_more(pair: Pair) -> None:
    """Sessions that end and a server that can only be read are a lost database, until the next one is found."""
    url = pair.url("postgres")
    with opened(url) as engine:
        with writing(engine) as connection:
            connection.execute(text("CREATE TABLE probe (n int)"))
            shown = [connection.execute(text(f"SHOW {name}")).scalar() for name in KEEPALIVES]
        assert shown == ["10", "5", "3", "25000"]
        with pytest.raises(UserError) as lost:
            _write_where_only_reading_is_allowed(engine)
        assert is_lost(lost.value)
        pair.fail_over()
        with contextlib.suppress(UserError), writing(engine):
            pass
        with writing(engine) as connection:
            connection.execute(text("INSERT INTO probe VALUES (2)"))
        with reading(engine) as connection:
            assert connection.execute(text("SELECT n FROM probe")).scalars().all() == [2]
    pair.heal()


def _write_where_only_reading_is_allowed(engine: Engine) -> None:
    """A switch-over behind an address that stays: the session lives on, and is one that may only read."""
    with writing(engine) as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        connection.execute(text("INSERT INTO probe VALUES (1)"))


def test_a_failover_in_the_middle_of_the_work_loses_nothing_and_does_nothing_twice(pair: Pair, tmp_path: Path) -> None:
    """kill -9 of the primary, promotion of the standby; the workers go on by themselves."""
    work_through(pair, tmp_path, arriving(tmp_path, 2, 1), 1)


@pytest.mark.slow
def test_six_failovers_to_and_fro_lose_nothing(pair: Pair, tmp_path: Path) -> None:
    """The server that died follows the other one anew each time, and takes its place again."""
    work_through(pair, tmp_path, arriving(tmp_path, 30, 12), 6)
