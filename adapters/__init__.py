"""The market adapters of EnergyComm, one package a market, and what several of them share."""
