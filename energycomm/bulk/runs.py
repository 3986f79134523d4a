"""Runs: the buckets of one snapshot, judged and resumed, one result file a bucket.

A run is a folder. `run.json` stands in it once all buckets do: until then the store is read anew. Each bucket that was
judged has its result beside it; a run that was cut off, on whatever host, judges those that have none.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct
from sqlalchemy import Engine

from energycomm.bulk.buckets import BUCKET_MESSAGES, write_buckets
from energycomm.bulk.judging import Question, Shift, read_result
from energycomm.bulk.workers import Bucket, Lost, Workers
from energycomm.eis.database import shown
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.instants import now_micros
from energycomm.market.installed import Markets
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


class Run:
    """Stored messages judged again: nothing of it is in the store.

    Args:
      folder: its own.
      buckets: how many.
    """

    def __init__(self, folder: Path, buckets: int) -> None:
        self._folder, self.buckets = folder, buckets
        self.judged = 0
        self.words: Counter[str] = Counter()
        """What changes -> how often."""

    @property
    def changed(self) -> int:
        """How many verdicts would change."""
        return self.words.total()

    def open(self) -> list[int]:
        """Numbers of the buckets that are not judged yet."""
        return [number for number in range(1, self.buckets + 1) if not self._result(number).exists()]

    def content(self, number: int) -> bytes:
        """A bucket."""
        return (self._folder / f"bucket-{number:07}.parquet").read_bytes()

    def keep(self, number: int, result: bytes) -> None:
        """Write the result of a bucket; the same again changes nothing."""
        with written_whole(self._result(number)) as file:
            file.write(result)

    def shifts(self) -> Iterator[Shift]:
        """The verdicts that would change, in the order of access points; the results of one bucket are in memory."""
        for number in range(1, self.buckets + 1):
            yield from read_result(self._result(number).read_bytes())[1]

    def count(self) -> None:
        """Count what the results say."""
        self.judged, self.words = 0, Counter()
        for number in range(1, self.buckets + 1):
            judged, shifts = read_result(self._result(number).read_bytes())
            self.judged += judged
            self.words.update(shift.words for shift in shifts)

    def _result(self, number: int) -> Path:
        return self._folder / f"result-{number:07}.parquet"


@contextmanager
def judged_again(
    engine: Engine,
    markets: Markets,
    question: Question,
    folder: Path,
    workers: Workers,
    *,
    size: int = BUCKET_MESSAGES,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Run]:
    """Judge stored messages again; a run that was cut off goes on with the buckets that have no result.

    Args:
      engine: the store, which is only read.
      markets: the installed ones.
      question: what the messages are judged by.
      folder: for the run alone; the same folder continues it.
      workers: who judges.
      size: messages of a bucket.
      watch: called with (buckets judged, buckets of the run).

    Yields:
      The finished run, as long as nobody else uses its folder.

    Raises:
      UserError: the folder holds something else or is in use, the database was lost, or workers are lost again and
        again.
    """
    private_folder(folder)
    asked = msgspec.json.encode(question)
    with _alone(folder):
        run = Run(folder, _planned(engine, markets, question, asked, folder, size))
        _judge(run, asked, workers, watch)
        run.count()
        yield run


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with private_file(folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"Another process uses {folder}.", "Wait for it, or name another folder.") from None
        yield


def _planned(engine: Engine, markets: Markets, question: Question, asked: bytes, folder: Path, size: int) -> int:
    """How many buckets the run has; they are written unless the folder holds all of them."""
    plan_file, digest = folder / "run.json", hashlib.sha256(asked).hexdigest()
    if plan_file.exists():
        plan = _plan_of(plan_file)
        if (plan.question, plan.store) != (digest, shown(engine)):
            raise UserError(
                f"{folder} holds a run with other rules, another day or of another store.",
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
    buckets = sum(1 for _ in write_buckets(engine, folder, markets, question.since, size))
    with written_whole(plan_file) as file:
        file.write(msgspec.json.encode(_Plan(digest, shown(engine), taken_at, buckets)))
    return buckets


def _plan_of(file: Path) -> _Plan:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Plan)
    except msgspec.MsgspecError:
        raise UserError(f"{file} is not the plan of a run.", "Name another folder, or remove it.") from None


def _judge(run: Run, question: bytes, workers: Workers, watch: Callable[[int, int], None]) -> None:
    losses = 0
    while waiting := run.open():
        watch(run.buckets - len(waiting), run.buckets)
        done = 0
        try:
            for number, result in workers.results(question, _contents(run, waiting)):
                run.keep(number, result)
                done += 1
                watch(run.buckets - len(waiting) + done, run.buckets)
        except Lost as lost:
            losses = 1 if done else losses + 1
            log.warning("bulk.lost", reason=str(lost), finished=run.buckets - len(waiting) + done, of=run.buckets)
            if losses == LOSSES:
                raise UserError(
                    f"Workers were lost {LOSSES} times, and none finished a bucket: {lost}",
                    "The same command with the same folder continues the run.",
                    ExitCode.INTERNAL,
                ) from None
            time.sleep(PAUSE * losses)


def _contents(run: Run, numbers: list[int]) -> Iterator[Bucket]:
    return ((number, run.content(number)) for number in numbers)
