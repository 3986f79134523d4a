"""Rows of the EIS that a message and its verdict become: value by name of column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from energycomm.eis.bulk import NewRow
from energycomm.eis.fitting import storable
from energycomm.eis.store import StoreTransaction
from energycomm.eis.tables import ALL_CHANGES, KERNEL
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Finding, Refusal, Verdict
from energycomm.masking import mask


def verdict_why(verdict: Verdict) -> str | None:
    """The reason of a change of state, in a few words."""
    if verdict.label == "accepted":
        return None
    if verdict.label == "quarantined":
        return f"waits for {verdict.waits_for}"[:400]
    if verdict.label == "engine_error":
        return (verdict.fault or "a rule broke")[:400]
    return " ".join(error_codes(verdict))[:400]


def at_once(verdict: Verdict | None) -> bool:
    """Whether the verdict on a new message is told by the row of the message (`accepted_under`): it is accepted, and
    nothing was found."""
    return verdict is not None and verdict.label == "accepted" and not verdict.findings


def error_codes(verdict: Verdict) -> list[str]:
    """The codes of the findings that reject, each once, in their order."""
    return list(dict.fromkeys(found.error_code for found in verdict.findings if found.severity == "error"))


def message_row(message: KernelMessage, message_id: int, at: int, xml: str, state: str, now: int) -> dict[str, Any]:
    """A row of `kernel_message`: the first version of a message that we made.

    Args:
      message: what it says.
      message_id: its id.
      at: its effective instant, microseconds since the epoch.
      xml: its Kernel XML.
      state: its state.
      now: when it arrived or was made, microseconds since the epoch.
    """
    return {
        "id": message_id,
        "position": 1,
        "market": message.market,
        "market_type": message.market_type,
        "kind": type(message).__name__,
        "effective": at,
        "state": state,
        "received_at": now,
        "xml": xml,
    }


def change_row(
    message_id: int, before: str | None, after: str, now: int, why: str | None, by: str = KERNEL
) -> dict[str, Any]:
    """A row of `state_change`, without its id and the version of the rules."""
    return {
        "message_id": message_id,
        "before": before,
        "after": after,
        "at": now,
        "by": by[:120],
        "why": None if why is None else why[:400],
    }


def finding_row(found: Finding, message_id: int, change_id: int) -> NewRow:
    """A row of `finding`, without its id."""
    return {"message_id": message_id, "change_id": change_id, "current": True, **structs.asdict(found)}


def notification_row(message_id: int, event: str | None, now: int) -> NewRow:
    """A row of `outbox`, without its id."""
    return {"message_id": message_id, "event": event, "at": now, "state": "pending"}


def notification_rows(verdict: Verdict, message_id: int, now: int) -> list[NewRow]:
    """Rows of `outbox`, without their ids: the notifications of a verdict."""
    if verdict.label == "quarantined":
        return []
    return [notification_row(message_id, action.argument, now) for action in verdict.actions if action.verb == "notify"]


def moments(tx: StoreTransaction, message_ids: Sequence[int], now: int) -> dict[int, int]:
    """The present for each message, but after all that is recorded of it: a clock that was put back does not change its
    story."""
    found = dict.fromkeys(message_ids, now)
    for told in (f"({ALL_CHANGES}) AS c", "outbox"):
        sql = f"SELECT message_id, max(at) FROM {told} WHERE true"  # noqa: S608 - our own names
        for number, at in tx.driver.matching(sql, message_ids, "message_id", "GROUP BY message_id"):
            found[number] = max(found[number], at + 1 if at >= now else now)
    return found


def incident_row(
    refusal: Refusal,
    severity: str,
    now: int,
    envelope_id: int | None,
    member_id: int | None = None,
    ch_message_id: int | None = None,
) -> NewRow:
    """A row of `incident`, without its id."""
    return {
        "envelope_id": envelope_id,
        "member_id": member_id,
        "ch_message_id": ch_message_id,
        "code": refusal.code,
        "severity": severity,
        "path": storable(refusal.path, 600),
        "value": None if refusal.value is None else storable(mask(refusal.value), 2000),
        "expected": storable(refusal.expected, 2000),
        "advice": storable(refusal.advice, 2000),
        "at": now,
    }
