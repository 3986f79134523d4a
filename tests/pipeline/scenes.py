"""What is delivered in many orders: files of every market with mistakes, digested once, cut into scenes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Transaction
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared, Tally
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.markets import CODES
from tests.stores import make_store

ROOT = Path(__file__).parents[2]
FAULTS = FaultRates(
    {"lost-message": 0.15, "wrong-order": 0.2, "grid_operator": 0.3, "product": 0.1, "duplicate-file": 0.2}
)
SMALLEST = 25
"""CH messages that a scene has at least, while there are more."""
MOST = 60
"""CH messages of one access point that are told at most: the first that were written."""


class Scene(NamedTuple):
    """CH messages of one market about a few access points, in the order in which they were written.

    Attributes:
      name: of the scene.
      market: ISO code.
      told: the CH messages with their XML; some of them several times, under other headers.
    """

    name: str
    market: str
    told: Prepared


class Source(NamedTuple):
    """Files of one market."""

    name: str
    files: list[Path]


def sources(folder: Path, seed: int) -> list[Source]:
    """The fixtures of each market, and a small simulation with mistakes and repeated files.

    Args:
      folder: empty; the simulated files are written here.
      seed: of the simulations.
    """
    found = []
    for market in CODES:
        files = sorted(path for path in (ROOT / "fixtures" / market).iterdir() if path.is_file())
        found.append(Source(f"{market} fixtures", files))
        simulator = load_simulator(market)
        assert simulator is not None
        place = folder / market
        simulator.simulate(Scenario(8, 6, seed, daily_share=0.1, faults=FAULTS), place)
        found.append(Source(f"{market} simulated", sorted((place / "envelopes").iterdir())))
    return found


class _Recording(BatchWriter):
    """Keeps what it is given to store."""

    seen: list[tuple[str, Prepared]]

    def store_parts(self, tx: StoreTransaction, parts: Sequence[tuple[Origin, Prepared]], now: int) -> list[Tally]:
        """Judge and store a batch, and keep it."""
        self.seen += [(origin.market, batch) for origin, batch in parts]
        return super().store_parts(tx, parts, now)


def scenes(source: Source, folder: Path, chance: random.Random) -> list[Scene]:
    """The scenes of some files: their CH messages by access point, with repetitions.

    Args:
      source: the files.
      folder: for the store that they are digested into.
      chance: says what is repeated under which header.
    """
    url = f"sqlite:///{folder / 'digested.db'}"
    with opened(make_store(url)) as engine:
        gateway = Gateway(Config.model_validate({"database": url}), Store(engine))
        writer = gateway.writer
        recording = _Recording(writer.engine, writer.rules_version_id, 30, writer.markets)
        recording.seen = []
        gateway.inbound.writer = recording
        total(gateway.inbound.take(gateway.inbound.in_order(source.files), "test"))
    (folder / "digested.db").unlink()
    by_point: dict[str, list[Transaction]] = {}
    market = recording.seen[0][0]
    for _, batch in recording.seen:
        for transaction, refusals in zip(batch.transactions, batch.refusals, strict=True):
            told = structs.replace(transaction, refusals=refusals)
            by_point.setdefault(transaction.access_point or "", []).append(told)
    found: list[Scene] = []
    held: list[Transaction] = []
    for transactions in by_point.values():
        held += transactions[:MOST]
        if len(held) >= SMALLEST:
            found.append(_scene(f"{source.name} {len(found) + 1}", market, held, recording, chance))
            held = []
    if held:
        found.append(_scene(f"{source.name} {len(found) + 1}", market, held, recording, chance))
    return found


def _scene(
    name: str, market: str, transactions: list[Transaction], writer: BatchWriter, chance: random.Random
) -> Scene:
    repeated = [again(one, chance) for one in transactions for _ in range(chance.choice((0, 0, 0, 1, 1, 3)))]
    return Scene(name, market, writer.prepare([*transactions, *repeated]))


def again(transaction: Transaction, chance: random.Random) -> Transaction:
    """The same content under another header: written earlier or later, to another party, by another version, with
    something noticed, or so that it is refused."""
    what = chance.random()
    if what < 0.2:
        return transaction
    if what < 0.3:
        refused = Refusal(code="VERSION_UNKNOWN", path="header", value=str(chance.randrange(2)))
        return structs.replace(transaction, messages=(), refusals=(refused,))
    seconds = chance.choice((-86_400, -86_400, -3600, 0, 0, 7, 86_400))
    header = {"receiver": chance.choice(("17XELSEWHERE0001", None)), "schema_version": chance.choice(("1.9", "2"))}
    messages = tuple(
        structs.replace(message, created=message.created + timedelta(seconds=seconds), **header)
        for message in transaction.messages
    )
    notes = (Refusal(code="NOTE_TEST", value=str(chance.randrange(2))),) if what > 0.7 else transaction.notes
    return structs.replace(transaction, messages=messages, notes=notes)
