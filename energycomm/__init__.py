"""EnergyComm: the gateway between an energy supplier and the clearing houses of its markets."""

__version__ = "0.2.0"
