"""The table of builders, and the one way in: a Kernel message and a reference become EDSN's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN
from adapters.nl_edsn.requests import questions, readings, supply
from adapters.nl_edsn.requests.document import Document, Unbuildable, message_id, needed, sent
from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

_MONTH, _HOUR, _P4 = timedelta(days=30), timedelta(hours=1), timedelta(days=10)
"""Synchronous services answer at once; a change of supply is over when its gain or loss comes; the P4 portal keeps
results for ten days."""
_KINDS: dict[str, tuple[Callable[[Any, str], Document], timedelta]] = {
    "MoveInRequest": (partial(supply.gaining, "MoveInRequest"), _MONTH),
    "SupplierSwitchRequest": (partial(supply.gaining, "ChangeOfSupplierRequest"), _MONTH),
    "MoveOutRequest": (partial(supply.losing, "MoveOutRequest"), _MONTH),
    "EndOfSupplyRequest": (partial(supply.losing, "EndOfSupplyRequest"), _MONTH),
    "MeterReadingSubmission": (readings.reading, _HOUR),
    "SearchRequest": (questions.search, _HOUR),
    "MasterDataRequest": (questions.master_data, _HOUR),
    "ContractDataRequest": (questions.contract_data, _HOUR),
    "MeteredDataRequest": (questions.collected_data, _P4),
}
BUILDERS: Mapping[str, Callable[[Any, str], Document]] = {kind: builder for kind, (builder, _) in _KINDS.items()}
"""Kind of the Kernel message -> what writes it."""
ANSWER_WITHIN: Mapping[str, timedelta] = {kind: within for kind, (_, within) in _KINDS.items()}
"""Kind -> when its last answer is overdue."""


def build(message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
    """Write one request. The same message and reference give the same bytes.

    Args:
      message: a message of one of the kinds `BUILDERS`.
      reference: our message id, at most 60 characters; best a UUID, which is then the MessageID as it is.

    Returns:
      The message with the reference that the market repeats in its answers, or a refusal BUILD_...
    """
    kind = kind_of(message)
    if kind not in BUILDERS:
        return refusal("BUILD_KIND", path="kind", value=kind, expected=", ".join(BUILDERS))
    try:
        document = BUILDERS[kind](message, reference)
        return sent(document, needed(message.sender, "sender"), message.receiver or EDSN, message.created, reference)
    except Unbuildable as unbuildable:
        return unbuildable.refusal


def repeated(message: OutgoingMessage, attempt: int) -> bytes:
    """The bytes of a further attempt of a P4 query: the portal wants a new MessageID each time.

    All else stays, the ExternalReference among it: what the market answers belongs to the one query, and a result that
    comes twice is a duplicate. Other messages are sent again as they are.

    Args:
      message: as it was built.
      attempt: 1 for the first; every number gives its own MessageID, always the same.
    """
    if attempt <= 1 or not message.type.startswith("P4"):
        return message.content
    first, other = message_id(message.reference), message_id(f"{message.reference}#{attempt}")
    return message.content.replace(f"<edsn:MessageID>{first}<".encode(), f"<edsn:MessageID>{other}<".encode(), 1)
