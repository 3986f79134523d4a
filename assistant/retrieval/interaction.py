"""Late interaction: question and passage compared token by token, as ColBERT does, over the best that was found.

A passage's one vector is the mean of all it says. A question about one of its sentences is nearer to a passage that is
about that alone. Token by token each word of the question looks for the word that is nearest to it in the passage, in
whatever language, and what else the passage says does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assistant.retrieval.query import Found

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Small = NDArray[np.int8]

COMPARED = 12
"""How many of the best are compared token by token."""

WEIGHT = 0.5
"""What the comparison counts beside the score before, both scaled to 0..1 over the compared."""


def interaction(asked: Small, passages: Sequence[Small | None]) -> NDArray[np.float32]:
    """The mean over the question's tokens of the cosine to the nearest token of a passage.

    Args:
      asked: the question's tokens, shape (tokens, dimensions), in `Projection.small`'s form.
      passages: the same of each passage; None where nothing is known of it.

    Returns:
      Shape (len(passages),); the mean of the others where nothing is known.
    """
    import numpy as np

    question = asked.astype(np.float32) / 127
    scores = np.full(len(passages), np.nan, dtype=np.float32)
    for place, rows in enumerate(passages):
        if rows is not None and len(rows) and len(question):
            scores[place] = (question @ (rows.astype(np.float32) / 127).T).max(axis=1).mean()
    known = scores[~np.isnan(scores)]
    return np.nan_to_num(scores, nan=float(known.mean()) if len(known) else 0.0)


def compared(found: Sequence[Found], scores: NDArray[np.float32], weight: float) -> list[Found]:
    """The best ordered anew by the score before and the comparison; what a code named stays in front.

    Args:
      found: what was found, best first; the first of them were compared, the others stay behind them.
      scores: of `interaction`, of the first.
      weight: of the comparison, 0..1.
    """
    import numpy as np

    count = len(scores)
    before = np.array([item.score for item in found], dtype=np.float32)
    spread = float(before[:count].max() - before[:count].min()) or 1.0
    # Below 0 for those that were not compared: scores of one search stay comparable.
    mixed = (1 - weight) * (before - before[:count].min()) / spread
    mixed[:count] += weight * _scaled(scores)
    changed = [msgspec.structs.replace(item, score=float(score)) for item, score in zip(found, mixed, strict=True)]
    return sorted(changed[:count], key=lambda item: (-item.by_code, -item.score, item.passage.id)) + changed[count:]


def _scaled(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    spread = float(scores.max() - scores.min())
    return np.asarray((scores - scores.min()) / spread if spread > 0 else np.zeros_like(scores), dtype=np.float32)
