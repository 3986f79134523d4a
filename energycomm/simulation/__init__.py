"""Believable lives of access points, the faults of their messages, and the truth of what should become of them.

This package knows no country: a life is told in the Kernel's words, and the simulator of a market (in its adapter's
folder) writes it down as that market's envelopes.
"""
