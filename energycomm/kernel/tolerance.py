"""How far figures that should be equal may differ, where the settings say nothing else."""

from __future__ import annotations

from decimal import Decimal

CURVE_TOLERANCE = Decimal(5)
"""Percent by which the sum of a curve may differ from the rise of the indexes."""
