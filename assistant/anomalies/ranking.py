"""Access points whose accepted messages are unlike their past or their peers, with the reason; the worst first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from assistant.anomalies.calendar import Pattern
from assistant.anomalies.charges import Charged
from assistant.anomalies.energy import Point, Used
from assistant.anomalies.expectation import LEAST_PEERS, Course, Fit, Series, courses, fitted, memory, rates, spread

KINDS = ("change", "drift", "exchange", "power", "calendar", "charge")
"""What an anomaly can be."""

LEAST_EFFECT = 0.15
"""Of the logarithm: changes of less than a seventh are not told."""

PEERS = 10
"""The noise of the peers counts as so many spans of one's own."""

AT_THE_ENDS = 3
"""A change is looked for where so many spans lie before it and after it."""

CLEAR = 2.0
"""Each change of an exchange has at least this score: among many points two small ones match by chance."""

LEAST_CHARGES = 3
"""So many charges are needed before anything is said of them: what they should be is known better than a use is."""

LEAST_WIDTH = 0.05
"""Of the logarithm: what points or charges differ by at least, where chance has made them more alike."""

SAME_DAYS = timedelta(days=21)
"""Two points change together where their changes lie so near each other."""


class Anomaly(NamedTuple):
    """One access point that is unlike itself or its peers.

    Attributes:
      market, access_point: which.
      kind: one of `KINDS`.
      score: how unlikely it is, in standard deviations; the order of the list.
      since: from when.
      effect: by which factor it uses more or less; of `power` the use against that of peers with this power; of
        `calendar` and `charge` by which factor the ratio is another one.
      message: an accepted Kernel message that tells it: the first after a change, else the last.
      other: the other access point of an exchange.
      why: the reason in a sentence with its figures.
    """

    market: str
    access_point: str
    kind: str
    score: float
    since: datetime
    effect: float
    message: int
    other: str | None
    why: str


class _Change(NamedTuple):
    place: int
    fit: Fit
    score: float


class Followed(NamedTuple):
    """What is followed of the access points of a store.

    Attributes:
      used: what they used, see `assistant.anomalies.energy.used`.
      powers: subscribed power that holds now, in kVA, where it is known.
      patterns: when they use it.
      charged: what they are charged for it.
    """

    used: Mapping[Point, Sequence[Used]]
    powers: Mapping[Point, float] = {}
    patterns: Sequence[Pattern] = ()
    charged: Charged = Charged({}, {})


def ranked(followed: Followed) -> list[Anomaly]:
    """All anomalies, the worst first, each point once with what is least likely."""
    known = courses(rates(followed.used), lambda point: (point[0], followed.used[point][0].unit))
    plain = {point: fitted(course, None) for point, course in known.items()}
    noise = _noise(plain.values())
    changes = {point: change for point, course in known.items() if (change := _changed(course, plain[point], noise))}
    found = [_told_change(point, known[point], change) for point, change in changes.items()]
    found += [
        one
        for point, course in known.items()
        if (one := _drift(point, course, plain[point], changes.get(point), noise))
    ]
    found += _exchanges(known, changes)
    found += _powers(followed, known, plain)
    for pattern in followed.patterns:
        found += _ratios("calendar", pattern.name, pattern.series, single=False)
    for series in followed.charged.quantity.values():
        words = "the ratio of the energy charged to the energy metered in the same days"
        found += _ratios("charge", words, series, single=True)
    for key, series in followed.charged.amount.items():
        found += _ratios("charge", f"the price charged by {key[3]}", series, single=True)
    found.sort(key=lambda one: (-one.score, one.market, one.access_point))
    seen: set[tuple[str, str]] = set()
    kept = []
    for one in found:
        if (one.market, one.access_point) not in seen:
            seen.add((one.market, one.access_point))
            kept.append(one)
    return kept


def _noise(plain: Iterable[Fit]) -> float:
    """The usual noise of the peers."""
    return median([spread(fit.rest) for fit in plain] or [1.0])


def _changed(course: Course, plain: Fit, noise: float) -> _Change | None:
    """The day at which a change explains most, if it is large."""
    places = range(AT_THE_ENDS, len(course.rates) - AT_THE_ENDS + 1)
    effects = {place: [0.0] * place + [1.0] * (len(course.rates) - place) for place in places}
    place = min(places, key=lambda one: fitted(course, effects[one], rounds=1).error)
    fit = fitted(course, effects[place])
    score = _score(fit, plain, fit.effect, noise)
    return _Change(place, fit, score) if score > 0 else None


def _told_change(point: Point, course: Course, change: _Change) -> Anomaly:
    factor = math.exp(change.fit.effect)
    first = course.spans[change.place]
    after, before = len(course.spans) - change.place, change.place
    why = (
        f"Since {first.start:%Y-%m-%d} it uses {factor:.2f} times what its own past and the season of its peers "
        f"let expect ({after} spans against {before} before)."
    )
    return Anomaly(*point, "change", change.score, first.start, factor, first.message, None, why)


def _drift(point: Point, course: Course, plain: Fit, change: _Change | None, noise: float) -> Anomaly | None:
    """A slow change, where it explains more than one at a day."""
    fit = fitted(course, course.times)
    total = fit.effect * course.times[-1]
    score = _score(fit, plain, total, noise)
    if score == 0 or (change is not None and change.score >= score):
        return None
    factor = math.exp(total)
    why = (
        f"From {course.spans[0].start:%Y-%m-%d} to {course.spans[-1].end:%Y-%m-%d} its use drifted slowly "
        f"to {factor:.2f} times what its own past and the season of its peers let expect."
    )
    last = course.spans[-1]
    return Anomaly(*point, "drift", score, course.spans[0].start, factor, last.message, None, why)


def _exchanges(known: Mapping[Point, Course], changes: Mapping[Point, _Change]) -> list[Anomaly]:
    """Pairs that changed on the same days, each to the level of the other: meters that were taken for each other."""
    found = []
    at = {point: known[point].spans[change.place].start for point, change in changes.items()}
    by_market: dict[str, list[Point]] = defaultdict(list)
    for point in changes:
        by_market[point[0]].append(point)
    for points in by_market.values():
        points.sort(key=lambda point: at[point])
        for place, one in enumerate(points):
            for other in points[place + 1 :]:
                if at[other] - at[one] > SAME_DAYS:
                    break
                found += _exchanged(known, changes, one, other)
    return found


def _exchanged(
    known: Mapping[Point, Course], changes: Mapping[Point, _Change], one: Point, other: Point
) -> list[Anomaly]:
    first, second = changes[one].fit, changes[other].fit
    apart = abs(first.level + first.effect - second.level) + abs(second.level + second.effect - first.level)
    moved = abs(first.effect) + abs(second.effect)
    surer, less = sorted((changes[one].score, changes[other].score), reverse=True)
    if first.effect * second.effect >= 0 or apart > 0.3 * moved or less < CLEAR:
        return []
    score = math.hypot(min(surer, 2 * less), less)
    found = []
    for point, peer in ((one, other), (other, one)):
        span = known[point].spans[changes[point].place]
        factor = math.exp(changes[point].fit.effect)
        why = (
            f"Since {span.start:%Y-%m-%d} it uses {factor:.2f} times what it did, which is what {peer[1]} used "
            f"before, and the other way round: were their meters taken for each other?"
        )
        found.append(Anomaly(*point, "exchange", score, span.start, factor, span.message, peer[1], why))
    return found


def _powers(followed: Followed, known: Mapping[Point, Course], plain: Mapping[Point, Fit]) -> list[Anomaly]:
    """Points that use far more or less than peers do with such a power."""
    powers = followed.powers
    by_market: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point in known:
        if powers.get(point, 0) > 0:
            by_market[point[0], followed.used[point][0].unit].append(point)
    found = []
    for points in by_market.values():
        if len(points) < 2 * AT_THE_ENDS:
            continue
        uses = {point: plain[point].level - math.log(powers[point]) for point in points}
        middle, width = median(uses.values()), spread(list(uses.values()))
        for point, use in uses.items():
            factor, last = math.exp(use - middle), known[point].spans[-1]
            why = (
                f"With {powers[point]:g} kVA it uses {factor:.2f} times what half of its peers use a kVA "
                f"({len(points)} access points, {abs(use - middle) / width:.1f} standard deviations)."
            )
            found.append(
                Anomaly(
                    *point,
                    "power",
                    abs(use - middle) / width,
                    known[point].spans[0].start,
                    factor,
                    last.message,
                    None,
                    why,
                )
            )
    return found


def _ratios(kind: str, words: str, series: Series, *, single: bool) -> list[Anomaly]:
    """Points whose ratio changed at a day, is another one than that of their peers, or was in one span alone.

    Args:
      kind: of the anomalies.
      words: what the ratio is.
      series: logarithms of the ratio, of points that are peers.
      single: one span by itself counts, and a few spans are enough.
    """
    known = courses(series, lambda point: "", LEAST_CHARGES if single else LEAST_PEERS)
    if len(known) < LEAST_PEERS:
        return []
    plain = {point: fitted(course, None) for point, course in known.items() if len(course.rates) >= 2 * LEAST_PEERS}
    noise = max(_noise(plain.values()), LEAST_WIDTH)
    beside = {
        point: [rate - usual for rate, usual in zip(course.rates, course.season, strict=True)]
        for point, course in known.items()
    }
    levels = {point: median(rest) for point, rest in beside.items()}
    middle, width = median(levels.values()), max(spread(list(levels.values())), LEAST_WIDTH)
    own = max(median(spread(rest) for rest in beside.values()), LEAST_WIDTH)
    found = []
    for point, course in known.items():
        change = _changed(course, plain[point], noise) if point in plain else None
        if change:
            found.append(_other_ratio(kind, words, point, course, change))
        apart = levels[point] - middle
        why = (
            f"From {course.spans[0].start:%Y-%m-%d} on {words} is {math.exp(apart):.2f} times that of half of its "
            f"{len(known) - 1} peers ({abs(apart) / width:.1f} standard deviations)."
        )
        since, last, score = course.spans[0].start, course.spans[-1].message, (abs(apart) - LEAST_EFFECT) / width
        found.append(Anomaly(*point, kind, score, since, math.exp(apart), last, None, why))
        if single:
            found.append(_alone(kind, words, point, course, beside[point], own))
    return [one for one in found if one.score > 0]


def _other_ratio(kind: str, words: str, point: Point, course: Course, change: _Change) -> Anomaly:
    since, factor = course.spans[change.place], math.exp(change.fit.effect)
    after, before = len(course.spans) - change.place, change.place
    why = (
        f"Since {since.start:%Y-%m-%d} {words} is {factor:.2f} times what its own past and its peers let expect "
        f"({after} spans against {before} before)."
    )
    return Anomaly(*point, kind, change.score, since.start, factor, since.message, None, why)


def _alone(kind: str, words: str, point: Point, course: Course, beside: Sequence[float], noise: float) -> Anomaly:
    """The span of a point that is most unlike its others and those of its peers."""
    usual = median(beside)
    place = max(range(len(beside)), key=lambda one: abs(beside[one] - usual))
    apart, span = beside[place] - usual, course.spans[place]
    square = (len(beside) * spread(beside) ** 2 + PEERS * noise**2) / (len(beside) + PEERS)
    why = (
        f"From {span.start:%Y-%m-%d} to {span.end:%Y-%m-%d} {words} is {math.exp(apart):.2f} times what its "
        f"{len(beside) - 1} other charges and its peers let expect."
    )
    score = (abs(apart) - LEAST_EFFECT) / math.sqrt(square)
    return Anomaly(*point, kind, score, span.start, math.exp(apart), span.message, None, why)


def _score(fit: Fit, plain: Fit, effect: float, noise: float) -> float:
    """By how many standard errors an effect is beyond what nobody would ask about.

    The error is that of the fit, its noise drawn towards that of the peers: a few spans may lie on a line by chance.
    """
    explained = max(plain.error - fit.error, 0.0)
    if abs(effect) <= LEAST_EFFECT or explained == 0.0:
        return 0.0
    free = max(len(fit.rest) - 3, 1)
    square = (fit.error + PEERS * noise**2) / (free + PEERS)
    standard = abs(effect) / math.sqrt(explained * memory(fit.rest) / square)
    return (abs(effect) - LEAST_EFFECT) / standard
