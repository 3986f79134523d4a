"""The way of an envelope through the house: archived, opened, digested, judged, stored.

The raw bytes are committed before anything is parsed. Each batch is one transaction that also says how far the member
has come, so that a run that was stopped at any point is taken up where it was.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO

import structlog
from msgspec import Struct, field

from adapters.contract import Adapter, MemberHead, Transaction
from energycomm.eis import archive
from energycomm.eis.archive import Archived
from energycomm.eis.database import Conflict
from energycomm.eis.store import Store, StoreTransaction
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Origin, Tally
from energycomm.pipeline.markets import dispatch, series_of
from energycomm.pipeline.records import MemberRecord, OpenEnvelope
from energycomm.transport.codes import refuse
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from energycomm.transport.members import BrokenMember, Member

log = structlog.get_logger()

CONFLICTS = 6
"""How often a batch is run before the envelope is left to whoever is in the way."""


class Progress(Struct):
    """What a run has done so far; given to whoever watches.

    Attributes:
      files: envelopes taken in.
      duplicates: envelopes that had arrived before.
      unreadable: envelopes of which something could not be read.
      conflicts: batches that were run again because another worker stored the same at the same time.
      tally: counts of messages.
    """

    files: int = 0
    duplicates: int = 0
    unreadable: int = 0
    conflicts: int = 0
    tally: Tally = field(default_factory=Tally)


class Inbound:
    """Takes in envelopes.

    Args:
      store: the EIS.
      writer: judges and stores batches.
      adapters: installed markets.
      keys: keys that encrypted envelopes are tried with.
      limits: bounds of an envelope.
      batch_size: CH messages in one transaction.
    """

    def __init__(
        self,
        store: Store,
        writer: BatchWriter,
        adapters: Mapping[str, Adapter],
        keys: KeyRing,
        limits: Limits,
        batch_size: int = 500,
    ) -> None:
        self.store, self.writer, self.adapters = store, writer, adapters
        self.keys, self.limits, self.batch_size = keys, limits, batch_size
        self.progress = Progress()
        self.watch: Callable[[Progress], None] | None = None
        """Called after every batch and envelope."""
        self._markets: set[str] = set()
        """Markets that the members of the envelope at hand belong to."""
        self.touched: set[str] = set()
        """Series of the run, for the search for gaps at its end."""
        self._ended: tuple[OpenEnvelope, str, str | None] | None = None
        """The envelope processed last, its state and the label of its key, while that is not written yet."""

    def resume(self) -> int:
        """Finish the envelopes that an interrupted run left behind.

        Returns:
          How many there were.
        """
        left = records.unfinished(self.store)
        for envelope in left:
            log.info("envelope.resumed", envelope=envelope.id, name=envelope.name)
            self._process(envelope)
            self._close()
            self._tell()
        return len(left)

    def _tell(self) -> None:
        if self.watch is not None:
            self.watch(self.progress)

    def in_order(self, files: Sequence[Path]) -> list[Path]:
        """Files in the order in which the market made them, as far as their names tell.

        Any order gives the same EIS; in this one few messages arrive late, and little has to be judged again. Files
        whose names tell no time come first, in the order given.
        """
        stamps = {path: series_of(self.adapters, path.name) for path in files}

        def stamp(path: Path) -> str:
            found = stamps[path]
            return (found[1].stamp or "") if isinstance(found, tuple) else ""

        return sorted(files, key=stamp)

    def take(self, files: Iterable[Path], channel: str) -> Progress:
        """Take in files, one envelope each, in the order given.

        Args:
          files: the envelopes.
          channel: by which way they came, for the record.
        """
        for path in files:
            try:
                with path.open("rb") as source:
                    self._take(source, path.name, channel)
            except OSError as error:
                self._unreadable_file(path, error)
            self._tell()
        self._close()
        return self.progress

    def take_one(self, source: IO[bytes], name: str, channel: str) -> int:
        """Archive one envelope and process it.

        Returns:
          Its id in the EIS.
        """
        number = self._take(source, name, channel)
        self._close()
        return number

    def archive_one(self, source: IO[bytes], name: str, channel: str) -> Archived:
        """Archive one envelope, for somebody to process: `process_one`, in this process or another.

        Args:
          source: its bytes, seekable.
          name: its file name.
          channel: by which way it came.

        Returns:
          How it was kept. Nothing is left to process where it is a duplicate.
        """
        return self._archive(source, name, channel)

    def process_one(self, envelope: OpenEnvelope) -> str:
        """Process an envelope that is archived, from where it was left.

        Two processes may do this with one envelope, after a connection was lost: one of them goes on, the other is
        stopped by `Conflict` or `TakenOver`, and nothing is stored twice.

        Returns:
          Its state: done or failed.
        """
        self._process(envelope)
        state = self._ended[1] if self._ended is not None else "done"
        self._close()
        return state

    def _take(self, source: IO[bytes], name: str, channel: str) -> int:
        """Archive one envelope and process it. It is closed by the next transaction that begins an envelope, or by
        `_close`: a commit costs as much as judging a dozen messages."""
        archived = self._archive(source, name, channel)
        if archived.duplicate_of is None:
            self._process(OpenEnvelope(archived.envelope_id, name, archived.sha256))
        return archived.envelope_id

    def _archive(self, source: IO[bytes], name: str, channel: str) -> Archived:
        self.progress.files += 1
        named = series_of(self.adapters, name)
        with self.store.transaction() as tx:
            self._write_ended(tx)
            archived = archive.archive(tx, name, source, channel, now_micros())
            again = archived.duplicate_of is not None and archived.first_state == "failed"
            if again:
                # The first could not be read. A key or an adapter may be there now: sending it again must help.
                records.revive(tx, archived.envelope_id)
            if isinstance(named, tuple) and (again or archived.duplicate_of is None):
                records.set_series(tx, archived.envelope_id, *named)
        self._ended = None
        if archived.duplicate_of is not None and not again:
            self.progress.duplicates += 1
            log.info("envelope.duplicate", envelope=archived.envelope_id, first=archived.duplicate_of, name=name)
            return archived
        log.info("envelope.archived", envelope=archived.envelope_id, name=name, channel=channel, bytes=archived.size)
        return archived._replace(duplicate_of=None)

    def _write_ended(self, tx: StoreTransaction) -> None:
        if self._ended is not None:
            records.finish(tx, *self._ended)

    def _close(self) -> None:
        """Write that the envelope processed last is done."""
        if self._ended is not None:
            with self.store.transaction() as tx:
                self._write_ended(tx)
            self._ended = None

    def _unreadable_file(self, path: Path, error: OSError) -> None:
        code = "ENV_MISSING" if isinstance(error, FileNotFoundError) else "ENV_UNREADABLE"
        refusal = refuse(code, str(path), error.strerror, "a file that may be read")
        self.progress.files += 1
        self.progress.unreadable += 1
        records.note(self.store, self.progress.tally, None, None, refusal, "error")

    def _process(self, envelope: OpenEnvelope) -> None:
        """Open an archived envelope and process its members."""
        errors = readable = 0
        self._markets.clear()
        with (
            archive.open_raw(self.store.engine, envelope.sha256) as raw,
            open_envelope(raw, envelope.name, self.keys, self.limits) as opened,
        ):
            for item in opened:
                if isinstance(item, Refusal):
                    errors += 1
                    records.note(self.store, self.progress.tally, envelope.id, None, item, "error")
                elif self._member(envelope, item):
                    readable += 1
                else:
                    errors += 1
            key_label = opened.key_label
        self._read_name(envelope)
        if errors:
            self.progress.unreadable += 1
        state = "failed" if errors and not readable else "done"
        self._ended = (envelope, state, key_label)
        log.info("envelope.done", envelope=envelope.id, name=envelope.name, members=readable, errors=errors)

    def _read_name(self, envelope: OpenEnvelope) -> None:
        """Tell a name that its market does not know; remember the series of one that it does.

        Where the content did not tell the market, the name must be unknown to all of them to be reported.
        """
        found = series_of(self.adapters, envelope.name)
        if isinstance(found, tuple):
            if found[1].number is not None:
                self.touched.add(found[1].key)
            return
        for market in self._markets or self.adapters.keys():
            if market not in found:
                return
        if found:
            refusal = found[next(iter(self._markets or found))]
            records.note(self.store, self.progress.tally, envelope.id, None, refusal, "note")

    def _member(self, envelope: OpenEnvelope, member: Member) -> bool:
        """Process one member; False when it could not be read."""
        seen = records.look(member)
        sha256 = b"" if isinstance(seen, Refusal) else seen[1]
        record, first = records.find_member(self.store, envelope.id, member.path, sha256)
        if record is not None and record.finished:
            return record.state != "refused"
        if isinstance(seen, Refusal):
            return self._refuse(envelope, record or MemberRecord(member.path, b"", member.size), seen)
        sniff, sha256, size = seen
        if record is None:
            record = MemberRecord(member.path, sha256, size)
            if first is not None:
                records.add_duplicate_member(self.store, envelope.id, record, first)
                return True
        route = dispatch(self.adapters, sniff)
        if isinstance(route, Refusal):
            return self._refuse(envelope, record, route)
        adapter, label = route
        self._markets.add(adapter.market)
        try:
            return self._digest(envelope, member, record, adapter, label)
        except AdapterFault as fault:
            log.error("adapter.fault", envelope=envelope.id, member=member.path, exc_info=fault.__cause__)
            return self._refuse(envelope, record, fault.refusal)

    def _refuse(self, envelope: OpenEnvelope, record: MemberRecord, refusal: Refusal) -> bool:
        records.refuse_member(self.store, self.progress.tally, envelope.id, record, refusal)
        return False

    def _digest(
        self, envelope: OpenEnvelope, member: Member, record: MemberRecord, adapter: Adapter, label: str
    ) -> bool:
        batch: list[Transaction] = []
        position = 0
        with member.open() as content:
            items = iter(adapter.digest(label, content, member.name))
            while True:
                try:
                    item = next(items, None)
                except BrokenMember as broken:
                    return self._refuse(envelope, record, broken.refusal)
                except UserError:
                    raise  # the database was lost while the member was read: nothing is wrong with the member
                except Exception as error:
                    raise AdapterFault(member.path, error) from error
                if item is None:
                    break
                if isinstance(item, Refusal):
                    self._flush(envelope, record, adapter, batch, position, last=False)
                    return self._refuse(envelope, record, item)
                if isinstance(item, MemberHead):
                    record.head = item
                    continue
                position = item.position
                if position > record.committed:
                    batch.append(item)
                    if len(batch) >= self.batch_size:
                        self._flush(envelope, record, adapter, batch, position, last=False)
                        batch = []
        self._flush(envelope, record, adapter, batch, position, last=True)
        return True

    def _flush(
        self,
        envelope: OpenEnvelope,
        record: MemberRecord,
        adapter: Adapter,
        batch: list[Transaction],
        position: int,
        *,
        last: bool,
    ) -> None:
        """Store a batch and how far the member has come, in one transaction, again where another worker was in the way.

        Raises:
          Conflict: somebody stays in the way.
          TakenOver: another process went on with the member.
        """
        prepared = self.writer.prepare(batch)
        before = record.id, record.state, record.committed
        for attempt in range(1, CONFLICTS + 1):
            try:
                with self.store.transaction() as tx:
                    tally = records.save_member(tx, envelope.id, record, adapter.market, position, last=last)
                    stored = Tally()
                    if batch:
                        origin = Origin(adapter.market, envelope.id, record.id)
                        stored = self.writer.store(tx, origin, prepared, now_micros())
                break
            except Conflict:
                record.id, record.state, record.committed = before
                log.info("batch.conflict", envelope=envelope.id, member=record.path, attempt=attempt)
                if attempt == CONFLICTS:
                    raise
                self.progress.conflicts += 1
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - two workers must not meet again
        self._log(envelope, record, stored)
        tally.add(stored)
        self.progress.tally.add(tally)
        self._tell()

    def _log(self, envelope: OpenEnvelope, record: MemberRecord, stored: Tally) -> None:
        """One line a batch, and one for each message that was not accepted."""
        if stored.ids is None:
            return
        place = {"envelope": envelope.id, "member": record.path}
        first, last = stored.ids
        log.info("batch.stored", **place, messages=f"{first}-{last}", position=record.committed)
        for message_id, label, why in stored.refused:
            log.info("message." + label, **place, message=message_id, why=why)


class AdapterFault(Exception):
    """A digester broke on a member: a fault of the program, not of the market.

    Attributes:
      refusal: what is recorded.
    """

    def __init__(self, path: str, error: Exception) -> None:
        super().__init__(path)
        self.refusal = Refusal(
            code="ADAPTER_FAULT",
            path=path,
            value=f"{type(error).__name__}: {error}"[:200],
            expected="a digester that finishes",
            advice="report it with the envelope; the envelope is kept and can be processed again after an upgrade",
        )
