"""Retention by class of data: what is older than a policy allows is removed, and the removal is recorded permanently.

Nothing is removed unless a number of days is set. Of raw bytes the SHA-256 stays: an envelope that arrives again is
still known. Of messages their CH messages stay, for the same reason. What failed, waits or is worked on is kept,
whatever its age. Of the audit the old end is cut off, and a line of it says so.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sqlalchemy import Table

from energycomm.config import RetentionSettings
from energycomm.eis import auditchain, changelog, tables
from energycomm.eis.away import REMOVED
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.instants import now_micros
from energycomm.pipeline.leaving import CURVES, CUSTOMERS, READINGS, Leaving, points_with, portion, remove, removing

DAY = 86_400_000_000
PIECE = 500
"""Rows of one transaction: nobody waits long for it."""


class DataClass(NamedTuple):
    """A class of data.

    Attributes:
      name: its name; the setting is NAME_days, without the plural.
      setting: its setting in `[retention]`.
      holds: what it is, in words.
      leaving: the messages that it is made of; None for rows of one table.
    """

    name: str
    setting: str
    holds: str
    leaving: Leaving | None = None


CLASSES: tuple[DataClass, ...] = (
    DataClass("raw", "raw_days", "bytes of processed envelopes; their SHA-256 stays"),
    DataClass(
        "readings", "reading_days", "settled indexes and energies, with Kernel XML, verdicts, particulars", READINGS
    ),
    DataClass("curves", "curve_days", "settled curves, with Kernel XML, verdicts, particulars", CURVES),
    DataClass("customers", "customer_days", "data of customers whose supply ended, with Kernel XML", CUSTOMERS),
    DataClass("notifications", "notification_days", "notifications that were sent"),
    DataClass("changes", "change_days", "log of changes, which exports follow"),
    DataClass("predictions", "prediction_days", "second opinions of models"),
    DataClass("former", "former_days", "rows as they were before a change"),
    DataClass("notes", "note_days", "what was noticed and did no harm"),
    DataClass("audit", "audit_days", "lines of the audit; its chain goes on from there, and says so"),
)
"""Every class that may be removed. Not among them, and never removed: contracts, supplies, data of points
and meters, requests and answers, invoices, tickets, campaigns, CH messages, envelopes without their bytes."""

_BY_NAME = {one.name: one for one in CLASSES}


def policies(settings: RetentionSettings) -> dict[str, int]:
    """Class -> days, of those that a policy is set for."""
    found = {one.name: getattr(settings, one.setting) for one in CLASSES}
    return {name: days for name, days in found.items() if days is not None}


def purge(store: Store, what: str, days: int, now: int, by: str) -> tuple[int, int]:
    """Remove what is older than a policy allows, a piece at a time, each with its row of `purge`.

    Args:
      store: the EIS.
      what: a class of `CLASSES`.
      days: the policy.
      now: the present, microseconds since the epoch.
      by: who removes it, for the audit.

    Returns:
      Rows (messages, where the class is made of messages) and bytes that were removed.
    """
    before, rows, size = now - days * DAY, 0, 0
    leaving = _BY_NAME[what].leaving

    def record(tx: StoreTransaction, ids: list[int], removed: int) -> None:
        policy = {"at": now, "what": what, "before": before, "days": days, "by": by}
        removal = {"rows": len(ids), "bytes": removed, "first_id": min(ids), "last_id": max(ids)}
        tx.insert(tables.purge, [{**policy, **removal}])

    if leaving is not None:
        for number in _messages(store, leaving, before, now, by, record):
            rows += number
        return rows, 0
    while True:
        with store.transaction() as tx:
            ids, removed = _KINDS[what](tx, before)
            if ids:
                record(tx, ids, removed)
        rows, size = rows + len(ids), size + removed
        if len(ids) < PIECE:
            return rows, size


def due(store: Store, what: str, days: int, now: int) -> int:
    """How much `purge` would remove: rows, or messages.

    Args:
      store: the EIS; nothing is changed.
      what, days, now: as for `purge`.
    """
    before, leaving = now - days * DAY, _BY_NAME[what].leaving
    with store.reading() as reader:
        if leaving is None:
            return int(reader.driver.rows(_COUNTS[what], (before,))[0][0])
        total = after = 0
        while points := points_with(reader, leaving, after, before):
            total += len(portion(reader, leaving, points, before).messages)
            after = points[-1]
        return total


def _messages(
    store: Store,
    leaving: Leaving,
    before: int,
    now: int,
    by: str,
    record: Callable[[StoreTransaction, list[int], int], None],
) -> Iterator[int]:
    """Remove messages, some access points at a time; how many each time."""
    after = 0
    with removing(store) as unchecked:

        def run(tx: StoreTransaction) -> tuple[int, int | None]:
            points = points_with(tx, leaving, after, before)
            if not points:
                return 0, None
            gone = portion(tx, leaving, points, before)
            if gone.messages:
                remove(tx, gone, _removed(tx, now, by), 0)
                ids = [row[0] for row in gone.messages]
                if leaving is CUSTOMERS:
                    _forget_images(tx, leaving.domain[0], sorted(gone.floors), before)
                record(tx, ids, 0)
            return len(gone.messages), points[-1]

        while True:
            (number, reached), _ = unchecked.retried(run)
            if reached is None:
                return
            after = reached
            yield number


def _removed(tx: StoreTransaction, now: int, by: str) -> int:
    """The archive without files, whose access points lost messages for good."""
    rows = tx.driver.rows("SELECT id FROM archive WHERE name = ?", (REMOVED,))
    if rows:
        return int(rows[0][0])
    (number,) = tx.reserve(tables.archive, 1)
    row = {"id": number, "name": REMOVED, "before": 0, "folder": "", "revision": "", "by": by[:120], "made_at": now}
    tx.insert(tables.archive, [{**row, "upto_point": 0, "written_at": now}])
    return number


def _forget_images(tx: StoreTransaction, table: Table, points: list[int], before: int) -> None:
    """What was known of a customer is not kept as a former row either."""
    sql = f"SELECT id FROM before_image WHERE table_name = '{table.name}' AND \"at\" < ?"
    rows = tx.driver.matching(sql, points, "access_point_id", head=(before,))
    tx.driver.delete(tables.before_image, [row[0] for row in rows])


_DONE = (
    "FROM envelope e JOIN raw r ON r.sha256 = e.sha256 "
    "WHERE e.received_at < ? AND e.state = 'done' AND e.duplicate_of IS NULL "
    'AND EXISTS (SELECT 1 FROM raw_chunk c WHERE c.sha256 = e.sha256 AND c."number" = 0) '
    "AND NOT EXISTS (SELECT 1 FROM envelope o WHERE o.sha256 = e.sha256 AND o.state IN ('archived', 'processing'))"
)
_TOLD = "FROM outbox WHERE state = 'sent' AND at < ?"
_OPINIONS = 'FROM prediction WHERE "at" < ?'
_FORMER = 'FROM before_image WHERE "at" < ?'
_NOTES = "FROM incident WHERE severity = 'note' AND \"at\" < ?"
_CHANGES = 'FROM change_batch WHERE number IS NOT NULL AND "at" < ?'

_COUNTS = {
    name: f"SELECT count(*) {sql}"
    for name, sql in (
        ("raw", _DONE),
        ("notifications", _TOLD),
        ("changes", _CHANGES),
        ("predictions", _OPINIONS),
        ("former", _FORMER),
        ("notes", _NOTES),
        ("audit", 'FROM audit WHERE "at" < ?'),
    )
}


def _raw(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    found = tx.driver.rows(f"SELECT e.id, e.sha256, r.size {_DONE} ORDER BY e.id LIMIT ?", (before, PIECE))
    tx.driver.many("DELETE FROM raw_chunk WHERE sha256 = ?", [(row[1],) for row in found])
    return [row[0] for row in found], sum(row[2] for row in found)


def _rows(table: Table, sql: str) -> Callable[[StoreTransaction, int], tuple[list[int], int]]:
    """Rows of a table, the oldest first."""

    def run(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
        ids = [row[0] for row in tx.driver.rows(f"SELECT id {sql} ORDER BY id LIMIT ?", (before, PIECE))]
        tx.driver.delete(table, ids)
        return ids, 0

    return run


def _predictions(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    found = tx.driver.rows(f"SELECT message_id, model {_OPINIONS} ORDER BY message_id, model LIMIT ?", (before, PIECE))
    tx.driver.many("DELETE FROM prediction WHERE message_id = ? AND model = ?", found)
    return [row[0] for row in found], 0


def _changes(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    return changelog.forget(tx.connection, before, PIECE), 0


def _audit(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    return auditchain.cut(tx, before, now_micros(), PIECE), 0


_KINDS: dict[str, Callable[[StoreTransaction, int], tuple[list[int], int]]] = {
    "raw": _raw,
    "notifications": _rows(tables.outbox, _TOLD),
    "changes": _changes,
    "predictions": _predictions,
    "former": _rows(tables.before_image, _FORMER),
    "notes": _rows(tables.incident, _NOTES),
    "audit": _audit,
}
"""Class -> removes one piece of it."""
