"""The simulator of the Danish market: lives in the hub's documents of CIM and ebIX, and a hub that answers."""

from __future__ import annotations

from adapters.dk_energinet.simulator.answers import DanishClerk
from adapters.dk_energinet.simulator.lives import DanishPlay
from adapters.dk_energinet.simulator.mistakes import UNREACHABLE
from energycomm.simulation.port import Simulator

simulator = Simulator("DK", DanishPlay, DanishClerk(), UNREACHABLE, fault_months=8)
"""What the adapter names as its `simulator`; in so many months the supply in which faults are played is measured for a
whole month."""
