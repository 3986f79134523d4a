"""What waits to be stored together: the ends of small members share a transaction.

A commit, and one round of queries, cost as much as judging a dozen messages; a market sends thousands of files, and
zips of thousands of members, that bring fewer. What breaks the program is isolated here: a transaction that breaks is
done again member by member, and of a member that breaks each CH message that does so is put aside by itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import structlog
from msgspec import Struct

from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared, Tally
from energycomm.pipeline.fold import fault_words
from energycomm.pipeline.records import MemberRecord, OpenEnvelope, TakenOver
from energycomm.transport.codes import refuse

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
    """

    envelope: OpenEnvelope
    record: MemberRecord
    market: str
    batch: Prepared
    position: int
    last: bool

    @property
    def messages(self) -> int:
        """How many CH messages it holds."""
        return len(self.batch.transactions)

    @property
    def place(self) -> str:
        """The file, for people."""
        return place_of(self.envelope, self.record.path)


class Refused(Struct):
    """A member that could not be read, or an incident of the whole envelope, that waits to be stored.

    Attributes:
      record: the member; None where the envelope itself is meant.
      severity: error, or note.
    """

    envelope: OpenEnvelope
    record: MemberRecord | None
    refusal: Refusal
    severity: str = "error"
    messages: int = 0


class Repeated(Struct):
    """A member whose bytes had arrived before, that waits to be stored; `first` is the member that brought them."""

    envelope: OpenEnvelope
    record: MemberRecord
    first: int
    messages: int = 0


Item: TypeAlias = Part | Refused | Repeated


def place_of(envelope: OpenEnvelope, path: str) -> str:
    """A member in its envelope, for people."""
    return envelope.name if path in ("", envelope.name) else f"{envelope.name}: {path}"


class Gathering:
    """Stores the messages of members, each in one transaction with how far its member has come.

    Args:
      store: the EIS.
      writer: judges and stores batches.
      batch_size: CH messages, or members, that wait at most.
      stored: told the counts of each part once it is stored, and None each time that another worker was in the way.
    """

    def __init__(
        self, store: Store, writer: BatchWriter, batch_size: int, stored: Callable[[Tally | None], None]
    ) -> None:
        self.store, self.writer, self.batch_size, self.stored = store, writer, batch_size, stored
        self._items: list[Item] = []
        self._messages = 0
        self.lost: set[int] = set()
        """Envelopes of which something could not be written: they are not done, whatever was read of them."""

    def holds(self, sha256: bytes) -> bool:
        """A member with these bytes waits."""
        return any(isinstance(item, Part) and item.record.sha256 == sha256 for item in self._items)

    def add(self, item: Item) -> None:
        """Let something wait to be stored; it is, with all that waits, once that is enough.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with the member.
          UserError: the database was lost.
        """
        if isinstance(item, Part) and self._items:
            markets = {one.market for one in self._items if isinstance(one, Part)}
            if markets - {item.market} or self._messages + item.messages > self.batch_size:
                self.write()
        self._items.append(item)
        self._messages += item.messages
        if max(self._messages, len(self._items)) >= self.batch_size:
            self.write()

    def forget(self) -> None:
        """Let go of what waits: it is read again by whoever takes its envelope up."""
        self._items, self._messages = [], 0
        self.lost.clear()

    def write(self) -> None:
        """Judge and store what waits in one transaction, again where another worker was in the way.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with one of the members.
          UserError: the database was lost.
        """
        items, self._items, self._messages = self._items, [], 0
        if not items:
            return
        try:
            tallies = self._stored(items)
        except BaseException:
            self.lost.update(item.envelope.id for item in items)
            raise
        for item, tally in zip(items, tallies, strict=True):
            if isinstance(item, Part):
                _log(item, tally)
            self.stored(tally)

    def _stored(self, items: Sequence[Item]) -> list[Tally]:
        try:
            return self._tried(items, self._together)
        except Exception as error:
            if isinstance(error, Conflict | TakenOver) or is_lost(error):
                raise
            log.error("batch.broke", members=len(items), exc_info=error)
        return [self._alone(item) for item in items]

    def _alone(self, item: Item) -> Tally:
        """Store one item, around what breaks the program."""
        try:
            return self._tried([item], self._around)[0]
        except Exception as error:
            if isinstance(error, Conflict | TakenOver) or is_lost(error) or not isinstance(item, Part):
                raise
            log.error("member.put_aside", file=item.place, exc_info=error)
            refusal = refuse("ENV_PUT_ASIDE", item.record.path, fault_words(error), "a member that can be stored")
        return self._tried([Refused(item.envelope, item.record, refusal)], self._together)[0]

    def _tried(
        self, items: Sequence[Item], run: Callable[[StoreTransaction, Sequence[Item]], list[Tally]]
    ) -> list[Tally]:
        """Run a transaction, again where another worker was in the way; the records are as before when it fails."""
        held = [item.record for item in items if item.record is not None]
        before = [(record.id, record.state, record.committed) for record in held]
        for attempt in range(1, CONFLICTS + 1):
            try:
                with self.store.transaction() as tx:
                    return run(tx, items)
            except BaseException as error:
                for record, (number, state, committed) in zip(held, before, strict=True):
                    record.id, record.state, record.committed = number, state, committed
                if not isinstance(error, Conflict) or attempt == CONFLICTS:
                    raise
                log.info("batch.conflict", envelope=items[0].envelope.id, attempt=attempt)
                self.stored(None)
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - two workers must not meet again
        raise AssertionError("the last attempt either returned or raised")

    def _together(self, tx: StoreTransaction, items: Sequence[Item]) -> list[Tally]:
        """What became of each item, with the notes that the header of its member gave rise to."""
        tallies = [_save(tx, item) for item in items]
        full = [(index, one) for index, one in enumerate(items) if isinstance(one, Part) and one.messages]
        if full:
            work = [(_origin(one), one.batch) for _, one in full]
            for (index, _), judged in zip(full, self.writer.store_parts(tx, work, now_micros()), strict=True):
                judged.add(tallies[index])
                tallies[index] = judged
        return tallies

    def _around(self, tx: StoreTransaction, items: Sequence[Item]) -> list[Tally]:
        tallies = []
        for item in items:
            tally = _save(tx, item)
            if isinstance(item, Part) and item.messages:
                judged = self.writer.store_around(tx, _origin(item), item.batch, now_micros())
                judged.add(tally)
                tally = judged
            tallies.append(tally)
        return tallies


def _save(tx: StoreTransaction, item: Item) -> Tally:
    """Write the row of a member, or the incident of an envelope."""
    if isinstance(item, Part):
        return records.save_member(tx, item.envelope.id, item.record, item.market, item.position, last=item.last)
    tally = Tally()
    if isinstance(item, Repeated):
        records.add_member(tx, item.envelope.id, item.record, "duplicate", item.first)
        return tally
    member_id = None
    if item.record is not None:
        records.refuse_member(tx, item.envelope.id, item.record)
        member_id = item.record.id
    records.note_in(tx, item.envelope, member_id, item.refusal, item.severity)
    if item.severity == "error":
        tally.tell(place_of(item.envelope, item.record.path if item.record is not None else ""), item.refusal)
    else:
        tally.incidents[item.refusal.code] += 1
    return tally


def _origin(part: Part) -> Origin:
    return Origin(part.market, part.envelope.id, part.record.id, place=part.place)


def _log(part: Part, stored: Tally) -> None:
    """One line a part, and one for each message that was not accepted."""
    if stored.ids is None:
        return
    place = {"envelope": part.envelope.id, "name": part.envelope.name, "member": part.record.path}
    first, last = stored.ids
    log.info("batch.stored", **place, messages=f"{first}-{last}", position=part.record.committed)
    for message_id, label, why in stored.refused:
        log.info("message." + label, **place, message=message_id, why=why)
