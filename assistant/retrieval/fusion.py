"""Putting a dense and a sparse ranking together, only where question and passage share a language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float32]
    Mask = NDArray[np.bool_]

RANK_CONSTANT = 60


def reciprocal_ranks(dense: Scores, sparse: Scores, shared: Mask, constant: int = RANK_CONSTANT) -> Scores:
    """Reciprocal rank fusion over candidates.

    A passage in another language than the question has no words in common with it but codes and names: its sparse rank
    says nothing, and fusing it in costs 26 to 32 points of MRR. Its dense rank counts in its place.

    Args:
      dense: cosines, shape (n,).
      sparse: BM25 scores, shape (n,); 0 is no match.
      shared: whether a passage is in the question's language, shape (n,).
      constant: the constant of the formula.
    """
    import numpy as np

    by_dense = 1.0 / (constant + _ranks(dense))
    by_sparse = np.where(sparse > 0, 1.0 / (constant + _ranks(np.where(shared, sparse, -1.0))), 0.0)
    return np.asarray(by_dense + np.where(shared, by_sparse, by_dense), dtype=np.float32)


def weighted_sum(dense: Scores, sparse: Scores, shared: Mask, dense_weight: float, abroad: float = 1.0) -> Scores:
    """Weighted sum of both scores, each brought to 0..1 over the candidates.

    Args:
      dense: cosines, shape (n,).
      sparse: BM25 scores, shape (n,); across languages of what the lexicon, names and codes give.
      shared: whether a passage is in the question's language, shape (n,).
      dense_weight: weight of the dense score within a language.
      abroad: the same across languages.
    """
    import numpy as np

    scaled_dense = _scaled(dense)
    own = dense_weight * scaled_dense + (1 - dense_weight) * _scaled(np.where(shared, sparse, np.float32(0)))
    other = abroad * scaled_dense + (1 - abroad) * _scaled(np.where(shared, np.float32(0), sparse))
    return np.asarray(np.where(shared, own, other), dtype=np.float32)


def _ranks(scores: Scores) -> Scores:
    """Ranks from 1, the best first."""
    import numpy as np

    ranks = np.empty(len(scores), dtype=np.float32)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _scaled(scores: Scores) -> Scores:
    import numpy as np

    if len(scores) == 0:
        return scores
    low, high = float(scores.min()), float(scores.max())
    return np.asarray((scores - low) / (high - low) if high > low else np.zeros_like(scores), dtype=np.float32)
