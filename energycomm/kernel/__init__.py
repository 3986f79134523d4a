"""Kernel messages: the generic energy messages, the same for all markets.

This package imports nothing else of EnergyComm: every other part speaks in its words.
"""
