"""Two stores that know the same are equal, whatever ids and times they gave; any difference in what they know shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.comparison import canonical, compare, differences
from energycomm.eis.database import connect
from energycomm.eis.meaning import point_names, slices
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
    meaning = canonical(engine, carriers=False)
    assert differences(meaning, canonical(other.engine, carriers=False)) == []
    assert meaning == canonical(other.engine, carriers=False)
    assert meaning["messages"][f"{IDENTITIES[3].hex()}/1"]["codes"] == ["FR-R03"]
    assert [row["tariff"] for row in meaning["access_points"]["FR/prm0"]["contract"]] == ["T", "T"]


def test_empty_stores_are_equal(engine: Engine, other: Store) -> None:
    assert canonical(engine, carriers=False) == canonical(other.engine, carriers=False)


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
    before = canonical(other.engine, carriers=False)
    with other.transaction() as tx:
        change(tx)
    after = canonical(other.engine, carriers=False)
    assert before != after
    assert differences(before, after)
    assert differences(before, after, limit=1) == differences(before, after)[:1]


def touch_xml(tx: StoreTransaction) -> None:
    tx.driver.run(
        "UPDATE kernel_message SET xml = '<m created=\"2026-01-02\"/>' WHERE id = (SELECT min(id) FROM kernel_message)"
    )


def touch_comment(tx: StoreTransaction) -> None:
    tx.connection.execute(tables.finding.update().values(comment="another"))


def notice(tx: StoreTransaction) -> None:
    row = tx.driver.rows("SELECT id, envelope_id, member_id FROM ch_message ORDER BY identity LIMIT 1")[0]
    put(tx, tables.incident, {"ch_message_id": row[0], "code": "NOTE_TEST", "severity": "note", "at": 0})


def arrive_again(tx: StoreTransaction) -> None:
    first, envelope, member = tx.driver.rows("SELECT id, envelope_id, member_id FROM ch_message ORDER BY id LIMIT 1")[0]
    values = {"envelope_id": envelope, "member_id": member, "position": 99, "first_id": first}
    put(tx, tables.ch_duplicate, values)


def rename_envelope(tx: StoreTransaction) -> None:
    tx.connection.execute(tables.envelope.update().values(name="other"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_tariff, ["access point FR/prm1, contract 1, tariff: 'T' and 'U'"]),
        (touch_xml, [", xml"]),
        (touch_comment, ["findings 1, comment: ", "and 'another'"]),
        (tell_more, ["notifications of message "]),
        (notice, ["CH message ", "incidents: ", "NOTE_TEST"]),
        (arrive_again, ["CH message ", "arrivals"]),
        (rename_envelope, ["envelope ", "names 1: "]),
    ],
)
def test_a_difference_is_told_in_words(
    store: Store, engine: Engine, other: Store, change: Callable[[StoreTransaction], None], words: list[str]
) -> None:
    """What it is about, which field, both values; found slice by slice as in the whole."""
    for one in (store, other):
        fill(one, [0, 1, 2, 3], NOW)
    assert list(compare(engine, other.engine)) == []
    with other.transaction() as tx:
        change(tx)
    found = list(compare(engine, other.engine))
    assert found
    assert [word for word in words if word not in "\n".join(found)] == []
    assert sorted(found) == sorted(differences(canonical(engine), canonical(other.engine), 1000))


def test_kernel_xml_is_compared_by_its_fields() -> None:
    """A difference names the attribute or the text, not the whole message."""
    one = '<m created="2026-01-01" a="1"><p v="2"/></m>'
    other = '<m created="2026-01-02" a="1"><p v="3"/></m>'
    assert differences({"messages": {"x/1": {"xml": one}}}, {"messages": {"x/1": {"xml": other}}}) == [
        "message x/1, xml @created: '2026-01-01' and '2026-01-02'",
        "message x/1, xml p/@v: '2' and '3'",
    ]


def test_the_cuts_of_a_large_store_are_its_whole(engine: Engine, store: Store) -> None:
    """Cut into many slices, a store means what it means as one."""
    fill(store, [0, 1, 2, 3], NOW)
    whole = canonical(engine)
    cut: dict[str, dict[str, object]] = {section: {} for section in whole}
    for _, part in slices(engine, point_names(engine), 256):
        for section, content in part.items():
            assert not cut[section].keys() & content.keys()
            cut[section].update(content)
    assert cut == whole
