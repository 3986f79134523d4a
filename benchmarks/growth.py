"""Does a message cost more when the store is full? CPU time a message while one store grows."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from benchmarks import table
from benchmarks.material import flat
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from energycomm.pipeline.progress import Progress, total

BYTES = 1_760
"""XML of one daily reading in the simulator's plain R151 file."""
WARM = 0.2
"""Share of the first span that is not counted: everything is done for the first time then."""


def milestones(most: int) -> list[int]:
    """Numbers of stored messages to look at: 10 000, 30 000, 100 000, ... up to the most; of a small most, its half."""
    found = [least * 10**power for power in range(4, 9) for least in (1, 3) if least * 10**power < most]
    return [*(found or [most // 2]), most]


class Watcher:
    """Notes the CPU time at each step of a run.

    Attributes:
      points: (messages stored, client CPU seconds, server CPU seconds).
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._stored = 0
        self.points: list[tuple[int, float, float]] = []

    def see(self, step: Progress) -> None:
        """Note what a step cost, where it stored messages."""
        stored = sum(step.tally.messages.values())
        if stored or not self.points:
            self._stored += stored
            self.points.append((self._stored, time.process_time(), self._served.seconds() or 0.0))

    def cost(self, first: int, last: int) -> tuple[float, float]:
        """Client and server CPU microseconds a message between two numbers of stored messages."""
        begin = min(self.points, key=lambda point: abs(point[0] - first))
        end = min(self.points, key=lambda point: abs(point[0] - last))
        messages = max(end[0] - begin[0], 1)
        return (end[1] - begin[1]) / messages * 1e6, (end[2] - begin[2]) / messages * 1e6


def grow(folder: Path, databases: dict[str, UrlOf], most: int) -> list[str]:
    """A table of the cost of a message at each size of the store, in Markdown.

    Args:
      folder: where the envelope is written.
      databases: name -> fresh databases.
      most: messages to store.
    """
    material = flat(folder, "R151", most * BYTES)
    rows = []
    for name, url_of in databases.items():
        url = url_of()
        with fresh_gateway(url) as gateway, closing(Served(url)) as served:
            way = gateway.inbound
            total(way.take(material.before, "bench"))
            # Steps that are shorter than what is compared.
            way.batch_size = min(way.batch_size, milestones(most)[0] // 4)
            watcher = Watcher(served)
            for step in way.take(material.files, "bench"):
                watcher.see(step)
        rows += _rows(name, watcher, most)
    return table(["database", "messages stored", "us a message", "against the first", "server, us a message"], rows)


def _rows(name: str, watcher: Watcher, most: int) -> list[list[str]]:
    marks = milestones(min(most, watcher.points[-1][0]))
    span = marks[0]
    first = watcher.cost(int(span * WARM), span)
    rows = []
    for mark in marks:
        client, server = first if mark == span else watcher.cost(mark - span, mark)
        growth = (client + server) / max(sum(first), 1e-9)
        rows.append([name, str(mark), f"{client:.0f}", f"{growth:.2f}", f"{server:.0f}" if server else "-"])
    return rows
