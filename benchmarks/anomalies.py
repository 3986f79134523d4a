"""A simulated year with anomalies that no rule sees, and what finds them: the ranking against a plain baseline.

The people of this year have habits that the simulator's do not: noise that lasts for some weeks, absences, a season
of their own, and a subscribed power that suits what they use. The ranking knows nothing of how they are made. Anomalies
are planted before anything is written: meters that run slow or fast more and more, meters that are read for each other,
powers that are not those of the point, day and night taken for each other or another use at week-ends from a day on,
and charges of more or less energy than the meter counted. Messages go the whole way, and what a rule refuses is no
anomaly any more.

Example: python -m benchmarks.anomalies 1000
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean, median, pstdev
from typing import Any, NamedTuple

from sqlalchemy import Engine

from adapters.fr_enedis.simulator.codes import prm_of
from adapters.fr_enedis.simulator.drafting import Consumed
from adapters.fr_enedis.simulator.lives import FrenchPlay
from assistant.anomalies.energy import Point
from assistant.anomalies.expectation import Series, rates
from assistant.anomalies.ranking import Followed, ranked
from assistant.anomalies.stored import followed
from benchmarks import table
from benchmarks.whole_path import fresh_gateway
from energycomm.pipeline.progress import total
from energycomm.simulation.consumption import Bands, Draw, Load
from energycomm.simulation.lives import Life
from energycomm.simulation.playing import play
from energycomm.simulation.scenario import Scenario
from energycomm.simulation.staging import Draft

POWERS = (3, 6, 9, 12, 15, 18, 24, 36)
"""Subscribed powers in kVA."""

EACH = 2
"""Of each kind of anomaly so many in a hundred access points."""

SATURDAY = 5

MWH_A_KVA = 0.45
"""Yearly use that a power is chosen for, about."""


class Planted(NamedTuple):
    """What is planted.

    Attributes:
      drifts: number of an access point -> change a day of the logarithm of what its meter shows, and the day it begins.
      exchanges: number of an access point -> the other one, and the day.
      powers: number of an access point -> its wrong power.
      calendars: number of an access point -> change of the logarithm of what it uses on a day of the week-end, or None
        where peak and off-peak hours are taken for each other, and the day from which on.
      charges: number of an access point -> factor of the energy charged, the day from which on, for one month alone.
    """

    drifts: Mapping[int, tuple[float, int]]
    exchanges: Mapping[int, tuple[int, int]]
    powers: Mapping[int, int]
    calendars: Mapping[int, tuple[float | None, int]]
    charges: Mapping[int, tuple[float, int, bool]]

    def numbers(self) -> frozenset[int]:
        """All access points concerned."""
        return frozenset((*self.drifts, *self.exchanges, *self.powers, *self.calendars, *self.charges))


def plant(scenario: Scenario, each: int) -> Planted:
    """Draw so many of each kind, all of different points."""
    rng = Random(f"planted {scenario.seed}")
    lives = [life for life in FrenchPlay(scenario).lives if _supplied(life, scenario.days)]
    classed = rng.sample([life.number for life in lives if life.daily and _classes(life, scenario.days // 2)], each)
    numbers = rng.sample([life.number for life in lives if life.number not in classed], 4 * each)
    drifting, exchanged, powered, charged = (numbers[part * each : (part + 1) * each] for part in range(4))
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
    powers = {number: rng.choice((-1, 1)) for number in powered}
    calendars, charges = {}, {}
    for place, number in enumerate(classed):
        size = rng.choice((-1, 1)) * rng.uniform(0.4, 0.8) if place % 2 else None
        calendars[number] = (size, rng.randrange(days // 4, 3 * days // 4))
    for place, number in enumerate(charged):
        factor = math.exp(rng.choice((-1, 1)) * rng.uniform(0.3, 0.8))
        charges[number] = (factor, rng.randrange(days // 4, 3 * days // 4), place % 2 == 0)
    return Planted(drifts, exchanges, powers, calendars, charges)


def habits(load: Load, rng: Random, first: int, last: int, weekday: int) -> list[Bands]:
    """What a person draws, day by day: a plain load, made uneven.

    Args:
      load: the plain load.
      rng: of this person.
      first, last: days that are drawn for.
      weekday: of day 0, from Monday on.
    """
    follows, noise, level = rng.uniform(0.5, 1.3), 0.0, 0.0
    free, hours = rng.gauss(0.1, 0.15), 0.0
    away = {start + n for start in rng.sample(range(first, last), 3) for n in range(rng.randrange(4, 12))}
    plain = [load.until(day, 0) for day in range(first, last + 1)]
    usual = mean(sum(after) - sum(before) for before, after in pairwise(plain))
    days = []
    for day, (before, after) in enumerate(pairwise(plain), first):
        if day % 7 == 0:
            noise = 0.6 * noise + rng.gauss(0, 0.1)
            hours = 0.6 * hours + rng.gauss(0, 0.06)
        if rng.random() < 1 / 700:
            level += rng.gauss(0, 0.06)
        drawn = max(sum(after) - sum(before), 1)
        factor = (drawn / usual) ** (follows - 1) * math.exp(noise + level + rng.gauss(0, 0.15))
        factor *= 0.3 if day in away else 1.0
        factor *= math.exp(free) if (weekday + day) % 7 >= SATURDAY else 1.0
        off = math.exp(hours + rng.gauss(0, 0.1))
        parts = zip(before, after, (1.0, off, 1.0, off), strict=True)
        days.append(Bands(*(int((b - a) * factor * one) for a, b, one in parts)))
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


def _classes(life: Life, day: int) -> bool:
    """Whether its meter counts peak and off-peak hours."""
    situation = life.supplied_through(day)
    return situation is not None and (situation.terms.peak or (situation.terms.seasonal and situation.meter.smart))


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
        if number in self.planted.calendars:
            size, day = self.planted.calendars[number]
            for place in range(day - first, len(days)):
                one = days[place]
                if size is None:
                    days[place] = Bands(one.off_peak_high, one.peak_high, one.off_peak_low, one.peak_low)
                elif (self._weekday + place + first) % 7 >= SATURDAY:
                    days[place] = Bands(*(int(part * math.exp(size)) for part in one))
        return Shown(days, first)

    def _charged(self, last: int) -> Iterator[Draft]:
        """What every access point is charged; some for another energy than the meter counted."""
        until = self.almanac.civil(last)
        for number, (factor, day, once) in self.planted.charges.items():
            if day <= last and not (once and last - day > 31):
                memory = self.drafter.memory(number)
                memory.consumed = [_for_another(one, factor) if one.last <= until else one for one in memory.consumed]
        yield from super()._charged(last)

    @property
    def _weekday(self) -> int:
        return self.almanac.civil(0).weekday()

    def _habits(self, number: int, load: Load, first: int, last: int) -> list[Bands]:
        return habits(load, Random(f"habits {self.scenario.seed} {number}"), first, last, self._weekday)


def _for_another(consumed: Consumed, factor: float) -> Consumed:
    return consumed._replace(energies={name: int(energy * factor) for name, energy in consumed.energies.items()})


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


def every_series(known: Followed) -> list[Series]:
    """All that is followed: the energy a day, its time classes and week-ends, charges against it."""
    found: list[Series] = [rates(known.used), *(pattern.series for pattern in known.patterns)]
    return [*found, *known.charged.quantity.values(), *known.charged.amount.values()]


def baseline(every: Iterable[Series]) -> list[Point]:
    """A plain baseline: points in the order of the largest distance of one of their values from their own mean, in
    their own standard deviations; three or more is what a control chart calls out."""
    scores: dict[Point, float] = {}
    for series in every:
        for point, told in series.items():
            values = [math.exp(one.rate) for one in told]
            width = pstdev(values) if len(values) > 1 else 0.0
            if values and width > 1e-6 * mean(values):
                score = max(abs(value - mean(values)) for value in values) / width
                scores[point] = max(scores.get(point, 0.0), score)
    return sorted(scores, key=lambda point: (-scores[point], point))


def seasonal_baseline(every: Iterable[Series]) -> list[Point]:
    """A better one: the same after each value is divided by the median of its week over all points."""
    return baseline([_without_season(series) for series in every])


def _without_season(series: Series) -> Series:
    weeks: dict[tuple[int, int], list[float]] = {}
    for told in series.values():
        own = mean(one.rate for one in told) if told else 0.0
        for one in told:
            weeks.setdefault(one.end.isocalendar()[:2], []).append(one.rate - own)
    season = {week: median(values) for week, values in weeks.items()}
    return {
        point: [one._replace(rate=one.rate - season[one.end.isocalendar()[:2]]) for one in told]
        for point, told in series.items()
    }


def precision(order: Iterable[Point], anomalous: frozenset[Point], first: int) -> float:
    """Share of the first so many that are planted."""
    head = list(order)[:first]
    return sum(point in anomalous for point in head) / max(len(head), 1)


def compare(folder: Path, url: str, access_points: int) -> list[str]:
    """Play the year, take it in, and say how many of the first ones are planted, as a table in Markdown.

    Args:
      folder: for the envelopes.
      url: an empty database.
      access_points: of the year; two in a hundred get an anomaly of each kind.
    """
    scenario = Scenario(access_points, 12, seed=7, daily_share=0.6)
    planted = plant(scenario, EACH * access_points // 100)
    play(scenario, LivedPlay, folder)
    with fresh_gateway(url) as gateway:
        total(gateway.inbound.take(sorted((folder / "envelopes").iterdir(), key=lambda path: path.stem[-14:]), "bench"))
        engine = gateway.store.engine
        refused = _refused(engine)
        known = followed(engine)
        found = ranked(known)
    wanted = points(planted) - refused
    orders = {
        "ranking": [(one.market, one.access_point) for one in found],
        "own mean, standard deviations": baseline(every_series(known)),
        "the same, after the season": seasonal_baseline(every_series(known)),
        "chance": [],
    }
    firsts = [n for n in (20, 50, 100) if n <= access_points]
    body = [
        [name, *(f"{precision(order, wanted, n) if order else len(wanted) / access_points:.2f}" for n in firsts)]
        for name, order in orders.items()
    ]
    lines = table(["order", *(f"planted among the first {n}" for n in firsts)], body)
    head = [(one.market, one.access_point) for one in found[: firsts[-1]]]
    kinds: dict[str, Mapping[int, object]] = {
        "drift": planted.drifts,
        "exchange": planted.exchanges,
        "power": planted.powers,
        "calendar": planted.calendars,
        "charge": planted.charges,
    }
    shares = [
        [kind, str(len(own)), str(sum(("FR", prm_of(number)) in head for number in own))] for kind, own in kinds.items()
    ]
    told = f"{len(known.used)} access points, {len(wanted)} with an anomaly that no rule refused."
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
