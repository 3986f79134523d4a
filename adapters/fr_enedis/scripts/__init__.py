"""Correction scripts that EnergyComm ships; each file holds one."""
