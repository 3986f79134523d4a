"""Stored messages judged again under a changed rule: in one process, and on nodes of Ray of one core each."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks import cpu_seconds, table
from benchmarks.material import READING, flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from energycomm.bulk.buckets import BUCKET_MESSAGES
from energycomm.bulk.cluster import Cluster
from energycomm.bulk.judging import Question, Shift
from energycomm.bulk.verdicts import judged_again
from energycomm.bulk.workers import Processes, Workers
from energycomm.correction.impact import question
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total
from tests import ray_nodes

CHANGED = ("fr/readings.yaml", "<= most_wh(history.subscribed_power, previous.days)", "<= 25000 * previous.days")
"""File of a rule, what it says, and what instead: a reading of more than 25 kWh a day is refused, one in a hundred."""

BUCKETS = 20
"""Into which the messages are put at least, so that two nodes have as much to do."""
RAY = (("one node", 1), ("two nodes", 2), ("two nodes, one of them killed", 2))
"""Runs on a cluster, and how many nodes each has."""


class Run(NamedTuple):
    """What a run cost and found, without the writing of its buckets.

    Attributes:
      asking: CPU seconds of the process that asks.
      judging: CPU seconds of what judged on each node that was left at the end; of none without Ray.
      ray: CPU seconds of all processes of these nodes.
      wall: seconds by the clock.
      judged: messages.
      shifts: the verdicts that would change.
    """

    asking: float
    judging: list[float]
    ray: float
    wall: float
    judged: int
    shifts: list[Shift]


def compare(folder: Path, databases: dict[str, UrlOf], messages: int) -> list[str]:
    """A table of CPU time and of what was found, in Markdown.

    Args:
      folder: where the envelope and the buckets are written.
      databases: name -> fresh databases; the first is read.
      messages: daily readings to store.
    """
    if find_spec("ray") is None:
        return ["Ray is not installed: `make .venv/.installed-cluster`."]
    url_of = next(iter(databases.values()))
    material = flat(folder / "readings", "R151", messages * READING)
    with fresh_gateway(url_of()) as gateway:
        total(gateway.inbound.take([*material.before, *material.files], "bench"))
        asked = changed(gateway, folder / "rules")
        runs: dict[str, Run] = {}
        for words, run in _runs(gateway, asked, folder, messages):
            runs[words] = run
            # Where a later node does not start, this is what is left of an hour.
            print(words, *_row(run, runs, same=_same(run, runs)), sep=" | ", file=sys.stderr, flush=True)
    rows = [[words, *_row(run, runs, same=_same(run, runs))] for words, run in runs.items()]
    head = ["judged by", "messages", "s by the clock", "CPU s of who asks", "CPU s of each that judged"]
    head += ["messages a CPU second of those", "CPU s of all of Ray", "against one node, reckoned for idle cores"]
    return table([*head, "verdicts that change", "found the same"], rows)


def _same(run: Run, runs: dict[str, Run]) -> bool:
    """Whether a run judged as many messages as one process, and found the same."""
    return run[-2:] == runs["one process"][-2:]


def _row(run: Run, runs: dict[str, Run], *, same: bool) -> list[str]:
    judging = run.judging or [run.asking]
    one = runs.get("one node")
    # Where the slowest is done, all are: what one node takes for all of it, against that.
    against = f"{max(one.judging) / max(judging):.2f}" if one is not None and len(run.judging) > 1 else "-"
    found = [
        str(run.judged),
        f"{run.wall:.0f}",
        f"{run.asking:.1f}",
        " + ".join(f"{seconds:.1f}" for seconds in judging),
    ]
    found += [f"{run.judged / sum(judging):.0f}", f"{run.ray:.0f}" if run.judging else "-", against]
    return [*found, str(len(run.shifts)), "yes" if same else "**no**"]


def changed(gateway: Gateway, folder: Path) -> Question:
    """The question whose rules are those of the gateway but for one condition."""
    shutil.copytree(gateway.config.rules_folder, folder)
    name, condition, instead = CHANGED
    text = (folder / name).read_text(encoding="utf-8")
    assert text.count(condition) == 1, f"{name} does not say {condition} any more"
    (folder / name).write_text(text.replace(condition, instead), encoding="utf-8")
    return question(folder, gateway.markets, 0)


def _runs(gateway: Gateway, asked: Question, folder: Path, messages: int) -> Iterator[tuple[str, Run]]:
    """One process, one node, two, and two of which one dies when half is done."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ray_nodes.TOKEN.items():
            patch.setenv(name, value)
        yield "one process", _run(gateway, asked, folder / "one", Processes(1), None, messages)
        for words, number in RAY:
            with ray_nodes.cluster(number) as nodes:
                print(words, "of Ray there", file=sys.stderr, flush=True)
                place, workers = folder / words.replace(" ", "-"), _joined(nodes.address)
                yield words, _run(gateway, asked, place, workers, nodes, messages, dies="killed" in words)


def _joined(address: str) -> Cluster:
    """A cluster that was just started: its client server waits 30 s for its first process, which may take longer."""
    for _ in range(ray_nodes.ATTEMPTS - 1):
        with suppress(UserError):
            return Cluster(address)
    return Cluster(address)


def _run(
    gateway: Gateway,
    asked: Question,
    folder: Path,
    workers: Workers,
    nodes: ray_nodes.Cluster | None,
    messages: int,
    *,
    dies: bool = False,
) -> Run:
    begun = [cpu_seconds(), time.monotonic()]
    judging: list[float] = []

    def watch(done: int, of: int) -> None:
        if done == 0:  # the buckets are written
            begun[:] = cpu_seconds(), time.monotonic()
        if dies and nodes is not None and len(nodes.nodes) > 1 and done >= of / 2:
            nodes.kill(nodes.nodes[1])
        if done == of and nodes is not None:  # what judged ends with the run
            judging[:] = [node.judging() for node in nodes.nodes]

    engine, markets = gateway.store.engine, gateway.markets
    size = min(BUCKET_MESSAGES, max(messages // BUCKETS, 1))
    with judged_again(engine, markets, asked, folder, workers, size=size, watch=watch) as run:
        asking, wall = cpu_seconds() - begun[0], time.monotonic() - begun[1]
        left = [] if nodes is None else nodes.nodes
        return Run(asking, judging, sum(node.cpu() for node in left), wall, run.judged, list(run.shifts()))
