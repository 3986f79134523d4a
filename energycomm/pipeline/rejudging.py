"""New verdicts of stored messages: differences are recorded, and the back office is notified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from energycomm.eis import tables
from energycomm.eis.bulk import NewRow, Row, column_names, quoted
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
    moments,
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


class _Changed(NamedTuple):
    """A message whose new verdict is another one, or found otherwise; its states before and after."""

    entry: Entry
    verdict: Verdict
    before: str
    after: str

    @property
    def number(self) -> int:
        """The message."""
        return self.entry.message_id


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
        alike: list[Entry] = []
        changed: list[_Changed] = []
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
                    alike.append(entry)
                continue
            after = state_after(verdict, before)
            if after in APPLIED and before not in APPLIED:
                self.accepted.append((entry.message_id, entry.message))
            changed.append(_Changed(entry, verdict, before, after))
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
        self._change(changed)
        self._tell_otherwise(alike)

    def _tell_otherwise(self, entries: Sequence[Entry]) -> None:
        """The verdicts are what they were; what is to be told of them may not be (a change that is none beside its
        past)."""
        told: dict[int, list[Row]] = {}
        sql = "SELECT message_id, id, event, state FROM outbox WHERE true"
        ids = [entry.message_id for entry in entries]
        for number, *row in self.tx.driver.matching(sql, ids, "message_id", "ORDER BY at, id"):
            told.setdefault(number, []).append(tuple(row))
        for entry in entries:
            number, verdict = entry.message_id, entry.verdict
            assert verdict is not None
            wanted = notification_rows(verdict, number, self.now)
            if wanted or number in told:
                self._tell(number, verdict.label, wanted, told.get(number, []))

    def _tell(self, number: int, label: str, wanted: list[NewRow], told: list[Row]) -> None:
        """Tell what is wanted of a message, beside what was told: (id, event, state), in its order."""
        # What was told before the acceptance was taken back was told of another acceptance.
        withdrawn = [place for place, (_, event, _) in enumerate(told) if event == WITHDRAWN_EVENT]
        told = told[withdrawn[-1] + 1 :] if withdrawn and label == "accepted" else told
        heard = {event for _, event, state in told if state != "pending"}
        if label == "rejected" and heard:
            return  # an earlier refusal may have been told in the same words: this one stays as it is
        wanted = [row for row in wanted if row["event"] not in heard]
        untold = [(row_id, event) for row_id, event, state in told if state == "pending" and event != WITHDRAWN_EVENT]
        if [event for _, event in untold] != [row["event"] for row in wanted]:
            # All of them anew: what is told of a message is told in the order of its rules.
            tx, now = self.tx, moments(self.tx, [number], self.now)[number]
            drop_rows(tx, tables.outbox, "state = 'pending'", "id", [row_id for row_id, _ in untold], self.why, now)
            tx.insert(tables.outbox, [{**row, "at": now} for row in wanted])

    def _change(self, changed: Sequence[_Changed]) -> None:
        """Store new verdicts in the place of those that held."""
        if not changed:
            return
        tx, ids = self.tx, [one.number for one in changed]
        tx.set_states([(one.number, one.after, *self._waiting(one)) for one in changed])
        tx.retire_findings(ids)
        lost = [one.number for one in changed if one.before in APPLIED and one.verdict.label != "accepted"]
        untold = {row[0] for row in tx.driver.matching(_UNTOLD, lost, "message_id")}
        # What the back office was not told yet it never need know; what it was told must be taken back.
        at = moments(tx, ids, self.now)
        for now in sorted(set(at.values())):
            tx.withdraw_notifications([number for number in ids if at[number] == now], now)
        told = {number for number in lost if self._was_told(number, number in untold)}
        changes: list[NewRow] = []
        findings: list[NewRow] = []
        notifications: list[NewRow] = []
        for one, change_id in zip(changed, tx.reserve(tables.state_change, len(changed)), strict=True):
            number, verdict, now = one.number, one.verdict, at[one.number]
            version = rules_version_of(self.engine, one.entry.message, self.rules_version_id)
            change = change_row(number, one.before, one.after, now, verdict_why(verdict) or self.why)
            changes.append({**change, "id": change_id, "rules_version_id": version})
            findings += [finding_row(found, number, change_id) for found in verdict.findings]
            notifications += notification_rows(verdict, number, now)
            if number in told:
                notifications.append(notification_row(number, WITHDRAWN_EVENT, now))
        tx.insert(tables.state_change, changes)
        tx.insert(tables.finding, findings)
        tx.insert(tables.outbox, notifications)

    def _waiting(self, one: _Changed) -> tuple[str | None, int | None]:
        """What a message waits for, and until when."""
        if one.verdict.label != "quarantined":
            return None, None
        return one.verdict.waits_for, self.stored[one.number].received_at + self.patience

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


# Wrapped, so that SQLite takes the index of the message and does not walk all that is pending.
_UNTOLD = "SELECT message_id FROM outbox WHERE coalesce(state, '') = 'pending'"
_TOLD = (
    "SELECT count(*) FROM outbox o WHERE o.message_id = ? AND o.state <> 'pending' AND o.event <> ? AND NOT EXISTS "
    "(SELECT 1 FROM outbox w WHERE w.message_id = o.message_id AND w.state <> 'pending' AND w.event = ? "
    "AND w.at >= o.at) AND coalesce((SELECT c.after FROM state_change c WHERE c.message_id = o.message_id AND c.at <= "
    "o.at ORDER BY c.at DESC, c.id DESC LIMIT 1), (SELECT 'accepted' FROM kernel_message k WHERE k.id = o.message_id "
    "AND k.accepted_under IS NOT NULL AND k.received_at <= o.at)) IN ('accepted', 'treated')"
)
_PURGED = (
    "SELECT count(*) FROM purge WHERE what = 'notifications' AND \"before\" > "  # noqa: S608 - our own words
    "(SELECT max(at) FROM "
    f"({tables.ALL_CHANGES}) AS c WHERE message_id = ? AND after IN ('accepted', 'treated'))"
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
