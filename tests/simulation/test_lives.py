"""Simulated lives are believable: time runs forward, registers only rise, supplies do not overlap."""

from __future__ import annotations

from datetime import date
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm.kernel.verdicts import Refusal
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.consumption import Load, Shape
from energycomm.simulation.faults import FaultDraw, FaultRates, parse_faults
from energycomm.simulation.lives import plan_life
from energycomm.simulation.meters import energy_of, first_meter
from energycomm.simulation.scenario import Scenario

SCENARIO = Scenario(10, 24, 3, first=date(2024, 10, 1))
ALMANAC = Almanac("Europe/Paris", SCENARIO.first, SCENARIO.days)
SHAPE = Shape(ALMANAC, Random(1))


@given(number=st.integers(0, 10**6), faulty=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_life_is_a_chain_of_supplies_and_changes(number: int, faulty: bool) -> None:
    """Steps lie in order within the simulation; each begins where the one before ended."""
    life = plan_life(SCENARIO, number, SHAPE, "FR-R03" if faulty else None)
    days = [step.day for step in life.steps]
    assert days == sorted(days)
    assert all(0 <= day < SCENARIO.days for day in days)
    now = None
    for step in life.steps:
        assert (step.before is None) == (now is None)
        if step.enters:
            assert step.after.supply.start == step.day
        else:
            assert step.before is now
        now = None if step.leaves else step.after
    numbers = [step.after.supply.number for step in life.steps if step.enters]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_life_does_not_change_when_others_are_added() -> None:
    """The first hundred of a thousand access points live as in a simulation of a hundred."""
    alone = plan_life(SCENARIO, 7, SHAPE)
    more = Scenario(5000, SCENARIO.months, SCENARIO.seed, first=SCENARIO.first)
    assert [(s.day, s.reason) for s in plan_life(more, 7, SHAPE).steps] == [(s.day, s.reason) for s in alone.steps]


@given(day=st.integers(0, SCENARIO.days - 2), minute=st.integers(0, 1439), yearly=st.integers(10**6, 10**7))
@settings(max_examples=100, deadline=None)
def test_energy_only_rises_and_its_bands_make_up_the_whole(day: int, minute: int, yearly: int) -> None:
    """Every register's energy grows from minute to minute, and bands never lose a watt-hour."""
    load = Load(SHAPE, yearly, 61)
    now, later = load.until(day, minute), load.until(day + 1, 0)
    assert all(a <= b for a, b in zip(now, later, strict=True))
    assert energy_of("all", now) == energy_of("peak", now) + energy_of("off-peak", now)
    assert energy_of("peak", now) == energy_of("peak-high", now) + energy_of("peak-low", now)


def test_a_year_draws_what_the_load_says() -> None:
    """The yearly energy is spread over the year and not lost."""
    drawn = energy_of("all", Load(SHAPE, 4_000_000, 60).until(365, 0)) - energy_of(
        "all", Load(SHAPE, 4_000_000, 60).until(0, 0)
    )
    assert 3_700_000 < drawn < 4_300_000


def test_an_old_register_passes_through_zero() -> None:
    """Five digits show 99 999 kWh at most."""
    load = Load(SHAPE, 5_000_000, 60)
    meter = first_meter("1", smart=False, start=99_990_000, load=load, day=0)
    shown = [meter.shown_kwh(meter.index("supplier", "all", load.until(day, 0))) for day in range(30)]
    assert max(shown) > 99_000
    assert min(shown) < 1_000


def test_instants_follow_legal_time_on_the_days_of_a_clock_change() -> None:
    """Midnight of the last Sunday of March is still winter time, its noon is summer time."""
    almanac = Almanac("Europe/Paris", date(2025, 3, 30), 300)
    assert almanac.instant(0) == "2025-03-30T00:00:00+01:00"
    assert almanac.instant(0, 720) == "2025-03-30T12:00:00+02:00"
    assert almanac.instant(1) == "2025-03-31T00:00:00+02:00"
    autumn = almanac.number(date(2025, 10, 26))
    assert almanac.instant(autumn)[-6:] == "+02:00"
    assert almanac.instant(autumn, 300)[-6:] == "+01:00"


@pytest.mark.parametrize(
    "word", ["nonsense=0.1", "product", "product=2", "product=x", "FR-R99=0.1", "product=-1%", "=0.1"]
)
def test_a_fault_that_cannot_be_played_is_refused_with_what_is_possible(word: str) -> None:
    answer = parse_faults([word], ["FR-R03"])
    assert isinstance(answer, Refusal)
    assert answer.value == word
    assert answer.expected


def test_faults_are_asked_for_by_class_or_by_code() -> None:
    answer = parse_faults(["product=2%", "FR-R03=0.5"], ["FR-R03"])
    assert isinstance(answer, FaultRates)
    assert (answer.rate("product"), answer.rate("FR-R03"), answer.rate("wrong-order")) == (0.02, 0.5, 0.0)


def test_the_mistakes_of_a_class_take_turns() -> None:
    """So few access points are needed to see all of them."""
    draw = FaultDraw(FaultRates({"product": 0.5}), {"product": ("a", "b", "c")}, 4)
    drawn = [draw.draw() for _ in range(100)]
    assert [name for name in drawn if name][:6] == ["a", "b", "c", "a", "b", "c"]
    assert 30 < drawn.count(None) < 70
