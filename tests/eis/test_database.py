"""Opening a database: what cannot work is said in words, without a traceback and without the password."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, text

from energycomm.database_address import names_several, read_address, show_address
from energycomm.eis import tables
from energycomm.eis.database import connect, is_lost, opened, reading, shown, writing
from energycomm.eis.datakeys import unlock
from energycomm.eis.migrations import upgrade
from energycomm.eis.store import Store
from energycomm.errors import UserError
from tests.postgres import PostgresServer


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "cannot be read"),
        ("mysql://u:secret@h/db", "not in mysql"),
        ("sqlite://", "needs a file"),
        ("sqlite:////nowhere/at/all/eis.db", "does not exist"),
        ("postgresql://u:secret@127.0.0.1:1/db", "cannot be used"),
        ("postgresql://u:secret@127.0.0.1:1,127.0.0.1:2/db", "cannot be used"),
        ("postgresql://u:secret@127.0.0.1:port/db", "cannot be read"),
        ("postgresql://u:secret@one:5432,:5433/db", "cannot be read"),
        ("postgresql://u:secret@one,two:port/db", "cannot be read"),
    ],
)
def test_an_address_that_does_not_work_is_explained(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        connect(url)
    assert caught.value.advice
    assert caught.value.exit_code == 4
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "eis.db").write_text("these are not the tables you are looking for" * 100)
    with pytest.raises(UserError, match="no SQLite database"):
        connect(f"sqlite:///{tmp_path / 'eis.db'}")


def test_a_reader_does_not_wait_for_a_writer(engine: Engine) -> None:
    """And sees what was committed before."""
    with writing(engine) as writer:
        writer.execute(tables.id_counter.insert().values(name="x", next=1))
        with reading(engine) as reader:
            assert reader.execute(text("SELECT count(*) FROM id_counter")).scalar() == 0
    with reading(engine) as reader:
        assert reader.execute(text("SELECT count(*) FROM id_counter")).scalar() == 1


def test_two_writers_of_a_sqlite_file_wait_for_one_another(tmp_path: Path) -> None:
    """A second writer that has waited long enough is told who is in the way."""
    address = f"sqlite:///{tmp_path / 'eis.db'}"
    with opened(address) as first, opened(address) as second, writing(first):
        with second.connect() as connection:
            connection.exec_driver_sql("PRAGMA busy_timeout = 50")
        with pytest.raises(UserError, match="Another process is writing"), writing(second):
            pass


def test_what_is_committed_outlives_a_killed_process(engine: Engine) -> None:
    """The second transaction was not committed: nothing of it is there, and no id is given twice."""
    script = f"""
import os
from energycomm.eis import tables
from energycomm.eis.database import connect
from energycomm.eis.datakeys import unlock
from energycomm.eis.migrations import upgrade
from energycomm.eis.store import Store
store = Store(connect({engine.url.render_as_string(hide_password=False)!r}))
plain = {{"engine": "parallel", "first_used_at": 0, "catalogue": "{{}}"}}
with store.transaction() as tx:
    ids = tx.reserve(tables.rules_version, 3)
    tx.insert(tables.rules_version, [{{**plain, "id": i, "hash": f"kept {{i}}"}} for i in ids])
with store.transaction() as tx:
    ids = tx.reserve(tables.rules_version, 3)
    tx.insert(tables.rules_version, [{{**plain, "id": i, "hash": f"lost {{i}}"}} for i in ids])
    os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    with Store(engine).transaction() as tx:
        kept = [row[0] for row in tx.driver.rows("SELECT hash FROM rules_version ORDER BY id")]
        ids = [row[0] for row in tx.driver.rows("SELECT id FROM rules_version")]
        assert [name.split()[0] for name in kept] == ["kept"] * 3
        assert not set(tx.reserve(tables.rules_version, 3)) & set(ids)


@pytest.mark.parametrize(
    ("written", "hosts", "ports", "password"),
    [
        ("postgresql://u:p@one:5432,two:5433/db", "one,two", "5432,5433", "p"),
        ("postgresql://u:p@one,two:5433/db", "one,two", ",5433", "p"),
        ("postgresql://u:p@one,two/db?connect_timeout=3", "one,two", None, "p"),
        ("postgresql://u:p@[::1]:5432,[fe80::2]/db", "::1,fe80::2", "5432,", "p"),
        ("postgresql://u:a,b/c:1@one:1,two:2/db", "one,two", "1,2", "a,b/c:1"),
    ],
)
def test_an_address_names_several_servers(written: str, hosts: str, ports: str | None, password: str) -> None:
    """In the form of libpq: https://www.postgresql.org/docs/current/libpq-connect.html, 34.1.1.3."""
    address = read_address(written)
    assert (address.query["host"], address.query.get("port")) == (hosts, ports)
    assert (address.username, address.password, address.database) == ("u", password, "db")
    assert names_several(address)
    assert show_address(address) == written.replace(f":{password}@", ":***@")


@pytest.mark.parametrize(
    "written", ["postgresql://u:a,b@one:5432/db", "postgresql://u:a,b/c@one/db", "sqlite:///a,b/c"]
)
def test_a_comma_elsewhere_is_no_second_server(written: str) -> None:
    assert not names_several(read_address(written))


# PostgreSQL documentation, appendix A: a server that is stopped, crashes, starts, can only be read, or loses the line.
@pytest.mark.parametrize(
    "state", ["57P01", "57P02", "57P03", "57P05", "25006", "08000", "08003", "08006", "08001", "08004", "08P01"]
)
def test_each_error_of_a_failover_is_a_lost_database(postgres_url: str, state: str) -> None:
    """None is the fault of the message at hand: the attempt does not count."""
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'as it happens' USING ERRCODE = '{state}'; END $$"
    with opened(postgres_url) as engine:
        with pytest.raises(UserError) as through_sqlalchemy, writing(engine) as connection:
            connection.execute(text(raising))
        with pytest.raises(UserError) as through_driver, writing(engine) as connection:
            connection.connection.driver_connection.execute(raising)  # type: ignore[union-attr]
        with writing(engine) as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1
    assert is_lost(through_sqlalchemy.value)
    assert is_lost(through_driver.value)


def test_a_session_that_the_server_ends_is_a_lost_database(postgres_url: str) -> None:
    """Whatever class the driver gives the error: 25P03 is none of its operational ones."""
    with opened(postgres_url) as engine:
        with pytest.raises(UserError) as lost:
            _wait_too_long(engine)
        assert is_lost(lost.value)


def test_a_database_that_is_lost_while_its_keys_are_looked_for_is_a_lost_database(postgres_url: str) -> None:
    """At the start of a worker, which waits for it: the session ends after the last answer, before its transaction."""
    with opened(postgres_url) as engine, opened(postgres_url) as other:
        upgrade(engine)

        def end(connection: Connection, *_: object) -> None:
            pid = connection.connection.driver_connection.info.backend_pid  # type: ignore[union-attr]
            with other.connect() as line:
                line.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})

        event.listen(engine, "after_cursor_execute", end)
        with pytest.raises(UserError) as lost:
            unlock(engine, {})
        assert is_lost(lost.value)


def _wait_too_long(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(text("SET idle_in_transaction_session_timeout = 20"))
        time.sleep(0.2)
        connection.execute(text("SELECT 1"))


def test_a_database_that_does_not_hold_every_name_is_refused(postgres: PostgresServer) -> None:
    """`createdb` makes one where the server has no locale. Its texts came as bytes, and the program broke."""
    name = postgres.create_database(encoding="SQL_ASCII")
    with pytest.raises(UserError, match="encoding SQL_ASCII") as caught:
        connect(postgres.url(name))
    assert "createdb --encoding UTF8" in str(caught.value.advice)
    assert caught.value.exit_code == 4
    postgres.drop_database(name)


def test_an_address_is_shown_as_people_write_it(tmp_path: Path, postgres: PostgresServer) -> None:
    """Without the driver that the program chose."""
    with opened(f"sqlite:///{tmp_path}/eis.db") as engine:
        assert shown(engine) == f"sqlite:///{tmp_path}/eis.db"
    with opened(postgres.url()) as engine:
        assert shown(engine) == postgres.url().replace("+psycopg", "")
