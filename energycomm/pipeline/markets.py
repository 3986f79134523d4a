"""The markets that are installed: adapters found through the entry point group ``energycomm.adapters``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from adapters.contract import Adapter, Series, Sniff
from energycomm.kernel.instants import set_zone
from energycomm.kernel.verdicts import Refusal

GROUP = "energycomm.adapters"

NOT_OURS = "TYPE_NOT_OURS"


@cache
def installed_adapters() -> Mapping[str, Adapter]:
    """Market code -> adapter, of all installed adapters, in the order of their markets."""
    adapters: dict[str, Adapter] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        adapter: Adapter = point.load()
        adapters[adapter.market] = adapter
        set_zone(adapter.market, adapter.zone)
    return adapters


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
