"""The loop frees what the simulator says can be freed, and tickets the rest with the right error class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from adapters.fr_enedis.simulator import simulator
from energycomm.correction.analysis import judged_cases
from energycomm.correction.library import load_scripts
from energycomm.correction.loop import loop
from energycomm.correction.tickets import tickets
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.engine.parallel import ParallelEngine
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.batch import BatchWriter
from energycomm.simulation.expectation import Truth, read_truth
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.scenario import Scenario
from tests.correction.score import FAULTS as FAULTS_OF_ALL
from tests.correction.score import is_freeable, processed, run
from tests.pipeline.desk import shipped_rules
from tests.simulation.conftest import process

FAULTS = FaultRates({"lost-message": 0.3, "wrong-order": 0.1, "grid_operator": 0.35, "product": 0.15})

_PLACES = (
    "SELECT k.id, e.name, m.path, c.position, k.kind, k.state FROM kernel_message k "
    "JOIN ch_message c ON c.id = k.ch_message_id JOIN member m ON m.id = c.member_id "
    "JOIN envelope e ON e.id = c.envelope_id WHERE k.version = 1 ORDER BY k.id"
)


@pytest.fixture
def simulated(tmp_path: Path, database_url: str) -> Iterator[tuple[Engine, dict[int, Truth]]]:
    """A store with messages of every class of faults; the truth of each Kernel message that is stuck."""
    folder = tmp_path / "market"
    simulator.simulate(Scenario(32, 6, 5, daily_share=0.05, faults=FAULTS), folder)
    engine = process(folder, database_url)
    truth = {(line.envelope, line.member, line.position): line for line in read_truth(folder / "truth.jsonl")}
    with reading(engine) as connection:
        rows = driver_of(connection).rows(_PLACES)
    stuck = {
        number: truth[name, path, position]
        for number, name, path, position, _, state in rows
        if state in ("rejected", "quarantined", "engine_error")
    }
    yield engine, stuck
    engine.dispose()


def test_the_loop_frees_what_can_be_freed_and_tickets_the_rest(simulated: tuple[Engine, dict[int, Truth]]) -> None:
    """Nothing that only the market can put right is freed, nothing that was lost stays stuck; again changes nothing."""
    engine, truth = simulated
    store = Store(engine)
    writer = BatchWriter(ParallelEngine(shipped_rules()), 1, 30, installed_adapters())
    assert {line.outcome.error_class for line in truth.values()} >= {"missing", "grid_operator", "product"}
    report = loop(store, writer, load_scripts(shipped_rules().rules).values(), by="test", why="nightly")
    left = {one.case.id for one in judged_cases(engine, writer.markets)}
    freed = set(truth) - left
    assert freed == {number for number, line in truth.items() if (line.outcome.fault or "").startswith("lost-")}
    assert freed < {number for number, line in truth.items() if is_freeable(line)}
    assert report.freed == len(freed)
    made = tickets(store)
    assert {number for ticket in made for number in ticket.messages} == left
    wrong = [
        (number, ticket.error_class, truth[number].outcome.error_class, ticket.codes)
        for ticket in made
        for number in ticket.messages
        if ticket.error_class != truth[number].outcome.error_class
    ]
    assert wrong == []
    again = loop(store, writer, load_scripts(shipped_rules().rules).values(), by="test", why="nightly")
    assert (again.steps, again.freed, again.tickets, again.left) == ([], 0, [], len(left))


@pytest.mark.thorough
@pytest.mark.parametrize("market", ["nl", "be"])
def test_the_loop_does_as_the_truth_says_in_the_other_markets(tmp_path: Path, market: str) -> None:
    """Starts and ends are deduced in each market's own words; what is left is ticketed under the right class."""
    folder = tmp_path / "sim"
    engine = processed(market, 36, folder, f"sqlite:///{tmp_path}/eis.db", FAULTS_OF_ALL)
    score = run(engine, folder)
    engine.dispose()
    assert score.freed > 10
    assert score.stuck > score.freed
    assert score.freed < score.freeable < score.stuck
    assert not any(fault.startswith("lost-") for fault in score.missed)
    assert (score.wrongly, score.unticketed, score.misclassed) == ([], [], {})


@pytest.mark.thorough
def test_what_waits_for_a_refused_start_of_its_own_message_has_the_class_of_the_refusal(tmp_path: Path) -> None:
    """A start of access brings the point, the terms and the customer too; none of them is missing anything."""
    faults = dict.fromkeys(("BE-P04", "BE-S01", "BE-S04", "BE-S06"), 0.2)
    engine = processed("be", 40, tmp_path / "sim", f"sqlite:///{tmp_path}/eis.db", faults)
    score = run(engine, tmp_path / "sim")
    engine.dispose()
    assert set(score.faults) == set(faults)
    assert (score.unticketed, score.misclassed) == ([], {})


@pytest.mark.slow
def test_of_a_hundred_thousand_messages_the_loop_frees_what_the_truth_says(tmp_path: Path) -> None:
    """Faults of all classes; the rest is ticketed under the right class."""
    folder = tmp_path / "sim"
    engine = processed("fr", 2000, folder, f"sqlite:///{tmp_path}/eis.db", FAULTS_OF_ALL)
    score = run(engine, folder)
    engine.dispose()
    assert score.messages > 100_000
    assert score.freed > 1000
    assert score.freed < score.freeable < score.stuck
    assert not any(fault.startswith("lost-") for fault in score.missed)
    assert (score.wrongly, score.unticketed, score.misclassed) == ([], [], {})
