"""The whole store is backed up while it is used, and comes back as it was; a restore writes over nothing."""

from __future__ import annotations

import json
import shutil
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, make_url, text

from alembic import command
from energycomm import cli
from energycomm.archive import archiving
from energycomm.backup.backups import find, name_of, remove_older
from energycomm.eis import migrations, tables
from energycomm.eis.auditchain import verify
from energycomm.eis.comparison import compare
from energycomm.eis.database import is_sqlite, opened, writing
from energycomm.eis.store import Store
from energycomm.errors import ExitCode
from energycomm.kernel.instants import instant, micros
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"
OTHER = "99000000000025"
NOW = micros(day(300))
IN_MONTH = micros(day(160))


@pytest.fixture
def desk(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store part of which is in an archive, and one message of which was refused; it is that of the configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    desk = Desk(database_url)
    desk.deliver(
        [start(PRM, day(0)), *(reading(PRM, day(1 + 10 * n), 1_000_000 + 10_000 * n) for n in range(15))], IN_MONTH
    )
    desk.deliver([reading(PRM, day(230), 900_000)], now=NOW)
    desk.tell_back_office()
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
    archiving.write(desk.store, tmp_path / "archive", "2026-07", "test", NOW)
    return desk


def run(*words: str | Path, code: int = ExitCode.OK) -> None:
    assert cli.main([str(word) for word in words]) == code


def lose(desk: Desk, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The disk is lost: database and archives are gone. What they held is kept elsewhere, to compare; its address."""
    shutil.move("archive", "lost-archive")
    if not is_sqlite(desk.database):
        monkeypatch.setenv("ENERGYCOMM_DATABASE", address)
        return str(desk.database.url)
    file = Path(str(desk.database.url.database))
    desk.database.dispose()
    file.rename("lost.db")
    return "sqlite:///lost.db"


def one_backup(folder: Path = Path("backups")) -> Path:
    (found,) = find(folder)
    return found.folder


@pytest.mark.thorough
def test_what_the_disk_held_comes_back(
    desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Database, raw bytes and archives; the audit goes on from where it was, and no number is given again."""
    run("eis", "backup", "backups")
    lost = lose(desk, elsewhere, monkeypatch)
    run("eis", "backups", "backups", "--verify")
    run("eis", "restore", one_backup())
    run("eis", "compare", lost)
    run("eis", "archive", "verify", "2026-07")
    run("eis", "archive", "restore", "2026-07")
    capsys.readouterr()
    run("audit", "verify", "--head", find(Path("backups"))[0].manifest.audit_head or "", "--json")
    assert json.loads(capsys.readouterr().out)["flaw"] is None
    address = elsewhere if not is_sqlite(desk.database) else str(desk.database.url)
    with opened(lost) as before, opened(address) as after:
        with Store(before).transaction() as tx:
            given = tx.reserve(tables.outbox, 5000)[-1]
        with Store(after).transaction() as tx:
            assert tx.reserve(tables.outbox, 1)[0] > given
        whats = [row[0] for row in after.connect().execute(text("SELECT what FROM audit ORDER BY position"))]
        assert verify(after).flaw is None
    assert whats[:3] == ["energycomm eis backup", "energycomm eis restore", "energycomm eis compare"]


def test_a_backup_is_private(desk: Desk) -> None:
    run("eis", "backup", "backups")
    for path in [Path("backups"), *Path("backups").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_is_of_one_instant_while_others_write(desk: Desk, tmp_path: Path) -> None:
    """What it holds is what was stored up to some delivery, and nothing of the next one."""
    stop, stored = threading.Event(), list[int]()

    def write() -> None:
        while not stop.is_set():
            number = len(stored) + 1
            desk.deliver([start(f"9900000001{number:04}", day(0)), start(f"9900000002{number:04}", day(0))])
            stored.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(stored) < 3:
            assert writer.is_alive()
        run("eis", "backup", "backups")
        upto = len(stored)
        while len(stored) < upto + 3:
            assert writer.is_alive()
    finally:
        stop.set()
        writer.join()
    Path("restored").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENERGYCOMM_DATABASE", "sqlite:///restored/eis.db")
        run("eis", "restore", one_backup(), "--archives", "restored/archive")
    with opened("sqlite:///restored/eis.db") as engine, engine.connect() as connection:
        assert connection.execute(text("PRAGMA integrity_check")).all() == [("ok",)]
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        points = {row[0] for row in connection.execute(text("SELECT identifier FROM access_point"))}
    ends = sorted(point[10:] for point in points if point.startswith("9900000001"))
    assert ends == sorted(point[10:] for point in points if point.startswith("9900000002"))
    assert 3 <= len(ends) <= upto
    expected = Desk(f"sqlite:///{tmp_path / 'expected.db'}")
    for number in range(1, len(ends) + 1):
        expected.deliver([start(f"9900000001{number:04}", day(0)), start(f"9900000002{number:04}", day(0))])
    with opened("sqlite:///restored/eis.db") as engine:
        found = [line for line in compare(engine, expected.database) if "FR/99000000" in line and PRM not in line]
    assert found == []


def test_a_restore_writes_over_nothing(
    desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("eis", "backup", "backups")
    run("eis", "restore", one_backup(), code=ExitCode.USAGE)
    assert "there already: nothing was restored" in capsys.readouterr().err
    with opened(elsewhere) as engine, writing(engine) as connection:
        connection.execute(text("CREATE TABLE somebody (x integer)"))
    monkeypatch.setenv("ENERGYCOMM_DATABASE", elsewhere)
    run("eis", "restore", one_backup(), code=ExitCode.USAGE)
    with opened(elsewhere) as engine:
        assert inspect(engine).get_table_names() == ["somebody"]


def test_another_file_of_an_archive_is_left_alone(desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("eis", "backup", "backups")
    monkeypatch.setenv("ENERGYCOMM_DATABASE", elsewhere)
    file = next(Path("archive/2026-07").glob("*.parquet"))
    file.write_bytes(b"another")
    run("eis", "restore", one_backup(), code=ExitCode.USAGE)
    assert file.read_bytes() == b"another"
    with opened(elsewhere) as engine:
        assert inspect(engine).get_table_names() == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_log_that_a_lost_store_left_is_not_taken_for_that_of_the_restored(
    desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("eis", "backup", "backups")
    monkeypatch.setenv("ENERGYCOMM_DATABASE", elsewhere)
    Path("elsewhere.db-wal").touch()
    run("eis", "restore", one_backup(), code=ExitCode.USAGE)
    assert "elsewhere.db-wal is there already" in capsys.readouterr().err
    assert not Path("elsewhere.db").exists()


def test_a_damaged_backup_is_told_and_not_restored(
    desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("eis", "backup", "backups")
    place = one_backup()
    manifest = (place / "manifest.json").read_text()
    names = [file["name"] for file in json.loads(manifest)["files"]]
    assert any(name.startswith("archives/2026-07/") for name in names)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", elsewhere)
    shutil.rmtree("archive")
    for name in names:
        path = place / name
        whole = path.read_bytes()
        middle = len(whole) // 2
        for damaged in (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], whole[:-1]):
            path.write_bytes(damaged)
            run("eis", "backups", "backups", "--verify", code=ExitCode.UNREADABLE)
            assert f"{name} was changed" in capsys.readouterr().err
        run("eis", "restore", place, code=ExitCode.UNREADABLE)
        path.unlink()
        run("eis", "restore", place, code=ExitCode.UNREADABLE)
        path.write_bytes(whole)
    (place / "manifest.json").write_text(manifest.replace(names[0], "../../outside"))
    run("eis", "restore", place, code=ExitCode.USAGE)
    assert not Path("archive").exists()
    assert is_sqlite(desk.database) or tables_of(elsewhere) == []


def tables_of(address: str) -> list[str]:
    with opened(address) as engine:
        return inspect(engine).get_table_names()


def test_a_backup_that_cannot_be_whole_is_none(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of an archive is absent, or is another one: its rows are nowhere else."""
    file = sorted(Path("archive/2026-07").glob("*.parquet"))[-1]
    whole = file.read_bytes()
    file.unlink()
    run("eis", "backup", "backups", code=ExitCode.USAGE)
    assert f"{file.name} of an archive is not there" in capsys.readouterr().err
    file.write_bytes(whole + b" ")
    run("eis", "backup", "backups", code=ExitCode.USAGE)
    assert list(Path("backups").iterdir()) == []


@pytest.mark.thorough
def test_older_backups_of_the_same_store_go(desk: Desk, tmp_path: Path) -> None:
    for _ in range(3):
        run("eis", "backup", "backups")
    first, second, third = (one.folder for one in find(Path("backups")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'another.db'}")
        run("eis", "upgrade")
        run("eis", "backup", "backups", "--keep", "1")
    another = find(Path("backups"))[-1].folder
    run("eis", "backup", "backups", "--keep", "2")
    left = [one.folder for one in find(Path("backups"))]
    assert left[:2] == [third, another]
    assert len(left) == 3
    assert not first.exists()
    assert not second.exists()
    assert remove_older(Path("backups"), "no such store", "sqlite", 1) == []


def test_backups_are_named_by_their_instant() -> None:
    assert name_of(instant(1_774_922_400_000_001)) == "2026-03-31T020000.000001Z"


@pytest.mark.thorough
def test_keys_are_in_no_backup(
    desk: Desk, elsewhere: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is encrypted stays so; a restored store asks for its key by the label."""
    run("keys", "generate", "storage.key", "--label", "safe")
    monkeypatch.setenv(
        "ENERGYCOMM_KEYS", json.dumps([{"label": "safe", "scheme": "aes-256-gcm", "key_file": "storage.key"}])
    )
    monkeypatch.setenv("ENERGYCOMM_STORAGE_KEY", "safe")
    run("eis", "encrypt")
    run("eis", "backup", "backups")
    key = Path("storage.key").read_bytes().strip()
    for path in one_backup().rglob("*"):
        assert not path.is_file() or (
            key not in path.read_bytes() and bytes.fromhex(key.decode()) not in path.read_bytes()
        )
    lost = lose(desk, elsewhere, monkeypatch)
    run("eis", "restore", one_backup())
    run("eis", "compare", lost)
    monkeypatch.delenv("ENERGYCOMM_KEYS")
    monkeypatch.delenv("ENERGYCOMM_STORAGE_KEY")
    capsys.readouterr()
    run("message", "list", code=ExitCode.DATABASE)
    assert "'safe'" in capsys.readouterr().err


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_no_argument_of_a_program_holds_the_password(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody on the machine may read arguments."""
    programs = tmp_path / "bin"
    programs.mkdir()
    real = shutil.which("pg_dump")
    (programs / "pg_dump").write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\necho "$PGPASSWORD" > {tmp_path}/password\nexec {real} "$@"\n'
    )
    (programs / "pg_dump").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    address = make_url(str(desk.database.url)).set(password="correct horse").render_as_string(hide_password=False)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", address)
    run("eis", "backup", "backups")
    assert "horse" not in (tmp_path / "arguments").read_text()
    assert (tmp_path / "password").read_text() == "correct horse\n"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_program_that_is_not_there_or_fails_is_told(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run("eis", "backup", "backups", code=ExitCode.USAGE)
    assert "pg_dump is not installed" in capsys.readouterr().err
    (tmp_path / "pg_dump").write_text("#!/bin/sh\necho 'aborting because of server version mismatch' >&2\nexit 1\n")
    (tmp_path / "pg_dump").chmod(0o700)
    run("eis", "backup", "backups", code=ExitCode.DATABASE)
    assert "or a later one" in capsys.readouterr().err
    assert list(Path("backups").iterdir()) == []


@pytest.mark.thorough
def test_a_store_of_an_earlier_version_is_backed_up_before_its_upgrade(
    empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Version 0.1 had the tables of revision 0011."""
    monkeypatch.chdir(tmp_path)
    with opened(empty_url) as engine, writing(engine) as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0011")
    monkeypatch.setenv("ENERGYCOMM_DATABASE", empty_url)
    run("eis", "backup", "backups")
    (made,) = find(Path("backups"))
    assert (made.manifest.revision, made.manifest.store) == ("0011", None)
    server = None if empty_url.startswith("sqlite") else request.getfixturevalue("postgres")
    name = "" if server is None else server.create_database()
    monkeypatch.setenv("ENERGYCOMM_DATABASE", "sqlite:///again.db" if server is None else server.url(name))
    run("eis", "restore", made.folder)
    run("eis", "status", code=ExitCode.DATABASE)
    run("eis", "upgrade")
    run("eis", "status")
    if server is not None:
        server.drop_database(name)
