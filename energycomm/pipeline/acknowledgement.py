"""Acknowledgements to the senders of members, for markets that expect them (CONTRL of EDIFACT).

The acknowledgement of a member that came by a channel of its market is built while the member is read and kept in the
transaction that ends it, once per content. The daemon sends it through the market's outgoing channel. What a person
takes in by hand is acknowledged by hand: it may be years old.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct
from sqlalchemy import select

from energycomm.config import Config
from energycomm.eis import tables
from energycomm.eis.archive import open_raw
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import confirm, reading
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.structures import filled
from energycomm.kernel.instants import instant, now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Acknowledging, OutgoingMessage
from energycomm.market.dispatch import dispatch
from energycomm.market.installed import installed_adapters
from energycomm.masking import mask
from energycomm.pipeline.delivery import LONGEST_PAUSE, SECOND, SLACK, Takes, about_channel, is_dead, next_attempt
from energycomm.pipeline.records import look
from energycomm.transport.channel import Outgoing, Sent, TechnicalError
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.members import Member

KIND = "Acknowledgement"
"""What the setting `sends` of a channel may call every acknowledgement."""


class Owed(NamedTuple):
    """An acknowledgement to send; satisfies `energycomm.transport.channel.Outgoing`."""

    sha256: bytes
    envelope_id: int
    type: str
    content: bytes
    reference: str
    content_type: str
    attempts: int


class Sender(Protocol):
    """A channel that sends to one market."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def market(self) -> str: ...  # noqa: D102
    def send(self, message: Outgoing) -> Sent | TechnicalError: ...  # noqa: D102


Answered = Callable[[StoreTransaction, bytes, str, str, None], object]
"""Takes in what the other side said at once: (transaction, bytes, name, channel, no request)."""


def acknowledgement(
    adapter: object, label: str, member: Member, envelope_id: int, position: int, now: datetime
) -> OutgoingMessage | Refusal | None:
    """What answers one member; None where its market or its type wants no answer.

    Args:
      adapter: of its market.
      label: of its type.
      member: the member.
      envelope_id: the envelope it came in.
      position: its number in the envelope, from 1.
      now: when the answer is written, aware.

    Raises:
      BrokenMember: it cannot be read to its end.
    """
    if not isinstance(adapter, Acknowledging):
        return None
    with member.open() as content:
        return adapter.acknowledge(label, content, f"EC{envelope_id}-{position}"[:14], now)


def acknowledgements(
    config: Config, store: Store, keys: KeyRing, envelope: tuple[int, str, bytes, str], now: datetime
) -> Iterator[OutgoingMessage | Refusal]:
    """What answers each member of an envelope; nothing for members that want no answer.

    Args:
      config: the configuration.
      store: the EIS.
      keys: they open encrypted envelopes.
      envelope: number, name, SHA-256 and channel.
      now: when the answer is written, aware.
    """
    number, name, sha256, channel = envelope
    adapters = installed_adapters(config.mapping_files)
    market = next((one.market for one in config.channels if one.name == channel), None)
    with open_raw(store.engine, sha256) as raw, open_envelope(raw, name, keys, config.limits) as opened:
        for position, member in enumerate(opened, 1):
            if isinstance(member, Refusal):
                yield member
                continue
            seen = look(member)
            route = seen if isinstance(seen, Refusal) else dispatch(adapters, seen.sniff, market)
            if not isinstance(seen, Refusal) and seen.cut is not None:
                route = seen.cut
            if isinstance(route, Refusal):
                yield route
                continue
            adapter, label = route
            answer = acknowledgement(adapter, label, member, number, position, now)
            if answer is not None:
                yield answer


def send_acknowledgements(
    store: Store,
    channel: Sender,
    answered: Answered,
    *,
    limit: int = 100,
    takes: Takes | None = None,
    watch: Callable[[Owed, Sent | TechnicalError], bool] | None = None,
) -> int:
    """Send the acknowledgements that are due, the oldest first; the same bytes until they are there.

    Args:
      store: the EIS.
      channel: where they go out.
      answered: takes in what the other side answers at once.
      limit: at most so many.
      takes: which of them go through this channel; all of them by default.
      watch: told of each attempt; answers False to stop.

    Returns:
      How many were sent.
    """
    sent = 0
    waiting = _due(store, channel.market, limit, takes)
    if waiting:
        confirm(store.engine)
    for owed in waiting:
        outcome = channel.send(owed)
        with store.transaction() as tx:
            _settle(tx, owed, channel.name, outcome)
            if isinstance(outcome, Sent) and outcome.answer is not None:
                stamp = instant(now_micros()).strftime("%Y%m%dT%H%M%SZ")
                answered(tx, outcome.answer, f"answer-{owed.reference}_{stamp}.xml", channel.name, None)
        sent += isinstance(outcome, Sent)
        if (watch is not None and not watch(owed, outcome)) or (
            isinstance(outcome, TechnicalError) and about_channel(outcome)
        ):
            break
    return sent


class KeptAcknowledgement(Struct, frozen=True, kw_only=True):
    """One acknowledgement in a list.

    Attributes:
      envelope_id: envelope in which what it acknowledges first came.
      market, type, reference: of the acknowledgement; the reference is ours.
      state: built, sent, dead.
      attempts: how often it was tried.
      sent_at: when it was sent.
      channel: that tried last.
      last_error: why the last attempt failed.
    """

    envelope_id: int
    market: str
    type: str
    reference: str
    state: str
    attempts: int
    sent_at: datetime | None
    channel: str | None
    last_error: str | None


def kept_acknowledgements(
    store: Store, *, envelope: int | None = None, state: str | None = None, limit: int = 10_000
) -> list[KeptAcknowledgement]:
    """The acknowledgements of an envelope, or in a state, the oldest first."""
    t = tables.acknowledgement
    query = select(*(t.c[name] for name in KeptAcknowledgement.__struct_fields__))
    query = query.order_by(t.c.created_at, t.c.reference).limit(limit)
    if envelope is not None:
        query = query.where(t.c.envelope_id == envelope)
    if state is not None:
        query = query.where(t.c.state == state)
    with reading(store.engine) as connection:
        return [filled(KeptAcknowledgement, row) for row in connection.execute(query).mappings()]


def retry(store: Store, envelopes: Sequence[int] | None = None) -> int:
    """Make dead acknowledgements due again, with the same bytes; of all envelopes when none is named. How many."""
    sql = "UPDATE acknowledgement SET state = 'built', attempts = 0, next_at = NULL WHERE state = 'dead'"
    with store.transaction() as tx:
        if envelopes is None:
            return tx.driver.run(sql)
        return sum(tx.driver.run(f"{sql} AND envelope_id = ?", (number,)) for number in dict.fromkeys(envelopes))


def _due(store: Store, market: str, limit: int, takes: Takes | None) -> list[Owed]:
    now = now_micros()
    # A time that lies further off than the longest pause was set by a clock that was put back since.
    where = "WHERE state = 'built' AND market = ? AND (next_at IS NULL OR next_at <= ? OR next_at > ?)"
    values: tuple[object, ...] = (market, now, now + (LONGEST_PAUSE + SLACK) * SECOND)
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        found = driver.rows(f"SELECT DISTINCT type FROM acknowledgement {where}", values)  # noqa: S608 - constant
        types = [row[0] for row in found if takes is None or takes(row[0], KIND)]
        if not types:
            return []
        where += f" AND type IN ({', '.join('?' * len(types))})"
        columns = "sha256, envelope_id, type, content, reference, content_type, attempts"
        sql = f"SELECT {columns} FROM acknowledgement {where} ORDER BY created_at LIMIT ?"  # noqa: S608 - parameters
        rows = driver.rows(sql, (*values, *types, limit))
    return [Owed(bytes(row[0]), row[1], row[2], bytes(row[3]), *row[4:]) for row in rows]


def _settle(tx: StoreTransaction, owed: Owed, channel: str, outcome: Sent | TechnicalError) -> None:
    now, attempts = now_micros(), owed.attempts + 1
    if isinstance(outcome, Sent):
        sql = "UPDATE acknowledgement SET state = 'sent', sent_at = ?, attempts = ?, channel = ?, last_error = NULL "
        tx.driver.run(f"{sql} WHERE sha256 = ?", (now, attempts, channel, owed.sha256))
        return
    dead = is_dead(outcome, attempts)
    next_at = None if dead else next_attempt(outcome, attempts, now)
    sql = (
        "UPDATE acknowledgement SET state = ?, next_at = ?, attempts = ?, channel = ?, last_error = ? WHERE sha256 = ?"
    )
    state = "dead" if dead else "built"
    tx.driver.run(sql, (state, next_at, attempts, channel, mask(str(outcome)), owed.sha256))
