"""Two stores that know the same are equal, whatever ids and times they gave; any difference in what they know shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import connect
from energycomm.eis.store import Store, StoreTransaction
from tests.eis.rows import DAY, NOW, put, put_ch_messages, put_kernel_message, reject

IDENTITIES = [bytes([n]) * 16 for n in range(4)]


def fill(store: Store, order: list[int], now: int) -> None:
    """The same four messages of two access points, in an order."""
    with store.transaction() as tx:
        tx.reserve(tables.kernel_message, now % 7)
        for n in order:
            (ch,) = put_ch_messages(tx, [IDENTITIES[n]], f"{now}-{n}.zip")
            name = f"prm{n % 2}"
            point = tx.access_points("FR", [name])[name].id
            state = "rejected" if n == 3 else "accepted"
            message = put_kernel_message(tx, point, n * DAY, ch_message_id=ch, position=1, state=state, received_at=now)
            if n == 3:
                reject(tx, message, "FR-R03")
            else:
                put(
                    tx, tables.contract, {"access_point_id": point, "at": n * DAY, "message_id": message, "tariff": "T"}
                )
                put(tx, tables.outbox, {"message_id": message, "event": "contract", "state": "pending", "at": now})


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    engine = connect(f"sqlite:///{tmp_path / 'other.db'}")
    tables.metadata.create_all(engine)
    yield Store(engine)
    engine.dispose()


def test_stores_that_know_the_same_are_equal(store: Store, engine: Engine, other: Store) -> None:
    """Also one on PostgreSQL and one on SQLite, filled in another order at another time."""
    fill(store, [0, 1, 2, 3], NOW)
    fill(other, [3, 1, 0, 2], NOW + 12_345)
    meaning = canonical(engine)
    assert differences(meaning, canonical(other.engine)) == []
    assert meaning == canonical(other.engine)
    assert meaning["messages"][f"{IDENTITIES[3].hex()}/1"]["codes"] == ["FR-R03"]
    assert [row["tariff"] for row in meaning["access_points"]["FR/prm0"]["contract"]] == ["T", "T"]


def test_empty_stores_are_equal(engine: Engine, other: Store) -> None:
    assert canonical(engine) == canonical(other.engine)


def change_tariff(tx: StoreTransaction) -> None:
    tx.connection.execute(tables.contract.update().where(tables.contract.c.at == DAY).values(tariff="U"))


def lose_finding(tx: StoreTransaction) -> None:
    tx.connection.execute(tables.finding.update().values(current=False))


def change_state(tx: StoreTransaction) -> None:
    tx.connection.execute(tables.kernel_message.update().values(state="quarantined"))


def tell_more(tx: StoreTransaction) -> None:
    message = tx.driver.rows("SELECT min(id) FROM kernel_message")[0][0]
    put(tx, tables.outbox, {"message_id": message, "event": "surprise", "state": "pending"})


def know_twice(tx: StoreTransaction) -> None:
    point, message = tx.driver.rows("SELECT access_point_id, id FROM kernel_message ORDER BY id LIMIT 1")[0]
    put(tx, tables.contract, {"access_point_id": point, "at": 0, "message_id": message, "tariff": "T"})


def see_more(tx: StoreTransaction) -> None:
    put_ch_messages(tx, [b"z" * 16], "z.zip")


@pytest.mark.parametrize("change", [change_tariff, lose_finding, change_state, tell_more, know_twice, see_more])
def test_any_difference_in_what_they_know_shows(other: Store, change: Callable[[StoreTransaction], None]) -> None:
    fill(other, [0, 1, 2, 3], NOW)
    before = canonical(other.engine)
    with other.transaction() as tx:
        change(tx)
    after = canonical(other.engine)
    assert before != after
    assert differences(before, after)
    assert differences(before, after, limit=1) == differences(before, after)[:1]
