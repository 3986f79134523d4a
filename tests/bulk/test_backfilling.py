"""What the store lacks of what stored messages say is found, told and written; a store that lacks nothing is left."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import text

from energycomm import cli
from energycomm.bulk import backfilling, runs
from energycomm.bulk.backfilling import BackfillQuestion, lacking
from energycomm.bulk.verdicts import judged_again
from energycomm.bulk.workers import Processes, Workers
from energycomm.correction.impact import question
from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import reading, writing
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline import rederiving
from energycomm.pipeline.batch import BatchWriter
from tests.bulk.test_exporting import LostFirst
from tests.bulk.test_runs import MARKETS, Cut, every_state, filled, processed
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, start
from tests.pipeline.story import reading as read

Found = dict[tuple[str, str, str], int]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PAUSE", 0)


@pytest.fixture(scope="module")
def asked(project_root: Path) -> BackfillQuestion:
    return BackfillQuestion(**structs.asdict(question(project_root / "rules", MARKETS, 0)))


def look(
    store: Store, asked: BackfillQuestion, folder: Path, workers: Workers | None = None, **more: Any
) -> tuple[Found, int, list[Any]]:
    """What is lacking; nothing is written."""
    with lacking(store.engine, MARKETS, asked, folder, workers or Processes(1), **more) as found:
        return dict(found.counts), found.messages, found.faults


def fill(store: Store, writer: BatchWriter, asked: BackfillQuestion, folder: Path, **more: Any) -> Found:
    """What was lacking; it is written."""
    with lacking(store.engine, MARKETS, asked, folder, Processes(1), **more) as found:
        found.fill(store, writer, lambda _done, _of: None)
        assert found.faults == []
        return dict(found.counts)


def rows(store: Store, sql: str) -> list[Any]:
    """Rows of a query."""
    with reading(store.engine) as connection:
        return driver_of(connection).rows(sql)


def spoil(store: Store, *statements: str) -> None:
    """Make the store one that an older version filled."""
    with writing(store.engine) as connection:
        for statement in statements:
            connection.execute(text(statement))


def searched(store: Store) -> dict[str, list[Any]]:
    """By what messages and customers are found, of the messages that hold."""
    return {
        "particular": rows(store, "SELECT message_id, name, value FROM particular ORDER BY 1, 2"),
        "invoice_message": rows(store, "SELECT message_id, market, invoice FROM invoice_message ORDER BY 1"),
        "customer_words": rows(
            store,
            "SELECT c.message_id, w.words FROM customer_words w JOIN customer c ON c.id = w.customer_id ORDER BY 1",
        ),
    }


@pytest.mark.thorough
def test_a_store_of_this_version_lacks_nothing(
    database_url: str, tmp_path: Path, project_root: Path, asked: BackfillQuestion
) -> None:
    """Three markets; what was spoilt is found, by table and kind, and is written as it was, and only that."""
    with processed(database_url, project_root / "rules", project_root) as (store, writer):
        every = rows(store, "SELECT count(*) FROM kernel_message")[0][0]
        assert look(store, asked, tmp_path / "none") == ({}, every, [])
        meaning, found_by = canonical(store.engine), searched(store)
        assert all(found_by.values())
        states = rows(store, "SELECT id, state FROM kernel_message ORDER BY id")
        changes = rows(store, "SELECT count(*) FROM state_change")

        def number(table: str, condition: str = "true") -> int:
            return int(rows(store, f"SELECT count(*) FROM {table} WHERE {condition}")[0][0])

        expected = {
            ("reading", "MeterReading", "missing"): number("reading", "message_id & 1 = 0"),
            ("series", "MeasureSeries", "changed"): number("series", "direction IS NOT NULL"),
            ("contract", "ContractTerms", "changed"): number("contract", "powers <> '[]'"),
            ("meter", "MeterData", "extra"): 1,
            ("grid_invoice", "GridInvoice", "missing"): number("grid_invoice"),
            ("supply_period", "StartOfSupply", "missing"): number("supply_period", "ended_at IS NOT NULL"),
            ("customer_words", "CustomerData", "missing"): number("customer_words"),
        }
        kinds = Counter(row[0] for row in rows(store, _PARTICULAR_KINDS))
        expected |= {("particular", kind, "changed"): kinds[kind] for kind in kinds}
        kinds = Counter(row[0] for row in rows(store, _INVOICE_KINDS))
        expected |= {("invoice_message", kind, "missing"): kinds[kind] for kind in kinds}
        assert all(expected.values()), expected
        spoil(
            store,
            "DELETE FROM reading WHERE message_id & 1 = 0",
            "UPDATE series SET direction = NULL WHERE direction IS NOT NULL",
            "UPDATE contract SET powers = '[]'",
            _SURPLUS_METER,
            "DELETE FROM grid_invoice",
            "DELETE FROM supply_period WHERE ended_at IS NOT NULL",
            "DELETE FROM particular",
            "DELETE FROM invoice_message",
            "DELETE FROM customer_words",
        )
        assert differences(canonical(store.engine), meaning) != []
        assert look(store, asked, tmp_path / "run", size=40) == (expected, every, [])
        assert rows(store, "SELECT count(*) FROM grid_invoice") == [(0,)]
        # The run of the dry run is gone on with.
        assert fill(store, writer, asked, tmp_path / "run", size=40) == expected
        assert differences(canonical(store.engine), meaning) == []
        assert searched(store) == found_by
        # Verdicts are as they were, and doing it again finds nothing.
        assert rows(store, "SELECT id, state FROM kernel_message ORDER BY id") == states
        assert rows(store, "SELECT count(*) FROM state_change") == changes
        assert look(store, asked, tmp_path / "again") == ({}, every, [])


_PARTICULAR_KINDS = (
    "SELECT k.kind, k.id FROM kernel_message k WHERE EXISTS (SELECT 1 FROM particular p WHERE p.message_id = k.id)"
)
_INVOICE_KINDS = "SELECT k.kind, k.id FROM kernel_message k JOIN invoice_message i ON i.message_id = k.id"
_COLUMNS = ", ".join(f'"{column.name}"' for column in tables.DOMAIN["meter"].columns if column.name != "id")
_SURPLUS_METER = f"INSERT INTO meter (id, {_COLUMNS}) SELECT id + 1000000, {_COLUMNS} FROM meter ORDER BY id LIMIT 1"


def test_messages_in_every_state_keep_it(database_url: str, tmp_path: Path, asked: BackfillQuestion) -> None:
    """Corrected, withdrawn, marked, delegated, ticketed, waiting and broken ones do as little as before."""
    desk = every_state(database_url)
    # Two readings were withdrawn and ticketed behind the back of the live path: theirs are taken back.
    extra = look(desk.store, asked, tmp_path / "first")[0]
    assert extra[("reading", "MeterReading", "extra")] >= 1
    assert {table for table, _, _ in extra} <= {"reading"}
    before = desk.rows("SELECT id, state, waits_for FROM kernel_message ORDER BY id")
    told = desk.rows("SELECT count(*) FROM outbox")
    fill(desk.store, desk.writer, asked, tmp_path / "fill")
    assert desk.rows("SELECT id, state, waits_for FROM kernel_message ORDER BY id") == before
    assert desk.rows("SELECT count(*) FROM outbox") == told
    assert look(desk.store, asked, tmp_path / "again")[0] == {}


def spoilt(tmp_path: Path) -> Desk:
    """A store in which every access point lacks its readings."""
    desk = filled(tmp_path)
    spoil(desk.store, "DELETE FROM reading")
    return desk


@pytest.mark.thorough
def test_a_killed_process_makes_no_difference(tmp_path: Path, asked: BackfillQuestion) -> None:
    desk = spoilt(tmp_path)
    expected = look(desk.store, asked, tmp_path / "whole")
    killed: list[int] = []

    def kill(done: int, _of: int) -> None:
        children = multiprocessing.active_children()
        if done and children and not killed:
            killed.append(children[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    assert look(desk.store, asked, tmp_path / "run", Processes(2), size=15, watch=kill) == expected
    assert killed
    assert expected[0][("reading", "MeterReading", "missing")] > 12


def test_a_run_that_was_cut_goes_on(tmp_path: Path, asked: BackfillQuestion, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it looks, and while it writes: what is done is not done again."""
    desk = spoilt(tmp_path)
    meaning, folder = canonical(filled_beside(tmp_path).database), tmp_path / "run"
    first, second = LostFirst(2), Cut(1 << 30)
    with pytest.raises(UserError, match="lost 5 times"):
        look(desk.store, asked, folder, first, size=15)
    with lacking(desk.database, MARKETS, asked, folder, second, size=15) as found:
        assert (first.given, second.given[0]) == ([1, 2], 3)
        written: list[str] = []
        monkeypatch.setattr(backfilling, "rederive_point", noting(written, 4))
        with pytest.raises(KeyboardInterrupt):
            found.fill(desk.store, desk.writer, lambda _done, _of: None)
        assert len(written) == 4
    settled = len(list(folder.glob("settled-*")))
    assert 0 < settled < found.buckets
    with lacking(desk.database, MARKETS, asked, folder, LostFirst(0), size=15) as found:
        monkeypatch.setattr(backfilling, "rederive_point", noting(written, 1 << 30))
        found.fill(desk.store, desk.writer, lambda _done, _of: None)
        found.clear()
    # Of the bucket that was cut at most the points before the cut are written twice.
    assert 12 <= len(written) <= 12 + 4
    assert differences(canonical(desk.database), meaning) == []
    assert [path.name for path in folder.iterdir()] == ["run.lock"]


def filled_beside(tmp_path: Path) -> Desk:
    """The same store, not spoilt."""
    (tmp_path / "beside").mkdir()
    return filled(tmp_path / "beside")


def noting(written: list[str], most: int) -> Callable[..., None]:
    """`rederive_point`, which notes what it writes and is interrupted after some."""

    def write(tx: Any, writer: BatchWriter, market: str, identifier: str) -> None:
        if len(written) == most:
            raise KeyboardInterrupt
        rederiving.rederive_point(tx, writer, market, identifier)
        written.append(identifier)

    return write


def test_a_message_that_cannot_be_read_keeps_what_its_access_point_has(
    database_url: str, tmp_path: Path, asked: BackfillQuestion
) -> None:
    """Nothing of that point is derived, and why is told; the others are."""
    desk = Desk(database_url)
    for prm in ("99000000000017", "99000000000024"):
        desk.deliver([start(prm, day(0)), read(prm, day(31), 1_100_000)])
    spoil(
        desk.store,
        "DELETE FROM reading",
        "UPDATE kernel_message SET xml = '<strange/>' WHERE kind = 'StartOfSupply' AND access_point_id = "
        "(SELECT id FROM access_point WHERE identifier = '99000000000017')",
    )
    with lacking(desk.database, MARKETS, asked, tmp_path / "run", Processes(1)) as found:
        assert found.counts == {("reading", "MeterReading", "missing"): 1}
        ((market, point, fault),) = found.faults
        assert (market, point) == ("FR", "99000000000017")
        assert "its Kernel XML cannot be read" in fault
        found.fill(desk.store, desk.writer, lambda _done, _of: None)
    ((left,),) = desk.rows("SELECT p.identifier FROM reading r JOIN access_point p ON p.id = r.access_point_id")
    assert left == "99000000000024"
    assert desk.rows("SELECT count(*) FROM supply_period") == [(2,)]


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")


@pytest.mark.thorough
@pytest.mark.usefixtures("_here")
def test_the_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = spoilt(tmp_path)
    number = desk.rows("SELECT count(*) FROM kernel_message WHERE kind = 'MeterReading' AND state = 'accepted'")[0][0]
    lacks = [{"table": "reading", "kind": "MeterReading", "what": "missing", "rows": number}]
    assert cli.main(["eis", "backfill", "--dry-run", "--json", "--processes", "1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["lacking"], answer["written"], answer["places"]) == (lacks, False, 12)
    assert desk.rows("SELECT count(*) FROM reading") == [(0,)]
    assert cli.main(["eis", "backfill", "--work", "run", "--processes", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == ["reading", "MeterReading", "missing", str(number)]
    assert "12 access points and messages without one derived again" in err
    assert desk.rows("SELECT count(*) FROM reading") == [(number,)]
    assert cli.main(["eis", "backfill", "--work", "run", "--processes", "1"]) == 0
    assert "the store lacks nothing" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("--work eis.db", "The run cannot be kept in eis.db: File exists"),
        ("--work .", "holds other files"),
        ("--processes 0", "--processes"),
        ("everything", "unexpected extra argument"),
        ("--work other", "another question"),
    ],
)
def test_wrong_values_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: BackfillQuestion, typed: str, words: str
) -> None:
    """A folder of another run among them: of other rules."""
    desk = filled(tmp_path, 1)
    look(desk.store, structs.replace(asked, rules_version="0"), tmp_path / "other")
    assert cli.main(["eis", "backfill", *typed.split()]) in (2, 3)
    err = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert words in err
    assert "Traceback" not in err


@pytest.mark.thorough
def test_a_run_that_judges_is_no_backfill(tmp_path: Path, asked: BackfillQuestion, project_root: Path) -> None:
    desk = filled(tmp_path, 1)
    with judged_again(
        desk.database, MARKETS, question(project_root / "rules", MARKETS, 0), tmp_path / "run", Processes(1)
    ):
        pass
    with pytest.raises(UserError, match="another question"):
        look(desk.store, asked, tmp_path / "run")
