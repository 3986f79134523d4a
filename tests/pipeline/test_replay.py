"""Refused messages go through the Kernel again, as they are or corrected."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from energycomm.kernel.codec import decode
from energycomm.kernel.messages import MeterReading
from energycomm.pipeline.replay import correct, mark, replay
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start
from tests.stored import clear_xml

PRM = "99000000000017"


def refused(desk: Desk) -> tuple[int, MeterReading]:
    """Deliver an index that goes back; its id and content."""
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    ((number, xml),) = desk.rows("SELECT id, xml FROM kernel_message WHERE state = 'rejected'")
    message = decode(clear_xml(xml))
    assert isinstance(message, MeterReading)
    return number, message


def mended(message: MeterReading) -> MeterReading:
    """The reading with an index that fits."""
    return structs.replace(message, registers=(structs.replace(message.registers[0], value=1300),))


def test_a_message_that_is_sent_back_as_it_was_is_rejected_again(database_url: str) -> None:
    """Nothing changed, so the verdict is the same; every step is recorded."""
    desk = Desk(database_url)
    number, _ = refused(desk)
    with desk.store.transaction() as tx:
        assert mark(tx, [number], "anna", "try again") == [number]
    outcome = replay(desk.store, desk.writer, "FR", [PRM])
    assert (outcome.treated, outcome.rejected) == (0, 1)
    steps = desk.rows(f"SELECT before, after FROM state_change WHERE message_id = {number} ORDER BY id")
    assert steps == [("received", "rejected"), ("rejected", "to_replay"), ("to_replay", "rejected")]


def test_a_corrected_version_takes_the_place_of_its_original(database_url: str) -> None:
    """Original kept as it was, new version treated, the reading in the domain tables is the corrected one."""
    desk = Desk(database_url)
    number, message = refused(desk)
    with desk.store.transaction() as tx:
        version = correct(tx, number, mended(message), "anna", "index typed wrong")
    outcome = replay(desk.store, desk.writer, "FR", [PRM])
    assert outcome.treated == 1
    states = dict(desk.rows(f"SELECT id, state FROM kernel_message WHERE id IN ({number}, {version})"))
    assert states == {number: "treated", version: "treated"}
    assert desk.rows(f"SELECT message_id FROM reading WHERE message_id IN ({number}, {version})") == [(version,)]
    ((original,),) = desk.rows(f"SELECT xml FROM kernel_message WHERE id = {number}")
    assert 'value="1100"' in clear_xml(original)


def test_later_messages_are_judged_against_the_corrected_version(tmp_path: Path) -> None:
    """The corrected index is what the next reading is compared with."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number, message = refused(desk)
    desk.deliver([reading(PRM, day(90), 1_250_000)])
    assert desk.states()[f"MeterReading {PRM}:R20260405:original:1250000"] == "accepted"
    with desk.store.transaction() as tx:
        correct(tx, number, mended(message), "anna", "index typed wrong")
    replay(desk.store, desk.writer, "FR", [PRM])
    assert desk.states()[f"MeterReading {PRM}:R20260405:original:1250000"].startswith("rejected CO-R05")


def test_a_late_message_after_a_correction_does_not_bring_the_original_back(tmp_path: Path) -> None:
    """The fold goes on with the corrected version."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number, message = refused(desk)
    with desk.store.transaction() as tx:
        version = correct(tx, number, mended(message), "anna", "index typed wrong")
    replay(desk.store, desk.writer, "FR", [PRM])
    desk.deliver([reading(PRM, day(20), 1_000_000)])
    states = dict(desk.rows(f"SELECT id, state FROM kernel_message WHERE id IN ({number}, {version})"))
    assert states == {number: "treated", version: "treated"}


def test_a_second_click_does_nothing(tmp_path: Path) -> None:
    """Marked once; a second corrected version of the same original is refused."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number, message = refused(desk)
    with desk.store.transaction() as tx:
        assert mark(tx, [number], "anna", "again") == [number]
        assert mark(tx, [number], "anna", "again") == []
        correct(tx, number, mended(message), "anna", "index")
    with desk.store.transaction() as tx, pytest.raises(LookupError, match="already"):
        correct(tx, number, mended(message), "anna", "index")


def test_accepted_messages_are_not_replayed(tmp_path: Path) -> None:
    """What was accepted stays as it is."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([start(PRM, day(0))])
    ids = [number for (number,) in desk.rows("SELECT id FROM kernel_message")]
    with desk.store.transaction() as tx:
        assert mark(tx, ids, "anna", "again") == []
