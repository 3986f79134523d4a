"""Market message injection (MMI): Kernel messages given directly to the Kernel, without an adapter.

For access points whose information comes by e-mail or from the TSO. What was sent is an envelope of its own channel,
whose bytes are kept; each message is a CH message of its own and is judged like any other, with who injected it. All of
it is one transaction: a document with a mistake is refused whole, and nothing of it is stored. A message that the
program breaks on is put aside by itself.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Sequence

from msgspec import Struct

from energycomm.eis import archive
from energycomm.eis.archive import Archived
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.fitting import storable
from energycomm.eis.messages import MessageSummary, summaries
from energycomm.eis.store import Store, StoreTransaction
from energycomm.kernel.family import is_incoming
from energycomm.kernel.instants import now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import MemberHead, Transaction
from energycomm.pipeline.addressee import CODE as OTHER_SUPPLIER
from energycomm.pipeline.addressee import EXPECTED as OURS
from energycomm.pipeline.batch import BatchWriter, Origin, Prepared
from energycomm.pipeline.records import Book, MemberRecord, OpenEnvelope, finish, save_member
from energycomm.pipeline.submissions import Handed, too_many
from energycomm.pipeline.writer import Judging, is_fault
from energycomm.transport.codes import refuse

log = Log()

CHANNEL = "injection"
"""Channel of the envelopes that injections are."""

MEMBER = "messages"


class Injected(Struct, frozen=True, kw_only=True):
    """The outcome of one injected message.

    Attributes:
      position: its number in what was sent, from 1.
      duplicate: the same message had been injected before: `message` is that one.
      message: the stored message with its state and codes.
    """

    position: int
    duplicate: bool
    message: MessageSummary


class Injection(Struct, frozen=True, kw_only=True):
    """The outcome of an injection.

    Attributes:
      envelope_id: the envelope that keeps what was sent.
      duplicate_of: the envelope that brought the very same bytes before; nothing else happened then.
      messages: each message, in the order sent.
    """

    envelope_id: int
    duplicate_of: int | None
    messages: tuple[Injected, ...]


def unfit(
    handed: Sequence[Handed], markets: Collection[str], most: int, foreign: Collection[str] = ()
) -> list[tuple[int, Refusal]]:
    """Everything that prevents messages from being injected: (index, why).

    Args:
      handed: what was sent.
      markets: markets whose adapters are installed.
      most: how many messages one injection may hold.
      foreign: identifiers of other suppliers of the installation.
    """
    found = [(number, refusal) for number, one in enumerate(handed) for refusal in one.refusals]
    if not 1 <= len(handed) <= most:
        found.append((0, too_many(len(handed), most)))
    first = next((one.message.market for one in handed if one.message is not None), None)
    for number, one in enumerate(handed):
        if one.message is not None:
            found += [(number, refusal) for refusal in _misplaced(one.message, markets, first)]
            if one.message.receiver in foreign:
                found.append((number, refuse(OTHER_SUPPLIER, "receiver", one.message.receiver, OURS)))
    return found


def _misplaced(message: KernelMessage, markets: Collection[str], first: str | None) -> list[Refusal]:
    found = []
    kind = type(message).__name__
    if not is_incoming(kind):
        advice = "requests to the market are submitted, not injected"
        found.append(
            Refusal(code="INJECT_KIND", path="kind", value=kind, expected="a kind that the market sends", advice=advice)
        )
    if message.market not in markets or message.market != first:
        expected = ", ".join(sorted(markets)) if message.market not in markets else f"{first}, like the first message"
        found.append(
            Refusal(
                code="INJECT_MARKET",
                path="market",
                value=message.market,
                expected=expected,
                advice="inject the messages of each installed market apart",
            )
        )
    return found


def inject(store: Store, writer: BatchWriter, handed: Sequence[Handed], sent: bytes, name: str, by: str) -> Injection:
    """Hand messages to the Kernel.

    Args:
      store: the EIS.
      writer: the Kernel.
      handed: the messages; `unfit` found nothing.
      sent: the bytes they were sent as.
      name: name of the envelope, for people.
      by: who injects them.

    Raises:
      Conflict: somebody stays in the way; nothing is stored.
    """
    messages = [one.message for one in handed if one.message is not None]
    prepared = writer.prepare([_transaction(n, one, by) for n, one in enumerate(handed, 1)])
    market = messages[0].market
    try:
        archived, _ = store.retried(lambda tx: _stored(tx, writer.store_parts, prepared, sent, name, by, market))
    except Exception as error:
        if not is_fault(error):
            raise
        log.error("injection.broke", name=name, exc_info=error)
        archived, _ = store.retried(lambda tx: _stored(tx, writer.store_around, prepared, sent, name, by, market))
    log.info("injection.stored", envelope=archived.envelope_id, messages=len(messages), by=by)
    first = archived.duplicate_of
    return Injection(
        envelope_id=archived.envelope_id,
        duplicate_of=first,
        messages=_became(store, archived.envelope_id if first is None else first, again=first is not None),
    )


def _stored(
    tx: StoreTransaction, judge: Judging, prepared: Prepared, sent: bytes, name: str, by: str, market: str
) -> Archived:
    """Write the envelope, its member and its messages."""
    now = now_micros()
    archived = archive.archive(tx, name, io.BytesIO(sent), CHANNEL, now)
    if archived.duplicate_of is None:
        head = MemberHead(type="Kernel", sender=storable(by, 40))
        member = MemberRecord(MEMBER, archived.sha256, archived.size, head=head)
        envelope = OpenEnvelope(archived.envelope_id, name, archived.sha256)
        book = Book(tx, [envelope])
        member, _ = save_member(book, envelope.id, member, market, len(prepared.transactions), last=True)
        finish(book, envelope, "done", None)
        book.store()
        judge(tx, [(Origin(market, envelope.id, member.id, storable(by, 120), name), prepared)], now)
    return archived


def _transaction(position: int, one: Handed, by: str) -> Transaction:
    assert one.message is not None
    message = one.message
    # What was sent, not what was filled in: the same message sent twice is the same message.
    digest = hashlib.blake2b(b"injection\0" + message.market.encode() + b"\0" + one.sent, digest_size=16)
    return Transaction(
        position=position,
        type=message.market_type,
        version=None,
        reference=message.reference,
        access_point=message.access_point,
        sender=storable(by, 40),
        identity=digest.digest(),
        messages=(message,),
    )


_BECAME = (
    "SELECT c.position, k.id FROM ch_message c JOIN kernel_message k ON k.ch_message_id = c.id "
    "WHERE c.envelope_id = ? ORDER BY c.position, k.id"
)
_BEFORE = (
    "SELECT d.position, k.id FROM ch_duplicate d JOIN kernel_message k ON k.ch_message_id = d.first_id "
    "WHERE d.envelope_id = ? ORDER BY d.position, k.id"
)


def _became(store: Store, envelope_id: int, *, again: bool) -> tuple[Injected, ...]:
    """The messages of an injection as they stand now."""
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = [(row[0], row[1], again) for row in driver.rows(_BECAME, (envelope_id,))]
        rows += [(row[0], row[1], True) for row in driver.rows(_BEFORE, (envelope_id,))]
        rows.sort()
        found = {one.id: one for one in summaries(connection, list({row[1] for row in rows}))}
    return tuple(
        Injected(position=position, duplicate=duplicate, message=found[number]) for position, number, duplicate in rows
    )
