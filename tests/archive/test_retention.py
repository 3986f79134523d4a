"""Retention by class: what a policy names goes, everything else stays, and it is shown before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from energycomm import cli
from energycomm.config import RetentionSettings
from energycomm.eis import tables
from energycomm.eis.auditchain import verify
from energycomm.errors import ExitCode
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import CustomerData
from energycomm.market.contract import Transaction
from energycomm.pipeline.batch import Origin
from energycomm.pipeline.retention import CLASSES, due, policies, purge
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start, transaction

PRM, OTHER = "99000000000017", "99000000000025"
NOW = micros(day(300))


def customer(prm: str, number: int, surname: str) -> Transaction:
    """The customer of a point from a day on."""
    common = head(prm, day(number), "C15", "MES", f"{surname}:{number}") | {"contract_reference": "123456789"}
    return transaction([CustomerData(**common, category="residential", surname=surname)])


@pytest.fixture
def desk(database_url: str) -> Desk:
    """A supply that ended in April, and one that goes on; with customers and readings."""
    desk = Desk(database_url)
    ended = [start(PRM, day(0)), customer(PRM, 1, "Martin"), reading(PRM, day(31), 1_100_000), end(PRM, day(100))]
    goes_on = [start(OTHER, day(0)), customer(OTHER, 1, "Durand"), reading(OTHER, day(31), 1_100_000)]
    desk.deliver([*ended, *goes_on], now=micros(day(101)))
    desk.tell_back_office()
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'done'", ())
    return desk


def kinds(desk: Desk) -> dict[str, int]:
    return dict(desk.rows("SELECT kind, count(*) FROM kernel_message GROUP BY kind"))


def test_readings_of_a_policy_go_with_all_that_belongs_to_them(desk: Desk) -> None:
    before, states = kinds(desk), desk.rows("SELECT state FROM access_point ORDER BY id")
    assert due(desk.store, "readings", 100, NOW) == 2
    assert kinds(desk) == before
    assert purge(desk.store, "readings", 100, NOW, "test") == (2, 0)
    assert purge(desk.store, "readings", 100, NOW, "test") == (0, 0)
    assert kinds(desk) == {kind: number for kind, number in before.items() if kind != "MeterReading"}
    for table in ("reading", "state_change", "outbox"):
        sql = f"SELECT count(*) FROM {table} WHERE message_id NOT IN (SELECT id FROM kernel_message)"
        assert desk.rows(sql) == [(0,)]
    assert desk.rows("SELECT state FROM access_point ORDER BY id") == states
    assert desk.rows('SELECT what, days, "rows", "by" FROM purge') == [("readings", 100, 2, "test")]
    late = reading(PRM, day(20), 1_050_000)
    with desk.store.transaction() as tx:
        desk.writer.store_around(tx, [(Origin("FR", 1, 1, place="x"), desk.writer.prepare([late]))], NOW)
    ((code, advice),) = desk.rows("SELECT code, advice FROM incident")
    assert code == "CH_HISTORY_ARCHIVED"
    assert "does not come back" in advice


def test_the_customer_of_a_supply_that_ended_is_forgotten_and_the_other_is_not(desk: Desk) -> None:
    """In the domain, in Kernel XML, and as a former row."""
    with desk.store.transaction() as tx:
        image = {"table_name": "customer", "row_id": 77, "at": micros(day(101)), "why": "x", "image": "Martin"}
        tx.insert(tables.before_image, [{**image, "access_point_id": 1}, {**image, "access_point_id": 2}])
    assert purge(desk.store, "customers", 250, NOW, "test") == (0, 0)  # it ended 200 days ago
    assert purge(desk.store, "customers", 150, NOW, "test") == (1, 0)
    assert desk.rows("SELECT name FROM customer") == [("Durand",)]
    with desk.store.reading() as reader:
        xmls = [row.xml for several in reader.messages_of([1, 2]).values() for row in several]
    assert sum("Martin" in xml for xml in xmls) == 0
    assert sum("Durand" in xml for xml in xmls) == 1
    assert desk.rows("SELECT access_point_id FROM before_image") == [(2,)]


@pytest.mark.parametrize("what", ["predictions", "former", "notes"])
def test_rows_of_a_class_go_when_they_are_old(desk: Desk, what: str) -> None:
    old, young = NOW - 41 * 86_400_000_000, NOW - 39 * 86_400_000_000
    opinion: dict[str, Any] = {
        "model": "m",
        "rules": "r",
        "codes": "",
        "probability": 1,
        "abstained": False,
        "comment": "",
    }
    image: dict[str, Any] = {"table_name": "reading", "row_id": 1, "why": "x", "image": "{}"}
    note: dict[str, Any] = {"severity": "note", "code": "X"}
    table, row = {
        "predictions": (tables.prediction, opinion),
        "former": (tables.before_image, image),
        "notes": (tables.incident, note),
    }[what]
    with desk.store.transaction() as tx:
        for number, at in ((1, old), (2, young)):
            own = {"message_id": number} if what == "predictions" else {}
            tx.insert(table, [{**row, **own, "at": at}])
        tx.insert(tables.incident, [{"severity": "error", "code": "Y", "at": old}])
    assert due(desk.store, what, 40, NOW) == 1
    assert purge(desk.store, what, 40, NOW, "test") == (1, 0)
    assert desk.rows(f'SELECT "at" FROM {table.name} WHERE "at" <> {old}') == [(young,)]
    assert desk.rows("SELECT code FROM incident WHERE severity = 'error'") == [("Y",)]


def test_every_class_has_a_setting_and_nothing_is_set() -> None:
    settings = RetentionSettings()
    assert policies(settings) == {}
    beside = {"archive", "evidence_days", "copies_days"}  # of no class: where archives are, and what an erasure leaves
    assert {one.setting for one in CLASSES} == RetentionSettings.model_fields.keys() - beside


def test_the_command_shows_and_removes(
    desk: Desk, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["eis", "retention", "--apply"]) == ExitCode.USAGE
    assert "nothing is removed" in capsys.readouterr().err
    monkeypatch.setenv("ENERGYCOMM_RETENTION__READING_DAYS", "1")

    def asked(*options: str) -> dict[str, tuple[int | None, int]]:
        assert cli.main(["eis", "retention", "--json", *options]) == ExitCode.OK
        found = json.loads(capsys.readouterr().out)["classes"]
        return {one["class"]: (one["days"], one["rows"]) for one in found if one["days"]}

    wanted = {"readings": (1, 2)}
    assert asked() == wanted
    assert asked("--apply") == wanted
    assert asked() == {"readings": (1, 0)}
    assert verify(desk.database).checked == 4
    assert "MeterReading" not in kinds(desk)


def test_archive_commands_go_there_and_back(
    desk: Desk, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """write, list, what is said of what is away, verify, restore."""
    monkeypatch.setenv("ENERGYCOMM_DATABASE", database_url)
    monkeypatch.chdir(tmp_path)
    ((number,),) = desk.rows("SELECT min(id) FROM kernel_message WHERE kind = 'MeterReading'")

    def said(*words: str, code: int = ExitCode.OK) -> str:
        assert cli.main(list(words)) == code
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return told.out + told.err

    assert "2 messages and the bytes of 1 envelope left" in said("eis", "archive", "write", "2026-04")
    assert (tmp_path / "archive" / "2026-04" / "manifest.json").is_file()
    assert "away" in said("eis", "archive", "list")
    for words in (("message", "show", str(number)), ("message", "explain", str(number))):
        assert f"Message {number} is archived in 2026-04" in said(*words, code=ExitCode.USAGE)
    assert "The bytes are archived in 2026-04" in said("envelope", "extract", "1", code=ExitCode.USAGE)
    assert "archived in 2026-04" in said("export", "readings", "--to", "readings.csv")
    assert "READINGS_ARCHIVED" in said("billing", OTHER, "--from", "2026-02-01", "--to", "2026-02-10", code=1)
    assert "as it was written" in said("eis", "archive", "verify", "2026-04")
    assert "There is no archive" in said("eis", "archive", "restore", "2026-03", code=ExitCode.USAGE)
    assert "2 messages and the bytes of 1 envelope are back" in said("eis", "archive", "restore", "2026-04")
    assert "in the store already" in said("eis", "archive", "restore", "2026-04")
    assert "archived" not in said("export", "readings", "--to", "readings.csv")
    assert said("message", "show", str(number))
