"""Notifications to the back office: each row of `outbox` is delivered at least once, in order for each message.

A notification is taken before it is sent (`sending`), so that what is withdrawn meanwhile counts as told. A process
that dies in between leaves it so; it is sent again when its time is over, with the same bytes and the same idempotency
key. What is refused as it is, or too often, is put aside as `dead` with its reason. While nobody listens at all, all
of it waits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct
from sqlalchemy import select

from energycomm.eis import tables
from energycomm.eis.bulk import Row
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.eis.structures import filled
from energycomm.errors import DamagedRow
from energycomm.kernel.instants import now_micros
from energycomm.masking import mask

SECOND = 1_000_000
LEASE = 300 * SECOND
"""A notification that was taken so long ago and is not settled is sent again: its sender died."""
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 3600.0

Trouble = Literal["item", "perhaps", "target"]
"""What a failure is about: this notification as it is, this one or the target, or the target whatever is sent."""


class Notification(NamedTuple):
    """What the back office is told.

    Attributes:
      id: row of the outbox.
      key: idempotency key: whoever knows it has been told.
      attempts: attempts before.
      message_id: the Kernel message it is about.
      perhaps_told: an earlier attempt may have arrived.
      body: JSON, the same bytes at every attempt; unless an arrival of the message that was written earlier came in
        between (`energycomm.pipeline.arrivals`), and its Kernel XML says so.
    """

    id: int
    key: str
    attempts: int
    message_id: int
    perhaps_told: bool
    body: bytes


class Failure(Struct, frozen=True):
    """Why a notification did not arrive.

    Attributes:
      trouble: what it is about.
      reason: in words, without secrets.
      retry_after: seconds that the target asks us to wait.
    """

    trouble: Trouble
    reason: str
    retry_after: float | None = None


class Target(Protocol):
    """Where notifications go."""

    def tell(self, notification: Notification) -> Failure | None:
        """Tell one; None when it is there."""
        ...


class Told(Struct):
    """What one pass came to.

    Attributes:
      sent, put_off, dead: notifications.
      trouble: why the target was left alone before everything was tried; None when it was not.
    """

    sent: int = 0
    put_off: int = 0
    dead: int = 0
    trouble: Failure | None = None


def tell_all(
    store: Store,
    target: Target,
    *,
    limit: int = 100,
    attempts: int = 40,
    longest_pause: float = LONGEST_PAUSE,
    watch: Callable[[Notification, Failure | None], bool] | None = None,
) -> Told:
    """Tell what is due.

    Args:
      store: the EIS.
      target: where to.
      limit: notifications at most.
      attempts: after so many a notification is dead.
      longest_pause: longest pause between two attempts, in seconds, whatever the target asks for.
      watch: told of each attempt; answers False to stop.

    Raises:
      UserError: the database was lost; what was taken and not settled is sent again later.
    """
    told = Told()
    taken = _take(store, now_micros(), limit, longest_pause)
    for number, notification in enumerate(taken):
        failure = target.tell(notification)
        outcome = _settle(store, notification, failure, attempts, longest_pause)
        setattr(told, outcome, getattr(told, outcome) + 1)
        going = watch is None or watch(notification, failure)
        if failure is not None and failure.trouble != "item":
            told.trouble, going = failure, False
        if not going:
            _give_back(store, taken[number + 1 :])
            break
    return told


_DUE = (
    "SELECT o.id, o.attempts, o.state, o.event, o.at, k.id, k.market, k.market_type, k.kind, k.effective, k.xml, "
    "a.identifier, c.envelope_id FROM outbox o JOIN kernel_message k ON k.id = o.message_id "
    "LEFT JOIN access_point a ON a.id = k.access_point_id LEFT JOIN ch_message c ON c.id = k.ch_message_id "
    "WHERE o.state IN ('pending', 'sending') AND (o.next_at IS NULL OR o.next_at <= ? OR o.next_at > ?) "
    # What is told of a message is told in order: nobody overtakes an earlier one that waits.
    "AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.message_id = o.message_id AND e.state IN ('pending', 'sending') "
    "AND (e.at < o.at OR (e.at = o.at AND e.id < o.id))) ORDER BY o.at, o.id LIMIT ?"
)


def _take(store: Store, now: int, limit: int, longest: float) -> list[Notification]:
    """Mark what is due as being sent; whoever withdraws a message from now on knows that it was told.

    A time that lies further off than the longest pause was set by a clock that was put back since: it is due, too.
    """
    furthest = now + int(longest * SECOND) + LEASE
    with store.transaction() as tx:
        taken = []
        for row in tx.driver.rows(_DUE, (now, furthest, limit)):
            sql = "UPDATE outbox SET state = 'sending', next_at = ? WHERE id = ? AND state IN ('pending', 'sending')"
            if tx.driver.run(sql, (now + LEASE, row[0])):
                try:
                    clear = tx.driver.vault.text("kernel_message", row[5], row[10])
                except DamagedRow as damaged:
                    # The others are told; this one when its row was restored and somebody takes it up again.
                    dead = "UPDATE outbox SET state = 'dead', next_at = NULL, last_error = ? WHERE id = ?"
                    tx.driver.run(dead, (str(damaged), row[0]))
                    continue
                taken.append(_notification((*row[:10], clear, *row[11:])))
    return taken


def _notification(row: Row) -> Notification:
    number, attempts, state, event, at, message_id, market, market_type, kind, effective, xml, point, envelope = row
    key = f"energycomm-{number}"
    body = {
        "id": key,
        "event": event,
        "at": _instant(at),
        "message": {
            "id": message_id,
            "market": market,
            "type": market_type,
            "kind": kind,
            "access_point": point,
            "effective": _instant(effective) if effective else None,
            "envelope": envelope,
            "kernel": xml,
        },
    }
    return Notification(number, key, attempts, message_id, state == "sending", msgspec.json.encode(body))


def _instant(micros: int) -> str:
    return datetime.fromtimestamp(micros / SECOND, UTC).isoformat().replace("+00:00", "Z")


def _settle(
    store: Store, notification: Notification, failure: Failure | None, most: int, longest: float
) -> Literal["sent", "put_off", "dead"]:
    now = now_micros()
    attempts = min(notification.attempts + 1, 32_000)
    with store.transaction() as tx:
        if failure is None:
            sql = "UPDATE outbox SET state = 'sent', attempts = ?, next_at = NULL, last_error = NULL WHERE id = ?"
            tx.driver.run(sql, (attempts, notification.id))
            return "sent"
        dead = failure.trouble == "item" or (failure.trouble == "perhaps" and attempts >= most)
        whole = min(longest, FIRST_PAUSE * 2 ** min(attempts - 1, 20))
        pause = max(whole * random.uniform(0.5, 1), failure.retry_after or 0)  # noqa: S311 - spreads the attempts
        pause = min(pause, longest)
        next_at = None if dead else now + int(pause * SECOND)
        sql = "UPDATE outbox SET state = ?, attempts = ?, next_at = ?, last_error = ? WHERE id = ?"
        perhaps_told = notification.perhaps_told or failure.trouble == "perhaps"
        state = "dead" if dead else "sending" if perhaps_told else "pending"
        tx.driver.run(sql, (state, attempts, next_at, mask(failure.reason)[:2000], notification.id))
    return "dead" if dead else "put_off"


def _give_back(store: Store, left: list[Notification]) -> None:
    """Make what was taken and not tried due again; it counts as told no more, unless it did before."""
    with store.transaction() as tx:
        sql = "UPDATE outbox SET state = ?, next_at = NULL WHERE id = ? AND state = 'sending'"
        tx.driver.many(sql, [("sending" if one.perhaps_told else "pending", one.id) for one in left])


def take_up(store: Store) -> int:
    """Make notifications due again that a dead sender had claimed; how many."""
    with store.transaction() as tx:
        return tx.driver.run("UPDATE outbox SET next_at = NULL WHERE state = 'sending'")


def hurry_up(store: Store) -> None:
    """Make notifications due that wait for another attempt."""
    with store.transaction() as tx:
        tx.driver.run("UPDATE outbox SET next_at = NULL WHERE state = 'pending' AND next_at IS NOT NULL")


def pull(store: Store, limit: int) -> list[Notification]:
    """Return due notifications to a back office that fetches them; unacknowledged ones are returned again.

    Args:
      store: the EIS.
      limit: notifications at most.
    """
    return _take(store, now_micros(), limit, LONGEST_PAUSE)


def acknowledge(store: Store, ids: Sequence[int]) -> list[int]:
    """The back office has these notifications; those of the ids that were not acknowledged before."""
    sql = (
        "UPDATE outbox SET state = 'sent', attempts = attempts + 1, next_at = NULL, last_error = NULL "
        "WHERE id = ? AND state IN ('pending', 'sending', 'dead')"
    )
    with store.transaction() as tx:
        return [number for number in dict.fromkeys(ids) if tx.driver.run(sql, (number,))]


class NotificationSummary(Struct, frozen=True, kw_only=True):
    """One notification as it stands.

    Attributes:
      id: its number, which is acknowledged.
      message_id: the Kernel message it is about.
      event: what happened.
      at: when.
      state: pending, sending (given to somebody), sent (acknowledged), dead.
      attempts: how often it was sent or acknowledged.
      next_at: when it is given or sent again.
      last_error: why it did not arrive.
    """

    id: int
    message_id: int
    event: str
    at: datetime
    state: str
    attempts: int
    next_at: datetime | None
    last_error: str | None


def list_outbox(
    store: Store, state: str | None = None, limit: int = 50, before: int | None = None
) -> list[NotificationSummary]:
    """Notifications, the newest first; those of one state only when it is named, of smaller ids than `before`."""
    t = tables.outbox
    query = select(t).order_by(t.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(t.c.state == state)
    if before is not None:
        query = query.where(t.c.id < before)
    with reading(store.engine) as connection:
        return [filled(NotificationSummary, row) for row in connection.execute(query).mappings()]


def retry(store: Store, ids: list[int] | None = None) -> int:
    """Make dead notifications due again, with their old keys; all of them when none is named. How many."""
    with store.transaction() as tx:
        sql = "UPDATE outbox SET state = 'pending', attempts = 0, next_at = NULL WHERE state = 'dead'"
        if ids is None:
            return tx.driver.run(sql)
        return sum(tx.driver.run(f"{sql} AND id = ?", (number,)) for number in ids)
