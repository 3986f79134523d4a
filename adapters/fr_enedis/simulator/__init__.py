"""The simulator of the French market: writes what Enedis would send about simulated lives of access points."""

from __future__ import annotations

from adapters.fr_enedis.simulator.answers import FrenchClerk
from adapters.fr_enedis.simulator.bulk import daily_file, entries_file
from adapters.fr_enedis.simulator.encryption import SCHEMES, envelope_cipher
from adapters.fr_enedis.simulator.lives import FrenchPlay
from adapters.fr_enedis.simulator.mistakes import UNREACHABLE
from energycomm.simulation.port import Simulator

simulator = Simulator(
    "FR",
    FrenchPlay,
    FrenchClerk(),
    UNREACHABLE,
    fault_months=6,
    schemes=SCHEMES,
    cipher=envelope_cipher,
    flat_types={"R151": daily_file, "C15": entries_file},
    follows=True,
)
"""What the adapter names as its `simulator`; in so many months faults can be told from each other."""
