"""What the Kernel says of simulated messages is what the simulator, which knows what it did, foretold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from adapters.fr_enedis.simulator import simulator
from energycomm.simulation.expectation import Outcome, read_truth
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from tests.machine import needs_durable_rules
from tests.simulation.conftest import EVERYTHING, process


def assert_true(folder: Path, url: str, *, engine: str = "parallel", shuffle: int | None = None) -> None:
    """The EIS equals the truth file in the state, the codes and the warnings of every message."""
    database = process(folder, url, engine=engine, shuffle=shuffle)
    try:
        differences = compare_truth(database, read_truth(folder / "truth.jsonl"))
        assert not differences, describe(differences)
    finally:
        database.dispose()


@pytest.mark.thorough
def test_every_mistake_gets_the_codes_that_were_foretold(everything: Path, tmp_path: Path) -> None:
    """Every error code that a file can bring about is brought about, alone and exactly."""
    assert_true(everything, f"sqlite:///{tmp_path / 'eis.db'}")


def test_every_mistake_is_in_the_simulation(everything: Path) -> None:
    """The test above is about all of them."""
    played = {line.outcome.fault for line in read_truth(everything / "truth.jsonl")}
    classes = simulator.playable()
    wanted = {name for kind in ("grid_operator", "product", "lost-message", "wrong-order") for name in classes[kind]}
    assert wanted - played == set()


@pytest.mark.thorough
def test_both_databases_say_the_same(mixed: Path, database_url: str) -> None:
    """Verdicts do not depend on where they are stored."""
    assert_true(mixed, database_url)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_arrival_in_any_order_ends_in_the_same_verdicts(mixed: Path, tmp_path: Path, seed: int) -> None:
    """Late, early, doubled: in the end only what was sent counts."""
    assert_true(mixed, f"sqlite:///{tmp_path / 'eis.db'}", shuffle=seed)


@pytest.mark.thorough
def test_the_other_rules_engine_says_the_same(mixed: Path, tmp_path: Path) -> None:
    """durable-rules reaches every verdict that the compiled rules reach."""
    needs_durable_rules()
    assert_true(mixed, f"sqlite:///{tmp_path / 'eis.db'}", engine="durable-rules")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["parallel", "durable-rules"])
@pytest.mark.parametrize("shuffle", [None, 3])
def test_a_year_of_faults_on_both_engines_and_databases(
    tmp_path: Path, database_url: str, engine: str, shuffle: int | None
) -> None:
    """The promise of the project at a larger volume."""
    if engine == "durable-rules":
        needs_durable_rules()
    simulator.simulate(Scenario(250, 12, 17, daily_share=0.03, faults=EVERYTHING), tmp_path)
    assert_true(tmp_path, database_url, engine=engine, shuffle=shuffle)


def test_a_wrong_verdict_is_told_with_its_place(mixed: Path, tmp_path: Path) -> None:
    """The comparison is worth something: a changed state, code, or missing message is found and named."""
    database = process(mixed, f"sqlite:///{tmp_path / 'eis.db'}")
    lines = list(read_truth(mixed / "truth.jsonl"))
    alone = next(n for n, line in enumerate(lines) if line.type == "R15" and line.twin is None)
    changed = [*lines]
    changed[alone] = replace(lines[alone], outcome=Outcome(state={"*": "rejected"}, errors={"*": ("FR-R99",)}))
    found = compare_truth(database, changed)
    assert {each.what for each in found} <= {"MeterReading", "MeteredVolume"}
    assert all("expected rejected FR-R99, found accepted" in str(each) for each in found)
    assert found
    assert [each.what for each in compare_truth(database, lines[:alone] + lines[alone + 1 :])] == ["a CH message"]
    strange = replace(lines[alone], position=99_999, reference="never sent")
    assert ["never sent" in str(each) for each in compare_truth(database, [*lines, strange])] == [True]
    with database.begin() as connection:
        connection.execute(text("UPDATE kernel_message SET state = 'engine_error' WHERE id = 1"))
    assert "found engine_error" in describe(compare_truth(database, lines))
    database.dispose()


def test_a_second_run_over_the_same_files_changes_no_verdict(mixed: Path, tmp_path: Path) -> None:
    """Everything that comes again is a duplicate."""
    twice = tmp_path / "twice"
    shutil.copytree(mixed, twice)
    for path in sorted((twice / "envelopes").iterdir())[::7]:
        path.with_name(path.name.replace("_2025", "_2026")).write_bytes(path.read_bytes())
    database = process(twice, f"sqlite:///{tmp_path / 'eis.db'}")
    differences = compare_truth(database, read_truth(mixed / "truth.jsonl"))
    database.dispose()
    assert not differences, describe(differences)
