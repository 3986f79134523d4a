"""From scores to sentences: the rules of choice that every method shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Rule = Literal["top_k", "threshold", "expected_iou"]


class Choice(Struct, frozen=True, kw_only=True):
    """How sentences are chosen by their scores.

    Attributes:
      rule: top_k, the k best; threshold, all above `threshold`; expected_iou, the set whose expected IoU is highest
        when scores are probabilities.
      k: how many at most (top_k); 0 is no limit for the other rules.
      threshold: score that a sentence has to exceed (threshold); with top_k, 0 takes the k best whatever their score.
      fallback: whether the best sentence is taken when nothing passes: a rule that may choose nothing loses.
    """

    rule: Rule = "threshold"
    k: int = 0
    threshold: float = 0.5
    fallback: bool = True

    def __call__(self, scores: Sequence[float], lengths: Sequence[int] | None = None) -> tuple[int, ...]:
        """Indexes of the chosen sentences, ascending.

        Args:
          scores: one per sentence.
          lengths: length of every sentence, for expected_iou; all alike when None.
        """
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        if self.rule == "top_k":
            chosen = [
                index for index in order[: max(self.k, 1)] if scores[index] > self.threshold or not self.threshold
            ]
        elif self.rule == "threshold":
            chosen = [index for index in order if scores[index] > self.threshold]
            chosen = chosen[: self.k] if self.k else chosen
        else:
            chosen = _expected_iou(scores, order, lengths or [1] * len(scores), self.k)
        if not chosen and self.fallback:
            chosen = order[:1]
        return tuple(sorted(chosen))


def _expected_iou(scores: Sequence[float], order: Sequence[int], lengths: Sequence[int], limit: int) -> list[int]:
    """The beginning of the order whose expected intersection over expected union is highest."""
    missing = sum(score * length for score, length in zip(scores, lengths, strict=True))
    best, best_value = 0, -1.0
    covered = chosen = 0.0
    for count, index in enumerate(order[: limit or len(order)], start=1):
        covered += scores[index] * lengths[index]
        chosen += lengths[index]
        missing -= scores[index] * lengths[index]
        value = covered / (chosen + missing) if chosen + missing > 0 else 0.0
        if value > best_value:
            best, best_value = count, value
    return list(order[:best])
