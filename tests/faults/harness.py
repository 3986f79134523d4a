"""A job is run once in peace, and once for each of its points with a fault there and then run again; the stores agree.

Every run is a child that is forked from a process which has read the program and the rules: it costs what the job
costs, dies as a process dies, and takes its trap with it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from energycomm.eis.database import opened, writing
from energycomm.engine.port import RuleEngine
from energycomm.market import installed
from energycomm.pipeline import gateway
from tests.faults.jobs import Job
from tests.faults.points import FAULTS, KILLED, Fault, Point, Trap
from tests.faults.stores import Database, Facts, SqliteFiles

SECONDS = 120
"""That one run may take."""


class Difference(NamedTuple):
    """A store that was disturbed at a point and is not like the undisturbed one after the next run."""

    job: str
    database: str
    number: int
    point: Point
    fault: Fault
    words: list[str]

    def __str__(self) -> str:
        place = f"{self.job} on {self.database}, {self.fault} at {self.number} ({self.point.kind} {self.point.what})"
        return "\n  ".join([place, *self.words])


class Result(NamedTuple):
    """What a job showed: its points by kind, how many faults were raised, what differed."""

    job: str
    database: str
    kinds: Counter[str]
    faults: Counter[str]
    differences: list[Difference]
    seconds: float

    @property
    def points(self) -> int:
        """How many points the job has."""
        return self.kinds.total()


def prepare(folder: Path, jobs: Sequence[Job]) -> None:
    """Read what every run needs, once: each job is done here in peace. No thread and no connection is left.

    Args:
      folder: to work in.
      jobs: the jobs.
    """
    os.environ.setdefault("ENERGYCOMM_LOG_LEVEL", "error")
    gateway.open_catalogue = cache(gateway.open_catalogue)
    made, engines = gateway.open_engine, dict[tuple[int, str], RuleEngine]()
    gateway.open_engine = lambda catalogue, name, *settings: (
        engines.get((id(catalogue), name))
        or engines.setdefault((id(catalogue), name), made(catalogue, name, *settings))
    )
    gateway.installed_adapters = cache(installed.installed_adapters)  # type: ignore[attr-defined]
    here = Path.cwd()
    for job in jobs:
        place = folder / "warm" / job.name
        place.mkdir(parents=True)
        os.chdir(place)
        os.environ["ENERGYCOMM_DATABASE"] = SqliteFiles().make(place)
        with Path("output.txt").open("w") as output, contextlib.redirect_stdout(output):
            job.before()
            job.run()
            job.again()
            job.facts(os.environ["ENERGYCOMM_DATABASE"], place)
    os.chdir(here)
    gc.collect()
    gc.freeze()  # what is here now is shared with the children, untouched


class Harness:
    """One job on one database.

    Args:
      job: the job.
      database: where its stores are made.
      folder: to work in.
      broken: change a state in the store after each fault; every point must then differ.
    """

    def __init__(self, job: Job, database: Database, folder: Path, *, broken: bool = False) -> None:
        self.job, self.database, self.broken = job, database, broken
        self.folder = folder / f"{job.name}-{database.name}".replace(" ", "-")
        self.start = self.folder / "start"
        self.start.mkdir(parents=True)
        self.url = database.make(self.start)
        _expect(self._child(self.start, self.url, job.before), "what comes before the job")
        self.quiet = self._undisturbed()

    def _undisturbed(self) -> Facts:
        """Run it in peace: the points that it has, and the store that it ends with."""
        with self._fresh() as (place, url):
            points, answer = _expect(self._child(place, url, lambda: self._trapped(place, 0, "exception")), "the job")
            self.points: list[Point] = points
            found: Facts = _expect(self._child(place, url, lambda: self.job.facts(url, place)), "the comparison")
        if answer != self.job.code:
            raise AssertionError(f"{self.job.name} in peace ends with {answer}, not {self.job.code}")
        return found

    def run(self, every: int = 1, *, turns: bool = False) -> Result:
        """Spring at points, one after the other.

        Args:
          every: take only each so-manieth point of a kind, the first among them.
          turns: one fault a point, each in its turn, not all of them.
        """
        begun, differences = time.monotonic(), []
        done: Counter[str] = Counter()
        for turn, number in enumerate(self._chosen(every)):
            point = self.points[number - 1]
            for fault in [FAULTS[turn % len(FAULTS)]] if turns else FAULTS:
                if fault == "full" and not point.writes and not turns:
                    continue  # it is met at the next point that writes, which is tried itself
                done[fault] += 1
                words = self._disturbed(number, fault)
                if words:
                    differences.append(Difference(self.job.name, self.database.name, number, point, fault, words))
        kinds = Counter(point.kind for point in self.points)
        return Result(self.job.name, self.database.name, kinds, done, differences, time.monotonic() - begun)

    def _chosen(self, every: int) -> list[int]:
        places: dict[str, list[int]] = {}
        for number, point in enumerate(self.points, 1):
            places.setdefault(point.kind, []).append(number)
        return sorted(n for numbers in places.values() for n in numbers[::every])

    def _disturbed(self, number: int, fault: Fault) -> list[str]:
        """One point: the fault, the next run, and where the store differs from the quiet one."""
        with self._fresh() as (place, url):
            answer = self._child(place, url, lambda: self._trapped(place, number, fault))
            if fault == "kill" and answer != KILLED:
                return [f"it was not killed: {answer}"]
            again = self._child(place, url, lambda: self._again(url, place))
        if not isinstance(again, dict):
            return [f"the next run failed: {again}"]
        return _compared(self.quiet, again)

    def _again(self, url: str, place: Path) -> Facts:
        self.job.again()
        if self.broken:
            with opened(url) as engine, writing(engine) as connection:
                connection.exec_driver_sql("UPDATE kernel_message SET state = 'withdrawn' WHERE state <> 'withdrawn'")
        return self.job.facts(url, place)

    def _trapped(self, place: Path, at: int, fault: Fault) -> tuple[list[Point], int]:
        trap = Trap(place, at, fault)
        trap.lay()
        answer = self.job.run()
        # What is written from here on is the harness's.
        trap.at, trap.fault = 0, "exception"
        return list(trap.points), answer

    @contextlib.contextmanager
    def _fresh(self) -> Iterator[tuple[Path, str]]:
        """The store and the folder as they are before the job."""
        place = self.folder / "run"
        shutil.copytree(self.start, place, ignore=shutil.ignore_patterns("eis.db*", "output.txt"))
        url = self.database.copy(self.url, place)
        try:
            yield place, url
        finally:
            self.database.drop(url)
            shutil.rmtree(place)

    def _child(self, place: Path, url: str, work: Callable[[], Any]) -> Any:
        """Do something in a child: what it gave back, the words of its exception, or how it was ended."""
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _be_child(place, url, work, answer)
        deadline = time.monotonic() + SECONDS
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return f"not ended after {SECONDS} s"
            time.sleep(0.002)
        if not answer.exists():
            return os.waitstatus_to_exitcode(status)
        return pickle.loads(answer.read_bytes())


def _be_child(place: Path, url: str, work: Callable[[], Any], answer: Path) -> None:
    """The child: never returns."""
    try:
        output = os.open(place / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(place)
        os.environ["ENERGYCOMM_DATABASE"] = url
        try:
            found = work()
        except BaseException:
            found = traceback.format_exc()
        hidden = answer.with_suffix(".part")
        hidden.write_bytes(pickle.dumps(found))
        hidden.replace(answer)
        os._exit(0)
    finally:
        os._exit(99)


def _expect(found: Any, what: str) -> Any:
    if isinstance(found, str) or (isinstance(found, int) and found):
        raise AssertionError(f"{what} failed: {found}")
    return found


def _compared(quiet: Facts, disturbed: Facts) -> list[str]:
    from energycomm.eis.comparison import differences

    return differences(quiet, disturbed, limit=6)
