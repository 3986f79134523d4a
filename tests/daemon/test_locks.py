"""One leads; when it dies or loses the database another one does."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from energycomm.daemon.locks import AdvisoryLocks, FileLocks, open_locks
from energycomm.eis.database import opened
from energycomm.errors import UserError
from tests.postgres import PostgresServer


def test_a_lock_is_held_by_one_worker_until_it_is_given_back_or_dies(database_url: str) -> None:
    with opened(database_url) as engine:
        one, other = open_locks(engine), open_locks(engine)
        assert one.take("poll/enedis")
        assert one.take("poll/enedis")
        assert one.holds("poll/enedis")
        assert not other.take("poll/enedis")
        assert not other.holds("poll/enedis")
        one.close()
        # The server lets go of the lock when it has seen the connection end, which may take it a moment.
        deadline = time.monotonic() + 10
        while not other.take("poll/enedis") and time.monotonic() < deadline:
            time.sleep(0.05)
        held = other.holds("poll/enedis")
        other.close()
        assert held


def test_whoever_loses_the_database_holds_nothing_any_more(postgres: PostgresServer) -> None:
    name = postgres.create_database()
    with opened(postgres.url(name)) as engine:
        locks = AdvisoryLocks(engine)
        assert locks.take("envelope/1")
        with psycopg.connect(
            f"host=127.0.0.1 port={postgres.port} user=postgres dbname=postgres", autocommit=True
        ) as c:
            c.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        with pytest.raises(UserError):
            locks.take("envelope/2")
        assert not locks.holds("envelope/1")
        assert locks.take("envelope/1")
        locks.close()


def test_a_second_daemon_on_sqlite_says_once_that_it_waits(tmp_path: Path) -> None:
    first, second = FileLocks(tmp_path / "eis.db"), FileLocks(tmp_path / "eis.db")
    assert first.holder() is not None
    with capture_logs() as said:
        assert second.holder() is None
        assert not second.take("a duty")
        first.close()
        assert second.holder() is not None
    second.close()
    assert [one["event"] for one in said] == ["database.taken", "database.free"]
    assert "another daemon works with this database" in said[0]["why"]
