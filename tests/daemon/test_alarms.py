"""Alarms: one line at the start, one at the end, and a section of the operator's guide for each."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from energycomm.daemon.alarms import ALARMS, AlarmBook


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_alarm_is_said_once_when_it_starts_and_once_when_it_ends() -> None:
    clock = Clock()
    book = AlarmBook(60, clock)
    with capture_logs() as lines:
        for _ in range(100):
            book.say("CHANNEL_FAILING", "enedis", "worker 1", True, "nothing listens")
            clock.now += 10
            book.say("CHANNEL_FAILING", "enedis", "worker 1", False)
            book.tick()
        clock.now += 60
        book.tick()
        book.tick()
    assert [line["event"] for line in lines] == ["alarm.started", "alarm.ended"]
    assert book.on == {}


def test_an_alarm_that_goes_on_for_another_reason_says_so_once_and_shows_the_last_words() -> None:
    book = AlarmBook(60, Clock())
    told = ("the server ended the session 4711", "the server takes no writing", "the server ended the session 4712")
    with capture_logs() as lines:
        for words in (*told, *told):
            book.say("DATABASE_LOST", "database", "worker 1", True, words)
    assert [(line["event"], line["detail"]) for line in lines] == [
        ("alarm.started", told[0]),
        ("alarm.changed", told[1]),
    ]
    assert book.on["DATABASE_LOST", "database"].detail == told[2]


def test_an_alarm_lasts_as_long_as_anybody_says_so() -> None:
    clock = Clock()
    book = AlarmBook(0, clock)
    for worker in ("worker 1", "worker 2"):
        book.say("DATABASE_LOST", "database", worker, True)
    book.say("DATABASE_LOST", "database", "worker 1", False)
    book.tick()
    assert ("DATABASE_LOST", "database") in book.on
    book.forget("worker 2")
    book.tick()
    assert book.on == {}


def test_every_alarm_has_its_section_in_the_operators_guide() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text("utf-8")
    missing = [alarm.code for alarm in ALARMS if f"\n### {alarm.code}\n" not in guide]
    assert missing == []
