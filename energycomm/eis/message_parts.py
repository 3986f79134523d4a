"""The parts that one stored message is shown in: findings, changes of state, incidents, its origin, its effects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class FindingRecord(Struct, frozen=True, kw_only=True):
    """A rule that was violated; `current` when it belongs to the verdict that holds now."""

    change_id: int
    current: bool
    error_code: str
    rule: str
    severity: str
    error_class: str
    field: str
    value: str | None
    comment: str
    comment_fr: str


class StateRecord(Struct, frozen=True, kw_only=True):
    """One change of state; `rules` is the hash of the rules' version it was reached with."""

    id: int
    before: str | None
    after: str
    at: datetime
    by: str
    rules: str | None
    why: str | None


class IncidentRecord(Struct, frozen=True, kw_only=True):
    """A refusal, a gap, or something that was noticed."""

    id: int
    code: str
    severity: str
    path: str
    value: str | None
    expected: str
    advice: str
    at: datetime
    member_id: int | None
    ch_message_id: int | None


class Origin(Struct, frozen=True, kw_only=True):
    """Where a Kernel message came from: its CH message, the member that held it, the envelope that brought it."""

    ch_message_id: int
    position: int
    type: str
    version: str | None
    sender: str | None
    reference: str
    identity: str
    outcome: str
    member_id: int
    member: str
    envelope_id: int
    envelope: str
    sha256: str
    received_at: datetime
    channel: str


class Effect(Struct, frozen=True, kw_only=True):
    """A row of a domain table that a message caused: the table's name, the row's id, its columns by name.

    `at` is None where the message bears no time.
    """

    table: str
    id: int
    at: datetime | None
    content: dict[str, Any]


class Notification(Struct, frozen=True, kw_only=True):
    """A notification to the back office about a message."""

    id: int
    event: str
    at: datetime
    state: str
    attempts: int
