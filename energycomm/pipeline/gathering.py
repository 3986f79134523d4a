"""Messages that wait to be stored together: the ends of small members share a transaction.

A commit, and one round of queries, cost as much as judging a dozen messages; a market sends thousands of files that
bring fewer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import structlog
from msgspec import Struct

from energycomm.eis.database import Conflict
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared, Tally
from energycomm.pipeline.records import MemberRecord, OpenEnvelope

log = structlog.get_logger()

CONFLICTS = 6
"""How often a batch is run before the envelope is left to whoever is in the way."""


class Part(Struct):
    """The messages of a member that wait to be stored.

    Attributes:
      envelope: the envelope it came in.
      record: the member.
      market: its market.
      batch: its messages, prepared.
      position: number of the last of them in the member.
      last: the member is done with them.
      before: what the record said before, for another try.
    """

    envelope: OpenEnvelope
    record: MemberRecord
    market: str
    batch: Prepared
    position: int
    last: bool
    before: tuple[int, str, int]


class Gathering:
    """Stores the messages of members, each in one transaction with how far its member has come.

    Args:
      store: the EIS.
      writer: judges and stores batches.
      batch_size: CH messages that wait at most.
      stored: told the counts of each part once it is stored, and None each time that another worker was in the way.
    """

    def __init__(
        self, store: Store, writer: BatchWriter, batch_size: int, stored: Callable[[Tally | None], None]
    ) -> None:
        self.store, self.writer, self.batch_size, self.stored = store, writer, batch_size, stored
        self._parts: list[Part] = []

    def holds(self, sha256: bytes) -> bool:
        """A member with these bytes waits."""
        return any(part.record.sha256 == sha256 for part in self._parts)

    def add(self, part: Part, *, wait: bool) -> None:
        """Store a part: with the next ones where it may wait, else now, with those that waited.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with the member.
        """
        messages = sum(len(one.batch.transactions) for one in [*self._parts, part])
        if self._parts and (part.market != self._parts[0].market or messages > self.batch_size):
            self.write()
        self._parts.append(part)
        if not wait:
            self.write()

    def write(self) -> None:
        """Judge and store what waits in one transaction, again where another worker was in the way.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with one of the members.
        """
        parts, self._parts = self._parts, []
        if not parts:
            return
        tallies = self._store(parts)
        for part, tally in zip(parts, tallies, strict=True):
            _log(part, tally)
            self.stored(tally)

    def _store(self, parts: Sequence[Part]) -> list[Tally]:
        for attempt in range(1, CONFLICTS + 1):
            try:
                with self.store.transaction() as tx:
                    return self._store_in(tx, parts)
            except Conflict:
                for part in parts:
                    part.record.id, part.record.state, part.record.committed = part.before
                log.info("batch.conflict", envelope=parts[0].envelope.id, member=parts[0].record.path, attempt=attempt)
                if attempt == CONFLICTS:
                    raise
                self.stored(None)
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - two workers must not meet again
        raise AssertionError("the last attempt either returned or raised")

    def _store_in(self, tx: StoreTransaction, parts: Sequence[Part]) -> list[Tally]:
        """What became of each part, with the notes that the header of its member gave rise to."""
        tallies = [
            records.save_member(tx, one.envelope.id, one.record, one.market, one.position, last=one.last)
            for one in parts
        ]
        full = [index for index, one in enumerate(parts) if one.batch.transactions]
        if full:
            work = [(_origin(parts[index]), parts[index].batch) for index in full]
            for index, judged in zip(full, self.writer.store_parts(tx, work, now_micros()), strict=True):
                judged.add(tallies[index])
                tallies[index] = judged
        return tallies


def _origin(part: Part) -> Origin:
    return Origin(part.market, part.envelope.id, part.record.id)


def _log(part: Part, stored: Tally) -> None:
    """One line a part, and one for each message that was not accepted."""
    if stored.ids is None:
        return
    place = {"envelope": part.envelope.id, "member": part.record.path}
    first, last = stored.ids
    log.info("batch.stored", **place, messages=f"{first}-{last}", position=part.record.committed)
    for message_id, label, why in stored.refused:
        log.info("message." + label, **place, message=message_id, why=why)
