"""The conformance suite: what every adapter owes the gateway, as checks that answer with values.

`energycomm adapter check` runs it on an installed market, whichever package that comes from.
"""
