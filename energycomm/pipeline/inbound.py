"""The way of an envelope through the house: archived, opened, digested, judged, stored.

The raw bytes are committed before anything is parsed. Each batch is one transaction that also says how far its members
have come, so that a run that was stopped at any point is taken up where it was. Small files are archived together and
their members share a batch: a commit costs as much as judging a dozen messages.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import structlog
from msgspec import Struct, field

from energycomm.eis import archive, tables
from energycomm.eis.archive import Archived
from energycomm.eis.database import Conflict, is_lost
from energycomm.eis.fitting import expected, fits, storable
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead, Transaction
from energycomm.market.dispatch import dispatch, series_of
from energycomm.pipeline import records
from energycomm.pipeline.batch import BatchWriter, Tally
from energycomm.pipeline.fold import fault_words
from energycomm.pipeline.gathering import Gathering, Part, Refused, Repeated
from energycomm.pipeline.records import MemberRecord, OpenEnvelope, TakenOver
from energycomm.transport.codes import refuse
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from energycomm.transport.members import BrokenMember, Member

log = structlog.get_logger()

FILES_TOGETHER = 64
"""Small files that are archived in one transaction."""

SMALL = 1 << 20
"""Bytes up to which a file is small."""

ATTEMPTS = 10
"""Runs that may begin with an envelope that an earlier one left behind, before it is put aside."""


class Progress(Struct):
    """What a run has done so far; given to whoever watches.

    Attributes:
      files: envelopes taken in.
      duplicates: envelopes that had arrived before.
      unreadable: envelopes of which something could not be read.
      left: envelopes that another process holds.
      conflicts: batches that were run again because another worker stored the same at the same time.
      tally: counts of messages.
    """

    files: int = 0
    duplicates: int = 0
    unreadable: int = 0
    left: int = 0
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
      attempts: runs that may end in the middle of one envelope before it is put aside.
      channels: channel -> its market, which is asked first whether a document is its own.
    """

    def __init__(
        self,
        store: Store,
        writer: BatchWriter,
        adapters: Mapping[str, Adapter],
        keys: KeyRing,
        limits: Limits,
        batch_size: int = 500,
        attempts: int = ATTEMPTS,
        channels: Mapping[str, str] | None = None,
    ) -> None:
        self.store, self.writer, self.adapters = store, writer, adapters
        self.keys, self.limits, self.batch_size, self.attempts = keys, limits, batch_size, attempts
        self.channels = channels or {}
        self.progress = Progress()
        self.watch: Callable[[Progress], None] | None = None
        """Called after every batch and envelope."""
        self._markets: set[str] = set()
        """Markets that the members of the envelope at hand belong to."""
        self._told: set[tuple[str, str]] = set()
        """Code and path of the incidents of the envelope at hand: each is told once."""
        self.touched: set[str] = set()
        """Series of the run, for the search for gaps at its end."""
        self._ended: list[tuple[OpenEnvelope, str, str | None]] = []
        """Envelopes that are processed, their states and the labels of their keys, while that is not written yet."""
        self.gathering = Gathering(store, writer, batch_size, self._stored)

    def resume(self) -> int:
        """Finish the envelopes that an interrupted run left behind.

        None of them stops the others: one that the program breaks on, or that ended run after run, is put aside.

        Returns:
          How many there were.
        """
        left = records.unfinished(self.store)
        for envelope in left:
            attempt = records.begin(self.store, envelope.id)
            if attempt is None:
                continue
            if attempt > self.attempts:
                self._put_aside(envelope, f"{attempt - 1} attempts")
                continue
            log.info("envelope.resumed", envelope=envelope.id, name=envelope.name)
            try:
                self._guarded(envelope)
                self._close_around()
            except KeyboardInterrupt:
                records.forgive(self.store, [envelope.id])
                raise
            self._tell()
        return len(left)

    def _guarded(self, envelope: OpenEnvelope, kept: IO[bytes] | None = None) -> None:
        """Process an envelope; where the program breaks on it twice, it is put aside and its neighbours go on."""
        try:
            self._process(envelope, kept)
            return
        except Exception as error:
            if self._left(error, envelope):
                return
        try:
            self.gathering.write()
            self._process(envelope._replace(fresh=False))
        except Exception as error:
            if not self._left(error, envelope):
                self._put_aside(envelope, fault_words(error))

    def _left(self, error: Exception, envelope: OpenEnvelope | None = None) -> bool:
        """Whether another process is in the way, so that what could not be written is left to whoever comes next.

        Envelopes that wait to be told done, and of which something was not written, are not done: the next run takes
        them up.

        Raises:
          Exception: the error, where the run has to end.
        """
        lost, self.gathering.lost = self.gathering.lost, set()
        self._ended = [ended for ended in self._ended if ended[0].id not in lost]
        if is_lost(error):
            raise error
        name = None if envelope is None else envelope.name
        if not isinstance(error, Conflict | TakenOver):
            self.progress.left += len(lost - {0 if envelope is None else envelope.id})
            log.error("envelope.broke", name=name, others=sorted(lost), exc_info=error)
            return False
        log.warning("envelope.left", name=name, others=sorted(lost), why=str(error)[:200])
        self.progress.left += len(lost | (set() if envelope is None else {envelope.id}))
        return True

    def _write_around(self) -> None:
        """Write the messages that wait; what cannot be written is left to the next run."""
        try:
            self.gathering.write()
        except Exception as error:
            self._left(error)

    def _close_around(self) -> None:
        """Write what waits to be written; what cannot be is left to the next run."""
        self._write_around()
        self._close()

    def _put_aside(self, envelope: OpenEnvelope, why: str) -> None:
        refusal = records.put_aside(self.store, envelope, why)
        if refusal is not None:
            self.progress.unreadable += 1
            self.progress.tally.tell(envelope.name, refusal)

    def _stored(self, tally: Tally | None) -> None:
        """Count what was stored; None where it has to be tried again."""
        if tally is None:
            self.progress.conflicts += 1
        else:
            self.progress.tally.add(tally)
            self._tell()

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
        group: dict[str, Path] = {}
        for path in files:
            small = _is_small(path)
            # Of two files with one name the second must find the first done, to be seen as its duplicate.
            if group and (not small or path.name in group or len(group) == FILES_TOGETHER):
                self._take_group(list(group.values()), channel)
                group.clear()
            if small:
                group[path.name] = path
            else:
                self._take_group([path], channel)
        if group:
            self._take_group(list(group.values()), channel)
        self._close_around()
        return self.progress

    def _take_group(self, paths: Sequence[Path], channel: str) -> None:
        """Archive files in one transaction, then process them; small members share their transactions."""
        with ExitStack() as opened:
            sources: list[tuple[IO[bytes], str]] = []
            for path in paths:
                try:
                    # A small file is read at once: what cannot be read must not undo its neighbours' transaction.
                    source = io.BytesIO(path.read_bytes()) if _is_small(path) else opened.enter_context(path.open("rb"))
                    sources.append((source, path.name))
                except OSError as error:
                    self._unreadable_file(path, error)
            self._take_sources(sources, channel)

    def _take_sources(self, sources: Sequence[tuple[IO[bytes], str]], channel: str) -> None:
        self._write_around()
        try:
            kept = self._archive(sources, channel)
        except Exception as error:
            if isinstance(error, Conflict) or is_lost(error):
                raise
            log.error("archive.broke", files=len(sources), exc_info=error)
            if len(sources) == 1:
                name = storable(sources[0][1], archive.LONGEST_NAME)
                refusal = refuse("ENV_UNREADABLE", name, fault_words(error), "a file that can be archived")
                self._unreadable(name, refusal)
                return
            # One of them must not keep the others from being taken in.
            for source in sources:
                self._take_sources([source], channel)
            return
        self._process_together(kept, sources, channel)

    def _process_together(
        self, kept: Sequence[Archived], sources: Sequence[tuple[IO[bytes], str]], channel: str
    ) -> None:
        for archived, (source, name) in zip(kept, sources, strict=True):
            self.progress.files += 1
            if archived.duplicate_of is None:
                source.seek(0)
                # A large file is read from the archive: on the disk it may have changed since.
                self._guarded(_opened(archived, name, channel), source if isinstance(source, io.BytesIO) else None)
            self._tell()

    def take_one(self, source: IO[bytes], name: str, channel: str) -> int:
        """Archive one envelope and process it.

        Returns:
          Its id in the EIS.
        """
        archived = self.archive_one(source, name, channel)
        if archived.duplicate_of is None:
            self.process_one(_opened(archived, name, channel))
        return archived.envelope_id

    def archive_one(self, source: IO[bytes], name: str, channel: str) -> Archived:
        """Archive one envelope, for somebody to process: `process_one`, in this process or another.

        Args:
          source: its bytes, seekable.
          name: its file name.
          channel: by which way it came.

        Returns:
          How it was kept. Nothing is left to process where it is a duplicate.
        """
        self.progress.files += 1
        return self._archive([(source, name)], channel)[0]

    def process_one(self, envelope: OpenEnvelope) -> str:
        """Process an envelope that is archived, from where it was left.

        Two processes may do this with one envelope, after a connection was lost: one of them goes on, the other is
        stopped by `Conflict` or `TakenOver`, and nothing is stored twice.

        Returns:
          Its state: done or failed.
        """
        try:
            self._process(envelope)
            state = self._ended[-1][1]
            self._close()
        except BaseException:
            # Nothing of it is told done by a later call: it is taken up where it was left.
            self.gathering.forget()
            self._ended.clear()
            raise
        return state

    def _archive(self, sources: Sequence[tuple[IO[bytes], str]], channel: str) -> list[Archived]:
        """Keep the bytes of envelopes in one transaction."""
        self.gathering.write()
        kept = []
        with self.store.transaction() as tx:
            self._write_ended(tx)
            for source, name in sources:
                archived = archive.archive(tx, name, source, channel, now_micros())
                again = archived.duplicate_of is not None and archived.first_state == "failed"
                if again:
                    # The first could not be read. A key or an adapter may be there now: sending it again must help.
                    records.revive(tx, archived.envelope_id)
                    archived = archived._replace(duplicate_of=None)
                named = series_of(self.adapters, name)
                if isinstance(named, tuple) and archived.duplicate_of is None:
                    records.set_series(tx, archived.envelope_id, *named)
                kept.append(archived)
        self._ended.clear()
        for archived, (_, name) in zip(kept, sources, strict=True):
            number = archived.envelope_id
            if archived.duplicate_of is not None:
                self.progress.duplicates += 1
                log.info("envelope.duplicate", envelope=number, first=archived.duplicate_of, name=name)
            else:
                log.info("envelope.archived", envelope=number, name=name, channel=channel, bytes=archived.size)
        return kept

    def _write_ended(self, tx: StoreTransaction) -> None:
        for ended in self._ended:
            records.finish(tx, *ended)

    def _close(self) -> None:
        """Write what waits to be written: messages, and which envelopes are done."""
        self.gathering.write()
        if self._ended:
            with self.store.transaction() as tx:
                self._write_ended(tx)
            self._ended.clear()

    def _unreadable_file(self, path: Path, error: OSError) -> None:
        code = "ENV_MISSING" if isinstance(error, FileNotFoundError) else "ENV_UNREADABLE"
        name = storable(str(path), records.LONGEST_PATH)
        self._unreadable(name, refuse(code, name, error.strerror, "a file that may be read"))

    def _unreadable(self, name: str, refusal: Refusal) -> None:
        self.progress.files += 1
        self.progress.unreadable += 1
        records.note(self.store, self.progress.tally, None, refusal, "error", name)

    def _process(self, envelope: OpenEnvelope, kept: IO[bytes] | None = None) -> None:
        """Open an archived envelope and process its members.

        Args:
          envelope: the envelope.
          kept: its bytes, where they are still in memory.
        """
        errors = readable = 0
        self._markets.clear()
        self._told.clear()
        with (
            kept or archive.open_raw(self.store.engine, envelope.sha256) as raw,
            open_envelope(raw, envelope.name, self.keys, self.limits) as opened,
        ):
            for item in opened:
                if isinstance(item, Refusal):
                    errors += 1
                    self._note(envelope, item, "error")
                elif self._member(envelope, item):
                    readable += 1
                else:
                    errors += 1
            key_label = opened.key_label
        self._read_name(envelope)
        if errors:
            self.progress.unreadable += 1
        state = "failed" if errors and not readable else "done"
        self._ended.append((envelope, state, key_label))
        log.info("envelope.done", envelope=envelope.id, name=envelope.name, members=readable, errors=errors)

    def _note(self, envelope: OpenEnvelope, refusal: Refusal, severity: str) -> None:
        """An incident of the envelope as a whole, once for each place."""
        place = refusal.code, refusal.path
        if place not in self._told:
            self._told.add(place)
            self.gathering.add(Refused(envelope, None, refusal, severity))

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
            self._note(envelope, refusal, "note")

    def _member(self, envelope: OpenEnvelope, member: Member) -> bool:
        """Process one member; False when it could not be read."""
        seen = records.look(member)
        sha256 = b"" if isinstance(seen, Refusal) else seen[1]
        if self.gathering.holds(sha256):
            self.gathering.write()  # so that this one is seen as the duplicate that it is
        record, first = records.find_member(self.store, envelope, member.path, sha256)
        if record is not None and record.finished:
            return record.state != "refused"
        if isinstance(seen, Refusal):
            return self._refuse(envelope, record or MemberRecord(member.path, b"", member.size), seen)
        sniff, sha256, size = seen
        if record is None:
            record = MemberRecord(member.path, sha256, size)
            if first is not None:
                self.gathering.add(Repeated(envelope, record, first))
                return True
        route = dispatch(self.adapters, sniff, self.channels.get(envelope.channel))
        if isinstance(route, Refusal):
            return self._refuse(envelope, record, route)
        adapter, label = route
        self._markets.add(adapter.market)
        return self._digest(envelope, member, record, adapter, label)

    def _refuse(self, envelope: OpenEnvelope, record: MemberRecord, refusal: Refusal) -> bool:
        self.gathering.add(Refused(envelope, record, refusal))
        return False

    def _digest(
        self, envelope: OpenEnvelope, member: Member, record: MemberRecord, adapter: Adapter, label: str
    ) -> bool:
        batch: list[Transaction] = []
        position, refusal = 0, None
        with member.open() as content:
            items = iter(adapter.digest(label, content, member.name))
            while not record.finished:
                try:
                    item = next(items, None)
                except BrokenMember as broken:
                    item = broken.refusal
                except Exception as error:
                    if is_lost(error):
                        raise  # while the member was read: nothing is wrong with it
                    log.error("adapter.fault", envelope=envelope.id, member=member.path, exc_info=error)
                    item = _adapter_fault(member.path, error)
                if item is None:
                    break
                if isinstance(item, MemberHead):
                    item = _unfit(item, member.path) or item
                if isinstance(item, Refusal):
                    refusal = item
                    break
                if isinstance(item, MemberHead):
                    record.head = item
                    continue
                position = item.position
                if position > record.committed or position in record.again:
                    batch.append(item)
                    if len(batch) >= self.batch_size:
                        self._flush(envelope, record, adapter, batch, position, last=False)
                        batch = []
        if record.finished:
            return False  # the program broke on it while it was stored
        if refusal is not None:
            if batch:
                self._flush(envelope, record, adapter, batch, position, last=False)
            return self._refuse(envelope, record, refusal)
        self._flush(envelope, record, adapter, batch, position, last=True)
        if not position:
            self._note(envelope, refuse("NOTE_EMPTY", member.path, None, "a message at least"), "note")
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
        """Hand over messages of a member to be stored with those of its neighbours."""
        self.gathering.add(Part(envelope, record, adapter.market, self.writer.prepare(batch), position, last))


def _opened(archived: Archived, name: str, channel: str) -> OpenEnvelope:
    shown = storable(name, archive.LONGEST_NAME)
    return OpenEnvelope(archived.envelope_id, shown, archived.sha256, fresh=not archived.resumes, channel=channel)


def _unfit(head: MemberHead, path: str) -> Refusal | None:
    """Why a header cannot be kept, or None."""
    for name in ("type", "declared_version", "version", "sender", "receiver"):
        column, value = tables.member.c[name], getattr(head, name)
        if value is not None and not fits(column, value):
            return refuse("HEAD_VALUE", f"{path}: {name}", storable(value, 120), expected(column))
    return None


def _is_small(path: Path) -> bool:
    try:
        return path.stat().st_size <= SMALL
    except OSError:
        return True  # it is told when it is read


def _adapter_fault(path: str, error: Exception) -> Refusal:
    """What is recorded when a digester breaks on a member: a fault of the program, not of the market."""
    return Refusal(
        code="ADAPTER_FAULT",
        path=path,
        value=fault_words(error),
        expected="a digester that finishes",
        advice="report it with the envelope; it is kept, and `energycomm envelope retry` processes it again",
    )
