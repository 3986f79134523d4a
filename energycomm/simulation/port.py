"""What a market's simulator is. Its market's adapter says where it is.

Simulators are loaded when they are asked for: the command line starts without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TypeAlias

from energycomm.market.installed import installed_adapters
from energycomm.simulation.answering import Clerk
from energycomm.simulation.playing import Count, Play, Seal, play
from energycomm.simulation.scenario import Scenario

Cipher: TypeAlias = Callable[[str, int, Path], Seal]
"""What encrypts envelopes: of a scheme, a seed and the folder that its key is written into."""
FlatFile: TypeAlias = Callable[[Path, int, int], Sequence[Path]]
"""Writes one plain file into a folder, of about so many bytes, by a seed, and what has to come before it."""


@dataclass(frozen=True, slots=True)
class Simulator:
    """A market's simulator.

    Attributes:
      market: code of the market: FR.
      play: plays a scenario in the market.
      clerk: who answers requests in this market.
      unreachable: error code of a rule that no mistake shows -> why no message of the simulated market can break it.
      fault_months: months that a simulation needs for its faults to be played.
      schemes: encryptions that the market uses for its envelopes, by `cipher`.
      follows: other fluxes follow those of daily measures from a day that the scenario names.
      flat_types: message types of which one plain file of any size can be written, the usual one first.
    """

    market: str
    play: type[Play]
    clerk: Clerk
    unreachable: Mapping[str, str]
    fault_months: int
    schemes: tuple[str, ...] = ()
    cipher: Cipher | None = None
    flat_types: Mapping[str, FlatFile] = field(default_factory=dict)
    follows: bool = False

    def playable(self) -> Mapping[str, tuple[str, ...]]:
        """Class of faults or error code -> the mistakes that are played of it."""
        return self.play.market.playable()

    def simulate(self, scenario: Scenario, folder: Path, encryption: str | None = None) -> Count:
        """Play a scenario: envelopes under ``envelopes/`` of the folder, ``truth.jsonl`` beside them.

        Args:
          scenario: what to play.
          folder: made when it does not exist.
          encryption: one of `schemes`; the key is written beside the envelopes, with a configuration that opens them.

        Raises:
          FileExistsError: the folder holds the envelopes of an earlier simulation.
        """
        seal = self.cipher(encryption, scenario.seed, folder) if self.cipher and encryption else None
        return play(scenario, self.play, folder, seal)

    def flat_file(self, folder: Path, kind: str, size: int, seed: int) -> Sequence[Path]:
        """Write one plain file of a type of `flat_types`, of about so many bytes, and what has to come before it."""
        return self.flat_types[kind](folder, size, seed)


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
