"""The table of builders, and the one way in: a Kernel message and a reference become EDSN's bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.requests import questions, readings, supply
from adapters.nl_edsn.requests.document import CONTENT_TYPE, Document, Unbuildable, message_id, write
from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

BUILDERS: dict[str, Callable[[Any, str], tuple[Document, str]]] = {
    "MoveInRequest": supply.move_in,
    "SupplierSwitchRequest": supply.change_of_supplier,
    "MoveOutRequest": supply.move_out,
    "EndOfSupplyRequest": supply.end_of_supply,
    "MeterReadingSubmission": readings.reading,
    "SearchRequest": questions.search,
    "MasterDataRequest": questions.master_data,
    "ContractDataRequest": questions.contract_data,
    "MeteredDataRequest": questions.collected_data,
}
"""Kind of the Kernel message -> what writes it: the document, and the reference that the market will repeat."""

ANSWER_WITHIN: Mapping[str, timedelta] = {
    "MoveInRequest": timedelta(days=30),
    "SupplierSwitchRequest": timedelta(days=30),
    "MoveOutRequest": timedelta(days=30),
    "EndOfSupplyRequest": timedelta(days=30),
    "MeterReadingSubmission": timedelta(hours=1),
    "SearchRequest": timedelta(hours=1),
    "MasterDataRequest": timedelta(hours=1),
    "ContractDataRequest": timedelta(hours=1),
    "MeteredDataRequest": timedelta(days=10),
}
"""Kind -> when its last answer is overdue. Synchronous services answer at once; a change of supply is over when its
gain or loss comes; the P4 portal keeps results for ten days."""


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
        document, told = BUILDERS[kind](message, reference)
        content = write(document, message, reference)
    except Unbuildable as unbuildable:
        return unbuildable.refusal
    return OutgoingMessage(type=document.type, content=content, reference=told, content_type=CONTENT_TYPE)


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
