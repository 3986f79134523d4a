"""The rules of EnergyComm: files that analysts write, one folder a market, and the predicates they may call."""
