"""`energycomm eis`: an operator brings a database to life, sees that it is ready, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from energycomm.commands.eis import app
from energycomm.eis import tables
from energycomm.eis.database import opened, writing
from energycomm.eis.store import Store
from energycomm.errors import ExitCode, UserError
from tests.eis.rows import DAY, put_kernel_message, reject


@pytest.fixture
def address(empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", empty_url)
    return empty_url


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def fill(address: str) -> None:
    with opened(address) as engine, Store(engine).transaction() as tx:
        point = tx.access_points("FR", ["1"])["1"].id
        put_kernel_message(tx, point, DAY, state="quarantined", waits_for="start of supply")
        reject(tx, put_kernel_message(tx, point, DAY, state="rejected"), "FR-R03")


@pytest.mark.thorough
def test_an_upgrade_makes_a_database_ready(address: str) -> None:
    told = run("status", code=ExitCode.DATABASE)
    assert ("is not there: `energycomm eis upgrade`" if "sqlite" in address else "no tables yet: run `en") in told
    assert "from nothing to revision" in run("upgrade")
    assert "is ready" in run("status")
    assert "already" in run("upgrade")
    assert json.loads(run("status", "--json"))["state"] == "ready"
    assert json.loads(run("upgrade", "--json"))["before"] is not None


@pytest.mark.thorough
def test_a_newer_database_is_left_alone(address: str) -> None:
    run("upgrade")
    with opened(address) as engine, writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert "newer than this program" in run("status", code=ExitCode.DATABASE)
    with pytest.raises(UserError, match="newer"):
        run("stats")


def test_counts_of_a_database_that_is_not_ready_are_refused(address: str) -> None:
    with pytest.raises(UserError, match="energycomm eis upgrade"):
        run("stats")


@pytest.mark.thorough
def test_statistics_are_for_people_and_programs(address: str) -> None:
    run("upgrade")
    fill(address)
    plain = run("stats")
    assert "Kernel messages\tFR\tC15\tquarantined\t1" in plain
    assert "most frequent error codes\tFR-R03\t1\ttoo low" in plain
    assert "longest in quarantine: message 1, since 2023-11-14 23:13, for start of supply" in plain
    counted = json.loads(run("stats", "--json"))
    assert counted["codes"] == [{"code": "FR-R03", "severity": "error", "messages": 1, "comment": "too low"}]
    assert counted["oldest_waiting"]["received_at"] == "2023-11-14T22:13:20Z"
    assert {row["table"] for row in counted["tables"]} == set(tables.metadata.tables)


@pytest.mark.thorough
def test_two_stores_are_compared(address: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    run("upgrade")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENERGYCOMM_DATABASE", other)
        run("upgrade")
    assert "have the same content" in run("compare", other)
    fill(address)
    assert "access point FR/1: only in the first store" in run("compare", other, code=ExitCode.REJECTED)
    assert "and more: --limit 10" in run("compare", other, "--limit", "1", code=ExitCode.REJECTED)
    assert json.loads(run("compare", other, "--json", code=ExitCode.REJECTED))["equal"] is False
    fill(other)
    assert json.loads(run("compare", other, "--json")) == {"equal": True, "differences": [], "more": False}


@pytest.mark.thorough
@pytest.mark.parametrize(("typed", "meant"), [("other.db", "sqlite:///other.db"), ("dbname=x password=secret", "")])
def test_a_path_in_place_of_an_address_is_told_as_what_it_should_be(address: str, typed: str, meant: str) -> None:
    run("upgrade")
    with pytest.raises(UserError, match="address of the database cannot be read") as refused:
        run("compare", typed)
    assert meant in str(refused.value.advice)
    assert "secret" not in str(refused.value.advice)


@pytest.mark.thorough
def test_partitions_go_out_and_in_by_one_command_each(address: str) -> None:
    """A SQLite store says that it has none."""
    run("upgrade")
    sqlite = address.startswith("sqlite")
    printed = run("partition", "list", "--json")
    listed = json.loads(printed[printed.index("{\n") :])  # what a person is told goes to standard error
    assert listed["partitioned"] is not sqlite
    if sqlite:
        assert "has no partitions" in run("partition", "list")
        with pytest.raises(UserError, match="SQLite store has no partitions"):
            run("partition", "create")
        return
    assert {one["name"]: one["rows"] for one in listed["partitions"]}["raw_chunk_p1"] == 0
    with opened(address) as engine, writing(engine) as connection:
        connection.execute(text("SELECT setval('envelope_ids', 120001)"))
    told = run("partition", "create", "--rows", "2000", "--json")
    made = json.loads(told[told.index("{\n") :])["made"]  # after the log, which is not set up here
    assert [one["before"] - one["from"] for one in made if one["table"] in ("raw_chunk", "reading")] == [2000, 2000]
    out = json.loads(run("partition", "detach", "raw_chunk_p1", "--json"))
    assert (out["detached"]["attached"], out["detached"]["before"]) == (False, 50_000)
    assert json.loads(run("partition", "attach", "raw_chunk_p1", "--json"))["attached"]["attached"]
    with pytest.raises(UserError, match="'raw_chunk_p9' is no partition") as wrong:
        run("partition", "attach", "raw_chunk_p9")
    assert "Did you mean raw_chunk_p" in wrong.value.advice
