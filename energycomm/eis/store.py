"""Writing to the Energy Information Store: what one batch does commits together or not at all.

    store = Store(engine)
    with store.transaction() as tx:
        ids = tx.reserve(tables.ch_message, len(batch))
        tx.insert(tables.ch_message, [{"id": i, "market": "FR", ...} for i in ids])

A transaction is used by one thread. `access_points`, or `lock_access_points` before it, is called once in a
transaction, with all access points that it will touch: they are locked in one order, so that two workers never judge
one access point at once, and never wait for each other in a circle.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, Table

from energycomm.eis import nameindex, overdue, tables
from energycomm.eis.bulk import Driver, NewColumns, NewRow, Row, driver_of
from energycomm.eis.database import Conflict, is_sqlite, reading, reporting, writing
from energycomm.eis.effects import drop_rows
from energycomm.eis.identifiers import BlockIdentifiers, BlockPool, CountedIdentifiers, Identifiers
from energycomm.eis.partitions import Partitions
from energycomm.eis.states import SETTLED
from energycomm.kernel.instants import now_micros

T = TypeVar("T")

CONFLICTS = 6
"""How often a transaction is run before what it would store is left to whoever is in the way."""

BLOCKS = 20
"""Blocks of ids that a process takes before it looks again whether there are partitions for more: fewer than half of
the narrowest range has."""

ENVELOPE_COLUMNS = ("state", "market", "request", "files", "finished_at", "key_label", "holder")
"""What changes of an envelope while it is processed."""

NEVER = -(1 << 62)
"""`last_at` of an access point before its first message: earlier than every instant."""


class AccessPointRow(NamedTuple):
    """The stored state of an access point for the next message.

    Attributes:
      id: row id.
      identifier: the market's identifier.
      last_at: effective instant of the last message judged, microseconds; `NEVER` before the first.
      state: what the pipeline remembers; empty before the first message.
      messages: messages judged since the last checkpoint.
    """

    id: int
    identifier: str
    last_at: int
    state: bytes
    messages: int


class KnownMessage(NamedTuple):
    """A stored CH message: its id, its member, and its outcome."""

    id: int
    member_id: int
    outcome: str


class MessageRow(NamedTuple):
    """A stored Kernel message, with what a fold over its access point needs."""

    id: int
    identity: bytes | None
    position: int
    kind: str
    effective: int
    state: str
    waits_for: str | None
    waits_until: int | None
    received_at: int
    xml: str
    version: int
    corrects: int | None
    ch_message_id: int | None
    injected_by: str | None


class Store:
    """The Energy Information Store, to write to."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._blocks = BlockPool()
        self._enough = 0

    @contextmanager
    def transaction(self) -> Iterator[StoreTransaction]:
        """One transaction: committed at the end of the block, undone when the block raises.

        Raises:
          Conflict: another worker stored the same meanwhile; nothing is stored, the block may be run again.
          UserError: the database was lost, is full or stays locked.
        """
        with writing(self.engine) as connection:
            driver = driver_of(connection)
            sqlite = is_sqlite(self.engine)
            ids: Identifiers = CountedIdentifiers(driver) if sqlite else BlockIdentifiers(driver, self._blocks)
            yield StoreTransaction(connection, driver, ids, locks=not sqlite)
            ids.close()
        self._make_partitions()

    def _make_partitions(self) -> None:
        """Have the next partitions made ahead; looked at with the first block of ids, and after some more."""
        if self._blocks.blocks > self._enough:
            self._enough = self._blocks.blocks + BLOCKS
            Partitions(self.engine).tend(drop=False)

    def retried(self, run: Callable[[StoreTransaction], T]) -> tuple[T, int]:
        """Run a transaction, again where another worker stored the same meanwhile.

        Args:
          run: what is done in it; begins anew at each call.

        Returns:
          Its answer, and how often another worker was in the way.

        Raises:
          Conflict: somebody stays in the way; nothing is stored.
          UserError: the database was lost, is full or stays locked.
        """
        for conflicts in range(CONFLICTS):
            try:
                with self.transaction() as tx:
                    return run(tx), conflicts
            except Conflict:
                if conflicts == CONFLICTS - 1:
                    raise
                time.sleep(random.uniform(0, 0.02 * 2**conflicts))  # noqa: S311 - two workers must not meet again
        raise AssertionError("the last attempt either returned or raised")

    @contextmanager
    def reading(self) -> Iterator[StoreReader]:
        """One read-only transaction, which does not wait for writers.

        Raises:
          UserError: the database was lost.
        """
        with reading(self.engine) as connection:
            yield StoreReader(driver_of(connection))


class StoreReader:
    """Read-only queries of the store for judging; nothing is locked or written.

    Attributes:
      driver: the database's own driver.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver

    def messages_from(self, access_point_id: int, at: int) -> list[MessageRow]:
        """The Kernel messages of an access point effective at or after an instant, in any state, by their instants."""
        return [self._message(row) for row in self.driver.rows(_MESSAGES, (access_point_id, at))]

    def messages_since(self, points: Sequence[tuple[int, int]]) -> dict[int, list[MessageRow]]:
        """The Kernel messages of access points, in any state, by the id of the access point and by their instants.

        Args:
          points: (id, instant) of each access point: messages effective at or after the instant.
        """
        found: dict[int, list[MessageRow]] = {}
        for point, *row in self.driver.given(_SINCE, ("point", "at"), points):
            found.setdefault(point, []).append(self._message(tuple(row)))
        return found

    def messages_of(self, access_point_ids: Sequence[int]) -> dict[int, list[MessageRow]]:
        """The Kernel messages of access points, in any state, by the id of the access point."""
        found: dict[int, list[MessageRow]] = {}
        for point, *row in self.driver.matching(_OF_POINTS, access_point_ids, "k.access_point_id"):
            found.setdefault(point, []).append(self._message(tuple(row)))
        return found

    def _message(self, row: Row) -> MessageRow:
        message = MessageRow._make(row)
        return message._replace(xml=self.driver.vault.text("kernel_message", message.id, message.xml))

    def messages(self, message_ids: Sequence[int]) -> list[MessageRow]:
        """Kernel messages by their ids, in any state."""
        return [self._message(row) for row in self.driver.matching(_ALL_MESSAGES, message_ids, "k.id")]

    def checkpoint_before(self, access_point_id: int, at: int) -> tuple[int, bytes] | None:
        """The latest checkpoint without any message effective at or after an instant: (upto, state), upto <= at."""
        return self.checkpoints_before([(access_point_id, at)]).get(access_point_id)

    def checkpoints_before(self, points: Sequence[tuple[int, int]]) -> dict[int, tuple[int, bytes]]:
        """`checkpoint_before` of several access points, (id, instant) of each; by id, of those that have one."""
        return {row[0]: (row[1], row[2]) for row in self.driver.given(_CHECKPOINT, ("point", "at"), points)}

    def superseded(self, message_ids: Sequence[int]) -> set[int]:
        """Those of the messages that a corrected version has taken the place of."""
        sql = "SELECT corrects FROM kernel_message WHERE corrects IS NOT NULL AND state <> 'withdrawn'"
        return {row[0] for row in self.driver.matching(sql, message_ids, "corrects")}

    def current_codes(self, message_ids: Sequence[int]) -> dict[int, list[str]]:
        """Error codes, warnings apart, of the verdicts that hold now, by message id."""
        sql = "SELECT message_id, error_code FROM finding WHERE \"current\" AND severity = 'error'"
        codes: dict[int, list[str]] = {}
        for message_id, code in self.driver.matching(sql, message_ids, "message_id", "ORDER BY id"):
            found = codes.setdefault(message_id, [])
            if code not in found:
                found.append(code)
        return codes

    def versions(self, message_id: int) -> set[int]:
        """All versions of a message: what it corrects, what corrects it, and so on; itself too."""
        known, new = {message_id}, [message_id]
        while new:
            later = self.driver.matching("SELECT id FROM kernel_message WHERE true", new, "corrects")
            former = self.driver.matching("SELECT corrects FROM kernel_message WHERE corrects IS NOT NULL", new, "id")
            new = [row[0] for row in (*later, *former) if row[0] not in known]
            known.update(new)
        return known


class StoreTransaction(StoreReader):
    """What can be done in one transaction. Instants are microseconds since the epoch.

    Attributes:
      connection: SQLAlchemy's connection, for statements that are not on the hot path; the same transaction.
      driver: the database's own driver below it.
      locks: others may write at the same time, so that rows are locked.
    """

    def __init__(self, connection: Connection, driver: Driver, ids: Identifiers, *, locks: bool) -> None:
        super().__init__(driver)
        self.connection = connection
        self._ids = ids
        self.locks = locks
        self._locked: dict[tuple[str, str], AccessPointRow] = {}
        """Access points that are locked and were not asked for yet."""
        self._made: list[int] = []
        """Those that this transaction stored."""
        self._undone = False

    # --- rows ---

    def reserve(self, table: Table, n: int) -> range:
        """The next `n` ids of a table, one after the other."""
        return self._ids.reserve(table.name, n)

    def insert(self, table: Table, rows: Sequence[NewRow]) -> None:
        """Store rows, each a value by name of column; rows without an id, in a table that has one, get the next.

        Raises:
          Misfit: one of the databases would refuse a value.
          TypeError: a row names a column that there is not, or leaves out one that needs a value.
        """
        if rows and "id" not in rows[0] and "id" in table.columns:
            rows = [{"id": i, **row} for i, row in zip(self.reserve(table, len(rows)), rows, strict=True)]
        self.driver.insert(table, rows)
        if table is tables.customer:
            nameindex.keep(self.driver, [(row["id"], row.get("name"), row.get("content")) for row in rows])

    def insert_columns(self, table: Table, columns: NewColumns) -> None:
        """Store rows that are given as columns, as `insert` does; their ids too, where the table has them."""
        self.driver.insert_columns(table, columns)

    # --- what arrived ---

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A part of the transaction that is undone alone when its block raises.

        Raises:
          Conflict: another worker stored the same meanwhile; the whole transaction may be run again.
          UserError: the database was lost, is full or stays locked.
        """
        try:
            with reporting(self.connection.engine), self.connection.begin_nested():
                yield
        except BaseException:
            self._undone = True
            raise

    def envelopes(self, ids: Sequence[int]) -> list[Row]:
        """Rows of envelopes that are being processed: (id, `ENVELOPE_COLUMNS`). On PostgreSQL they stay locked until
        the transaction ends; rows that refer to them may still be stored by others."""
        sql = f"SELECT id, {', '.join(ENVELOPE_COLUMNS)} FROM envelope WHERE true"  # noqa: S608 - our own names
        return self.driver.matching(sql, ids, "id", "ORDER BY id FOR NO KEY UPDATE" if self.locks else "ORDER BY id")

    def known_identities(self, identities: Sequence[bytes]) -> dict[bytes, KnownMessage]:
        """The CH messages that are stored already, by identity."""
        sql = "SELECT identity, id, member_id, outcome FROM ch_message WHERE true"
        rows = self.driver.matching(sql, identities, "identity")
        return {bytes(row[0]): KnownMessage(row[1], row[2], row[3]) for row in rows}

    # --- access points and their states ---

    def lock_access_points(self, market: str, identifiers: Iterable[str]) -> None:
        """Lock access points before anything is asked that another worker at one of them may be about to store;
        `access_points` gives them then.

        Args:
          market: theirs.
          identifiers: of all that the transaction will touch, as far as that is known; `drop_unused` at the end, if
            some of them may not be.
        """
        for row in self._access_points(market, sorted(set(identifiers))):
            self._locked[market, row.identifier] = row

    def drop_unused(self) -> None:
        """Delete the access points that this transaction stored and that no message of it came to."""
        if self._made and (self._locked or self._undone):
            unused = self.driver.matching(_UNUSED, self._made, "id")
            self.driver.delete(tables.access_point, [row[0] for row in unused])

    def access_points(self, market: str, identifiers: Iterable[str]) -> dict[str, AccessPointRow]:
        """The rows of access points, by identifier; those that are not stored yet are stored now.

        On PostgreSQL the rows stay locked until the transaction ends. Missing ones are stored before any is locked, and
        both are done in one order everywhere: so no two transactions ever wait for each other in a circle.
        """
        wanted = sorted(set(identifiers))
        # What was locked is as it was read, until it is asked for: from then on it may be changed here.
        locked = {name: row for name in wanted if (row := self._locked.pop((market, name), None)) is not None}
        others = [name for name in wanted if name not in locked]
        return locked | {row.identifier: row for row in self._access_points(market, others)}

    def _access_points(self, market: str, wanted: Sequence[str]) -> list[AccessPointRow]:
        if not wanted:
            return []
        # What is read before the lock may change until then: only whether it is there is asked.
        known = {row[0] for row in self.driver.matching(_KNOWN_POINTS, wanted, "identifier", "", (market,))}
        missing = [identifier for identifier in wanted if identifier not in known]
        if missing:
            ids = self.reserve(tables.access_point, len(missing))
            rows = [(i, market, identifier, NEVER, b"", 0) for i, identifier in zip(ids, missing, strict=True)]
            self.driver.put(tables.access_point, _NEW_POINT, rows, "DO NOTHING")
            self._made += ids
        rows = self.driver.matching(_ACCESS_POINTS, wanted, "identifier", _LOCK if self.locks else "", (market,))
        return [AccessPointRow._make(row) for row in rows]

    def save_access_points(self, rows: Sequence[tuple[int, int, bytes, int]]) -> None:
        """Store states: rows of (id, last_at, state, messages)."""
        self.driver.update(tables.access_point, ("last_at", "state", "messages"), rows)
        overdue.stale(self.driver, [row[0] for row in rows])

    def save_checkpoints(self, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Store checkpoints: rows of (access_point_id, upto, state); one at the same instant is replaced."""
        latest = {(point, upto): (point, upto, state) for point, upto, state in rows}
        self.driver.put(tables.checkpoint, ("access_point_id", "upto", "state"), list(latest.values()), _REPLACED)

    def drop_checkpoints_after(self, points: Sequence[tuple[int, int]]) -> None:
        """Forget the checkpoints that messages make wrong: (access point, the effective instant) of each, upto > it."""
        self.driver.many("DELETE FROM checkpoint WHERE access_point_id = ? AND upto > ?", points)

    # --- Kernel messages ---

    def marked_alone(self) -> list[MessageRow]:
        """The Kernel messages that concern no access point and are to be judged again, by their ids."""
        marked = f"k.{tables.OPEN_STATES} AND k.state = 'to_replay' AND k.access_point_id IS NULL"
        sql = f"{_ALL_MESSAGES} AND {marked} ORDER BY k.id"
        return [self._message(row) for row in self.driver.rows(sql)]

    def overdue(self, now: int, limit: int = 500) -> list[tuple[int, int | None, int]]:
        """Quarantined messages whose time has passed: (message id, access point id, waits_until), the oldest first."""
        return [(row[0], row[1], row[2]) for row in self.driver.rows(_OVERDUE, (now, limit))]

    def set_states(self, rows: Sequence[tuple[int, str, str | None, int | None]]) -> None:
        """Change states of Kernel messages: rows of (id, state, waits_for, waits_until).

        The caller stores the `state_change` rows that say why.
        """
        self.driver.update(tables.kernel_message, ("state", "waits_for", "waits_until"), rows)
        settled = [row[0] for row in rows if row[1] in SETTLED]
        if settled:
            self._close_tickets(settled)

    def _close_tickets(self, message_ids: Sequence[int]) -> None:
        """Close the tickets of messages that nobody has to look at any more, where all their messages are such."""
        sql = "SELECT DISTINCT ticket_id FROM ticket_message WHERE true"
        tickets = [row[0] for row in self.driver.matching(sql, message_ids, "message_id")]
        if not tickets:
            return
        sql = (
            "SELECT t.id FROM ticket t WHERE t.state <> 'closed' AND NOT EXISTS (SELECT 1 FROM ticket_message m "
            "JOIN kernel_message k ON k.id = m.message_id WHERE m.ticket_id = t.id "
            "AND k.state NOT IN ('accepted', 'treated', 'withdrawn'))"
        )
        now = now_micros()
        closing = [(row[0], "closed", now) for row in self.driver.matching(sql, tickets, "t.id")]
        self.driver.update(tables.ticket, ("state", "closed_at"), closing)

    def retire_findings(self, message_ids: Sequence[int]) -> None:
        """Mark the findings of messages as those of a verdict that holds no more."""
        rows = self.driver.matching('SELECT id FROM finding WHERE "current"', message_ids, "message_id")
        self.driver.update(tables.finding, ("current",), [(row[0], False) for row in rows])

    def current_findings(self, message_ids: Sequence[int]) -> dict[int, list[tuple[str, ...]]]:
        """The findings, warnings too, of the verdicts that hold now, by message id: (code, rule, severity, field,
        value or nothing, comment in English, in French), sorted."""
        sql = (
            "SELECT message_id, error_code, rule, severity, field, coalesce(value, ''), comment, comment_fr "
            'FROM finding WHERE "current"'
        )
        found: dict[int, list[tuple[str, ...]]] = {}
        for message_id, *row in self.driver.matching(sql, message_ids, "message_id"):
            found.setdefault(message_id, []).append(tuple(row))
        for rows in found.values():
            rows.sort()
        return found

    def withdraw_notifications(self, message_ids: Sequence[int], now: int) -> int:
        """Withdraw undelivered notifications of messages that lost their acceptance; how many."""
        # Wrapped, so that SQLite takes the index of the message and does not walk all that is pending.
        pending = "coalesce(state, '') = 'pending'"
        why = "the message is no longer accepted"
        return drop_rows(self, tables.outbox, pending, "message_id", message_ids, why, now)

    # --- versions of the rules ---

    def rules_version(self, digest: str, engine: str, catalogue: str, now: int) -> int:
        """The id of a version of the rules, stored at its first use.

        Args:
          digest: hash of the catalogue, hexadecimal.
          engine: the engine that judges with it.
          catalogue: the rule files, JSON.
          now: when it is used.
        """
        found = self.driver.rows(_RULES_VERSION, (digest,))
        if not found:
            (i,) = self.reserve(tables.rules_version, 1)
            self.driver.run(_NEW_RULES_VERSION, (i, digest, engine, now, catalogue))
            found = self.driver.rows(_RULES_VERSION, (digest,))
        return int(found[0][0])


_KNOWN_POINTS = "SELECT identifier FROM access_point WHERE market = ?"
_ACCESS_POINTS = "SELECT id, identifier, last_at, state, messages FROM access_point WHERE market = ?"
# NO KEY: rows that refer to the access point may still be stored by others, but nobody else judges it.
_LOCK = "ORDER BY identifier FOR NO KEY UPDATE"
_UNUSED = "SELECT id FROM access_point WHERE length(state) = 0"
_NEW_POINT = ("id", "market", "identifier", "last_at", "state", "messages")
_CHECKPOINT = (
    "SELECT given.point, c.upto, c.state FROM given CROSS JOIN checkpoint c WHERE c.access_point_id = given.point AND "
    "c.upto = (SELECT max(b.upto) FROM checkpoint b WHERE b.access_point_id = given.point AND b.upto <= given.at)"
)
_REPLACED = "(access_point_id, upto) DO UPDATE SET state = excluded.state"
_COLUMNS = (
    "k.id, c.identity, k.position, k.kind, k.effective, k.state, k.waits_for, k.waits_until, k.received_at, "
    "k.xml, k.version, k.corrects, k.ch_message_id, k.injected_by"
)
_FROM = "FROM kernel_message k LEFT JOIN ch_message c ON c.id = k.ch_message_id WHERE true"
_ALL_MESSAGES = f"SELECT {_COLUMNS} {_FROM}"
_OF_POINTS = f"SELECT k.access_point_id, {_COLUMNS} {_FROM}"
_MESSAGES = (
    f"{_ALL_MESSAGES} AND k.access_point_id = ? AND k.effective >= ? ORDER BY k.effective, c.identity, k.position, k.id"
)
_SINCE = (
    f"SELECT given.point, {_COLUMNS} FROM given CROSS JOIN kernel_message k "  # noqa: S608 - our own names
    "LEFT JOIN ch_message c ON c.id = k.ch_message_id WHERE k.access_point_id = given.point "
    "AND k.effective >= given.at ORDER BY k.effective, c.identity, k.position, k.id"
)
_OVERDUE = (
    f"SELECT id, access_point_id, waits_until FROM kernel_message WHERE {tables.OPEN_STATES} "  # noqa: S608 - our own words
    "AND state = 'quarantined' AND waits_until <= ? ORDER BY waits_until, id LIMIT ?"
)
_RULES_VERSION = "SELECT id FROM rules_version WHERE hash = ?"
_NEW_RULES_VERSION = (
    "INSERT INTO rules_version (id, hash, engine, first_used_at, catalogue) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
