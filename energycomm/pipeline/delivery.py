"""Delivery: requests that are built go out through a channel, the same bytes until they are there.

Where a market takes several requests in one message, those that are due go out together, under a reference of their
own. A technical error is tried again with growing pauses. A message that the other side refuses as it is, or that was
tried too often, is put aside as `dead` with its reason. While a channel itself is the trouble (nothing listens, the
login is refused) its messages wait, however long that takes. What a market answers is no error: it is taken in like any
envelope, in the transaction that records the sending.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import confirm, reading
from energycomm.eis.store import Store, StoreTransaction
from energycomm.errors import DamagedRow
from energycomm.kernel.instants import instant, now_micros
from energycomm.market.contract import Adapter, Batching, OutgoingMessage, Repeating
from energycomm.masking import mask
from energycomm.transport.channel import Outgoing, Sent, TechnicalError
from energycomm.transport.patience import ABOUT_ONE_ITEM

MAX_ATTEMPTS = 40
"""With pauses of up to an hour: a day and a half."""
PERHAPS_THE_MESSAGE = frozenset(("CHANNEL_ANSWER", "CHANNEL_BROKEN", "CHANNEL_SERVER", "CHANNEL_TIMEOUT"))
"""Codes that may be about the message or the channel: only these make a message dead when they go on."""
FAILURES_IN_A_ROW = 3
"""After so many the channel is left alone until the next time."""
FIRST_PAUSE = 30
LONGEST_PAUSE = 3600
SLACK = 300
"""Seconds by which the clocks of two hosts may differ."""
SECOND = 1_000_000


class Sender(Protocol):
    """A channel that sends."""

    @property
    def name(self) -> str: ...  # noqa: D102
    def send(self, message: Outgoing) -> Sent | TechnicalError: ...  # noqa: D102


class Parcel(NamedTuple):
    """One request to send; satisfies `energycomm.transport.channel.Outgoing`."""

    id: int
    type: str
    content: bytes
    reference: str
    content_type: str
    attempts: int
    failed: int = 0
    """Attempts that failed, those before a person took it up again too."""


Answered = Callable[[StoreTransaction, bytes, str, str, int], object]
"""Takes in an answer: (transaction, bytes, name, channel, request that it answers)."""


Takes = Callable[[str, str], bool]
"""Whether a message goes through a channel: (market's type, kind of Kernel message)."""


Again = Callable[["Parcel", str], bytes]
"""Writes a further attempt of a request to a market: (request, market)."""


def repetition(adapters: Mapping[str, Adapter]) -> Again:
    """How further attempts are written: the same bytes, but for markets that want another message id each time."""

    def again(parcel: Parcel, market: str) -> bytes:
        adapter: object = adapters.get(market)
        if not isinstance(adapter, Repeating):
            return parcel.content
        return adapter.repeated(_message(parcel), parcel.failed + 1)

    return again


class Bundles:
    """Which requests go out together, and as what: as the markets' adapters say."""

    def __init__(self, adapters: Mapping[str, Adapter]) -> None:
        self.adapters = adapters

    def groups(self, parcels: Sequence[Parcel], market: str) -> list[list[Parcel]]:
        """Requests in groups that go out as one message; those that failed before alone, and first."""
        adapter: object = self.adapters.get(market)
        if not isinstance(adapter, Batching):
            return [[one] for one in parcels]
        # What failed goes out alone: one request that the other side cannot take holds up no others.
        alone, first = [one for one in parcels if one.failed], [one for one in parcels if not one.failed]
        found = adapter.batches([*map(_message, first)])
        return [*([one] for one in alone), *([first[number] for number in group] for group in found)]

    def whole(self, store: Store, group: list[Parcel], market: str) -> Parcel:
        """What goes out for a group of two or more. Its reference is stored before it is sent."""
        adapter = self.adapters[market]
        assert isinstance(adapter, Batching)  # only such an adapter makes groups
        reference = str(uuid.uuid4())
        content = adapter.batch([*map(_message, group)], reference)
        with store.transaction() as tx:
            for one in group:
                tx.driver.run("UPDATE outgoing SET batch = ? WHERE id = ?", (reference, one.id))
        return group[0]._replace(content=content, reference=reference)


def _message(parcel: Parcel) -> OutgoingMessage:
    return OutgoingMessage(
        type=parcel.type, content=parcel.content, reference=parcel.reference, content_type=parcel.content_type
    )


def hurry(store: Store, market: str, takes: Takes | None = None) -> None:
    """Make the requests and acknowledgements of a market due that wait for another attempt.

    Args:
      store: the EIS.
      market: the market.
      takes: which requests; all of them by default.
    """
    where = "WHERE state = 'built' AND market = ? AND next_at IS NOT NULL"
    with store.transaction() as tx:
        tx.driver.run(f"UPDATE acknowledgement SET next_at = NULL {where}", (market,))  # noqa: S608 - constant
        found = tx.driver.rows(f"SELECT DISTINCT type, kind FROM outgoing {where}", (market,))  # noqa: S608 - constant
        for message_type, kind in found:
            if takes is None or takes(message_type, kind):
                sql = f"UPDATE outgoing SET next_at = NULL {where} AND type = ? AND kind = ?"  # noqa: S608 - constant
                tx.driver.run(sql, (market, message_type, kind))


def due(store: Store, market: str, now: int, limit: int = 100, takes: Takes | None = None) -> list[Parcel]:
    """Requests of a market that are due for sending, in the order of creation.

    Args:
      store: the EIS.
      market: the market.
      now: the time, in microseconds.
      limit: at most so many.
      takes: which of them are asked for; all of them by default.
    """
    # A time that lies further off than the longest pause was set by a clock that was put back since.
    where = "WHERE state = 'built' AND market = ? AND (next_at IS NULL OR next_at <= ? OR next_at > ?)"
    values: tuple[object, ...] = (market, now, now + (LONGEST_PAUSE + SLACK) * SECOND)
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        if takes is not None:
            # Messages of another channel that wait must not fill the limit.
            found = driver.rows(f"SELECT DISTINCT type, kind FROM outgoing {where}", values)  # noqa: S608 - constant
            ours = [(row[0], row[1]) for row in found if takes(row[0], row[1])]
            if not ours:
                return []
            where += f" AND ({' OR '.join(['(type = ? AND kind = ?)'] * len(ours))})"
            values += tuple(name for pair in ours for name in pair)
        tried = "e.outgoing_id = outgoing.id AND e.state IN ('put-off', 'dead')"
        failed = f"(SELECT count(*) FROM outgoing_event e WHERE {tried})"  # noqa: S608 - constant
        columns = f"id, type, content, reference, content_type, attempts, {failed}"
        sql = f"SELECT {columns} FROM outgoing {where} ORDER BY id LIMIT ?"  # noqa: S608 - values are parameters
        rows = driver.rows(sql, (*values, limit))
    parcels = []
    for number, kind, stored, *rest in rows:
        try:
            content = driver.vault.content("outgoing", (number,), bytes(stored))
        except DamagedRow as damaged:
            _put_aside(store, number, damaged)
        else:
            parcels.append(Parcel(number, kind, content, *rest))
    return parcels


def _put_aside(store: Store, request_id: int, damaged: DamagedRow) -> None:
    """A request whose bytes are not what was built is never sent; `revive` takes it up when its row was restored."""
    with store.transaction() as tx:
        sql = "UPDATE outgoing SET state = 'dead', next_at = NULL, last_error = ? WHERE id = ? AND state = 'built'"
        if tx.driver.run(sql, (str(damaged), request_id)):
            event = {"outgoing_id": request_id, "at": now_micros(), "state": "dead", "code": damaged.code}
            tx.insert(tables.outgoing_event, [{**event, "text": str(damaged)}])


def deliver(
    store: Store,
    channels: Mapping[str, Sender],
    answered: Answered,
    *,
    limit: int = 100,
    takes: Takes | None = None,
    watch: Callable[[Parcel, Sent | TechnicalError], bool] | None = None,
    again: Again | None = None,
    bundles: Bundles | None = None,
) -> dict[str, int]:
    """Send what is due.

    Args:
      store: the EIS.
      channels: market -> channel that sends there.
      answered: takes in an answer that came at once: (transaction, bytes, name, channel, request).
      limit: requests a market at most.
      takes: which requests go through these channels; all of them by default.
      watch: told of each attempt; answers False to stop.
      again: writes a further attempt; the same bytes by default.
      bundles: which of them go out as one message; each alone by default.

    Returns:
      How many requests were sent, put off, and put aside as dead.
    """
    counts = {"sent": 0, "put_off": 0, "dead": 0}
    for market, channel in channels.items():
        failures = 0
        parcels = due(store, market, now_micros(), limit, takes)
        if parcels:
            confirm(store.engine)
        for group in bundles.groups(parcels, market) if bundles is not None else [[one] for one in parcels]:
            parcel = group[0]
            if len(group) > 1 and bundles is not None:
                parcel = bundles.whole(store, group, market)
            elif parcel.failed and again is not None:
                parcel = parcel._replace(content=again(parcel, market))
            outcome = channel.send(parcel)
            counts[settle(store, parcel, channel.name, outcome, answered, group[1:])] += len(group)
            if watch is not None and not watch(parcel, outcome):
                break
            failures = failures + 1 if isinstance(outcome, TechnicalError) else 0
            if isinstance(outcome, TechnicalError) and (about_channel(outcome) or failures == FAILURES_IN_A_ROW):
                break
    return counts


def about_channel(error: TechnicalError) -> bool:
    """Whether an error concerns the channel as a whole, not one message."""
    return error.code not in ABOUT_ONE_ITEM and error.code not in PERHAPS_THE_MESSAGE


def is_dead(error: TechnicalError, attempts: int) -> bool:
    """Whether a message is given up after so many attempts, this one included."""
    return error.code in ABOUT_ONE_ITEM or (attempts >= MAX_ATTEMPTS and not about_channel(error))


def next_attempt(error: TechnicalError, attempts: int, now: int) -> int:
    """When a message is tried again after so many attempts; microseconds, like `now`."""
    whole = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempts - 1, 20))
    pause = error.retry_after or whole * random.uniform(0.5, 1)  # noqa: S311 - so that not all come back at once
    return now + int(min(pause, LONGEST_PAUSE) * SECOND)


def settle(
    store: Store,
    parcel: Parcel,
    channel: str,
    outcome: Sent | TechnicalError,
    answered: Answered | None = None,
    others: Sequence[Parcel] = (),
) -> str:
    """Record one attempt, and the answer that came with it; what it came to: sent, put_off or dead.

    Args:
      store: the EIS.
      parcel: what was sent.
      channel: its name.
      outcome: of the attempt.
      answered: takes in the answer.
      others: requests that went out in the same message.
    """
    now = now_micros()
    with store.transaction() as tx:
        came_to = [_settle(tx, one, channel, outcome, now, bool(others)) for one in (parcel, *others)]
        # A worker that was cut off may get through when another one has sent the same, and has the answer.
        known = bool(tx.driver.rows(_ANSWERED, (parcel.id, now)))
        if isinstance(outcome, Sent) and outcome.answer is not None and answered is not None and not known:
            stamp = instant(now).strftime("%Y%m%dT%H%M%SZ")  # such answers bear no time of their own
            answered(tx, outcome.answer, f"answer-{parcel.reference}_{stamp}.xml", channel, parcel.id)
    return came_to[0]


_ANSWERED = (
    "SELECT 1 FROM outgoing o WHERE o.id = ? AND o.sent_at <> ? "
    "AND EXISTS (SELECT 1 FROM envelope e WHERE e.answers = o.id)"
)
"""Whether another sending of a request brought its answer; where ours is the one, it was sent just now."""


def _settle(
    tx: StoreTransaction, parcel: Parcel, channel: str, outcome: Sent | TechnicalError, now: int, together: bool
) -> str:
    """Record what an attempt came to for one request; one that went out with others is not what is wrong for sure."""
    attempts = parcel.attempts + 1
    if isinstance(outcome, Sent):
        # Nobody answers an answer: it is done when it is sent, unless the market refuses it later.
        sql = (
            "UPDATE outgoing SET state = CASE WHEN state <> 'built' THEN state WHEN answers IS NULL THEN 'sent' "
            "ELSE 'done' END, settled_at = CASE WHEN answers IS NULL OR state <> 'built' THEN settled_at ELSE ? END, "
            "sent_at = ?, attempts = ?, channel = ?, receipt = ?, last_error = NULL "
            # A document of the answer may have come while it was being sent: it was sent all the same.
            "WHERE id = ? AND (state = 'built' OR sent_at IS NULL)"
        )
        tx.driver.run(sql, (now, now, attempts, channel, outcome.receipt[:400], parcel.id))
        event = {"outgoing_id": parcel.id, "at": now, "state": "sent", "text": outcome.receipt}
        tx.insert(tables.outgoing_event, [event])
        return "sent"
    dead = is_dead(outcome, attempts) and not together
    state = "dead" if dead else "built"
    next_at = None if dead else next_attempt(outcome, attempts, now)
    words = mask(str(outcome))
    # An answer may have come all the same, of an attempt that seemed to fail: it says more than the error.
    sql = (
        "UPDATE outgoing SET state = ?, attempts = ?, channel = ?, next_at = ?, last_error = ? "
        "WHERE id = ? AND state = 'built'"
    )
    tx.driver.run(sql, (state, attempts, channel, next_at, words, parcel.id))
    event = {"outgoing_id": parcel.id, "at": now, "state": "dead" if dead else "put-off", "text": words}
    tx.insert(tables.outgoing_event, [{**event, "code": outcome.code}])
    return "dead" if dead else "put_off"


def revive(store: Store, request_id: int) -> bool:
    """Send a dead request again, with the same bytes; False when it is not dead, or an answer in whose place another
    one was made since."""
    with store.transaction() as tx:
        sql = (
            "UPDATE outgoing SET state = 'built', attempts = 0, next_at = NULL WHERE id = ? AND state = 'dead' "
            "AND NOT EXISTS (SELECT 1 FROM outgoing o WHERE o.answers = outgoing.answers "
            "AND o.market = outgoing.market AND o.state NOT IN ('refused', 'dead') "
            "AND coalesce(o.access_point_id, 0) = coalesce(outgoing.access_point_id, 0))"
        )
        return tx.driver.run(sql, (request_id,)) == 1


def overdue(store: Store, now: int) -> list[tuple[int, str, int]]:
    """Requests that wait for an answer longer than the market may take: (id, reference, answer_by)."""
    sql = (
        "SELECT id, reference, answer_by FROM outgoing "
        "WHERE state IN ('sent', 'acknowledged', 'in-course') AND answer_by < ? ORDER BY answer_by"
    )
    with reading(store.engine) as connection:
        return [(row[0], row[1], row[2]) for row in driver_of(connection).rows(sql, (now,))]
