"""The judgement on a run of chaos: the store held against one that was given the same and left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine

from energycomm.config import Config
from energycomm.eis import migrations
from energycomm.eis.bulk import driver_of
from energycomm.eis.comparison import canonical, differences
from energycomm.eis.database import opened, reading
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from tests.daemon.chaos_markets import Envelope, Markets
from tests.daemon.chaos_requests import Ask, Fate, fates, hand_in_quietly


class Given(NamedTuple):
    """What the daemon was given.

    Attributes:
      folder: of the run.
      simulated: the envelopes about simulated lives.
      asks: the requests that were handed in.
      markets: who know what else they sent.
    """

    folder: Path
    simulated: Sequence[Path]
    asks: list[Ask]
    markets: Markets

    def later(self) -> list[Envelope]:
        """The documents of answers that did not come at once."""
        simulated = {Envelope(path.name, path.read_bytes()).sha256 for path in self.simulated}
        return [envelope for digest, envelope in self.markets.sent.items() if digest not in simulated]


@dataclass
class Found:
    """What is in the store, and where it differs."""

    differences: list[str] = field(default_factory=list)
    ch_messages: int = 0
    kernel_messages: int = 0
    told: int = 0
    told_twice_or_more: int = 0


def in_peace(given: Given, at_once: Sequence[Path]) -> tuple[dict[str, Any], dict[str, Fate]]:
    """The meaning of a store that is given the same and left alone, and the ends of its requests.

    Args:
      given: what the daemon was given.
      at_once: the answers that came with the sending.
    """
    folder = given.folder / "later"
    later = []
    for number, envelope in enumerate(given.later()):
        place = folder / str(number)
        place.mkdir(parents=True)
        later.append(place / envelope.name)
        later[-1].write_bytes(envelope.content)
    url = f"sqlite:///{given.folder}/peace.db"
    config = Config.model_validate({"database": url})
    with opened(url) as engine:
        migrations.upgrade(engine)
        hand_in_quietly(config, Store(engine), given.asks)
        inbound = Gateway(config, Store(engine)).inbound
        total(inbound.take(inbound.in_order(given.simulated), "folder"))
        total(inbound.take([*at_once, *later], "folder"))
        return canonical(engine, carriers=False), fates(url)


def compare(url: str, quiet: Mapping[str, Any], told: Path) -> Found:
    """Where the store differs from the quiet one, and what nobody was told.

    Args:
      url: address of the store.
      quiet: meaning of the quiet one.
      told: folder of what the back office was told.
    """
    found = Found()
    with opened(url) as engine:
        meaning = canonical(engine, carriers=False)  # the channels of chaos give files names of their own
        with reading(engine) as connection:
            driver = driver_of(connection)
            rows = driver.rows("SELECT id, attempts FROM outbox WHERE state = 'sent'")
            found.ch_messages = driver.rows("SELECT count(*) FROM ch_message")[0][0]
            found.kernel_messages = driver.rows("SELECT count(*) FROM kernel_message")[0][0]
            twice = "SELECT sha256 FROM envelope WHERE duplicate_of IS NULL GROUP BY sha256 HAVING count(*) > 1"
            found.differences += [f"twice: {row[0].hex()}" for row in driver.rows(twice)]
        found.differences += _untold(engine, quiet["notifications"])
    # Those of the store in peace are pending, ours are sent.
    found.differences += differences({**quiet, "notifications": {}}, {**meaning, "notifications": {}})
    files = {path.name for path in told.iterdir()}
    wanted = {f"energycomm-{row[0]}.json" for row in rows}
    found.differences += [f"not told: {name}" for name in sorted(wanted - files)]
    found.told, found.told_twice_or_more = len(wanted), sum(row[1] > 1 for row in rows)
    return found


def _untold(engine: Engine, wanted: Mapping[str, list[str]]) -> list[str]:
    """What a store in peace tells about arrivals, and this one did not."""
    with reading(engine) as connection:
        rows = driver_of(connection).rows(
            "SELECT c.identity, k.position, k.version, o.event FROM outbox o JOIN kernel_message k "
            "ON k.id = o.message_id JOIN ch_message c ON c.id = k.ch_message_id WHERE o.state = 'sent'"
        )
    told = {f"{row[0].hex()}/{row[1]}{'' if row[2] == 1 else f'/{row[2]}'} {row[3]}" for row in rows}
    about_arrivals = (
        f"{key} {event}" for key, events in wanted.items() if not key.startswith("injected/") for event in events
    )
    return [f"nobody was told: {line}" for line in about_arrivals if line not in told]
