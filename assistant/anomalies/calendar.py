"""When an access point uses its energy: one time class against another, and week-ends against the other days."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.anomalies.energy import Point, Used
from assistant.anomalies.expectation import LEAST_PEERS, Told, week

_DAY = (timedelta(hours=22), timedelta(hours=26))
_SATURDAY = 5


class Pattern(NamedTuple):
    """One way in which energy is divided.

    Attributes:
      name: what is held against what, in words.
      peers: name of the points that divide it so.
      series: of these points.
    """

    name: str
    peers: tuple[str, ...]
    series: dict[Point, list[Told]]


def by_class(used: Mapping[Point, Sequence[Used]]) -> list[Pattern]:
    """The two largest time classes against each other, of all points that have the same ones.

    In each week these are the classes in which the peers used most, so that a calendar with a season is followed
    through the year.

    Args:
      used: spans of a week or more.
    """
    groups: dict[tuple[str, ...], dict[Point, list[Used]]] = defaultdict(dict)
    for point, spans in used.items():
        counted = Counter(tuple(sorted(span.classes)) for span in spans)
        names = counted.most_common(1)[0][0]
        if len(names) > 1:
            groups[point[0], spans[0].unit, *names][point] = [
                span for span in spans if tuple(sorted(span.classes)) == names and span.amount > 0
            ]
    return [
        Pattern(f"the ratio of its time classes ({', '.join(peers[2:])})", peers, _ratios(points))
        for peers, points in groups.items()
    ]


def _ratios(points: Mapping[Point, Sequence[Used]]) -> dict[Point, list[Told]]:
    shares: dict[tuple[int, int], list[Used]] = defaultdict(list)
    for spans in points.values():
        for span in spans:
            shares[week(span)].append(span)
    largest = {
        one: sorted(held[0].classes, key=lambda name: (-median(s.classes[name] / s.amount for s in held), name))[:2]
        for one, held in shares.items()
        if len(held) >= LEAST_PEERS
    }
    found: dict[Point, list[Told]] = {}
    for point, spans in points.items():
        told = []
        for span in spans:
            if week(span) in largest:
                first, second = (span.classes[name] for name in largest[week(span)])
                if min(first, second) > 0:
                    told.append(Told(span.message, span.start, span.end, math.log(first / second)))
        found[point] = told
    return found


def by_weekday(parts: Mapping[Point, Sequence[Used]], zones: Mapping[str, ZoneInfo]) -> list[Pattern]:
    """A day of the week-end against another day, of all points that are read day by day.

    Args:
      parts: from one message to the next.
      zones: market -> its legal time.
    """
    groups: dict[tuple[str, ...], dict[Point, list[Told]]] = defaultdict(dict)
    for point, spans in parts.items():
        weeks: dict[tuple[int, int], list[Used]] = defaultdict(list)
        for span in spans:
            if _DAY[0] <= span.end - span.start <= _DAY[1]:
                weeks[span.start.astimezone(zones[point[0]]).isocalendar()[:2]].append(span)
        told = []
        for _, days in sorted(weeks.items()):
            ends: list[float] = []
            others: list[float] = []
            for day in days:
                free = day.start.astimezone(zones[point[0]]).weekday() >= _SATURDAY
                (ends if free else others).append(day.amount)
            if len(ends) >= 2 and len(others) >= 3 and sum(ends) > 0 and sum(others) > 0:
                rate = math.log(sum(ends) / len(ends) / (sum(others) / len(others)))
                told.append(Told(days[-1].message, days[0].start, days[-1].end, rate))
        if told:
            groups[point[0], spans[0].unit][point] = told
    return [Pattern("a day of the week-end against another day", peers, series) for peers, series in groups.items()]
