"""Market adapter for French electricity: the fluxes that Enedis SGE sends to a supplier."""

from __future__ import annotations

from adapters.fr_enedis.adapter import FrEnedis, adapter

__all__ = ["FrEnedis", "adapter"]
