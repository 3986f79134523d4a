"""The rules that may be missing, learned from a store."""

from __future__ import annotations

from assistant.invariants.ranking import Group, learned
from energycomm.config import Config
from energycomm.eis.store import Store
from energycomm.engine.catalogue import Catalogue
from energycomm.market.installed import installed_adapters
from energycomm.pipeline.gateway import open_engine


def missing_rules(
    store: Store, config: Config, catalogue: Catalogue, markets: frozenset[str] = frozenset(), kind: str | None = None
) -> list[Group]:
    """Groups of accepted messages that break what nearly always holds, the likeliest first.

    Args:
      store: the store.
      config: the gateway's configuration: its engine, its mappings, its rules with their price lists.
      catalogue: the rules that there are.
      markets: only of these; all where there are none.
      kind: only messages of this kind.
    """
    engine = open_engine(catalogue, config.engine, config.curve_tolerance)
    installed = installed_adapters(config.mapping_files)
    return learned(store, catalogue, engine, installed, config.rules_folder, markets, kind)
