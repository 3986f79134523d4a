"""New verdicts of stored messages: differences are recorded, and the back office is notified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from energycomm.eis import tables
from energycomm.eis.bulk import column_names, quoted
from energycomm.eis.effects import drop_rows
from energycomm.eis.store import MessageRow, StoreTransaction
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Verdict
from energycomm.pipeline.effects import Rows, content, contents
from energycomm.pipeline.fold import APPLIED, Entry, Judge, judge_alone
from energycomm.pipeline.rows import (
    change_row,
    error_codes,
    finding_row,
    moment,
    notification_row,
    notification_rows,
    verdict_why,
)

REJECTED = frozenset(("rejected", "delegated", "ticketed"))
"""States of a message that was refused and not yet freed."""

WITHDRAWN = "withdrawn"
"""State of a version, or of a message we made, that was taken back: the fold goes on without it."""

WITHDRAWN_EVENT = "acceptance-withdrawn"
"""What the back office is told when an accepted message is refused after all."""

AFTER_LATE = "judged again after a late message"
AFTER_CORRECTION = "judged again after a correction or replay"
BY_CHANGED_RULES = "judged again by changed rules"
"""Why stored messages are judged again: words for the record, where the verdict itself gives none."""


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


class Judging(Protocol):
    """What messages are judged by: the rules, their version, and how long (microseconds) a message waits."""

    engine: Judge
    rules_version_id: int
    patience: int


class Rejudging:
    """Records verdicts of stored messages that were reached again.

    Args:
      tx: the transaction of the batch.
      judging: the rules of today.
      now: the present, microseconds since the epoch.
      why: words for the record.
    """

    def __init__(self, tx: StoreTransaction, judging: Judging, now: int, why: str = AFTER_LATE) -> None:
        self.tx, self.engine, self.now, self.why = tx, judging.engine, now, why
        self.rules_version_id, self.patience = judging.rules_version_id, judging.patience
        self.changes: list[Change] = []
        self.accepted: list[tuple[int, KernelMessage]] = []
        """Messages that were not accepted before and are now."""
        self.stored: dict[int, MessageRow] = {}

    def all_alone(self, messages: Mapping[int, KernelMessage]) -> None:
        """Judge messages again that concern no access point, but for those that count no more.

        Args:
          messages: id -> what it says.
        """
        superseded = self.tx.superseded(list(messages))
        for row in self.tx.messages(list(messages)):
            if row.id not in superseded and row.state not in (WITHDRAWN, "to_replay"):
                self.alone(row, messages[row.id])

    def alone(self, row: MessageRow, message: KernelMessage) -> None:
        """Judge a message without access point again, and adjust its effects to the verdict.

        Args:
          row: as it is stored.
          message: what it says.
        """
        self.stored[row.id] = row
        given_up = row.state in REJECTED and row.waits_for is not None
        entry = Entry((), message, micros(message.effective), row.id, row.state, given_up)
        rows: Rows = {}
        judge_alone(self.engine, entry, rows)
        self.record([entry])
        for table in tables.ALONE:
            names = quoted(column_names(table))
            # Names of our own table and columns, never values.
            sql = f"SELECT {names} FROM {table.name} WHERE message_id = ?"  # noqa: S608 - our own names
            found = self.tx.driver.rows(sql, (row.id,))
            wanted = rows.get(table, [])
            if [content(table, tuple(one)) for one in found] != contents(table, wanted):
                drop_rows(self.tx, table, "true", "id", [one[0] for one in found], self.why, self.now)
                self.tx.insert(table, wanted)

    def give_up(self, row: MessageRow, why: str) -> None:
        """Record that a stored message cannot be judged: it must not hold up its neighbours.

        Args:
          row: as it is stored.
          why: what is wrong with it.
        """
        if row.state == "engine_error":
            return
        self.tx.set_states([(row.id, "engine_error", None, None)])
        change = change_row(row.id, row.state, "engine_error", self.now, why)
        self.tx.insert(tables.state_change, [{**change, "rules_version_id": self.rules_version_id}])

    def record(self, entries: list[Entry]) -> None:
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
                if verdict.label in ("accepted", "rejected") and not entry.given_up:
                    self._tell_otherwise(entry.message_id, verdict)
                continue
            after = state_after(verdict, before)
            if after in APPLIED and before not in APPLIED:
                self.accepted.append((entry.message_id, entry.message))
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
        tx, now = self.tx, moment(self.tx, number, self.now)
        told = tx.driver.rows("SELECT id, event, state FROM outbox WHERE message_id = ? ORDER BY at, id", (number,))
        # What was told before the acceptance was taken back was told of another acceptance.
        withdrawn = [place for place, (_, event, _) in enumerate(told) if event == WITHDRAWN_EVENT]
        told = told[withdrawn[-1] + 1 :] if withdrawn and verdict.label == "accepted" else told
        heard = {event for _, event, state in told if state != "pending"}
        wanted = [row for row in notification_rows(verdict, number, now) if row["event"] not in heard]
        untold = [(row_id, event) for row_id, event, state in told if state == "pending" and event != WITHDRAWN_EVENT]
        if verdict.label == "rejected" and heard:
            return  # an earlier refusal may have been told in the same words: this one stays as it is
        if [event for _, event in untold] != [row["event"] for row in wanted]:
            # All of them anew: what is told of a message is told in the order of its rules.
            drop_rows(tx, tables.outbox, "state = 'pending'", "id", [row_id for row_id, _ in untold], self.why, now)
            tx.insert(tables.outbox, wanted)

    def _change(self, entry: Entry, verdict: Verdict, before: str, after: str) -> None:
        tx, number = self.tx, entry.message_id
        now = moment(tx, number, self.now)
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
        # What the back office was not told yet it never need know; what it was told must be taken back.
        untold = tx.withdraw_notifications([number], now)
        lost = before in APPLIED and verdict.label != "accepted"
        told = lost and self._was_told(number, bool(untold))
        change_id = tx.reserve(tables.state_change, 1)[0]
        why = verdict_why(verdict) or self.why
        version = rules_version_of(self.engine, entry.message, self.rules_version_id)
        change = change_row(number, before, after, now, why)
        tx.insert(tables.state_change, [{**change, "id": change_id, "rules_version_id": version}])
        tx.insert(tables.finding, [finding_row(found, number, change_id) for found in verdict.findings])
        tx.insert(tables.outbox, notification_rows(verdict, number, now))
        if told:
            tx.insert(tables.outbox, [notification_row(number, WITHDRAWN_EVENT, now)])

    def _was_told(self, number: int, untold: bool) -> bool:
        """Whether the back office heard that a message is accepted, and not that it is no more.

        Args:
          number: the message.
          untold: of its acceptance something was still to be told; so retention removed nothing of it.
        """
        rows = self.tx.driver.rows
        if rows(_TOLD, (number, WITHDRAWN_EVENT, WITHDRAWN_EVENT))[0][0]:
            return True
        return not untold and bool(rows(_PURGED, (number,))[0][0])


_TOLD = (
    "SELECT count(*) FROM outbox o WHERE o.message_id = ? AND o.state <> 'pending' AND o.event <> ? AND NOT EXISTS "
    "(SELECT 1 FROM outbox w WHERE w.message_id = o.message_id AND w.state <> 'pending' AND w.event = ? "
    "AND w.at >= o.at) AND (SELECT c.after FROM state_change c WHERE c.message_id = o.message_id AND c.at <= o.at "
    "ORDER BY c.at DESC, c.id DESC LIMIT 1) IN ('accepted', 'treated')"
)
_PURGED = (
    "SELECT count(*) FROM purge WHERE what = 'notifications' AND \"before\" > "
    "(SELECT max(at) FROM state_change WHERE message_id = ? AND after IN ('accepted', 'treated'))"
)


def rules_version_of(engine: Judge, message: KernelMessage, usual: int | None) -> int | None:
    """Id of the rules version that judged a message; an engine with several versions names it."""
    asked: Callable[[KernelMessage], int] | None = getattr(engine, "rules_version_of", None)
    return usual if asked is None else asked(message)


def state_after(verdict: Verdict, before: str) -> str:
    """The state that a verdict puts a message in: one that was sent back for another judgement is treated by it."""
    return "treated" if verdict.label == "accepted" and before == "to_replay" else verdict.label


def _findings(verdict: Verdict) -> list[tuple[str, ...]]:
    """What a verdict found, as `StoreTransaction.current_findings` tells it."""
    return sorted(
        (one.error_code, one.rule, one.severity, one.field, one.value or "", one.comment, one.comment_fr)
        for one in verdict.findings
    )


def _same(verdict: Verdict, before: str, waits_for: str | None) -> bool:
    """Whether a new verdict decides what the stored one decided."""
    if verdict.label == "accepted":
        return before in APPLIED
    if verdict.label == "quarantined":
        return before == "quarantined" and verdict.waits_for == waits_for
    if verdict.label == "rejected":
        return before in REJECTED
    return before == verdict.label
