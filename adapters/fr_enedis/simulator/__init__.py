"""The simulator of the French market: writes what Enedis would send about simulated lives of access points."""

from __future__ import annotations

from adapters.fr_enedis.simulator.bulk import write_flat_file
from adapters.fr_enedis.simulator.encryption import SCHEMES, envelope_cipher
from adapters.fr_enedis.simulator.market import simulate_market
from adapters.fr_enedis.simulator.mistakes import playable
from adapters.fr_enedis.simulator.stage import FAULT_MONTHS

__all__ = ["FAULT_MONTHS", "SCHEMES", "envelope_cipher", "playable", "simulate_market", "write_flat_file"]
