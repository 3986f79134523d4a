"""Trains a dictionary for what the store packs (`energycomm.eis.packing`) on what the simulators of the markets send.

A dictionary that was shipped is never changed: stores need it to be read. A new one gets the next number.

Example: python -m benchmarks.dictionary texts energycomm/eis/dictionaries/1.zstd
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

from benchmarks.whole_path import fresh_gateway
from energycomm.eis.arrays import array_content
from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.domain import kept_fields
from energycomm.kernel.codec import decode
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.progress import total
from energycomm.pipeline.state import load_state
from energycomm.simulation.port import load_simulator, simulated_markets
from energycomm.simulation.scenario import Scenario

SIZES = {"texts": 65_536, "states": 32_768, "parts": 16_384}
"""Bytes of a dictionary. For texts twice as many save 1 % more, half as many lose 9 %."""
OF_A_KIND = 300
"""Texts of each market and kind, so that rare kinds have their say."""
LOOKS = 20
"""How often the states of access points are looked at while envelopes arrive."""
BEGINNING = 4_000
"""Characters of a text that are looked at: a curve goes on as it begins."""


def samples(what: str, scenario: Scenario, seed: int) -> list[bytes]:
    """Texts (Kernel XML), parts of messages or states of access points, of every simulated market."""
    found: dict[str, set[bytes]] = {}
    with tempfile.TemporaryDirectory(prefix="energycomm-dictionary-") as name:
        for market in simulated_markets():
            simulator = load_simulator(market)
            assert simulator is not None
            folder = Path(name) / market
            simulator.simulate(scenario, folder)
            files = sorted((folder / "envelopes").iterdir())
            step = len(files) // LOOKS + 1 if what == "states" else len(files)
            with fresh_gateway(f"sqlite:///{name}/{market}.db") as gateway:
                for start in range(0, len(files), step):
                    total(gateway.inbound.take(files[start : start + step], "training"))
                    with reading(gateway.store.engine) as connection:
                        for kind, content in SOURCES[what](driver_of(connection)):
                            found.setdefault(f"{market} {kind}", set()).add(content)
    chance = random.Random(seed)
    chosen = []
    for _, several in sorted(found.items()):
        ordered = sorted(several)
        chance.shuffle(ordered)
        chosen += ordered if what == "states" else ordered[:OF_A_KIND]
    return chosen


def _texts(driver: Driver) -> Iterator[tuple[str, bytes]]:
    for kind, number, xml in driver.rows("SELECT kind, id, xml FROM kernel_message ORDER BY id"):
        yield kind, driver.vault.text("kernel_message", number, xml)[:BEGINNING].encode()


def _parts(driver: Driver) -> Iterator[tuple[str, bytes]]:
    for kind, number, xml in driver.rows("SELECT kind, id, xml FROM kernel_message ORDER BY id"):
        message = decode(driver.vault.text("kernel_message", number, xml))
        for one in () if isinstance(message, Refusal) else kept_fields(type(message)):
            if one.scalar is None and (parts := getattr(message, one.field)):
                yield f"{kind} {one.column}", array_content(parts)


def _states(driver: Driver) -> Iterator[tuple[str, bytes]]:
    for (state,) in driver.rows("SELECT state FROM access_point WHERE length(state) > 0"):
        yield "state", msgspec.msgpack.encode(load_state(state))


SOURCES = {"texts": _texts, "states": _states, "parts": _parts}

if __name__ == "__main__":
    what, path = sys.argv[1:]
    trained = zstandard.train_dictionary(SIZES[what], [*samples(what, Scenario(60, 6, 7), 1)])
    Path(path).write_bytes(trained.as_bytes())
