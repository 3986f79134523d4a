"""Realistic lives of access points, the faults of their messages, and the expected outcome of each.

This package knows no country: a life is told in the Kernel's words, and the simulator of a market (in its adapter's
folder) writes it down as that market's envelopes.
"""
