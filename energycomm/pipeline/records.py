"""Rows of envelopes, members, incidents and series that the inbound path writes, besides the batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, structs

from energycomm.eis import tables
from energycomm.eis.archive import LONGEST_NAME, Archived
from energycomm.eis.bulk import NewRow, driver_of
from energycomm.eis.database import Conflict, reading
from energycomm.eis.fitting import storable
from energycomm.eis.store import ENVELOPE_COLUMNS, Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.kernel.safexml import begun, prescan
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, OutgoingMessage, Series, Sniff
from energycomm.pipeline.batch import Tally
from energycomm.pipeline.rows import incident_row
from energycomm.transport.codes import refuse
from energycomm.transport.forms import HEAD, XML_HEAD, json_root, namespaces_of, text_root
from energycomm.transport.members import BrokenMember, Member
from energycomm.transport.sequences import Received, audit_series, gap_refusal

LONGEST_PATH = 600
"""Characters of a member's path that are kept."""


class TakenOver(Exception):
    """Another process continued a member; this one must leave it alone."""


class OpenEnvelope(NamedTuple):
    """An archived envelope that is to be processed.

    Attributes:
      fresh: nothing of its content is stored.
      channel: the way by which it came.
      answers: the request on whose call it was received; 0 for none.
      holder: the worker whose claim it is; None where nobody claimed it.
    """

    id: int
    name: str
    sha256: bytes
    fresh: bool = False
    channel: str = ""
    answers: int = 0
    holder: int | None = None


def to_process(archived: Archived, name: str, channel: str) -> OpenEnvelope:
    """An envelope that was archived just now."""
    shown = storable(name, LONGEST_NAME)
    return OpenEnvelope(archived.envelope_id, shown, archived.sha256, not archived.resumes, channel)


class MemberRecord(Struct, frozen=True):
    """A member while it is processed, at one moment.

    Attributes:
      id: row id, 0 before the first batch.
      committed: transactions that are stored.
      state: state of the row.
      head: what its header said, once read.
      again: positions of the CH messages that were put aside and are to be tried again.
      owed: market and acknowledgement that its sender is owed once it is read; None where there is none.
      asked: whether it was looked for among the members that came before; else that is done when it is stored.
    """

    path: str
    sha256: bytes
    size: int
    id: int = 0
    committed: int = 0
    state: str = "processing"
    head: MemberHead | None = None
    again: frozenset[int] = frozenset()
    owed: tuple[str, OutgoingMessage] | None = None
    asked: bool = True

    @property
    def finished(self) -> bool:
        """Nothing is left to do."""
        return self.state != "processing"


# --- envelopes ---


def unfinished(store: Store) -> list[OpenEnvelope]:
    """Envelopes that were archived and not finished, in the order they came."""
    sql = (
        "SELECT id, name, sha256, state, channel, coalesce(answers, 0) FROM envelope "
        "WHERE state IN ('archived', 'processing') ORDER BY id"
    )
    with reading(store.engine) as connection:
        found = driver_of(connection).rows(sql)
    return [OpenEnvelope(row[0], row[1], bytes(row[2]), row[3] == "archived", *row[4:]) for row in found]


def begin(store: Store, envelope_id: int) -> int | None:
    """Count an attempt at an envelope; the number of the attempt, None when there is nothing to do any more."""
    with store.transaction() as tx:
        sql = (
            "UPDATE envelope SET attempts = COALESCE(attempts, 0) + 1 "
            "WHERE id = ? AND state IN ('archived', 'processing')"
        )
        if not tx.driver.run(sql, (envelope_id,)):
            return None
        return int(tx.driver.rows("SELECT attempts FROM envelope WHERE id = ?", (envelope_id,))[0][0])


def forgive(store: Store, ids: Sequence[int]) -> None:
    """Do not count attempts that ended without fault of the envelope: a stop, a lost database, another worker.

    Raises:
      UserError: the database was lost.
    """
    with store.transaction() as tx:
        tx.driver.many("UPDATE envelope SET attempts = attempts - 1 WHERE id = ? AND attempts > 0", [(i,) for i in ids])


def put_aside(tx: StoreTransaction, envelope: OpenEnvelope, why: str) -> Refusal | None:
    """Give an envelope up that the program or its worker breaks on, or that somebody does not want to be processed: it
    fails, its bytes and what was stored of it stay.

    Args:
      tx: the transaction.
      envelope: the envelope.
      why: what happened, in words.

    Returns:
      What was recorded; None where the envelope is processed already.
    """
    refusal = refuse("ENV_PUT_ASIDE", envelope.name, why, "an envelope that can be processed")
    sql = (
        "UPDATE envelope SET state = 'failed', finished_at = ?, holder = NULL "
        "WHERE id = ? AND state IN ('archived', 'processing')"
    )
    if not tx.driver.run(sql, (now_micros(), envelope.id)):
        return None
    note_in(tx, envelope, refusal, "error")
    return refusal


def try_again(store: Store, envelope_id: int) -> int | None:
    """Let an envelope that is finished be processed again, as far as something of it was refused or put aside.

    Returns:
      How many members and CH messages are to be tried again; None where there is nothing to try.
    """
    aside = (
        "SELECT member_id, count(*) FROM ch_message WHERE envelope_id = ? AND outcome = 'put-aside' GROUP BY member_id"
    )
    with store.transaction() as tx:
        messages = tx.driver.rows(aside, (envelope_id,))
        refused = "SELECT id FROM member WHERE envelope_id = ? AND state = 'refused'"
        members = {row[0] for row in tx.driver.rows(refused, (envelope_id,))} | {row[0] for row in messages}
        ((state,),) = tx.driver.rows("SELECT state FROM envelope WHERE id = ?", (envelope_id,))
        if not members and state != "failed":
            return None
        tx.driver.many("UPDATE member SET state = 'processing' WHERE id = ?", [(i,) for i in sorted(members)])
        # Not `archived`: members of it may be stored.
        sql = "UPDATE envelope SET state = 'processing', attempts = 0, finished_at = NULL WHERE id = ?"
        tx.driver.run(sql, (envelope_id,))
    return len(members - {row[0] for row in messages}) + sum(int(row[1]) for row in messages)


def revive(tx: StoreTransaction, envelope_id: int) -> None:
    """Reopen an envelope that arrived before but could not be read then."""
    tx.driver.run("UPDATE envelope SET state = 'archived', duplicate_of = NULL WHERE id = ?", (envelope_id,))


def series_columns(market: str, series: Series) -> dict[str, object]:
    """The place of an envelope in its numbered series, by column."""
    columns = ("market", "series_key", "series_number", "series_stamp")
    return dict(zip(columns, (market, series.key, series.number, series.stamp), strict=True))


def set_series(tx: StoreTransaction, envelope_id: int, series: Mapping[str, object]) -> None:
    """Note the place of an envelope that is stored already in its numbered series (`series_columns`)."""
    changes = ", ".join(f"{name} = ?" for name in series)
    if changes:
        # The columns are those of `series_columns`.
        tx.driver.run(f"UPDATE envelope SET {changes} WHERE id = ?", (*series.values(), envelope_id))  # noqa: S608 - our columns


def note(
    store: Store, tally: Tally, envelope: OpenEnvelope | None, refusal: Refusal, severity: str, place: str = ""
) -> None:
    """Record an incident, once for one place of one envelope, in a transaction of its own.

    Args:
      store: the EIS.
      tally: counts it.
      envelope: the envelope; None where none was made of what arrived.
      refusal: what is the matter.
      severity: error, or note.
      place: the file, for people.
    """
    with store.transaction() as tx:
        note_in(tx, envelope, refusal, severity)
    tally.tell(place or (envelope.name if envelope is not None else refusal.path), refusal, severity)


def note_in(tx: StoreTransaction, envelope: OpenEnvelope | None, refusal: Refusal, severity: str) -> None:
    """Record an incident of an envelope as a whole, once for one place."""
    row = incident_row(refusal, severity, now_micros(), None if envelope is None else envelope.id, None)
    if envelope is None or envelope.fresh:
        known = []
    else:
        known = tx.driver.rows(_KNOWN_INCIDENT, (envelope.id, row["code"], row["path"]))
    if not known:
        tx.insert(tables.incident, [row])


def report_gaps(store: Store, tally: Tally, keys: set[str]) -> list[Refusal]:
    """Look for provable gaps in numbered series, and record those that are new.

    Args:
      store: the EIS.
      tally: gains the codes of new gaps.
      keys: the series to look at.

    Returns:
      Every gap there is now.
    """
    sql = (
        "SELECT id, series_number, series_stamp, name FROM envelope "
        "WHERE series_key = ? AND series_number IS NOT NULL AND duplicate_of IS NULL ORDER BY received_at, id"
    )
    gaps: list[Refusal] = []
    for key in sorted(keys):
        with reading(store.engine) as connection:
            rows = driver_of(connection).rows(sql, (key,))
        ids = {row[3]: OpenEnvelope(row[0], row[3], b"") for row in rows}
        for gap in audit_series(Received(row[1], row[2], row[3]) for row in rows).gaps:
            refusal = gap_refusal(key, gap)
            gaps.append(refusal)
            note(store, tally, ids[gap.before.name], refusal, "note")
    return gaps


# --- members ---


def find_member(
    store: Store, envelope: OpenEnvelope, path: str, sha256: bytes
) -> tuple[MemberRecord | None, int | None]:
    """What an interrupted run left of a member, and the member that brought the same bytes first and was digested.

    What came as the answer to a request is compared with the answers to that request alone.
    """
    own = "SELECT id, sha256, size, committed, state FROM member WHERE envelope_id = ? AND path = ?"
    same = (
        "SELECT m.id FROM member m JOIN envelope e ON e.id = m.envelope_id JOIN envelope o ON o.id = ? "
        "WHERE m.sha256 = ? AND m.state = 'done' AND coalesce(e.answers, 0) = coalesce(o.answers, 0) "
        "ORDER BY m.id LIMIT 1"
    )
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = [] if envelope.fresh else driver.rows(own, (envelope.id, storable(path, LONGEST_PATH)))
        first = None if rows or not sha256 else driver.rows(same, (envelope.id, sha256))
        if not rows:
            return None, first[0][0] if first else None
        number, sha256, size, committed, state = rows[0]
        aside = driver.rows("SELECT position FROM ch_message WHERE member_id = ? AND outcome = 'put-aside'", (number,))
    again = frozenset(row[0] for row in aside)
    return MemberRecord(path, bytes(sha256), size, number, committed, state, again=again), None


class Seen(NamedTuple):
    """A member that can be read.

    Attributes:
      sniff: what tells its type.
      sha256, size: of its bytes.
      cut: why it is not whole: XML that ends in the middle. The CH messages before the cut are good; the member is
        refused with this after them.
    """

    sniff: Sniff
    sha256: bytes
    size: int
    cut: Refusal | None = None


def look(member: Member) -> Seen | Refusal:
    """Read a member once, to its end: what it is; or why it cannot be read."""
    cut: Refusal | None = None
    try:
        if member.form == "xml":
            with member.open() as stream:
                seen = prescan(stream)
            if isinstance(seen, Refusal):
                cut = seen if seen.path else structs.replace(seen, path=member.path)
                if seen.code != "XML_TRUNCATED":
                    return cut
                with member.open() as stream:
                    beginning = begun(stream)
                if beginning is None:
                    return cut
                seen = beginning
            with member.open() as stream:
                declared = namespaces_of(stream.read(XML_HEAD))
            sniff = Sniff(member.name, "xml", seen.root, seen.namespace, declared)
        else:
            root: str | None = None
            if member.form == "json":
                with member.open() as stream:
                    keys = json_root(stream.read(HEAD), member.path)
                if isinstance(keys, Refusal):
                    return keys
                root = keys
            elif member.form == "other":
                with member.open() as stream:
                    root = text_root(stream.read(HEAD))
            sniff = Sniff(member.name, member.form, root)
        return Seen(sniff, member.read_sha256(), member.size, cut)
    except BrokenMember as broken:
        return broken.refusal


# --- what one transaction writes ---


class _EnvelopeRow(Struct):
    """The row of an envelope, as it is to be: `ENVELOPE_COLUMNS`."""

    id: int
    state: str
    market: str | None
    request: str | None
    files: int | None
    finished_at: int | None
    key_label: str | None
    holder: int | None
    changed: bool = False

    @property
    def open(self) -> bool:
        """It waits or is being processed."""
        return self.state in ("archived", "processing")


class Book:
    """What one transaction writes of envelopes, members and incidents: each table once.

    The rows of the envelopes are locked, in the order of their ids, before anything else is.

    Args:
      tx: the transaction.
      envelopes: those that it writes something of.
      unasked: bytes (SHA-256) of members that were not looked for among those that came before.

    Attributes:
      own: the members that it writes.

    Raises:
      TakenOver: another worker has claimed one of the envelopes meanwhile, or ended it.
    """

    def __init__(
        self, tx: StoreTransaction, envelopes: Iterable[OpenEnvelope], unasked: Collection[bytes] = ()
    ) -> None:
        self.tx = tx
        holders = {envelope.id: envelope.holder for envelope in envelopes}
        self._envelopes = {row[0]: _EnvelopeRow(*row) for row in tx.envelopes(sorted(holders))}
        for envelope in self._envelopes.values():
            if holders[envelope.id] not in (None, envelope.holder):
                raise TakenOver(f"envelope {envelope.id}")
        self._unasked, self.own = sorted(unasked), set[int]()
        self._firsts = self._before()
        self._members: dict[int, dict[str, Any]] = {}
        self._incidents: list[NewRow] = []
        self._owed: list[tuple[Any, ...]] = []

    def _before(self) -> dict[tuple[bytes, int], int]:
        """The members of other transactions that brought bytes of ours first."""
        found: dict[tuple[bytes, int], int] = {}
        for sha256, answers, number in self.tx.driver.matching(_DONE_BEFORE, self._unasked, "m.sha256"):
            if number not in self.own:
                key = bytes(sha256), answers
                found[key] = min(number, found.get(key, number))
        return found

    def check(self) -> None:
        """See that nobody stored members with bytes of ours since we asked.

        Raises:
          Conflict: somebody did.
        """
        if self._unasked and self._before() != self._firsts:
            raise Conflict("another worker stored a member with the same bytes")

    def first(self, envelope: OpenEnvelope, record: MemberRecord) -> int | None:
        """The member that brought the same bytes before, where that was not asked when the member was read."""
        return None if record.asked else self._firsts.get((record.sha256, envelope.answers))

    def envelope(self, envelope_id: int) -> _EnvelopeRow:
        """The row of an envelope, to be changed."""
        row = self._envelopes[envelope_id]
        row.changed = True
        return row

    def pending(self, member_id: int) -> dict[str, Any] | None:
        """The row of a member that is not stored yet."""
        return self._members.get(member_id)

    def add(self, row: dict[str, Any]) -> None:
        """A new member."""
        self._members[row["id"]] = row
        self.own.add(row["id"])

    def note(self, envelope: OpenEnvelope, member_id: int | None, refusal: Refusal, severity: str) -> None:
        """Record an incident, once for one place of one envelope."""
        row = incident_row(refusal, severity, now_micros(), envelope.id, member_id)
        place = envelope.id, row["code"], row["path"]
        if not envelope.fresh:
            told = ((one["envelope_id"], one["code"], one["path"]) for one in self._incidents)
            if place in told or self.tx.driver.rows(_KNOWN_INCIDENT, place):
                return
        self._incidents.append(row)

    def note_header(self, envelope_id: int, member_id: int, found: Refusal) -> None:
        """Record what was noticed in the header of a new member."""
        self._incidents.append(incident_row(found, "note", now_micros(), envelope_id, member_id))

    def owe(self, envelope_id: int, record: MemberRecord) -> None:
        """Keep the acknowledgement of a member, in the transaction that ends it; once per content."""
        if record.owed is not None:
            market, answer = record.owed
            told = (answer.type, answer.reference, answer.content, answer.content_type)
            self._owed.append((record.sha256, market, envelope_id, *told, now_micros()))

    def store(self) -> None:
        """Write all of it."""
        self.tx.insert(tables.member, list(self._members.values()))
        self._members.clear()
        self.tx.insert(tables.incident, self._incidents)
        self.tx.driver.many(_OWE, self._owed)
        changed = [(row.id, *(getattr(row, name) for name in ENVELOPE_COLUMNS)) for row in self._changed()]
        self.tx.driver.update(tables.envelope, ENVELOPE_COLUMNS, changed)

    def _changed(self) -> list[_EnvelopeRow]:
        return [row for row in self._envelopes.values() if row.changed]


_KNOWN_INCIDENT = "SELECT id FROM incident WHERE envelope_id = ? AND code = ? AND path = ? AND ch_message_id IS NULL"
_DONE_BEFORE = (
    "SELECT m.sha256, coalesce(e.answers, 0), m.id FROM member m JOIN envelope e ON e.id = m.envelope_id "
    "WHERE m.state = 'done'"
)
_OWE = (
    "INSERT INTO acknowledgement (sha256, market, envelope_id, type, reference, content, content_type, state, "
    "created_at, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, 'built', ?, 0) ON CONFLICT DO NOTHING"
)


def finish(book: Book, envelope: OpenEnvelope, state: str, key_label: str | None) -> None:
    """Close an envelope; one that is closed already stays as it is."""
    row = book.envelope(envelope.id)
    if row.open:
        row.state, row.finished_at, row.key_label, row.holder = state, now_micros(), key_label, None


def save_member(
    book: Book, envelope_id: int, record: MemberRecord, market: str, position: int, *, last: bool
) -> tuple[MemberRecord, Tally]:
    """Write how far a member has come, in the transaction of its batch.

    Args:
      book: what the transaction writes.
      envelope_id: the envelope it came in.
      record: the member, as it is stored.
      market: its market.
      position: number of the last CH message that is stored with this transaction.
      last: the member is done.

    Returns:
      The member as it is stored now, and counts of the notes its header gave rise to.

    Raises:
      TakenOver: what is stored of it is not what was read: another process went on with it.
    """
    tally = Tally()
    read = record.committed
    record = structs.replace(record, state="done" if last else "processing", committed=max(position, read))
    if record.id:
        transactions = record.committed if last else None
        row = book.pending(record.id)
        if row is not None:
            row.update(state=record.state, committed=record.committed, transactions=transactions)
            return record, tally
        sql = (
            "UPDATE member SET state = ?, committed = ?, transactions = ? "
            "WHERE id = ? AND committed = ? AND state = 'processing'"
        )
        if not book.tx.driver.run(sql, (record.state, record.committed, transactions, record.id, read)):
            raise TakenOver(record.path)
        book.own.add(record.id)
        return record, tally
    record = add_member(book, envelope_id, record, record.state, market=market)
    for found in record.head.notes if record.head else ():
        tally.incidents[found.code] += 1
        book.note_header(envelope_id, record.id, found)
    return record, tally


def refuse_member(book: Book, envelope_id: int, record: MemberRecord) -> int:
    """Record that a member could not be read; its id."""
    if not record.id:
        return add_member(book, envelope_id, record, "refused").id
    row = book.pending(record.id)
    if row is not None:
        row["state"] = "refused"
    else:
        book.tx.driver.run("UPDATE member SET state = 'refused' WHERE id = ?", (record.id,))
    return record.id


def add_member(
    book: Book,
    envelope_id: int,
    record: MemberRecord,
    state: str,
    first: int | None = None,
    market: str | None = None,
) -> MemberRecord:
    """Store the row of a member; its envelope is no longer untouched.

    Args:
      book: what the transaction writes.
      envelope_id: the envelope it came in.
      record: the member.
      state: its state.
      first: the member that brought the same bytes before.
      market: the market that its content is of.

    Returns:
      The member with its id.
    """
    (number,) = book.tx.reserve(tables.member, 1)
    record = structs.replace(record, id=number)
    head = record.head
    row = {
        "id": record.id,
        "envelope_id": envelope_id,
        "path": storable(record.path, LONGEST_PATH),
        "sha256": record.sha256,
        "size": record.size,
        "type": head.type if head else None,
        "declared_version": head.declared_version if head else None,
        "version": head.version if head else None,
        "sender": head.sender if head else None,
        "receiver": head.receiver if head else None,
        "state": state,
        "duplicate_of": first,
        "committed": record.committed,
        "transactions": record.committed if state == "done" else None,
    }
    book.add(row)
    envelope = book.envelope(envelope_id)
    envelope.market = market or envelope.market
    if head is not None and state != "refused":
        envelope.request = head.request if head.request is not None else envelope.request
        envelope.files = head.files if head.files is not None else envelope.files
    if envelope.state == "archived":
        envelope.state = "processing"
    return record
