"""How French dates become instants and civil days."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.fr_enedis.times import day, end_of_day, moment, start_of_day


def test_an_offset_is_kept_as_written() -> None:
    assert moment("2024-10-05T05:10:13.928023373+02:00").at.isoformat() == "2024-10-05T05:10:13.928023+02:00"
    assert moment("2024-06-03T18:52:44Z").at.isoformat() == "2024-06-03T18:52:44+00:00"
    assert not moment("2024-06-03T18:52:44Z").naive


def test_a_naive_time_is_paris_time() -> None:
    assert moment("2024-07-01T12:00:00") == (moment("2024-07-01T12:00:00+02:00").at, True)
    assert moment("2024-12-01T12:00:00").at.isoformat() == "2024-12-01T12:00:00+01:00"


def test_the_repeated_hour_of_october_is_its_first_pass() -> None:
    assert moment("2024-10-27T02:30:00").at.isoformat() == "2024-10-27T02:30:00+02:00"


def test_the_missing_hour_of_march_is_read_with_the_offset_before_the_change() -> None:
    assert moment("2024-03-31T02:30:00").at == moment("2024-03-31T03:30:00+02:00").at


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2024-04-04", "2024-04-05T00:00:00+02:00"),
        ("2024-03-30", "2024-03-31T00:00:00+01:00"),
        ("2024-03-31", "2024-04-01T00:00:00+02:00"),
        ("2024-10-27", "2024-10-28T00:00:00+01:00"),
        ("2024-12-31", "2025-01-01T00:00:00+01:00"),
    ],
)
def test_a_day_ends_at_the_next_midnight_in_paris(written: str, instant: str) -> None:
    assert end_of_day(written).isoformat() == instant


def test_a_civil_day_drops_its_offset() -> None:
    assert day("2024-11-22+01:00") == date(2024, 11, 22)


@pytest.mark.parametrize(
    "text", ["", "2024-02-30", "0001-01-01", "10000-01-01", "2024-10-04", "soon", "9999-12-31T00:00:00Z"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        moment(text)


@given(st.dates(date(1901, 1, 1), date(2199, 12, 30)))
def test_days_follow_each_other_without_hole(civil: date) -> None:
    """The end of a day is the start of the next one, 23, 24 or 25 hours after its own start."""
    assert end_of_day(civil.isoformat()) == start_of_day(civil + timedelta(days=1))
    assert end_of_day(civil.isoformat()) - start_of_day(civil) >= timedelta(hours=22)
    assert end_of_day(civil.isoformat()) - start_of_day(civil) <= timedelta(hours=25)
