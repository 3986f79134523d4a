"""Means with Student-t intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct

from assistant.extras import need


class Mean(Struct, frozen=True):
    """A mean over items with its interval.

    Attributes:
      half: half the width of the interval; 0 where fewer than two items were measured.
      n: how many items.
    """

    value: float
    half: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} ±{self.half:.3f}" if self.n > 1 else f"{self.value:.3f}"


def mean_of(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """The mean and its interval by Student's t with n - 1 degrees of freedom; a mean of nothing is 0 of 0."""
    if not values:
        return Mean(0.0, 0.0, 0)
    if len(values) == 1:
        return Mean(float(values[0]), 0.0, 1)
    need("scipy")
    from scipy.stats import t

    spread = stdev(values) / math.sqrt(len(values))
    return Mean(fmean(values), float(t.ppf((1 + confidence) / 2, len(values) - 1)) * spread, len(values))
