"""Messages that waited too long: they are given up with a code of their own.

A message that is given up is rejected, so that consultants see it. It is not forgotten: when its predecessor arrives
after all, the message is judged again with the others of its access point, and accepted if it can be.
"""

from __future__ import annotations

from energycomm.eis import tables
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.verdicts import Finding
from energycomm.pipeline.rows import change_row, finding_row, notification_row

GIVEN_UP = "EC-Q01"
"""Error code of a message whose predecessor did not come in time."""

GIVEN_UP_EVENT = "message-rejected"

_PIECE = 500


def give_up(store: Store, now: int, rules_version_id: int | None) -> int:
    """Reject the quarantined messages whose waiting time is over.

    Args:
      store: the EIS.
      now: the present, microseconds since the epoch.
      rules_version_id: version of the rules, for the record.

    Returns:
      How many were given up.
    """
    total = 0
    while True:
        with store.transaction() as tx:
            seen = tx.overdue(now, _PIECE)
            _lock(tx, [point for _, point, _ in seen if point is not None])
            still = {number for number, _, _ in tx.overdue(now, _PIECE)}
            overdue = [row for row in seen if row[0] in still]
            ids = [number for number, _, _ in overdue]
            waits: dict[int, str | None] = dict(
                tx.driver.matching("SELECT id, waits_for FROM kernel_message WHERE true", ids, "id")
            )
            changes = tx.reserve(tables.state_change, len(ids))
            tx.set_states([(number, "rejected", waits[number], None) for number in ids])
            tx.insert(
                tables.state_change,
                [
                    {
                        **change_row(number, "quarantined", "rejected", now, GIVEN_UP),
                        "id": change,
                        "rules_version_id": rules_version_id,
                    }
                    for change, number in zip(changes, ids, strict=True)
                ],
            )
            tx.insert(
                tables.finding,
                [finding_row(_finding(waits[n]), n, change) for change, n in zip(changes, ids, strict=True)],
            )
            tx.insert(tables.outbox, [notification_row(n, GIVEN_UP_EVENT, now) for n in ids])
        total += len(ids)
        if len(ids) < _PIECE:
            return total


def _lock(tx: StoreTransaction, points: list[int]) -> None:
    """Keep others from judging these access points until the transaction ends: one of the messages may be released by
    its predecessor just now. SQLite has one writer anyway."""
    if tx.connection.dialect.name == "postgresql":
        tail = "ORDER BY identifier FOR NO KEY UPDATE"
        tx.driver.matching("SELECT id FROM access_point WHERE true", sorted(set(points)), "id", tail)


def _finding(waits_for: str | None) -> Finding:
    missing = waits_for or "its predecessor"
    return Finding(
        error_code=GIVEN_UP,
        rule="quarantine-time",
        field="",
        value=missing,
        comment=f"Waited for {missing}, which did not arrive in time.",
        comment_fr=f"En attente de {missing}, non reçu dans le délai.",
        error_class="missing",
    )
