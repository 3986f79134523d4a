"""Simulated lives with faults, judged by the Kernel in an EIS of their own: what there is to learn before a market is
live, and the mistakes that are too rare to wait for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from energycomm.commands.process import run
from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.simulation.faults import CLASSES, FaultRates
from energycomm.simulation.port import load_simulator, simulated_markets
from energycomm.simulation.scenario import Scenario

SHARES = {"grid_operator": 0.7, "product": 0.08, "lost-message": 0.06, "wrong-order": 0.08}
"""Share of the access points that each class of faults befalls; the grid operator makes one mistake for every rule."""


@dataclass(frozen=True)
class Lives:
    """What is simulated.

    Attributes:
      markets: markets, in lower case; empty: every one that has a simulator.
      access_points: how many in each market.
      months: for how long.
      first: first day.
      seed: of all chance.
    """

    markets: tuple[str, ...] = ()
    access_points: int = 400
    months: int = 14
    first: date = date(2024, 9, 1)
    seed: int = 1

    def market_seed(self, market: str) -> int:
        """A seed of its own for every market, so that none repeats another's access points."""
        return int.from_bytes(hashlib.blake2b(f"{market} {self.seed}".encode(), digest_size=4).digest())


@contextmanager
def simulated_store(config: Config, lives: Lives) -> Iterator[Store]:
    """An EIS with simulated lives in it, gone at the end of the block.

    Args:
      config: the configuration; its rules judge. Its own database is not touched.
      lives: what to simulate.
    """
    with temporary_gateway(config) as (gateway, folder):
        for market in lives.markets or tuple(simulated_markets()):
            simulator = load_simulator(market)
            if simulator is None:
                continue
            playable = {*simulator.playable(), "duplicate-file"}
            rates = FaultRates({kind: SHARES[kind] for kind in CLASSES if kind in playable and kind in SHARES})
            months = max(lives.months, simulator.fault_months)
            scenario = Scenario(
                lives.access_points, months, lives.market_seed(market), lives.first, daily_share=0.02, faults=rates
            )
            simulator.simulate(scenario, folder / market)
            run(gateway, [folder / market / "envelopes"], show=False)
        yield gateway.store


@contextmanager
def temporary_gateway(config: Config) -> Iterator[tuple[Gateway, Path]]:
    """A gateway with an EIS of its own, and a folder beside it; both are gone at the end of the block.

    Args:
      config: the configuration; its rules judge. Its own database is not touched.
    """
    with TemporaryDirectory(prefix="energycomm-lives-") as name:
        folder = Path(name)
        settings = config.model_copy(update={"database": SecretStr(f"sqlite:///{folder / 'lives.db'}")})
        settings._origins = {}
        with opened(settings.database_url) as engine:
            migrations.upgrade(engine)
            yield Gateway(settings, Store(engine)), folder
