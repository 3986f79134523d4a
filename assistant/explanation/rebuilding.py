"""The history that a stored message was judged with, rebuilt from its access point's messages; nothing is written."""

from __future__ import annotations

from msgspec import Struct

from energycomm.eis.messages import MessageDetail
from energycomm.eis.store import NEVER, Store
from energycomm.errors import UserError
from energycomm.kernel.codec import decode
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import KernelMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.facts import history_of
from energycomm.pipeline.fold import Entry, Fold, Judge, business_key
from energycomm.pipeline.state import load_state


class Rebuilt(Struct, frozen=True, kw_only=True):
    """A message and what was known of its access point when its turn came.

    Attributes:
      earlier: how many messages of the access point come before it in business order.
    """

    message: KernelMessage
    history: History
    earlier: int


def rebuild(store: Store, engine: Judge, markets: Markets, detail: MessageDetail) -> Rebuilt:
    """Fold the access point up to a message.

    Args:
      store: the EIS.
      engine: the rules of today.
      markets: the installed ones.
      detail: the message.

    Raises:
      UserError: the stored message cannot be read by this version.
    """
    message = decode(detail.xml)
    if not isinstance(message, KernelMessage):
        raise UserError(f"The message {detail.summary.id} cannot be read: {message}.", "`energycomm message explain`")
    identifier = detail.summary.access_point
    if identifier is None or not is_incoming(detail.summary.kind):
        return Rebuilt(message=message, history=NO_HISTORY, earlier=0)
    with store.transaction() as tx:
        points = tx.access_points(detail.summary.market, [identifier])
        rows = tx.messages_from(points[identifier].id, NEVER) if identifier in points else []
        superseded = tx.superseded([row.id for row in rows])
    entries = []
    for row in rows:
        read = decode(row.xml)
        wanted = row.id == detail.summary.id or row.id not in superseded
        if wanted and is_incoming(row.kind) and isinstance(read, KernelMessage):
            key = business_key(read, row.effective, row.identity or b"", row.position)
            entries.append(Entry(key, read, row.effective, row.id, row.state))
    entries.sort(key=lambda entry: entry.key)
    zone = markets.zone(message.market)
    fold = Fold(engine, zone, load_state(None), 0, {})
    for number, entry in enumerate(entries):
        if entry.message_id == detail.summary.id:
            if entry.at > fold.state.at:
                fold.state.advance(entry.at)
            return Rebuilt(message=message, history=history_of(fold.state, message, entry.at, zone), earlier=number)
        fold.judge(entry)
    return Rebuilt(message=message, history=NO_HISTORY, earlier=0)
