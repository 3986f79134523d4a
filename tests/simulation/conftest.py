"""Simulations that several tests look at, played once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from sqlalchemy import Engine

from adapters.fr_enedis.simulator import simulator
from energycomm.config import Config
from energycomm.eis.database import connect
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.scenario import Scenario
from tests.stores import make_store

EVERYTHING = FaultRates(
    {"grid_operator": 0.70, "product": 0.20, "lost-message": 0.05, "wrong-order": 0.05, "duplicate-file": 0.03}
)
"""Faults of every kind, so often that each mistake is played."""

MIXED = FaultRates(
    {"lost-message": 0.2, "wrong-order": 0.2, "grid_operator": 0.2, "product": 0.1, "duplicate-file": 0.1}
)


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulation with every mistake there is."""
    folder = tmp_path_factory.mktemp("everything")
    simulator.simulate(Scenario(200, 6, 13, daily_share=0.0, faults=EVERYTHING), folder)
    return folder


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulation with some faults of every class."""
    folder = tmp_path_factory.mktemp("mixed")
    simulator.simulate(Scenario(20, 6, 5, daily_share=0.05, faults=MIXED), folder)
    return folder


def process(
    folder: Path, url: str, *, engine: str = "parallel", shuffle: int | None = None, **settings: object
) -> Engine:
    """Process the envelopes of a simulation into a new EIS.

    Args:
      folder: of the simulation.
      url: an empty database.
      engine: the rules engine.
      shuffle: seed of the order of arrival; the market's own order when None.
      settings: further settings of the gateway.
    """
    database = connect(make_store(url))
    gateway = Gateway(Config.model_validate({"database": url, "engine": engine, **settings}), Store(database))
    files = sorted((folder / "envelopes").iterdir())
    if shuffle is None:
        files = gateway.inbound.in_order(files)
    else:
        random.Random(shuffle).shuffle(files)
    total(gateway.inbound.take(files, "test"))
    return database
