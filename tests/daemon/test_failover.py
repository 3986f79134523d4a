"""The primary of two PostgreSQL servers dies in the middle of the work; the standby goes on, and nothing shows it."""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from sqlalchemy import Engine, text

from energycomm.config import Config
from energycomm.daemon.locks import AdvisoryLocks
from energycomm.daemon.worker import Worker
from energycomm.eis import migrations
from energycomm.eis.comparison import canonical
from energycomm.eis.database import confirm, is_lost, opened, reading, writing
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.daemon.chaos_judgement import compare
from tests.daemon.conftest import Notes
from tests.daemon.test_daemon import until
from tests.postgres import PostgresServer
from tests.replication import Pair, replicating

SETTLED = ("done", "duplicate", "failed")
"""Where the channel has what was acknowledged to it."""
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


def _finished_more(pair: Pair, name: str, before: int) -> bool:
    return done(pair, name)[0] > before


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


def kill(held: list[Path], pair: Pair, _name: str, folder: Path) -> None:
    """The primary dies among arrivals, so that there is work whatever was done before; the standby takes its place."""
    for path in held:
        deliver(path, folder)
    time.sleep(0.2)
    pair.fail_over()


def deliver(path: Path, folder: Path) -> None:
    """An envelope appears whole in the inbox."""
    shutil.copy(path, folder / path.name)
    (folder / path.name).rename(folder / "in" / path.name)


def cut_off(held: list[Path], pair: Pair, name: str, folder: Path) -> None:
    """The standby takes the place of a primary that lives on, with all workers, for three seconds.

    What was held back arrives then, so that there is work whatever was done before. Its commits wait for a standby that
    follows no more. What ends them lets the cut-off primary show what was never answered: what the workers then read
    must not leave the gateway.
    """
    pair.split()
    try:
        for path in held:
            deliver(path, folder)
        deadline = time.monotonic() + 3
        shown = 0
        while time.monotonic() < deadline:
            query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            ((ended,),) = pair.standby.ask(query)
            shown += ended
            time.sleep(0.05)
        assert shown > 0, "nobody wrote to the server that was cut off"
        with psycopg.connect(pair.primary.conninfo(), dbname=name) as connection:
            kept = {row[0] for row in connection.execute("SELECT name FROM envelope WHERE state = 'done'")}
            told = {row[0] for row in connection.execute("SELECT id FROM outbox WHERE state IN ('sending', 'sent')")}
        acknowledged = {path.name for place in SETTLED for path in (folder / "in" / place).glob("*.zip")}
        assert acknowledged <= kept, "acknowledged, and unknown to the new primary"
        keys = {int(path.stem.rpartition("-")[2]) for path in (folder / "told").glob("*.json")}
        assert keys <= told, "told, and unknown to the new primary"
    finally:
        pair.fence()


Loss = Callable[[Pair, str, Path], None]


def work_through(
    pair: Pair, folder: Path, envelopes: list[Path], losses: Sequence[Loss], held: Sequence[Path] = ()
) -> None:
    """Let two workers take envelopes in while the primary is lost, and hold its store against a quiet one.

    Args:
      pair: the primary and its standby.
      folder: of the inbox.
      envelopes: what is delivered before the primary is lost.
      losses: each loses it once.
      held: what they deliver.
    """
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
        before = 0
        for number, lose in enumerate(losses):
            for path in envelopes[number :: len(losses)]:
                deliver(path, folder)
            until(partial(_finished_more, pair, name, before))
            before = done(pair, name)[0]
            time.sleep(rng.uniform(0, 0.2))
            try:
                lose(pair, name, folder)
            finally:
                pair.heal()
        until(lambda: done(pair, name) == (len(envelopes) + len(held), 0))
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
        total(inbound.take(inbound.in_order([*envelopes, *held]), "drop"))
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


@pytest.mark.thorough
def test_a_failover_in_the_middle_of_the_work_loses_nothing_and_does_nothing_twice(pair: Pair, tmp_path: Path) -> None:
    """kill -9 of the primary, promotion of the standby; the workers go on by themselves."""
    envelopes = arriving(tmp_path, 2, 1)
    half = len(envelopes) // 2
    work_through(pair, tmp_path, envelopes[:half], [partial(kill, envelopes[half:])], envelopes[half:])


@pytest.mark.thorough
def test_a_primary_that_is_cut_off_and_lives_on_acknowledges_and_tells_nothing(pair: Pair, tmp_path: Path) -> None:
    """What is written to it waits for its standby for ever; when it is stopped, everything goes on with the new one."""
    envelopes = arriving(tmp_path, 2, 1)
    held = envelopes[-len(envelopes) // 4 :]
    work_through(pair, tmp_path, envelopes[: -len(held)], [partial(cut_off, held)], held)


def test_what_a_server_shows_is_confirmed_by_its_standby_before_it_counts(pair: Pair) -> None:
    """A session that is ended while its commit waits leaves rows behind that the standby does not have."""
    old = pair.primary
    with opened(f"postgresql://postgres@{old.host}:{old.port}/postgres") as engine:
        with writing(engine) as connection:
            connection.execute(text("CREATE TABLE shown (n int)"))
            assert connection.execute(text("SHOW statement_timeout")).scalar() == "0"
        confirm(engine)
        pair.split()
        writer = threading.Thread(target=_write_in_vain, args=(engine,))
        writer.start()
        _end_waiting(old)
        writer.join()
        with reading(engine) as connection:
            assert connection.execute(text("SELECT n FROM shown")).scalars().all() == [1]
        assert pair.primary.ask("SELECT n FROM shown") == []
        ended = threading.Thread(target=_end_waiting, args=(old,))
        ended.start()
        with pytest.raises(UserError) as lost:
            confirm(engine)
        assert is_lost(lost.value)
        ended.join()
    pair.fence()
    pair.heal()


def _write_in_vain(engine: Engine) -> None:
    with contextlib.suppress(UserError), writing(engine) as connection:
        connection.execute(text("INSERT INTO shown VALUES (1)"))


def _end_waiting(server: PostgresServer) -> None:
    """End the session whose commit waits for a standby."""
    query: LiteralString = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    until(lambda: server.ask(query) == [(True,)])


@pytest.mark.slow
def test_six_failovers_to_and_fro_lose_nothing(pair: Pair, tmp_path: Path) -> None:
    """The server that died follows the other one anew each time, and takes its place again."""
    envelopes = arriving(tmp_path, 30, 12)
    held = envelopes[1::2]
    work_through(pair, tmp_path, envelopes[::2], [partial(kill, held[n::6]) for n in range(6)], held)
