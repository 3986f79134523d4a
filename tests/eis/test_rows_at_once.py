"""Rows that are inserted together are counted and logged as those that come one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from energycomm.eis import changelog, tables
from energycomm.eis.bulk import SQLITE_ROWS
from energycomm.eis.database import Conflict
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.triggers import HOUR

AT = 5 * HOUR + 7


def message(number: int, state: str) -> dict[str, object]:
    return {
        "id": number,
        "position": 1,
        "market": "FR",
        "market_type": "R151",
        "kind": "MeterReading",
        "effective": 1,
        "state": state,
        "received_at": AT + (number == 1) * HOUR,
        "xml": "<m/>",
    }


def period(number: int) -> dict[str, object]:
    return {"id": number, "at": 1, "message_id": number}


def counted(engine: Engine) -> list[tuple[object, ...]]:
    sql = "SELECT hour, state, sum(messages) FROM message_tally GROUP BY hour, state ORDER BY hour, state"
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def logged(engine: Engine) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        sql = "SELECT table_name, row_id, op, message_id, run FROM change_log ORDER BY row_id"
        rows = connection.execute(text(sql)).all()
    # The message of a period has its number: so a run tells those of all its rows.
    return [(table, row + n, op, message + n) for table, row, op, message, run in rows for n in range(run)]


def together(tx: StoreTransaction, n: int) -> None:
    tx.insert(tables.kernel_message, [message(i, "accepted" if i % 2 else "rejected") for i in range(1, n + 1)])
    tx.insert(tables.supply_period, [period(i) for i in range(1, n + 1)])


def one_by_one(tx: StoreTransaction, n: int) -> None:
    for i in range(1, n + 1):
        tx.insert(tables.kernel_message, [message(i, "accepted" if i % 2 else "rejected")])
        tx.insert(tables.supply_period, [period(i)])


def logged_at_the_end(tx: StoreTransaction, n: int) -> None:
    with tx.driver.logging_at_end():
        together(tx, n)


@pytest.mark.parametrize("way", [together, one_by_one, logged_at_the_end])
@pytest.mark.parametrize("n", [1, 5, SQLITE_ROWS, 2 * SQLITE_ROWS + 7])
def test_every_row_counts_once(
    store: Store, engine: Engine, way: Callable[[StoreTransaction, int], None], n: int
) -> None:
    with store.transaction() as tx:
        way(tx, n)
    accepted, rejected = (n + 1) // 2, n // 2
    expected = [(-1, "accepted", accepted), (-1, "rejected", rejected), (5, "accepted", accepted - 1)]
    expected += [(5, "rejected", rejected), (6, "accepted", 1)]
    assert counted(engine) == [row for row in expected if row[2]]
    assert logged(engine) == [("supply_period", i, "insert", i) for i in range(1, n + 1)]


def periods(tx: StoreTransaction, *numbers: int) -> None:
    tx.insert(tables.supply_period, [period(number) for number in numbers])


def test_rows_after_those_that_are_logged_at_the_end_are_logged_as_ever(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        tx.insert(tables.kernel_message, [message(i, "accepted") for i in range(1, 8)])
        with tx.driver.logging_at_end():
            periods(tx, 1, 2, 3)
            periods(tx, 4)
        periods(tx, 5)
        periods(tx, 6, 7)
    assert logged(engine) == [("supply_period", i, "insert", i) for i in range(1, 8)]


def test_what_fails_before_it_is_logged_leaves_the_log_as_it_was(store: Store, engine: Engine) -> None:
    def fails(tx: StoreTransaction) -> None:
        with tx.attempt(), tx.driver.logging_at_end():
            periods(tx, 7, 8)
            periods(tx, 8, 9)

    with store.transaction() as tx:
        tx.insert(tables.kernel_message, [message(i, "accepted") for i in range(1, 10)])
        with pytest.raises(Conflict):
            fails(tx)
        periods(tx, 1)
        periods(tx, 2, 3)
    assert logged(engine) == [("supply_period", i, "insert", i) for i in (1, 2, 3)]


def test_a_cursor_from_before_rows_that_came_together_is_known(store: Store, engine: Engine) -> None:
    with engine.connect() as connection:
        before = changelog.present(connection)
    with store.transaction() as tx:
        together(tx, SQLITE_ROWS)
    with engine.connect() as connection:
        after = changelog.present(connection)
        assert after.number > before.number
        assert changelog.place_of(connection, str(before)) == before
        assert changelog.place_of(connection, str(after)) == after


def test_rows_that_were_refused_count_nothing(store: Store, engine: Engine) -> None:
    """Of a statement that is undone nothing is counted; what comes after it is."""
    with store.transaction() as tx:
        with pytest.raises(Conflict), tx.attempt():
            tx.insert(tables.kernel_message, [message(number, "accepted") for number in (7, 8, 9, 9)])
        one_by_one(tx, 2)
    assert counted(engine) == [
        (-1, "accepted", 1),
        (-1, "rejected", 1),
        (5, "rejected", 1),
        (6, "accepted", 1),
    ]
    assert [row[1] for row in logged(engine)] == [1, 2]
