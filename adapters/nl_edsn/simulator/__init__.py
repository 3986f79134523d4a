"""The simulator of the Dutch market: lives as EDSN's lists and P4 results, and a register that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.nl_edsn.simulator.answers import DutchClerk
from adapters.nl_edsn.simulator.lives import DutchWriter
from adapters.nl_edsn.simulator.mistakes import UNREACHABLE
from energycomm.simulation.playing import Count, play
from energycomm.simulation.scenario import Scenario


class DutchSimulator:
    """Satisfies `energycomm.simulation.port.Simulator`."""

    market: str = "NL"
    fault_months: int = 7
    """So long that the supply in which faults are played has two readings."""
    schemes: tuple[str, ...] = ()
    flat_types: tuple[str, ...] = ()
    clerk = DutchClerk()
    unreachable: Mapping[str, str] = UNREACHABLE

    def playable(self) -> Mapping[str, tuple[str, ...]]:
        """Class of faults or error code -> the mistakes that are played of it."""
        return DutchWriter.market.playable()

    def simulate(self, scenario: Scenario, folder: Path, encryption: str | None = None) -> Count:
        """Play a scenario; there is no encryption of envelopes in the Netherlands."""
        return play(scenario, DutchWriter(), folder)

    def flat_file(self, folder: Path, kind: str, size: int, seed: int) -> Sequence[Path]:
        """Nothing: no message of this market grows to any size."""
        return ()


simulator = DutchSimulator()
"""What the adapter names as its `simulator`."""
