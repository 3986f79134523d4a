"""Partitions of PostgreSQL: made ahead, out and in as they were, dropped when everything has left; none on SQLite."""

from __future__ import annotations

import io
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from energycomm.archive import archiving
from energycomm.eis import tables
from energycomm.eis.archive import archive, open_raw
from energycomm.eis.comparison import differences
from energycomm.eis.database import Conflict, snapshot, writing
from energycomm.eis.meaning import canonical
from energycomm.eis.partitions import END, LEAST, PARTITIONED, Partition, Partitions
from energycomm.eis.store import Store
from energycomm.errors import Absent, UserError
from energycomm.kernel.instants import micros
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start
from tests.postgres import PostgresServer

MONTH = "2026-07"
NOW = micros(day(300))
POINTS = [f"9900000000{number:04}" for number in (1701, 1702, 1703)]


@pytest.fixture
def desk(postgres: PostgresServer, postgres_template: str) -> Desk:
    """Three supplies with readings that arrived in June; their envelopes are done and told."""
    desk = Desk(postgres.url(postgres.create_database(postgres_template)))
    for prm in POINTS:
        readings = [reading(prm, day(1 + 10 * n), 1_000_000 + 10_000 * n) for n in range(15)]
        desk.deliver([start(prm, day(0)), *readings], now=micros(day(160)))
    desk.tell_back_office()
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
    return desk


def pass_over(desk: Desk, ids: int = 300_000) -> None:
    """Many more ids are given out, as by half a year of messages, and ranges are made for what comes."""
    with writing(desk.database) as connection:
        for name in {key.counter for key in PARTITIONED.values()}:
            factor = 1000 if name == "change_batch" else 1
            connection.execute(text(f"SELECT setval('{name}_ids', {ids * factor + 1})"))
    desk.store = Store(desk.database)  # a process that began since
    Partitions(desk.database).make_ahead()


def names(desk: Desk, table: str) -> list[str]:
    return [one.name for one in Partitions(desk.database).known() if one.table == table and one.attached]


def named(desk: Desk, name: str) -> Partition:
    (found,) = [one for one in Partitions(desk.database).known() if one.name == name]
    return found


def in_partition(desk: Desk, name: str) -> int:
    return int(desk.rows(f"SELECT count(*) FROM {name}")[0][0])


def content_of(desk: Desk, envelope: int) -> bytes:
    ((sha256,),) = desk.rows(f"SELECT sha256 FROM envelope WHERE id = {envelope}")
    with open_raw(desk.database, bytes(sha256)) as raw:
        return raw.read()


def test_ranges_follow_one_another_and_are_made_before_they_are_needed(desk: Desk) -> None:
    partitions = Partitions(desk.database)
    assert {one.table for one in partitions.known()} == set(PARTITIONED)
    assert partitions.make_ahead() == []
    pass_over(desk)
    assert partitions.make_ahead() == []
    for table, key in PARTITIONED.items():
        found = [one for one in partitions.known() if one.table == table]
        assert found[0].first == LEAST
        assert found[-1].end == END
        ranges = found[:-1]
        assert all(one.end == other.first for one, other in pairwise(ranges))
        used = 300_000 * (1000 if table == "change_log" else 1)
        assert ranges[-1].end > used
        assert key.least <= ranges[-1].end - ranges[-1].first
    prm = POINTS[0]
    desk.deliver([reading(prm, day(200), 1_200_000)], now=NOW)
    ((message, place),) = desk.rows("SELECT message_id, tableoid::regclass::text FROM reading ORDER BY id DESC LIMIT 1")
    assert message > 300_000
    assert place not in ("reading_p1", "reading_rest")
    assert in_partition(desk, "reading_p1") == 45


def test_who_writes_what_rows_name_and_then_the_rows_is_not_stopped_by_a_new_range(desk: Desk) -> None:
    """Each would wait for the other, and PostgreSQL would end one of them."""
    ((sha256,),) = desk.rows("SELECT sha256 FROM raw_chunk LIMIT 1")
    made: list[Partition] = []
    with desk.database.connect() as writer:
        writer.execute(text("UPDATE raw SET sha256 = sha256 WHERE sha256 = :sha256"), {"sha256": sha256})
        maker = threading.Thread(target=lambda: made.extend(Partitions(desk.database).make_ahead(wide=50_000)))
        maker.start()
        while desk.rows("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'") == [(0,)]:
            time.sleep(0.02)
        further = "INSERT INTO raw_chunk SELECT sha256, 1000, bytes, 1000000000 FROM raw_chunk WHERE sha256 = :sha256"
        assert writer.execute(text(further), {"sha256": sha256}).rowcount == 1, "it is in no range"
        writer.rollback()
    maker.join()
    assert {one.table for one in made} == {*PARTITIONED}


def test_rows_for_which_there_is_no_range_are_kept_and_the_next_range_begins_behind_them(desk: Desk) -> None:
    with writing(desk.database) as connection:
        connection.execute(text("SELECT setval('reading_ids', 700001)"))
    desk.store = Store(desk.database)
    desk.store._enough = 1_000_000  # nobody looks
    before = in_partition(desk, "reading")
    desk.deliver([reading(POINTS[1], day(200), 1_200_000)], now=NOW)
    assert (in_partition(desk, "reading"), in_partition(desk, "reading_rest")) == (before + 1, 1)
    made = [one for one in Partitions(desk.database).make_ahead() if one.table == "reading"]
    assert made[0].first > 700_001
    assert in_partition(desk, "reading") == before + 1


def test_a_user_who_may_not_make_ranges_goes_on_without_them(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that was answered counts, whatever becomes of the ranges after it."""

    def refused(*_: Any) -> None:
        raise Conflict("permission denied")

    monkeypatch.setattr(Partitions, "make_ahead", refused)
    desk.store = Store(desk.database)
    desk.deliver([reading(POINTS[0], day(200), 1_200_000)], now=NOW)
    assert in_partition(desk, "reading") == 46


def test_a_row_that_is_stored_twice_is_refused_in_every_partition(desk: Desk) -> None:
    """Whatever the range, and in the rest."""
    rows = desk.rows("SELECT id, message_id FROM reading ORDER BY id LIMIT 1")
    copies = {
        "reading": f"INSERT INTO reading SELECT * FROM reading WHERE id = {rows[0][0]}",
        "state_change": "INSERT INTO state_change SELECT * FROM state_change LIMIT 1",
        "raw_chunk": "INSERT INTO raw_chunk SELECT * FROM raw_chunk LIMIT 1",
    }
    for sql in copies.values():
        with pytest.raises(Conflict), desk.store.transaction() as tx:
            tx.driver.run(sql)
    pass_over(desk)
    desk.deliver([reading(POINTS[0], day(1), 1_000_000)], now=NOW)
    assert desk.rows("SELECT count(*) FROM ch_duplicate") == [(1,)]
    assert desk.rows("SELECT count(*) FROM reading") == [(45,)]


def test_raw_bytes_go_out_and_come_back(desk: Desk) -> None:
    """The same bytes that come again meanwhile are recognised; what is not finished stays readable."""
    before = canonical(desk.database)
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'processing' WHERE id = 2")
    pass_over(desk)
    partitions = Partitions(desk.database)
    partitions.detach(named(desk, "raw_chunk_p1"))
    assert not named(desk, "raw_chunk_p1").attached
    assert content_of(desk, 2) == b"delivery 2"
    with pytest.raises(Absent, match="in the detached partition raw_chunk_p1"):
        content_of(desk, 1)
    with desk.store.transaction() as tx:
        again = archive(tx, "again.xml", io.BytesIO(b"delivery 1"), "test", NOW)
        assert again.duplicate_of == 1
        tx.driver.run("DELETE FROM envelope WHERE id = ?", (again.envelope_id,))
        tx.driver.run("UPDATE envelope SET state = 'done' WHERE id = 2")
    with pytest.raises(UserError, match="detached already"):
        partitions.detach(named(desk, "raw_chunk_p1"))
    partitions.attach(named(desk, "raw_chunk_p1"))
    assert [content_of(desk, n) for n in (1, 2, 3)] == [b"delivery 1", b"delivery 2", b"delivery 3"]
    assert in_partition(desk, "raw_chunk_rest") == 0
    assert differences(before, canonical(desk.database)) == []
    with pytest.raises(UserError, match="attached already"):
        partitions.attach(named(desk, "raw_chunk_p1"))


def test_a_detachment_that_was_interrupted_is_gone_on_with(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    pass_over(desk)
    partitions = Partitions(desk.database)

    def dies(*_: Any) -> None:
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr("energycomm.eis.partitions.take_out", dies)
        with pytest.raises(RuntimeError):
            partitions.detach(named(desk, "raw_chunk_p1"))
    assert content_of(desk, 1) == b"delivery 1"
    partitions.detach(named(desk, "raw_chunk_p1"))
    partitions.attach(named(desk, "raw_chunk_p1"))
    partitions.detach(named(desk, "raw_chunk_p1"))
    assert not named(desk, "raw_chunk_p1").attached


def test_what_is_in_use_is_not_detached(desk: Desk) -> None:
    partitions = Partitions(desk.database)
    with pytest.raises(UserError, match="in use: new rows go there"):
        partitions.detach(named(desk, "raw_chunk_p1"))
    pass_over(desk)
    for table in ("state_change", "reading", "change_log", "particular"):
        if in_partition(desk, f"{table}_p1"):
            with pytest.raises(UserError, match="holds rows of what is in the store") as refused:
                partitions.detach(named(desk, f"{table}_p1"))
            assert "archive write" in refused.value.advice or "change_days" in refused.value.advice
    with pytest.raises(UserError, match="in no range"):
        partitions.detach(named(desk, "reading_rest"))
    assert in_partition(desk, "reading") == 45


@pytest.mark.parametrize("detached", [False, True])
def test_a_partition_of_raw_bytes_leaves_as_a_whole_and_comes_back_as_one(
    desk: Desk, tmp_path: Path, detached: bool
) -> None:
    before = canonical(desk.database)
    pass_over(desk)
    if detached:
        Partitions(desk.database).detach(named(desk, "raw_chunk_p1"))
    done = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert done.envelopes == 3
    assert [one.name for one in Partitions(desk.database).known() if one.name == "raw_chunk_p1"] == []
    assert len(list((tmp_path / MONTH).glob("raw_chunk-*.parquet"))) == 1
    with pytest.raises(Absent, match=f"archived in {MONTH}"):
        content_of(desk, 1)
    assert list(archiving.check(desk.store, MONTH)) == []
    archiving.restore(desk.store, MONTH)
    assert [content_of(desk, n) for n in (1, 2, 3)] == [b"delivery 1", b"delivery 2", b"delivery 3"]
    assert in_partition(desk, "raw_chunk_rest") == 0
    first, *_ = [one for one in Partitions(desk.database).known() if one.table == "raw_chunk"]
    assert (first.first, first.end) == (LEAST, 50_000)
    assert differences(before, canonical(desk.database)) == []


def test_an_archive_that_dies_before_its_commit_leaves_the_partition(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = canonical(desk.database)
    pass_over(desk)

    def dies(*_: Any) -> None:
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr("energycomm.archive.archiving.take_out", dies)
        with pytest.raises(RuntimeError):
            archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert content_of(desk, 3) == b"delivery 3"
    assert archiving.write(desk.store, tmp_path, MONTH, "test", NOW).envelopes == 3
    archiving.restore(desk.store, MONTH)
    assert differences(before, canonical(desk.database)) == []


def test_a_range_out_of_which_everything_has_left_is_dropped_and_made_again_for_what_comes_back(
    desk: Desk, tmp_path: Path
) -> None:
    before = canonical(desk.database)
    pass_over(desk)
    done = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert done.messages == 45
    assert "reading_p1" not in names(desk, "reading")
    assert in_partition(desk, "state_change_p1") == len(POINTS)  # of their contracts, which stay, with a warning
    archiving.restore(desk.store, MONTH)
    assert (in_partition(desk, "reading"), in_partition(desk, "reading_rest")) == (45, 0)
    first, *_ = [one for one in Partitions(desk.database).known() if one.table == "reading"]
    assert (first.first, first.end) == (LEAST, 100_000)
    assert differences(before, canonical(desk.database)) == []


def test_an_earlier_reader_still_finds_the_rows_of_a_partition_that_was_emptied(desk: Desk) -> None:
    """An export sees the store of one instant: a range that is empty since then is not dropped under its eyes."""
    pass_over(desk)
    partitions = Partitions(desk.database)
    with snapshot(desk.database) as export:
        assert export.execute(text("SELECT count(*) FROM envelope")).scalar() == 3
        with writing(desk.database) as connection:
            connection.execute(text("DELETE FROM series"))
            connection.execute(text("DELETE FROM reading"))
        dropped = partitions.drop_empty()
        assert "reading_p1" not in dropped
        assert export.execute(text("SELECT count(*) FROM reading")).scalar() == 45
    with snapshot(desk.database) as export:
        assert export.execute(text("SELECT count(*) FROM reading")).scalar() == 0
        assert "reading_p1" not in partitions.drop_empty()  # a long reader keeps nobody waiting
    assert "reading_p1" in partitions.drop_empty()
    assert "reading_p1" not in names(desk, "reading")


def test_a_sqlite_store_says_that_it_has_none(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    partitions = Partitions(desk.database)
    assert (partitions.known(), partitions.make_ahead(), partitions.drop_empty()) == ([], [], [])
    with pytest.raises(UserError, match="SQLite store has no partitions"):
        partitions.require()


def test_every_partitioned_table_is_there_and_its_unique_keys_hold_the_column_of_its_ranges() -> None:
    """A key that lacks it cannot be unique over all partitions."""
    for name, key in PARTITIONED.items():
        table = tables.metadata.tables[name]
        assert key.column in table.columns
        keys = [set(table.primary_key.columns.keys())]
        keys += [set(one.columns.keys()) for one in table.indexes if one.unique]
        assert all(key.column in one for one in keys) or name == "raw_chunk"  # recognised by `raw`, its owner
