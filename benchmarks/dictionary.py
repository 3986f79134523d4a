"""Trains a dictionary for the texts of the store (`energycomm.eis.packing`) on what the simulators of the markets send.

A dictionary that was shipped is never changed: stores need it to be read. A new one gets the next number.

Example: python -m benchmarks.dictionary energycomm/eis/dictionaries/1.zstd
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import zstandard

from benchmarks.whole_path import fresh_gateway
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.pipeline.progress import total
from energycomm.simulation.port import load_simulator, simulated_markets
from energycomm.simulation.scenario import Scenario

SIZE = 65_536
"""Bytes of a dictionary. Twice as many save 1 % more, half as many lose 9 %."""
OF_A_KIND = 300
"""Texts of each market and kind, so that rare kinds have their say."""
BEGINNING = 4_000
"""Characters of a text that are looked at: a curve goes on as it begins."""

JSON = (("reading", "registers"), ("series", "positions"), ("volume", "volumes"))
"""Columns of domain tables that hold parts of messages."""


def samples(scenario: Scenario, seed: int) -> list[bytes]:
    """Kernel XML and the JSON of domain rows, of every simulated market and every kind."""
    found: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory(prefix="energycomm-dictionary-") as name:
        for market in simulated_markets():
            simulator = load_simulator(market)
            assert simulator is not None
            folder = Path(name) / market
            simulator.simulate(scenario, folder)
            with fresh_gateway(f"sqlite:///{name}/{market}.db") as gateway:
                total(gateway.inbound.take(sorted((folder / "envelopes").iterdir()), "training"))
                with reading(gateway.store.engine) as connection:
                    for kind, text in _texts(driver_of(connection)):
                        found.setdefault(f"{market} {kind}", []).append(text[:BEGINNING].encode())
    chance = random.Random(seed)
    for texts in found.values():
        chance.shuffle(texts)
    return [text for _, texts in sorted(found.items()) for text in texts[:OF_A_KIND]]


def _texts(driver: Driver) -> Iterator[tuple[str, str]]:
    for kind, number, xml in driver.rows("SELECT kind, id, xml FROM kernel_message ORDER BY id"):
        yield kind, driver.vault.text("kernel_message", number, xml)
    for table, column in JSON:
        for (text,) in driver.rows(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id"):
            yield table, text


if __name__ == "__main__":
    trained = zstandard.train_dictionary(SIZE, [*samples(Scenario(60, 6, 7), 1)])
    Path(sys.argv[1]).write_bytes(trained.as_bytes())
