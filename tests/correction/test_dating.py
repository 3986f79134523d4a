"""A message that waits: is its date wrong, or is another message still to come? Dates are those of a calendar."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from msgspec import structs

from energycomm.correction.explanation import Explanation, explain
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, start, transaction

PRM = "99000000000017"
BEGIN = "2026-01-05"
"""Supply begins."""


def on(text: str) -> datetime:
    """Midnight of a day in Paris, in winter."""
    return datetime.fromisoformat(f"{text}T00:00:00+01:00")


def read(dated: str, written: str, contract: str = "123456789") -> Transaction:
    """An index of a contract, dated as it says and written when it was written."""
    (message,) = reading(PRM, on(dated), 1_200_000, contract=contract).messages
    return transaction([structs.replace(message, created=on(written))])


def explained(desk: Desk, *parts: Transaction) -> Explanation:
    """The explanation of the last message of what arrives."""
    for part in parts:
        desk.deliver([part])
    ((number,),) = desk.rows("SELECT max(id) FROM kernel_message")
    found = explain(desk.store, shipped_rules(), desk.engine, desk.markets, number)
    assert found is not None
    return found


def told(found: Explanation) -> dict[str, Any]:
    """What speaks for an error in the date, with the instants that are meant."""
    assert found.state == "quarantined"
    assert found.waiting is not None
    assert found.waiting.misdated == bool(found.waiting.doubts)
    return {one.words: one.instead for one in found.waiting.doubts}


def test_what_comes_before_its_start_waits_for_it(database_url: str) -> None:
    """Nothing is known of the contract: its start is still to come."""
    found = explained(Desk(database_url), read("2026-02-05", "2026-02-06"))
    assert told(found) == {}
    assert found.waiting is not None
    assert found.waiting.what.startswith("StartOfSupply")
    assert [rule.code for rule in found.failed if rule.outcome == "waits"] == ["common-data-waits-for-supply"]


def test_what_waits_beside_another_contract_waits_for_its_own(database_url: str) -> None:
    """Of this contract nothing is known; that another one began later says nothing of its date."""
    found = explained(Desk(database_url), start(PRM, day(0)), read("2025-12-20", "2025-12-21", "555555555"))
    assert told(found) == {}


def test_one_day_is_one_day(database_url: str) -> None:
    found = explained(Desk(database_url), start(PRM, day(0)), read("2026-01-04", "2026-01-04"))
    words = f"it is dated 1 day before everything known of contract 123456789, which begins on {BEGIN}"
    assert words in told(found)


@pytest.mark.parametrize(
    ("dated", "written", "meant", "mistake", "days"),
    [
        ("2025-02-05", "2026-02-06", "2026-02-05", "a year later", 334),
        ("2026-01-02", "2026-02-02", "2026-02-01", "with day and month the other way round", 3),
    ],
)
def test_a_slip_in_the_date_is_told_with_the_day_that_fits(
    database_url: str, dated: str, written: str, meant: str, mistake: str, days: int
) -> None:
    """The contract is there and begins on the fifth of January 2026; on the day that was meant no rule refuses it."""
    found = explained(Desk(database_url), start(PRM, day(0)), read(dated, written))
    assert told(found) == {
        f"it is dated {days} days before everything known of contract 123456789, which begins on {BEGIN}": None,
        f"on {meant}, {mistake}, no rule refuses it": on(meant),
    }


def test_a_day_of_another_decade_is_told(database_url: str) -> None:
    """2016 for 2026: ten years and a day lie between the reading and its writing; a market corrects less far back."""
    found = told(explained(Desk(database_url), start(PRM, day(0)), read("2016-02-05", "2026-02-06")))
    assert "it is dated 10 years before the day it was written" in found
    assert found["on 2026-02-05, in the year it was written, no rule refuses it"] == on("2026-02-05")


def test_a_day_that_would_be_refused_there_is_not_proposed(database_url: str) -> None:
    """A year later its index would lie below the one before it: so the date alone is not what is wrong."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), reading(PRM, day(10), 1_300_000)])
    assert [at for at in told(explained(desk, read("2025-02-05", "2026-02-06"))).values() if at is not None] == []


def test_asking_stores_nothing(database_url: str) -> None:
    desk = Desk(database_url)
    count = "SELECT (SELECT count(*) FROM kernel_message), (SELECT count(*) FROM state_change)"
    explained(desk, start(PRM, day(0)), read("2025-02-05", "2026-02-06"))
    before = desk.rows(count)
    explained(desk)
    assert desk.rows(count) == before


def test_what_waited_tells_the_message_that_freed_it(database_url: str) -> None:
    desk = Desk(database_url)
    explained(desk, read("2026-02-05", "2026-02-06"))
    desk.deliver([start(PRM, day(0))], desk.rows("SELECT max(received_at) FROM kernel_message")[0][0] + 1_000_000)
    found = explain(desk.store, shipped_rules(), desk.engine, desk.markets, 1)
    assert found is not None
    assert (found.state, found.waiting, found.failed) == ("accepted", None, ())
    assert found.settled is not None
    ((began,),) = desk.rows("SELECT id FROM kernel_message WHERE kind = 'StartOfSupply'")
    assert found.settled.message_id == began
