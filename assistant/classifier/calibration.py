"""Probabilities that mean what they say, and when to abstain: learnt on validation data, for every model alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

EDGE = 1e-6
"""Probabilities are kept this far from 0 and 1: their logit is finite."""


class Calibration(Struct, frozen=True, kw_only=True):
    """Turns the probability that a model gives its answer into one that holds: sigmoid(slope * logit(p) + shift).

    With shift 0 it is a temperature, 1 / slope.

    Attributes:
      slope, shift: of the line in logits.
      threshold: calibrated probability below which the model abstains.
      examples: how many answers it was learnt from.
      error_before, error_after: expected calibration error on those answers.
    """

    slope: float = 1.0
    shift: float = 0.0
    threshold: float = 0.0
    examples: int = 0
    error_before: float = 0.0
    error_after: float = 0.0

    def __call__(self, probability: float) -> float:
        """The calibrated probability."""
        return _sigmoid(self.slope * _logit(probability) + self.shift)


class Point(Struct, frozen=True, kw_only=True):
    """What a threshold costs and brings.

    Attributes:
      threshold: answers below it are not given.
      coverage: share of messages that are answered.
      risk: share of wrong answers among those given.
    """

    threshold: float
    coverage: float
    risk: float


def calibrate(
    probabilities: Sequence[float], right: Sequence[bool], *, risk: float = 0.01, steps: int = 60
) -> Calibration:
    """Fit slope, shift and threshold (Platt, 1999, with his smoothed targets).

    Args:
      probabilities: what the model gave its answers.
      right: whether each answer was right.
      risk: share of wrong answers among those given that the threshold allows.
      steps: of Newton's method.

    Returns:
      The identity when there are no answers; else the calibration that is likeliest on them.
    """
    if not probabilities:
        return Calibration()
    logits = [_logit(p) for p in probabilities]
    good = sum(right)
    bad = len(right) - good
    high, low = (good + 1) / (good + 2), 1 / (bad + 2)
    targets = [high if hit else low for hit in right]
    slope, shift = _newton(logits, targets, steps)
    if slope <= 0:  # the model's own order says nothing: only how often it is right is known
        slope, shift = 1e-3, _logit((good + 1) / (len(right) + 2))
    found = Calibration(slope=slope, shift=shift)
    after = [found(p) for p in probabilities]
    return Calibration(
        slope=slope,
        shift=shift,
        threshold=threshold_for(after, right, risk),
        examples=len(right),
        error_before=calibration_error(probabilities, right),
        error_after=calibration_error(after, right),
    )


def calibration_error(probabilities: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error: the mean gap of probability and share of right answers, over bins of equal count.

    Args:
      probabilities: what was said.
      right: what was so.
      bins: how many; equal counts, because most answers of a good model are surer than .9.
    """
    # By probability alone: equal ones keep the order of the messages, else wrong and right ones would part.
    pairs = sorted(zip(probabilities, right, strict=True), key=lambda pair: pair[0])
    total, size = 0.0, len(pairs)
    for number in range(bins):
        part = pairs[number * size // bins : (number + 1) * size // bins]
        if part:
            said = sum(p for p, _ in part) / len(part)
            so = sum(hit for _, hit in part) / len(part)
            total += abs(said - so) * len(part)
    return total / size if size else 0.0


def risk_coverage(probabilities: Sequence[float], right: Sequence[bool]) -> list[Point]:
    """The risk at every coverage, from the surest answers to all of them."""
    pairs = sorted(zip(probabilities, right, strict=True), reverse=True)
    points, wrong = [], 0
    for number, (probability, hit) in enumerate(pairs, 1):
        wrong += not hit
        if number == len(pairs) or pairs[number][0] < probability:
            points.append(Point(threshold=probability, coverage=number / len(pairs), risk=wrong / number))
    return points


def threshold_for(probabilities: Sequence[float], right: Sequence[bool], risk: float) -> float:
    """The threshold with the largest coverage whose risk is allowed; that of the surest answer when none is.

    Args:
      probabilities: calibrated.
      right: whether each answer was right.
      risk: share of wrong answers among those given.
    """
    points = risk_coverage(probabilities, right)
    if not points:
        return 0.0
    if points[-1].risk <= risk:
        return 0.0  # all may be answered: nothing in the data says where to stop
    allowed = [point for point in points if point.risk <= risk]
    return (allowed[-1] if allowed else points[0]).threshold


def _newton(logits: Sequence[float], targets: Sequence[float], steps: int) -> tuple[float, float]:
    slope, shift = 1.0, 0.0
    for _ in range(steps):
        g0 = g1 = 0.0
        h00 = h01 = h11 = 1e-4  # a little ridge: data that separates has no finite optimum
        h01 = 0.0
        for x, wanted in zip(logits, targets, strict=True):
            p = _sigmoid(slope * x + shift)
            miss, weight = p - wanted, p * (1 - p)
            g0, g1 = g0 + miss * x, g1 + miss
            h00, h01, h11 = h00 + weight * x * x, h01 + weight * x, h11 + weight
        determinant = h00 * h11 - h01 * h01
        if determinant <= 0:
            break
        by_slope = (h11 * g0 - h01 * g1) / determinant
        by_shift = (h00 * g1 - h01 * g0) / determinant
        scale = min(1.0, 2.0 / max(abs(by_slope), abs(by_shift), 1e-9))  # no step that leaves the region
        slope, shift = slope - scale * by_slope, shift - scale * by_shift
        if abs(by_slope) + abs(by_shift) < 1e-7:
            break
    return slope, shift


def _logit(probability: float) -> float:
    kept = min(max(probability, EDGE), 1 - EDGE)
    return math.log(kept / (1 - kept))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
