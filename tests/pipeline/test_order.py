"""Any order of arrival ends in the same EIS."""

from __future__ import annotations

import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from energycomm.eis import tables
from energycomm.eis.comparison import Meaning, canonical
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import AccessPointData, KernelMessage, MeterData, MeterReading
from energycomm.market.contract import Transaction
from energycomm.pipeline.rows import notification_row
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, end, head, reading, start, story, transaction

STORY = story()
TOLD_IN_ORDER: Meaning = {}


def told(url: str, order: list[int], cuts: list[int]) -> Meaning:
    """The EIS after the story was delivered in an order, in batches that end at the cuts."""
    desk = Desk(url)
    bounds = sorted({0, len(order), *(cut for cut in cuts if cut < len(order))})
    for low, high in pairwise(bounds):
        desk.deliver([STORY[number] for number in order[low:high]])
    meaning = canonical(desk.database, carriers=False)
    desk.database.dispose()
    return meaning


def in_order() -> Meaning:
    """The EIS after the story was delivered in business order, in one batch."""
    if not TOLD_IN_ORDER:
        with tempfile.TemporaryDirectory() as folder:
            TOLD_IN_ORDER.update(told(f"sqlite:///{folder}/eis.db", list(range(len(STORY))), []))
    return TOLD_IN_ORDER


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(STORY))), cuts=st.lists(st.integers(1, len(STORY) - 1), max_size=6))
def test_any_permutation_in_any_batches_ends_in_the_same_eis(order: list[int], cuts: list[int]) -> None:
    """Verdicts, domain tables and quarantine depend on the set of messages alone."""
    with tempfile.TemporaryDirectory() as folder:
        assert told(f"sqlite:///{folder}/eis.db", order, cuts) == in_order()


def test_the_worst_order_ends_in_the_same_eis_on_both_databases(database_url: str) -> None:
    """Delivered backwards, one by one, every message is late."""
    order = list(reversed(range(len(STORY))))
    assert told(database_url, order, list(range(len(STORY)))) == in_order()


def test_the_same_messages_again_change_nothing(database_url: str) -> None:
    """A second delivery is recorded as duplicates and has no other effect."""
    desk = Desk(database_url)
    desk.deliver(STORY)
    before = canonical(desk.database, carriers=False)
    tally = desk.deliver(list(reversed(STORY)))
    assert canonical(desk.database, carriers=False) == before
    assert sum(n for (_, _, outcome), n in tally.transactions.items() if outcome == "duplicate") == len(STORY)
    assert not tally.messages


def test_a_reading_waits_for_its_start_of_supply_and_is_released_by_it(tmp_path: Path) -> None:
    """The predecessor's arrival frees what waited for it."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading("99000000000017", day(31), 1_000_000)])
    assert set(desk.states().values()) == {"quarantined"}
    tally = desk.deliver([start("99000000000017", day(0))])
    assert set(desk.states().values()) == {"accepted"}
    assert tally.reassessed == 1


def test_a_late_reading_makes_a_later_one_be_judged_again(tmp_path: Path) -> None:
    """What was accepted without the late reading is refused with it, and the back office is told."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(prm, day(0)), reading(prm, day(60), 1_200_000)])
    assert set(desk.states().values()) == {"accepted"}
    desk.tell_back_office()
    desk.deliver([reading(prm, day(31), 1_300_000)])
    states = {key.split(":", 1)[1]: state for key, state in desk.states().items() if key.startswith("MeterReading")}
    assert sorted(states.values()) == ["accepted", "rejected CO-R05"]
    events = desk.rows("SELECT event FROM outbox ORDER BY id")
    assert ("acceptance-withdrawn",) in events
    assert desk.rows("SELECT count(*) FROM before_image WHERE table_name = 'reading'") == [(1,)]


def test_what_the_back_office_was_not_told_yet_is_not_taken_back(tmp_path: Path) -> None:
    """A notification that is still in the outbox is withdrawn without a word."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(prm, day(0)), reading(prm, day(60), 1_200_000)])
    desk.deliver([reading(prm, day(31), 1_300_000)])
    events = [event for (event,) in desk.rows("SELECT event FROM outbox")]
    assert "acceptance-withdrawn" not in events
    assert events.count("message-rejected") == 1


def test_an_acceptance_that_nobody_was_told_of_is_not_taken_back(tmp_path: Path) -> None:
    """Nothing was to be told of the data of the point when they were accepted: nothing is when they are refused."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(prm, day(100), "987654321")])
    desk.tell_back_office()
    desk.deliver([start(prm, day(0))], NOW + 1)
    events = desk.rows("SELECT k.kind, o.event FROM outbox o JOIN kernel_message k ON k.id = o.message_id")
    assert ("StartOfSupply", "acceptance-withdrawn") in events
    assert ("AccessPointData", "acceptance-withdrawn") not in events


def test_what_was_told_is_taken_back_though_more_of_it_was_still_to_be_told(tmp_path: Path) -> None:
    """One notification is out and another waits: the one is withdrawn in words, the other without."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(prm, day(0)), reading(prm, day(60), 1_200_000)])
    desk.tell_back_office()
    ((number,),) = desk.rows(
        "SELECT id FROM kernel_message WHERE kind = 'MeterReading' ORDER BY effective DESC LIMIT 1"
    )
    with desk.store.transaction() as tx:
        tx.insert(tables.outbox, [notification_row(number, "estimate-replaced", NOW + 1)])
    desk.deliver([reading(prm, day(31), 1_300_000)], NOW + 5)
    events = [event for (event,) in desk.rows(f"SELECT event FROM outbox WHERE message_id = {number} ORDER BY id")]
    assert events[-2:] == ["message-rejected", "acceptance-withdrawn"]
    assert "estimate-replaced" not in events


def feed(prm: str, at: datetime) -> Transaction:
    """The feed of the point is cut."""
    told = head(prm, at, "C15", "MDPRM", f"MDPRM:{at.isoformat()}") | {"contract_reference": "123456789"}
    cut = AccessPointData(**told, reason="master-data-change", segment="C5", connection_status="disconnected", phases=1)
    return transaction([cut])


def test_an_acceptance_that_was_taken_back_and_given_again_is_told_like_any_other(tmp_path: Path) -> None:
    """A message that arrives late may give the back office something to hear of it, whatever it heard before."""
    prm, second = "99000000000017", "987654321"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    states = []
    for number, late in enumerate((start(prm, day(100), second), start(prm, day(0)), end(prm, day(50)))):
        desk.deliver([late], NOW + number)
        if number == 0:
            told = f"SELECT id FROM kernel_message WHERE kind = 'AccessPointData' AND effective = {micros(day(100))}"
            with desk.store.transaction() as tx:
                tx.insert(tables.outbox, [notification_row(desk.rows(told)[0][0], "point-known", NOW)])
        desk.tell_back_office()
        states.append(_state(desk, f"AccessPointData {second}:MES:{day(100).isoformat()}"))
    assert [state == "accepted" for state in states] == [True, False, True]
    events = (
        "SELECT o.event FROM outbox o JOIN kernel_message k ON k.id = o.message_id "
        f"WHERE k.kind = 'AccessPointData' AND k.effective = {micros(day(100))} ORDER BY o.at, o.id"
    )
    assert ("acceptance-withdrawn",) in desk.rows(events)
    assert ("feed-changed",) not in desk.rows(events)
    for number, late in enumerate((feed(prm, day(20)), feed(prm, day(21)))):
        desk.deliver([late], NOW + 10 + number)
        assert desk.rows(events).count(("feed-changed",)) == 1


def _state(desk: Desk, name: str) -> str:
    """State of the message whose kind and reference end so."""
    kind, _, reference = name.partition(" ")
    (found,) = [state for key, state in desk.states().items() if key.startswith(kind) and key.endswith(reference)]
    return found


def installed(prm: str, at: datetime, meter: str) -> Transaction:
    """A meter is put in place."""
    told = head(prm, at, "C15", "CMAT", f"CMAT:{meter}") | {"contract_reference": "123456789"}
    return transaction([MeterData(**told, action="installed", meter=meter)])


@pytest.mark.parametrize(("meter", "state"), [("24681357913579", "accepted"), ("13451014311879", "rejected CO-R05")])
def test_the_first_message_about_a_meter_is_a_change_where_readings_named_another(
    tmp_path: Path, meter: str, state: str
) -> None:
    """The index of a new meter begins anew; that of the meter which the readings named all along does not."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    entry = transaction([told for told in start(prm, day(0)).messages if not isinstance(told, MeterData)])
    readings = [reading(prm, day(31), 1_100_000), reading(prm, day(59), 7_000)]
    desk.deliver([entry, *readings, installed(prm, day(40), meter)])
    (found,) = (told for key, told in desk.states().items() if ":7000" in key)
    assert found == state


def test_an_end_at_the_instant_of_its_start_waits_for_the_supply_that_it_ends(tmp_path: Path) -> None:
    """At one instant the end comes first, so that the point is free for the next start: it is of a supply before."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([end(prm, day(0)), start(prm, day(0))])
    states = {key.split(" ")[0]: state for key, state in desk.states().items()}
    assert (states["EndOfSupply"], states["StartOfSupply"]) == ("quarantined", "accepted")


def test_an_exit_before_its_entry_waits(tmp_path: Path) -> None:
    """An end of supply whose start is missing is no error of the message."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([end("99000000000017", day(150))])
    assert set(desk.states().values()) == {"quarantined"}


def test_a_correction_before_its_original_waits(tmp_path: Path) -> None:
    """A correction of a reading that is not there is released when the reading comes."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_100_000, function="replace")])
    assert "quarantined" in desk.states().values()
    desk.deliver([reading(prm, day(31), 1_000_000)])
    assert set(desk.states().values()) == {"accepted"}
    assert sorted(desk.rows("SELECT status FROM reading")) == [("current",), ("replaced",)]


@pytest.mark.parametrize("chunk", [1, 5, 100])
def test_the_size_of_batches_makes_no_difference(tmp_path: Path, chunk: int) -> None:
    """One batch or many: the facts are right inside a batch too."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    for low in range(0, len(STORY), chunk):
        desk.deliver(STORY[low : low + chunk])
    assert canonical(desk.database, carriers=False) == in_order()


def test_the_old_meter_read_at_the_instant_of_the_change_is_none_of_the_new_one(tmp_path: Path) -> None:
    """A daily index at midnight still names the meter that was there; the index of the new one begins anew."""
    prm = "99000000000017"
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    (old,) = reading(prm, day(40), 1_150_000).messages
    desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_100_000), installed(prm, day(40), "24681357913579")])
    desk.deliver([transaction([old]), transaction([named(reading(prm, day(59), 7_000), "24681357913579")])])
    assert set(desk.states().values()) == {"accepted"}


def named(told: Transaction, meter: str) -> KernelMessage:
    """The reading of another meter."""
    (message,) = told.messages
    assert isinstance(message, MeterReading)
    return structs.replace(message, meter=meter)
