"""Random orders of messages and files: forty with `make test-thorough`, more with `-m slow`, any number by command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from energycomm.pipeline import arrivals
from tests.pipeline.permutations import Order, Stage, play_all, staged
from tests.postgres import NoPostgres, running

SEED = 7


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Messages of every market, digested once."""
    with ExitStack() as ending:
        try:
            server = ending.enter_context(running())
        except NoPostgres:
            server = None
        yield ending.enter_context(staged(SEED, server))


def differing(stage: Stage, first: int, last: int) -> list[str]:
    outcomes = play_all(stage, [Order(SEED, number) for number in range(first, last)])
    return [f"order {one.number}, {one.what}: {line}" for one in outcomes for line in one.differences]


@pytest.mark.thorough
def test_forty_orders_end_in_the_store_of_the_right_one(stage: Stage) -> None:
    assert differing(stage, 0, 40) == []


@pytest.mark.slow
def test_two_thousand_orders_end_in_the_store_of_the_right_one(stage: Stage) -> None:
    assert differing(stage, 40, 2040) == []


@pytest.mark.thorough
def test_the_harness_sees_a_store_that_keeps_whatever_came_first(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the choice among arrivals the orders differ, and the differences name the field."""
    monkeypatch.setattr(arrivals, "_goes_before", lambda arrival, stored: False)
    found = differing(stage, 0, 15)
    assert any("xml @created" in line for line in found)
