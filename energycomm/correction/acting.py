"""Applies a script's actions to the store: versions, created messages, marks; the access point is judged again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from energycomm.correction.script import Action, Create, Replay, SetAside, Storing
from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import APPLIED, SETTLED, STUCK
from energycomm.eis.store import Store, StoreTransaction
from energycomm.errors import HistoryArchived
from energycomm.kernel.check import KernelChecker
from energycomm.kernel.instants import now_micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.batch import BatchWriter
from energycomm.pipeline.rejudging import AFTER_CORRECTION
from energycomm.pipeline.replay import correct, make, mark, replay, replay_alone
from energycomm.pipeline.rows import change_row

ACTIONS = {"Modify": "modify", "Reorder": "reorder", "Create": "create", "Replay": "replay", "SetAside": "set-aside"}
"""Class of an action -> its word in the store."""

Place: TypeAlias = tuple[str, str | None]
"""Market and access point; None where a message concerns none."""


_own = threading.local()


class NotDone(Exception):
    """An action that cannot be done, with the reason."""


class Outcome(Struct, frozen=True):
    """What an act did to an access point.

    Attributes:
      freed: messages that were stuck and are accepted, or set aside, now.
      lost: messages that were accepted and are no more.
    """

    freed: tuple[int, ...]
    lost: tuple[int, ...]

    @property
    def better(self) -> bool:
        """Whether it frees something and takes nothing away."""
        return bool(self.freed) and not self.lost


def act(tx: StoreTransaction, message_id: int, action: Action, by: str, why: str) -> int | None:
    """Apply an action of a script; the access point is not judged again yet.

    Args:
      tx: the transaction.
      message_id: the stuck message.
      action: what to do.
      by: who asks.
      why: words for the record.

    Returns:
      The id of the new version or the made message; None where none is stored.

    Raises:
      NotDone: the message is no longer stuck, was corrected meanwhile, or the new content is no Kernel message.
    """
    rows = tx.driver.rows("SELECT state FROM kernel_message WHERE id = ?", (message_id,))
    if not rows or rows[0][0] not in STUCK or tx.superseded([message_id]):
        raise NotDone("it is no longer stuck")
    if isinstance(action, Replay):
        try:
            marked = mark(tx, [message_id], by, why)
        except HistoryArchived as error:
            raise NotDone(str(error)) from None
        if not marked:
            raise NotDone("it is being replayed already")
        return None
    if isinstance(action, SetAside):
        _set_aside(tx, message_id, str(rows[0][0]), by, why)
        return None
    check(action.message)
    try:
        if isinstance(action, Create):
            return make(tx, action.message, by, why)
        return correct(tx, message_id, action.message, by, why)
    except (LookupError, HistoryArchived) as error:
        raise NotDone(str(error)) from None


def _set_aside(tx: StoreTransaction, message_id: int, before: str, by: str, why: str) -> None:
    ((original,),) = tx.driver.rows("SELECT corrects FROM kernel_message WHERE id = ?", (message_id,))
    if original is not None:
        raise NotDone("it is a corrected version: undo its campaign instead")
    tx.set_states([(message_id, "withdrawn", None, None)])
    tx.retire_findings([message_id])
    tx.insert(tables.state_change, [change_row(message_id, before, "withdrawn", now_micros(), why, by)])


def take_up(tx: StoreTransaction, message_id: int, by: str, why: str) -> int:
    """Restore a message that was set aside; it is marked to be judged again.

    Returns:
      The instant (microseconds) from which the access point is to be judged again.

    Raises:
      NotDone: it is not set aside.
    """
    rows = tx.driver.rows("SELECT state, effective FROM kernel_message WHERE id = ?", (message_id,))
    if not rows or rows[0][0] != "withdrawn":
        raise NotDone("it is not set aside")
    tx.set_states([(message_id, "to_replay", None, None)])
    tx.insert(tables.state_change, [change_row(message_id, "withdrawn", "to_replay", now_micros(), why, by)])
    return int(rows[0][1])


def check(message: KernelMessage) -> str:
    """The Kernel XML of a message.

    Raises:
      NotDone: it is none that kernel.xsd allows.
    """
    (written,) = _checker().write([message])
    if isinstance(written, Refusal):
        raise NotDone(str(written))
    return written


def _checker() -> KernelChecker:
    """This thread's checker: it costs more to make than to ask."""
    found: KernelChecker | None = getattr(_own, "checker", None)
    if found is None:
        found = _own.checker = KernelChecker()
    return found


def withdraw(tx: StoreTransaction, message_id: int, by: str, why: str) -> int:
    """Withdraw a version or a created message; the message that it corrected counts again and is marked to be judged.

    Returns:
      The instant (microseconds) from which the access point is to be judged again.

    Raises:
      NotDone: it is no version of ours, was corrected further, or was withdrawn before.
    """
    now = now_micros()
    sql = "SELECT state, corrects, effective, injected_by FROM kernel_message WHERE id = ?"
    rows = tx.driver.rows(sql, (message_id,))
    if not rows or rows[0][3] is None:
        raise NotDone("it is no message of ours")
    state, original, since, _ = rows[0]
    if state == "withdrawn":
        raise NotDone("it was withdrawn before")
    if tx.superseded([message_id]):
        raise NotDone("it was corrected further: undo that first")
    changes = [change_row(message_id, state, "withdrawn", now, why, by)]
    tx.set_states([(message_id, "withdrawn", None, None)])
    tx.retire_findings([message_id])
    tx.withdraw_notifications([message_id], now)
    if original is not None:
        ((before, at),) = tx.driver.rows("SELECT state, effective FROM kernel_message WHERE id = ?", (original,))
        tx.set_states([(original, "to_replay", None, None)])
        changes.append(change_row(original, before, "to_replay", now, why, by))
        since = min(since, at)
    tx.insert(tables.state_change, changes)
    return int(since)


def judge_again(
    store: Store,
    writer: BatchWriter,
    market: str,
    identifier: str | None,
    since: int | None = None,
    words: str = AFTER_CORRECTION,
) -> None:
    """Judge the marked messages of an access point, or all marked messages without one.

    Args:
      store: the EIS.
      writer: the rules.
      market, identifier: the access point.
      since: instant (microseconds) to judge again from at the latest, whether messages are marked or not.
      words: why, for the record.
    """
    if identifier is None:
        replay_alone(store, writer)
    else:
        replay(store, writer, market, [identifier], since, words)


def place_of(action: Action) -> Place | None:
    """Where the message lies that an action stores; None when it stores none."""
    return (action.message.market, action.message.access_point) if isinstance(action, Storing) else None


def sorted_places(places: Iterable[Place]) -> list[Place]:
    """Places, each once, in the order in which all processes take them."""
    return sorted(set(places), key=lambda place: (place[0], place[1] or ""))


def states_at(store: Store, places: Iterable[Place], ids: Sequence[int]) -> dict[int, str]:
    """States of all messages of access points; of the messages themselves where one concerns none."""
    found: dict[int, str] = {}
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        for market, identifier in places:
            if identifier is None:
                found.update(driver.matching("SELECT id, state FROM kernel_message WHERE true", ids, "id"))
                continue
            sql = (
                "SELECT k.id, k.state FROM kernel_message k JOIN access_point p ON p.id = k.access_point_id "
                "WHERE p.identifier = ? AND p.market = ?"
            )
            found.update(driver.rows(sql, (identifier, market)))
    return found


def compared(before: dict[int, str], after: dict[int, str]) -> Outcome:
    """What changed between two looks at an access point; messages that were not there before do not count."""
    return Outcome(
        tuple(n for n, state in before.items() if state in STUCK and after.get(n) in SETTLED),
        tuple(n for n, state in before.items() if state in APPLIED and after.get(n) not in APPLIED),
    )
