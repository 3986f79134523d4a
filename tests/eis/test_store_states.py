"""A store that is absent, empty, older or newer: each is told apart, and only what writes makes one."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from energycomm import cli
from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.database import is_sqlite, opened, writing
from energycomm.errors import ExitCode, UserError
from energycomm.pipeline.opening import open_store

Told = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def address(empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", empty_url)
    return empty_url


def refused(capsys: Told, *words: str) -> str:
    """What a command says that ends with the exit code of the database."""
    assert cli.main(list(words)) == ExitCode.DATABASE
    told = capsys.readouterr()
    return told.err + told.out


@pytest.mark.parametrize("empty_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("typed", ["message list", "eis stats", "eis status", "access-point show 1", "daemon"])
def test_what_reads_says_that_a_store_is_absent_and_makes_none(address: str, capsys: Told, typed: str) -> None:
    said = refused(capsys, *typed.split())
    assert "not exist" in said or "is not there" in said
    assert "energycomm eis upgrade" in said
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("empty_url", ["sqlite"], indirect=True)
def test_a_rehearsal_makes_no_store(address: str, capsys: Told) -> None:
    assert "does not exist" in refused(capsys, "process", "--dry-run", str(ROOT / "fixtures/fr/c15_entries.xml"))
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("empty_url", ["sqlite"], indirect=True)
def test_the_first_process_makes_the_store(address: str, capsys: Told) -> None:
    assert cli.main(["process", str(ROOT / "fixtures/fr/c15_entries.xml")]) <= ExitCode.REJECTED
    with opened(address) as engine:
        assert migrations.status(engine).state == "ready"


def test_an_empty_database_is_made_ready_where_it_is_a_file_and_left_to_its_server(address: str) -> None:
    with opened(address) as engine:
        assert migrations.status(engine).state == "empty"
        file = is_sqlite(engine)
    config = Config.model_validate({"database": address})
    with pytest.raises(UserError, match="has no tables of EnergyComm yet") as told, open_store(config):
        pass
    assert told.value.exit_code == ExitCode.DATABASE
    if file:
        with open_store(config, make=True) as store:
            assert migrations.status(store.engine).state == "ready"
    else:
        with pytest.raises(UserError, match="has no tables of EnergyComm yet"), open_store(config, make=True):
            pass


@pytest.mark.thorough
@pytest.mark.parametrize(("revision", "said"), [("0001", "older than this EnergyComm"), ("9999", "newer than this")])
def test_an_older_and_a_newer_store_are_left_alone_by_whoever_asks(
    address: str, capsys: Told, revision: str, said: str
) -> None:
    with opened(address) as engine:
        migrations.upgrade(engine)
        with writing(engine) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :n"), {"n": revision})
    for typed in ("message list", f"process {ROOT / 'fixtures/fr/c15_entries.xml'}"):
        assert said in refused(capsys, *typed.split())
    with opened(address) as engine:
        assert migrations.current(engine) == revision
