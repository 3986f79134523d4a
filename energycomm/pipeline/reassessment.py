"""What happens when a message arrives late: the later messages of its access point are judged again.

The fold starts from the latest stored state before the late message and walks to the present. Domain rows that come
out the same are left alone; others are withdrawn, with their image kept, or added. A message whose verdict changes
gets a new row of `state_change`, and the back office is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct
from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.bulk import column_names, quoted
from energycomm.eis.effects import drop_rows
from energycomm.eis.store import NEVER, AccessPointRow, MessageRow, StoreTransaction
from energycomm.kernel.codec import decode
from energycomm.kernel.family import is_incoming
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Verdict
from energycomm.pipeline.fold import APPLIED, Entry, Fold, Judge, around_broken, business_key
from energycomm.pipeline.rows import (
    error_codes,
    finding_row,
    insert_numbered,
    notification_rows,
    verdict_change,
    verdict_why,
)
from energycomm.pipeline.state import load_state

REJECTED = frozenset(("rejected", "delegated", "ticketed"))
"""States of a message that was refused and not yet freed."""

WITHDRAWN = "withdrawn"
"""State of a version, or of a message we made, that was taken back: the fold goes on without it."""

WITHDRAWN_EVENT = "acceptance-withdrawn"
"""What the back office is told when an accepted message is refused after all."""

_WHY = "judged again after a late message"


class Change(Struct, frozen=True):
    """A verdict that came out otherwise than before.

    Attributes:
      message_id: the message.
      received_at: when it arrived, microseconds since the epoch.
      market, market_type: of the message.
      before, after: its states.
      codes_before, codes_after: error codes, warnings apart.
    """

    message_id: int
    received_at: int
    market: str
    market_type: str
    before: str
    after: str
    codes_before: list[str]
    codes_after: list[str]


class Reassessment:
    """Judges one access point again from a late message on.

    Args:
      tx: the transaction of the batch.
      engine: the rules of today.
      point: the access point as it is stored.
      now: the present, microseconds since the epoch.
      rules_version_id: version of the rules.
      patience: how long a quarantined message waits, microseconds.
    """

    def __init__(
        self,
        tx: StoreTransaction,
        engine: Judge,
        point: AccessPointRow,
        now: int,
        rules_version_id: int | None,
        patience: int,
    ) -> None:
        self.tx, self.engine, self.point = tx, engine, point
        self.now, self.rules_version_id, self.patience = now, rules_version_id, patience
        self.changes: list[Change] = []
        self.stored: dict[int, MessageRow] = {}
        self._unreadable: dict[int, str] = {}

    def run(self, late: list[Entry], since: int | None = None, faults: Mapping[int, str] | None = None) -> Fold:
        """Fold the access point with the late messages in their places.

        A message that breaks the walk gets the state `engine_error` and does nothing; the others are judged without it.

        Args:
          late: messages that are not in the EIS yet; may be empty to judge again what is there.
          since: instant to judge again from; that of the first late message when None.
          faults: messages that are not to be judged, with what breaks on them.

        Returns:
          The fold: its state is the access point's new state, its rows are the domain rows to add.
        """
        start = min(entry.at for entry in late) if since is None else since
        fold, judged, start = around_broken(partial(self._walk, late, start), faults)
        self.tx.drop_checkpoints_after(self.point.id, start)
        self.tx.save_checkpoints([(self.point.id, upto, state) for upto, state in fold.checkpoints if upto > start])
        self._match_periods(fold)
        fold.rows = self._difference(fold, start)
        self._record([entry for entry in judged if entry.before is not None])
        self._give_up_unreadable()
        return fold

    def _give_up_unreadable(self) -> None:
        """Stored messages that cannot be read get the state `engine_error`: they must not hold up their neighbours."""
        lost = {i: why for i, why in self._unreadable.items() if self.stored[i].state != "engine_error"}
        self.tx.set_states([(i, "engine_error", None, None) for i in lost])
        rows = [
            verdict_change(change, i, self.stored[i].state, "engine_error", self.now, self.rules_version_id, why[:400])
            for change, (i, why) in zip(self.tx.reserve(tables.state_change, len(lost)), lost.items(), strict=True)
        ]
        self.tx.insert(tables.state_change, rows)

    def _walk(self, late: list[Entry], start: int, faults: dict[int, str]) -> tuple[Fold, list[Entry], int]:
        """The fold, the messages that were judged, and the instant of the first of them at the latest."""
        checkpoint = self.tx.checkpoint_before(self.point.id, start)
        upto, data = checkpoint if checkpoint is not None else (NEVER, None)
        entries = self._stored_entries(upto) + late
        entries.sort(key=lambda entry: entry.key)
        # What broke loses its verdict, so that everything after it is judged anew.
        start = min([start, *(entry.at for entry in entries if entry.message_id in faults)])
        fold = Fold(self.engine, load_state(data), self.point.id, {}, faults=faults)
        judged: list[Entry] = []
        for entry in entries:
            if entry.at < start:
                fold.replay(entry)
                continue
            if not judged:
                fold.rows = {}
            fold.judge(entry)
            judged.append(entry)
        if not judged:
            fold.rows = {}
        return fold, judged, start

    def _stored_entries(self, upto: int) -> list[Entry]:
        """The stored messages that count: incoming ones, and of a corrected one its newest version."""
        rows = [row for row in self.tx.messages_from(self.point.id, upto) if is_incoming(row.kind)]
        superseded = self.tx.superseded([row.id for row in rows])
        entries = []
        for row in rows:
            if row.id in superseded or row.state == WITHDRAWN:
                continue
            self.stored[row.id] = row
            message = decode(row.xml)
            if not isinstance(message, KernelMessage):
                self._unreadable[row.id] = f"its Kernel XML cannot be read: {message}"
                continue
            entries.append(
                Entry(
                    business_key(message, row.effective, row.identity or b"", row.position),
                    message,
                    row.effective,
                    row.id,
                    row.state,
                    row.state in REJECTED and row.waits_for is not None,
                )
            )
        return entries

    def _match_periods(self, fold: Fold) -> None:
        """Give the periods of the state their rows; withdraw rows of periods that are no more."""
        table = tables.supply_period
        found = self.tx.driver.rows(
            "SELECT at, message_id, id, ended_at FROM supply_period WHERE access_point_id = ?", (self.point.id,)
        )
        rows = {(at, message_id): (number, ended_at) for at, message_id, number, ended_at in found}
        for period in fold.state.periods:
            period.row, period.written = rows.pop((period.start, period.message), (0, None))
        self.tx.drop_effects(table, [number for number, _ in rows.values()], _WHY, self.now)

    def _difference(self, fold: Fold, start: int) -> dict[Table, list[tuple[Any, ...]]]:
        """Withdraw stored domain rows that the fold no longer writes; return those that are not stored yet."""
        missing: dict[Table, list[tuple[Any, ...]]] = {}
        for table in tables.EFFECTS:
            if table is tables.supply_period:
                continue
            wanted = Counter(fold.rows.get(table, ()))
            names = quoted(column_names(table))
            # Names of our own table and columns, never values.
            sql = f"SELECT {names} FROM {table.name} WHERE access_point_id = ? AND at >= ?"  # noqa: S608 - our columns
            surplus = []
            for row in self.tx.driver.rows(sql, (self.point.id, start)):
                content = tuple(row)[1:]
                if wanted[content] > 0:
                    wanted[content] -= 1
                else:
                    surplus.append(row[0])
            self.tx.drop_effects(table, surplus, _WHY, self.now)
            rows = list(wanted.elements())
            if rows:
                missing[table] = rows
        return missing

    def _record(self, entries: list[Entry]) -> None:
        """Write new verdicts of messages that were judged before, where they differ."""
        known = self.tx.current_findings([entry.message_id for entry in entries])
        refused = [entry.message_id for entry in entries if self.stored[entry.message_id].state in REJECTED]
        codes = self.tx.current_codes(refused) if refused else {}
        for entry in entries:
            verdict, before = entry.verdict, entry.before
            assert verdict is not None
            assert before is not None
            if verdict.label == "quarantined" and entry.given_up:
                continue
            if _same(verdict, before, self.stored[entry.message_id].waits_for) and known.get(
                entry.message_id, []
            ) == _findings(verdict):
                if verdict.label == "accepted":
                    self._tell_otherwise(entry.message_id, verdict)
                continue
            after = state_after(verdict, before)
            self._change(entry, verdict, before, after)
            row = self.stored[entry.message_id]
            self.changes.append(
                Change(
                    row.id,
                    row.received_at,
                    entry.message.market,
                    entry.message.market_type,
                    before,
                    after,
                    codes.get(row.id, []),
                    error_codes(verdict),
                )
            )

    def _tell_otherwise(self, number: int, verdict: Verdict) -> None:
        """The verdict is what it was; what is to be told of it may not be (a change that is none beside its past)."""
        tx, now = self.tx, self.now
        wanted = {row[1]: row for row in notification_rows(verdict, number, now)}
        told = tx.driver.rows("SELECT id, event, state FROM outbox WHERE message_id = ? ORDER BY at, id", (number,))
        # What was told before the acceptance was taken back was told of another acceptance.
        withdrawn = [place for place, (_, event, _) in enumerate(told) if event == WITHDRAWN_EVENT]
        told = told[withdrawn[-1] + 1 :] if withdrawn else told
        surplus = [row_id for row_id, event, state in told if state == "pending" and event not in wanted]
        if surplus:
            drop_rows(tx, tables.outbox, "state = 'pending'", "id", surplus, _WHY, now)
        missing = [row for event, row in wanted.items() if event not in {event for _, event, _ in told}]
        insert_numbered(tx, tables.outbox, missing)

    def _change(self, entry: Entry, verdict: Verdict, before: str, after: str) -> None:
        tx, now, number = self.tx, self.now, entry.message_id
        waiting = verdict.label == "quarantined"
        received_at = self.stored[number].received_at
        tx.set_states(
            [
                (
                    number,
                    after,
                    verdict.waits_for if waiting else None,
                    received_at + self.patience if waiting else None,
                )
            ]
        )
        tx.retire_findings([number])
        change_id = tx.reserve(tables.state_change, 1)[0]
        why = verdict_why(verdict) or _WHY
        version = rules_version_of(self.engine, entry.message, self.rules_version_id)
        tx.insert(
            tables.state_change,
            [verdict_change(change_id, number, before, after, now, version, why)],
        )
        findings = [finding_row(found, number, change_id) for found in verdict.findings]
        notifications = notification_rows(verdict, number, now)
        # What the back office was not told yet it never need know; what it was told must be taken back.
        untold = tx.withdraw_notifications([number], now)
        if before in APPLIED and verdict.label != "accepted" and (not untold or self._was_told(number)):
            notifications.append((number, WITHDRAWN_EVENT, now, "pending", 0, None, None))
        for table, rows in ((tables.finding, findings), (tables.outbox, notifications)):
            tx.insert(table, [(n, *row) for n, row in zip(tx.reserve(table, len(rows)), rows, strict=True)])

    def _was_told(self, number: int) -> bool:
        """Whether the back office heard anything of a message since it was accepted last."""
        sql = (
            "SELECT count(*) FROM outbox WHERE message_id = ? AND state <> 'pending' AND at >= "
            "(SELECT max(at) FROM state_change WHERE message_id = ? AND after IN ('accepted', 'treated'))"
        )
        return bool(self.tx.driver.rows(sql, (number, number))[0][0])


def rules_version_of(engine: Judge, message: KernelMessage, usual: int | None) -> int | None:
    """Row of the rules that judged a message: an engine that judges by several says which."""
    asked: Callable[[KernelMessage], int] | None = getattr(engine, "rules_version_of", None)
    return usual if asked is None else asked(message)


def state_after(verdict: Verdict, before: str) -> str:
    """The state that a verdict puts a message in: one that was sent back for another judgement is treated by it."""
    return "treated" if verdict.label == "accepted" and before == "to_replay" else verdict.label


def _findings(verdict: Verdict) -> list[tuple[str, str, str | None]]:
    """What a verdict found, as `StoreTransaction.current_findings` tells it."""
    found = [(one.error_code, one.field, one.value) for one in verdict.findings]
    return sorted(found, key=lambda row: (row[0], row[1], row[2] or ""))


def _same(verdict: Verdict, before: str, waits_for: str | None) -> bool:
    """Whether a new verdict decides what the stored one decided."""
    if verdict.label == "accepted":
        return before in APPLIED
    if verdict.label == "quarantined":
        return before == "quarantined" and verdict.waits_for == waits_for
    if verdict.label == "rejected":
        return before in REJECTED
    return before == verdict.label
