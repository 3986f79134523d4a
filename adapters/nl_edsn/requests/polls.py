"""The requests by which a channel fetches what waits for us: gains, losses, mutations, readings, P4 results.

A poll is no Kernel message: nobody decides on it, and nothing answers to it but what waited. Whether reading empties
the list is not known for certain; what comes twice is known as a duplicate.
"""

from __future__ import annotations

from datetime import datetime

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN
from adapters.nl_edsn.requests.document import CONTENT_TYPE, Content, Document, Unbuildable, message_id, write_from
from adapters.nl_edsn.types import nedu
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

_EMPTY: dict[str, tuple[str, str]] = {
    "P4CollectedDataBatchResultRequest": (nedu("p4collecteddatabatchresultrequest", 2), "P4Content"),
    "GainResultRequest": (nedu("gainresultrequest"), "Portaal_Content"),
    "LossResultRequest": (nedu("lossresultrequest"), "Portaal_Content"),
    "MasterDataUpdateRequest": (nedu("masterdataupdaterequest"), "Portaal_Content"),
    "MeterReadingExchangeRequest": (nedu("meterreadingexchangerequest"), "Portaal_Content"),
}

POLLS: tuple[str, ...] = tuple(_EMPTY)
"""Message types that fetch what waits."""


def poll(name: str, sender: str, created: datetime, reference: str, receiver: str = EDSN) -> OutgoingMessage | Refusal:
    """One poll.

    Args:
      name: one of `POLLS`.
      sender: our GLN.
      created: now, aware.
      reference: of this poll; every poll has its own.
      receiver: GLN of the party that answers.

    Returns:
      The message, or a refusal: BUILD_KIND for an unknown name, BUILD_SCHEMA for values that the schema forbids.
    """
    if name not in _EMPTY:
        return refusal("BUILD_KIND", path="name", value=name, expected=", ".join(POLLS))
    namespace, holder = _EMPTY[name]
    content: Content = [(holder, "")]
    try:
        written = write_from(Document(name, namespace, content), sender, receiver, created, reference)
    except Unbuildable as unbuildable:
        return unbuildable.refusal
    return OutgoingMessage(type=name, content=written, reference=message_id(reference), content_type=CONTENT_TYPE)
