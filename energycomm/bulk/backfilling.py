"""What the store lacks of what stored messages say, found by buckets and written by the live path.

Only access points and messages of which something differs are written, each access point in a transaction of its own,
with what is stored then. Doing it twice changes nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine

from energycomm.bulk.buckets import BUCKET_MESSAGES
from energycomm.bulk.judging import Question
from energycomm.bulk.lacking import ALONE_TOGETHER, Lack, Looked, looked, write_buckets
from energycomm.bulk.runs import Run, finished
from energycomm.bulk.workers import Task, Workers
from energycomm.eis import nameindex
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store
from energycomm.logs import Log
from energycomm.market.installed import Markets
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.fold import fault_words
from energycomm.pipeline.rederiving import rederive_alone, rederive_point, rederive_search

log = Log()


class BackfillQuestion(Question, frozen=True, kw_only=True):
    """By which rules accepted messages do what they do; `work` tells the run from one that judges."""

    work: str = "backfill"


class Backfilling:
    """Looks what the store lacks; see `energycomm.bulk.runs.Work`.

    Args:
      asked: by which rules.
      markets: the installed ones.
      size: messages of a bucket.
    """

    task: Task = staticmethod(looked)

    def __init__(self, asked: BackfillQuestion, markets: Markets, size: int = BUCKET_MESSAGES) -> None:
        self.question = msgspec.json.encode(asked)
        self._markets, self._size = markets, size

    def notes(self, _connection: Connection) -> dict[str, str]:
        """Nothing."""
        return {}

    def write(self, connection: Connection, folder: Path) -> Iterator[Path]:
        """Write the buckets."""
        return write_buckets(connection, folder, self._markets, self._size)


class Lacking:
    """What a run found; nothing of it is in the store until `fill` wrote it.

    Args:
      run: the run.

    Attributes:
      buckets: of the run.
      messages: how many were looked at.
      counts: (table, kind of message, missing, changed or extra) -> how many.
      places: access points, and messages without one, of which something is lacking.
      faults: access points that were left out: (market, identifier, why).
    """

    def __init__(self, run: Run) -> None:
        self._run, self.buckets = run, run.buckets
        self.messages = self.places = 0
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.faults: list[tuple[str, str, str]] = []
        for result in run.results():
            found = msgspec.json.decode(result, type=Looked)
            self.messages += found.messages
            for lack in found.lacks:
                self.places += (1 if lack.identifier else len(lack.rows)) if lack.counts else 0
                for table, kind, what, number in lack.counts:
                    self.counts[table, kind, what] += number
                if lack.fault is not None:
                    self.faults.append((lack.market, lack.identifier, lack.fault))

    def fill(self, store: Store, writer: BatchWriter, watch: Callable[[int, int], None]) -> None:
        """Write what is lacking, bucket by bucket; a run that was cut off goes on with the next one.

        Args:
          store: the EIS.
          writer: the rules that the run was asked by.
          watch: called with (buckets written, buckets of the run).

        Raises:
          UserError: the database was lost.
          Conflict: others wrote the same all the time.
        """
        for number, result in self._run.unsettled():
            watch(number - 1, self.buckets)
            for lack in msgspec.json.decode(result, type=Looked).lacks:
                self._write(store, writer, lack)
            self._run.settle(number)
        watch(self.buckets, self.buckets)

    def clear(self) -> None:
        """Remove the run: who looks again begins anew."""
        self._run.clear()

    def _write(self, store: Store, writer: BatchWriter, lack: Lack) -> None:
        try:
            with store.transaction() as tx:
                if lack.derive and lack.fault is None:
                    rederive_point(tx, writer, lack.market, lack.identifier)
                rederive_search(tx, lack.particulars, lack.invoices)
            for start in range(0, len(lack.rows), ALONE_TOGETHER):
                with store.transaction() as tx:
                    rederive_alone(tx, writer, lack.rows[start : start + ALONE_TOGETHER])
            nameindex.complete(store.engine, lack.customers)
        except Exception as error:
            if isinstance(error, Conflict) or is_lost(error):
                raise
            log.error("backfill.broke", access_point=lack.identifier, exc_info=error)
            self.faults.append((lack.market, lack.identifier, fault_words(error)))


@contextmanager
def lacking(
    engine: Engine,
    markets: Markets,
    asked: BackfillQuestion,
    folder: Path,
    workers: Workers,
    *,
    size: int = BUCKET_MESSAGES,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Lacking]:
    """Look what the store lacks; a run that was cut off goes on with the buckets that have no result.

    Args:
      engine: the store, which is only read.
      markets: the installed ones.
      asked: by which rules.
      folder: for the run alone; the same folder continues it.
      workers: who looks.
      size: messages of a bucket.
      watch: called with (buckets done, buckets of the run).

    Yields:
      What the finished run found, as long as nobody else uses its folder.

    Raises:
      UserError: see `energycomm.bulk.runs.finished`.
    """
    with finished(engine, Backfilling(asked, markets, size), folder, workers, watch) as run:
        yield Lacking(run)
