"""People pause, resume and try channels from anywhere; every daemon obeys, and tells how they are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import structlog

from energycomm import cli
from energycomm.daemon import duties
from energycomm.daemon.duties import Desk
from energycomm.daemon.polling import Polling
from energycomm.daemon.sending import Delivering
from energycomm.eis import channels as stored
from energycomm.eis.channels import daemon_states
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.errors import ExitCode
from energycomm.kernel.instants import now_micros
from energycomm.masking import conceal
from energycomm.pipeline.progress import total
from energycomm.transport.channel import TechnicalError
from energycomm.transport.patience import GuardedIn, GuardedOut, SystemClock
from energycomm.transport.settings import ChannelSetting
from tests.daemon.conftest import Office
from tests.daemon.test_daemon import asked, running_daemon, until
from tests.daemon.test_daemon import place as place
from tests.transport.memory import MemoryIn, MemoryOut


def fault(channel: str, detail: str = "as told", code: str = "CHANNEL_UNREACHABLE") -> TechnicalError:
    return TechnicalError(code=code, channel=channel, detail=detail)


def patient(name: str, direction: str) -> ChannelSetting:
    """A channel that is left alone for an hour after its first failure."""
    settings = {"name": name, "market": "FR", "direction": direction, "attempts": 1, "break_after": 1}
    return ChannelSetting.model_validate(settings | {"break_for": 3600, "break_longest": 7200})


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energycomm.daemon.switches.LOOK_EVERY", 0.0)


def polling(office: Office, channel: MemoryIn, desk: Desk | None = None) -> Polling:
    made = Polling(
        desk or office.desk, GuardedIn(channel, patient(channel.name, "in"), SystemClock()), office.gateway.inbound
    )
    made.desk.locks.take(made.key)
    return made


def test_a_paused_channel_rests_across_restarts_and_finishes_what_it_took(office: Office) -> None:
    channel = MemoryIn()
    channel.put("a.xml", b"<unknown/>")
    duty = polling(office, channel)
    duty.turn()
    stored.pause(office.store, "memory-in", "anna", "maintenance", now_micros())
    channel.put("b.xml", b"<unknown again='1'/>")
    for item in office.waiting():
        total(office.gateway.inbound.process(item._replace(fresh=False)))
    duty.turn()
    assert channel.settled == [("a.xml", "failed")]
    anew = polling(
        office, channel, Desk(office.config, office.store, office.desk.locks, office.notes, office.desk.stop)
    )
    anew.turn()
    assert (office.waiting(), channel.waiting) == ([], ("b.xml",))
    stored.resume(office.store, "memory-in")
    anew.turn()
    assert [item.name for item in office.waiting()] == ["b.xml"]


def test_a_pause_ends_the_alarm_and_the_burst_at_hand(office: Office) -> None:
    """What waits for a person needs no further word; nothing more is taken in than what was begun."""
    channel = MemoryIn()
    channel.faults.extend([fault("memory-in", code="CHANNEL_LOGIN")])
    duty = polling(office, channel)
    duty.turn()
    stored.pause(office.store, "memory-in", "anna", "", now_micros())
    duty.turn()
    assert office.notes.alarms() == [("CHANNEL_FAILING", True), ("CHANNEL_FAILING", False)]
    assert not duty.going()


def test_who_paused_first_stays_named(office: Office) -> None:
    stored.pause(office.store, "x", "anna", "the market asked for it", 1_000_000)
    stored.pause(office.store, "x", "ben", "", 2_000_000)
    known = stored.channel_states(office.store.engine)["x"]
    assert (known.paused_by, known.why) == ("anna", "the market asked for it")
    assert stored.resume(office.store, "x")
    assert not stored.resume(office.store, "x")


def test_a_channel_that_is_left_alone_is_tried_once_when_somebody_asks(office: Office) -> None:
    channel = MemoryIn()
    channel.faults.extend([fault("memory-in"), fault("memory-in")])
    channel.put("a.xml", b"<unknown/>")
    duty = polling(office, channel)
    duty.turn()
    duty._due = 0.0
    duty.turn()
    assert len(channel.faults) == 1, "it is left alone"
    assert office.notes.counted("energycomm_channel_errors")["memory-in", "CHANNEL_OPEN"] == 1
    error = stored.channel_states(office.store.engine)["memory-in"].error
    assert error == str(fault("memory-in")), "why it failed and what to do, as before it was left alone"
    assert "check address, firewall" in error
    stored.ask(office.store, "memory-in", now_micros())
    duty.turn()
    assert channel.faults == type(channel.faults)()
    duty._due = 0.0
    duty.turn()
    assert office.waiting() == [], "the attempt failed: it is left alone again"
    duty._steps_down = False
    stored.ask(office.store, "memory-in", now_micros())
    duty.turn()
    assert [item.name for item in office.waiting()] == ["a.xml"]


def test_who_sleeps_until_the_next_turn_wakes_when_somebody_asks(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duties, "LOOK_SECONDS", 0.01)
    duty = polling(office, MemoryIn())
    stored.ask(office.store, "memory-in", now_micros())
    begun = time.monotonic()
    duty.sleep(60)
    assert time.monotonic() - begun < 30


def test_a_request_that_waits_for_its_next_attempt_goes_out_when_somebody_asks(office: Office) -> None:
    asked(office, "R1")
    channel = MemoryOut(market="FR")
    channel.faults.append(fault("memory-out"))
    duty = Delivering(office.desk, GuardedOut(channel, patient("memory-out", "out"), SystemClock()))
    assert duty.desk.locks.take(duty.key)
    duty.turn()
    duty.turn()
    stored.pause(office.store, "memory-out", "anna", "", now_micros())
    assert not stored.ask(office.store, "memory-out", now_micros()), "nobody tries what is paused"
    duty.turn()
    assert len(channel.attempts) == 1
    stored.resume(office.store, "memory-out")
    assert stored.ask(office.store, "memory-out", now_micros())
    duty.turn()
    assert office.rows("SELECT state FROM outgoing") == [("sent",)]


def test_a_channel_tells_how_it_is_without_secrets(office: Office) -> None:
    conceal("hunter2hunter2")
    channel = MemoryIn()
    channel.faults.append(fault("memory-in", "login as hunter2hunter2 was refused"))
    duty = polling(office, channel)
    duty.turn()
    known = stored.channel_states(office.store.engine)["memory-in"]
    assert known.error is not None
    assert "login as *** was refused" in known.error
    assert (known.worked_at, known.failed_at is not None) == (None, True)
    stored.ask(office.store, "memory-in", now_micros())
    duty.turn()
    known = stored.channel_states(office.store.engine)["memory-in"]
    assert (known.error, known.failed_at, known.worked_at is not None) == (None, None, True)


@pytest.mark.thorough
def test_the_commands_of_an_operator(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A daemon obeys, tells who works, and is missed when it dies."""
    monkeypatch.chdir(place)

    def told(*words: str, code: int = ExitCode.OK) -> str:
        assert cli.main(list(words)) == code
        structlog.reset_defaults()
        return capsys.readouterr().out

    assert json.loads(told("workers", "--json")) == []
    with running_daemon(place) as daemon, opened("sqlite:///eis.db") as engine:
        until(lambda: daemon_states(engine, now_micros()))
        assert json.loads(told("channel", "pause", "DROP", "--why", "until Monday", "--json"))["state"] == "paused"
        until(lambda: "duty.paused" in (place / "log").read_text())
        (place / "in" / "a.xml").write_bytes(b"<unknown/>")
        assert "until Monday" in told("channel", "list")
        assert cli.main(["channel", "poll", "drop", "--once"]) == ExitCode.USAGE
        assert "channel resume drop" in capsys.readouterr().err
        time.sleep(0.6)  # three times [daemon] poll_seconds
        assert (place / "in" / "a.xml").exists()
        told("channel", "resume", "drop")
        until(lambda: (place / "in" / "failed" / "a.xml").exists())
        until(lambda: '"works"' in told("channel", "list", "--json"))

        def seen() -> dict[str, Any]:
            (shown,) = json.loads(told("workers", "--json"))
            return dict(shown["facts"]["workers"][0])

        # A daemon signs every few seconds.
        until(lambda: seen()["state"] in ("idle", "working") and "poll/drop" in seen()["leads"])
        daemon.kill()
        daemon.wait(60)
        assert [one.silent for one in daemon_states(engine, now_micros() + 60_000_000)] == [True]
    with running_daemon(place), opened("sqlite:///eis.db") as engine:
        until(lambda: any(not one.silent for one in daemon_states(engine, now_micros())))
    assert cli.main(["channel", "pause", "dropp"]) == ExitCode.USAGE
    assert "Did you mean drop?" in capsys.readouterr().err
    with opened("sqlite:///eis.db") as engine, engine.connect() as connection:
        lines = connection.exec_driver_sql("SELECT what, subject FROM audit WHERE action = 'change'").fetchall()
    assert [tuple(line) for line in lines[:2]] == [
        ("energycomm channel pause", "name=DROP why=until Monday"),
        ("energycomm channel resume", "name=drop"),
    ]


def test_a_store_that_is_used_at_once_keeps_one_row_a_channel(office: Office) -> None:
    with opened(str(office.config.database_url)) as engine:
        other = Store(engine)
        stored.note(office.store, "x", "one", 1, None)
        stored.note(other, "x", "two", 2, "it broke")
        stored.pause(other, "x", "anna", "", 3)
        stored.note(office.store, "x", "one", 4, None)
    known = stored.channel_states(office.store.engine)["x"]
    assert (known.host, known.error, known.paused_by) == ("one", None, "anna")
