"""Replay: messages that were refused go through the Kernel again, in business order per access point.

A message is sent back as it is (its rule was mended, its predecessor was made), or as a corrected version: a new
message that names the one it corrects. The original is never overwritten; once its corrected version is accepted it
counts as treated, and the fold of its access point goes on without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field

from energycomm.eis import tables
from energycomm.eis.away import floor_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import Conflict, is_lost, reading
from energycomm.eis.invoices import store_invoices
from energycomm.eis.particulars import store_particulars
from energycomm.eis.store import AccessPointRow, Store, StoreTransaction
from energycomm.kernel.codec import decode, encode
from energycomm.kernel.instants import micros, now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.logs import Log
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.correlation import correlate
from energycomm.pipeline.fold import Fold, fault_words
from energycomm.pipeline.history import history_archived
from energycomm.pipeline.periods import project_periods
from energycomm.pipeline.reassessment import Late, Reassessment
from energycomm.pipeline.rejudging import AFTER_CORRECTION, Change, Rejudging
from energycomm.pipeline.rows import change_row, message_row
from energycomm.pipeline.state import dump_state

log = Log()

REPLAYABLE = frozenset(("rejected", "engine_error", "quarantined", "delegated", "ticketed"))
"""States from which a message may be sent back to the Kernel."""


class Replayed(Struct):
    """The result of a replay.

    Attributes:
      treated: messages that were accepted now.
      rejected: messages that were refused again.
      other: messages that wait, or whose rule broke.
      changes: every verdict that changed, of other messages of the access points too.
    """

    treated: int = 0
    rejected: int = 0
    other: int = 0
    changes: list[Change] = field(default_factory=list)


def mark(tx: StoreTransaction, message_ids: Sequence[int], by: str, why: str) -> list[int]:
    """Send messages back: those that can be get the state to_replay.

    Returns:
      The ids that were marked. The others are in a state that is not replayed, or were marked before: a second click
      does nothing; or the history before them is not whole.

    Raises:
      HistoryArchived: all that could be marked take effect where the history is not whole.
    """
    now = now_micros()
    sql = "SELECT id, state, waits_for FROM kernel_message WHERE true"
    chosen = [row for row in tx.driver.matching(sql, message_ids, "id") if row[1] in REPLAYABLE]
    superseded = tx.superseded([row[0] for row in chosen])
    chosen = [row for row in chosen if row[0] not in superseded]
    archived = _before_floors(tx, [row[0] for row in chosen])
    if archived and len(archived) == len(chosen):
        raise history_archived(tx, *next(iter(archived.values())))
    chosen = [row for row in chosen if row[0] not in archived]
    tx.set_states([(row[0], "to_replay", row[2], None) for row in chosen])
    tx.insert(tables.state_change, [change_row(row[0], row[1], "to_replay", now, why, by) for row in chosen])
    return [row[0] for row in chosen]


def _before_floors(tx: StoreTransaction, message_ids: Sequence[int]) -> dict[int, tuple[int, int, int]]:
    """Those of the messages that take effect where the history is not whole: id -> access point, instant, floor."""
    sql = (
        "SELECT k.id, k.access_point_id, k.effective, p.upto FROM kernel_message k "
        "JOIN archived_point p ON p.access_point_id = k.access_point_id WHERE k.effective < p.upto"
    )
    return {number: (point, at, floor) for number, point, at, floor in tx.driver.matching(sql, message_ids, "k.id")}


def correct(tx: StoreTransaction, original_id: int, message: KernelMessage, by: str, why: str) -> int:
    """Store a corrected version of a message, to be replayed.

    Args:
      tx: the transaction.
      original_id: the message that is corrected; a version of it that was corrected before is superseded with it.
      message: the corrected message.
      by: who corrects.
      why: words for the record.

    Returns:
      The id of the new version.

    Raises:
      LookupError: there is no such message, or a corrected version of it is there already.
    """
    sql = "SELECT ch_message_id, position, version, state FROM kernel_message WHERE id = ?"
    rows = tx.driver.rows(sql, (original_id,))
    if not rows:
        raise LookupError(f"no Kernel message {original_id}")
    if tx.superseded([original_id]):
        raise LookupError(f"message {original_id} has a corrected version already")
    ch_message_id, position, version, _ = rows[0]
    more = {"ch_message_id": ch_message_id, "position": position, "version": version + 1, "corrects": original_id}
    return make(tx, message, by, why, **more)


def make(tx: StoreTransaction, message: KernelMessage, by: str, why: str, **more: Any) -> int:
    """Store a message that the market did not send, to be judged; it is attributed to whoever made it.

    Args:
      tx: the transaction.
      message: the message.
      by: who made it.
      why: words for the record.
      more: further columns.

    Returns:
      Its id.

    Raises:
      HistoryArchived: the history before it is not whole.
    """
    now = now_micros()
    point_id = None
    if message.access_point is not None:
        point_id = tx.access_points(message.market, [message.access_point])[message.access_point].id
        floor, at = floor_of(tx.driver, point_id), micros(message.effective)
        if floor is not None and at < floor:
            raise history_archived(tx, point_id, at, floor)
    (number,) = tx.reserve(tables.kernel_message, 1)
    row = message_row(message, number, micros(message.effective), encode(message), "to_replay", now)
    tx.insert(tables.kernel_message, [{**row, "access_point_id": point_id, "injected_by": by[:120], **more}])
    store_particulars(tx, [(number, message)])
    store_invoices(tx, [(number, message)])
    tx.insert(tables.state_change, [change_row(number, "received", "to_replay", now, why, by)])
    return number


def replay(
    store: Store,
    writer: BatchWriter,
    market: str,
    access_points: Sequence[str],
    since: int | None = None,
    words: str = AFTER_CORRECTION,
) -> Replayed:
    """Judge the messages of access points that are marked, each access point in a transaction of its own.

    Args:
      store: the EIS.
      writer: the rules and their version.
      market: market of the access points.
      access_points: their identifiers.
      since: instant (microseconds) to judge again from at the latest, whether messages are marked or not: after
        something was withdrawn.
      words: why, for the record.
    """
    outcome = Replayed()
    for identifier in access_points:
        try:
            again = _replay_point(store, writer, market, identifier, since, {}, words)
        except Exception as error:
            if isinstance(error, Conflict) or is_lost(error):
                raise
            log.error("replay.broke", access_point=identifier, exc_info=error)
            again = _replay_around(store, writer, market, identifier, since, error, words)
        if again is None:
            continue
        outcome.changes.extend(again.changes)
        _count(outcome, again.changes)
    return outcome


def _replay_around(
    store: Store, writer: BatchWriter, market: str, identifier: str, since: int | None, error: Exception, words: str
) -> Reassessment | None:
    """Judge an access point that the program breaks on: without the message that is the cause, which gets the state
    `engine_error`; without all that are marked where none alone is.

    Raises:
      Exception: it breaks all the same; nothing of the access point was changed.
    """
    sql = (
        "SELECT k.id FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
        "WHERE p.market = ? AND p.identifier = ? AND k.state = 'to_replay' ORDER BY k.effective, k.id"
    )
    with reading(store.engine) as connection:
        marked = [row[0] for row in driver_of(connection).rows(sql, (market, identifier))]
    why = fault_words(error)
    # First once more as it is: what happens once is no fault of a message.
    for without in ([], *([number] for number in marked), marked):
        try:
            return _replay_point(store, writer, market, identifier, since, dict.fromkeys(without, why), words)
        except Exception as again:
            if isinstance(again, Conflict) or is_lost(again):
                raise
            error = again
    raise error


def _replay_point(
    store: Store,
    writer: BatchWriter,
    market: str,
    identifier: str,
    least: int | None,
    faults: Mapping[int, str],
    words: str,
) -> Reassessment | None:
    zone = writer.markets.zone(market)
    with store.transaction() as tx:
        point = tx.access_points(market, [identifier])[identifier]
        return _judge_point(tx, writer, point, zone, least, faults, words)


def _judge_point(
    tx: StoreTransaction,
    writer: BatchWriter,
    point: AccessPointRow,
    zone: ZoneInfo,
    least: int | None,
    faults: Mapping[int, str],
    words: str,
) -> Reassessment | None:
    # Wrapped, so that the index of the corrections is taken and not all that is marked is walked through.
    sql = (
        "SELECT min(least_of) FROM (SELECT effective AS least_of FROM kernel_message "
        "WHERE access_point_id = ? AND state = 'to_replay' UNION ALL "
        "SELECT o.effective FROM kernel_message k JOIN kernel_message o ON o.id = k.corrects "
        "WHERE o.access_point_id = ? AND k.corrects IS NOT NULL AND coalesce(k.state, '') = 'to_replay') AS starts"
    )
    ((since,),) = tx.driver.rows(sql, (point.id, point.id))
    since = min((at for at in (since, least) if at is not None), default=None)
    if since is None:
        return None
    now = now_micros()
    again = Reassessment(tx, writer, zone, now, words)
    (fold,) = again.run([Late(point, since)], faults)
    save_fold(tx, fold, now)
    _close_originals(tx, again.changes, now)
    correlate(tx, again.accepted, now)
    return again


def _count(outcome: Replayed, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.before == "to_replay":
            if change.after == "treated":
                outcome.treated += 1
            elif change.after == "rejected":
                outcome.rejected += 1
            else:
                outcome.other += 1


def save_fold(tx: StoreTransaction, fold: Fold, now: int) -> None:
    """Store what a walk through an access point came to: its state, its supply periods, the rows that are to be added.

    Args:
      tx: the transaction.
      fold: of `Reassessment.run`.
      now: the present, microseconds since the epoch.
    """
    project_periods(tx, [(fold.access_point_id, fold.state)], now)
    tx.save_access_points([(fold.access_point_id, fold.state.at, dump_state(fold.state), fold.since_checkpoint)])
    for table, rows in fold.rows.items():
        tx.insert(table, rows)


def _close_originals(tx: StoreTransaction, changes: Sequence[Change], now: int) -> None:
    """An original whose corrected version is accepted has been dealt with, and every version between them."""
    treated = [change.message_id for change in changes if change.after == "treated"]
    sql = "SELECT id, corrects FROM kernel_message WHERE corrects IS NOT NULL"
    pairs = tx.driver.matching(sql, treated, "id")
    for version, original in pairs:  # grows as the versions before are found
        pairs += tx.driver.matching(sql, [original], "id")
        ((before,),) = tx.driver.rows("SELECT state FROM kernel_message WHERE id = ?", (original,))
        if before == "treated":
            continue
        tx.set_states([(original, "treated", None, None)])
        tx.retire_findings([original])
        tx.withdraw_notifications([original], now)
        why = f"corrected by message {version}"
        tx.insert(tables.state_change, [change_row(original, before, "treated", now, why)])


def replay_alone(store: Store, writer: BatchWriter) -> Replayed:
    """Judge the marked messages that concern no access point."""
    outcome = Replayed()
    with store.transaction() as tx:
        now = now_micros()
        again = Rejudging(tx, writer, now, AFTER_CORRECTION)
        for row in tx.marked_alone():
            message = decode(row.xml)
            if isinstance(message, KernelMessage):
                again.alone(row, message)
            else:
                again.give_up(row, f"its Kernel XML cannot be read: {message}")
        _close_originals(tx, again.changes, now)
        correlate(tx, again.accepted, now)
    _count(outcome, again.changes)
    return outcome
