"""The single writer of the inbound path: digested content waits here and shares transactions.

A commit, and one round of queries, cost as much as judging a dozen messages; a market sends thousands of files, and
zips of thousands of members, that bring fewer. What breaks the program is isolated here: a transaction that breaks is
done again member by member, and of a member that breaks each CH message that does so is put aside by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol, TypeAlias

from msgspec import Struct, structs

from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.store import Store, StoreTransaction
from energycomm.errors import HistoryArchived
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared, Tally
from energycomm.pipeline.fold import fault_words
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.records import Book, MemberRecord, OpenEnvelope, TakenOver
from energycomm.transport.codes import refuse

log = Log()

Key: TypeAlias = tuple[int, str]
"""Envelope and path of a member."""


class OfMember(Struct, frozen=True):
    """What was read of a member: `record` is the member as it was when its reading began, with its header."""

    envelope: OpenEnvelope
    record: MemberRecord

    @property
    def key(self) -> Key:
        """Which member it is."""
        return self.envelope.id, self.record.path

    @property
    def place(self) -> str:
        """The file, for people."""
        name, path = self.envelope.name, self.record.path
        return name if path in ("", name) else f"{name}: {path}"


class Part(OfMember, frozen=True):
    """The next messages of a member.

    Attributes:
      market: its market.
      batch: its messages, prepared.
      position: number of the last of them in the member.
      last: the member is done with them.
    """

    market: str
    batch: Prepared
    position: int
    last: bool


class Refused(OfMember, frozen=True):
    """A member that could not be read."""

    refusal: Refusal


class Repeated(OfMember, frozen=True):
    """A member whose bytes arrived before; `first` is the earlier member."""

    first: int


class Noticed(Struct, frozen=True):
    """An incident of the envelope as a whole; its severity is error or note."""

    envelope: OpenEnvelope
    refusal: Refusal
    severity: str


class Ended(Struct, frozen=True):
    """An envelope was read to its end.

    Attributes:
      readable: members that could be read.
      errors: what could not be read.
      key_label: the key that opened it.
      series: the numbered series that its name tells.
    """

    envelope: OpenEnvelope
    readable: int
    errors: int
    key_label: str | None
    series: str | None


class PutAside(Struct, frozen=True):
    """An envelope that the program breaks on is given up; `why` in words."""

    envelope: OpenEnvelope
    why: str


class Settle(Struct, frozen=True):
    """The store is asked next: what waits is written before; with `sha256` only where a member with these bytes waits,
    so that the next one is seen as the duplicate that it is. After the `last` nothing is written."""

    sha256: bytes | None = None
    last: bool = False


Item: TypeAlias = Part | Refused | Repeated | Noticed | Ended | PutAside
"""What is written of an envelope."""

GONE = frozenset(("refused", "duplicate"))
"""States of members whose further messages are not stored."""

Members: TypeAlias = dict[Key, MemberRecord]
"""Members as they are stored: those of which more is to come, and those that were put aside."""

Judging: TypeAlias = Callable[[StoreTransaction, Sequence[tuple[Origin, Prepared]], int], list[Tally]]
"""Judges and stores the messages of members of one market."""


MOST_TEXT = 2 << 20
"""Characters of Kernel XML that wait at most, and what came with the last of them: a process needs about twenty times
as many bytes for them."""


class Turn(Protocol):
    """Whose turn it is to lock the access points of a group of envelopes: they are judged in this order."""

    def wait(self) -> None:
        """Return when those before us have locked theirs."""

    def over(self) -> None:
        """All of ours are locked: those behind us may lock theirs, and wait for those that we share with them."""


class Alone:
    """Nobody is before us or behind us."""

    def wait(self) -> None:
        """Return at once."""

    def over(self) -> None:
        """Nothing happens."""


class Writer:
    """Judges and stores digested content, in each transaction with the progress of its members and envelopes.

    Args:
      store: the EIS.
      batches: judges and stores batches.
      batch_size: CH messages, or items, that wait at most; fewer where their Kernel XML is long (`MOST_TEXT`).
      turn: waited for once, before anything is stored; over with the access points of what is stored last.
    """

    def __init__(self, store: Store, batches: BatchWriter, batch_size: int, turn: Turn | None = None) -> None:
        self.store, self.batches, self.batch_size = store, batches, batch_size
        self._turn, self._waited, self._last = turn or Alone(), False, False
        self._waiting: list[Item] = []
        self._messages = self._text = 0
        self._market: str | None = None
        """Market of the messages that wait."""
        self._held: set[bytes] = set()
        """Bytes (SHA-256) of the members that wait."""
        self._members: Members = {}
        self._lost: set[int] = set()

    def lost(self) -> set[int]:
        """Envelopes of which something could not be written since this was last asked: they are not done, whatever was
        read of them."""
        lost, self._lost = self._lost, set()
        return lost

    def write(self, items: Iterable[Item | Settle]) -> Iterator[Progress]:
        """Let items wait until there are enough of them, then judge and store all that wait in one transaction, again
        where another worker was in the way.

        Args:
          items: what was read, in the order in which it is to be stored.

        Returns:
          What was done, a step for each item, once it is stored.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with one of the members.
          UserError: the database was lost.
        """
        for item in items:
            if isinstance(item, Settle):
                if item.sha256 is None or item.sha256 in self._held:
                    yield from self._flush(last=item.last)
                continue
            if isinstance(item, Part):
                messages = len(item.batch.transactions)
                other = self._market not in (None, item.market)
                if other or (self._waiting and self._messages + messages > self.batch_size):
                    yield from self._flush()
                self._messages += messages
                self._text += sum(map(len, chain.from_iterable(item.batch.xmls)))
                self._market = item.market
                self._held.add(item.record.sha256)
            self._waiting.append(item)
            if max(self._messages, len(self._waiting)) >= self.batch_size or self._text >= MOST_TEXT:
                yield from self._flush()

    def _flush(self, *, last: bool = False) -> Iterator[Progress]:
        items, self._waiting, self._market = self._waiting, [], None
        self._messages = self._text = 0
        self._held.clear()
        self._last = last
        try:
            if items and not self._waited:
                self._turn.wait()
                self._waited = True
            steps = self._isolated(items) if items else []
        except BaseException:
            self._lost.update(item.envelope.id for item in items)
            raise
        yield from steps

    def _isolated(self, items: Sequence[Item]) -> list[Progress]:
        """Store items in one transaction; where the program breaks on that, they are halved until what it breaks on
        stands alone."""
        try:
            return self._stored(items, self.batches.store_parts)
        except Exception as error:
            if not is_fault(error):
                raise
            if not isinstance(error, HistoryArchived):
                log.error("batch.broke", members=len(items), exc_info=error)
        if len(items) == 1:
            return self._alone(items[0])
        middle = len(items) // 2
        return self._isolated(items[:middle]) + self._isolated(items[middle:])

    def _alone(self, item: Item) -> list[Progress]:
        """Store one item, around what breaks the program; a member that cannot be stored at all is put aside."""
        try:
            return self._stored([item], self.batches.store_around)
        except Exception as error:
            if not is_fault(error) or not isinstance(item, Part):
                raise
            log.error("member.put_aside", file=item.place, exc_info=error)
            refusal = refuse("ENV_PUT_ASIDE", item.record.path, fault_words(error), "a member that can be stored")
        steps = self._stored([Refused(item.envelope, item.record, refusal)], self.batches.store_parts)
        self._members[item.key] = structs.replace(item.record, state="refused")
        return steps

    def _stored(self, items: Sequence[Item], judge: Judging) -> list[Progress]:
        """Store items in one transaction, their messages as they were judged."""

        def run(tx: StoreTransaction) -> tuple[list[Progress], Members]:
            members = self._members.copy()  # kept once the transaction is
            steps, work, judged = [], [], []
            unasked = {item.record.sha256 for item in items if isinstance(item, Part) and not item.record.asked}
            book = Book(tx, [item.envelope for item in items], unasked)
            for item in items:
                steps.append(_save(book, item, members))
                if isinstance(item, Part) and item.batch.transactions and members[item.key].state not in GONE:
                    origin = Origin(item.market, item.envelope.id, members[item.key].id, place=item.place)
                    work.append((origin, item.batch))
                    judged.append(steps[-1])
            book.store()  # before the messages: they refer to members, and a report finds its order by its envelope
            if work and tx.locks:
                self._lock(tx, work, book)
            tallies = judge(tx, work, now_micros()) if work else []
            for step, tally in zip(judged, tallies, strict=True):
                tally.add(step.tally)
                step.tally = tally
            tx.drop_unused()
            return steps, members

        (steps, members), conflicts = self.store.retried(run)
        self._members = {key: record for key, record in members.items() if record.state != "done"}
        steps[0].conflicts = conflicts
        for item, step in zip(items, steps, strict=True):
            _log(item, step)
        return steps

    def _lock(self, tx: StoreTransaction, work: Sequence[tuple[Origin, Prepared]], book: Book) -> None:
        """Lock the access points of messages: here whoever shares some with us is waited for. What was written before
        concerns nobody else; what is asked from now on has all that they stored.

        Raises:
          Conflict: of what was asked before, they stored something.
        """
        tx.lock_access_points(work[0][0].market, {point for _, batch in work for point in batch.points()})
        if self._last:
            self._turn.over()
        book.check()


def is_fault(error: Exception) -> bool:
    """Whether the program itself failed: no conflict with another process, and the database is available."""
    return not (isinstance(error, Conflict | TakenOver) or is_lost(error))


def _save(book: Book, item: Item, members: Members) -> Progress:
    """Write the row of a member, an incident, or the end of an envelope; the messages of a member apart."""
    step, envelope = Progress(), item.envelope
    match item:
        case Part():
            record = members.setdefault(item.key, item.record)
            first = None if record.id else book.first(envelope, record)
            if first is not None:
                repeated = structs.replace(record, head=None, committed=0)
                repeated = records.add_member(book, envelope.id, repeated, "duplicate", first)
                members[item.key] = structs.replace(repeated, state="duplicate")
            elif record.state not in GONE:
                members[item.key], step.tally = records.save_member(
                    book, envelope.id, record, item.market, item.position, last=item.last
                )
                if item.last:
                    book.owe(envelope.id, item.record)
        case Repeated():
            records.add_member(book, envelope.id, item.record, "duplicate", item.first)
        case Refused():
            record = members.pop(item.key, item.record)
            if record.state != "duplicate":
                member_id = records.refuse_member(book, envelope.id, record)
                book.note(envelope, member_id, item.refusal, "error")
                book.owe(envelope.id, item.record)
                step.tally.tell(item.place, item.refusal)
        case Noticed():
            about = members.get((envelope.id, item.refusal.path))
            if about is None or about.state != "duplicate":
                book.note(envelope, None, item.refusal, item.severity)
                step.tally.tell(envelope.name, item.refusal, item.severity)
        case PutAside():
            refusal = records.put_aside(book.tx, envelope, item.why)
            if refusal is not None:
                step.failed = step.unreadable = 1
                step.tally.tell(envelope.name, refusal)
                step.ended[envelope.id] = "failed"
        case Ended():
            aside = [key for key, one in members.items() if key[0] == envelope.id and one.state == "refused"]
            for key in aside:
                del members[key]
            errors, readable = item.errors + len(aside), item.readable - len(aside)
            step.failed = int(errors > 0 and not readable)
            step.done, step.unreadable = 1 - step.failed, min(errors, 1)
            if item.series is not None:
                step.series.add(item.series)
            state = step.ended[envelope.id] = "failed" if step.failed else "done"
            records.finish(book, envelope, state, item.key_label)
    return step


def _log(item: Item, step: Progress) -> None:
    """One line an envelope and a part, and one for each message that was not accepted."""
    place: dict[str, object] = {"envelope": item.envelope.id, "name": item.envelope.name}
    if isinstance(item, Ended):
        log.info("envelope.done", **place, members=item.readable, errors=item.errors)
    if isinstance(item, Part) and step.tally.ids is not None:
        place["member"] = item.record.path
        first, last = step.tally.ids
        log.info("batch.stored", **place, messages=f"{first}-{last}", position=item.position)
        for message_id, label, why in step.tally.refused:
            log.info("message." + label, **place, message=message_id, why=why)
