"""The simulator of the Belgian market: lives as ebIX documents, and a clearing house that answers."""

from __future__ import annotations

from adapters.be_atrias.simulator.answers import BelgianClerk
from adapters.be_atrias.simulator.lives import BelgianPlay
from adapters.be_atrias.simulator.mistakes import UNREACHABLE
from energycomm.simulation.port import Simulator

simulator = Simulator("BE", BelgianPlay, BelgianClerk(), UNREACHABLE, fault_months=7)
"""What the adapter names as its `simulator`; in so many months the supply in which faults are played has two
readings."""
