"""Charts and lives are drawn to scale, can be read without seeing them, and bear no markup of others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from lxml import etree

from energycomm.console.charts import Bar, bars
from energycomm.console.lifeline import LANES, draw, marks_of
from energycomm.eis.timeline import Entry, Timeline

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Brussels")
SVG = "{http://www.w3.org/2000/svg}"


def at(day: int) -> datetime:
    return BEGIN + timedelta(days=day)


def entry(day: int, what: str, **content: Any) -> Entry:
    return Entry(at=at(day), what=what, message_id=7, content=content)


def timeline(*entries: Entry) -> Timeline:
    return Timeline(id=1, market="FR", identifier="1", entries=entries, complete=True)


def drawing(*entries: Entry) -> Any:
    """The drawing of a life as XML."""
    made = draw(marks_of(timeline(*entries), at(400)), {lane: lane for lane in LANES}, "life", ZONE, at(400))
    return etree.fromstring(str(made))


def test_bars_are_as_tall_as_their_numbers() -> None:
    chart = etree.fromstring(str(bars([Bar("a", "a", (("good", "g", 10),)), Bar("b", "b", (("good", "g", 5),))], "x")))
    tall = [float(one.get("height", "")) for one in chart.iter("rect") if one.get("class") == "c-good"]
    assert tall[0] == 2 * tall[1]
    assert [one.text for one in chart.iter("title")] == ["a: g 10", "b: g 5"]


def test_a_chart_of_nothing_is_a_chart() -> None:
    chart = etree.fromstring(str(bars([Bar("", "a", (("good", "g", 0),))], "x")))
    assert chart.get("aria-label") == "x"


def test_supply_runs_until_it_ended_or_until_now() -> None:
    drawn = drawing(entry(0, "supply_period", reference="R1", ended_at=at(100)), entry(200, "supply_period"))
    first, second = [float(one.get("width", "")) for one in drawn.iter("rect") if "l-supply" in one.get("class")]
    assert abs(first - second / 2) < 1


def test_a_pause_between_readings_is_a_gap_when_it_is_much_longer_than_usual() -> None:
    days = [0, 30, 61, 91, 181, 212]
    marks = marks_of(timeline(*(entry(n, "reading", status="current") for n in days)), at(400))
    assert [(mark.begin, mark.title) for mark in marks if mark.style == "gap"] == [(at(91), "90 d")]


def supply(begin: int, end: int | None = None) -> Entry:
    return entry(begin, "supply_period", **({} if end is None else {"ended_at": at(end)}))


def read(*days: float, **content: Any) -> list[Entry]:
    return [Entry(at=BEGIN + timedelta(days=n), what="reading", message_id=7, content=content) for n in days]


def curves(*days: float, length: float = 1) -> list[Entry]:
    starts = [BEGIN + timedelta(days=n) for n in days]
    return [
        Entry(at=one, what="series", message_id=7, content={"end_at": one + timedelta(days=length)}) for one in starts
    ]


MONTHS = (0, 31, 59, 90, 120, 151)


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        pytest.param(
            [supply(0, 181), *read(*MONTHS, 181), *read(70, qualification="before-event"),
             *read(70.1, qualification="after-event"), *read(71, qualification="after-event")],
            [], id="monthly readings around a change of meter are whole"),
        pytest.param([supply(0, 181), *read(*MONTHS[:3], 120, 151, 181)], [("readings", 59, 120)], id="a month"),
        pytest.param([supply(0, 30), *read(*range(12), *range(13, 31))], [("readings", 11, 13)], id="a day is missing"),
        pytest.param([supply(0, 155), *read(*MONTHS[:5], *range(121, 156))], [], id="by the month, then by the day"),
        pytest.param([supply(0), *read(*MONTHS)], [("readings", 151, 400)], id="none came since: until now"),
        pytest.param([supply(0, 300), *read(*MONTHS)], [("readings", 151, 300)], id="until the end of supply"),
        pytest.param([supply(100)], [("readings", 100, 400)], id="none ever came"),
        pytest.param([supply(380)], [], id="none had to come yet"),
        pytest.param([supply(0, 151), *read(*MONTHS), supply(350, 395), *read(350, 380, 395)], [],
                     id="nothing is missing between two supplies"),
        pytest.param([entry(0, "point_data", reading_period=12), supply(0), *read(0, 365)], [], id="by the year"),
        pytest.param([supply(0, 20), *curves(*range(9), *range(10, 20))], [("curves", 9, 10)], id="a day of the curve"),
        pytest.param([supply(0, 20), *curves(*(n / 24 for n in range(480) if n != 100), length=1 / 24)],
                     [("curves", 100 / 24, 101 / 24)], id="an hour of the curve"),
        pytest.param([supply(0, 160), *curves(*range(20))], [("curves", 20, 160)], id="curves that stay away"),
        pytest.param([supply(0, 60), *curves(3, 17, 30, 44, 50)], [], id="curves that were asked for now and then"),
        pytest.param([supply(0, 151), *read(0, 31, 59, 151), *curves(*range(60, 151))], [], id="a curve tells it"),
    ],
)  # fmt: skip
def test_what_a_point_misses_follows_from_its_rhythm(entries: list[Entry], told: list[tuple[str, int, int]]) -> None:
    """Arithmetic of days: the present is day 400."""
    ordered = sorted(entries, key=lambda one: one.at or BEGIN)
    gaps = [mark for mark in marks_of(timeline(*ordered), at(400)) if mark.style == "gap"]
    days = [(one.lane, (one.begin - BEGIN) / timedelta(days=1), (one.end or BEGIN) - BEGIN) for one in gaps]
    found = [(lane, round(begin, 3), round(end / timedelta(days=1), 3)) for lane, begin, end in days]
    assert found == [(lane, round(begin, 3), round(end, 3)) for lane, begin, end in told]


def test_what_an_archive_holds_is_not_missing() -> None:
    """Before the instant from which the history is whole nothing is told to be missing."""
    marks = marks_of(timeline(supply(0, 300), *read(241, 272, 300)), at(400), whole_since=at(230))
    assert [mark for mark in marks if mark.style == "gap"] == []


@pytest.mark.parametrize(
    ("stopped", "running", "told"),
    [
        (91, None, []),
        (150, None, [(at(91), at(150))]),
        (150, "IDX", [(at(91), at(150))]),
        (150, "CDC", [(at(91), at(181))]),
    ],
)
def test_a_service_that_was_stopped_makes_no_gap_from_that_day(
    stopped: int, running: str | None, told: list[tuple[datetime, datetime]]
) -> None:
    """A pause counts until the notice's day; a service of the same kind was begun anew, one of another kind may have
    brought readings."""
    notices = [("IDX:2026-01-05", "IDX", "done", stopped)]
    if running is not None:
        notices.append((f"{running}:2026-06-01", running, "in-course", 170))
    entries = [entry(n, "reading", status="current") for n in (0, 30, 61, 91, 181, 212)]
    for number, (service, kind, state, on) in enumerate(notices, 100):
        content = {"reference": service, "object_code": kind, "state": state}
        entries.append(
            Entry(at=at(on), what="message", message_id=number, content={"type": "NASS", "state": "accepted"})
        )
        entries.append(Entry(at=at(on), what="request", message_id=number, content=content))
    gaps = [mark for mark in marks_of(timeline(*entries), at(400), {"NASS"}) if mark.style == "gap"]
    assert [(mark.begin, mark.end) for mark in gaps] == told
    assert [mark.end for mark in marks_of(timeline(*entries), at(400)) if mark.style == "gap"] == [at(181)]


def test_what_waits_and_what_was_refused_has_a_mark_of_its_own() -> None:
    drawn = drawing(
        entry(0, "supply_period"),
        entry(1, "message", state="accepted", kind="StartOfSupply"),
        entry(2, "message", state="quarantined", kind="MeterReading", waits_for="a start"),
        entry(3, "message", state="rejected", kind="MeterReading", codes=["FR-R03"]),
    )
    assert [one.get("class") for one in drawn.iter("polygon")] == ["m-wait", "m-bad"]


def test_a_date_far_away_does_not_squeeze_the_life() -> None:
    """A refused message of another century stands at the edge."""
    drawn = drawing(
        entry(0, "supply_period", ended_at=at(200)),
        entry(30_000, "message", state="rejected", kind="MeterReading", codes=["FR-R03"]),
    )
    (span,) = [float(one.get("width", "")) for one in drawn.iter("rect") if "l-supply" in one.get("class")]
    assert span > 300
    assert any("2108" in (one.text or "") for one in drawn.iter("title"))


def test_what_messages_say_is_text_in_the_drawing() -> None:
    drawn = drawing(entry(0, "contract", tariff='<script>alert("x")</script>'))
    assert not list(drawn.iter("script"))
    assert any("<script>" in (one.text or "") for one in drawn.iter("title"))
