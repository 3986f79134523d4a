"""Stored messages judged again: the run, and the verdicts that would come out otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine

from energycomm.bulk.buckets import BUCKET_MESSAGES, write_buckets
from energycomm.bulk.judging import Question, Shift, judged, read_result
from energycomm.bulk.runs import Run, finished
from energycomm.bulk.workers import Task, Workers
from energycomm.market.installed import Markets


class Judging:
    """Judges stored messages; see `energycomm.bulk.runs.Work`.

    Args:
      asked: what they are judged by.
      markets: the installed ones.
      size: messages of a bucket.
    """

    task: Task = staticmethod(judged)

    def __init__(self, asked: Question, markets: Markets, size: int = BUCKET_MESSAGES) -> None:
        self.question = msgspec.json.encode(asked)
        self._asked, self._markets, self._size = asked, markets, size

    def notes(self, _connection: Connection) -> dict[str, str]:
        """Nothing."""
        return {}

    def write(self, connection: Connection, folder: Path) -> Iterator[Path]:
        """Write the buckets."""
        return write_buckets(connection, folder, self._markets, self._asked.since, self._asked.states, self._size)


class Verdicts:
    """What a run found; nothing of it is in the store.

    Args:
      run: the run.

    Attributes:
      judged: how many messages were judged.
      words: what changes -> how often.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.judged = 0
        self.words: Counter[str] = Counter()
        for result in run.results():
            judged, shifts = read_result(result)
            self.judged += judged
            self.words.update(shift.words for shift in shifts)

    @property
    def buckets(self) -> int:
        """How many buckets were judged."""
        return self._run.buckets

    @property
    def changed(self) -> int:
        """How many verdicts would change."""
        return self.words.total()

    def shifts(self) -> Iterator[Shift]:
        """The verdicts that would change, in the order of access points; the results of one bucket are in memory."""
        for result in self._run.results():
            yield from read_result(result)[1]


@contextmanager
def judged_again(
    engine: Engine,
    markets: Markets,
    asked: Question,
    folder: Path,
    workers: Workers,
    *,
    size: int = BUCKET_MESSAGES,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Verdicts]:
    """Judge stored messages again; a run that was cut off goes on with the buckets that have no result.

    Args:
      engine: the store, which is only read.
      markets: the installed ones.
      asked: what the messages are judged by.
      folder: for the run alone; the same folder continues it.
      workers: who judges.
      size: messages of a bucket.
      watch: called with (buckets judged, buckets of the run).

    Yields:
      What the finished run found, as long as nobody else uses its folder.

    Raises:
      UserError: see `energycomm.bulk.runs.finished`.
    """
    with finished(engine, Judging(asked, markets, size), folder, workers, watch) as run:
        yield Verdicts(run)
