"""What one worker of the daemon costs in each market: CPU time from archived envelopes to the last commit.

It does in this process what a worker does: claims groups, and processes each. No other process is in the way, so that
the figures depend on nothing but the work; what several workers do beside each other is told by `benchmarks.workers`.
"""

from __future__ import annotations

import gc
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks import table
from benchmarks.material import Material, bare_parse
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from benchmarks.workers import MARKETS, archived, material
from energycomm.daemon.claims import claim
from energycomm.daemon.locks import open_locks
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import Progress

ATTEMPTS = 5
"""Workers that may die on one envelope; none does here."""


class Cost(NamedTuple):
    """What a worker did, in CPU seconds.

    Attributes:
      messages: Kernel messages that it judged.
      groups: in which it did so.
      client: of the worker.
      server: of the database server; None where it cannot be told.
    """

    messages: int
    groups: int
    client: float
    server: float | None


def measure(found: Material, url: str) -> Cost:
    """Process envelopes into a fresh database as a worker does.

    Args:
      found: the envelopes.
      url: an empty database of PostgreSQL.
    """
    with fresh_gateway(url) as gateway, closing(Served(url)) as watched:
        archived(gateway, found.before)
        process(gateway)
        archived(gateway, found.files)
        gc.collect()
        served, begun = watched.seconds(), time.process_time()
        messages, groups = process(gateway)
        client = time.process_time() - begun
        server = None if served is None else (watched.seconds() or 0.0) - served
    return Cost(messages, groups, client, server)


def process(gateway: Gateway) -> tuple[int, int]:
    """Claim and process what is archived; the Kernel messages and the groups."""
    progress, groups = Progress(), 0
    locks = open_locks(gateway.store.engine)
    try:
        holder = locks.holder()
        assert holder is not None
        while group := claim(gateway.store, holder, ATTEMPTS):
            groups += 1
            for step in gateway.inbound.process_together([one.envelope for one in group]):
                progress.add(step)
    finally:
        locks.close()
    return sum(progress.tally.messages.values()), groups


def compare(folder: Path, url_of: UrlOf | None, access_points: int, months: int, rounds: int) -> list[str]:
    """A table of the cost in each market, in Markdown.

    Args:
      folder: where the envelopes are written.
      url_of: makes databases of PostgreSQL; None where there is none.
      access_points, months: what is simulated of each market.
      rounds: the best of so many counts, as of the bare parse.
    """
    if url_of is None:
        return ["A worker needs PostgreSQL: nothing was measured."]
    head = ["market", "envelopes", "groups", "documents, MB", "Kernel messages", "bare parse, us a message"]
    head += ["worker, times the bare parse", "server, times the bare parse", "worker, us a message", "server"]
    rows = []
    for market in MARKETS:
        found = material(folder / market, market, access_points, months)
        runs = []
        bare = float("inf")
        for _ in range(rounds):
            bare = min(bare, bare_parse(found.files))
            runs.append(measure(found, url_of()))
        done = min(runs, key=lambda one: one.client)
        each = 1e6 / max(done.messages, 1)
        rows.append(
            [
                market,
                str(len(found.files)),
                str(done.groups),
                f"{found.xml / 1e6:.1f}",
                str(done.messages),
                f"{bare * each:.1f}",
                f"**{done.client / bare:.1f}**",
                "-" if done.server is None else f"{done.server / bare:.1f}",
                f"{done.client * each:.0f}",
                "-" if done.server is None else f"{done.server * each:.0f}",
            ]
        )
    return table(head, rows)
