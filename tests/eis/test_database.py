"""Opening a database: what cannot work is said in words, without a traceback and without the password."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from energycomm.eis import tables
from energycomm.eis.database import connect, opened, reading, writing
from energycomm.eis.store import Store
from energycomm.errors import UserError


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "cannot be read"),
        ("mysql://u:secret@h/db", "not in mysql"),
        ("sqlite://", "needs a file"),
        ("sqlite:////nowhere/at/all/eis.db", "does not exist"),
        ("postgresql://u:secret@127.0.0.1:1/db", "cannot be used"),
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
