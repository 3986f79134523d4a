"""A disk that is full, or that takes no writing: it is said in words, nothing is lost, and it goes on afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from energycomm.eis.comparison import differences
from tests.faults.gateway import FILES, Gateway, until
from tests.faults.jobs import FIXTURES
from tests.faults.stores import Facts
from tests.postgres import PostgresServer

MEGABYTE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; a file system in memory, which only root can mount."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)):
        pytest.skip("a file system can only be mounted by root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


def mount(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def fill(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes of the disk, whatever the daemon writes meanwhile."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):  # the daemon took the last bytes
        while (free := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - left) > 0:
            file.write(bytes(free))
    return ballast


@pytest.mark.thorough
@pytest.mark.parametrize("left", [0, 200_000])
def test_the_daemon_survives_a_full_disk(disk: Path, tmp_path: Path, in_peace: Facts, left: int) -> None:
    """Full at once, and full after some envelopes: it alarms that the disk is full, and ends up like the quiet one."""
    gateway = Gateway(disk / "here", f"sqlite:///{disk}/eis.db")
    gateway.log = tmp_path / "daemon.log"
    incoming = disk / "here/in"
    for path in FILES:
        shutil.copy(FIXTURES / path, incoming / f".{Path(path).name}")  # hidden, until the disk is full
    with gateway.daemon() as process:
        until(lambda: gateway.events("worker.ready"), "the worker is ready")
        ballast = fill(disk, left)
        for path in FILES:
            (incoming / f".{Path(path).name}").rename(incoming / Path(path).name)
        until(lambda: any("full" in words or "No space" in words for _, words in gateway.alarms()), "the daemon alarms")
        assert process.poll() is None
        ballast.unlink()
        until(gateway.quiet, "the daemon has done everything")
    assert differences(in_peace, gateway.facts()) == []


@pytest.mark.thorough
def test_a_disk_that_takes_no_writing_is_said_and_nothing_changes(disk: Path, tmp_path: Path, in_peace: Facts) -> None:
    """`process` and the daemon end with code 4 and words; when it takes writing again everything is done."""
    gateway = Gateway(disk / "here", f"sqlite:///{disk}/eis.db")
    gateway.log = tmp_path / "daemon.log"
    gateway.drop()
    assert mount("-o", "remount,ro", str(disk))
    for words in (("process", "in"), ("daemon",)):
        assert gateway.run(*words) == 4
    assert gateway.said().count("error: The database") == 2
    assert "Traceback" not in gateway.said()
    assert mount("-o", "remount,rw", str(disk))
    with gateway.daemon():
        until(gateway.quiet, "the daemon has done everything")
    assert differences(in_peace, gateway.facts()) == []


@pytest.mark.thorough
def test_the_daemon_waits_while_postgresql_takes_no_writing(
    postgres: PostgresServer, tmp_path: Path, in_peace: Facts
) -> None:
    """As when the address leads to a standby for a while."""
    name = postgres.create_database()
    gateway = Gateway(tmp_path / "here", postgres.url(name))

    def writes(word: str) -> None:
        with psycopg.connect(f"host=127.0.0.1 port={postgres.port} user=postgres", autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {word}".encode())
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    with gateway.daemon() as process:
        until(lambda: gateway.events("worker.ready"), "the worker is ready")
        writes("on")
        gateway.drop()
        until(lambda: any("read-only" in words for _, words in gateway.alarms()), "the daemon alarms")
        assert process.poll() is None
        writes("off")
        until(gateway.quiet, "the daemon has done everything")
    assert gateway.events("worker.died") == []
    assert differences(in_peace, gateway.facts()) == []
    postgres.drop_database(name)
