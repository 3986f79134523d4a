"""Writes EDSN's documents: the header that is equal in all of them, the SOAP envelope around them, and the values
that our fields become.

What is written depends on the message and its reference alone, so that building it again gives the same bytes.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID, uuid5

from lxml import etree

from adapters.common.schemas import Schema
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN, HEADER
from adapters.nl_edsn.settings import Settings, batch_of
from adapters.nl_edsn.types import SOAP_NAMESPACES
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

Content: TypeAlias = list[tuple[str, Any]]
"""Elements in the order of the schema: (tag, text), or (tag, content). None leaves an element out, and so does an empty
content; an empty text writes an empty element."""

CONTENT_TYPE = "text/xml; charset=utf-8"
SOAP_ENVELOPE = SOAP_NAMESPACES[0]
LONGEST_REFERENCE = 60
"""Characters of an ExternalReference."""

_SCHEMA = Schema(Path(__file__).parents[1] / "schemas" / "requests.xsd")
_MESSAGE_IDS = UUID("6a2f8f0e-2f0b-5d0a-9a51-3f8f5f6d7a10")
"""Name space in which a reference that is no UUID becomes one."""


class Unbuildable(Exception):
    """A request that cannot be written; carries the refusal that says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Document(NamedTuple):
    """A document before it is written.

    Attributes:
      type: the market's message type; its root is ``<type>Envelope``.
      namespace: of all its elements.
      content: what stands beside the header.
      reference: that the market will repeat.
    """

    type: str
    namespace: str
    content: Content
    reference: str


def portaal(name: str, reference: str, point: Content, settings: Settings, message_type: str = "") -> Document:
    """A document of one point, in the old family; as a batch of one where its message says so or the settings do.

    Args:
      name: the market's message type.
      reference: that the market will repeat.
      point: what is said of it.
      settings: versions, and what goes out in batches.
      message_type: that the request names.
    """
    batch = batch_of(name)
    if batch in settings.sent and (name in settings.batches or message_type == batch):
        name = batch
    content: Content = [("Portaal_Content", [("Portaal_MeteringPoint", point)])]
    return Document(name, settings.namespace(name), content, reference)


def message_id(reference: str) -> str:
    """The MessageID of a reference: itself where it is a UUID, else the UUID that it always becomes."""
    try:
        return str(UUID(reference))
    except ValueError:
        return str(uuid5(_MESSAGE_IDS, reference))


def sent(document: Document, sender: str, receiver: str, created: datetime, reference: str) -> OutgoingMessage:
    """A document in its SOAP envelope, with all that its header says.

    Args:
      document: what to write.
      sender: our GLN.
      receiver: GLN of the party that answers.
      created: of the header, aware; EDSN wants no fraction of a second.
      reference: becomes the MessageID.

    Raises:
      Unbuildable: what was written does not satisfy our schema of it.
    """
    head: Content = [
        ("CreationTimestamp", created.replace(microsecond=0).isoformat()),
        ("MessageID", message_id(reference)),
        ("Destination", [("Receiver", [*_contact("EDSN", receiver == EDSN), ("ReceiverID", receiver)])]),
        ("Source", [*_contact("DDQ_O", True), ("SenderID", sender)]),
    ]
    root = etree.Element(f"{{{document.namespace}}}{document.type}Envelope", nsmap={"edsn": document.namespace})
    _fill(root, [(HEADER, head), *document.content], document.namespace)
    checked = _SCHEMA.check(root, document.namespace)
    for found in (*checked.refusals, *checked.notes):
        raise Unbuildable(refusal("BUILD_SCHEMA", path=found.path, value=found.value, expected=found.expected))
    envelope = etree.Element(f"{{{SOAP_ENVELOPE}}}Envelope", nsmap={"soap": SOAP_ENVELOPE})
    etree.SubElement(envelope, f"{{{SOAP_ENVELOPE}}}Body").append(root)
    content = etree.tostring(envelope, encoding="UTF-8", xml_declaration=True)
    return OutgoingMessage(type=document.type, content=content, reference=document.reference, content_type=CONTENT_TYPE)


def _contact(contact: str, known: bool) -> Content:
    return [("Authority", "EAN.UCC"), ("ContactTypeIdentifier", contact)] if known else []


def _fill(parent: etree._Element, content: Content, namespace: str) -> None:
    for tag, value in content:
        if value is None or value == []:
            continue
        element = etree.SubElement(parent, f"{{{namespace}}}{tag}")
        if isinstance(value, list):
            _fill(element, value, namespace)
            if not len(element):
                parent.remove(element)
        elif value != "":
            try:
                element.text = str(value)
            except ValueError:
                value = ascii(value)
                raise Unbuildable(
                    refusal("BUILD_VALUE", path=tag, value=value, expected="text that XML can hold")
                ) from None


def needed(value: Any, field: str) -> Any:
    """A field's value that must be there.

    Raises:
      Unbuildable: it is missing (BUILD_MISSING).
    """
    if value is None:
        raise Unbuildable(refusal("BUILD_MISSING", path=field, expected="a value"))
    return value


def short(value: str | None, field: str, most: int) -> str | None:
    """A text that must not be longer than the market's field.

    Raises:
      Unbuildable: it is too long (BUILD_VALUE).
    """
    if value is not None and len(value) > most:
        raise Unbuildable(refusal("BUILD_VALUE", path=field, value=value, expected=f"at most {most} characters"))
    return value


def external(reference: str) -> str:
    """A reference as the market repeats it.

    Raises:
      Unbuildable: it is empty or too long (BUILD_VALUE).
    """
    if not 1 <= len(reference) <= LONGEST_REFERENCE:
        expected = f"1 to {LONGEST_REFERENCE} characters"
        raise Unbuildable(refusal("BUILD_VALUE", path="reference", value=reference, expected=expected))
    return reference
