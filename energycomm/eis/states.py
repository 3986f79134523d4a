"""The states that the things of the store pass through: declared once for its tables, filters, commands and pages."""

from __future__ import annotations

from typing import Literal, get_args

MessageState = Literal[
    "accepted",
    "rejected",
    "quarantined",
    "engine_error",
    "delegated",
    "ticketed",
    "to_replay",
    "treated",
    "withdrawn",
]
"""Of a Kernel message. `treated` is accepted after a correction or a replay, or replaced by its correction; `withdrawn`
was taken back by a person and counts no more."""

EnvelopeState = Literal["archived", "processing", "done", "failed", "duplicate"]
"""Of an envelope."""

RequestState = Literal["built", "sent", "acknowledged", "in-course", "done", "refused", "dead"]
"""Of a request to a market."""

NotificationState = Literal["pending", "sending", "sent", "dead"]
"""Of a notification to the back office."""

AcknowledgementState = Literal["built", "sent", "dead"]
"""Of an acknowledgement to the sender of an envelope."""

TicketState = Literal["open", "waiting", "closed"]
"""Of a ticket."""

MESSAGE_STATES: tuple[str, ...] = get_args(MessageState)
ENVELOPE_STATES: tuple[str, ...] = get_args(EnvelopeState)
REQUEST_STATES: tuple[str, ...] = get_args(RequestState)
NOTIFICATION_STATES: tuple[str, ...] = get_args(NotificationState)
ACKNOWLEDGEMENT_STATES: tuple[str, ...] = get_args(AcknowledgementState)
TICKET_STATES: tuple[str, ...] = get_args(TicketState)

APPLIED = frozenset(("accepted", "treated"))
"""Kernel messages that count in the state of their access point."""

SETTLED = APPLIED | {"withdrawn"}
"""Kernel messages that nobody has to do anything about."""

STUCK = tuple(state for state in MESSAGE_STATES if state not in SETTLED)
"""Kernel messages that somebody has to do something about."""
