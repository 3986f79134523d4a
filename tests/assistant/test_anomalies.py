"""Accepted messages that are unlike their access point's past and its peers."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.anomalies.calendar import by_class, by_weekday
from assistant.anomalies.charges import charged
from assistant.anomalies.energy import Point, Used, told, used
from assistant.anomalies.ranking import Anomaly, Followed, ranked
from energycomm import cli
from energycomm.errors import ExitCode

BEGIN = datetime(2025, 1, 6, tzinfo=UTC)
WEEK = timedelta(days=7)


def year(weekly: list[float]) -> list[Used]:
    """Spans of a week each."""
    return [
        Used(number, BEGIN + number * WEEK, BEGIN + (number + 1) * WEEK, amount, "Wh")
        for number, amount in enumerate(weekly)
    ]


def street(changed: dict[int, Any] | None = None, points: int = 20) -> dict[Point, list[Used]]:
    """Points of one street: each its level, all one season, some noise; some changed by a function of the week."""
    found = {}
    for number in range(points):
        rng = Random(number)
        level = rng.uniform(30_000, 120_000)
        season = [1 + 0.5 * math.cos(week / 52 * 2 * math.pi) for week in range(52)]
        weekly = [level * factor * math.exp(rng.gauss(0, 0.05)) for factor in season]
        if changed and number in changed:
            weekly = [amount * changed[number](week) for week, amount in enumerate(weekly)]
        found["FR", f"{number:014d}"] = year(weekly)
    return found


def test_a_street_in_which_nothing_happens_has_no_anomaly() -> None:
    assert [one for one in ranked(Followed(street())) if one.score >= 2] == []


def test_a_change_is_told_with_its_day_its_factor_and_the_first_message_after_it() -> None:
    first = ranked(Followed(street({3: lambda week: 1.6 if week >= 30 else 1.0})))[0]
    assert (first.access_point, first.kind, first.message) == ("00000000000003", "change", 30)
    assert first.since == BEGIN + 30 * WEEK
    assert first.effect == pytest.approx(1.6, rel=0.1)
    assert "1.6" in first.why or "1.5" in first.why


def test_a_slow_drift_is_told_as_one() -> None:
    first = ranked(Followed(street({5: lambda week: math.exp(-0.7 * week / 51)})))[0]
    assert (first.access_point, first.kind) == ("00000000000005", "drift")
    assert first.effect == pytest.approx(math.exp(-0.7), rel=0.1)


def test_two_meters_taken_for_each_other_are_told_as_a_pair() -> None:
    known = street()
    (one, other) = sorted(known, key=lambda point: known[point][0].amount)[:: len(known) - 1]
    first, second = known[one], known[other]
    known[one], known[other] = first[:25] + second[25:], second[:25] + first[25:]
    found = ranked(Followed(known))[:2]
    assert {(a.access_point, a.other, a.kind) for a in found} == {
        (one[1], other[1], "exchange"),
        (other[1], one[1], "exchange"),
    }


def test_a_power_that_does_not_suit_the_use_is_told() -> None:
    known = street()
    suited = {point: max(round(spans[0].amount / 10_000), 1) for point, spans in known.items()}
    suited["FR", "00000000000007"] *= 8
    found = ranked(Followed(known, suited))[0]
    assert (found.access_point, found.kind) == ("00000000000007", "power")
    assert found.effect == pytest.approx(1 / 8, rel=0.3)


def test_the_season_that_all_share_is_no_anomaly_of_anyone() -> None:
    """A cold spell of three weeks doubles what everybody uses."""
    spell = {number: lambda week: 2.0 if 20 <= week < 23 else 1.0 for number in range(20)}
    assert [one for one in ranked(Followed(street(spell))) if one.score >= 2] == []


def reading(day: int, value: int, **other: Any) -> dict[str, Any]:
    row = {
        "market": "FR",
        "access_point": "1",
        "message": day,
        "at": BEGIN + timedelta(days=day),
        "status": "current",
        "direction": "consumption",
        "grid": "distributor",
        "time_class": "HP",
        "meter": None,
        "product": None,
        "unit": "kWh",
        "coefficient": None,
        "value": Decimal(value),
    }
    return row | other


def test_energy_is_the_difference_of_two_indexes_of_the_same_meter() -> None:
    rows = [reading(0, 100), reading(7, 170), reading(14, 20, meter="new"), reading(21, 90, meter="new")]
    spans = used(told(rows, []))["FR", "1"]
    assert [(span.message, span.amount, span.days) for span in spans] == [(7, 70_000.0, 7.0), (21, 70_000.0, 7.0)]


def test_days_are_put_together_to_weeks_and_a_replaced_reading_does_not_count() -> None:
    rows = [reading(day, 10 * day) for day in range(15)] + [reading(7, 900, status="replaced")]
    assert [span.amount for span in used(told(rows, []))["FR", "1"]] == [70_000.0, 70_000.0]


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 10**9)), max_size=60))
def test_any_indexes_give_spans_in_order_that_do_not_overlap(read: list[tuple[int, int]]) -> None:
    spans = used(told([reading(day, value) for day, value in read], [])).get(("FR", "1"), [])
    assert all(span.amount >= 0 and span.end > span.start for span in spans)
    assert all(before.end <= after.start for before, after in pairwise(spans))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project_root: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path}/eis.db")
    cli.main(["process", str(project_root / "fixtures/fr/r15_periodic.xml")])


@pytest.mark.usefixtures("store")
def test_the_command_refuses_what_does_not_exist_and_says_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["assistant", "anomalies", "--kind", "exchang"]) == ExitCode.USAGE
    assert "exchange" in capsys.readouterr().err
    assert cli.main(["assistant", "anomalies", "--market", "XX"]) != 0
    assert "FR" in capsys.readouterr().err
    assert cli.main(["assistant", "anomalies", "--json"]) == 0
    assert capsys.readouterr().out.strip() == "[]"


def daily(changed: dict[int, Any] | None = None, points: int = 12) -> dict[Point, list[Used]]:
    """A street read day by day, two time classes: 70 of 100 by day, 40 more on days of the week-end, some noise."""
    found = {}
    for number in range(points):
        rng = Random(number)
        days = []
        for day in range(7 * 40):
            amount = rng.uniform(0.95, 1.05) * (14_000 if day % 7 >= 5 else 10_000)
            share = rng.uniform(0.67, 0.73)
            if changed and number in changed:
                amount, share = changed[number](day, amount, share)
            start = BEGIN + timedelta(days=day)
            classes = {"HP": amount * share, "HC": amount * (1 - share)}
            days.append(Used(day, start, start + timedelta(days=1), amount, "Wh", classes))
        found["FR", f"{number:014d}"] = days
    return found


def calendars(parts: dict[Point, list[Used]]) -> list[Anomaly]:
    patterns = [*by_class(used(parts)), *by_weekday(parts, {"FR": ZoneInfo("UTC")})]
    return [one for one in ranked(Followed(used(parts), patterns=patterns)) if one.score >= 2]


def test_day_and_night_taken_for_each_other_are_told_with_their_day() -> None:
    """Day against night was 70 to 30 and becomes 30 to 70: (30 / 70) / (70 / 30) = 0.18 of what it was."""
    (found,) = calendars(
        daily({4: lambda day, amount, share: (amount, 1 - share if day >= 140 else share)}),
    )
    assert (found.access_point, found.kind, found.since) == ("00000000000004", "calendar", BEGIN + 20 * WEEK)
    assert found.effect == pytest.approx((30 / 70) ** 2, rel=0.1)
    assert "0.18" in found.why
    assert "HC, HP" in found.why


def test_day_and_night_that_were_always_taken_for_each_other_are_unlike_the_peers() -> None:
    (found,) = calendars(daily({4: lambda day, amount, share: (amount, 1 - share)}))
    assert (found.access_point, found.kind) == ("00000000000004", "calendar")
    assert "peers" in found.why


def test_another_use_at_week_ends_is_told_though_the_week_is_the_same() -> None:
    """The week keeps its 78 kWh, but week-ends are now as every other day: 1 instead of 1.4."""
    (found,) = calendars(daily({7: lambda day, amount, share: (78_000 / 7 if day >= 140 else amount, share)}))
    assert (found.access_point, found.kind, found.since) == ("00000000000007", "calendar", BEGIN + 20 * WEEK)
    assert found.effect == pytest.approx(1 / 1.4, rel=0.05)


def test_a_street_that_keeps_its_calendar_has_no_anomaly() -> None:
    assert calendars(daily()) == []


def charge(number: int, month: int, **other: Any) -> dict[str, Any]:
    """Four weeks at 300 kWh, 10 cents each."""
    first = (BEGIN + timedelta(days=28 * month)).date()
    row = {
        "market": "FR", "access_point": f"{number:014d}", "message": 1000 * number + month, "currency": "EUR",
        "code": "ENERGY", "line_tariff": None, "start": first, "end": first + timedelta(days=27),
        "quantity": Decimal(300), "unit": "kWh", "amount": Decimal(30),
    }  # fmt: skip
    return row | other


def charges(rows: list[dict[str, Any]], points: int = 8) -> list[Anomaly]:
    """What is told of charges of points that all use 75 kWh a week."""
    spans = {("FR", f"{number:014d}"): year([75_000.0] * 52) for number in range(points)}
    told = ranked(Followed(spans, charged=charged(rows, spans, {"FR": ZoneInfo("UTC")})))
    return [one for one in told if one.score >= 2]


def every_charge(points: int = 8) -> list[dict[str, Any]]:
    return [charge(number, month) for number in range(points) for month in range(12)]


def test_charges_of_what_the_meter_counted_are_no_anomaly() -> None:
    assert charges(every_charge()) == []


def test_one_charge_of_another_energy_is_told_with_its_days_and_message() -> None:
    rows = every_charge()
    rows[2 * 12 + 5] = charge(2, 5, quantity=Decimal(450), amount=Decimal(45))
    (found,) = charges(rows)
    assert (found.access_point, found.kind, found.message) == ("00000000000002", "charge", 2005)
    assert found.since == BEGIN + timedelta(days=140)
    assert found.effect == pytest.approx(1.5, rel=0.01)
    assert "1.50" in found.why


def test_a_charge_that_was_given_back_and_charged_rightly_is_none() -> None:
    rows = every_charge()
    rows[2 * 12 + 5] = charge(2, 5, quantity=Decimal(450), amount=Decimal(45))
    back = charge(2, 5, message=9000, quantity=Decimal(-450), amount=Decimal(-45))
    assert charges([*rows, back, charge(2, 5, message=9001)]) == []


def test_a_price_that_nobody_else_is_charged_is_told() -> None:
    rows = [charge(3, row["message"] % 1000, amount=Decimal(60)) if row["message"] // 1000 == 3 else row
            for row in every_charge()]  # fmt: skip
    (found,) = charges(rows)
    assert (found.access_point, found.kind) == ("00000000000003", "charge")
    assert found.effect == pytest.approx(2, rel=0.01)
    assert "ENERGY" in found.why
