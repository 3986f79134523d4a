"""The path of an envelope as one chain: archived, opened, digested, prepared, judged and stored.

The raw bytes are committed before anything is parsed. Then each stage is a generator over what the one before gives,
down to the writer, which takes items in and tells what was done. Each of its transactions also says how far members and
envelopes have come, so that a run that was stopped at any point is taken up where it was. Small files are archived
together and their members share a batch: a commit costs as much as judging a dozen messages.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import IO

from msgspec import structs

from energycomm.eis import archive
from energycomm.eis.archive import Archived
from energycomm.eis.database import is_lost
from energycomm.eis.fitting import storable
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant, now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import MemberHead, OutgoingMessage, Sniff
from energycomm.market.dispatch import coded, dispatch, series_of
from energycomm.pipeline import records
from energycomm.pipeline.acknowledgement import acknowledgement
from energycomm.pipeline.addressee import Addressee, Misdirected
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.digesting import TOGETHER, Batch, Wanted, batches, digested
from energycomm.pipeline.fold import fault_words
from energycomm.pipeline.progress import Progress
from energycomm.pipeline.reader import Lost, Order, Reader
from energycomm.pipeline.records import MemberRecord, OpenEnvelope
from energycomm.pipeline.writer import (
    Ended,
    Item,
    Noticed,
    Part,
    PutAside,
    Refused,
    Repeated,
    Settle,
    Turn,
    Writer,
    is_fault,
)
from energycomm.portfolio.files import table_form
from energycomm.portfolio.opening import CHANNEL as PORTFOLIO
from energycomm.portfolio.reading import Digesting, portfolio_reader
from energycomm.transport.codes import refuse
from energycomm.transport.envelopes import Envelope, Whole, open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from energycomm.transport.members import BrokenMember, Member

log = Log()

FILES_TOGETHER = 64
"""Small files that are archived in one transaction."""

SMALL = 1 << 20
"""Bytes up to which a file is small."""

LARGE = 32 << 20
"""Bytes from which on a member is read by a process of its own: it takes about a second to start one."""

ATTEMPTS = 10
"""Runs that may begin with an envelope that an earlier one left behind, before it is put aside."""


class Inbound:
    """Processes envelopes. Each method is a generator of steps; iterating does the work.

    Args:
      store: the EIS.
      writer: judges and stores batches, of the markets that it knows.
      keys: keys that encrypted envelopes are tried with.
      limits: bounds of an envelope.
      batch_size: CH messages in one transaction.
      channels: channel -> its market, which is asked first whether a document is its own.
      reader: reads large members in a process of its own; None: this process reads all.
      foreign: identifiers of other suppliers of the installation: what is addressed to them is not taken.
    """

    def __init__(
        self,
        store: Store,
        writer: BatchWriter,
        keys: KeyRing,
        limits: Limits,
        batch_size: int = 2000,
        channels: Mapping[str, str] | None = None,
        reader: Reader | None = None,
        foreign: frozenset[str] = frozenset(),
    ) -> None:
        self.store, self.writer, self.adapters = store, writer, writer.markets
        self.keys, self.limits, self.batch_size = keys, limits, batch_size
        self.channels = channels or {}
        self.reader = reader
        self.addressee = Addressee(foreign, self.adapters, keys, limits, self.channels) if foreign else None

    # --- the ways in ---

    def in_order(self, files: Sequence[Path]) -> list[Path]:
        """Files in the order in which the market made them, as far as their names show it.

        Any order gives the same EIS; in this one few messages arrive late, and little has to be judged again. Files
        whose names tell no time come first, in the order given.
        """
        stamps = {path: series_of(self.adapters, path.name) for path in files}

        def stamp(path: Path) -> str:
            found = stamps[path]
            return (found[1].stamp or "") if isinstance(found, tuple) else ""

        return sorted(files, key=stamp)

    def take(self, files: Iterable[Path], channel: str) -> Iterator[Progress]:
        """Take in files, one envelope each, in the order given.

        Args:
          files: the envelopes.
          channel: by which way they came, for the record.
        """
        for group in _together(files):
            with ExitStack() as opened:
                sources: list[tuple[IO[bytes], str]] = []
                for path in group:
                    try:
                        # A small file is read at once: what cannot be read must not undo its neighbours' transaction.
                        small = _is_small(path)
                        source = io.BytesIO(path.read_bytes()) if small else opened.enter_context(path.open("rb"))
                        sources.append((source, path.name))
                    except OSError as error:
                        code = "ENV_MISSING" if isinstance(error, FileNotFoundError) else "ENV_UNREADABLE"
                        name = storable(str(path), records.LONGEST_PATH)
                        yield self._unreadable(name, refuse(code, name, error.strerror, "a file that may be read"))
                yield from self._taken(sources, channel)

    def resume(self) -> Generator[Progress, None, None]:
        """Finish the envelopes that an interrupted run left behind.

        None of them stops the others: one that the program breaks on, or that ended run after run, is put aside. A run
        that is stopped by hand is no attempt at the envelope at hand.
        """
        for envelope in records.unfinished(self.store):
            attempt = records.begin(self.store, envelope.id)
            writer = self._writer()
            if attempt is not None and attempt > ATTEMPTS:
                yield from writer.write([PutAside(envelope, f"{attempt - 1} attempts"), Settle()])
            elif attempt is not None:
                log.info("envelope.resumed", envelope=envelope.id, name=envelope.name)
                try:
                    yield from self._through(writer, envelope)
                    yield from self._around(writer, [Settle()])
                except (KeyboardInterrupt, GeneratorExit):
                    records.forgive(self.store, [envelope.id])
                    raise
            yield Progress(resumed=1)

    def process(self, envelope: OpenEnvelope) -> Iterator[Progress]:
        """Process an envelope that is archived, from where it was left: `process_together` of one."""
        return self.process_together([envelope])

    def process_together(
        self,
        envelopes: Sequence[OpenEnvelope],
        at_hand: Callable[[OpenEnvelope], None] = lambda _: None,
        turn: Turn | None = None,
    ) -> Iterator[Progress]:
        """Process envelopes that are archived, from where they were left; small ones share their transactions.

        Two processes may do this with one envelope, after a connection was lost: one of them goes on, the other is
        stopped by `Conflict` or `TakenOver`, and nothing is stored twice. Whatever it is stopped by, the envelopes that
        have not ended may be processed again.

        Args:
          envelopes: in the order in which their messages are to be judged.
          at_hand: called with each envelope before it is opened.
          turn: when others that judge messages of the market at the same time let us do so.
        """
        writer = Writer(self.store, self.writer, self.batch_size, turn)
        # One is read piece by piece, whatever its size.
        kept = archive.small_contents(self.store.engine, [one.sha256 for one in envelopes]) if envelopes[1:] else {}
        for envelope in envelopes:
            at_hand(envelope)
            content = kept.get(envelope.sha256)
            yield from writer.write(self._items(envelope, None if content is None else io.BytesIO(content)))
        yield from writer.write([Settle(last=True)])

    # --- archived ---

    def archive(self, sources: Sequence[tuple[IO[bytes], str]], channel: str) -> list[Archived]:
        """Keep the bytes of envelopes in one transaction, for somebody to `process`, here or in another process. Those
        that are duplicates leave nothing to process.

        Args:
          sources: the bytes of each, seekable, and its file name.
          channel: by which way they came.

        Raises:
          Misdirected: some are addressed to another supplier of the installation; nothing is kept of any.
        """
        if self.addressee is not None and channel != PORTFOLIO:
            wrong = {
                place: refusal
                for place, (source, name) in enumerate(sources)
                if (refusal := self.addressee.wrong(source, name, channel)) is not None
            }
            if wrong:
                raise Misdirected(wrong)
        kept: list[Archived] = []
        stored: list[tuple[int, dict[str, object]]] = []
        with self.store.transaction() as tx:
            archiving = archive.Archiving(tx, channel, now_micros())
            for source, name in sources:
                named = series_of(self.adapters, name, self.channels.get(channel))
                series = records.series_columns(*named) if isinstance(named, tuple) else {}
                archived = archiving.keep(name, source, series=series)
                if archived.duplicate_of is not None and archived.first_state == "failed":
                    # The first could not be read. A key or an adapter may be there now: sending it again must help.
                    archiving.close()
                    records.revive(tx, archived.envelope_id)
                    archived = archived._replace(duplicate_of=None)
                    stored.append((archived.envelope_id, series))
                elif archived.resumes:
                    stored.append((archived.envelope_id, series))
                kept.append(archived)
            archiving.close()
            for number, series in stored:
                records.set_series(tx, number, series)
        for archived, (_, name) in zip(kept, sources, strict=True):
            number = archived.envelope_id
            if archived.duplicate_of is not None:
                log.info("envelope.duplicate", envelope=number, first=archived.duplicate_of, name=name)
            else:
                log.info("envelope.archived", envelope=number, name=name, channel=channel, bytes=archived.size)
        return kept

    def _taken(self, sources: Sequence[tuple[IO[bytes], str]], channel: str) -> Iterator[Progress]:
        """Archive envelopes in one transaction, then process them; small members share their transactions."""
        try:
            kept = self.archive(sources, channel)
        except Misdirected as found:
            for place, (_, name) in enumerate(sources):
                if (refusal := found.refusals.get(place)) is not None:
                    yield self._unreadable(storable(name, archive.LONGEST_NAME), refusal)
            right = [source for place, source in enumerate(sources) if place not in found.refusals]
            if right:
                yield from self._taken(right, channel)
            return
        except Exception as error:
            if not is_fault(error):
                raise
            log.error("archive.broke", files=len(sources), exc_info=error)
            broke = fault_words(error)
        else:
            yield from self._processed(kept, sources, channel)
            return
        if len(sources) == 1:
            name = storable(sources[0][1], archive.LONGEST_NAME)
            yield self._unreadable(name, refuse("ENV_UNREADABLE", name, broke, "a file that can be archived"))
            return
        # One of them must not keep the others from being taken in.
        for source in sources:
            yield from self._taken([source], channel)

    def _processed(
        self, kept: Sequence[Archived], sources: Sequence[tuple[IO[bytes], str]], channel: str
    ) -> Iterator[Progress]:
        writer = self._writer()
        for archived, (source, name) in zip(kept, sources, strict=True):
            yield Progress(files=1, duplicates=int(archived.duplicate_of is not None))
            if archived.duplicate_of is None:
                source.seek(0)
                # A large file is read from the archive: on the disk it may have changed since.
                held = source if isinstance(source, io.BytesIO) else None
                yield from self._through(writer, records.to_process(archived, name, channel), held)
        yield from self._around(writer, [Settle()])

    def _unreadable(self, name: str, refusal: Refusal) -> Progress:
        step = Progress(files=1, unreadable=1)
        records.note(self.store, step.tally, None, refusal, "error", name)
        return step

    # --- opened ---

    def _items(self, envelope: OpenEnvelope, kept: IO[bytes] | None = None) -> Iterator[Item | Settle]:
        """All that is to be written of an archived envelope, its end last.

        Args:
          envelope: the envelope.
          kept: its bytes, where they are still in memory.
        """
        if not envelope.fresh or envelope.channel == PORTFOLIO:
            yield Settle()  # something of it may wait; a portfolio takes the place of what an earlier one told
        told: set[tuple[str, str]] = set()
        for item in self._opened(envelope, kept):
            if isinstance(item, Noticed):
                place = item.refusal.code, item.refusal.path
                if place in told:
                    continue
                told.add(place)
            yield item

    def _opened(self, envelope: OpenEnvelope, kept: IO[bytes] | None) -> Iterator[Item | Settle]:
        """An envelope is opened, its members one by one."""
        readable = errors = 0
        markets: set[str] = set()
        with (
            nullcontext() if self.reader is None else self.reader,
            kept or archive.open_raw(self.store.engine, envelope.sha256) as raw,
            self._contents(envelope, raw) as opened,
        ):
            for member in opened:
                if isinstance(member, Refusal):
                    errors += 1
                    yield Noticed(envelope, self._coded(envelope, member), "error")
                elif (yield from self._member(envelope, member, markets, readable + errors + 1)):
                    readable += 1
                else:
                    errors += 1
            key_label = opened.key_label
        if envelope.channel == PORTFOLIO:
            yield Ended(envelope, readable, errors, key_label, None)
            return
        named = series_of(self.adapters, envelope.name, self.channels.get(envelope.channel))
        if isinstance(named, tuple):
            series = named[1].key if named[1].number is not None else None
            yield Ended(envelope, readable, errors, key_label, series)
            return
        # Where the content did not tell the market, the name must be unknown to all of them to be reported.
        asked = markets or self.adapters.keys()
        if named and all(market in named for market in asked):
            yield Noticed(envelope, named[next(iter(markets or named))], "note")
        yield Ended(envelope, readable, errors, key_label, None)

    def _contents(self, envelope: OpenEnvelope, raw: IO[bytes]) -> Envelope | Whole:
        """What gives the members of an envelope. A table of a portfolio is one member, also where it is a zip."""
        if envelope.channel == PORTFOLIO:
            head = raw.read(1 << 16)
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            if table_form(head, envelope.name) is not None:
                return Whole(
                    envelope.name, size, self.limits, lambda: archive.open_raw(self.store.engine, envelope.sha256)
                )
        return open_envelope(raw, envelope.name, self.keys, self.limits, sha256=envelope.sha256)

    def _coded(self, envelope: OpenEnvelope, refused: Refusal, market: str | None = None) -> Refusal:
        """What of an envelope is refused for its form, with the code of its market. A portfolio is of no market."""
        if envelope.channel == PORTFOLIO:
            return refused
        return coded(self.adapters, refused, market or self.channels.get(envelope.channel))

    def _reader(self, envelope: OpenEnvelope, member: Member, sniff: Sniff) -> tuple[Digesting, str] | Refusal:
        """What digests a member, and the label of its type."""
        if envelope.channel != PORTFOLIO:
            return dispatch(self.adapters, sniff, self.channels.get(envelope.channel))
        return portfolio_reader(self.adapters, member.open, sniff)

    def _member(
        self, envelope: OpenEnvelope, member: Member, markets: set[str], position: int
    ) -> Generator[Item | Settle, None, bool]:
        """A member is looked at, and digested where that was not done before; False when it cannot be read.

        Args:
          envelope: the envelope.
          member: the member.
          markets: gains the market that its content is of.
          position: its number in the envelope.
        """
        large = member.size > LARGE
        if large and self.reader is not None:
            self.reader.start()  # it begins while we look
        seen = records.look(member)
        sha256 = b"" if isinstance(seen, Refusal) else seen.sha256
        yield Settle(sha256)
        record = first = None
        # Of a small one it is asked when it is stored whether it came before: once for all of a transaction.
        asked = not envelope.fresh or (not isinstance(seen, Refusal) and seen.size > SMALL)
        if asked:
            record, first = records.find_member(self.store, envelope, member.path, sha256)
        if record is not None and record.finished:
            return record.state != "refused"
        if isinstance(seen, Refusal):
            yield Refused(envelope, record or MemberRecord(member.path, b"", member.size), self._coded(envelope, seen))
            return False
        if record is None:
            record = MemberRecord(member.path, sha256, seen.size, asked=asked)
            if first is not None:
                yield Repeated(envelope, record, first)
                return True
        route = self._reader(envelope, member, seen.sniff)
        if isinstance(route, Refusal):
            if not asked and (first := records.find_member(self.store, envelope, member.path, sha256)[1]) is not None:
                yield Repeated(envelope, record, first)
                return True
            yield Refused(envelope, record, route if seen.cut is None else self._coded(envelope, seen.cut))
            return False
        adapter, label = route
        markets.add(adapter.market)
        if self.channels.get(envelope.channel) == adapter.market:
            record = structs.replace(record, owed=_owed(envelope, member, adapter, label, position))
        wanted = Wanted(record.committed, record.again)
        order = Order(
            envelope.id, envelope.sha256, envelope.name, position, sha256, adapter.market, label, seen.cut, wanted
        )
        items = self._read(order, member, adapter, elsewhere=large and envelope.channel != PORTFOLIO)
        return (yield from self._prepared(envelope, record, adapter.market, items))

    # --- digested and prepared ---

    def _read(
        self, order: Order, member: Member, adapter: Digesting, *, elsewhere: bool
    ) -> Iterator[MemberHead | Batch | Refusal]:
        """What is read of a member: of a large one by a process of its own, as far as that comes."""
        read, size = 0, min(self.batch_size, TOGETHER)
        if elsewhere and self.reader is not None:
            try:
                for item in self.reader.read(order, size):
                    if isinstance(item, Batch):
                        read = item.position
                    yield item
                return
            except Lost as lost:
                log.warning("reader.lost", envelope=order.id, member=member.path, position=read, why=str(lost))
        items = digested(order.id, member, adapter, order.label, order.cut)
        yield from batches(items, structs.replace(order.wanted, read=read), size, self.writer.prepare)

    def _prepared(
        self,
        envelope: OpenEnvelope,
        record: MemberRecord,
        market: str,
        items: Iterable[MemberHead | Batch | Refusal],
    ) -> Generator[Item, None, bool]:
        """The CH messages of a member that are not stored yet, with their Kernel XML; False when it cannot be read."""
        position = 0
        for item in items:
            if isinstance(item, MemberHead):
                record = structs.replace(record, head=item)
            elif isinstance(item, Refusal):
                yield Refused(envelope, record, self._coded(envelope, item, market))
                return False
            else:
                position = item.position
                yield Part(envelope, record, market, item.prepared, position, item.last)
        if not position:
            yield Noticed(envelope, refuse("NOTE_EMPTY", record.path, None, "a message at least"), "note")
        return True

    # --- judged and stored ---

    def _writer(self) -> Writer:
        return Writer(self.store, self.writer, self.batch_size)

    def _through(self, writer: Writer, envelope: OpenEnvelope, kept: IO[bytes] | None = None) -> Iterator[Progress]:
        """An envelope to its end; where the program breaks on it twice, it is put aside and its neighbours go on."""
        broke = yield from self._around(writer, self._items(envelope, kept), envelope)
        if broke:
            broke = yield from self._around(writer, self._items(envelope._replace(fresh=False)), envelope)
        if broke:
            yield from self._around(writer, [PutAside(envelope, broke)])

    def _around(
        self, writer: Writer, items: Iterable[Item | Settle], envelope: OpenEnvelope | None = None
    ) -> Generator[Progress, None, str | None]:
        """Write items. What cannot be written because another process is in the way is left to whoever comes next:
        envelopes of which something was not written are not done.

        Returns:
          What the program broke on, in words; None when it did not.

        Raises:
          UserError: the database was lost.
        """
        try:
            yield from writer.write(items)
        except Exception as error:
            if is_lost(error):
                raise
            broke = fault_words(error) if is_fault(error) else None
            lost, own = writer.lost(), set() if envelope is None else {envelope.id}
            name = None if envelope is None else envelope.name
            if broke:
                log.error("envelope.broke", name=name, others=sorted(lost), exc_info=error)
            else:
                log.warning("envelope.left", name=name, others=sorted(lost), why=str(error)[:200])
        else:
            return None
        yield Progress(left=len(lost - own if broke else lost | own))
        return broke


def _owed(
    envelope: OpenEnvelope, member: Member, adapter: Digesting, label: str, position: int
) -> tuple[str, OutgoingMessage] | None:
    """Market and acknowledgement of a member; None where none is wanted, or nobody is there to be answered."""
    try:
        answer = acknowledgement(adapter, label, member, envelope.id, position, instant(now_micros()))
    except BrokenMember:
        return None
    except Exception as error:
        if is_lost(error):
            raise
        log.error("adapter.fault", envelope=envelope.id, member=member.path, exc_info=error)
        return None
    return (adapter.market, answer) if isinstance(answer, OutgoingMessage) else None


def _together(files: Iterable[Path]) -> Iterator[list[Path]]:
    """Files in groups that are archived in one transaction: small ones together, a large one alone."""
    group: dict[str, Path] = {}
    for path in files:
        small = _is_small(path)
        # Of two files with one name the second must find the first done, to be seen as its duplicate.
        if group and (not small or path.name in group or len(group) == FILES_TOGETHER):
            yield list(group.values())
            group = {}
        if small:
            group[path.name] = path
        else:
            yield [path]
    if group:
        yield list(group.values())


def _is_small(path: Path) -> bool:
    try:
        return path.stat().st_size <= SMALL
    except OSError:
        return True  # it is told when it is read
