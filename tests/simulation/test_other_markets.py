"""Lives of the Dutch, the Belgian and the Danish market: the Kernel says of them what their simulators foretold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.be_atrias.mapping import FILE
from energycomm.engine.folder import load_catalogue
from energycomm.simulation.expectation import read_truth
from energycomm.simulation.faults import CLASSES, FaultRates
from energycomm.simulation.port import Simulator, load_simulator, simulated_markets
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.truth import compare_truth, describe
from tests.simulation.conftest import process

MARKETS = ("be", "dk", "nl")
each_market = pytest.mark.parametrize("market", MARKETS)
DISTURBED = FaultRates({"wrong-order": 0.4, "duplicate-file": 0.2})


def simulator(market: str) -> Simulator:
    found = load_simulator(market)
    assert found is not None
    return found


EVERY_FAULT = FaultRates(
    {"grid_operator": 0.75, "product": 0.15, "lost-message": 0.05, "wrong-order": 0.05, "duplicate-file": 0.1}
)
LIVES = {"be": 200, "dk": 160, "nl": 150}
"""So many lives that each mistake is made in one."""


def assert_true(folder: Path, shuffle: int | None = None, url: str | None = None) -> None:
    database = process(folder, url or f"sqlite:///{folder / 'eis.db'}", shuffle=shuffle)
    try:
        differences = compare_truth(database, read_truth(folder / "truth.jsonl"))
        assert not differences, describe(differences)
    finally:
        database.dispose()


def test_every_market_has_a_simulator_that_is_found_by_its_entry_point() -> None:
    assert set(simulated_markets()) == {"be", "dk", "fr", "nl"}
    assert [simulator(market).market for market in simulated_markets()] == ["BE", "DK", "FR", "NL"]
    assert load_simulator("xx") is None


@pytest.mark.thorough
@each_market
def test_lives_without_a_fault_are_accepted_whole(market: str, tmp_path: Path) -> None:
    count = simulator(market).simulate(Scenario(30, 9, 4, daily_share=0.05), tmp_path)
    assert len(count.by_type) >= 4
    assert count.messages > 200
    assert_true(tmp_path)


@pytest.mark.thorough
@each_market
@pytest.mark.parametrize("shuffle", [None, 3])
def test_late_starts_and_duplicates_change_no_verdict(market: str, shuffle: int | None, tmp_path: Path) -> None:
    simulator(market).simulate(Scenario(15, 6, 8, daily_share=0.05, faults=DISTURBED), tmp_path)
    lines = list(read_truth(tmp_path / "truth.jsonl"))
    assert any(line.twin for line in lines)
    assert_true(tmp_path, shuffle)


@pytest.mark.thorough
@pytest.mark.parametrize("market", ["be", "dk", "fr", "nl"])
def test_each_rule_has_a_mistake_or_a_reason_why_not(market: str, project_root: Path) -> None:
    """A new rule for what the market sends needs a mistake that shows it."""
    found = simulator(market)
    catalogue = load_catalogue(project_root / "rules", check_examples=False)
    codes = {
        rule.error_code
        for rule in catalogue.rules
        if rule.rule_set == "validation_in" and rule.error_code and {found.market, "*"} & set(rule.markets or ("*",))
    }
    assert codes - set(found.playable()) == set(found.unreachable)
    assert all(found.unreachable.values())


@pytest.mark.thorough
@each_market
def test_every_fault_gets_the_codes_that_were_foretold(market: str, tmp_path: Path) -> None:
    """A mistake for each rule, broken content, wrong codes, what is lost, late and doubled; neighbours stay as they
    are."""
    points, months = LIVES[market], simulator(market).fault_months
    simulator(market).simulate(Scenario(points, months, 8, daily_share=0.02, faults=EVERY_FAULT), tmp_path)
    played = {line.outcome.fault for line in read_truth(tmp_path / "truth.jsonl")}
    classes = simulator(market).playable()
    wanted = {name for kind, names in classes.items() if kind in CLASSES for name in names} - {"again"}
    assert wanted - played == set()
    assert_true(tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("path", "wrong", "told"),
    [
        ("MeteringPointCharacteristic/NumberOfPhases", "MeteringPointCharacteristic/Phases", "BE-P06"),
        ("GridAccessAgreement/AgreementType", "GridAccessAgreement/ContractType", "BE-C01"),
        (" MeterReadingOrigin: ", " MeterReadingOrigins: ", "MeterReadings"),
        (" TaxRate: ", " TaxRates: ", "BE-G04"),
        ('HI, consumption], "1.8.2"', 'LO, consumption], "1.8.2"', "MSCONS"),
    ],
    ids=["point", "contract", "reading", "charge", "edifact"],
)
def test_a_wrong_path_in_the_belgian_table_is_seen_in_what_the_market_writes(
    path: str, wrong: str, told: str, tmp_path: Path
) -> None:
    """The simulator writes by templates of its own, so the table that reads is held against something."""
    table = FILE.read_text()
    assert path in table
    (tmp_path / "mapping.yaml").write_text(table.replace(path, wrong))
    rates = FaultRates({told: 0.5}) if told.startswith("BE") else FaultRates()
    simulator("be").simulate(Scenario(6, 7, 3, faults=rates), tmp_path)
    mappings = {"BE": str(tmp_path / "mapping.yaml")}
    database = process(tmp_path, f"sqlite:///{tmp_path / 'eis.db'}", mappings=mappings)
    differences = compare_truth(database, read_truth(tmp_path / "truth.jsonl"))
    database.dispose()
    named = {each.truth.outcome.fault or each.truth.type for each in differences if each.truth is not None}
    assert told in named


@pytest.mark.slow
@each_market
@pytest.mark.parametrize("shuffle", [None, 5])
def test_every_fault_is_judged_alike_on_both_databases_in_any_order(
    market: str, shuffle: int | None, tmp_path: Path, database_url: str
) -> None:
    simulator(market).simulate(Scenario(90, 8, 5, daily_share=0.03, faults=EVERY_FAULT), tmp_path)
    assert_true(tmp_path, shuffle, database_url)


@each_market
def test_equal_scenarios_give_equal_bytes(market: str, tmp_path: Path) -> None:
    written = []
    for name in ("one", "other"):
        simulator(market).simulate(Scenario(5, 4, 2, faults=DISTURBED), tmp_path / name)
        files = sorted((tmp_path / name / "envelopes").iterdir())
        written.append([(file.name, file.read_bytes()) for file in files])
    assert written[0] == written[1]


@each_market
def test_a_folder_that_holds_a_simulation_is_not_written_over(market: str, tmp_path: Path) -> None:
    simulator(market).simulate(Scenario(2, 2, 2), tmp_path)
    with pytest.raises(FileExistsError):
        simulator(market).simulate(Scenario(2, 2, 2), tmp_path)


def test_the_gateway_and_its_adapters_start_without_simulators(project_root: Path) -> None:
    program = (
        "import sys, energycomm.cli; from energycomm.market.installed import installed_adapters; "
        "print(len(installed_adapters()), [name for name in sys.modules if '.simulator' in name])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=project_root, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "4 []"
