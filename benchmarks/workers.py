"""How much one worker of the daemon does, and two, in each market: from archived envelopes to the last commit.

The envelopes lie archived before the clock starts, and the workers wait: what is measured is what the workers do to
them. Wall time tells the throughput of a machine that has nothing else to do; CPU time what the work costs on any.

On a machine with other load, what two workers do against one is reckoned. A worker runs, is ready to run, or waits; so
does the server's process that serves it, and the kernel counts both (/proc/PID/schedstat). What is left of the wall
time, the worker was kept waiting: by locks, by the worker before it in its series, by the disk, or because nothing was
left to do. A load slows all of this alike: a worker on an idle core is as busy, and its messages cost as much CPU time.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from benchmarks import table
from benchmarks.material import Material, bare_parse, contents, mixed
from benchmarks.stages import USER, process_statistics
from benchmarks.whole_path import Served, UrlOf, fresh_gateway
from energycomm.config import Config
from energycomm.daemon.report import Alive, decode
from energycomm.daemon.worker import work
from energycomm.eis import archive
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, writing
from energycomm.kernel.instants import now_micros
from energycomm.market.dispatch import series_of
from energycomm.market.installed import installed_adapters
from energycomm.pipeline import records
from energycomm.pipeline.gateway import Gateway
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario

MARKETS = tuple(installed_adapters())
READY = frozenset(("idle", "working"))
COUNT = "SELECT count(*) FROM kernel_message"
TRIES = "SELECT coalesce(sum(attempts), 0) FROM envelope"
MANY, CROWDED = 8, "NL"
"""Workers whose attempts at an envelope are counted, and the market that they do it in; their pace says nothing where
there are fewer cores."""
MEASURES = "P4CollectedData"
"""In the names of envelopes with daily measures."""
LOOK_SECONDS = 0.05
PATIENCE = 120.0
"""Seconds until workers must have come to an end; they take a few."""
JOIN_SECONDS = 30.0
HELD = "held"
"""State of an envelope that no worker takes."""


class Work(NamedTuple):
    """What some workers did, in seconds.

    Attributes:
      messages: Kernel messages that were stored.
      wall: from the first envelope to the last.
      client: CPU time of the workers.
      server: CPU time of the database server; None where it cannot be told.
      idle: share of the wall time in which a worker was kept waiting, the mean of all.
      tries: attempts an envelope.
    """

    messages: int
    wall: float
    client: float
    server: float | None
    idle: float
    tries: float

    @property
    def pace(self) -> float:
        """Messages that a worker on an idle core would do in a second."""
        return (1 - self.idle) * self.messages / (self.client + (self.server or 0.0))


def material(folder: Path, market: str, access_points: int, months: int, seed: int = 1) -> Material:
    """What a market sends about some access points, in the order in which it was made.

    The first quarter is not measured: with it a worker reads schemas and does everything for the first time.
    """
    if market == "FR":
        files = mixed(folder, access_points, months, seed).files
    else:
        simulator = load_simulator(market)
        assert simulator is not None
        simulator.simulate(Scenario(access_points, months, seed), folder)
        files = sorted((folder / "envelopes").iterdir())
    first = len(files) // 4
    before, files = files[:first], files[first:]
    return Material(market, before, files, sum(len(content) for content in contents(files)))


def many_points(folder: Path, access_points: int, envelopes: int, seed: int = 1) -> Material:
    """Daily measures of many access points of the Netherlands, a dozen in an envelope. A day fills several groups of
    envelopes, so that neighbouring ones seldom share an access point, as it is with a supplier's thousands of them.

    Args:
      folder: where the envelopes are written.
      access_points: that live in it.
      envelopes: of measures, the latest; what else is said of the access points comes before, unmeasured.
      seed: of all chance.
    """
    simulator = load_simulator(CROWDED)
    assert simulator is not None
    simulator.simulate(Scenario(access_points, 1, seed, daily_share=1.0, per_file=12), folder)
    files = sorted((folder / "envelopes").iterdir())
    measures = [path for path in files if MEASURES in path.name]
    before, files = [path for path in files if MEASURES not in path.name], measures[-envelopes:]
    return Material(CROWDED, before, files, sum(map(len, contents(files))))


def measure(found: Material, url: str, workers: int) -> Work:
    """Let workers process envelopes in a fresh database.

    Args:
      found: the envelopes.
      url: an empty database of PostgreSQL.
      workers: how many.
    """
    with fresh_gateway(url) as gateway, closing(Served(url)) as watched:
        config = Config.model_validate({"database": url, "log_level": "error"})
        with _started(config, workers) as processes:
            # Each by a channel of its own: a worker takes what no other one is at, and all of them are warm then.
            for seat in range(workers):
                archived(gateway, found.before[seat::workers], HELD, f"warm-{seat}")
            _release(gateway)
            _wait(gateway, processes)
            archived(gateway, found.files, HELD)
            with reading(gateway.store.engine) as connection:
                before = driver_of(connection).rows(COUNT)[0][0]
                tried = driver_of(connection).rows(TRIES)[0][0]
            pids = [process.pid for process in processes if process.pid is not None]
            serving = _backends(gateway)
            served, spent, busy = watched.seconds(), _cpu(pids), _busy(pids + serving)
            begun = time.monotonic()
            _release(gateway)
            _wait(gateway, processes)
            wall, client = time.monotonic() - begun, _cpu(pids) - spent
            idle = 1 - (_busy(pids + serving) - busy) / (wall * workers)
            server = None if served is None else (watched.seconds() or 0.0) - served
        with reading(gateway.store.engine) as connection:
            messages = driver_of(connection).rows(COUNT)[0][0]
            tries = driver_of(connection).rows(TRIES)[0][0]
    each = int(tries - tried) / len(found.files)
    return Work(messages - before, wall, client, server, max(idle, 0.0), each)


def compare(
    folder: Path, url_of: UrlOf | None, access_points: int, months: int, rounds: int, many: int = 0, envelopes: int = 0
) -> list[str]:
    """A table of one worker and two in each market, in Markdown.

    Args:
      folder: where the envelopes are written.
      url_of: makes databases of PostgreSQL; None where there is none.
      access_points, months: what is simulated of each market.
      rounds: the best of so many counts.
      many, envelopes: access points and envelopes of `many_points`, which come last; 0 for none.
    """
    if url_of is None:
        return ["Several workers need PostgreSQL: nothing was measured."]
    head = ["market", "access points", "envelopes", "XML, MB", "Kernel messages", "workers", "messages a second"]
    head += ["against one worker", "kept waiting", "against one worker, reckoned for idle cores"]
    head += ["wall time, times the bare parse", "CPU of the workers, times the bare parse"]
    head += ["CPU of the server, times the bare parse", "attempts an envelope"]
    rows = []
    for market in MARKETS:
        found = material(folder / market, market, access_points, months)
        counts = (1, 2, MANY) if market == CROWDED else (1, 2)
        rows += _compared(found, url_of, access_points, counts, rounds)
    if many:
        rows += _compared(many_points(folder / "many", many, envelopes), url_of, many, (1, 2), rounds)
    return table(head, rows)


def _compared(
    found: Material, url_of: UrlOf, access_points: int, counts: tuple[int, ...], rounds: int
) -> list[list[str]]:
    """The rows of some envelopes, one for each number of workers."""
    bare, alone = bare_parse(found.files), None
    rows = []
    for workers in counts:
        runs = [measure(found, url_of(), workers) for _ in range(rounds if workers < MANY else 1)]
        done = min(runs, key=lambda one: one.wall)
        alone = alone or done
        rows.append(
            [
                found.name,
                str(access_points),
                str(len(found.files)),
                f"{found.xml / 1e6:.1f}",
                str(done.messages),
                str(workers),
                f"{done.messages / done.wall:.0f}",
                f"{alone.wall / done.wall:.2f}",
                f"{done.idle:.0%}",
                f"**{workers * done.pace / alone.pace:.2f}**",
                f"{done.wall / bare:.1f}",
                f"**{done.client / bare:.1f}**",
                "-" if done.server is None else f"{done.server / bare:.1f}",
                f"{done.tries:.2f}",
            ]
        )
    return rows


def archived(gateway: Gateway, files: list[Path], state: str = "archived", channel: str = "bench") -> None:
    """Archive envelopes, each in the series that its name tells, and leave them in a state."""
    with gateway.store.transaction() as tx:
        for path in files:
            with path.open("rb") as source:
                archived = archive.archive(tx, path.name, source, channel, now_micros())
            named = series_of(gateway.inbound.adapters, path.name)
            if isinstance(named, tuple):
                records.set_series(tx, archived.envelope_id, records.series_columns(*named))
        tx.driver.run("UPDATE envelope SET state = ? WHERE state = 'archived'", (state,))


def _release(gateway: Gateway) -> None:
    """Let the workers take them."""
    with writing(gateway.store.engine) as connection:
        driver = driver_of(connection)
        driver.run("UPDATE envelope SET state = 'archived' WHERE state = ?", (HELD,))
        driver.rows("SELECT pg_notify(?, '')", (archive.ARRIVALS,))


@contextmanager
def _started(config: Config, number: int) -> Iterator[list[BaseProcess]]:
    """Workers that wait for work; they end with the block."""
    context = multiprocessing.get_context("spawn")
    processes: list[BaseProcess] = []
    lines: list[Connection] = []
    try:
        for seat in range(1, number + 1):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(seat, config, theirs))
            process.start()
            theirs.close()
            processes.append(process)
            lines.append(ours)
        for line in lines:
            while not (isinstance(report := decode(line.recv_bytes()), Alive) and report.state in READY):
                pass
        # What they go on to tell is read: a full pipe would stop them.
        for line in lines:
            threading.Thread(target=_drained, args=(line,), daemon=True).start()
        yield processes
    finally:
        for one in processes:
            one.terminate()
        for one in processes:
            one.join(JOIN_SECONDS)
            if one.is_alive():
                one.kill()
                one.join()


def _drained(line: Connection) -> None:
    """Read what a worker tells until it ends."""
    with closing(line), contextlib.suppress(EOFError, OSError):
        while True:
            line.recv_bytes()


def _wait(gateway: Gateway, processes: list[BaseProcess]) -> None:
    """Until every envelope has its end."""
    deadline = time.monotonic() + PATIENCE
    sql = "SELECT count(*) FROM envelope WHERE state IN ('archived', 'processing')"
    while time.monotonic() < deadline and all(process.is_alive() for process in processes):
        with reading(gateway.store.engine) as connection:
            if driver_of(connection).rows(sql)[0][0] == 0:
                return
        time.sleep(LOOK_SECONDS)
    raise RuntimeError("the workers did not come to an end")


def _cpu(pids: list[int]) -> float:
    """CPU seconds that processes used so far."""
    return sum(sum(process_statistics(pid)[USER : USER + 2]) for pid in pids) / os.sysconf("SC_CLK_TCK")


def _backends(gateway: Gateway) -> list[int]:
    """The server's processes that serve the workers."""
    sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with reading(gateway.store.engine) as connection:
        return [int(row[0]) for row in driver_of(connection).rows(sql)]


def _busy(pids: list[int]) -> float:
    """Seconds in which the main threads of processes ran or were ready to run so far."""
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            ran, ready, _ = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()
            total += int(ran) + int(ready)
    return total / 1e9
