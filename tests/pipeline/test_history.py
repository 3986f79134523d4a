"""What was known of an access point when a message's turn came: asked of the store without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec import structs
from sqlalchemy import text

from energycomm.eis.database import connect
from energycomm.eis.store import Store
from energycomm.kernel.messages import MeterReading
from energycomm.market.contract import Transaction
from energycomm.pipeline.history import Known, histories, history_before
from energycomm.pipeline.replay import correct, replay
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM, OTHER = "99000000000017", "99000000000038"
READING = "options=-c%20default_transaction_read_only%3Don%20-c%20lock_timeout%3D1000"
"""A session that breaks on whatever locks a row or stores one, and on whatever waits for a lock for a second."""


def refused(desk: Desk) -> int:
    """A start, an index of 1200 kWh, one of 1100 that goes back, one of 1250; the id of the refused one."""
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    desk.deliver([reading(PRM, day(90), 1_250_000)])
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")
    return int(number)


def known(desk: Desk, number: int, store: Store | None = None) -> Known:
    """What was known before a message."""
    found = history_before(store or desk.store, desk.engine, desk.markets, number)
    assert found is not None
    return found


def index_before(seen: Known) -> int | None:
    """The index that its register had before, in Wh."""
    (register,) = seen.history.registers
    return register.index_wh


def corrected(desk: Desk, number: int, wh: int, prm: str = PRM) -> int:
    """A version of a reading with another index, judged; its id."""
    message = known(desk, number).message
    assert isinstance(message, MeterReading)
    registers = (structs.replace(message.registers[0], value=wh // 1000),)
    with desk.store.transaction() as tx:
        version = correct(tx, number, structs.replace(message, registers=registers, access_point=prm), "anna", "test")
    replay(desk.store, desk.writer, "FR", sorted({PRM, prm}))
    return version


@contextmanager
def held(desk: Desk) -> Iterator[None]:
    """Another session that judges the access point, and does not end."""
    with desk.database.connect() as other, other.begin():
        other.execute(text("SELECT id FROM access_point FOR UPDATE"))
        yield


@pytest.mark.thorough
def test_nothing_is_waited_for_locked_or_stored(postgres_url: str) -> None:
    """Somebody else judges the access point meanwhile; afterwards the store holds what it held."""
    desk = Desk(postgres_url)
    number = refused(desk)
    counts = "SELECT (SELECT count(*) FROM access_point), (SELECT count(*) FROM kernel_message)"
    before = desk.rows(counts)
    asking = connect(f"{postgres_url}{'&' if '?' in postgres_url else '?'}{READING}")
    try:
        with held(desk):
            seen = known(desk, number, Store(asking))
    finally:
        asking.dispose()
    assert index_before(seen) == 1_200_000
    assert desk.rows(counts) == before


def test_the_past_of_an_original_holds_none_of_its_versions(database_url: str) -> None:
    """Corrected twice, to 1210 and 1220 kWh: the original is still compared with the 1200 before it."""
    desk = Desk(database_url)
    number = refused(desk)
    first = known(desk, number)
    version = corrected(desk, number, 1_010_000)
    latest = corrected(desk, version, 1_220_000)
    assert [state for (state,) in desk.rows(f"SELECT state FROM kernel_message WHERE id = {latest}")] == ["treated"]
    assert known(desk, number) == first
    assert index_before(known(desk, version)) == 1_200_000
    (after,) = [number for (number,) in desk.rows("SELECT max(id) FROM kernel_message WHERE version = 1")]
    assert index_before(known(desk, after)) == 1_220_000


def test_what_was_corrected_to_another_access_point_counts_there_alone(database_url: str) -> None:
    desk = Desk(database_url)
    desk.deliver([start(OTHER, day(0))])
    number = refused(desk)
    corrected(desk, number, 1_230_000, OTHER)
    (after,) = [number for (number,) in desk.rows("SELECT max(id) FROM kernel_message WHERE version = 1")]
    assert index_before(known(desk, after)) == 1_200_000


def test_a_message_that_was_withdrawn_is_told_with_its_past(database_url: str) -> None:
    desk = Desk(database_url)
    number = refused(desk)
    first = known(desk, number)
    with desk.store.transaction() as tx:
        tx.set_states([(number, "withdrawn", None, None)])
    assert known(desk, number) == first


def test_one_walk_tells_what_each_message_alone_tells(database_url: str) -> None:
    """With the accepted messages before it: four of the start, then the readings."""
    desk = Desk(database_url)
    corrected(desk, refused(desk), 1_220_000)
    ((point,),) = desk.rows("SELECT id FROM access_point")
    ids = [number for (number,) in desk.rows("SELECT id FROM kernel_message ORDER BY id")]
    together = {one.id: one for one in histories(desk.store, desk.engine, desk.markets.zone("FR"), point, ids)}
    assert together == {number: known(desk, number) for number in ids}
    last = max(together.values(), key=lambda one: one.message.effective)
    assert last.accepted == 6
    assert [type(one).__name__ for one in last.earlier] == ["MeterData", "MeterReading", "MeterReading"]


def test_a_reading_without_digits_does_not_make_the_register_forget_them(database_url: str) -> None:
    """Established readings state the digits, smart-meter readings between them do not: a change still shows."""

    def with_digits(at: int, wh: int, digits: int | None) -> Transaction:
        made = reading(PRM, day(at), wh)
        (message,) = made.messages
        assert isinstance(message, MeterReading)
        registers = (structs.replace(message.registers[0], digits=digits),)
        return structs.replace(made, messages=(structs.replace(message, registers=registers),))

    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), with_digits(31, 1_100_000, 6), with_digits(60, 1_150_000, None)])
    desk.deliver([with_digits(90, 1_200_000, 6), with_digits(120, 1_250_000, None), with_digits(150, 1_300_000, 5)])
    found = desk.rows("SELECT message_id FROM finding WHERE error_code = 'CO-R11'")
    assert [known(desk, number).message.effective for (number,) in found] == [day(150)]
