"""How much a broken invariant says: learned from the messages that rules refused, and those that were taken back later.

An invariant of the same form, as deep, as well supported and as rarely broken says as much as others of its kind did:
how often messages that broke such an invariant turned out to be wrong, against how often they did not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assistant.invariants.contents import Bits
from assistant.invariants.mining import Invariant, Mined

Trait = tuple[str, str]


@dataclass(frozen=True)
class Broken:
    """An invariant with the accepted messages that break it.

    Attributes:
      invariant: what they break.
      mined: what it was learned from.
      rows: the rows that break it.
      points: access points that break it.
    """

    invariant: Invariant
    mined: Mined
    rows: Bits
    points: int


@dataclass(frozen=True)
class Weights:
    """Natural logarithm of the odds that a message which breaks an invariant is wrong, trait by trait.

    Attributes:
      traits: of each trait.
    """

    traits: Mapping[Trait, float]

    def of(self, invariant: Invariant, points: int) -> float:
        """The weight of an invariant that so many access points break."""
        return sum(self.traits.get(trait, 0.0) for trait in traits_of(invariant, points))


def traits_of(invariant: Invariant, points: int) -> Iterator[Trait]:
    """What is looked at of an invariant."""
    yield "form", f"{invariant.form} {'past' if invariant.past else 'own'}"
    yield "depth", str(invariant.depth)
    yield "points", str(min(points, 9).bit_length())
    yield "support", str(min(int(math.log10(invariant.support) * 2), 8))
    yield "each", str(invariant.each is not None)


def weighed(found: Sequence[Mined], wrong: Mapping[int, str]) -> Weights:
    """Learn the weights.

    Args:
      found: invariants with their messages.
      wrong: number of a message -> why it is known to be wrong: the rule that alone refused it, or how it was taken
        back. Each reason counts once, however many messages it has.
    """
    good: dict[Trait, float] = defaultdict(float)
    bad: dict[Trait, float] = defaultdict(float)
    for traits, share in _told(found, wrong):
        for trait in traits:
            bad[trait] += share
    for traits, share in _innocent(found, wrong):
        for trait in traits:
            good[trait] += share
    names = {name for name, _ in (*good, *bad)}
    totals = {name: (_sum(good, name), _sum(bad, name)) for name in names}
    weights = {}
    for trait in {*good, *bad}:
        total_good, total_bad = totals[trait[0]]
        weights[trait] = math.log(((bad[trait] + 1) / (total_bad + 4)) / ((good[trait] + 1) / (total_good + 4)))
    return Weights(weights)


def _sum(counts: Mapping[Trait, float], name: str) -> float:
    return sum(count for (own, _), count in counts.items() if own == name)


def _told(found: Sequence[Mined], wrong: Mapping[int, str]) -> Iterator[tuple[list[Trait], float]]:
    """The invariants that messages known to be wrong break: of each reason all of them share one."""
    by_reason: dict[str, list[list[Trait]]] = defaultdict(list)
    for one in found:
        contents = one.contents
        for invariant in one.invariants:
            refused = invariant.broken & ~contents.accepted
            reasons: dict[str, set[str]] = defaultdict(set)
            for place in contents.messages(refused):
                case = contents.cases[place]
                if case.stored.id in wrong:
                    reasons[wrong[case.stored.id]].add(case.access_point)
            own = contents.points(invariant.broken & contents.accepted) if reasons else 0
            for reason, points in reasons.items():
                by_reason[reason].append(list(traits_of(invariant, own + len(points))))
    for each in by_reason.values():
        yield from ((traits, 1 / len(each)) for traits in each)


def _innocent(found: Sequence[Mined], wrong: Mapping[int, str]) -> Iterator[tuple[list[Trait], float]]:
    """The invariants that accepted messages break: of each message all of them share one."""
    for one in found:
        by_message: dict[int, list[list[Trait]]] = defaultdict(list)
        for broken in broken_of([one]):
            traits = list(traits_of(broken.invariant, broken.points))
            for place in one.contents.messages(broken.rows):
                by_message[place].append(traits)
        for each in by_message.values():
            yield from ((traits, 1 / len(each)) for traits in each)


def broken_of(found: Iterable[Mined]) -> list[Broken]:
    """The invariants that accepted messages break."""
    broken = []
    for one in found:
        for invariant in one.invariants:
            rows = invariant.broken & one.contents.accepted
            if rows:
                broken.append(Broken(invariant, one, rows, one.contents.points(rows)))
    return broken
