"""The markets that are installed: adapters found through the entry point group ``energycomm.adapters``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from zoneinfo import ZoneInfo

from energycomm.errors import UserError
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, Mappable, Series, Sniff

GROUP = "energycomm.adapters"

NOT_OURS = "TYPE_NOT_OURS"


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
      UserError: a market is not installed or has no table, or a table has a mistake.
    """
    adapters = Markets()
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        adapter: Adapter = point.load()
        adapters[adapter.market] = adapter
    for market, path in mappings:
        adapters[market] = _mapped(adapters, market, path)
    return adapters


def service_names(adapters: Mapping[str, Adapter]) -> dict[str, Mapping[str, str]]:
    """Market -> what the elements of its message service are called, where its adapter's table says so."""
    found = ((market, getattr(adapter, "service", None)) for market, adapter in adapters.items())
    return {market: names for market, names in found if names}


def _mapped(adapters: Mapping[str, Adapter], market: str, path: Path) -> Adapter:
    adapter: object = adapters.get(market)
    if not isinstance(adapter, Mappable):
        tables = ", ".join(name for name, one in adapters.items() if isinstance(one, Mappable)) or "no market"
        raise UserError(f"The setting mappings names {market}, which has no table.", f"Tables have: {tables}.")
    try:
        return adapter.mapped(path)
    except ValueError as fault:
        raise UserError(f"The mapping table {path} of {market} is wrong: {fault}.", "Correct that place.") from None


def dispatch(adapters: Mapping[str, Adapter], sniff: Sniff) -> tuple[Adapter, str] | Refusal:
    """Find the adapter that digests a member, and the label of the member's type.

    Returns:
      The adapter and the label; else the refusal of the market the member belongs to; else one that says that no market
      knows it.
    """
    theirs: Refusal | None = None
    for adapter in adapters.values():
        answer = adapter.dispatch(sniff)
        if isinstance(answer, str):
            return adapter, answer
        if answer.code != NOT_OURS:
            theirs = theirs or answer
    return theirs or Refusal(
        code="TYPE_UNKNOWN",
        path=sniff.name,
        value=sniff.root,
        expected="a message type of an installed market",
        advice="check that the file is a market's envelope and that the market's adapter is installed",
    )


def series_of(adapters: Mapping[str, Adapter], name: str) -> tuple[str, Series] | dict[str, Refusal]:
    """The market and the place in its numbered series that an envelope's file name tells.

    Returns:
      Market and series; else, by market, the refusal of those to whom the name is unknown. Whose file it is may only
      be told by its content.
    """
    unknown: dict[str, Refusal] = {}
    for market, adapter in adapters.items():
        answer = adapter.series(name)
        if isinstance(answer, Series):
            return market, answer
        if isinstance(answer, Refusal):
            unknown[market] = answer
    return unknown
