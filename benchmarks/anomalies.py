"""A simulated year with anomalies that no rule sees, and what finds them: the ranking against a plain baseline.

The people of this year have habits that the simulator's do not: noise that lasts for some weeks, absences, a season
of their own, and a subscribed power that suits what they use. The ranking knows nothing of how they are made. Anomalies
are planted before anything is written: meters that run slow or fast more and more, meters that are read for each other,
and powers that are not those of the point. Messages go the whole way, and what a rule refuses is no anomaly any more.

Example: python -m benchmarks.anomalies 1000
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean, median, pstdev
from typing import Any, NamedTuple

from sqlalchemy import Engine

from adapters.fr_enedis.simulator.codes import prm_of
from adapters.fr_enedis.simulator.lives import FrenchPlay
from assistant.anomalies.energy import Point, Used, used
from assistant.anomalies.ranking import ranked
from assistant.anomalies.stored import powers, rows
from benchmarks import table
from benchmarks.whole_path import fresh_gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.consumption import Bands, Draw, Load
from energycomm.simulation.lives import Life
from energycomm.simulation.playing import play
from energycomm.simulation.scenario import Scenario

POWERS = (3, 6, 9, 12, 15, 18, 24, 36)
"""Subscribed powers in kVA."""

EACH = 4
"""Of each kind of anomaly so many in a hundred access points."""

MWH_A_KVA = 0.45
"""Yearly use that a power is chosen for, about."""


class Planted(NamedTuple):
    """What is planted.

    Attributes:
      drifts: number of an access point -> change a day of the logarithm of what its meter shows, and the day it begins.
      exchanges: number of an access point -> the other one, and the day.
      powers: number of an access point -> its wrong power.
    """

    drifts: Mapping[int, tuple[float, int]]
    exchanges: Mapping[int, tuple[int, int]]
    powers: Mapping[int, int]

    def numbers(self) -> frozenset[int]:
        """All access points concerned."""
        return frozenset((*self.drifts, *self.exchanges, *self.powers))


def plant(scenario: Scenario, each: int) -> Planted:
    """Draw so many drifts, exchanged points and wrong powers, all of different points."""
    rng = Random(f"planted {scenario.seed}")
    whole = [life.number for life in FrenchPlay(scenario).lives if _supplied(life, scenario.days)]
    numbers = rng.sample(whole, 3 * each)
    drifting, exchanged, powered = numbers[:each], numbers[each : 2 * each], numbers[2 * each :]
    days = scenario.days
    drifts = {}
    for number in drifting:
        begin = rng.randrange(days // 10, days // 3)
        total = rng.choice((-1, 1)) * rng.uniform(0.35, 0.8)
        drifts[number] = (total / (days - begin), begin)
    exchanges: dict[int, tuple[int, int]] = {}
    for one, other in zip(exchanged[::2], exchanged[1::2], strict=False):
        day = rng.randrange(days // 3, 2 * days // 3)
        exchanges |= {one: (other, day), other: (one, day)}
    return Planted(drifts, exchanges, {number: rng.choice((-1, 1)) for number in powered})


def habits(load: Load, rng: Random, first: int, last: int) -> list[Bands]:
    """What a person draws, day by day: a plain load, made uneven.

    Args:
      load: the plain load.
      rng: of this person.
      first, last: days that are drawn for.
    """
    follows, noise, level = rng.uniform(0.5, 1.3), 0.0, 0.0
    away = {start + n for start in rng.sample(range(first, last), 3) for n in range(rng.randrange(4, 12))}
    plain = [load.until(day, 0) for day in range(first, last + 1)]
    usual = mean(sum(after) - sum(before) for before, after in pairwise(plain))
    days = []
    for day, (before, after) in enumerate(pairwise(plain), first):
        if day % 7 == 0:
            noise = 0.6 * noise + rng.gauss(0, 0.1)
        if rng.random() < 1 / 700:
            level += rng.gauss(0, 0.06)
        drawn = max(sum(after) - sum(before), 1)
        factor = (drawn / usual) ** (follows - 1) * math.exp(noise + level + rng.gauss(0, 0.15))
        factor *= 0.3 if day in away else 1.0
        days.append(Bands(*(int((b - a) * factor) for a, b in zip(before, after, strict=True))))
    return days


class Shown:
    """What a meter shows of what is drawn; anomalies are in it."""

    def __init__(self, days: Sequence[Bands], first: int) -> None:
        self.first = first
        self.sums = [Bands(0, 0, 0, 0)]
        for day in days:
            self.sums.append(Bands(*(a + b for a, b in zip(self.sums[-1], day, strict=True))))

    def until(self, day: int, minute: int) -> Bands:
        """Energy shown up to an instant, in Wh by band."""
        place = day - self.first
        before, after = self.sums[place], self.sums[min(place + 1, len(self.sums) - 1)]
        return Bands(*(a + (b - a) * minute // 1440 for a, b in zip(before, after, strict=True)))


def _supplied(life: Life, days: int) -> bool:
    """Whether a point is supplied through nine tenths of the year."""
    return all(life.supplied_through(day) is not None for day in range(days // 10, days, 10))


class LivedPlay(FrenchPlay):
    """A play whose people have habits, and in which something is planted."""

    planted: Planted

    def __init__(self, scenario: Scenario) -> None:
        """Plan the lives, with powers that suit them where none is planted."""
        self.planted = plant(scenario, EACH * scenario.access_points // 100)
        self.yearly: dict[int, int] = {}
        super().__init__(scenario)
        for life in self.lives:
            power = suited(self.yearly[life.number])
            if life.number in self.planted.powers:
                power = wrong(power, self.planted.powers[life.number])
            for step in life.steps:
                step.after = _with_power(step.after, power)
                step.before = None if step.before is None else _with_power(step.before, power)

    def drawn(self, number: int, load: Load) -> Draw:
        """What the meter of an access point shows."""
        self.yearly[number] = load.yearly
        first, last = (self.almanac.number(day) for day in (self.almanac.dates[0], self.almanac.dates[-1]))
        days = self._habits(number, load, first, last)
        if number in self.planted.drifts:
            speed, begin = self.planted.drifts[number]
            for place in range(begin - first, len(days)):
                factor = math.exp(speed * (place + first - begin))
                days[place] = Bands(*(int(part * factor) for part in days[place]))
        if number in self.planted.exchanges:
            other, day = self.planted.exchanges[number]
            yearly = Random(f"life {self.scenario.seed} {other}").randrange(1_200_000, 5_500_000)
            days[day - first :] = self._habits(other, load._replace(yearly=yearly), first, last)[day - first :]
        return Shown(days, first)

    def _habits(self, number: int, load: Load, first: int, last: int) -> list[Bands]:
        return habits(load, Random(f"habits {self.scenario.seed} {number}"), first, last)


def suited(yearly: int) -> int:
    """The power that suits a yearly use in Wh."""
    return next(power for power in POWERS if power * MWH_A_KVA * 1e6 >= yearly or power == POWERS[-1])


def wrong(power: int, direction: int) -> int:
    """A power three steps away, in a direction where there are so many."""
    place = POWERS.index(power) + 3 * direction
    return POWERS[place if 0 <= place < len(POWERS) else POWERS.index(power) + 3]


def points(planted: Planted) -> frozenset[Point]:
    """The access points in which something is planted."""
    return frozenset(("FR", prm_of(number)) for number in planted.numbers())


def _with_power(situation: Any, power: int) -> Any:
    return replace(situation, terms=replace(situation.terms, power=power))


def baseline(used: Mapping[Point, Sequence[Used]]) -> list[Point]:
    """A plain baseline: points in the order of the largest distance of one of their spans from their own mean, in their
    own standard deviations; three or more is what a control chart calls out."""
    scores = {}
    for point, spans in used.items():
        rates = [span.amount / span.days for span in spans]
        width = pstdev(rates)
        scores[point] = max(abs(rate - mean(rates)) for rate in rates) / width if width else 0.0
    return sorted(scores, key=lambda point: (-scores[point], point))


def seasonal_baseline(used: Mapping[Point, Sequence[Used]]) -> list[Point]:
    """A better one: the same after each span is divided by the median of its week over all points."""
    weeks: dict[tuple[int, int], list[float]] = {}
    for spans in used.values():
        own = mean(span.amount / span.days for span in spans) or 1.0
        for span in spans:
            weeks.setdefault(span.end.isocalendar()[:2], []).append(span.amount / span.days / own)
    season = {week: median(rates) or 1.0 for week, rates in weeks.items()}
    return baseline(
        {
            point: [span._replace(amount=span.amount / season[span.end.isocalendar()[:2]]) for span in spans]
            for point, spans in used.items()
        }
    )


def precision(order: Iterable[Point], anomalous: frozenset[Point], first: int) -> float:
    """Share of the first so many that are planted."""
    head = list(order)[:first]
    return sum(point in anomalous for point in head) / max(len(head), 1)


def compare(folder: Path, url: str, access_points: int) -> list[str]:
    """Play the year, take it in, and say how many of the first ones are planted, as a table in Markdown.

    Args:
      folder: for the envelopes.
      url: an empty database.
      access_points: of the year; four in a hundred get an anomaly of each kind.
    """
    scenario = Scenario(access_points, 12, seed=7, daily_share=0.6)
    planted = plant(scenario, EACH * access_points // 100)
    play(scenario, LivedPlay, folder)
    with fresh_gateway(url) as gateway:
        total(gateway.inbound.take(sorted((folder / "envelopes").iterdir(), key=lambda path: path.stem[-14:]), "bench"))
        engine = gateway.store.engine
        refused = _refused(engine)
        spans = used(rows(engine, "readings"), rows(engine, "volumes"))
        found = ranked(spans, powers(rows(engine, "contracts")))
    wanted = points(planted) - refused
    orders = {
        "ranking": [(one.market, one.access_point) for one in found],
        "own mean, standard deviations": baseline(spans),
        "the same, after the season": seasonal_baseline(spans),
        "chance": [],
    }
    firsts = [n for n in (20, 50, 100) if n <= access_points]
    body = [
        [name, *(f"{precision(order, wanted, n) if order else len(wanted) / access_points:.2f}" for n in firsts)]
        for name, order in orders.items()
    ]
    lines = table(["order", *(f"planted among the first {n}" for n in firsts)], body)
    head = [(one.market, one.access_point) for one in found[: firsts[-1]]]
    kinds = {"drift": planted.drifts, "exchange": planted.exchanges, "power": planted.powers}
    shares = [
        [kind, str(len(known)), str(sum(("FR", prm_of(number)) in head for number in known))]
        for kind, known in kinds.items()
    ]
    told = f"{len(spans)} access points, {len(wanted)} with an anomaly that no rule refused."
    return [told, "", *lines, "", *table(["kind", "planted", f"among the first {firsts[-1]}"], shares)]


def _refused(engine: Engine) -> frozenset[Point]:
    """Access points that a rule or a wait keeps messages of."""
    sql = (
        "SELECT DISTINCT a.market, a.identifier FROM kernel_message k JOIN access_point a ON a.id = k.access_point_id "
        "WHERE k.state <> 'accepted'"
    )
    with engine.connect() as connection:
        return frozenset((row[0], row[1]) for row in connection.exec_driver_sql(sql))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="energycomm-bench-") as name:
        print("\n".join(compare(Path(name), f"sqlite:///{name}/eis.db", int(sys.argv[1]) if sys.argv[1:] else 1000)))
