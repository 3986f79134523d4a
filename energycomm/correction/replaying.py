"""Messages sent through the Kernel again by hand: with the rules of today, those of then, or a version by its hash.

Only the messages that are sent back are judged by other rules than today's; what lies around them is judged, where it
has to be judged again, by those of today. A verdict that old rules gave holds until its access point is judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from msgspec import Struct

from energycomm.bulk.verdicts import Verdicts
from energycomm.correction.acting import Place, judge_again, sorted_places
from energycomm.correction.cases import content_of, stuck_ids
from energycomm.correction.impact import catalogue_named
from energycomm.eis.away import refuse_archived
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import MessageRow, Store
from energycomm.eis.tables import ALL_CHANGES
from energycomm.engine.catalogue import Catalogue
from energycomm.errors import UserError
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Action, Verdict
from energycomm.pipeline.batch import DAY, BatchWriter
from energycomm.pipeline.fold import Judge
from energycomm.pipeline.replay import mark

TODAY, THEN = "today", "then"
_MARKED = "SELECT id FROM kernel_message WHERE state = 'to_replay'"


class Version(Struct, frozen=True):
    """Rules of an earlier time: row of the EIS, hash, and the engine that judges by them."""

    id: int
    digest: str
    engine: Judge


class Replaying(Struct, frozen=True, kw_only=True):
    """The result of a replay.

    Attributes:
      marked: ids of the messages that were sent back, now or by a replay that was cut off; the others of those asked
        for cannot be.
      states: id -> state afterwards.
      rules: id -> hash of the rules that judged it; only where they are not today's.
      passed_over: id -> why it was not sent back.
    """

    marked: tuple[int, ...]
    states: dict[int, str]
    rules: dict[int, str]
    passed_over: dict[int, str] = {}

    @property
    def accepted(self) -> int:
        """How many are accepted now."""
        return sum(state in ("accepted", "treated") for state in self.states.values())


class ChosenRules:
    """Judges some messages by other rules than the rest; satisfies `energycomm.pipeline.fold.Judge`.

    Args:
      today: the engine of all others.
      today_id: row of the rules of today.
      chosen: message -> the rules that judge it.
    """

    def __init__(self, today: Judge, today_id: int, chosen: Mapping[KernelMessage, Version]) -> None:
        self._today, self._today_id, self._chosen = today, today_id, chosen

    @property
    def curve_tolerance(self) -> Decimal:
        """That of today."""
        return self._today.curve_tolerance

    def _of(self, message: KernelMessage) -> Judge:
        version = self._chosen.get(message)
        return self._today if version is None else version.engine

    def judge(self, message: KernelMessage, history: History) -> Verdict:
        """Validate, then qualify or reject, by the rules of the message."""
        return self._of(message).judge(message, history)

    def qualify(self, message: KernelMessage, history: History) -> tuple[Action, ...]:
        """What an accepted message asks for, by its rules."""
        return self._of(message).qualify(message, history)

    def rules_version_of(self, message: KernelMessage) -> int:
        """Row of the rules that judge a message."""
        version = self._chosen.get(message)
        return self._today_id if version is None else version.id


def replay_messages(
    store: Store,
    writer: BatchWriter,
    message_ids: Sequence[int] | None,
    *,
    by: str,
    why: str,
    rules: str = TODAY,
    engine_of: Callable[[Catalogue], Judge],
) -> Replaying:
    """Send messages back and judge them, in business order per access point.

    Args:
      store: the EIS.
      writer: the rules of today.
      message_ids: the messages; all that are marked already when None.
      by: who asks.
      why: words for the record.
      rules: `today`, `then` (the rules that judged a message first), or the first digits of a version's hash.
      engine_of: opens the engine of a catalogue.

    Raises:
      UserError: no such version, or the EIS does not know by which rules a message was judged.
    """
    ids = stuck_ids(store.engine, ("to_replay",)) if message_ids is None else list(dict.fromkeys(message_ids))
    _known(store, ids)
    versions = _versions(store, ids, rules, engine_of)
    passed_over: dict[int, str] = {}
    if message_ids is not None:
        words = why if rules == TODAY else f"{why} (rules of {rules})"
        with store.transaction() as tx:
            mark(tx, ids, by, words)
            # Those that an earlier replay marked and was cut off before it judged them, too.
            marked = {row[0] for row in tx.driver.matching(_MARKED, ids, "id")}
        passed_over = _reasons(store, [number for number in ids if number not in marked])
        ids = [number for number in ids if number in marked]
    if versions:
        chosen = {content_of(row.xml): versions[row.id] for row in _stored(store, ids) if row.id in versions}
        judge = ChosenRules(writer.engine, writer.rules_version_id, chosen)
        writer = BatchWriter(judge, writer.rules_version_id, writer.patience // DAY, writer.markets)
    for market, identifier in _places(store, ids):
        judge_again(store, writer, market, identifier)
    used = {number: versions[number].digest for number in ids if number in versions}
    return Replaying(marked=tuple(ids), states=_states(store, ids), rules=used, passed_over=passed_over)


def replay_changed(store: Store, writer: BatchWriter, found: Verdicts, *, by: str, why: str) -> Replaying:
    """Send back those messages whose verdicts bulk work found to come out otherwise; the others stay as they are.

    The live path judges them, with what is stored then. Doing it twice changes nothing more.

    Args:
      store: the EIS.
      writer: the rules of today.
      found: what came out otherwise, by the rules of today.
      by: who asks.
      why: words for the record.
    """
    sent: list[int] = []
    for (market, identifier), several in groupby(found.shifts(), key=lambda shift: (shift.market, shift.access_point)):
        ids = [shift.message_id for shift in several]
        with store.transaction() as tx:
            mark(tx, ids, by, why)
            sent += sorted(row[0] for row in tx.driver.matching(_MARKED, ids, "id"))
        judge_again(store, writer, market, identifier)
    return Replaying(marked=tuple(sent), states=_states(store, sent), rules={})


def _states(store: Store, ids: Sequence[int]) -> dict[int, str]:
    sql = "SELECT id, state FROM kernel_message WHERE true"
    with reading(store.engine) as connection:
        return dict(driver_of(connection).matching(sql, ids, "id", "ORDER BY id"))


def _known(store: Store, ids: Sequence[int]) -> None:
    """Refuse numbers that no message has.

    Raises:
      UserError: one has none.
    """
    known = _states(store, ids)
    for number in ids:
        if number not in known:
            refuse_archived(store.engine, number)
            raise UserError(f"There is no Kernel message {number}.", "`energycomm message list` lists them.")


def _reasons(store: Store, ids: Sequence[int]) -> dict[int, str]:
    """Why messages are not sent back: their state, or the version that took their place."""
    with reading(store.engine) as connection:
        sql = "SELECT corrects, id FROM kernel_message WHERE true"
        versions: dict[int, int] = dict(driver_of(connection).matching(sql, ids, "corrects"))
    states = _states(store, ids)
    found = {}
    for number in ids:
        if number in versions:
            why = f"message {versions[number]} corrects it: send that one back"
        else:
            why = f"it is {states[number]}: only what is refused or waits is sent back"
        found[number] = why
    return found


def _stored(store: Store, ids: Sequence[int]) -> list[MessageRow]:
    with store.reading() as reader:
        return reader.messages(ids)


def _places(store: Store, ids: Sequence[int]) -> list[Place]:
    """Where messages lie, each place once."""
    sql = (
        "SELECT k.market, p.identifier FROM kernel_message k LEFT JOIN access_point p ON p.id = k.access_point_id "
        "WHERE true"
    )
    with reading(store.engine) as connection:
        return sorted_places((row[0], row[1]) for row in driver_of(connection).matching(sql, ids, "k.id"))


def _versions(
    store: Store, ids: Sequence[int], rules: str, engine_of: Callable[[Catalogue], Judge]
) -> dict[int, Version]:
    """Message -> the rules it is to be judged by; those of today are left out."""
    if rules == TODAY:
        return {}
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows("SELECT id, hash FROM rules_version ORDER BY id")
        known = f"({ALL_CHANGES}) AS c WHERE rules_version_id IS NOT NULL"
        sql = f"SELECT message_id, id, rules_version_id FROM {known}"  # noqa: S608 - our own words
        judged = driver.matching(sql, ids, "message_id", "ORDER BY id DESC") if rules == THEN else []
    hashes: dict[int, str] = dict(rows)
    if rules == THEN:
        wanted = {message_id: version_id for message_id, _, version_id in judged}  # the first row comes last
        unknown = [number for number in ids if number not in wanted]
        if unknown:
            raise UserError(
                f"The EIS has no record of the rules that judged message {unknown[0]} was judged.",
                "Name a version by its hash: --rules HASH.",
            )
    else:
        found = [number for number, digest in rows if digest.startswith(rules)]
        if len(found) != 1:
            known = ", ".join(digest for _, digest in rows[-10:])
            words = "no version" if not found else "the beginning of several versions"
            raise UserError(f"{rules!r} is {words} of the rules.", f"Write today, then, or one of: {known}.")
        wanted = dict.fromkeys(ids, found[0])
    opened = {
        number: Version(number, hashes[number], engine_of(catalogue_named(store, hashes[number])))
        for number in sorted(set(wanted.values()))
    }
    return {message_id: opened[number] for message_id, number in wanted.items()}
