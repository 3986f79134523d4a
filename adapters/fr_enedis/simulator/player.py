"""The French market as the command line sees any simulated market."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from adapters.fr_enedis.simulator.answers import FrenchClerk
from adapters.fr_enedis.simulator.bulk import write_flat_file
from adapters.fr_enedis.simulator.delivery import Counts
from adapters.fr_enedis.simulator.encryption import SCHEMES, Scheme, envelope_cipher
from adapters.fr_enedis.simulator.market import simulate_market
from adapters.fr_enedis.simulator.mistakes import UNREACHABLE, playable
from adapters.fr_enedis.simulator.stage import FAULT_MONTHS
from energycomm.simulation.scenario import Scenario


class FrenchSimulator:
    """Satisfies `energycomm.simulation.port.Simulator`."""

    market: str = "FR"
    fault_months: int = FAULT_MONTHS
    schemes: tuple[str, ...] = SCHEMES
    flat_types: tuple[str, ...] = ("R151", "C15")
    clerk = FrenchClerk()
    unreachable: Mapping[str, str] = UNREACHABLE

    def playable(self) -> Mapping[str, tuple[str, ...]]:
        """Every class of faults, and the mistakes by error code."""
        return playable()

    def simulate(self, scenario: Scenario, folder: Path, encryption: str | None = None) -> Counts:
        """Play a scenario into zips, encrypted where asked for.

        Args:
          scenario: what to play.
          folder: made when it does not exist.
          encryption: one of `schemes`; the key is written beside the envelopes, as a configuration that opens them.
        """
        scheme: Scheme | None = next((known for known in get_args(Scheme) if known == encryption), None)
        cipher = None if scheme is None else envelope_cipher(scheme, scenario.seed, folder)
        return simulate_market(scenario, folder, cipher)

    def flat_file(self, folder: Path, kind: str, size: int, seed: int) -> Sequence[Path]:
        """One plain file, and what has to come before it; the last one is the big one.

        Args:
          folder: made when it does not exist.
          kind: C15, entries of ever new points; R151, daily indexes of points whose entries are in a file beside it.
          size: in bytes, about.
          seed: of all chance.
        """
        return write_flat_file(folder, kind, size, seed)


simulator = FrenchSimulator()
"""What the adapter names as its `simulator`."""
