"""A server of PostgreSQL loses its disk and comes back as of a moment, from a copy and its archived log."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from energycomm import cli
from energycomm.backup.backups import find
from energycomm.errors import ExitCode
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


def test_a_server_comes_back_as_of_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = DURABLE | {"wal_level": "replica", "archive_mode": "on", "archive_command": "cp %p ../log/%f"}
    story = [[start(PRM, day(0)), reading(PRM, day(31), 1_100_000)], [reading(PRM, day(60), 1_200_000)]]
    with prepared(settings) as server:
        home = server.home
        (home / "log").mkdir()
        server.give(home / "log")
        server.start()
        name = server.create_database()
        monkeypatch.setenv("ENERGYCOMM_DATABASE", server.url(name))
        desk = Desk(server.url(name))
        desk.deliver(story[0])
        run("eis", "backup", "backups", "--whole-server")
        (backup,) = find(Path("backups"))
        desk.deliver(story[1])
        ((until,),) = server.ask("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')")
        # Somebody's mistake, which is to be undone.
        desk.deliver([start("99000000000025", day(0))])
        archived(server)
        desk.database.dispose()
        server.lose_power()
        shutil.rmtree(home / "cluster")

        restore: list[str | Path] = ["eis", "restore", backup.folder, "--data", home / "cluster", "--log", home / "log"]
        run(*restore, "--until", "2020-01-01T00:00+00:00", code=ExitCode.USAGE)
        assert not (home / "cluster").exists()
        run(*restore, "--until", f"{until}+00:00")
        run(*restore, "--until", f"{until}+00:00", code=ExitCode.USAGE)
        server.give(home / "cluster")
        server.start_again()
        deadline = time.monotonic() + SECONDS
        while server.ask("SELECT pg_is_in_recovery()")[0][0]:
            assert time.monotonic() < deadline, "the server takes no writes"
            time.sleep(0.05)
        run("eis", "restored")
        expected = Desk(f"sqlite:///{tmp_path / 'expected.db'}")
        for part in story:
            expected.deliver(part)
        run("eis", "compare", "sqlite:///expected.db")
