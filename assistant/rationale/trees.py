"""Boosted trees and logistic regression as plain arrays: fitted once with scikit-learn, read with NumPy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Forest(Struct, frozen=True, kw_only=True):
    """Additive trees: the nodes of all trees one after the other, leaves pointing to themselves.

    Attributes:
      roots: index of the first node of every tree.
      feature, threshold: a row goes left where `row[feature] <= threshold`.
      left, right: indexes of the children; a leaf's are its own.
      value: what a leaf adds; 0 in inner nodes.
      base: what every row begins with (log-odds).
      depth: longest way from a root to a leaf.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    base: float
    depth: int

    def log_odds(self, rows: NDArray[np.float32]) -> Floats:
        """Log-odds of every row, shape (rows,)."""
        at = np.repeat(self.roots[None, :], len(rows), axis=0)
        numbers = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            goes_left = rows[numbers, self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return np.asarray(self.value[at].sum(axis=1, dtype=np.float64) + self.base)

    @staticmethod
    def from_fitted(model: Any) -> Forest:
        """The trees of a fitted `HistGradientBoostingClassifier` for two classes."""
        roots: list[int] = []
        feature: list[int] = []
        threshold: list[float] = []
        left: list[int] = []
        right: list[int] = []
        value: list[float] = []
        depth = 0
        for (predictor,) in model._predictors:
            root = len(feature)
            roots.append(root)
            for number, node in enumerate(predictor.nodes):
                leaf = bool(node["is_leaf"])
                feature.append(0 if leaf else int(node["feature_idx"]))
                threshold.append(0.0 if leaf else float(node["num_threshold"]))
                left.append(root + (number if leaf else int(node["left"])))
                right.append(root + (number if leaf else int(node["right"])))
                value.append(float(node["value"]) if leaf else 0.0)
                depth = max(depth, int(node["depth"]))
        return Forest(
            roots=np.asarray(roots, np.int32),
            feature=np.asarray(feature, np.int16),
            threshold=np.asarray(threshold, np.float32),
            left=np.asarray(left, np.int32),
            right=np.asarray(right, np.int32),
            value=np.asarray(value, np.float32),
            base=float(np.ravel(model._baseline_prediction)[0]),
            depth=depth,
        )


class Linear(Struct, frozen=True, kw_only=True):
    """Logistic regression over standardised columns."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: NDArray[np.float32]
    intercept: float

    def log_odds(self, rows: NDArray[np.float32]) -> Floats:
        """Log-odds of every row, shape (rows,)."""
        return np.asarray((rows - self.mean) / self.scale @ self.weights + self.intercept, dtype=np.float64)


def probability(log_odds: Floats) -> Floats:
    """The logistic function."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -40.0, 40.0))))
