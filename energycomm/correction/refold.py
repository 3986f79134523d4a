"""An access point judged again from its beginning, for looking only: nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from energycomm.correction.cases import content_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.family import is_incoming
from energycomm.kernel.history import NO_HISTORY, History
from energycomm.kernel.messages import KernelMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.facts import history_of
from energycomm.pipeline.fold import Entry, Fold, Judge, business_key
from energycomm.pipeline.state import AccessPointState

_ENTRIES = (
    "SELECT k.id, c.identity, k.position, k.kind, k.effective, k.state, k.waits_for, k.xml, k.corrects "
    "FROM kernel_message k LEFT JOIN ch_message c ON c.id = k.ch_message_id "
    "WHERE k.access_point_id = ? AND k.state <> 'withdrawn'"
)

GIVEN_UP = frozenset(("rejected", "delegated", "ticketed"))


def entries_of(store: Store, access_point_id: int, but: int | None = None) -> list[Entry]:
    """The messages of an access point that count, in business order.

    Args:
      store: the EIS.
      access_point_id: its row.
      but: a message that is kept although a corrected version took its place; the version is left out instead.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = [row for row in driver.rows(_ENTRIES, (access_point_id,)) if is_incoming(row[3])]
    gone = {row[8] for row in rows if row[8] is not None and row[8] != but}
    if but is not None:
        gone |= {row[0] for row in rows if row[8] == but}
    entries = []
    for number, identity, position, _kind, at, state, waits_for, xml, _corrects in rows:
        if number in gone:
            continue
        message = content_of(driver.vault.text("kernel_message", number, xml))
        key = business_key(message, at, bytes(identity or b""), position)
        entries.append(Entry(key, message, at, number, state, state in GIVEN_UP and waits_for is not None))
    entries.sort(key=lambda entry: entry.key)
    return entries


def history_before(
    store: Store, engine: Judge, markets: Markets, message_id: int
) -> tuple[KernelMessage, History] | None:
    """A message and what was known when it is judged in its place; None when there is no such message.

    Args:
      store: the EIS.
      engine: rules, which say what the earlier messages did.
      markets: the installed ones.
      message_id: the message.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows("SELECT access_point_id, xml FROM kernel_message WHERE id = ?", (message_id,))
    if not rows:
        return None
    point, xml = rows[0]
    message = content_of(driver.vault.text("kernel_message", message_id, xml))
    if point is None or not is_incoming(type(message).__name__):
        return message, NO_HISTORY
    zone = markets.zone(message.market)
    fold = Fold(engine, zone, AccessPointState(), point, {})
    for entry in entries_of(store, point, message_id):
        if entry.message_id == message_id:
            if entry.at > fold.state.at:
                fold.state.advance(entry.at)
            return message, history_of(fold.state, message, entry.at, zone)
        fold.replay(entry)
    return message, NO_HISTORY


def judged_anew(store: Store, engine: Judge, zone: ZoneInfo, access_point_id: int) -> Iterator[Entry]:
    """The messages of an access point with the verdicts that other rules give them from the beginning on."""
    fold = Fold(engine, zone, AccessPointState(), access_point_id, {})
    for entry in entries_of(store, access_point_id):
        fold.judge(entry)
        yield entry
