"""One rule left out of everything: are the messages that only it would refuse among the first hundred that are shown?

Ten rules of France, the Netherlands and Belgium. Of each market the error codes are put in order that some mistake of
its simulator brings about alone, and each n-th is taken, n so that four of the first market and three of the others
are. What is learned sees neither the rule, nor the predicates and code lists that only it uses, nor the verdicts that
name it: its messages count as accepted.

Example: python -m benchmarks.rules_left_out 150
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

from assistant.classifier.material import Case, cases, stored_verdicts
from assistant.invariants.mining import Mined, mined
from assistant.invariants.ranking import grouped, ranked
from assistant.invariants.vocabulary import without
from assistant.invariants.weighing import weighed
from benchmarks import table
from benchmarks.whole_path import fresh_gateway
from energycomm.engine.catalogue import Catalogue
from energycomm.kernel.shape import shape_of
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario

MARKETS = {"FR": 4, "NL": 3, "BE": 3}
"""Market -> how many of its rules are left out."""

FIRST = 100
SEED = 23


def chosen(single: Iterable[str], count: int) -> list[str]:
    """Each n-th of some codes in order, so many.

    >>> chosen(["A-A01", "A-A02", "A-A03", "A-A04", "A-A05", "A-A06"], 3)
    ['A-A01', 'A-A03', 'A-A05']
    """
    codes = sorted(set(single))
    return codes[:: max(len(codes) // count, 1)][:count]


def lived(market: str, access_points: int, folder: Path, url: str) -> tuple[Catalogue, list[Case]]:
    """The judged messages of a simulated market with mistakes of every rule, with their histories."""
    simulator = load_simulator(market)
    assert simulator is not None
    faults = FaultRates({"grid_operator": 0.8, "lost-message": 0.03, "wrong-order": 0.03})
    months = max(10, simulator.fault_months)
    simulator.simulate(Scenario(access_points, months, SEED, daily_share=0.02, faults=faults), folder)
    with fresh_gateway(url) as gateway:
        total(gateway.inbound.take(sorted((folder / "envelopes").iterdir(), key=lambda path: path.name), "bench"))
        stored, _ = stored_verdicts(gateway.store)
        return gateway.catalogue, list(cases(gateway.store, gateway.engine, gateway.markets, stored))


def accepted_too(known: Sequence[Case], code: str) -> list[Case]:
    """The messages of a house that does not have a rule."""
    left = []
    for case in known:
        codes = tuple(one for one in case.stored.codes if one != code)
        left.append(case if codes == case.stored.codes else replace(case, stored=replace(case.stored, codes=codes)))
    return left


class House:
    """A market's messages, and what is learned of its kinds.

    Args:
      catalogue: the rules.
      market: the market.
      known: its messages.
    """

    def __init__(self, catalogue: Catalogue, market: str, known: Sequence[Case]) -> None:
        self.catalogue, self.market = catalogue, market
        self.kinds: dict[str, list[Case]] = defaultdict(list)
        for case in known:
            self.kinds[case.stored.kind].append(case)
        self.single = [case.stored.codes[0] for case in known if len(case.stored.codes) == 1]
        self._whole: dict[str, list[Mined]] = {}

    def ranking(self, code: str) -> list[int]:
        """The numbers of messages without a rule, in the order in which they are shown."""
        words = without(self.catalogue, frozenset((code,)))
        found: list[Mined] = []
        wrong: dict[int, str] = {}
        for kind, known in self.kinds.items():
            left = accepted_too(known, code)
            wrong |= {case.stored.id: case.stored.codes[0] for case in left if len(case.stored.codes) == 1}
            if any(code in case.stored.codes for case in known):
                found += mined(words, self.market, kind, left)
            else:
                if kind not in self._whole:
                    self._whole[kind] = mined(self.catalogue, self.market, kind, known)
                found += self._whole[kind]
        return list(ranked(grouped(found, weighed(found, wrong))))

    def accepted(self, code: str) -> list[Case]:
        """The messages that are accepted without a rule."""
        return [case for known in self.kinds.values() for case in accepted_too(known, code) if not case.stored.codes]


def rarest(known: Sequence[Case]) -> list[int]:
    """A plain baseline: the product of the shares of a message's words among those of its kind, the least first."""
    counts: dict[tuple[str, str], Counter[object]] = defaultdict(Counter)
    rows = [(case, list(_words(case))) for case in known]
    for _, words in rows:
        for name, value in words:
            counts[name][value] += 1
    scores = {
        case.stored.id: mean(counts[name][value] / counts[name].total() for name, value in words)
        for case, words in rows
    }
    return sorted(scores, key=lambda number: (scores[number], number))


def farthest(known: Sequence[Case]) -> list[int]:
    """Another: the largest distance of a number from the median of its kind, in median distances."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    rows = [(case.stored.id, list(_numbers(case))) for case in known]
    for _, numbers in rows:
        for name, value in numbers:
            values[name].append(value)
    middles = {name: median(own) for name, own in values.items()}
    widths = {name: median(abs(one - middles[name]) for one in own) or 1.0 for name, own in values.items()}
    scores = {
        number: max((abs(value - middles[name]) / widths[name] for name, value in numbers), default=0.0)
        for number, numbers in rows
    }
    return sorted(scores, key=lambda number: (-scores[number], number))


def _words(case: Case) -> Iterable[tuple[tuple[str, str], object]]:
    kind = type(case.message)
    for one in shape_of(kind).attributes:
        if one.scalar.name in ("word", "text", "truth") and one.field not in ("reference", "access_point"):
            yield (kind.__name__, one.field), getattr(case.message, one.field)
    for child in shape_of(kind).children:
        for item in getattr(case.message, child.field) if child.many else ():
            for one in shape_of(child.part).attributes:
                if one.scalar.name in ("word", "text", "truth"):
                    yield (kind.__name__, f"{child.field}.{one.field}"), getattr(item, one.field)


def _numbers(case: Case) -> Iterable[tuple[tuple[str, str], float]]:
    kind = type(case.message)
    for one in shape_of(kind).attributes:
        value = getattr(case.message, one.field)
        if one.scalar.name in ("integer", "decimal") and value is not None:
            yield (kind.__name__, one.field), float(value)
    for child in shape_of(kind).children:
        for item in getattr(case.message, child.field) if child.many else ():
            for one in shape_of(child.part).attributes:
                value = getattr(item, one.field)
                if one.scalar.name in ("integer", "decimal") and value is not None:
                    yield (kind.__name__, f"{child.field}.{one.field}"), float(value)


def share(order: Sequence[int], wanted: frozenset[int]) -> float:
    """The share of the wanted among the first hundred."""
    return len(wanted.intersection(order[:FIRST])) / len(wanted)


def compare(access_points: int, folder: Path) -> Iterable[str]:
    """Leave the rules out one by one; a line of a table in Markdown for each, then the means."""
    body: list[list[str]] = []
    shares: Mapping[str, list[float]] = {name: [] for name in ("invariants", "rarest", "farthest", "chance")}
    for market, count in MARKETS.items():
        catalogue, judged = lived(market, access_points, folder / market, f"sqlite:///{folder}/{market}.db")
        house = House(catalogue, market, judged)
        for code in chosen(house.single, count):
            known = house.accepted(code)
            wanted = frozenset(
                case.stored.id for own in house.kinds.values() for case in own if case.stored.codes == (code,)
            )
            orders = {"invariants": house.ranking(code), "rarest": rarest(known), "farthest": farthest(known)}
            found = {name: share(order, wanted) for name, order in orders.items()}
            found["chance"] = min(FIRST / len(known), 1.0)
            for name, value in found.items():
                shares[name].append(value)
            body.append(
                [market, code, str(len(known)), str(len(wanted)), *(f"{value:.2f}" for value in found.values())]
            )
            print(body[-1], file=sys.stderr, flush=True)
    body.append(["", "mean", "", "", *(f"{mean(values):.2f}" for values in shares.values())])
    return table(["market", "rule left out", "accepted", "only it refuses", *shares], body)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="energycomm-bench-") as name:
        print("\n".join(compare(int(sys.argv[1]) if sys.argv[1:] else 150, Path(name))))
