"""Runs: the buckets of one snapshot, worked on and resumed, one result file a bucket.

A run is a folder. `run.json` stands in it once all buckets do: until then the store is read anew. Each bucket that is
done has its result beside it; a run that was cut off, on whatever host, does those that have none. A run is of one
history of the store: after a restore, or when the log of changes no longer reaches back to it, it is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Engine

from energycomm.bulk.workers import Bucket, Lost, Task, Workers
from energycomm.eis.changelog import place_of, present
from energycomm.eis.database import reading, shown, snapshot
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import instant, now_micros
from energycomm.logs import Log
from energycomm.private_files import private_file, private_folder, written_whole

log = Log()

LOCK, PLAN = "run.lock", "run.json"
"""Held by whoever uses the folder; says what the run holds."""

ELSEWHERE = "Name another folder, or remove it."

LOSSES = 5
"""How often workers may be lost, without any bucket finished in between, before a run gives up."""

PAUSE = 2.0
"""Seconds before lost workers are asked again, longer each time."""


_OWN = re.compile(
    r"run\.lock|bucket-\d+\.parquet|(result|settled)-\d+|\.(bucket-\d+\.parquet|result-\d+|run\.json)\..*"
)
"""Files of a run whose plan is not there: it is not begun, or it is cleared."""


class _Plan(Struct, frozen=True):
    """What a folder holds: the question (its SHA-256), the store, the place in its history (a cursor) and when it was
    read (microseconds), how many buckets, and what else of the snapshot is kept."""

    question: str
    store: str
    place: str
    taken_at: int
    buckets: int
    notes: dict[str, str]


class Work(Protocol):
    """What a run does."""

    @property
    def question(self) -> bytes:
        """What is asked of every bucket; another question is another run."""

    @property
    def task(self) -> Task:
        """What gives the result of a bucket."""

    def write(self, connection: Connection, folder: Path) -> Iterator[Path]:
        """Write the buckets, each whole; `bucket_file` names them.

        Args:
          connection: a snapshot of the store.
          folder: for the files.
        """

    def notes(self, connection: Connection) -> dict[str, str]:
        """What the run keeps of the snapshot beside its buckets."""


def bucket_file(folder: Path, number: int) -> Path:
    """The file of a bucket; numbers begin with 1."""
    return folder / f"bucket-{number:07}.parquet"


class Run:
    """The buckets of a folder and their results.

    Args:
      folder: its own.
      plan: what it holds.
      continued: it was begun earlier.

    Attributes:
      continued: it was begun earlier.
      buckets: how many.
      place: the place in the history of the store at which it was read, a cursor.
      taken_at: when it was read.
      notes: what the work kept of the snapshot.
    """

    def __init__(self, folder: Path, plan: _Plan, *, continued: bool = False) -> None:
        self.continued = continued
        self._folder, self.buckets, self.place, self.notes = folder, plan.buckets, plan.place, plan.notes
        self.taken_at = instant(plan.taken_at)

    def open(self) -> list[int]:
        """Numbers of the buckets that have no result yet."""
        return [number for number in range(1, self.buckets + 1) if not self._result(number).exists()]

    def content(self, number: int) -> bytes:
        """A bucket."""
        with _in(self._folder):
            return bucket_file(self._folder, number).read_bytes()

    def keep(self, number: int, result: bytes) -> None:
        """Write the result of a bucket; the same again changes nothing."""
        with _in(self._folder), written_whole(self._result(number)) as file:
            file.write(result)

    def results(self) -> Iterator[bytes]:
        """The results in the order of buckets; one is in memory."""
        for number in range(1, self.buckets + 1):
            with _in(self._folder):
                result = self._result(number).read_bytes()
            yield result

    def unsettled(self) -> Iterator[tuple[int, bytes]]:
        """Number and result of the buckets whose results were not acted upon yet; one is in memory."""
        for number in range(1, self.buckets + 1):
            if not self._settled(number).exists():
                with _in(self._folder):
                    result = self._result(number).read_bytes()
                yield number, result

    def settle(self, number: int) -> None:
        """Note that the result of a bucket was acted upon."""
        with _in(self._folder):
            private_file(self._settled(number))

    def clear(self) -> None:
        """Remove all of it: who runs it again begins anew, with the store as it is then."""
        with _in(self._folder):
            (self._folder / PLAN).unlink()
            _remove_files(self._folder)

    def _settled(self, number: int) -> Path:
        return self._folder / f"settled-{number:07}"

    def _result(self, number: int) -> Path:
        return self._folder / f"result-{number:07}"


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
      UserError: the folder holds something else, is in use or cannot be written, the database was lost, or workers are
        lost again and again.
    """
    with ExitStack() as stack:
        with _in(folder):
            private_folder(folder)
            stack.enter_context(_alone(folder))
            continued = (folder / PLAN).exists()
            run = Run(folder, _planned(engine, work, folder), continued=continued)
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


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    """A block that reads or writes files of a run."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The run cannot be kept in {folder}: {error.strerror or error}.",
            "Name a folder of your own, on a disk with room; what is done is kept.",
        ) from None


def _planned(engine: Engine, work: Work, folder: Path) -> _Plan:
    """What the run holds; its buckets are written unless the folder has all of them."""
    plan_file, digest = folder / PLAN, hashlib.sha256(work.question).hexdigest()
    if plan_file.exists():
        plan = _plan_of(plan_file)
        if (plan.question, plan.store) != (digest, shown(engine)):
            raise UserError(
                f"{folder} holds a run with another question (rules, days, selection, version of the program) or of "
                "another store.",
                ELSEWHERE,
            )
        _check_history(engine, plan, folder)
        return plan
    if not all(_OWN.fullmatch(path.name) for path in folder.iterdir()):
        raise UserError(f"{folder} holds other files.", "Name an empty folder.")
    _remove_files(folder)
    with snapshot(engine) as connection:
        place, taken_at, notes = str(present(connection)), now_micros(), work.notes(connection)
        buckets = sum(1 for _ in work.write(connection, folder))
    plan = _Plan(digest, shown(engine), place, taken_at, buckets, notes)
    with written_whole(plan_file) as file:
        file.write(msgspec.json.encode(plan))
    return plan


def _check_history(engine: Engine, plan: _Plan, folder: Path) -> None:
    try:
        with reading(engine) as connection:
            place_of(connection, plan.place)
    except UserError as error:
        when = instant(plan.taken_at)
        raise UserError(f"{folder} holds a run of {when:%Y-%m-%d %H:%M} UTC. {error.message}", ELSEWHERE) from None


def _remove_files(folder: Path) -> None:
    """Remove buckets and results, not the lock."""
    for path in folder.iterdir():
        if path.name != LOCK and _OWN.fullmatch(path.name):
            path.unlink()


def _plan_of(file: Path) -> _Plan:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Plan)
    except msgspec.MsgspecError:
        raise UserError(f"{file} is not the plan of a run of this version.", ELSEWHERE) from None


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
