"""The requests by which a channel fetches what waits for us: gains, losses, rejections,
mutations, notices, readings, P4 results.

A poll is no Kernel message: nobody decides on it, and nothing answers to it but what waited. Whether reading empties
the list is not known for certain; what comes twice is known as a duplicate.
"""

from __future__ import annotations

from datetime import datetime

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN
from adapters.nl_edsn.requests.document import Document, Unbuildable, message_id, sent
from adapters.nl_edsn.settings import DEFAULT, Settings
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

_HOLDERS: dict[str, str] = {
    "P4CollectedDataBatchResultRequest": "P4Content",
    **dict.fromkeys(
        (
            "GainResultRequest",
            "LossResultRequest",
            "RejectionResultRequest",
            "UpdateResultRequest",
            "MasterDataUpdateRequest",
            "MasterDataGainRequest",
            "MasterDataBatchRejectionRequest",
            "NoticeEOSRequest",
            "MeterReadingExchangeRequest",
            "RejectionMeterReadingRequest",
            "FileExchangeResultRequest",
        ),
        "Portaal_Content",
    ),
}
"""Message type -> the element that stands in it, empty."""

POLLS: tuple[str, ...] = tuple(_HOLDERS)
"""Message types that fetch what waits."""


def poll(
    name: str,
    sender: str,
    created: datetime,
    reference: str,
    receiver: str = EDSN,
    settings: Settings = DEFAULT,
) -> OutgoingMessage | Refusal:
    """One poll.

    Args:
      name: one of `POLLS`.
      sender: our GLN.
      created: now, aware.
      reference: of this poll; every poll has its own.
      receiver: GLN of the party that answers.
      settings: versions.

    Returns:
      The message, or a refusal: BUILD_KIND for an unknown name, BUILD_SCHEMA for values that the schema forbids.
    """
    if name not in _HOLDERS:
        return refusal("BUILD_KIND", path="name", value=name, expected=", ".join(POLLS))
    document = Document(name, settings.namespace(name), [(_HOLDERS[name], "")], message_id(reference))
    try:
        return sent(document, sender, receiver, created, reference)
    except Unbuildable as unbuildable:
        return unbuildable.refusal
