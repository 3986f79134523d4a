"""How well a choice of sentences agrees with the gold rationale: the study's IoU, ERASER's IOU-F1, hit@1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

Unit = Literal["characters", "tokens", "sentences"]

GoldSets = Sequence[frozenset[int]]
"""Every set of sentences that is a complete rationale by itself."""

_LENGTHS: dict[Unit, Callable[[str], int]] = {
    "characters": len,
    "tokens": lambda sentence: len(sentence.split()),
    "sentences": lambda sentence: 1,
}

BINS: tuple[tuple[str, int, int], ...] = (("1-3", 1, 3), ("4-5", 4, 5), ("6-10", 6, 10), (">10", 11, 10**9))
"""The study's bins by number of sentences in a context."""


def size_bin(sentences: int) -> str:
    """Name of the bin of a context with so many sentences."""
    return next((name for name, low, high in BINS if low <= sentences <= high), BINS[0][0])


def iou(chosen: Iterable[int], gold_sets: GoldSets, sentences: Sequence[str], unit: Unit = "characters") -> float:
    """Size of the intersection over size of the union (study, eq. 4.1), against the gold set that agrees best.

    Args:
      chosen: indexes of the chosen sentences.
      gold_sets: the valid rationales; none at all means that no sentence carries the answer.
      sentences: the context; a sentence counts by its length in `unit`, so that long sentences weigh more.
      unit: what lengths are counted in.

    Returns:
      Between 0 and 1; 1 where nothing is chosen and nothing is to be chosen.
    """
    length = _LENGTHS[unit]
    picked = frozenset(chosen)
    return max((_overlap(picked, gold, sentences, length) for gold in gold_sets), default=0.0 if picked else 1.0)


def _overlap(
    picked: frozenset[int], gold: frozenset[int], sentences: Sequence[str], length: Callable[[str], int]
) -> float:
    union = sum(length(sentences[index]) for index in picked | gold)
    return sum(length(sentences[index]) for index in picked & gold) / union if union else 1.0


def hit_at_1(scores: Sequence[float], gold_sets: GoldSets) -> float:
    """1 when the sentence with the highest score belongs to some gold set, else 0."""
    if not scores:
        return 0.0
    best = max(range(len(scores)), key=lambda index: (scores[index], -index))
    return 1.0 if any(best in gold for gold in gold_sets) else 0.0


def spans(chosen: Iterable[int], sentences: Sequence[str]) -> list[tuple[int, int]]:
    """Neighbouring chosen sentences as one span of tokens, start and end, as ERASER counts spans."""
    starts = [0]
    for sentence in sentences:
        starts.append(starts[-1] + len(sentence.split()))
    found: list[tuple[int, int]] = []
    for index in sorted(chosen):
        start, end = starts[index], starts[index + 1]
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def iou_f1(
    choices: Sequence[Iterable[int]], golds: Sequence[GoldSets], contexts: Sequence[Sequence[str]], limit: float = 0.5
) -> float:
    """ERASER's IOU-F1 over a set, micro: a span is found when its best token IoU with a gold span reaches `limit`.

    It is another measure than `iou`: it counts spans, not length. The gold set with the most hits is taken.
    """
    predicted = wanted = hits = hits_gold = 0
    for chosen, gold_sets, sentences in zip(choices, golds, contexts, strict=True):
        mine = spans(chosen, sentences)
        best = max(
            (
                (_hits(mine, theirs, limit), _hits(theirs, mine, limit), len(theirs))
                for theirs in (spans(gold, sentences) for gold in gold_sets)
            ),
            default=(0, 0, 0),
        )
        hits, hits_gold = hits + best[0], hits_gold + best[1]
        predicted, wanted = predicted + len(mine), wanted + best[2]
    precision = hits / predicted if predicted else 0.0
    recall = hits_gold / wanted if wanted else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _hits(spans_a: Sequence[tuple[int, int]], spans_b: Sequence[tuple[int, int]], limit: float) -> int:
    return sum(1 for a in spans_a if max((_span_iou(a, b) for b in spans_b), default=0.0) >= limit)


def _span_iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    common = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    union = (a[1] - a[0]) + (b[1] - b[0]) - common
    return common / union if union else 0.0
