"""The predicates of the rules: what they promise beyond the examples in their docstrings, which the catalogue runs."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energycomm.kernel.parts import ChargeLine, Register, Volume
from rules import predicates

figures = st.text("0123456789", min_size=17, max_size=17)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(timezone(timedelta(hours=2))))
amounts = st.decimals(-(10**12), 10**12, places=2)


def with_check_digit(body: str) -> str:
    """The body with the check digit that makes it a GSRN."""
    return next(body + check for check in "0123456789" if predicates.gsrn_ok(body + check))


@given(figures)
def test_exactly_one_check_digit_is_right(body: str) -> None:
    assert sum(predicates.gsrn_ok(body + check) for check in "0123456789") == 1


@given(figures, st.integers(0, 17), st.integers(1, 9))
def test_one_wrong_figure_never_keeps_a_gsrn_valid(body: str, place: int, step: int) -> None:
    right = with_check_digit(body)
    wrong = f"{right[:place]}{(int(right[place]) + step) % 10}{right[place + 1 :]}"
    assert not predicates.gsrn_ok(wrong)


@given(st.text("0123456789", min_size=8, max_size=8))
def test_exactly_one_last_digit_makes_a_siren(body: str) -> None:
    assert sum(predicates.siren_form(body + check) for check in "0123456789") == 1


def test_known_identifiers_of_the_markets() -> None:
    for right in ("8712423010208", "541440010000000001", "571313000000002000", "871999900000000011"):
        assert predicates.gs1_ok(right)
    for wrong in ("579999993331812345", "541440010000000002", "", "87124230102O8"):
        assert not predicates.gs1_ok(wrong)


FORMS = {
    r"[0-9]{14}": lambda text: predicates.digits(text, 14),
    r"[0-9]{1,20}": lambda text: predicates.digits_between(text, 1, 20),
    r"[0-9A-Za-z]{4,12}": lambda text: predicates.letters_digits(text, 4, 12),
    r"[0-9]{2}[0-9A-Z-]{14}": predicates.eic_form,
    r"[0-9]+(\.[0-9]*)?": predicates.decimal_form,
}
"""Form of a text, as a pattern of another hand -> the predicate that asks for it."""


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_a_text_has_a_form_when_its_pattern_says_so(form: str, data: st.DataObject) -> None:
    """Any text, texts of the form, and texts of the form with one character changed."""
    right = st.from_regex(form, fullmatch=True)
    spoilt = st.tuples(right, st.integers(0, 20), st.characters()).map(lambda made: _changed(*made))
    text = data.draw(st.text(max_size=30) | right | spoilt)
    assert FORMS[form](text) is bool(re.fullmatch(form, text))


def _changed(text: str, place: int, character: str) -> str:
    return text[: place % len(text)] + character + text[place % len(text) + 1 :]


@given(st.text(max_size=30))
def test_identifiers_with_a_check_digit_are_digits(text: str) -> None:
    """A text of anything else is answered, and by no."""
    plain = re.fullmatch("[0-9]+", text) is not None
    assert plain or not (predicates.gs1_ok(text) or predicates.siren_form(text))


def test_digits_are_the_plain_ten_and_no_others() -> None:
    assert not predicates.digits("١٢٣٤", 4)
    assert not predicates.digits("12³4", 4)
    assert not predicates.letters_digits("AFFÉ", 4, 12)


@given(st.integers(0, 10**12), st.sampled_from(["Wh", "kWh"]), st.sampled_from(["Wh", "kWh"]))
def test_the_same_index_in_another_unit_never_goes_back(index: int, first: str, then: str) -> None:
    """An index of so many Wh, written down in whole units twice, passes the rule that forbids to go back."""
    before = predicates.wh(index // predicates.unit_wh(first), first)
    after = predicates.wh(index // predicates.unit_wh(then), then)
    assert after + predicates.rounding_wh(then, predicates.unit_wh(first)) >= before


@given(st.integers(1, 10**6))
def test_one_unit_less_in_the_same_unit_goes_back(index: int) -> None:
    for unit in ("Wh", "kWh"):
        after = predicates.wh(index - 1, unit) + predicates.rounding_wh(unit, predicates.unit_wh(unit))
        assert after < predicates.wh(index, unit)


@given(st.integers(101_000, 10**12))
def test_wh_read_as_kwh_is_seen_both_ways(index: int) -> None:
    assert predicates.thousandfold(index * 1000, index)
    assert predicates.thousandfold(index, index * 1000)
    assert not predicates.thousandfold(index, index)


@given(st.integers(10**5, 10**10), st.integers(10**5, 10**10))
def test_a_factor_of_a_thousand_has_no_direction(one: int, other: int) -> None:
    assert predicates.thousandfold(one, other) == predicates.thousandfold(other, one)


@given(st.integers(0, 10**12), st.integers(1, 12))
def test_an_index_fits_as_many_digits_as_it_has(index: int, count: int) -> None:
    assert predicates.fits_digits(index, count) == (len(str(index)) <= count)


def test_absurd_numbers_raise_nothing() -> None:
    assert predicates.fits_digits(10**30, 10**9)
    assert not predicates.fits_digits(5, -3)
    assert predicates.most_wh(Decimal("1E+400"), 1.0) == 10**18
    assert predicates.cents_apart(Decimal(10**40), Decimal(0)) == 10**42


@given(instants, st.integers(0, 3000))
def test_days_between_counts_civil_days(instant: datetime, days: int) -> None:
    later = instant + timedelta(days=days)
    assert predicates.days_between(instant, later) == days
    assert predicates.days_between(later.date(), instant) == -days
    assert predicates.same_day(instant, later) == (days == 0)


def test_a_day_is_that_of_the_written_offset() -> None:
    late = datetime.fromisoformat("2024-10-04T00:30:00+02:00")
    assert predicates.civil_day(late) == date(2024, 10, 4)
    assert predicates.local_midnight(datetime.fromisoformat("2024-10-04T00:00:00+02:00"))
    assert not predicates.local_midnight(datetime.fromisoformat("2024-10-03T22:00:00+00:00"))


@given(st.lists(amounts, max_size=8))
def test_the_total_of_lines_is_their_sum_in_any_order(values: list[Decimal]) -> None:
    lines = tuple(ChargeLine(code="X", amount=value) for value in values)
    assert predicates.lines_total(lines) == predicates.lines_total(lines[::-1]) == sum(values, Decimal(0))
    assert predicates.cents_apart(predicates.lines_total(lines), sum(values, Decimal(0))) == 0


@given(amounts, st.integers(0, 500))
def test_cents_apart_counts_cents(amount: Decimal, cents: int) -> None:
    other = amount + Decimal(cents) / 100
    assert predicates.cents_apart(amount, other) == predicates.cents_apart(other, amount) == cents


def test_registers_of_two_meters_or_directions_are_not_the_same() -> None:
    one = Register(grid="supplier", time_class="BASE", value=1, unit="kWh")
    fed_in = Register(grid="supplier", time_class="BASE", value=1, unit="kWh", direction="production")
    elsewhere = Register(grid="supplier", time_class="BASE", value=1, unit="kWh", meter="2")
    assert predicates.registers_distinct((one, fed_in, elsewhere))
    assert not predicates.registers_distinct((one, one))


def test_shares_of_one_energy_are_not_the_same() -> None:
    one = Volume(grid="supplier", time_class="BASE", quantity=Decimal(1), unit="kWh")
    share = Volume(grid="supplier", time_class="BASE", quantity=Decimal(1), unit="kWh", purpose="surplus")
    assert predicates.volumes_distinct((one, share))
    assert not predicates.volumes_distinct((one, one))


def test_a_step_of_days_counts_days_of_twenty_three_and_twenty_five_hours_too() -> None:
    """March of 2026 has 31 days and 743 hours, October 31 and 745."""
    winter, summer = timezone(timedelta(hours=1)), timezone(timedelta(hours=2))
    march = datetime(2026, 3, 1, tzinfo=winter), datetime(2026, 4, 1, tzinfo=summer)
    october = datetime(2026, 10, 1, tzinfo=summer), datetime(2026, 11, 1, tzinfo=winter)
    for start, end in (march, october):
        assert predicates.intervals(start, end, 1440) == 31
        assert predicates.whole_intervals(start, end, 1440)
        assert not predicates.whole_intervals(start, end + timedelta(hours=6), 1440)
    assert [predicates.intervals(*month, 60) for month in (march, october)] == [743, 745]
