"""The repairs of simulated years foretold: which script frees a stuck message, or whether a person must take it up.

Of France, the Netherlands and Belgium, messages with mistakes of every rule are worked through as a consultant does:
the scripts of the library that need no parameters are run where they free something, and tickets are made for the rest.
What is learned sees the earlier part of the messages of some access points; the later messages of the others are
foretold.

Example: python -m benchmarks.repairs 150
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from assistant.repairs.foretelling import Foreteller
from assistant.repairs.records import Repair, Stuck, recorded
from benchmarks import table
from benchmarks.whole_path import fresh_gateway
from energycomm.config import load
from energycomm.correction.library import LoadedScript, load_scripts
from energycomm.correction.loop import loop
from energycomm.pipeline.gateway import open_catalogue
from energycomm.pipeline.progress import total
from energycomm.simulation.faults import FaultRates
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario

MARKETS = ("FR", "NL", "BE")
SEED = 29

Told = Callable[[Stuck], Sequence[str]]


def worked(market: str, access_points: int, folder: Path, url: str) -> list[Repair]:
    """The repairs of a simulated market."""
    simulator = load_simulator(market)
    assert simulator is not None
    faults = FaultRates({"grid_operator": 0.6, "lost-message": 0.15, "wrong-order": 0.15, "product": 0.05})
    months = max(10, simulator.fault_months)
    simulator.simulate(Scenario(access_points, months, SEED, daily_share=0.02, faults=faults), folder)
    with fresh_gateway(url) as gateway:
        total(gateway.inbound.take(sorted((folder / "envelopes").iterdir(), key=lambda path: path.name), "bench"))
        scripts = [_bold(one) for one in load_scripts(gateway.catalogue.rules, None).values()]
        loop(gateway.store, gateway.writer, scripts, by="bench", why="bench")
        return recorded(gateway.store.engine).repairs


@cache
def library() -> tuple[LoadedScript, ...]:
    """The scripts, with the codes of the rules that name them."""
    return tuple(load_scripts(open_catalogue(load().rules_folder).rules, None).values())


def _bold(script: LoadedScript) -> LoadedScript:
    """A script that is run by itself where it needs no parameters."""
    declared = script.declared
    needed = any(parameter.default is None for parameter in declared.parameters)
    return msgspec.structs.replace(script, declared=msgspec.structs.replace(declared, automatic=not needed))


def parted(found: Sequence[Repair]) -> tuple[list[Repair], list[Repair]]:
    """The first six tenths of the time of two thirds of the access points, and the later time of the others."""
    middle = found[int(len(found) * 0.6)].stuck.id if found else 0
    past = [one for one in found if one.stuck.id < middle and (one.stuck.point or 0) % 3]
    later = [one for one in found if one.stuck.id >= middle and not (one.stuck.point or 0) % 3]
    return past, later


def most_frequent(past: Iterable[Repair]) -> Told:
    """The plain baseline: the most frequent repairs of the first code of a message; of any where it is new."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    every: Counter[str] = Counter()
    for one in past:
        every[one.what] += 1
        for code in one.stuck.codes:
            counts[code][one.what] += 1

    def told(stuck: Stuck) -> list[str]:
        own = counts.get(stuck.codes[0], Counter()) if stuck.codes else Counter()
        return [what for what, _ in (own or every).most_common()]

    return told


def share(told: Told, later: Sequence[Repair], first: int) -> str:
    """Of how many repairs the one that was done is among the first that are named."""
    return f"{sum(one.what in told(one.stuck)[:first] for one in later) / max(len(later), 1):.2f}"


def compare(access_points: int, folder: Path) -> list[str]:
    """Both on each market and on all, as a table in Markdown."""
    body = []
    every: tuple[list[Repair], list[Repair]] = ([], [])
    for market in MARKETS:
        past, later = parted(worked(market, access_points, folder / market, f"sqlite:///{folder}/{market}.db"))
        every[0].extend(past)
        every[1].extend(later)
        body += _rows(market, past, later)
    body += _rows("all", *every)
    head = ["market", "learned from", "foretold", "order", "first right", "among the first 3"]
    kinds = Counter(one.what for one in every[1])
    return [*table(head, body), "", ", ".join(f"{what} {count}" for what, count in kinds.most_common())]


def _rows(market: str, past: list[Repair], later: list[Repair]) -> list[list[str]]:
    learnt, alone = Foreteller(past, library()), Foreteller(past)
    orders: dict[str, Told] = {
        "foretold": lambda stuck: [one.what for one in learnt.foretell(stuck)],
        "without what scripts say of themselves": lambda stuck: [one.what for one in alone.foretell(stuck)],
        "most frequent of the code": most_frequent(past),
    }
    return [
        [market, str(len(past)), str(len(later)), name, share(told, later, 1), share(told, later, 3)]
        for name, told in orders.items()
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="energycomm-bench-") as name:
        print("\n".join(compare(int(sys.argv[1]) if sys.argv[1:] else 150, Path(name))))
