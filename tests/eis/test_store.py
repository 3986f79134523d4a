"""What one batch does commits together or not at all, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from energycomm.eis import tables
from energycomm.eis.database import Conflict
from energycomm.eis.effects import change_rows, drop_rows
from energycomm.eis.store import NEVER, Store
from tests.eis.rows import DAY, NOW, put, put_ch_messages, put_kernel_message, put_member, row
from tests.stored import clear_image, clear_xml


def rows_of(engine: Engine, table: Any) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(select(table).order_by(*table.primary_key)))


def test_rows_come_back_as_they_were_stored(store: Store, engine: Engine) -> None:
    """Every type of column: text, bytes, flags, small and big numbers, and nothing at all."""
    with store.transaction() as tx:
        put_ch_messages(tx, [bytes(range(16)), b"\xff" * 16])
        (point,) = tx.access_points("FR", ["30001234567890"]).values()
        message = put_kernel_message(tx, point.id, -DAY, xml="<é/>", ch_message_id=None)
        (change,) = put(tx, tables.state_change, {"message_id": message, "after": "accepted", "at": 1 << 60})
        put(tx, tables.finding, {"message_id": message, "change_id": change, "current": True, "comment": "l'été 30 %"})
    (stored,) = rows_of(engine, tables.kernel_message)
    assert (clear_xml(stored.xml), stored.effective, stored.ch_message_id) == ("<é/>", -DAY, None)
    assert rows_of(engine, tables.state_change)[0].at == 1 << 60
    assert rows_of(engine, tables.finding)[0].current is True
    assert rows_of(engine, tables.finding)[0].comment == "l'été 30 %"
    assert [r.identity for r in rows_of(engine, tables.ch_message)] == [bytes(range(16)), b"\xff" * 16]


def test_nothing_of_a_failed_transaction_stays(store: Store, engine: Engine) -> None:
    def fail() -> None:
        with store.transaction() as tx:
            put_member(tx)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert rows_of(engine, tables.envelope) == []
    assert rows_of(engine, tables.raw) == []


def test_storing_no_rows_does_nothing(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        tx.insert(tables.envelope, [])
        tx.save_access_points([])
        tx.set_states([])
        tx.retire_findings([])
        assert tx.known_identities([]) == {}
        assert tx.access_points("FR", []) == {}
    assert rows_of(engine, tables.envelope) == []


@pytest.mark.parametrize("n", [1, 999, 1000, 1001, 2500])
def test_reserved_ids_are_in_a_row_and_never_given_twice(store: Store, n: int) -> None:
    with store.transaction() as tx:
        first, second = tx.reserve(tables.finding, n), tx.reserve(tables.finding, n)
    with Store(store.engine).transaction() as tx:  # as another process would
        third = tx.reserve(tables.finding, n)
    assert len(first) == len(second) == len(third) == n
    assert len({*first, *second, *third}) == 3 * n
    assert first[0] > 0


def test_ids_of_withdrawn_rows_are_not_given_again(store: Store) -> None:
    """A before-image names a row by its id: another row must never have it."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["1"])["1"].id
        message = put_kernel_message(tx, point, DAY)
        (first,) = put(tx, tables.contract, {"access_point_id": point, "at": DAY, "message_id": message})
    with store.transaction() as tx:
        assert drop_rows(tx, tables.contract, "true", "id", [first], "late", NOW) == 1
    with store.transaction() as tx:
        assert first not in tx.reserve(tables.contract, 5)


def test_known_identities_are_those_that_are_stored(store: Store) -> None:
    """Also when many more are asked for than one statement can hold."""
    identities = [i.to_bytes(16, "big") for i in range(1300)]
    with store.transaction() as tx:
        ids = put_ch_messages(tx, identities[::2])
    with store.transaction() as tx:
        found = tx.known_identities(identities)
        assert {identity: known.id for identity, known in found.items()} == dict(zip(identities[::2], ids, strict=True))


def test_a_ch_message_cannot_be_stored_twice(store: Store) -> None:
    with store.transaction() as tx:
        put_ch_messages(tx, [b"a" * 16], "a.zip")
    with pytest.raises(Conflict), store.transaction() as tx:
        put_ch_messages(tx, [b"a" * 16], "b.zip")


def test_an_unknown_access_point_is_stored_when_it_is_asked_for(store: Store) -> None:
    with store.transaction() as tx:
        first = tx.access_points("FR", ["b", "a"])
        tx.save_access_points([(first["a"].id, 5, b"state", 2)])
    with store.transaction() as tx:
        again = tx.access_points("FR", ["c", "a", "b"])
        other = tx.access_points("NL", ["a"])
    assert again["a"] == first["a"]._replace(last_at=5, state=b"state", messages=2)
    assert again["b"] == first["b"]
    assert (again["c"].last_at, again["c"].state, again["c"].messages) == (NEVER, b"", 0)
    assert other["a"].id not in {point.id for point in again.values()}


def test_the_latest_checkpoint_before_an_instant_is_found(store: Store) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        tx.save_checkpoints([(point, 10, b"ten"), (point, 20, b"twenty")])
        assert tx.checkpoint_before(point, 9) is None
        assert tx.checkpoint_before(point, 10) == (10, b"ten")
        assert tx.checkpoint_before(point, 99) == (20, b"twenty")
        tx.save_checkpoints([(point, 20, b"new")])
        assert tx.checkpoint_before(point, 20) == (20, b"new")
        tx.drop_checkpoints_after([(point, 10)])
        assert tx.checkpoint_before(point, 99) == (10, b"ten")


def test_messages_of_an_access_point_come_from_an_instant_on(store: Store) -> None:
    with store.transaction() as tx:
        points = tx.access_points("FR", ["a", "b"])
        (ch,) = put_ch_messages(tx, [b"i" * 16])
        put_kernel_message(tx, points["a"].id, 5)
        late = put_kernel_message(tx, points["a"].id, 20, ch_message_id=ch, position=2, waits_for="start")
        first = put_kernel_message(tx, points["a"].id, 10)
        put_kernel_message(tx, points["b"].id, 10)
        found = tx.messages_from(points["a"].id, 10)
    assert [message.id for message in found] == [first, late]
    assert (found[1].identity, found[1].position, found[1].waits_for) == (b"i" * 16, 2, "start")
    assert (found[0].identity, found[0].xml, found[0].state) == (None, "<x/>", "accepted")


def test_many_access_points_are_asked_each_from_its_own_instant_on(store: Store) -> None:
    """More of them than SQLite takes in one statement; before 1970 too."""
    with store.transaction() as tx:
        points = [point.id for point in tx.access_points("FR", [f"{n:03}" for n in range(75)]).values()]
        ids = {point: [put_kernel_message(tx, point, at) for at in (-20, 10)] for point in points}
        tx.save_checkpoints([(point, upto, b"%d" % upto) for point in points for upto in (-30, 10)])
        starts = [(point, NEVER if n % 3 else -19) for n, point in enumerate(points)]
        found = tx.messages_since(starts)
        states = tx.checkpoints_before([(point, 9 + n % 2) for n, point in enumerate(points[1:])])
        assert tx.messages_since([]) == {}
    for n, point in enumerate(points):
        assert [message.id for message in found[point]] == ids[point][0 if n % 3 else 1 :]
    assert [states[point] for point in points[1:4]] == [(-30, b"-30"), (10, b"10"), (-30, b"-30")]
    assert states.keys() == set(points[1:])


def test_states_and_findings_change_in_bulk(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        ids = [put_kernel_message(tx, point, at) for at in (1, 2, 3)]
        for message in ids:
            (change,) = put(tx, tables.state_change, {"message_id": message})
            put(tx, tables.finding, {"message_id": message, "change_id": change, "current": True})
        tx.set_states([(ids[0], "quarantined", "start of supply", 77), (ids[1], "rejected", None, None)])
        tx.retire_findings(ids[:2])
        assert tx.overdue(76) == []
        assert tx.overdue(77) == [(ids[0], point, 77)]
    stored = [(m.state, m.waits_for, m.waits_until) for m in rows_of(engine, tables.kernel_message)]
    assert stored == [("quarantined", "start of supply", 77), ("rejected", None, None), ("accepted", None, None)]
    assert [f.current for f in rows_of(engine, tables.finding)] == [False, False, True]


def test_effects_that_are_taken_back_leave_their_image(store: Store, engine: Engine) -> None:
    """In every table; the rows beside them stay."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        message = put_kernel_message(tx, point, 10)
        for table in tables.EFFECTS:
            row = {"access_point_id": point, "message_id": message}
            _, gone = put(tx, table, {**row, "at": 9}, {**row, "at": 10})
            assert drop_rows(tx, table, "true", "id", [gone], "a late message", NOW) == 1
    for table in tables.EFFECTS:
        assert [row.at for row in rows_of(engine, table)] == [9]
    images = rows_of(engine, tables.before_image)
    assert [image.table_name for image in images] == [table.name for table in tables.EFFECTS]
    assert {(image.access_point_id, image.at, image.why) for image in images} == {(point, NOW, "a late message")}
    assert all(json.loads(clear_image(image.image))["id"] == image.row_id for image in images)


def test_domain_rows_change_with_their_image_kept(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        message = put_kernel_message(tx, point, 1)
        reading = {"access_point_id": point, "message_id": message, "status": "current"}
        ids = put(tx, tables.reading, {**reading, "at": 1}, {**reading, "at": 2})
        change_rows(tx, tables.reading, ("status",), [(ids[1], "replaced")], "corrected", NOW)
    assert [r.status for r in rows_of(engine, tables.reading)] == ["current", "replaced"]
    (image,) = rows_of(engine, tables.before_image)
    assert (image.row_id, json.loads(clear_image(image.image))["status"]) == (ids[1], "current")


def test_only_notifications_that_nobody_has_read_are_taken_back(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        one, two = put_kernel_message(tx, point, 1), put_kernel_message(tx, point, 2)
        put(
            tx,
            tables.outbox,
            {"message_id": one, "event": "sent one", "state": "sent"},
            {"message_id": one, "event": "pending one", "state": "pending"},
            {"message_id": two, "event": "other", "state": "pending"},
        )
        assert tx.withdraw_notifications([one], NOW) == 1
    assert [o.event for o in rows_of(engine, tables.outbox)] == ["sent one", "other"]
    (image,) = rows_of(engine, tables.before_image)
    assert (image.table_name, json.loads(clear_image(image.image))["event"]) == ("outbox", "pending one")


def test_a_version_of_the_rules_is_stored_once(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        first = tx.rules_version("aa", "parallel", "{}", NOW)
        assert tx.rules_version("aa", "parallel", "{}", NOW + 1) == first
        assert tx.rules_version("bb", "parallel", "{}", NOW) != first
    assert [(v.hash, v.first_used_at) for v in rows_of(engine, tables.rules_version)] == [("aa", NOW), ("bb", NOW)]


def test_two_workers_never_judge_one_access_point_at_once(store: Store, engine: Engine) -> None:
    """Each adds one to a number that it read: no addition is lost, and nobody waits in a circle."""
    names = [f"{n:03}" for n in range(20)]

    def work(turn: int) -> None:
        for _ in range(10):
            with store.transaction() as tx:
                points = tx.access_points("FR", names if turn else reversed(names))
                tx.save_access_points([(p.id, 0, b"", p.messages + 1) for p in points.values()])

    workers = [threading.Thread(target=work, args=(turn,)) for turn in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert {r.messages for r in rows_of(engine, tables.access_point)} == {20}


def test_a_row_that_leaves_out_what_is_needed_is_refused(store: Store) -> None:
    with pytest.raises(TypeError, match="size"), store.transaction() as tx:
        tx.insert(tables.raw, [{"sha256": b"a" * 32}])


def test_a_row_that_names_a_column_that_there_is_not_is_refused(store: Store) -> None:
    with pytest.raises(TypeError, match="length"), store.transaction() as tx:
        tx.insert(tables.raw, [{"sha256": b"a" * 32, "size": 1, "length": 1}])


def test_what_a_row_leaves_out_is_empty_or_has_its_default_and_an_id_is_given(store: Store, engine: Engine) -> None:
    """An attempt was not made yet, and when the next one is due nobody said."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        told = {"message_id": put_kernel_message(tx, point, 1), "at": 1, "state": "pending"}
        tx.insert(tables.outbox, [{**told, "event": "one"}, {"event": "two", **told}])
    rows = rows_of(engine, tables.outbox)
    assert [(row.event, row.attempts, row.next_at) for row in rows] == [("one", 0, None), ("two", 0, None)]
    assert rows[0].id < rows[1].id


def test_a_long_batch_goes_in_whole(store: Store, engine: Engine) -> None:
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        message = put_kernel_message(tx, point, 1)
        ids = tx.reserve(tables.outbox, 5000)
        tx.insert(
            tables.outbox, [row(tables.outbox, id=i, message_id=message, event="e", state="pending") for i in ids]
        )
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(tables.outbox)).scalar() == 5000


def test_the_codes_that_hold_now_are_those_of_errors(store: Store) -> None:
    """Warnings never reject, and findings of an earlier verdict say nothing any more."""
    with store.transaction() as tx:
        point = tx.access_points("FR", ["a"])["a"].id
        one, two = put_kernel_message(tx, point, 1), put_kernel_message(tx, point, 2)
        (change,) = put(tx, tables.state_change, {"message_id": one})
        found = {"message_id": one, "change_id": change, "severity": "error", "current": True}
        put(
            tx,
            tables.finding,
            {**found, "error_code": "FR-R03"},
            {**found, "error_code": "FR-D01"},
            {**found, "error_code": "FR-R03"},
            {**found, "error_code": "FR-V01", "severity": "warning"},
            {**found, "error_code": "FR-P01", "current": False},
        )
        assert tx.current_codes([one, two]) == {one: ["FR-R03", "FR-D01"]}
