"""Runs: the buckets of one snapshot, worked on and resumed, one result file a bucket.

A run is a folder. `run.json` stands in it once all buckets do: until then the store is read anew. Each bucket that is
done has its result beside it; a run that was cut off, on whatever host, does those that have none.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import structlog
from msgspec import Struct
from sqlalchemy import Engine

from energycomm.bulk.workers import Bucket, Lost, Task, Workers
from energycomm.eis.database import shown
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import now_micros
from energycomm.private_files import private_file, private_folder, written_whole

log = structlog.get_logger()

LOCK = "run.lock"
"""Held by whoever uses the folder."""

LOSSES = 5
"""How often workers may be lost, without any bucket finished in between, before a run gives up."""

PAUSE = 2.0
"""Seconds before lost workers are asked again, longer each time."""


_OWN = re.compile(r"run\.lock|bucket-\d+\.parquet|\.(bucket-\d+\.parquet|run\.json)\..*")
"""Files of a run whose plan is not there yet."""


class _Plan(Struct, frozen=True):
    """What a folder holds: the question (its SHA-256), the store, when it was read (microseconds), how many buckets."""

    question: str
    store: str
    taken_at: int
    buckets: int


class Work(Protocol):
    """What a run does."""

    @property
    def question(self) -> bytes:
        """What is asked of every bucket; another question is another run."""

    @property
    def task(self) -> Task:
        """What gives the result of a bucket."""

    def write(self, engine: Engine, folder: Path) -> Iterator[Path]:
        """Write the buckets, each whole, from one snapshot of the store; `bucket_file` names them.

        Args:
          engine: the store.
          folder: for the files.
        """


def bucket_file(folder: Path, number: int) -> Path:
    """The file of a bucket; numbers begin with 1."""
    return folder / f"bucket-{number:07}.parquet"


class Run:
    """The buckets of a folder and their results.

    Args:
      folder: its own.
      buckets: how many.
    """

    def __init__(self, folder: Path, buckets: int) -> None:
        self._folder, self.buckets = folder, buckets

    def open(self) -> list[int]:
        """Numbers of the buckets that have no result yet."""
        return [number for number in range(1, self.buckets + 1) if not self._result(number).exists()]

    def content(self, number: int) -> bytes:
        """A bucket."""
        return bucket_file(self._folder, number).read_bytes()

    def keep(self, number: int, result: bytes) -> None:
        """Write the result of a bucket; the same again changes nothing."""
        with written_whole(self._result(number)) as file:
            file.write(result)

    def results(self) -> Iterator[bytes]:
        """The results in the order of buckets; one is in memory."""
        for number in range(1, self.buckets + 1):
            yield self._result(number).read_bytes()

    def _result(self, number: int) -> Path:
        return self._folder / f"result-{number:07}.parquet"


@contextmanager
def finished(
    engine: Engine,
    work: Work,
    folder: Path,
    workers: Workers,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Run]:
    """Do some work; a run that was cut off goes on with the buckets that have no result.

    Args:
      engine: the store, which is only read.
      work: what is done.
      folder: for the run alone; the same folder continues it.
      workers: who does it.
      watch: called with (buckets done, buckets of the run).

    Yields:
      The finished run, as long as nobody else uses its folder.

    Raises:
      UserError: the folder holds something else or is in use, the database was lost, or workers are lost again and
        again.
    """
    private_folder(folder)
    with _alone(folder):
        run = Run(folder, _planned(engine, work, folder))
        _work(run, work, workers, watch)
        yield run


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with private_file(folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"Another process uses {folder}.", "Wait for it, or name another folder.") from None
        yield


def _planned(engine: Engine, work: Work, folder: Path) -> int:
    """How many buckets the run has; they are written unless the folder holds all of them."""
    plan_file, digest = folder / "run.json", hashlib.sha256(work.question).hexdigest()
    if plan_file.exists():
        plan = _plan_of(plan_file)
        if (plan.question, plan.store) != (digest, shown(engine)):
            raise UserError(
                f"{folder} holds a run with another question (rules, day, selection) or of another store.",
                "Name another folder, or remove it.",
            )
        return plan.buckets
    found = list(folder.iterdir())
    if not all(_OWN.fullmatch(path.name) for path in found):
        raise UserError(f"{folder} holds other files.", "Name an empty folder.")
    for path in found:
        if path.name != LOCK:
            path.unlink()
    taken_at = now_micros()
    buckets = sum(1 for _ in work.write(engine, folder))
    with written_whole(plan_file) as file:
        file.write(msgspec.json.encode(_Plan(digest, shown(engine), taken_at, buckets)))
    return buckets


def _plan_of(file: Path) -> _Plan:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Plan)
    except msgspec.MsgspecError:
        raise UserError(f"{file} is not the plan of a run.", "Name another folder, or remove it.") from None


def _work(run: Run, work: Work, workers: Workers, watch: Callable[[int, int], None]) -> None:
    losses = 0
    while waiting := run.open():
        watch(run.buckets - len(waiting), run.buckets)
        done = 0
        try:
            for number, result in workers.results(work.task, work.question, _contents(run, waiting)):
                run.keep(number, result)
                done += 1
                watch(run.buckets - len(waiting) + done, run.buckets)
        except Lost as lost:
            losses = 1 if done else losses + 1
            log.warning("bulk.lost", reason=str(lost), finished=run.buckets - len(waiting) + done, of=run.buckets)
            if losses == LOSSES:
                raise UserError(
                    f"Workers were lost {LOSSES} times, and none finished a bucket: {lost}",
                    "With --work FOLDER, the same command continues a run.",
                    ExitCode.INTERNAL,
                ) from None
            time.sleep(PAUSE * losses)


def _contents(run: Run, numbers: list[int]) -> Iterator[Bucket]:
    return ((number, run.content(number)) for number in numbers)
