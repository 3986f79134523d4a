"""What binds a signed answer to its request and its time: WS-Addressing, and the Timestamp of WS-Security.

Whoever keeps a signed answer could hand it out again for another request, or a year later. So the answer repeats the
request's wsa:MessageID in wsa:RelatesTo and says in wsu:Timestamp when it was made; both are believed only where they
stand in the header once and are signed themselves.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from lxml import etree

from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal

_OASIS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
WSSE: Final = _OASIS + "wssecurity-secext-1.0.xsd"
WSU: Final = _OASIS + "wssecurity-utility-1.0.xsd"
WSA: Final = "http://www.w3.org/2005/08/addressing"
WSA_2004: Final = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
_REPLY = {None, f"{WSA}/reply", "wsa:Reply"}
_LONGEST = 120


class Doubt(Exception):
    """Why an answer is not believed.

    Args:
      words: what is wrong.
      found: what stands there.
      expected: what would have to.
    """

    def __init__(self, words: str, found: object, expected: str) -> None:
        shown = "nothing" if found is None else str(found)[:_LONGEST]
        super().__init__(f"{words}; found: {shown}; expected: {expected[:_LONGEST]}")


def message_id_of(reference: str, content: bytes) -> str:
    """The wsa:MessageID of a message: the same at every attempt, another one for every other message.

    Args:
      reference: our reference of the message.
      content: a SOAP envelope; one that it has already is kept.
    """
    root = safexml.parse_bytes(content)
    stated = None if isinstance(root, Refusal) else _stated_id(root)
    return stated or uuid.uuid5(uuid.NAMESPACE_OID, f"{reference}\0{content.hex()}").urn


def _stated_id(content: etree._Element) -> str | None:
    space = etree.QName(content).namespace
    found = content.findall(f"{{{space}}}Header/{{{WSA}}}MessageID")
    return (found[0].text or "").strip() or None if len(found) == 1 else None


def address(header: etree._Element, id_name: str, message_id: str, action: str) -> dict[str, etree._Element]:
    """Write wsa:MessageID, and wsa:Action where there is one, into a header.

    Args:
      header: the SOAP header.
      id_name: attribute that names an element for the signature.
      message_id: the MessageID.
      action: the Action; empty for none.

    Returns:
      Name for the signature -> element.
    """
    parts = {}
    for local, name, text in (("MessageID", "ec-message-id", message_id), ("Action", "ec-action", action)):
        element = header.find(f"{{{WSA}}}{local}")
        if element is None and text:
            element = etree.SubElement(header, f"{{{WSA}}}{local}", nsmap={"wsa": WSA})
            element.text = text
        if element is not None:
            element.set(id_name, name)
            parts[name] = element
    return parts


def check_relation(envelope: etree._Element, signed: Sequence[etree._Element], message_id: str | None) -> None:
    """See that an answer is for a request.

    Args:
      envelope: the answer.
      signed: its elements that are signed.
      message_id: wsa:MessageID of the request.

    Raises:
      Doubt: it is for another one, or does not say so under its signature.
    """
    header = f"{{{etree.QName(envelope).namespace}}}Header"
    named = [one for space in (WSA, WSA_2004) for one in envelope.findall(f"{header}/{{{space}}}RelatesTo")]
    replies = [one for one in named if one.get("RelationshipType") in _REPLY]
    if len(replies) != 1:
        raise Doubt("it does not name one request that it answers", f"{len(replies)} wsa:RelatesTo", "1 in the header")
    if replies[0] not in signed:
        raise Doubt(
            "the reference to the request is not signed", "wsa:RelatesTo outside of the signature", "a signed one"
        )
    found = (replies[0].text or "").strip()
    if message_id is None or found != message_id:
        raise Doubt("it answers another request", found, str(message_id))


def check_time(
    envelope: etree._Element, signed: Sequence[etree._Element], now: datetime, seconds: float, skew: float
) -> None:
    """See that an answer was made just now.

    Args:
      envelope: the answer.
      signed: its elements that are signed.
      now: the time, with its zone.
      seconds: how old it may be.
      skew: seconds by which the clocks of both sides may differ.

    Raises:
      Doubt: it was made at another time, or does not say so under its signature.
    """
    space = etree.QName(envelope).namespace
    stamps = envelope.findall(f"{{{space}}}Header/{{{WSSE}}}Security/{{{WSU}}}Timestamp")
    if len(stamps) != 1:
        raise Doubt("it does not have one time of creation", f"{len(stamps)} wsu:Timestamp", "1 in wsse:Security")
    if stamps[0] not in signed:
        raise Doubt("its time of creation is not signed", "wsu:Timestamp outside of the signature", "a signed one")
    created, expires = _instant(stamps[0], "Created"), _instant(stamps[0], "Expires")
    if created is None:
        raise Doubt("its Timestamp has no Created", None, "an instant")
    play, age = timedelta(seconds=skew), timedelta(seconds=seconds)
    if created > now + play:
        raise Doubt("its time of creation is in the future", created.isoformat(), f"until {(now + play).isoformat()}")
    if created < now - age - play:
        raise Doubt("it is too old", created.isoformat(), f"since {(now - age - play).isoformat()}")
    if expires is not None and (expires < created or expires < now - play):
        raise Doubt("it has expired", expires.isoformat(), f"after {(now - play).isoformat()}")


def _instant(stamp: etree._Element, name: str) -> datetime | None:
    found = stamp.findall(f"{{{WSU}}}{name}")
    if not found:
        return None
    text = (found[0].text or "").strip()
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if len(found) > 1 or instant is None or instant.tzinfo is None:
        raise Doubt(f"its {name} is no instant", text, "one instant with its zone: 2026-01-31T12:00:00Z")
    return instant
