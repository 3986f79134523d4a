"""A server of PostgreSQL loses its disk and comes back as of a moment, from a copy and its archived log."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from energycomm import cli
from energycomm.backup.backups import find
from energycomm.errors import ExitCode
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start
from tests.postgres import DURABLE, PostgresServer, prepared

PRM = "99000000000017"
SECONDS = 30.0


def run(*words: str | Path, code: int = ExitCode.OK) -> None:
    assert cli.main([str(word) for word in words]) == code


def archived(server: PostgresServer) -> None:
    """Wait until the server has archived its log up to now."""
    ((wanted,),) = server.ask("SELECT pg_walfile_name(pg_switch_wal())")
    deadline = time.monotonic() + SECONDS
    while server.ask("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver")[0][0] < wanted:
        assert time.monotonic() < deadline, "the log is not archived"
        time.sleep(0.05)


def now_of(server: PostgresServer) -> str:
    """The server's time, as `--until` takes it."""
    sql = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
    return f"{server.ask(sql)[0][0]}+00:00"


def lose_disk(server: PostgresServer) -> None:
    """The server ends without a word, and its data folder is gone."""
    server.lose_power()
    shutil.rmtree(server.home / "cluster")


def start_again(server: PostgresServer) -> None:
    """Start the server on the folder that was laid, until it takes writes."""
    server.give(server.home / "cluster")
    server.start_again()
    deadline = time.monotonic() + SECONDS
    while server.ask("SELECT pg_is_in_recovery()")[0][0]:
        assert time.monotonic() < deadline, "the server takes no writes"
        time.sleep(0.05)
    run("eis", "restored")


def holds(name: str, *story: list[Transaction]) -> None:
    """The store is what these deliveries make."""
    expected = Desk(f"sqlite:///{name}.db")
    for part in story:
        expected.deliver(part)
    expected.database.dispose()
    run("eis", "compare", f"sqlite:///{name}.db")


@pytest.mark.thorough
def test_a_server_comes_back_as_of_a_moment_and_then_as_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = DURABLE | {"wal_level": "replica", "archive_mode": "on", "archive_command": "cp %p ../log/%f"}
    first, second = [start(PRM, day(0)), reading(PRM, day(31), 1_100_000)], [reading(PRM, day(60), 1_200_000)]
    mistake, further = [start("99000000000025", day(0))], [reading(PRM, day(90), 1_300_000)]
    with prepared(settings) as server:
        home = server.home
        (home / "log").mkdir()
        server.give(home / "log")
        server.start()
        name = server.create_database()
        monkeypatch.setenv("ENERGYCOMM_DATABASE", server.url(name))
        desk = Desk(server.url(name))
        desk.deliver(first)
        run("eis", "backup", "backups", "--whole-server")
        (backup,) = find(Path("backups"))
        desk.deliver(second)
        until = now_of(server)
        # Somebody's mistake, which is to be undone; and was none, as is seen later.
        desk.deliver(mistake)
        later = now_of(server)
        desk.deliver(further)
        archived(server)
        desk.database.dispose()
        lose_disk(server)

        restore: list[str | Path] = ["eis", "restore", backup.folder, "--data", home / "cluster", "--log", home / "log"]
        run(*restore, "--until", "2020-01-01T00:00+00:00", code=ExitCode.USAGE)
        run(*restore[:5], "--timeline", "1", code=ExitCode.USAGE)
        assert not (home / "cluster").exists()
        run(*restore, "--until", until)
        run(*restore, "--until", until, code=ExitCode.USAGE)
        start_again(server)
        holds("expected", first, second)

        # A server that came back goes on in another timeline: left alone it would end there, without the mistake.
        archived(server)
        lose_disk(server)
        capsys.readouterr()
        run(*restore, "--until", later, code=ExitCode.USAGE)
        said = capsys.readouterr().err
        assert "1 (that of the backup); 2 (from 1, before 20" in said
        run(*restore, "--until", later, "--timeline", "7", code=ExitCode.USAGE)
        assert not (home / "cluster").exists()
        run(*restore, "--until", later, "--timeline", "1")
        start_again(server)
        holds("again", first, second, mistake)
