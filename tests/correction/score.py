"""How the correction loop did on simulated messages with faults of all classes, held against the simulation's truth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Engine

from energycomm.config import Config
from energycomm.correction.analysis import judged_cases
from energycomm.correction.cases import STUCK
from energycomm.correction.library import load_scripts
from energycomm.correction.loop import LoopReport, loop
from energycomm.correction.tickets import tickets
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import connect, reading
from energycomm.eis.store import Store
from energycomm.market.installed import Markets
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.expectation import Truth, read_truth
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.stores import make_store

FAULTS = {"lost-message": 0.15, "wrong-order": 0.1, "grid_operator": 0.3, "product": 0.15, "duplicate-file": 0.02}

_PLACES = (
    "SELECT k.id, e.name, m.path, c.position, k.state FROM kernel_message k "
    "JOIN ch_message c ON c.id = k.ch_message_id JOIN member m ON m.id = c.member_id "
    "JOIN envelope e ON e.id = c.envelope_id WHERE k.version = 1 ORDER BY k.id"
)


class Score(Struct):
    """How the loop did against the truth.

    Attributes:
      messages: Kernel messages of the store.
      stuck: how many were stuck before the loop.
      freeable: how many of them can be freed: what arrived tells their right content.
      freed: how many the loop freed.
      missed: fault -> how many messages could be freed and were not.
      wrongly: ids that were freed and could not be.
      unticketed: ids that are left and in no ticket.
      misclassed: (fault, class of its ticket, true class) -> messages.
      classes: class of a ticket -> messages in it.
      seconds: of the loop.
      rounds: of the loop.
      tickets: how many were made.
    """

    messages: int
    stuck: int
    freeable: int
    freed: int
    missed: dict[str, int]
    wrongly: list[int]
    unticketed: list[int]
    misclassed: dict[str, int]
    classes: dict[str, int]
    seconds: float
    rounds: int
    tickets: int
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether what was lost is found, nothing is freed that nothing tells, and the rest is ticketed rightly."""
        lost = any(fault.startswith("lost-") for fault in self.missed)
        return not (lost or self.wrongly or self.unticketed or self.misclassed)


def is_freeable(line: Truth) -> bool:
    """Whether what arrived tells the right content of a stuck message: the fault says so, whatever scripts exist."""
    return line.outcome.told_by is not None


def stuck_truth(engine: Engine, truth: Iterable[Truth]) -> dict[int, Truth]:
    """Id of each stuck Kernel message -> its line of the truth."""
    known = {(line.envelope, line.member, line.position): line for line in truth}
    with reading(engine) as connection:
        rows = driver_of(connection).rows(_PLACES)
    return {number: known[name, path, at] for number, name, path, at, state in rows if state in STUCK}


def held_against(
    engine: Engine, markets: Markets, truth: dict[int, Truth], report: LoopReport, seconds: float
) -> Score:
    """What the loop did, against the truth of the messages that were stuck before it."""
    left = {one.case.id for one in judged_cases(engine, markets)}
    freed = set(truth) - left
    wanted = {number for number, line in truth.items() if is_freeable(line)}
    made = tickets(Store(engine))
    ticketed = {number: ticket.error_class for ticket in made for number in ticket.messages}
    misclassed = Counter(
        f"{truth[number].outcome.fault} in {given}, is {truth[number].outcome.error_class}"
        for number, given in ticketed.items()
        if number in truth and number in left and given != truth[number].outcome.error_class
    )
    with reading(engine) as connection:
        ((messages,),) = driver_of(connection).rows("SELECT count(*) FROM kernel_message WHERE version = 1")
    return Score(
        messages=messages,
        stuck=len(truth),
        freeable=len(wanted),
        freed=len(freed),
        missed=dict(Counter(str(truth[number].outcome.fault) for number in sorted(wanted - freed)).most_common()),
        wrongly=sorted(freed - wanted),
        unticketed=sorted(left - set(ticketed)),
        misclassed=dict(misclassed),
        classes=dict(Counter(ticketed[number] for number in left if number in ticketed)),
        seconds=round(seconds, 1),
        rounds=max((step.round for step in report.steps), default=0),
        tickets=len(made),
        faults=dict(Counter(str(line.outcome.fault) for line in truth.values()).most_common()),
    )


def processed(market: str, access_points: int, folder: Path, url: str, faults: dict[str, float]) -> Engine:
    """A store with a simulation of a market in it; the truth is in the folder."""
    simulator = load_simulator(market)
    assert simulator is not None, market
    playable = {*simulator.playable(), "duplicate-file"}
    rates = FaultRates({name: rate for name, rate in faults.items() if name in playable})
    simulator.simulate(Scenario(access_points, 6, 7, daily_share=0.05, faults=rates), folder, None)
    engine = connect(make_store(url))
    gateway = Gateway(Config.model_validate({"database": url}), Store(engine))
    total(gateway.inbound.take(gateway.inbound.in_order(sorted((folder / "envelopes").iterdir())), "benchmark"))
    return engine


def run(engine: Engine, folder: Path, watch: Any = lambda _: None) -> Score:
    """The loop on a processed simulation, held against its truth."""
    truth = stuck_truth(engine, read_truth(folder / "truth.jsonl"))
    store = Store(engine)
    url = engine.url.render_as_string(hide_password=False)
    gateway = Gateway(Config.model_validate({"database": url}), store)
    begun = time.monotonic()
    report = loop(
        store,
        gateway.writer,
        load_scripts(gateway.catalogue.rules).values(),
        by="benchmark",
        why="benchmark",
        watch=watch,
    )
    return held_against(engine, gateway.markets, truth, report, time.monotonic() - begun)
