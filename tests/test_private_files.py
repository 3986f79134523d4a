"""Nobody but its owner reads what the gateway writes, whatever the umask."""

from __future__ import annotations

import io
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from energycomm.cli import main
from energycomm.eis.database import connect, writing
from energycomm.errors import ExitCode
from energycomm.private_files import private_file, private_folder
from energycomm.transport.spool import Spool


@pytest.fixture(autouse=True, params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each test under three umasks."""
    before = os.umask(request.param)
    yield request.param
    assert os.umask(before) == request.param, "it is as it was"


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def open_to_others(folder: Path) -> list[tuple[str, str]]:
    """Whatever below a folder others may do something with."""
    return [(str(path), mode(path)) for path in folder.rglob("*") if path.stat().st_mode & 0o077]


def test_a_new_database_is_private_with_its_log(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path}/eis.db")
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE t (a)"))
        assert {path.name for path in tmp_path.iterdir()} == {"eis.db", "eis.db-wal", "eis.db-shm"}
        assert open_to_others(tmp_path) == []
    engine.dispose()


def test_a_database_that_was_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    """Also what SQLite left beside it."""
    file = tmp_path / "eis.db"
    held = sqlite3.connect(file)
    held.execute("PRAGMA journal_mode = WAL")
    held.execute("CREATE TABLE t (a)")
    held.commit()
    for path in tmp_path.iterdir():
        path.chmod(0o666)
    engine = connect(f"sqlite:///{file}")
    assert open_to_others(tmp_path) == []
    engine.dispose()
    held.close()


@pytest.mark.thorough
def test_commands_write_nothing_that_others_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Store, spool, envelopes that are kept, simulated files, exports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir(mode=0o700)
    (tmp_path / "in" / "a.xml").write_bytes(b"<unknown/>")
    before = set(tmp_path.rglob("*"))
    assert main(["eis", "upgrade"]) == ExitCode.OK
    assert main(["process", "in"]) == ExitCode.UNREADABLE
    assert main(["envelope", "extract", "1", "--out", "copy.xml"]) == ExitCode.OK
    assert main(["rules", "export", "--out", "rules-of-ours"]) in (ExitCode.OK, ExitCode.USAGE)
    made = [path for path in tmp_path.rglob("*") if path not in before]
    assert {"energycomm.db", "copy.xml"} <= {path.name for path in made}
    assert [(path.name, mode(path)) for path in made if path.stat().st_mode & 0o077] == []


def test_a_spool_is_private_and_one_that_was_not_becomes_so(tmp_path: Path) -> None:
    for folder in (tmp_path / "a" / "spool" / "sftp", tmp_path / "wide"):
        if folder.name == "wide":
            folder.mkdir()
            folder.chmod(0o755)
        spool = Spool("sftp", folder)
        assert spool.open_for_polling() is None
        spool.put("k", "a.xml", io.BytesIO(b"<x/>"))
        assert mode(folder) == "0o700"
        spool.close()
    assert [mode(path) for path in (tmp_path / "a", tmp_path / "a" / "spool")] == ["0o700", "0o700"]


def test_a_folder_of_somebody_elses_making_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    private_folder(tmp_path / "shared" / "ours")
    private_folder(tmp_path / "shared")
    assert (mode(tmp_path / "shared"), mode(tmp_path / "shared" / "ours")) == ("0o755", "0o700")


def test_nothing_is_made_through_a_link_and_the_link_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link of our own to another disk is followed, and what it leads to is narrowed."""
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    private_file(tmp_path / "link.db")
    assert not (tmp_path / "elsewhere.db").exists()
    (tmp_path / "elsewhere.db").write_bytes(b"")
    (tmp_path / "elsewhere.db").chmod(0o644)
    private_file(tmp_path / "link.db")
    assert mode(tmp_path / "elsewhere.db") == "0o600"
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    os.lchown(tmp_path / "link.db", 4712, -1) if os.getuid() == 0 else None
    with pytest.raises(PermissionError, match="another user"):
        private_file(tmp_path / "link.db")


def test_where_modes_cannot_be_changed_work_goes_on_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another user, or a file system without modes."""

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError("not ours")

    file = tmp_path / "eis.db"
    file.write_bytes(b"")
    file.chmod(0o644)
    monkeypatch.setattr(os, "chmod", denied)
    with capture_logs() as lines:
        for _ in range(2):
            connect(f"sqlite:///{file}").dispose()
    assert [line["event"] for line in lines] == ["file.open_to_others"]
    assert lines[0]["mode"] == "0o644"


def test_a_store_that_is_opened_twice_keeps_its_locks(tmp_path: Path) -> None:
    """Closing a file that was opened for its content releases the locks that SQLite holds on it in this process.
    Another process then takes itself for the last one, removes the write-ahead log, and what is written is lost."""
    database = tmp_path / "eis.db"
    first = connect(f"sqlite:///{database}")
    with writing(first) as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    second = connect(f"sqlite:///{database}")
    opened = f"import sqlite3; c = sqlite3.connect({str(database)!r})"
    count = f"{opened}; print(*c.execute('SELECT count(*) FROM t')); c.close()"
    for number in (1, 2):
        with writing(first) as connection:
            connection.execute(text("INSERT INTO t VALUES (1)"))
        told = subprocess.run([sys.executable, "-c", count], capture_output=True, check=True, text=True)
        assert told.stdout.strip() == f"({number},)"
    first.dispose()
    second.dispose()
