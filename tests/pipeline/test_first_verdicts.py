"""What was accepted as it arrived says so in its own row; in a store of before another row does. Both read alike."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from energycomm.eis.database import is_sqlite, reading, writing
from energycomm.eis.messages import show_message
from energycomm.eis.tables import ALL_CHANGES
from energycomm.kernel.instants import instant
from energycomm.pipeline.rows import moments
from tests.pipeline import story
from tests.pipeline.desk import NOW, Desk
from tests.pipeline.story import day, start

PRM = "99000000000017"


def as_before(desk: Desk) -> None:
    """Make the store one of before: every change has its row."""
    with writing(desk.database) as connection:
        connection.execute(
            text(
                'INSERT INTO state_change (id, message_id, "before", after, at, "by", rules_version_id) '
                "SELECT -id, id, 'received', 'accepted', received_at, 'kernel', accepted_under FROM kernel_message "
                "WHERE accepted_under IS NOT NULL"
            )
        )
        connection.execute(text("UPDATE kernel_message SET accepted_under = NULL"))


@pytest.mark.parametrize("former", [False, True])
def test_a_change_is_told_whichever_row_says_it(database_url: str, former: bool) -> None:
    """A reading is accepted, told, and rejected when a later reading of lower index arrives before it; its contract has
    a warning, and a row."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), story.reading(PRM, day(60), 1_050_000)])
    rows = desk.rows("SELECT k.kind FROM state_change c JOIN kernel_message k ON k.id = c.message_id")
    assert rows == [("ContractTerms",)]
    if former:
        as_before(desk)
        assert desk.rows("SELECT count(*) FROM kernel_message WHERE accepted_under IS NOT NULL") == [(0,)]
    numbers = [number for (number,) in desk.rows("SELECT id FROM kernel_message ORDER BY id")]
    for number in numbers:
        shown = show_message(desk.database, number)
        assert shown is not None
        told = [(one.before, one.after, one.by, one.rules, one.why) for one in shown.changes]
        assert told == [("received", "accepted", "kernel", desk.engine.version, None)]
        assert {one.at for one in shown.changes} == {instant(NOW)}
    with desk.store.transaction() as tx:  # by a clock that was put back, nothing comes before what is recorded
        assert moments(tx, numbers, NOW - 5) == dict.fromkeys(numbers, NOW + 1)
    desk.tell_back_office()
    desk.deliver([story.reading(PRM, day(31), 1_060_000)], now=NOW + 10)
    number = numbers[-1]
    changes = f"SELECT after, at FROM ({ALL_CHANGES}) AS c WHERE message_id = {number} ORDER BY at, id"
    assert desk.rows(changes) == [("accepted", NOW), ("rejected", NOW + 10)]
    events = desk.rows(f"SELECT event FROM outbox WHERE message_id = {number} AND state = 'pending' ORDER BY event")
    assert ("acceptance-withdrawn",) in events


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT max(at) FROM {} WHERE message_id = ? AND after = 'accepted'",
        "SELECT message_id, max(at) FROM {} WHERE true AND message_id IN (?) GROUP BY 1",
        "SELECT id FROM {} WHERE message_id = ? ORDER BY id",
    ],
)
def test_the_changes_of_a_message_are_found_by_its_number(database_url: str, asked: str) -> None:
    """Neither table is read from end to end."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0))])
    query = asked.format(f"({ALL_CHANGES}) AS c").replace("?", "7")
    sqlite = is_sqlite(desk.database)
    with reading(desk.database) as connection:
        if not sqlite:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
        rows = connection.execute(text(("EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN ") + query)).all()
    shown = "\n".join(str(row[-1]) for row in rows)
    for table in ("state_change", "kernel_message"):
        assert f"SCAN {table}" not in shown, shown
        assert f"Seq Scan on {table}" not in shown, shown
    assert "SEARCH kernel_message USING INTEGER PRIMARY KEY" in shown or "pk_kernel_message" in shown, shown
