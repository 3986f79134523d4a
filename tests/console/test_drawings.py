"""Charts and lives are drawn to scale, can be read without seeing them, and bear no markup of others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from lxml import etree

from energycomm.console.charts import Bar, bars
from energycomm.console.lifeline import LANES, draw, marks_of
from energycomm.console.raw import SHOWN, broken, cut
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


def test_a_large_member_is_shown_around_the_place_of_the_message() -> None:
    text = "".join(f"<PRM><Id>{n:014}</Id></PRM>\n" for n in range(20_000))
    piece = cut(text.encode(), "00000000015000|x", None)
    assert "00000000015000" in piece.text
    assert len(piece.text) <= 2 * SHOWN + 100
    assert not piece.whole
    assert piece.line > 14_000
    assert text.splitlines()[piece.line - 1] == piece.text.splitlines()[0]


def test_one_long_line_is_broken_between_elements() -> None:
    assert broken("<a><b/></a>") == "<a><b/></a>"
    assert re.findall(r"<b/>\n", broken("<a>" + "<b/>" * 200 + "</a>"))
