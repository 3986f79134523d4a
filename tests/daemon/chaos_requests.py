"""The back office under chaos: requests to the markets, handed in until they are stored, and what becomes of them."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adapters.be_atrias.simulator.documents import access_point as belgian_point
from adapters.dk_energinet.simulator.documents import access_point as danish_point
from adapters.fr_enedis.simulator.codes import prm_of
from adapters.nl_edsn.simulator.documents import access_point as dutch_point
from energycomm.config import Config
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import Conflict, is_lost, opened, reading
from energycomm.eis.store import Store
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.pipeline.delivery import deliver
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.outbound import Outbound
from tests.adapters import belgian, dutch
from tests.adapters.test_fr_sge_requests import message as french
from tests.daemon.chaos_markets import MARKETS, Register
from tests.transport.memory import MemoryOut

ROOT = Path(__file__).resolve().parents[2]
NAMES = uuid.UUID("5f0c1c53-1b8e-4c1d-8a51-5b0b9d1f7f10")
FIRST_POINT = 500_000
"""Running number of the first access point that requests are about: none of the simulated lives has it."""
_DANISH = {
    told["kind"]: told for told in json.loads((ROOT / "fixtures" / "requests" / "kinds" / "dk.json").read_bytes())
}
"""Kind -> a request of it."""
ENDED = ("acknowledged", "done", "refused")
"""States in which a market leaves a request that it answered."""


class Ask(NamedTuple):
    """A request that is to be made: its key, our reference, and the message."""

    key: str
    reference: str
    message: KernelMessage


class Fate(NamedTuple):
    """What became of a request."""

    market: str
    kind: str
    state: str
    code: str | None


def asks(number: int, registers: dict[str, Register]) -> list[Ask]:
    """Requests of the markets in turn, each about a point of its own; the markets are told what may come."""
    made = []
    for n in range(number):
        market = MARKETS[n % len(MARKETS)]
        message = _message(market, n)
        reference = str(uuid.uuid5(NAMES, str(n)))
        registers[market].kinds[reference] = (type(message).__name__, n)
        made.append(Ask(f"chaos-{n}", reference, message))
    return made


def _message(market: str, n: int) -> KernelMessage:
    turn, point = n // len(MARKETS), FIRST_POINT + n
    if market == "FR":
        services = ("CommandeAccesDonneesMesures", "CommandeTransmissionDonneesInfraJ", "CommandeServicesAccesDonnees")
        return french(services[turn % 3], access_point=prm_of(point), reference=f"LUM-{n}")
    if market == "NL":
        kind = ("SupplierSwitchRequest", "MeteredDataRequest", "MoveInRequest", "MasterDataRequest")[turn % 4]
        more: dict[str, Any] = {"receiver": dutch.GRID} if kind == "MeteredDataRequest" else {}
        return dutch.request(kind, access_point=dutch_point(point), reference=f"LUM-{n}", consent=True, **more)
    if market == "DK":
        kind = ("SupplierSwitchRequest", "MeteredDataRequest", "MoveInRequest", "SettlementRequest")[turn % 4]
        told = {**_DANISH[kind], "market_type": "request", "reference": f"LUM-{n}"}
        told |= {"access_point": danish_point(point)} if "access_point" in told else {}
        return msgspec.convert(told, KINDS[kind], strict=False)
    kinds = ("MoveInRequest", "MeteredDataRequest", "SupplierSwitchRequest", "CombinedSwitchRequest")
    day = date(2026, 3, 1)
    return belgian.request(
        kinds[turn % 4], access_point=belgian_point(point), reference=f"LUM-{n}", requested_date=day, consent=True
    )


class BackOffice:
    """Hands requests in.

    Args:
      url: address of the database.
      seed: of all chance.

    Attributes:
      submitted: how many are stored.
      repeated: how often one was handed in again, because nobody knew whether it was stored, or by mistake.
      refused: what was not accepted, in words.
    """

    def __init__(self, url: str, seed: int = 1) -> None:
        self._config = Config.model_validate({"database": url})
        self._rng = random.Random(f"back office {seed}")
        self.submitted = self.repeated = 0
        self.refused: list[str] = []

    def hand_in(self, requests: list[Ask], seconds: float, over: threading.Event) -> None:
        """Hand requests in evenly over a time, whatever the database does; a tenth of them twice."""
        with opened(self._config.database_url) as engine:
            outbound, references = _outbound(self._config, Store(engine))
            begun = time.monotonic()
            for number, ask in enumerate(requests):
                over.wait(max(0.0, begun + seconds * number / len(requests) - time.monotonic()))
                for _ in range(1 + (self._rng.random() < 0.1)):
                    self._submit(outbound, references, ask)
                self.submitted += 1

    def _submit(self, outbound: Outbound, references: list[str], ask: Ask) -> None:
        while True:
            references[:] = [ask.reference]
            try:
                found = outbound.submit(ask.message, "chaos", ask.key)
            except Exception as error:
                if not (isinstance(error, Conflict) or is_lost(error)):
                    raise
                time.sleep(0.3)
                continue
            self.repeated += found.repeated
            if found.label != "accepted" or found.reference != ask.reference:
                self.refused.append(f"{ask.key}: {found}")
            return


def _outbound(config: Config, store: Store) -> tuple[Outbound, list[str]]:
    """The way out, and the reference that the next request gets."""
    gateway = Gateway(config, store)
    references: list[str] = []
    adapters = gateway.markets
    return Outbound(store, gateway.engine, adapters, gateway.rules_version_id, lambda: references[0]), references


def hand_in_quietly(config: Config, store: Store, requests: list[Ask]) -> None:
    """Hand requests in and send them, in a store that is left alone."""
    outbound, references = _outbound(config, store)
    for ask in requests:
        references[:] = [ask.reference]
        found = outbound.submit(ask.message, "chaos", ask.key)
        assert found.label == "accepted", (ask, found)
    lines = {market: MemoryOut(market.lower(), market) for market in MARKETS}
    while deliver(store, lines, lambda *_: None, limit=1000)["sent"]:
        pass


def fates(url: str) -> dict[str, Fate]:
    """What became of each request, by its reference."""
    with opened(url) as engine, reading(engine) as connection:
        rows = driver_of(connection).rows("SELECT reference, market, kind, state, answer_code FROM outgoing")
    return {row[0]: Fate(*row[1:]) for row in rows}


def mistakes(found: dict[str, Fate], quiet: dict[str, Fate], registers: dict[str, Register]) -> list[str]:
    """Where requests were lost, sent with other bytes, or ended otherwise than their market said."""
    return list(_mistakes(found, quiet, registers))


def _mistakes(found: dict[str, Fate], quiet: dict[str, Fate], registers: dict[str, Register]) -> Iterator[str]:
    for market, register in registers.items():
        unknown = register.kinds.keys() - register.received.keys()
        yield from (f"{market} never had request {reference}" for reference in sorted(unknown))
        yield from (f"{market} had other bytes under {reference}" for reference in register.altered)
        for reference, decision in register.decided.items():
            fate = found.get(reference)
            if fate is None or (fate.state == "refused") != (decision == "refused") or fate.state not in ENDED:
                yield f"{market} {decision} {reference}, and it is {fate}"
    for reference in found.keys() | quiet.keys():
        if found.get(reference) != quiet.get(reference):
            yield f"request {reference}: {quiet.get(reference)} in peace, and {found.get(reference)}"


def one_answer_each(url: str, registers: dict[str, Register], folder: Path) -> tuple[list[Path], list[str], int]:
    """The answers that came at once, as the store has them.

    A request whose answer was lost on the way is sent again, unless further documents of the market came before: they
    say how it ended, and nobody asks any more.

    Returns:
      Their files, the requests that have not as many as they should, and how many were ended by later documents alone.
    """
    folder.mkdir()
    with opened(url) as engine:
        with reading(engine) as connection:
            driver = driver_of(connection)
            sql = "SELECT name, sha256 FROM envelope WHERE channel IN ('sge', 'edsn')"
            rows = [(row[0], bytes(row[1])) for row in driver.rows(sql)]
            unsent = {row[0] for row in driver.rows("SELECT reference FROM outgoing WHERE sent_at IS NULL")}
        for name, digest in rows:
            with open_raw(engine, digest) as source:
                (folder / name).write_bytes(source.read())
    answered = Counter(name.removeprefix("answer-").rpartition("_")[0] for name, _ in rows)
    wrong = []
    for market in ("FR", "NL"):
        for reference, (kind, _) in registers[market].kinds.items():
            # Dutch queries of metered data go through a folder, and are answered later.
            wanted = 0 if (market, kind) == ("NL", "MeteredDataRequest") or reference in unsent else 1
            if answered[reference] != wanted:
                wrong.append(f"{answered[reference]} answers at once to {reference}, a {kind} to {market}")
    return sorted(folder.iterdir()), wrong, len(unsent)
