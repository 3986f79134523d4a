"""The message service of the clearing house: what is asked of it and what it answers, as SOAP messages.

The channel that polls the service is the gateway's; this is the other side of it. Names come from the section
``service`` of the mapping table.
"""

from __future__ import annotations

import base64
import binascii
from typing import Literal, NamedTuple

from lxml import etree

from adapters.be_atrias.codes import refusal
from adapters.common.table import Table
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

Operation = Literal["send", "get", "count", "available"]
OPERATIONS: tuple[Operation, ...] = ("send", "get", "count", "available")
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
SPACES = (SOAP, "http://www.w3.org/2003/05/soap-envelope")


class Call(NamedTuple):
    """One call of the service.

    Attributes:
      operation: SendMessage, GetMessage, GetMessageCount or IsAvailable.
      queue: the queue that is named, empty where none is.
      identifier: of the message that is sent.
      kind: type of the message that is sent.
      payload: bytes of the message that is sent.
    """

    operation: Operation
    queue: str = ""
    identifier: str = ""
    kind: str = ""
    payload: bytes = b""


def read_call(table: Table, content: bytes) -> Call | Refusal:
    """Read a SOAP request to the service.

    Returns:
      The call; a refusal: ``XML_...``, TYPE_UNKNOWN for no call of the service, SYN_VALUE for a payload that cannot be
      read.
    """
    names = table.raw["service"]
    body = _body(content)
    if isinstance(body, Refusal):
        return body
    space = f"{{{names['namespace']}}}"
    for operation in OPERATIONS:
        if body.tag == space + names[operation]:
            break
    else:
        return refusal("TYPE_UNKNOWN", value=str(body.tag), expected=", ".join(names[one] for one in OPERATIONS))
    queue, identifier, kind = (
        (body.findtext(space + names[one]) or "").strip() for one in ("queue", "identifier", "kind")
    )
    holder = body.find(space + names["message"])
    if operation != "send" or holder is None:
        return Call(operation, queue, identifier, kind)
    if names["payload"] == "xml":
        child = next((part for part in holder if isinstance(part.tag, str)), None)
        if child is None:
            return refusal("SYN_VALUE", names["message"], None, "a document")
        return Call(operation, queue, identifier, kind, etree.tostring(child, encoding="UTF-8", with_tail=False))
    try:
        payload = base64.b64decode("".join((holder.text or "").split()), validate=True)
    except (binascii.Error, ValueError):
        return refusal("SYN_VALUE", names["message"], holder.text, "base64")
    return Call(operation, queue, identifier, kind, payload)


def _body(content: bytes) -> etree._Element | Refusal:
    root = safexml.parse_bytes(content)
    if isinstance(root, Refusal):
        return root
    name = etree.QName(root)
    body = root.find(f"{{{name.namespace}}}Body")
    first = next((part for part in body if isinstance(part.tag, str)), None) if body is not None else None
    if name.localname != "Envelope" or name.namespace not in SPACES or first is None:
        return refusal("TYPE_UNKNOWN", value=str(root.tag), expected="a SOAP envelope with a body")
    return first


def answer_send(table: Table, identifier: str) -> bytes:
    """What SendMessage answers: the identifier that the service gave the message."""
    return _answer(table, "send", {"identifier": identifier})


def answer_get(table: Table, identifier: str, payload: bytes) -> bytes:
    """What GetMessage answers: the next message and its identifier."""
    return _answer(table, "get", {"identifier": identifier}, payload)


def answer_empty(table: Table) -> bytes:
    """What GetMessage answers when no message waits."""
    return _answer(table, "get", {})


def answer_count(table: Table, waiting: int) -> bytes:
    """What GetMessageCount answers: how many messages wait."""
    return _answer(table, "count", {"total": str(waiting)})


def answer_available(table: Table, *, available: bool = True) -> bytes:
    """What IsAvailable answers."""
    return _answer(table, "available", {"state": "true" if available else "false"})


def _answer(table: Table, operation: Operation, fields: dict[str, str], payload: bytes | None = None) -> bytes:
    names = table.raw["service"]
    space = f"{{{names['namespace']}}}"
    envelope = etree.Element(f"{{{SOAP}}}Envelope", nsmap={"s": SOAP})
    body = etree.SubElement(envelope, f"{{{SOAP}}}Body")
    name = names[operation].removesuffix("Request") + "Response"
    answer = etree.SubElement(body, space + name, nsmap={"m": names["namespace"]})
    for field, text in fields.items():
        etree.SubElement(answer, space + names[field]).text = text
    if payload is not None:
        holder = etree.SubElement(answer, space + names["message"])
        if names["payload"] == "xml":
            holder.append(etree.fromstring(payload, safexml.parser()))
        else:
            holder.text = base64.b64encode(payload).decode("ascii")
    return bytes(etree.tostring(envelope, encoding="UTF-8", xml_declaration=True))
