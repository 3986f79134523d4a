"""Retention: data older than a policy allows is removed, and the removal is recorded permanently.

Raw bytes go, their SHA-256 stays: an envelope that arrives again is still known. What failed is kept, whatever its age:
somebody may want to look at it.
"""

from __future__ import annotations

from energycomm.eis import changelog, tables
from energycomm.eis.store import Store, StoreTransaction

DAY = 86_400_000_000
PIECE = 500
"""Rows of one transaction: nobody waits long for it."""

_RAW = (
    "SELECT e.id, e.sha256, r.size FROM envelope e JOIN raw r ON r.sha256 = e.sha256 "
    "WHERE e.received_at < ? AND e.state = 'done' AND e.duplicate_of IS NULL "
    'AND EXISTS (SELECT 1 FROM raw_chunk c WHERE c.sha256 = e.sha256 AND c."number" = 0) '
    "AND NOT EXISTS (SELECT 1 FROM envelope o WHERE o.sha256 = e.sha256 AND o.state IN ('archived', 'processing')) "
    "ORDER BY e.id LIMIT ?"
)
_TOLD = "SELECT id FROM outbox WHERE state = 'sent' AND at < ? ORDER BY id LIMIT ?"


def purge(store: Store, what: str, days: int, now: int, by: str) -> tuple[int, int]:
    """Remove what is older than a policy allows, a piece at a time, each with its row of `purge`.

    Args:
      store: the EIS.
      what: raw, notifications or changes.
      days: the policy.
      now: the present, microseconds since the epoch.
      by: who removes it, for the audit.

    Returns:
      Rows and bytes that were removed.
    """
    before = now - days * DAY
    rows = size = 0
    while True:
        with store.transaction() as tx:
            ids, removed = _KINDS[what](tx, before)
            if ids:
                policy = {"at": now, "what": what, "before": before, "days": days, "by": by}
                removal = {"rows": len(ids), "bytes": removed, "first_id": ids[0], "last_id": ids[-1]}
                tx.insert(tables.purge, [{**policy, **removal}])
        rows, size = rows + len(ids), size + removed
        if len(ids) < PIECE:
            return rows, size


def _raw(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    found = tx.driver.rows(_RAW, (before, PIECE))
    tx.driver.many("DELETE FROM raw_chunk WHERE sha256 = ?", [(row[1],) for row in found])
    return [row[0] for row in found], sum(row[2] for row in found)


def _notifications(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    ids = [row[0] for row in tx.driver.rows(_TOLD, (before, PIECE))]
    tx.driver.delete(tables.outbox, ids)
    return ids, 0


def _changes(tx: StoreTransaction, before: int) -> tuple[list[int], int]:
    return changelog.forget(tx.connection, before, PIECE), 0


_KINDS = {"raw": _raw, "notifications": _notifications, "changes": _changes}
