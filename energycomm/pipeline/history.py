"""The history of stored messages: the messages of an access point that count, and the facts before each.

Whatever looks at the past of a stored message asks here: judging again, trying other rules, explaining a verdict,
learning from verdicts. It only reads: nothing is locked, nothing is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec import Struct, structs

from energycomm.eis.away import archive_at, floor_of
from energycomm.eis.store import NEVER, MessageRow, Store, StoreReader
from energycomm.errors import HistoryArchived, UserError
from energycomm.kernel.codec import decode
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.instants import instant, micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Verdict
from energycomm.market.installed import Markets
from energycomm.pipeline.fold import APPLIED, Entry, Fold, Judge, business_key
from energycomm.pipeline.rejudging import REJECTED, WITHDRAWN
from energycomm.pipeline.state import load_state

EARLIER = 3
"""Accepted messages before a message that are told with it."""


class Past(Struct, frozen=True):
    """The messages of an access point that count, in business order.

    Attributes:
      entries: the messages.
      rows: as they are stored, by id; unreadable ones too.
      unreadable: id -> what is wrong with its Kernel XML.
    """

    entries: list[Entry]
    rows: dict[int, MessageRow]
    unreadable: dict[int, str]


def history_archived(reader: StoreReader, access_point_id: int, at: int, floor: int) -> HistoryArchived:
    """What to raise of a message that takes effect before the floor of its access point.

    Args:
      reader: the store.
      access_point_id: row of the access point.
      at, floor: instants, microseconds since the epoch.
    """
    rows = reader.driver.rows("SELECT market, identifier FROM access_point WHERE id = ?", (access_point_id,))
    market, identifier = rows[0]
    return HistoryArchived(
        f"The history of access point {identifier} ({market}) before {instant(floor):%Y-%m-%dT%H:%M:%SZ} is not whole: "
        f"nothing of {instant(at):%Y-%m-%dT%H:%M:%SZ} can be judged.",
        archive_at(reader.driver, access_point_id),
    )


def start_of(reader: StoreReader, access_point_id: int) -> tuple[int, bytes] | None:
    """The floor of an access point and its stored state there; None where its history is whole."""
    floor = floor_of(reader.driver, access_point_id)
    return None if floor is None else reader.checkpoint_before(access_point_id, floor)


class Known(Struct, frozen=True):
    """A stored message, and the facts of its access point before it.

    Attributes:
      id: of the message.
      message: its content.
      history: the facts that rules read.
      earlier: the latest accepted messages before it, the last one last.
      accepted: how many accepted messages came before it.
    """

    id: int
    message: KernelMessage
    history: History
    earlier: tuple[KernelMessage, ...] = ()
    accepted: int = 0


def past_of(reader: StoreReader, access_point_id: int, since: int = NEVER, keeping: int | None = None) -> Past:
    """The messages of an access point that count: incoming, not withdrawn, of a corrected one the newest version.

    Args:
      reader: the store.
      access_point_id: its row.
      since: only those effective at or after this instant, microseconds since the epoch.
      keeping: a message that is there in any case; its versions and what it corrects are not, then.
    """
    return past_in(counting(reader, reader.messages_from(access_point_id, since), keeping))


def past_in(rows: Sequence[MessageRow]) -> Past:
    """The past of an access point in its messages that count."""
    counted = {row.id: row for row in rows}
    entries, unreadable = [], {}
    for row in rows:
        message = decode(row.xml)
        if isinstance(message, KernelMessage):
            key = business_key(message, row.effective, row.identity or b"", row.position)
            entries.append(Entry(key, message, row.effective, row.id, row.state, was_given_up(row)))
        else:
            unreadable[row.id] = f"its Kernel XML cannot be read: {message}"
    entries.sort(key=lambda entry: entry.key)
    return Past(entries, counted, unreadable)


def counting(reader: StoreReader, rows: Sequence[MessageRow], keeping: int | None = None) -> list[MessageRow]:
    """Those of stored messages that count: incoming, not withdrawn, of a corrected one the newest version.

    Args:
      reader: the store.
      rows: the messages.
      keeping: a message that counts in any case; its versions and what it corrects do not, then.
    """
    incoming = [row for row in rows if is_incoming(row.kind)]
    gone = reader.superseded([row.id for row in incoming]) | {row.id for row in incoming if row.state == WITHDRAWN}
    if keeping is not None:
        gone = (gone | reader.versions(keeping)) - {keeping}
    return [row for row in incoming if row.id not in gone]


def was_given_up(row: MessageRow) -> bool:
    """Whether a stored message waited too long and was rejected for that."""
    return row.state in REJECTED and row.waits_for is not None


def histories(
    store: Store, engine: Judge, zone: ZoneInfo, access_point_id: int, ids: Collection[int]
) -> Iterator[Known]:
    """The histories before messages of one access point; stored verdicts are not changed.

    Args:
      store: the EIS.
      engine: rules, which say what the accepted messages did.
      zone: the legal time of the market.
      access_point_id: row of the access point.
      ids: of the messages; those that do not count are told as if they did, without what took their place; those before
        the floor of the access point are left out.
    """
    with store.reading() as reader:
        floor, data = start_of(reader, access_point_id) or (NEVER, None)
        past = past_of(reader, access_point_id, floor)
        early = set() if floor == NEVER else {row.id for row in reader.messages(list(ids)) if row.effective < floor}
        others = sorted(set(ids) - set(past.rows) - early)
        apart = {number: past_of(reader, access_point_id, floor, keeping=number) for number in others}
    yield from _walk(Fold(engine, zone, load_state(data), access_point_id, {}, writes=False), past, ids)
    for number, other in apart.items():
        yield from _walk(Fold(engine, zone, load_state(data), access_point_id, {}, writes=False), other, {number})


def _walk(fold: Fold, past: Past, ids: Collection[int]) -> Iterator[Known]:
    left = len(set(ids) & set(past.rows))
    accepted: list[KernelMessage] = []
    fold.foresee(past.entries)
    for entry in past.entries:
        if not left:
            return
        if entry.message_id in ids:
            left -= 1
            history = fold.known(entry)
            yield Known(entry.message_id, entry.message, history, tuple(accepted[-EARLIER:]), len(accepted))
        fold.replay(entry)
        if entry.before in APPLIED:
            accepted.append(entry.message)


def history_before(store: Store, engine: Judge, markets: Markets, message_id: int) -> Known | None:
    """A message and the history before it; None when there is no such message.

    What we send, and what concerns no access point, has no history.

    Args:
      store: the EIS.
      engine: rules, which say what the accepted messages did.
      markets: the installed ones.
      message_id: the message.

    Raises:
      UserError: its market is not installed, or its Kernel XML is not of this version.
      HistoryArchived: the history before it is not whole.
    """
    with store.reading() as reader:
        rows = reader.messages([message_id])
        points = reader.driver.rows("SELECT access_point_id FROM kernel_message WHERE id = ?", (message_id,))
    if not rows:
        return None
    message = decode(rows[0].xml)
    if not isinstance(message, KernelMessage):
        raise UserError(f"The message {message_id} cannot be read: {message}.")
    ((point,),) = points
    if point is None or not is_incoming(rows[0].kind):
        return Known(message_id, message, NO_HISTORY)
    with store.reading() as reader:
        floor = floor_of(reader.driver, point)
        if floor is not None and rows[0].effective < floor:
            raise history_archived(reader, point, rows[0].effective, floor)
    return next(histories(store, engine, markets.zone(message.market), point, {message_id}))


def judged_at(
    store: Store, engine: Judge, zone: ZoneInfo, access_point_id: int, message_id: int, instants: Collection[datetime]
) -> dict[datetime, Verdict]:
    """The verdicts that a stored message would get at other instants; it does nothing there.

    Args:
      store: the EIS.
      engine: the rules.
      zone: the legal time of the market.
      access_point_id: row of its access point.
      message_id: the message.
      instants: when it might take effect.
    """
    with store.reading() as reader:
        floor, data = start_of(reader, access_point_id) or (NEVER, None)
        past = past_of(reader, access_point_id, floor, keeping=message_id)
    instants = [at for at in instants if micros(at) >= floor]
    own = [entry for entry in past.entries if entry.message_id == message_id]
    guesses: dict[datetime, Entry] = {}
    for at in instants if own else ():
        message = structs.replace(own[0].message, effective=at)
        guesses[at] = Entry((micros(at), *own[0].key[1:]), message, micros(at), message_id)
    fold = Fold(engine, zone, load_state(data), access_point_id, {}, writes=False)
    for entry in sorted((*past.entries, *guesses.values()), key=lambda entry: entry.key):
        if entry.message_id != message_id:
            fold.replay(entry)
        elif entry.before is None:
            entry.verdict = engine.judge(entry.message, fold.known(entry))
    return {at: entry.verdict for at, entry in guesses.items() if entry.verdict is not None}
