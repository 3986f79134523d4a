"""The table of builders, and the one way in: a Kernel message and a reference become EDSN's bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from lxml import etree

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN
from adapters.nl_edsn.requests import questions, readings, supply
from adapters.nl_edsn.requests.document import Document, Unbuildable, message_id, needed, sent
from adapters.nl_edsn.settings import DEFAULT, MOST_IN_A_BATCH, Settings
from energycomm.kernel import safexml
from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

_MONTH, _HOUR, _P4 = timedelta(days=30), timedelta(hours=1), timedelta(days=10)
"""Synchronous services answer at once; a change of supply is over when its gain or loss comes; the P4 portal keeps
results for ten days."""
_KINDS: dict[str, tuple[Callable[[Any, str, Settings], Document], timedelta]] = {
    "MoveInRequest": (partial(supply.gaining, "MoveInRequest"), _MONTH),
    "SupplierSwitchRequest": (partial(supply.gaining, "ChangeOfSupplierRequest"), _MONTH),
    "MoveOutRequest": (partial(supply.losing, "MoveOutRequest"), _MONTH),
    "EndOfSupplyRequest": (partial(supply.losing, "EndOfSupplyRequest"), _MONTH),
    "MasterDataUpdate": (supply.changed, _MONTH),
    "EndOfSupplyNotice": (supply.notice, _HOUR),
    "MeterReadingSubmission": (readings.reading, _HOUR),
    "SearchRequest": (questions.search, _HOUR),
    "MasterDataRequest": (questions.master_data, _HOUR),
    "ContractDataRequest": (questions.contract_data, _HOUR),
    "MeteredDataRequest": (questions.collected_data, _P4),
}
BUILDERS: Mapping[str, Callable[[Any, str, Settings], Document]] = {
    kind: builder for kind, (builder, _) in _KINDS.items()
}
"""Kind of the Kernel message -> what writes it."""
ANSWER_WITHIN: Mapping[str, timedelta] = {kind: within for kind, (_, within) in _KINDS.items()}
"""Kind -> when its last answer is overdue."""


def build(message: KernelMessage, reference: str, settings: Settings = DEFAULT) -> OutgoingMessage | Refusal:
    """Write one request. The same message and reference give the same bytes.

    Args:
      message: a message of one of the kinds `BUILDERS`.
      reference: our message id, at most 60 characters; best a UUID, which is then the MessageID as it is.
      settings: versions, and what goes out in batches.

    Returns:
      The message with the reference that the market repeats in its answers, or a refusal BUILD_...
    """
    kind = kind_of(message)
    if kind not in BUILDERS:
        return refusal("BUILD_KIND", path="kind", value=kind, expected=", ".join(BUILDERS))
    try:
        document = BUILDERS[kind](message, reference, settings)
        return sent(document, needed(message.sender, "sender"), message.receiver or EDSN, message.created, reference)
    except Unbuildable as unbuildable:
        return unbuildable.refusal


def repeated(message: OutgoingMessage, attempt: int) -> bytes:
    """The bytes of a further attempt: EDSN wants a new MessageID each time.

    All else stays, the ExternalReference among it: what the market answers belongs to the one request, and an answer
    that comes twice is a duplicate.

    Args:
      message: as it was built.
      attempt: 1 for the first; every number gives its own MessageID, always the same.
    """
    if attempt <= 1:
        return message.content
    return _renamed(message.content, message_id(f"{message.reference}#{attempt}"))


def batches(messages: Sequence[OutgoingMessage], settings: Settings = DEFAULT) -> list[list[int]]:
    """Which messages go out as one: batches of one type, sender and addressee, each as large as it may be.

    Args:
      messages: in their order.
      settings: how many points a batch has at most.

    Returns:
      Numbers of messages, each in one group; a group of one goes out as it is.
    """
    groups: list[list[int]] = []
    open_groups: dict[tuple[str | bytes, ...], list[int]] = {}
    for number, message in enumerate(messages):
        most = settings.batches.get(message.type.replace("BatchRequest", "Request"), MOST_IN_A_BATCH)
        if message.type.startswith("P4") or message.type not in settings.sent or "BatchRequest" not in message.type:
            groups.append([number])
            continue
        key = (message.type, *_PARTY.findall(message.content))
        group = open_groups.get(key)
        if group is None or len(group) == most:
            group = open_groups[key] = []
            groups.append(group)
        group.append(number)
    return groups


def batch(messages: Sequence[OutgoingMessage], reference: str) -> bytes:
    """Several messages of one group as one.

    Args:
      messages: two at least.
      reference: of the batch, a UUID: its MessageID. Each point keeps the reference of its request.
    """
    envelope = etree.fromstring(messages[0].content, safexml.parser())
    content = envelope[-1][0][-1]
    for message in messages[1:]:
        content.extend(etree.fromstring(message.content, safexml.parser())[-1][0][-1])
    return _renamed(etree.tostring(envelope, encoding="UTF-8", xml_declaration=True), message_id(reference))


def _renamed(content: bytes, name: str) -> bytes:
    return _MESSAGE_ID.sub(f"<edsn:MessageID>{name}<".encode(), content, count=1)


_MESSAGE_ID = re.compile(rb"<edsn:MessageID>[^<]*<")
_PARTY = re.compile(rb"<edsn:(?:SenderID|ReceiverID)>[^<]*<")
