"""One batch: the CH messages that are judged and stored in one transaction of the EIS.

They come from one member, or from several small ones of one market. The work is done in two halves. `prepare` needs no
database: Kernel XML is written and checked against kernel.xsd. `store` reads what is known in a few queries, folds
every access point, and writes all rows at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field, structs

from energycomm.eis import tables
from energycomm.eis.bulk import NewColumns, NewRow
from energycomm.eis.database import Conflict
from energycomm.eis.fitting import Values, all_fit, expected, fits, storable
from energycomm.eis.invoices import store_invoices
from energycomm.eis.namedmeters import store_meters
from energycomm.eis.particulars import store_particulars
from energycomm.eis.store import AccessPointRow, KnownMessage, StoreTransaction
from energycomm.errors import HistoryArchived, UserError
from energycomm.kernel.check import KernelChecker
from energycomm.kernel.instants import micros, now_micros
from energycomm.kernel.messages import KernelMessage, MeasureSeries, StartOfSupply
from energycomm.kernel.opening import is_opening
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import DIGEST_FAILED
from energycomm.market.contract import Transaction as ChMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.arrivals import Arrival, Moved, Repeats, chosen, insert_notes
from energycomm.pipeline.correlation import correlate
from energycomm.pipeline.effects import Rows
from energycomm.pipeline.fold import (
    Entry,
    Fold,
    Judge,
    add_rows,
    around_broken,
    business_key,
    fault_words,
    judge_alone,
)
from energycomm.pipeline.openings import withdraw_replaced
from energycomm.pipeline.periods import project_periods
from energycomm.pipeline.reassessment import Late, Reassessment
from energycomm.pipeline.rejudging import Change, Rejudging
from energycomm.pipeline.rows import at_once, change_row, finding_row, incident_row, notification_rows, verdict_why
from energycomm.pipeline.state import KnownStates, dump_state

log = Log()

DAY = 86_400_000_000


PUT_ASIDE = "CH_PUT_ASIDE"
"""Code of a CH message that the program breaks on."""
ASIDE = "put-aside"
"""What becomes of it."""
_NO_VERDICT = (PUT_ASIDE, DIGEST_FAILED, HistoryArchived.code)
"""Codes of CH messages that are to be judged yet."""
TOLD = 50
"""Refusals that a run tells one by one."""


class Prepared(Struct):
    """CH messages with their Kernel XML, ready to be stored.

    Attributes:
      transactions: the CH messages.
      xmls: per CH message, the XML of each Kernel message; empty for a refused one.
      refusals: per CH message, why it is refused.
    """

    transactions: Sequence[ChMessage]
    xmls: list[list[str]]
    refusals: list[tuple[Refusal, ...]]

    def identity(self, index: int) -> bytes:
        """The stored identity of a CH message.

        What a header says may refuse one arrival of a content and not another one. So a refused arrival is none of the
        one that was digested, in whatever order they come, and each way of being refused is one of its own. One that
        is put aside is not refused: it is to be judged yet.
        """
        identity = self.transactions[index].identity
        refusals = self.refusals[index]
        if _outcome(refusals) != "refused":
            return identity
        return blake2b(identity + repr(refusals).encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def points(self) -> set[str]:
        """The access points of the Kernel messages that are to be judged."""
        digested = (one for one, refused in zip(self.transactions, self.refusals, strict=True) if not refused)
        return {
            message.access_point for one in digested for message in one.messages if message.access_point is not None
        }

    def part(self, low: int, high: int) -> Prepared:
        """Some of the CH messages."""
        return Prepared(self.transactions[low:high], self.xmls[low:high], self.refusals[low:high])


class Tally(Struct):
    """Counts of outcomes, for the summary.

    Attributes:
      messages: Kernel messages by (market, market type, label).
      codes: errors that were found, by error code.
      warnings: the same of warnings.
      transactions: CH messages by (market, market type, digested | refused | duplicate).
      reassessed: earlier messages whose verdict changed because a late one came.
      ids: of one batch only: the first and the last Kernel message.
      refused: of one batch only: (id, label, why) of the messages that were not accepted.
      told: the first refusals, each with the file that it is about.
    """

    messages: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    transactions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    incidents: Counter[str] = field(default_factory=Counter)
    reassessed: int = 0
    ids: tuple[int, int] | None = None
    refused: list[tuple[int, str, str | None]] = field(default_factory=list)
    told: list[tuple[str, Refusal]] = field(default_factory=list)

    def tell(self, place: str, refusal: Refusal, severity: str = "error") -> None:
        """Count a refusal or a note; a refusal is kept, to be told with the file it is about."""
        self.incidents[refusal.code] += 1
        if severity == "error" and len(self.told) < TOLD:
            self.told.append((storable(place, 200), structs.replace(refusal, path=storable(refusal.path, 200))))

    def judged_again(self, changes: Sequence[Change], since: int) -> None:
        """Count changed verdicts. Messages of this run are counted with their latest state.

        Args:
          changes: the changes.
          since: when this run began, microseconds since the epoch.
        """
        self.reassessed += len(changes)
        for change in changes:
            if change.received_at >= since:
                self.messages[change.market, change.market_type, change.before] -= 1
                self.messages[change.market, change.market_type, change.after] += 1
                self.codes.subtract(change.codes_before)
                self.codes.update(change.codes_after)

    def join(self, other: Tally) -> None:
        """Take over the counts of the next messages of the same batch."""
        self.add(other)
        ids = [i for pair in (self.ids, other.ids) if pair for i in pair]
        self.ids = (min(ids), max(ids)) if ids else None
        self.refused += other.refused

    def add(self, other: Tally) -> None:
        """Take over the counts of another tally."""
        self.messages.update(other.messages)
        self.codes.update(other.codes)
        self.warnings.update(other.warnings)
        self.transactions.update(other.transactions)
        self.incidents.update(other.incidents)
        self.told.extend(other.told[: TOLD - len(self.told)])
        self.reassessed += other.reassessed


class Origin(Struct, frozen=True):
    """Where the CH messages of a batch came from; `injected_by` says who, where they came past the adapters, and
    `place` names the file to people."""

    market: str
    envelope_id: int
    member_id: int
    injected_by: str | None = None
    place: str = ""


class BatchWriter:
    """Prepares and stores batches with one engine and one checker.

    Args:
      engine: the rules.
      rules_version_id: id of the rules' version in the EIS.
      quarantine_days: how long a message waits for its predecessor.
      markets: those whose messages it judges: their legal time.
    """

    def __init__(self, engine: Judge, rules_version_id: int, quarantine_days: int, markets: Markets) -> None:
        self.engine, self.markets = engine, markets
        self.rules_version_id = rules_version_id
        self.patience = quarantine_days * DAY
        self.since = now_micros()
        """Messages that arrived since then belong to this run."""
        self.checker = KernelChecker()
        self.states = KnownStates()

    def prepare(self, transactions: Sequence[ChMessage]) -> Prepared:
        """Write the Kernel XML of a batch: `prepare` with the checker of this writer."""
        return prepare(self.checker, transactions)

    def store(self, tx: StoreTransaction, origin: Origin, batch: Prepared, now: int) -> Tally:
        """Judge and store the messages of one member inside a transaction of the EIS: `store_parts` of one part."""
        return self.store_parts(tx, [(origin, batch)], now)[0]

    def store_around(self, tx: StoreTransaction, parts: Sequence[tuple[Origin, Prepared]], now: int) -> list[Tally]:
        """`store_parts` where the program breaks on it: each part is halved until the CH messages that it breaks on
        stand alone. These are put aside, each with its incident; their neighbours are judged and stored.

        Raises:
          Conflict: another worker is in the way; the transaction may be run again.
          UserError: the database was lost.
        """
        return [self._halved(tx, origin, batch, now) for origin, batch in parts]

    def _halved(self, tx: StoreTransaction, origin: Origin, batch: Prepared, now: int) -> Tally:
        try:
            with tx.attempt():
                return self.store(tx, origin, batch, now)
        except Exception as error:
            if _stops(error):
                raise
            if len(batch.transactions) <= 1:
                return self._put_aside(tx, origin, batch, now, error)
        middle = len(batch.transactions) // 2
        tally = self._halved(tx, origin, batch.part(0, middle), now)
        tally.join(self._halved(tx, origin, batch.part(middle, len(batch.transactions)), now))
        return tally

    def _put_aside(self, tx: StoreTransaction, origin: Origin, batch: Prepared, now: int, error: Exception) -> Tally:
        """Store of a CH message nothing but its bytes' place and why it was put aside; a second try is made first, for
        what happens once."""
        try:
            with tx.attempt():
                return self.store(tx, origin, batch, now)
        except Exception as again:
            if _stops(again):
                raise
            error = again
        (transaction,) = batch.transactions
        code, value, expected = PUT_ASIDE, fault_words(error), "a message that can be judged and stored"
        advice = "report it with the envelope"
        if isinstance(error, HistoryArchived):
            code, value, expected = error.code, storable(error.message, 400), "a history that is whole"
            advice = error.advice.removesuffix(".")
            log.warning("ch_message.history_archived", file=origin.place, reference=transaction.reference, why=value)
        else:
            log.error("ch_message.put_aside", file=origin.place, reference=transaction.reference, exc_info=error)
        refusal = Refusal(
            code=code,
            path=transaction.reference,
            value=value,
            expected=expected,
            advice=f"{advice}; then `energycomm envelope retry {origin.envelope_id}`",
        )
        return self.store(tx, origin, Prepared([transaction], [[]], [(refusal,)]), now)

    def store_parts(self, tx: StoreTransaction, parts: Sequence[tuple[Origin, Prepared]], now: int) -> list[Tally]:
        """Judge and store a batch inside a transaction of the EIS.

        Args:
          tx: the transaction; the caller commits it.
          parts: where messages came from, and what `prepare` made of them; all of one market.
          now: the present, microseconds since the epoch.

        Returns:
          What became of each part; messages that were judged again are counted with the first.
        """
        work = _Work(self, tx, now)
        market = parts[0][0].market
        tallies = []
        told = [[batch.identity(index) for index in range(len(batch.transactions))] for _, batch in parts]
        identities = list(chain.from_iterable(told))
        several = len(set(identities)) < len(identities)
        arrivals = (
            (identity, (number, index), transaction, xmls)
            for number, (_, batch) in enumerate(parts)
            for index, (identity, transaction, xmls) in enumerate(
                zip(told[number], batch.transactions, batch.xmls, strict=True)
            )
        )
        sorting = _Sorting(tx, now, tx.known_identities(identities), chosen(arrivals) if several else {})
        for number, (origin, batch) in enumerate(parts):
            tally = Tally()
            work.add(sorting.sort(number, origin, batch, told[number], tally), batch, origin, tally)
            tallies.append(tally)
        work.judge(market, sorting.repeats, tallies[0])
        work.flush(sorting)
        return tallies


def _stops(error: Exception) -> bool:
    """Whether an error is of no message: the transaction is run again, or the run stops."""
    return isinstance(error, Conflict | UserError) and not isinstance(error, HistoryArchived)


def prepare(checker: KernelChecker, transactions: Sequence[ChMessage]) -> Prepared:
    """Write the Kernel XML of a batch, and check it against kernel.xsd: what is not within the bounds of its field
    refuses its CH message here, before any store."""
    written = iter(checker.write([message for one in transactions for message in one.messages]))
    xmls: list[list[str]] = []
    refusals: list[tuple[Refusal, ...]] = []
    for transaction in transactions:
        of_one = [next(written) for _ in transaction.messages]
        good = [xml for xml in of_one if isinstance(xml, str)]
        xmls.append(good)
        unfit = _unfit(transaction)
        if unfit or transaction.refusals or len(good) < len(of_one):
            wrong = [xml for xml in of_one if isinstance(xml, Refusal)]
            refusals.append(tuple(dict.fromkeys((*transaction.refusals, *unfit, *wrong))))
        else:
            refusals.append(())
    return Prepared(transactions, xmls, refusals)


_OWN = ("type", "version", "sender", "reference", "access_point")
"""What the store keeps of a CH message itself, beside its Kernel messages."""
_own_fits = all_fit(tables.ch_message, _OWN)


def _unfit(transaction: ChMessage) -> list[Refusal]:
    """What of a CH message's own data the store does not hold."""
    if _own_fits(
        transaction.type, transaction.version, transaction.sender, transaction.reference, transaction.access_point
    ):
        return []
    columns = tables.ch_message.c
    found = []
    for name in _OWN:
        value = getattr(transaction, name)
        if value is not None and not fits(columns[name], value):
            shown, wanted = storable(value, 200), expected(columns[name])
            found.append(Refusal(code="CH_VALUE", path=name, value=shown, expected=wanted))
    return found


def _outcome(refused: tuple[Refusal, ...]) -> str:
    if not refused:
        return "digested"
    return ASIDE if any(refusal.code in _NO_VERDICT for refusal in refused) else "refused"


def _ch_row(number: int, origin: Origin, transaction: ChMessage, identity: bytes, outcome: str) -> NewRow:
    """A row of `ch_message`; values of a refused one that the store does not hold are cut to what it does."""
    row = {
        "id": number,
        "envelope_id": origin.envelope_id,
        "member_id": origin.member_id,
        "position": transaction.position,
        "market": origin.market,
        "identity": identity,
        "outcome": outcome,
        "type": transaction.type,
        "version": transaction.version,
        "sender": transaction.sender,
        "reference": transaction.reference,
        "access_point": transaction.access_point,
    }
    if outcome == "digested":
        return row  # `prepare` refuses what does not fit
    for name in _OWN:
        value = getattr(transaction, name)
        unfit = value is not None and not fits(tables.ch_message.c[name], value)
        row[name] = storable(value, _LONGEST[name]) if unfit else value
    return row


_LONGEST: dict[str, int] = {name: getattr(tables.ch_message.c[name].type, "length", 0) for name in _OWN}


class _Sorting:
    """Tells the arrivals that are kept from duplicates and refused ones, and writes their rows.

    Args:
      tx: the transaction.
      now: the present, microseconds since the epoch.
      known: CH messages that arrived before, by identity; gains those that are new.
      chosen: of CH messages that arrive several times in the batch, which one is kept: (part, index).
    """

    def __init__(
        self,
        tx: StoreTransaction,
        now: int,
        known: dict[bytes, KnownMessage],
        chosen: dict[bytes, tuple[int, int]],
    ) -> None:
        self.tx, self.now, self.known, self.chosen = tx, now, known, chosen
        self.fresh: set[bytes] = set()
        """Identities that are new in this batch."""
        self.repeats = Repeats(tx)
        self.notes: list[NewRow] = []
        """What was noticed of duplicates."""
        self.ch_rows: list[NewRow] = []
        self.outcomes: list[tuple[int, str]] = []
        """Outcomes of CH messages that had been put aside."""
        self.duplicates: list[NewRow] = []
        self.incidents: list[NewRow] = []

    def sort(
        self, number: int, origin: Origin, batch: Prepared, identities: Sequence[bytes], tally: Tally
    ) -> list[tuple[int, int]]:
        """The (index in the part, CH message id) of the CH messages that are new and were digested.

        Args:
          number: number of the part.
          origin: where it came from.
          batch: its messages.
          identities: theirs.
          tally: counts them.
        """
        ids = iter(self.tx.reserve(tables.ch_message, len(batch.transactions)))
        fresh: list[tuple[int, int]] = []
        for index, transaction in enumerate(batch.transactions):
            here, identity, refused = (number, index), identities[index], batch.refusals[index]
            outcome = _outcome(refused)
            first = self.known.get(identity)
            if first is None:
                first = self.known[identity] = KnownMessage(next(ids), origin.member_id, outcome)
                self.fresh.add(identity)
            new = identity in self.fresh
            if first.outcome == ASIDE and not new:
                # It was put aside before: it is judged now, or still cannot be.
                self._try_again(identity, first, origin, transaction, outcome)
            elif not new or self.chosen.get(identity, here) != here:
                self._repeated(first.id, origin, batch, index, stored=not new)
                tally.transactions[origin.market, transaction.type, "duplicate"] += 1
                continue
            else:
                self.ch_rows.append(_ch_row(first.id, origin, transaction, identity, outcome))
            tally.transactions[origin.market, transaction.type, outcome] += 1
            for refusal in refused:
                tally.tell(origin.place, refusal)
            if (refused or transaction.notes) and (new or outcome != ASIDE):
                told = [(refusal, "error") for refusal in refused] + [(note, "note") for note in transaction.notes]
                tally.incidents.update(note.code for note in transaction.notes)
                place = origin.envelope_id, origin.member_id, first.id
                self.incidents += [incident_row(what, severity, self.now, *place) for what, severity in told]
            if not refused:
                fresh.append((index, first.id))
        return fresh

    def _try_again(
        self, identity: bytes, first: KnownMessage, origin: Origin, transaction: ChMessage, outcome: str
    ) -> None:
        if first.member_id != origin.member_id:
            self._duplicate(first.id, origin, transaction)
        if outcome != ASIDE:
            self.outcomes.append((first.id, outcome))
            self.known[identity] = first._replace(outcome=outcome)

    def _duplicate(self, first: int, origin: Origin, transaction: ChMessage) -> None:
        place = {"envelope_id": origin.envelope_id, "member_id": origin.member_id, "position": transaction.position}
        self.duplicates.append({**place, "first_id": first})

    def _repeated(self, first: int, origin: Origin, batch: Prepared, index: int, *, stored: bool) -> None:
        transaction = batch.transactions[index]
        self._duplicate(first, origin, transaction)
        for note in transaction.notes:
            self.notes.append(incident_row(note, "note", self.now, origin.envelope_id, origin.member_id, first))
        if stored and not batch.refusals[index]:
            arrival = Arrival(origin.envelope_id, origin.member_id, transaction, batch.xmls[index])
            self.repeats.add(first, arrival)


class _Work:
    """The Kernel messages of a batch while they are judged."""

    def __init__(self, writer: BatchWriter, tx: StoreTransaction, now: int) -> None:
        self.writer, self.tx, self.now = writer, tx, now
        self.entries: list[tuple[Entry, int, int, str, Origin, Tally]] = []
        """Each message with the id of its CH message, its position there, its XML, its origin and who counts it."""
        self.by_point: dict[str | None, list[Entry]] = {}
        self.points: dict[str, AccessPointRow] = {}
        self.rows: Rows = {}
        self.folds: list[Fold] = []
        self.checkpoints: list[tuple[int, int, bytes]] = []
        self.findings: list[NewRow] = []
        self.notifications: list[NewRow] = []
        self.again: list[tuple[int, KernelMessage]] = []
        """Stored messages that were accepted when they were judged again."""

    def add(self, fresh: list[tuple[int, int]], batch: Prepared, origin: Origin, tally: Tally) -> None:
        """Take in the Kernel messages of the CH messages that are new."""
        total = sum(len(batch.xmls[index]) for index, _ in fresh)
        reserved = self.tx.reserve(tables.kernel_message, total)
        if total:
            tally.ids = reserved[0], reserved[-1]
        ids = iter(reserved)
        for index, ch_message_id in fresh:
            transaction = batch.transactions[index]
            for position, (message, xml) in enumerate(zip(transaction.messages, batch.xmls[index], strict=True), 1):
                at = micros(message.effective)
                key = business_key(message, at, transaction.identity, position)
                entry = Entry(key, message, at, next(ids))
                self.entries.append((entry, ch_message_id, position, xml, origin, tally))
                point = message.access_point
                group = self.by_point.get(point)
                if group is None:
                    self.by_point[point] = [entry]
                else:
                    group.append(entry)

    def judge(self, market: str, repeats: Repeats, tally: Tally) -> None:
        """Fold every access point of the batch; the tally counts earlier messages that are judged otherwise now."""
        engine, zone = self.writer.engine, self.writer.markets.zone(market)
        identifiers = repeats.points().union(point for point in self.by_point if point is not None)
        self.points = self.tx.access_points(market, identifiers) if identifiers else {}
        since = self._moved(repeats.replace(), tally)
        opening = [entry for entries in self.by_point.values() for entry in entries if is_opening(entry.message)]
        for replaced, at in withdraw_replaced(self.tx, opening, self.points, self.now).items():
            since[replaced] = min(at, since.get(replaced, at))
        for entry in self.by_point.pop(None, ()):
            judge_alone(engine, entry, self.rows)
        late: list[Late] = []
        for point in dict.fromkeys((*self.by_point, *since)):
            assert point is not None
            row, entries = self.points[point], self.by_point.get(point, [])
            entries.sort(key=_key)
            again = _touched(row, entries, self.writer.states)
            if point in since or again is not None or (row.state and entries[0].at <= row.last_at):
                starts = (since.get(point), again, entries[0].at if entries else None)
                late.append(Late(row, min(one for one in starts if one is not None), entries))
                continue
            fold = around_broken(partial(self._ahead, row, zone, entries))
            self.checkpoints.extend((row.id, upto, state) for upto, state in fold.checkpoints)
            self._folded(fold)
        reassessment = Reassessment(self.tx, self.writer, zone, self.now)
        for fold in reassessment.run(late):
            self._folded(fold)
        self._judged_again(reassessment, tally)

    def _folded(self, fold: Fold) -> None:
        add_rows(self.rows, fold.rows)
        self.folds.append(fold)

    def _ahead(self, row: AccessPointRow, zone: ZoneInfo, entries: Sequence[Entry], faults: dict[int, str]) -> Fold:
        """The fold of messages that come after all that are stored of their access point."""
        state = self.writer.states.take(row.state)
        fold = Fold(self.writer.engine, zone, state, row.id, {}, row.messages, faults=faults)
        fold.foresee(entries)
        for entry in entries:
            fold.judge(entry)
        return fold

    def _moved(self, moved: Sequence[Moved], tally: Tally) -> dict[str, int]:
        """Access points of stored messages whose XML was taken from another arrival, with the instants from which they
        are judged again; what concerns no access point is judged again at once."""
        since: dict[str, int] = {}
        alone: dict[int, KernelMessage] = {}
        for number, message, at in moved:
            if message.access_point is None:
                alone[number] = message
            else:
                since[message.access_point] = min(at, since.get(message.access_point, at))
        if alone:
            again = Rejudging(self.tx, self.writer, self.now)
            again.all_alone(alone)
            self._judged_again(again, tally)
        return since

    def _judged_again(self, again: Rejudging, tally: Tally) -> None:
        tally.judged_again(again.changes, self.writer.since)
        self.again += again.accepted

    def flush(self, sorting: _Sorting) -> None:
        """Write all rows of the batch."""
        tx = self.tx
        tx.insert(tables.ch_message, sorting.ch_rows)
        tx.driver.update(tables.ch_message, ("outcome",), sorting.outcomes)
        tx.insert(tables.ch_duplicate, sorting.duplicates)
        changes = self._changes()
        if self.entries:
            tx.insert_columns(tables.kernel_message, self._message_columns())
        messages = [(one[0].message_id, one[0].message) for one in self.entries]
        store_particulars(tx, messages)
        store_invoices(tx, messages)
        store_meters(tx, {name: row.id for name, row in self.points.items()}, messages)
        with tx.driver.logging_at_end():
            self._save_points()
            tx.insert(tables.state_change, changes)
            tx.insert(tables.finding, self.findings)
            tx.insert(tables.outbox, self.notifications)
            for table, rows in self.rows.items():
                tx.insert(table, rows)
        tx.insert(tables.incident, sorting.incidents)
        insert_notes(tx, sorting.notes)
        sorting.repeats.settle()
        correlate(tx, [*self._accepted(), *self.again], self.now)

    def _accepted(self) -> list[tuple[int, KernelMessage]]:
        entries = [one[0] for one in self.entries]
        return [
            (entry.message_id, entry.message)
            for entry in entries
            if entry.verdict is not None and entry.verdict.label == "accepted"
        ]

    def _save_points(self) -> None:
        folds, tx = self.folds, self.tx
        project_periods(tx, [(fold.access_point_id, fold.state) for fold in folds], self.now)
        rows = [(fold.access_point_id, fold.state.at, dump_state(fold.state), fold.since_checkpoint) for fold in folds]
        tx.save_access_points(rows)
        for fold, (_, _, stored, _) in zip(folds, rows, strict=True):
            self.writer.states.keep(stored, fold.state)
        tx.save_checkpoints(self.checkpoints)

    def _message_columns(self) -> NewColumns:
        entries, ch_message_ids, positions, xmls, origins, _ = zip(*self.entries, strict=True)
        messages = [entry.message for entry in entries]
        points = {name: row.id for name, row in self.points.items()}
        rules = self.writer.rules_version_id
        columns: dict[str, Values] = {
            "id": [entry.message_id for entry in entries],
            "ch_message_id": ch_message_ids,
            "position": positions,
            "accepted_under": [rules if at_once(entry.verdict) else None for entry in entries],
            "access_point_id": [None if one.access_point is None else points[one.access_point] for one in messages],
            "market": [one.market for one in messages],
            "market_type": [one.market_type for one in messages],
            "kind": [type(one).__name__ for one in messages],
            "effective": [entry.at for entry in entries],
            "state": [entry.verdict.label for entry in entries],
            "received_at": (self.now,) * len(entries),
            "xml": xmls,
            "injected_by": [origin.injected_by for origin in origins],
        }
        if "quarantined" in columns["state"]:
            waiting = [entry.verdict if entry.verdict.label == "quarantined" else None for entry in entries]
            until = self.now + self.writer.patience
            columns["waits_for"] = [None if verdict is None else verdict.waits_for for verdict in waiting]
            columns["waits_until"] = [None if verdict is None else until for verdict in waiting]
        return columns

    def _changes(self) -> list[NewRow]:
        """Count the verdicts, and make the rows of their findings and notifications; the rows of the changes of state.
        A message that was accepted without a finding has no row: its own says so."""
        rules = self.writer.rules_version_id
        changes: list[NewRow] = []
        for entry, _, _, _, _, tally in self.entries:
            verdict, message, number = entry.verdict, entry.message, entry.message_id
            assert verdict is not None
            label = verdict.label
            tally.messages[message.market, message.market_type, label] += 1
            if verdict.actions:
                self.notifications.extend(notification_rows(verdict, number, self.now))
            if at_once(verdict):
                continue
            why = verdict_why(verdict)
            if label != "accepted":
                tally.refused.append((number, label, why))
            (change_id,) = self.tx.reserve(tables.state_change, 1)
            changes.append(
                {
                    **change_row(number, "received", label, self.now, why),
                    "id": change_id,
                    "rules_version_id": rules,
                }
            )
            for found in verdict.findings:
                counted = tally.codes if found.severity == "error" else tally.warnings
                counted[found.error_code] += 1
                self.findings.append(finding_row(found, number, change_id))
        return changes


def _touched(row: AccessPointRow, entries: Sequence[Entry], states: KnownStates) -> int | None:
    """The first stored message of an access point that messages after it concern: it waits for a start of supply, named
    its contract or none, or is a series of a stream that reaches into another one. None for none."""
    if not row.state:
        return None
    started = [entry.message.contract_reference for entry in entries if isinstance(entry.message, StartOfSupply)]
    curves = [entry.at for entry in entries if isinstance(entry.message, MeasureSeries) and entry.message.stream]
    if not (started or curves):
        return None
    state = states.look(row.state)
    names = (*started, "") if started else ()
    touched = [state.awaited[reference] for reference in names if reference in state.awaited]
    touched += [reached for at in curves[:1] if (reached := state.reaches(at)) < at]
    return min(touched, default=None)


def _key(entry: Entry) -> tuple[Any, ...]:
    return entry.key
