"""CPU time of each stage of the inbound way: a clock around the functions that begin a stage, while they run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from energycomm.eis import archive
from energycomm.pipeline import batch, inbound, records

ARCHIVE = "archive of the raw bytes"
OPEN = "open, decrypt, prescan"
DIGEST = "digest with the market's schema"
ENCODE = "Kernel XML written"
CHECK = "kernel.xsd"
JUDGE = "facts, rules, effects"
STORE = "rows, commit"
REST = "the rest: one envelope after the other"
STAGES = (ARCHIVE, OPEN, DIGEST, ENCODE, CHECK, JUDGE, STORE, REST)


class Clock:
    """Gives each moment of CPU time to the stage that was entered last and not left.

    Attributes:
      seconds: CPU seconds by stage.
      calls: how often each function on the clock was called: one that never was is not where its stage begins.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.calls: dict[str, int] = {}
        self._stack = [REST]
        self._since = time.process_time()

    def enter(self, stage: str) -> None:
        """A stage begins; the one around it stands still meanwhile."""
        self._turn()
        self._stack.append(stage)

    def leave(self) -> None:
        """The stage that was entered last ends."""
        self._turn()
        self._stack.pop()

    def _turn(self) -> None:
        now = time.process_time()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that does the same on the clock of a stage."""

        name = self._named(function)

        def timed(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            self.enter(stage)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return timed

    def around_steps(self, stage: str, function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """A generator function whose every step is on the clock of a stage."""

        name = self._named(function)

        def timed(*arguments: Any, **named: Any) -> Iterator[Any]:
            self.calls[name] += 1
            steps = function(*arguments, **named)
            while True:
                self.enter(stage)
                try:
                    step = next(steps, None)
                finally:
                    self.leave()
                if step is None:
                    return
                yield step

        return timed

    def _named(self, function: Callable[..., Any]) -> str:
        self.calls.setdefault(function.__name__, 0)
        return function.__name__


@contextmanager
def on_the_clock(way: inbound.Inbound) -> Iterator[Clock]:
    """Measure the stages of an inbound way while the block runs."""
    clock = Clock()
    functions: tuple[tuple[Any, str, str], ...] = (
        (archive.Archiving, "keep", ARCHIVE),
        (archive.Archiving, "close", ARCHIVE),
        (inbound, "open_envelope", OPEN),
        (records, "look", OPEN),
        (way.writer.checker, "write", ENCODE),
        (way.writer.checker, "check_batch", CHECK),
        (batch._Work, "judge", JUDGE),
        (way.writer, "store_parts", STORE),
        (records, "save_member", STORE),
        (records.Book, "store", STORE),
    )
    with ExitStack() as stack:
        for owner, name, stage in functions:
            stack.enter_context(patch.object(owner, name, clock.around(stage, getattr(owner, name))))
        stack.enter_context(patch.object(way.store, "transaction", _timed_transaction(clock, way.store.transaction)))
        for adapter in way.adapters.values():
            stack.enter_context(patch.object(adapter, "digest", clock.around_steps(DIGEST, adapter.digest)))
        yield clock


def _timed_transaction(clock: Clock, transaction: Callable[[], Any]) -> Callable[[], Any]:
    """Begin and commit are the store's; what is done in between is not, unless it says so."""

    @contextmanager
    def timed() -> Iterator[Any]:
        clock.enter(STORE)
        try:
            with transaction() as tx:
                clock.leave()
                try:
                    yield tx
                finally:
                    clock.enter(STORE)
        finally:
            clock.leave()

    return timed


def server_seconds(connection: Any) -> float | None:
    """CPU seconds that a PostgreSQL server used so far, all its processes together; None where that cannot be told.

    Args:
      connection: a psycopg connection to it.
    """
    backend = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    if not (own := process_statistics(backend)):
        return None
    postmaster = own[PARENT]
    ticks = 0
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit() and (found := process_statistics(int(folder.name))):
            if int(folder.name) == postmaster:
                ticks += sum(found[USER:])  # those of its ended children are counted with it
            elif found[PARENT] == postmaster:
                ticks += sum(found[USER : USER + 2])
    return ticks / os.sysconf("SC_CLK_TCK")


PROCESSES = Path("/proc")
PARENT, USER = 0, 10
"""Places in `process_statistics`: the parent; user and system time, and those of ended children."""


def process_statistics(process: int) -> list[int]:
    """Numbers of /proc/PID/stat from the parent to the times of children; empty where there is no such process."""
    try:
        content = (PROCESSES / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(field) for field in content.rpartition(")")[2].split()[1 : 14 + 1]]
