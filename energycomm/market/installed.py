"""The markets that are installed: adapters found through the entry point group ``energycomm.adapters``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from zoneinfo import ZoneInfo

from energycomm.errors import UserError
from energycomm.market.contract import Adapter, Mappable

GROUP = "energycomm.adapters"

Mappings = tuple[tuple[str, Path], ...]
"""Markets, each with the table that takes the place of its adapter's own (setting `mappings`)."""


class Markets(dict[str, Adapter]):
    """Market code -> adapter. Asking for a market that is not installed raises `UserError`."""

    def __missing__(self, market: str) -> Adapter:
        known = ", ".join(self) or "none"
        raise UserError(f"The market {market} is not installed.", f"Install its adapter; installed are: {known}.")

    def zone(self, market: str) -> ZoneInfo:
        """The legal time of a market."""
        return ZoneInfo(self[market].zone)


@cache
def installed_adapters(mappings: Mappings = ()) -> Markets:
    """All installed adapters, in the order of their markets.

    Args:
      mappings: tables that take the place of adapters' own.

    Raises:
      UserError: an adapter lacks a part of the contract, a market is not installed or has no table, or a table has a
        mistake.
    """
    adapters = Markets()
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        adapter: Adapter = point.load()
        missing = [name for name in Adapter.__annotations__ if not hasattr(adapter, name)]
        if missing:
            raise UserError(
                f"The adapter {point.value} lacks {', '.join(missing)}.",
                "Install a version of it that is made for this version of EnergyComm.",
            )
        adapters[adapter.market] = adapter
    for market, path in mappings:
        adapters[market] = _mapped(adapters, market, path)
    return adapters


def _mapped(adapters: Mapping[str, Adapter], market: str, path: Path) -> Adapter:
    adapter: object = adapters.get(market)
    if not isinstance(adapter, Mappable):
        tables = ", ".join(name for name, one in adapters.items() if isinstance(one, Mappable)) or "no market"
        raise UserError(f"The setting mappings names {market}, which has no table.", f"Tables have: {tables}.")
    try:
        return adapter.mapped(path)
    except ValueError as fault:
        raise UserError(f"The mapping table {path} of {market} is wrong: {fault}.", "Correct that place.") from None
