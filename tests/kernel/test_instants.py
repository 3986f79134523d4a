"""Instants as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from energycomm.kernel.instants import EPOCH, legal, micros, moment
from energycomm.market.legaltime import LegalTime

PARIS, LISBON = ZoneInfo("Europe/Paris"), ZoneInfo("Europe/Lisbon")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2024-10-04T00:00:00+02:00", "2024-10-04 00:00"),
        ("2024-10-03T22:00:00+00:00", "2024-10-04 00:00"),
        ("2024-12-31T23:00:00Z", "2025-01-01 00:00"),
        ("2024-10-05T05:10:13+02:00", "2024-10-05 05:10:13"),
        ("2026-10-25T00:30:00Z", "2026-10-25 02:30+02:00"),
        ("2026-10-25T01:30:00Z", "2026-10-25 02:30+01:00"),
        ("2026-10-25T02:00:00Z", "2026-10-25 03:00"),
        ("2026-03-29T01:30:00Z", "2026-03-29 03:30"),
    ],
)
def test_an_instant_is_shown_in_legal_time_whatever_offset_it_was_written_with(written: str, shown: str) -> None:
    """The offset is added in the hour alone that the clocks repeat."""
    assert legal(datetime.fromisoformat(written), PARIS) == shown


def test_two_instants_never_look_the_same() -> None:
    """Every quarter of the days around both changes of the clocks."""
    for day in (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)):
        instants = [day + timedelta(minutes=15 * at) for at in range(200)]
        assert len({legal(at, PARIS) for at in instants}) == len(instants)


def test_the_first_and_the_last_hours_of_the_calendar_are_shown() -> None:
    assert legal(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), PARIS) == "0001-01-01 00:00"
    assert legal(datetime(9999, 12, 31, 23, tzinfo=UTC), PARIS) == "9999-12-31 23:00"


def test_the_instant_0_is_none_that_anything_has() -> None:
    assert moment(0) is None
    assert moment(micros(datetime(2026, 1, 1, tzinfo=UTC))) == datetime(2026, 1, 1, tzinfo=UTC)
    assert micros(EPOCH) == 0


def test_a_market_has_its_own_legal_time_and_the_rest_ours() -> None:
    times = LegalTime({"PT": LISBON}, PARIS)
    at = datetime(2026, 1, 31, 23, 30, 7, tzinfo=UTC)
    assert (times.when(at, "PT"), times.when(at, "XX"), times.when(at)) == (
        "2026-01-31 23:30:07",
        "2026-02-01 00:30:07",
        "2026-02-01 00:30:07",
    )
    assert (times.to_the_minute(at, "PT"), times.day(at, "PT"), times.day(at)) == (
        "2026-01-31 23:30",
        "2026-01-31",
        "2026-02-01",
    )
    assert (times.when(None), times.day(None), times.to_the_minute(None)) == ("", "", "")


def test_instants_inside_a_value_of_json_are_told_in_legal_time_and_all_else_as_it_is() -> None:
    """At any depth; a day, a number and a text stay, and what has no time of its own says so."""
    times = LegalTime({"FR": PARIS}, LISBON)
    read = {
        "effective": "2024-10-03T22:00:00Z",
        "periods": [{"start": "2024-10-03T22:00:00+00:00", "day": "2024-10-03"}],
        "index": 10060,
        "created": "1970-01-01T00:00:00Z",
        "name": "2024-13-03T22:00:00Z",
    }
    assert times.told(read, "FR") == {
        "effective": "2024-10-04 00:00",
        "periods": [{"start": "2024-10-04 00:00", "day": "2024-10-03"}],
        "index": 10060,
        "created": "no time of its own",
        "name": "2024-13-03T22:00:00Z",
    }
