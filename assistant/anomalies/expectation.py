"""What an access point should have told: its own level, and how far it follows the season of its peers.

What is followed is a logarithm: of the energy a day, of one part of it against another, of what is charged against what
was used. It is the sum of a level of the point, a season that all points of a market and unit
share (the median of what they do in the same weeks, so that weather is in it), taken so many times as the point follows
it, and what is looked for: a change at a day, or a drift. Fitted with Huber's weights, so that holidays do not decide.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from assistant.anomalies.energy import Point, Used

LEAST_SPANS = 10
"""So many spans are needed before anything is said of a point."""

LEAST_PEERS = 5
"""So many points must have told the same weeks for these to have a season."""

_ROUNDS = 4
_HUBER = 1.5


class Told(NamedTuple):
    """What is followed, in one span.

    Attributes:
      message: number of the Kernel message that told it.
      start, end: the span.
      rate: natural logarithm of what is followed.
    """

    message: int
    start: datetime
    end: datetime
    rate: float


Series = Mapping[Point, Sequence[Told]]
"""What is followed of each access point."""


class Course(NamedTuple):
    """What a point did, beside what its peers did.

    Attributes:
      spans: what it told.
      rates: what is followed, of each span.
      season: of its peers in the same weeks.
      times: middle of each span in years since the first.
    """

    spans: Sequence[Told]
    rates: Sequence[float]
    season: Sequence[float]
    times: Sequence[float]


class Fit(NamedTuple):
    """A fit of a course.

    Attributes:
      level: the point's own level.
      follows: how far it follows the season: 1 as its peers, 0 not at all.
      effect: of what was looked for; of the logarithm.
      rest: what is left of each span.
      error: sum of the squares of the rest, large ones less.
    """

    level: float
    follows: float
    effect: float
    rest: Sequence[float]
    error: float


def rates(used: Mapping[Point, Sequence[Used]]) -> dict[Point, list[Told]]:
    """The energy a day of what was used."""
    return {
        point: [
            Told(span.message, span.start, span.end, math.log(span.amount / span.days))
            for span in spans
            if span.amount > 0
        ]
        for point, spans in used.items()
    }


def courses(series: Series, group: Callable[[Point], Hashable], least: int = LEAST_SPANS) -> dict[Point, Course]:
    """The courses of points that told enough, each beside its peers.

    Args:
      series: what they told.
      group: names the peers of a point.
      least: so many spans are enough.
    """
    groups: dict[Hashable, dict[Point, Sequence[Told]]] = defaultdict(dict)
    for point, spans in series.items():
        if len(spans) >= least:
            groups[group(point)][point] = spans
    found: dict[Point, Course] = {}
    for peers in groups.values():
        season = _season(peers)
        for point, spans in peers.items():
            held = [span for span in spans if week(span) in season]
            if len(held) >= least:
                first = _middle(held[0])
                times = [(_middle(span) - first) / timedelta(days=365.25) for span in held]
                found[point] = Course(held, [span.rate for span in held], [season[week(span)] for span in held], times)
    return found


def fitted(course: Course, effect: Sequence[float] | None, rounds: int = _ROUNDS) -> Fit:
    """Fit a course with an effect, or without one.

    Args:
      course: what the point did.
      effect: how much of the effect is in each span: 0 before a change and 1 after it, or the time of a drift.
      rounds: of weighing; 1 weighs nothing.
    """
    columns = [[1.0] * len(course.rates), list(course.season)]
    if max(course.season) - min(course.season) < 0.05:
        columns.pop()  # no season is seen yet
    if effect is not None:
        columns.append(list(effect))
    weights = [1.0] * len(course.rates)
    rest: list[float] = []
    found: list[float] = []
    for _ in range(rounds):
        found = _least_squares(columns, course.rates, weights)
        rest = [
            rate - sum(part * column[place] for part, column in zip(found, columns, strict=True))
            for place, rate in enumerate(course.rates)
        ]
        bound = _HUBER * spread(rest)
        weights = [1.0 if abs(one) <= bound else bound / abs(one) for one in rest]
    seasonal = len(columns) - (effect is not None) == 2
    return Fit(
        found[0],
        found[1] if seasonal else 0.0,
        found[-1] if effect is not None else 0.0,
        rest,
        sum(weight * one * one for weight, one in zip(weights, rest, strict=True)),
    )


def spread(values: Sequence[float]) -> float:
    """A robust standard deviation: 1.4826 times the median of the distances from the median; at least a percent."""
    middle = median(values)
    return max(1.4826 * median(abs(one - middle) for one in values), 0.01)


def memory(rest: Sequence[float]) -> float:
    """The factor by which spans count less than their number, since what is left of neighbours is alike."""
    square = sum(one * one for one in rest)
    alike = sum(one * other for one, other in pairwise(rest)) / square if square else 0.0
    alike = min(max(alike, 0.0), 0.9)
    return (1 - alike) / (1 + alike)


def _season(peers: Series) -> dict[tuple[int, int], float]:
    """What all did in a week against what they do otherwise: medians of weeks and of points in turn."""
    levels = {point: median(span.rate for span in spans) for point, spans in peers.items()}
    season: dict[tuple[int, int], float] = {}
    for _ in range(_ROUNDS):
        weeks: dict[tuple[int, int], list[float]] = defaultdict(list)
        for point, spans in peers.items():
            for span in spans:
                weeks[week(span)].append(span.rate - levels[point])
        season = {one: median(told) for one, told in weeks.items() if len(told) >= LEAST_PEERS}
        for point, spans in peers.items():
            own = [span.rate - season[week(span)] for span in spans if week(span) in season]
            levels[point] = median(own) if own else levels[point]
    return season


def _least_squares(
    columns: Sequence[Sequence[float]], values: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Solve the weighted normal equations of a few columns by elimination; a column of no use counts nothing."""
    size = len(columns)
    rows = [
        [
            *(sum(w * a * b for w, a, b in zip(weights, one, other, strict=True)) for other in columns),
            sum(w * a * y for w, a, y in zip(weights, one, values, strict=True)),
        ]
        for one in columns
    ]
    for place in range(size):
        pivot = max(range(place, size), key=lambda row: abs(rows[row][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        if abs(rows[place][place]) < 1e-9:
            rows[place] = [0.0] * (size + 1)
            rows[place][place] = 1.0
        for row in range(size):
            if row != place:
                factor = rows[row][place] / rows[place][place]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[place], strict=True)]
    return [rows[place][size] / rows[place][place] for place in range(size)]


def week(span: Used | Told) -> tuple[int, int]:
    """Year and number of the week that a span lies around."""
    return _middle(span).isocalendar()[:2]


def _middle(span: Used | Told) -> datetime:
    return span.start + (span.end - span.start) / 2
