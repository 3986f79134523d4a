"""The whole path, from the file to the last commit: CPU time against a bare parse, and the share of each stage."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import make_url

from benchmarks import table
from benchmarks.material import Material, bare_parse, bare_parse_of_pieces
from benchmarks.stages import STAGES, on_the_clock, server_seconds
from energycomm import logs
from energycomm.config import Config
from energycomm.eis.database import opened
from energycomm.eis.migrations import upgrade
from energycomm.eis.store import Store
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.progress import total

UrlOf = Callable[[], str]
"""Makes a fresh database and says its URL."""


class Run(NamedTuple):
    """What one run cost, in CPU seconds.

    Attributes:
      messages: Kernel messages that were judged.
      transactions: CH messages.
      client: of this process.
      server: of the database server; None for SQLite, or where it cannot be told.
      stages: of each stage; empty when it was not asked for.
    """

    messages: int
    transactions: int
    client: float
    server: float | None
    stages: dict[str, float]


@contextmanager
def fresh_gateway(url: str, engine: str = "parallel", processes: int = 1) -> Iterator[Gateway]:
    """A gateway on an empty database, which gets its tables."""
    logs.configure("text", "error")
    settings: dict[str, Any] = {"database": url, "engine": engine, "processes": processes}
    with opened(url) as database:
        upgrade(database)
        yield Gateway(Config(**settings), Store(database))


def process(material: Material, url: str, *, stages: bool = False, engine: str = "parallel") -> Run:
    """Process envelopes into a fresh database.

    Args:
      material: what to process.
      url: an empty database.
      stages: measure each stage too; the clocks themselves cost a few percent.
      engine: rules engine.
    """
    with fresh_gateway(url, engine) as gateway:
        way = gateway.inbound
        total(way.take(material.before, "bench"))
        gc.collect()
        with closing(Served(url)) as watched, on_the_clock(way) if stages else nullcontext() as clock:
            served = watched.seconds()
            begun = time.process_time()
            done = total(way.take(material.files, "bench")).tally
            client = time.process_time() - begun
            server = None if served is None else (watched.seconds() or 0.0) - served
        return Run(
            sum(done.messages.values()),
            sum(done.transactions.values()),
            client,
            server,
            dict(clock.seconds) if clock is not None else {},
        )


class Served:
    """CPU time of the server behind a URL."""

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._connection: Any = None
        if address.get_backend_name() == "postgresql":
            plain = address.set(drivername="postgresql").render_as_string(hide_password=False)
            self._connection = psycopg.connect(plain, autocommit=True)

    def seconds(self) -> float | None:
        """So far; None for SQLite, which has no server, or where it cannot be told."""
        return None if self._connection is None else server_seconds(self._connection)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()


def compare(materials: list[Material], databases: dict[str, UrlOf], rounds: int) -> list[str]:
    """Tables of the whole path and of its stages, in Markdown."""
    head = ["material", "XML, MB", "Kernel messages", "database", "times the bare parse", "times the least parse"]
    head += ["server, times the bare parse", "us a Kernel message"]
    rows: list[list[str]] = []
    shares: list[list[str]] = []
    for material in materials:
        # In turn, and the best of each: what else the machine does falls on all of them.
        bare, least, runs = math.inf, math.inf, dict[str, list[Run]]()
        for _ in range(rounds):
            bare, least = min(bare, bare_parse(material.files)), min(least, bare_parse_of_pieces(material.files))
            for name, url_of in databases.items():
                runs.setdefault(name, []).append(process(material, url_of()))
        for name, url_of in databases.items():
            run = min(runs[name], key=lambda one: one.client)
            rows.append(
                [
                    material.name,
                    f"{material.xml / 1e6:.1f}",
                    str(run.messages),
                    name,
                    f"**{run.client / bare:.1f}**",
                    f"{run.client / least:.1f}",
                    "-" if run.server is None else f"{run.server / bare:.1f}",
                    f"{run.client / max(run.messages, 1) * 1e6:.0f}",
                ]
            )
            timed = process(material, url_of(), stages=True).stages
            total = sum(timed.values())
            shares.append([material.name, name, *(f"{seconds / total:.0%}" for seconds in timed.values())])
    return [
        *table(head, rows),
        "",
        "Share of each stage in the CPU time of the client:",
        "",
        *table(["material", "database", *STAGES], shares),
    ]


def sqlite_urls(folder: Path) -> UrlOf:
    """Fresh SQLite files in a folder."""
    count = iter(range(1, 10_000))
    return lambda: f"sqlite:///{folder}/bench{next(count)}.db"
