"""The whole daemon, as its operator sees it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Table

from energycomm.config import Config
from energycomm.daemon.alarms import ALARMS
from energycomm.daemon.claims import claim
from energycomm.daemon.locks import open_locks
from energycomm.daemon.sending import Delivering
from energycomm.daemon.supervisor import check
from energycomm.daemon.worker import Worker
from energycomm.eis import migrations, tables
from energycomm.eis.database import opened
from energycomm.eis.store import StoreTransaction
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import OpenEnvelope, begin
from tests.daemon.conftest import Notes, Office
from tests.transport.memory import MemoryOut

COMMAND = "import sys; from energycomm.cli import main; sys.exit(main(sys.argv[1:]))"

SETTINGS = """
database = "sqlite:///eis.db"
log_format = "json"
log_level = "info"
[daemon]
poll_seconds = 0.2
send_seconds = 0.2
port = 0
heartbeat = "beat.json"
[[channels]]
name = "drop"
market = "FR"
direction = "in"
kind = "folder"
path = "in"
settle = 0
"""


def until(good: Callable[[], Any], seconds: float = 120) -> Any:
    """Wait until something is so; what it was."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, httpx.TransportError):
            if found := good():
                return found
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "energycomm.toml").write_text(SETTINGS)
    with opened(f"sqlite:///{tmp_path}/eis.db") as engine:
        migrations.upgrade(engine)
    return tmp_path


@contextlib.contextmanager
def running_daemon(place: Path) -> Iterator[subprocess.Popen[bytes]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENERGYCOMM_")}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "daemon"], cwd=place, stderr=log, stdout=log, env=kept
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(60)


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.thorough
def test_a_daemon_takes_in_what_arrives_tells_how_it_is_and_stops_in_order(place: Path) -> None:
    """Start, an envelope, metrics and health, SIGTERM."""
    beat = place / "beat.json"
    with running_daemon(place) as daemon:
        port = until(lambda: json.loads(beat.read_text())["ready"] and json.loads(beat.read_text())["port"])
        (place / "in" / "a.xml").write_bytes(b"<unknown/>")
        until(lambda: (place / "in" / "failed" / "a.xml").exists())
        assert "UNKNOWN" in (place / "in" / "failed" / "a.xml.reason.txt").read_text()
        assert get(port, "/health/live")[0] == 200
        assert get(port, "/health/ready") == (200, "ready\n")
        status, details = get(port, "/health/details")
        assert (status, json.loads(details)["alarms"]) == (200, [])
        metrics = get(port, "/metrics")[1]
        assert 'energycomm_envelopes_total{channel="drop",outcome="failed"} 1.0' in metrics
        assert all(f'energycomm_alarm{{code="{alarm.code}"}} 0.0' in metrics for alarm in ALARMS)
        assert get(port, "/else")[0] == 404
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    assert not beat.exists()
    lines = [json.loads(line) for line in (place / "log").read_text().splitlines()]
    done = next(line for line in lines if line["event"] == "envelope.done")
    assert (done["envelope"], done["name"], done["worker"]) == (1, "a.xml", "1")


@pytest.mark.thorough
def test_a_second_daemon_on_sqlite_waits_for_the_first(place: Path, tmp_path: Path) -> None:
    """What arrives is taken in once, and by the second one when the first ends."""
    with running_daemon(place):
        until(lambda: json.loads((place / "beat.json").read_text())["workers"][0]["leads"])
        with running_daemon(place):
            (place / "in" / "a.xml").write_bytes(b"<unknown/>")
            until(lambda: (place / "in" / "failed" / "a.xml").exists())
    with opened(f"sqlite:///{tmp_path}/eis.db") as engine, engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*), max(attempts) FROM envelope").fetchall() == [(1, 1)]


def test_a_daemon_without_a_store_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no store"):
        check(Config.model_validate({"database": f"sqlite:///{tmp_path}/eis.db"}))


def archived(office: Office, name: str, content: bytes) -> OpenEnvelope:
    """An envelope that waits."""
    from io import BytesIO

    office.gateway.inbound.archive([(BytesIO(content), name)], "test")
    return office.waiting()[-1]


def test_an_envelope_that_kills_its_workers_is_put_aside_and_harms_no_neighbour(office: Office) -> None:
    """Ten workers died of the first; the next one gives it up and goes on with the second."""
    poison = archived(office, "poison.xml", b"<poison/>")
    archived(office, "good.xml", b"<unknown/>")
    for _ in range(office.config.daemon.attempts):
        assert begin(office.store, poison.id) is not None
    worker = Worker("1", office.config, Notes(), threading.Event())
    assert worker._pass(office.desk, office.gateway.inbound)
    assert office.rows("SELECT code FROM incident WHERE envelope_id = 1 ORDER BY id") == [("ENV_PUT_ASIDE",)]
    assert office.rows("SELECT name, state FROM envelope ORDER BY id") == [
        ("poison.xml", "failed"),
        ("good.xml", "failed"),
    ]


def test_two_workers_never_have_one_envelope(office: Office) -> None:
    """The second one sees that it is taken, and processes nothing; when the first is gone it is free."""
    archived(office, "a.xml", b"<unknown/>")
    worker = Worker("2", office.config, Notes(), threading.Event())
    office.desk.locks.close()
    other = open_locks(office.store.engine)
    try:
        holder = other.holder()
        assert holder is not None
        assert [one.envelope.name for one in claim(office.store, holder, 10)] == ["a.xml"]
        assert not worker._pass(office.desk, office.gateway.inbound)
        assert office.rows("SELECT state FROM envelope") == [("archived",)]
    finally:
        other.close()
    # The server needs a moment to see that the connection is gone.
    until(lambda: worker._pass(office.desk, office.gateway.inbound), 10)


def test_whoever_goes_on_with_an_envelope_of_another_is_stopped_by_the_store(office: Office) -> None:
    """A worker whose connection was lost, and its successor: one of them gets on."""
    item = archived(office, "a.xml", b"<unknown/>")
    envelope = item._replace(fresh=False)
    assert total(office.gateway.inbound.process(envelope)).failed == 1
    assert total(office.gateway.inbound.process(envelope)).failed == 1
    assert office.rows("SELECT count(*) FROM member") == [(1,)]
    assert office.rows("SELECT count(*) FROM incident") == [(1,)]


def asked(office: Office, reference: str) -> None:
    """A request that is to be sent."""
    now = now_micros()
    with office.store.transaction() as tx:
        (message,) = tx.reserve(tables.kernel_message, 1)
        row: dict[str, Any] = {"id": message, "position": 1, "market": "FR", "market_type": "ASK", "kind": "Ask"}
        row |= {"effective": now, "state": "accepted", "received_at": now, "xml": "<Ask/>", "version": 1}
        tx.insert(tables.kernel_message, [row])
        (request,) = tx.reserve(tables.outgoing, 1)
        row = {"id": request, "message_id": message, "market": "FR", "kind": "Ask", "type": "ASK", "state": "built"}
        row |= {"reference": reference, "content": b"<ask/>", "content_type": "application/xml", "created_at": now}
        row |= {"answer_by": now, "attempts": 0, "submitted_by": "test"}
        tx.insert(tables.outgoing, [row])


def test_an_answer_that_comes_at_once_is_archived_with_the_sending(office: Office) -> None:
    """It waits for a worker like any envelope; request and answer are one transaction."""
    asked(office, "R1")
    channel = MemoryOut(market="FR")
    channel.answers.append(b"<answer/>")
    duty = Delivering(office.desk, channel)
    assert office.desk.locks.take(duty.key)
    duty.turn()
    assert office.rows("SELECT state FROM outgoing") == [("sent",)]
    (answer,) = office.waiting()
    assert (answer.name.startswith("answer-R1"), answer.channel) == (True, "memory-out")


def test_a_database_lost_while_an_answer_is_recorded_loses_neither(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request stays to be sent; it is sent again with the same reference, which the market knows."""
    asked(office, "R1")
    channel = MemoryOut(market="FR")
    channel.answers.extend([b"<answer/>", b"<answer/>"])
    duty = Delivering(office.desk, channel)
    assert office.desk.locks.take(duty.key)

    insert = StoreTransaction.insert

    def lost(tx: StoreTransaction, table: Table, rows: Any) -> None:
        if table is tables.outgoing_event:
            raise UserError("The database was lost.", "", 4)
        insert(tx, table, rows)

    with monkeypatch.context() as broken:
        broken.setattr(StoreTransaction, "insert", lost)
        with pytest.raises(UserError):
            duty.turn()
    assert office.rows("SELECT state FROM outgoing") == [("built",)]
    assert office.waiting() == []
    duty.turn()
    assert office.rows("SELECT state FROM outgoing") == [("sent",)]
    assert len(office.waiting()) == 1
    assert channel.attempts == ["R1", "R1"]
