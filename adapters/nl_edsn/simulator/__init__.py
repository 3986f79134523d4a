"""The simulator of the Dutch market: lives as EDSN's lists and P4 results, and a register that answers."""

from __future__ import annotations

from adapters.nl_edsn.simulator.answers import DutchClerk
from adapters.nl_edsn.simulator.lives import DutchPlay
from adapters.nl_edsn.simulator.mistakes import UNREACHABLE
from energycomm.simulation.port import Simulator

simulator = Simulator("NL", DutchPlay, DutchClerk(), UNREACHABLE, fault_months=7)
"""What the adapter names as its `simulator`; in so many months the supply in which faults are played has two
readings."""
