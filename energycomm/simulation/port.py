"""What a market's simulator is. Its market's adapter says where it is.

Simulators are loaded when they are asked for: the command line starts without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from energycomm.market.installed import installed_adapters
from energycomm.simulation.answering import Clerk
from energycomm.simulation.scenario import Scenario


class Written(Protocol):
    """What a simulation wrote."""

    envelopes: int
    messages: int
    bytes: int
    by_type: dict[str, int]


class Simulator(Protocol):
    """A market's simulator."""

    market: str
    """Code of the market: FR."""
    fault_months: int
    """Months that a simulation needs for its faults to be played."""
    schemes: tuple[str, ...]
    """Encryptions that the market uses for its envelopes."""
    flat_types: tuple[str, ...]
    """Message types of which one plain file of any size can be written, the usual one first."""
    clerk: Clerk
    """Who answers requests in this market."""
    unreachable: Mapping[str, str]
    """Error code of a rule that no mistake shows -> why no message of the simulated market can break it."""

    def playable(self) -> Mapping[str, tuple[str, ...]]:
        """Class of faults or error code -> the mistakes that are played of it."""

    def simulate(self, scenario: Scenario, folder: Path, encryption: str | None = None) -> Written:
        """Simulate a scenario: envelopes in ``envelopes/`` of the folder, and ``truth.jsonl``.

        Args:
          scenario: what to play.
          folder: made when it does not exist.
          encryption: one of `schemes`.

        Raises:
          FileExistsError: the folder holds the envelopes of an earlier simulation.
        """

    def flat_file(self, folder: Path, kind: str, size: int, seed: int) -> Sequence[Path]:
        """Write one plain file of a type of `flat_types`, of about so many bytes, and what has to come before it."""


def simulated_markets() -> dict[str, str]:
    """Market in lower case -> where its simulator is, of those that have one, in order; no simulator is imported."""
    found = {market.lower(): adapter.simulator for market, adapter in installed_adapters().items()}
    return {market: place for market, place in found.items() if place is not None}


def load_simulator(market: str) -> Simulator | None:
    """The simulator of a market, None where it has none."""
    place = simulated_markets().get(market.lower())
    if place is None:
        return None
    loaded: Simulator = resolve_name(place)
    return loaded
