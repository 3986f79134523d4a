"""The markets of this program, as tests that go through all of them ask for them."""

from __future__ import annotations

from typing import Final

from energycomm.market.installed import installed_adapters

_SIMULATED = {market for market, one in installed_adapters().items() if one.simulator is not None}
CODES: Final = tuple(sorted(market.lower() for market in _SIMULATED))
"""ISO codes, in small letters, of every installed market with a simulator: a new one is a member at once."""
