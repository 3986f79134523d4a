"""The simulator of the Belgian market: lives as ebIX documents, and a clearing house that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.be_atrias.simulator.answers import BelgianClerk
from adapters.be_atrias.simulator.lives import BelgianWriter
from adapters.be_atrias.simulator.mistakes import UNREACHABLE
from energycomm.simulation.playing import Count, play
from energycomm.simulation.scenario import Scenario


class BelgianSimulator:
    """Satisfies `energycomm.simulation.port.Simulator`."""

    market: str = "BE"
    fault_months: int = 7
    """So long that the supply in which faults are played has two readings."""
    schemes: tuple[str, ...] = ()
    flat_types: tuple[str, ...] = ()
    clerk = BelgianClerk()
    unreachable: Mapping[str, str] = UNREACHABLE

    def playable(self) -> Mapping[str, tuple[str, ...]]:
        """Class of faults or error code -> the mistakes that are played of it."""
        return BelgianWriter.market.playable()

    def simulate(self, scenario: Scenario, folder: Path, encryption: str | None = None) -> Count:
        """Play a scenario; there is no encryption of envelopes in Belgium."""
        return play(scenario, BelgianWriter(), folder)

    def flat_file(self, folder: Path, kind: str, size: int, seed: int) -> Sequence[Path]:
        """Nothing: no message of this market grows to any size."""
        return ()


simulator = BelgianSimulator()
"""What the adapter names as its `simulator`."""
