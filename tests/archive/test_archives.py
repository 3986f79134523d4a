"""Settled measures leave for files and come back, and the store goes on in between as it is told to."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec import structs

from energycomm.archive import archiving
from energycomm.bulk.backfilling import BackfillQuestion, Lacking, lacking
from energycomm.bulk.buckets import read_bucket, write_buckets
from energycomm.bulk.judging import _judged_anew
from energycomm.bulk.workers import Processes
from energycomm.correction.impact import question
from energycomm.eis import tables
from energycomm.eis.archive import archive, open_raw
from energycomm.eis.away import archives, floor_of, refuse_archived
from energycomm.eis.comparison import differences
from energycomm.eis.database import snapshot, writing
from energycomm.eis.datakeys import unlock
from energycomm.eis.meaning import canonical
from energycomm.eis.resealing import verify
from energycomm.errors import HistoryArchived, UserError
from energycomm.kernel.instants import micros
from energycomm.market.contract import Transaction
from energycomm.pipeline.batch import Origin
from energycomm.pipeline.history import history_before
from energycomm.pipeline.records import MemberRecord, OpenEnvelope
from energycomm.pipeline.replay import mark
from energycomm.pipeline.writer import Part, Settle, Writer
from energycomm.transport.keys import StorageKey
from energycomm.webservice.problems import Problem
from energycomm.webservice.routes.messages import find
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"
MONTH = "2026-07"
IN_MONTH = micros(day(160))
"""June 2026: the messages arrived in time for the archive."""
NOW = micros(day(300))


def months(number: int, first: int = 0) -> list[Transaction]:
    """A reading every ten days."""
    return [reading(PRM, day(1 + 10 * n), 1_000_000 + 10_000 * n) for n in range(first, first + number)]


@pytest.fixture
def desk(database_url: str) -> Desk:
    """A supply with 15 readings that arrived in June, and two that arrived in August."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), *months(15)], now=IN_MONTH)
    desk.deliver(months(2, first=22), now=micros(day(230)))
    finish(desk)
    return desk


def finish(desk: Desk) -> None:
    """The envelopes are done, and the back office was told."""
    desk.tell_back_office()
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())


def state_of(desk: Desk) -> bytes:
    ((data,),) = desk.rows("SELECT state FROM access_point")
    return bytes(data)


def test_an_archive_takes_what_is_settled_and_brings_it_back_as_it_was(desk: Desk, tmp_path: Path) -> None:
    before, state = canonical(desk.database), state_of(desk)
    tallies = "SELECT kind, state, sum(messages) FROM message_tally WHERE hour = -1 GROUP BY kind, state ORDER BY 1, 2"
    counted = desk.rows(tallies)
    changes = desk.rows("SELECT count(*) FROM change_log"), desk.rows("SELECT number, mark FROM change_head")
    done = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    # A state is stored every twelve messages: four of the start and eight readings are in the first.
    assert (done.messages, done.envelopes) == (8, 1)
    assert done.stays == {"not yet in a stored state of their access point": 7}
    assert desk.rows("SELECT count(*) FROM reading") == [(9,)]
    assert desk.rows("SELECT count(*) FROM kernel_message") == [(13,)]
    assert desk.rows("SELECT count(*) FROM ch_message") == [(18,)]
    assert state_of(desk) == state
    assert (desk.rows("SELECT count(*) FROM change_log"), desk.rows("SELECT number, mark FROM change_head")) == changes
    assert list(archiving.check(desk.store, MONTH)) == []
    again = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert (again.messages, again.envelopes) == (0, 0)
    assert archiving.restore(desk.store, MONTH) == (8, 1)
    assert archiving.restore(desk.store, MONTH) == (0, 0)
    assert differences(before, canonical(desk.database)) == []
    assert desk.rows(tallies) == counted
    assert (desk.rows("SELECT count(*) FROM change_log"), desk.rows("SELECT number, mark FROM change_head")) == changes
    assert (
        open_raw(desk.database, bytes(desk.rows("SELECT sha256 FROM envelope WHERE id = 1")[0][0])).read()
        == b"delivery 1"
    )


def away(desk: Desk, folder: Path) -> None:
    """July's archive is written."""
    assert archiving.write(desk.store, folder, MONTH, "test", NOW).messages == 8


def floor(desk: Desk) -> int:
    with desk.store.reading() as reader:
        found = floor_of(reader.driver, 1)
    assert found is not None
    return found


def test_a_late_message_after_the_floor_is_judged_as_if_nothing_were_away(
    desk: Desk, database_url: str, tmp_path: Path
) -> None:
    """An index of a day that is still there, and one that comes last: each finds the index before it."""
    away(desk, tmp_path)
    assert floor(desk) == micros(day(81))  # the state before the ninth reading
    late = [reading(PRM, day(86), 1_085_000), reading(PRM, day(87), 1_000_500), reading(PRM, day(260), 1_300_000)]
    desk.deliver(late, now=NOW)
    states = desk.states()
    assert states[f"MeterReading {PRM}:R{day(86):%Y%m%d}:original:1085000"] == "accepted"
    assert states[f"MeterReading {PRM}:R{day(260):%Y%m%d}:original:1300000"] == "accepted"
    assert states[f"MeterReading {PRM}:R{day(87):%Y%m%d}:original:1000500"].startswith("rejected")  # it goes back
    archiving.restore(desk.store, MONTH)
    whole = Desk(f"{database_url}-whole" if "sqlite" in database_url else f"sqlite:///{tmp_path / 'whole.db'}")
    whole.deliver([start(PRM, day(0)), *months(15)], now=IN_MONTH)
    whole.deliver(months(2, first=22), now=micros(day(230)))
    finish(whole)
    whole.deliver(late, now=NOW)
    found = [
        line for line in differences(canonical(desk.database), canonical(whole.database)) if "envelope" not in line
    ]
    assert [line for line in found if line.startswith(("access point", "message"))] == []


def test_a_late_message_before_the_floor_waits_for_its_archive(desk: Desk, tmp_path: Path) -> None:
    """It is put aside by itself, with the archive's name; when that is back it is judged in its place."""
    away(desk, tmp_path)
    before = state_of(desk)
    early, other = reading(PRM, day(15), 1_014_000), reading(PRM, day(270), 1_350_000)
    writer, prepared = desk.writer, desk.writer.prepare([early, other])
    origin = Origin("FR", 1, 1, place="late.xml")
    with desk.store.transaction() as tx:
        (tally,) = writer.store_around(tx, [(origin, prepared)], NOW)
    assert tally.transactions == {("FR", "R15", "put-aside"): 1, ("FR", "R15", "digested"): 1}
    ((code, value, advice),) = desk.rows("SELECT code, value, advice FROM incident")
    assert (code, PRM in value) == ("CH_HISTORY_ARCHIVED", True)
    assert f"energycomm eis archive restore {MONTH}" in advice
    assert "energycomm envelope retry 1" in advice
    assert state_of(desk) != before  # of the other one
    archiving.restore(desk.store, MONTH)
    with desk.store.transaction() as tx:
        writer.store_around(tx, [(origin, writer.prepare([early]))], NOW)
    assert desk.states()[f"MeterReading {PRM}:R{day(15):%Y%m%d}:original:1014000"] == "accepted"


def test_a_repetition_of_an_archived_message_is_recognised(desk: Desk, tmp_path: Path) -> None:
    away(desk, tmp_path)
    tally = desk.deliver([months(15)[2]], now=NOW)
    assert tally.transactions == {("FR", "R15", "duplicate"): 1}
    assert desk.rows("SELECT count(*) FROM kernel_message") == [(13,)]


def test_what_is_archived_is_named_where_it_is_asked_for(desk: Desk, tmp_path: Path) -> None:
    away(desk, tmp_path)
    with pytest.raises(UserError, match=f"Message 6 is archived in {MONTH}") as caught:
        refuse_archived(desk.database, 6)
    assert f"energycomm eis archive restore {MONTH}" in str(caught.value)
    for there in (1, 16, 999):  # master data, a later reading, no message at all
        refuse_archived(desk.database, there)
    with pytest.raises(UserError, match=f"The bytes are archived in {MONTH}"):
        open_raw(desk.database, bytes(desk.rows("SELECT sha256 FROM envelope WHERE id = 1")[0][0]))
    with desk.database.connect() as connection:
        (found,) = archives(connection)
    assert (found.messages, found.envelopes, found.folder) == (8, 1, str(tmp_path / MONTH))
    assert (found.first, found.last) == (day(1), day(71))


def test_what_is_needed_stays(desk: Desk, tmp_path: Path) -> None:
    """A message that a ticket names, one that the back office does not know of yet, one that is corrected, and, where
    one waits, everything after it."""
    with desk.store.transaction() as tx:
        run = tx.driver.run
        ticket = {"id": 1, "title": "t", "error_class": "dno", "codes": "", "market": "FR", "evidence": "{}"}
        tx.insert(tables.ticket, [{**ticket, "state": "closed", "by": "x", "created_at": 1}])
        run("INSERT INTO ticket_message (ticket_id, message_id) VALUES (1, 5)")
        run("INSERT INTO outbox (id, message_id, event, at, state, attempts) VALUES (900, 6, 'x', 1, 'pending', 0)")
        run("UPDATE kernel_message SET state = 'quarantined' WHERE id = 9")
    done = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert done.messages == 0
    assert done.stays["quarantined messages"] == 1  # no stored state lies before it: nothing leaves
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE kernel_message SET state = 'accepted' WHERE id = 9")
    done = archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert done.messages == 6
    assert (done.stays["named by ticket message"], done.stays["notifications that are not sent"]) == (1, 1)
    ids = {row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE kind = 'MeterReading' AND id < 13")}
    assert ids == {5, 6}


def test_a_run_that_ends_early_is_gone_on_with(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without their commit count for nothing; a commit is never without its files."""
    before = canonical(desk.database)

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(archiving, "remove", broken)
        with pytest.raises(KeyboardInterrupt):
            archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    assert list((tmp_path / MONTH).glob("kernel_message-*"))
    assert differences(before, canonical(desk.database)) == []
    with monkeypatch.context() as patched:
        patched.setattr(archiving, "_bytes", broken)
        with pytest.raises(KeyboardInterrupt):
            archiving.write(desk.store, tmp_path, MONTH, "test", NOW)
    with desk.database.connect() as connection:
        assert [(one.written, one.messages, one.envelopes) for one in archives(connection)] == [(False, 8, 0)]
    assert archiving.write(desk.store, tmp_path, MONTH, "test", NOW).envelopes == 1
    with monkeypatch.context() as patched:
        patched.setattr(archiving, "read_rows", broken)
        with pytest.raises(KeyboardInterrupt):
            archiving.restore(desk.store, MONTH)
    assert archiving.restore(desk.store, MONTH) == (8, 1)
    assert differences(before, canonical(desk.database)) == []
    assert archiving.write(desk.store, tmp_path / "elsewhere", MONTH, "test", NOW).messages == 8
    assert archiving.restore(desk.store, MONTH) == (8, 1)
    assert differences(before, canonical(desk.database)) == []


def test_a_file_that_was_changed_does_not_come_back(desk: Desk, tmp_path: Path) -> None:
    away(desk, tmp_path)
    with pytest.raises(UserError, match=f"The archive {MONTH} is in"):
        archiving.write(desk.store, tmp_path / "other", MONTH, "test", NOW)
    file = tmp_path / MONTH / "reading-00001.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b"x" + whole[-8:])
    with pytest.raises(UserError, match="was changed"):
        archiving.restore(desk.store, MONTH)
    assert len(list(archiving.check(desk.store, MONTH))) == 1
    file.unlink()
    with pytest.raises(UserError, match="is not there"):
        archiving.restore(desk.store, MONTH)
    moved = tmp_path / "moved"
    file.write_bytes(whole)
    file.parent.rename(moved)
    assert archiving.restore(desk.store, MONTH, moved) == (8, 1)


@pytest.mark.parametrize("month", ["2026-13", "2026", "26-01", "2026-00", "9999-12", "2026-11"])
def test_a_month_that_is_none_or_not_over_is_refused(month: str) -> None:
    with pytest.raises(UserError):
        archiving.end_of(month, NOW)


def test_an_encrypted_message_stays_encrypted_in_its_file(database_url: str, tmp_path: Path) -> None:
    """The files show no Kernel XML, and it opens again when it is back."""
    desk = Desk(database_url)
    key = StorageKey("k", bytes(range(32)))
    unlock(desk.database, {"k": key}, "k")
    desk.deliver([start(PRM, day(0)), *months(15)], now=IN_MONTH)
    finish(desk)
    before = canonical(desk.database)
    # Nothing came after July: the stored state covers all fifteen.
    assert archiving.write(desk.store, tmp_path, MONTH, "test", NOW).messages == 15
    content = pq.read_table(tmp_path / MONTH / "kernel_message-00001.parquet")["xml"].to_pylist()
    assert all(one.startswith("ec:3:1:") for one in content)
    assert desk.rows("SELECT upto FROM archived_point") == [(micros(day(141)) + 1,)]
    archiving.restore(desk.store, MONTH)
    assert differences(before, canonical(desk.database)) == []
    assert verify(desk.database).damaged_rows == 0


def test_the_api_and_the_pages_name_the_archive(desk: Desk, tmp_path: Path) -> None:
    """Both find a message by the same function."""
    away(desk, tmp_path)
    shared: Any = SimpleNamespace(store=desk.store)
    with pytest.raises(Problem, match=f"archived in {MONTH}") as caught:
        find(shared, 6)
    assert (caught.value.status, f"eis archive restore {MONTH}" in caught.value.advice) == (404, True)
    with pytest.raises(Problem, match="There is no message 999"):
        find(shared, 999)


def test_bulk_judging_begins_with_the_stored_state(desk: Desk, tmp_path: Path) -> None:
    """Without it the nine readings that are there would wait for a start of supply."""
    away(desk, tmp_path)
    with snapshot(desk.database) as connection:
        (bucket,) = write_buckets(connection, tmp_path, desk.markets, 0)
    (point,) = read_bucket(bucket.read_bytes())
    verdicts = [entry.verdict for entry in _judged_anew(desk.engine, desk.markets.zone("FR"), point)]
    assert [verdict.label for verdict in verdicts if verdict is not None] == ["accepted"] * 9


@pytest.mark.thorough
def test_what_is_there_is_derived_again_and_what_is_away_is_not_missed(
    desk: Desk, tmp_path: Path, project_root: Path
) -> None:
    """Nine readings are there, three are lost: those three come again, from the stored state on."""
    away(desk, tmp_path)
    asked = BackfillQuestion(**structs.asdict(question(project_root / "rules", desk.markets, 0)))

    def lacks(name: str) -> Lacking:
        with lacking(desk.database, desk.markets, asked, tmp_path / name, Processes(1)) as found:
            found.fill(desk.store, desk.writer, lambda _done, _of: None)
            return found

    assert lacks("whole").counts == {}
    meaning = canonical(desk.database)
    with writing(desk.database) as connection:
        connection.exec_driver_sql("DELETE FROM reading WHERE id IN (SELECT id FROM reading ORDER BY id DESC LIMIT 3)")
    found = lacks("spoilt")
    assert (found.counts, found.faults) == ({("reading", "MeterReading", "missing"): 3}, [])
    assert differences(canonical(desk.database), meaning) == []


def test_what_lies_before_the_stored_state_is_neither_replayed_nor_explained_by_half(
    database_url: str, tmp_path: Path
) -> None:
    """A refused index of February, which stays; and one of today, whose history is told as before."""
    desk = Desk(database_url)
    desk.deliver([start(PRM, day(0)), *months(15), reading(PRM, day(45), 1_000_500)], now=IN_MONTH)
    desk.deliver(months(1, first=22), now=micros(day(230)))
    finish(desk)
    ((refused,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")
    ((latest,),) = desk.rows("SELECT max(id) FROM kernel_message")
    known = history_before(desk.store, desk.engine, desk.markets, latest)
    assert archiving.write(desk.store, tmp_path, MONTH, "test", NOW).messages > 0
    after = history_before(desk.store, desk.engine, desk.markets, latest)
    assert known is not None
    assert after is not None
    assert after.history == known.history
    with pytest.raises(HistoryArchived, match="is not whole"):
        history_before(desk.store, desk.engine, desk.markets, refused)
    with pytest.raises(HistoryArchived, match="is not whole"), desk.store.transaction() as tx:
        mark(tx, [refused], "test", "test")
    archiving.restore(desk.store, MONTH)
    with desk.store.transaction() as tx:
        assert mark(tx, [refused], "test", "test") == [refused]


def test_the_path_of_files_puts_aside_the_late_message_alone(desk: Desk, tmp_path: Path) -> None:
    """The single writer halves its transaction until the message stands alone; its neighbours are judged."""
    away(desk, tmp_path)
    messages = [reading(PRM, day(15), 1_014_000), reading(PRM, day(270), 1_350_000), reading(PRM, day(280), 1_360_000)]
    batch = desk.writer.prepare([structs.replace(one, position=n) for n, one in enumerate(messages, 1)])
    with desk.store.transaction() as tx:
        kept = archive(tx, "late.xml", BytesIO(b"late"), "test", NOW)
    record = MemberRecord("late.xml", kept.sha256, kept.size)
    part = Part(OpenEnvelope(kept.envelope_id, "late.xml", kept.sha256), record, "FR", batch, 3, last=True)
    (step,) = Writer(desk.store, desk.writer, 500).write([part, Settle()])
    assert step.tally.transactions == {("FR", "R15", "put-aside"): 1, ("FR", "R15", "digested"): 2}
    assert desk.rows("SELECT code FROM incident") == [("CH_HISTORY_ARCHIVED",)]
