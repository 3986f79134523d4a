"""A large member that another process reads gives the store of one process, whatever becomes of that other one."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from adapters.fr_enedis.simulator import simulator
from energycomm import processes
from energycomm.config import Config
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.pipeline import inbound, reader
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from tests.stores import make_store

FIRST = 7
"""CH messages in a batch."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every member is a large one."""
    monkeypatch.setattr(inbound, "LARGE", 1_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Contract events; some of them again, cut in the middle of a CH message; a zip in a zip, with an empty member,
    readings of which one is refused, and the events once more; the readings once more, all of them good."""
    folder = tmp_path_factory.mktemp("large")
    *_, readings = simulator.flat_file(folder / "r151", "R151", 60_000, 1)
    *_, events = simulator.flat_file(folder / "c15", "C15", 60_000, 2)
    whole, second = readings.read_bytes(), events.read_bytes()
    cut = folder / "cut.xml"
    cut.write_bytes(second[: len(second) * 2 // 3])
    wrong = whole.replace(b"<Valeur>", b"<Valeur>x", 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as inner:
        inner.writestr("empty.xml", b"")
        inner.writestr(readings.name, wrong)
        inner.writestr(events.name, second)
    outer = folder / "outer.zip"
    with zipfile.ZipFile(outer, "w") as opened_zip:
        opened_zip.writestr("inner.zip", packed.getvalue())
    return [events, cut, outer, readings]


def process(url: str, files: list[Path], number: int) -> tuple[Any, dict[str, Any]]:
    """Process files by some processes; the summed steps and what the store means."""
    settings: dict[str, Any] = {"database": url, "processes": number, "batch_size": FIRST}
    config = Config(**settings)
    with opened(url) as engine:
        done = total(Gateway(config, Store(engine)).inbound.take(files, "test"))
        return done, canonical(engine)


def told(url: str) -> list[Any]:
    """Notifications in their order and incidents, without numbers and clocks."""
    with opened(url) as engine, engine.connect() as connection:
        found = []
        for sql in (
            "SELECT o.event, k.kind, k.effective, p.identifier FROM outbox o "
            "JOIN kernel_message k ON k.id = o.message_id LEFT JOIN access_point p ON p.id = k.access_point_id "
            "ORDER BY o.id",
            "SELECT code, path, severity, value FROM incident ORDER BY id",
        ):
            found.append([tuple(row) for row in connection.exec_driver_sql(sql)])
        return found


@pytest.fixture
def alone(tmp_path: Path, files: list[Path]) -> tuple[dict[str, Any], list[Any]]:
    """What one process makes of the files, on SQLite."""
    url = make_store(f"sqlite:///{tmp_path}/alone.db")
    _, meaning = process(url, files, 1)
    return meaning, told(url)


@pytest.mark.thorough
@pytest.mark.usefixtures("small")
def test_two_processes_make_the_store_of_one(database_url: str, alone: Any, files: list[Path]) -> None:
    """On both databases: the same rows, refusals, notes and incidents, notifications in the same order."""
    url = make_store(database_url)
    with capture_logs() as log:
        done, meaning = process(url, files, 2)
    assert differences(alone[0], meaning) == []
    assert told(url) == alone[1]
    assert done.tally.incidents["XML_TRUNCATED"] == 1
    assert sum(done.tally.messages.values()) > 50
    assert [line for line in log if line["event"].startswith("reader.")] == []


@pytest.mark.thorough
@pytest.mark.usefixtures("small")
def test_a_reader_that_is_killed_is_done_without(
    tmp_path: Path, alone: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first batch of each member: this process reads the rest of it, and says so."""
    url = make_store(f"sqlite:///{tmp_path}/killed.db")
    read = reader._unpacked

    def kill(*packed: Any) -> Any:
        if packed[-2] <= FIRST:
            for child in multiprocessing.active_children():
                assert child.pid is not None
                os.kill(child.pid, signal.SIGKILL)
                child.join()
        return read(*packed)

    monkeypatch.setattr(reader, "AHEAD", 1)  # else all of a member may have been read by then
    monkeypatch.setattr(reader, "_unpacked", kill)
    with capture_logs() as log:
        _, meaning = process(url, files, 2)
    assert differences(alone[0], meaning) == []
    assert told(url) == alone[1]
    lost = [line for line in log if line["event"] == "reader.lost"]
    assert lost
    assert any(line["position"] for line in lost)
    assert {line["log_level"] for line in lost} == {"warning"}


def _no_room(*_: object, **__: object) -> Any:
    raise OSError(11, "Resource temporarily unavailable")


def _broken() -> Any:
    raise RuntimeError("the place cannot be opened")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "hinder",
    [
        lambda patch: patch.setattr(ProcessPoolExecutor, "submit", _no_room),
        pytest.param(
            lambda patch: patch.setattr(reader, "helpers", lambda *_: processes.helpers(1, _broken)),
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["no-room", "broken"],
)
def test_a_reader_that_cannot_start_is_done_without(
    tmp_path: Path,
    alone: Any,
    files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    hinder: Callable[[pytest.MonkeyPatch], None],
) -> None:
    """The system has no room for it, or it breaks as it begins."""
    hinder(monkeypatch)
    url = make_store(f"sqlite:///{tmp_path}/hindered.db")
    with capture_logs() as log:
        _, meaning = process(url, files, 2)
    assert differences(alone[0], meaning) == []
    assert told(url) == alone[1]
    assert any(line["event"] == "reader.lost" for line in log)


def until(happened: Callable[[], bool], seconds: float, every: float = 0.05) -> None:
    """Wait for something, at most so long."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(every)


START = """
import sys
from energycomm.cli import main
from energycomm.pipeline import inbound
inbound.LARGE = 1_000
sys.exit(main(["process", "--processes", "2", *sys.argv[1:]]))
"""


def _session(leader: int) -> Iterator[int]:
    """The processes of a session that live."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(stat[3]) == leader and stat[0] != "Z":
                yield int(folder.name)


@pytest.mark.thorough
def test_nothing_outlives_a_run_that_is_killed(
    database_url: str, tmp_path: Path, alone: Any, files: list[Path]
) -> None:
    """`kill -9` of the process that stores, while the other one reads: both are gone, and the next run ends in the same
    store."""
    url = make_store(database_url)
    environment = os.environ | {"ENERGYCOMM_DATABASE": url, "ENERGYCOMM_BATCH_SIZE": "1"}
    command = [sys.executable, "-c", START, *map(str, files)]
    running = subprocess.Popen(
        command, env=environment, cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL
    )
    with opened(url) as engine:

        def stored() -> bool:
            with engine.connect() as connection:
                count = "SELECT count(*) FROM member WHERE state = 'processing' AND committed > 3"
                return bool(connection.exec_driver_sql(count).scalar())

        # A file is done in a tenth of a second.
        until(lambda: stored() or running.poll() is not None, 60, every=0.001)
    assert running.poll() is None
    running.kill()
    running.wait()
    until(lambda: not list(_session(running.pid)), 10)
    subprocess.run(command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, check=False, timeout=120)
    with opened(url) as engine:
        assert differences(alone[0], canonical(engine)) == []
    assert sorted(told(url)[0]) == sorted(alone[1][0])
