"""Rows of the EIS that a verdict becomes, in the order of the tables' columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table

from energycomm.eis.fitting import storable
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.verdicts import Finding, Refusal, Verdict
from energycomm.masking import mask

KERNEL = "kernel"
"""Who changed a state, when the Kernel did."""


def verdict_why(verdict: Verdict) -> str | None:
    """The reason of a change of state, in a few words."""
    if verdict.label == "accepted":
        return None
    if verdict.label == "quarantined":
        return f"waits for {verdict.waits_for}"[:400]
    if verdict.label == "engine_error":
        return (verdict.fault or "a rule broke")[:400]
    return " ".join(error_codes(verdict))[:400]


def error_codes(verdict: Verdict) -> list[str]:
    """The codes of the findings that reject, each once, in their order."""
    return list(dict.fromkeys(found.error_code for found in verdict.findings if found.severity == "error"))


def verdict_change(
    change_id: int,
    message_id: int,
    before: str | None,
    after: str,
    now: int,
    rules_version_id: int | None,
    why: str | None,
) -> tuple[Any, ...]:
    """A row of `state_change`."""
    return (change_id, message_id, before, after, now, KERNEL, rules_version_id, why)


def finding_row(found: Finding, message_id: int, change_id: int) -> tuple[Any, ...]:
    """A row of `finding`, without its id."""
    return (
        message_id,
        change_id,
        True,
        found.error_code,
        found.rule,
        found.severity,
        found.error_class,
        found.field,
        found.value,
        found.comment,
        found.comment_fr,
    )


def notification_rows(verdict: Verdict, message_id: int, now: int) -> list[tuple[Any, ...]]:
    """Rows of `outbox`, without their ids: what the back office is told of a verdict."""
    if verdict.label == "quarantined":
        return []
    return [
        (message_id, action.argument, now, "pending", 0, None, None)
        for action in verdict.actions
        if action.verb == "notify"
    ]


def moment(tx: StoreTransaction, message_id: int, now: int) -> int:
    """The present, but after all that is recorded of a message: a clock that was put back does not change its story."""
    sql = (
        "SELECT max(at) FROM state_change WHERE message_id = ? "
        "UNION ALL SELECT max(at) FROM outbox WHERE message_id = ?"
    )
    known = [at for (at,) in tx.driver.rows(sql, (message_id, message_id)) if at is not None and at >= now]
    return max(known) + 1 if known else now


def incident_row(
    refusal: Refusal,
    severity: str,
    now: int,
    envelope_id: int | None,
    member_id: int | None = None,
    ch_message_id: int | None = None,
) -> tuple[Any, ...]:
    """A row of `incident`, without its id."""
    value = None if refusal.value is None else storable(mask(refusal.value), 2000)
    return (
        envelope_id,
        member_id,
        ch_message_id,
        refusal.code,
        severity,
        storable(refusal.path, 600),
        value,
        storable(refusal.expected, 2000),
        storable(refusal.advice, 2000),
        now,
    )


def insert_numbered(tx: StoreTransaction, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows that have no id yet."""
    if rows:
        tx.insert(table, [(number, *row) for number, row in zip(tx.reserve(table, len(rows)), rows, strict=True)])
