"""Kernel messages that people and programs hand in, as JSON or Kernel XML: read, completed, with every mistake.

JSON: one object, a list, or `{"messages": [...]}`; what every message has and nobody need write is filled in. XML: one
Kernel message, or many in a `batch` element of the Kernel's namespace, as kernel.xsd has it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from lxml import etree

from energycomm.kernel.check import KernelChecker, explain
from energycomm.kernel.codec import decode, decode_json, encode
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.requests import OUTGOING
from energycomm.kernel.safexml import parse_bytes
from energycomm.kernel.schema import BATCH
from energycomm.kernel.shape import NAMESPACE
from energycomm.kernel.verdicts import Refusal

EXPLAINED = 100
"""Wrong messages of a document whose every mistake is told."""


class Handed(NamedTuple):
    """One submitted or injected message.

    Attributes:
      message: the message; None when it cannot be read.
      sent: what was sent of it, in one spelling: equal for equal messages.
      refusals: everything that is wrong with it; the first mistake only of those after `EXPLAINED` wrong ones.
      xml: Kernel XML that can be explained; empty where there is nothing to explain.
    """

    message: KernelMessage | None
    sent: bytes
    refusals: tuple[Refusal, ...] = ()
    xml: bytes = b""


def read_handed(content: bytes, most: int | None = None) -> list[Handed] | Refusal:
    """The messages of a document, each readable or not.

    Args:
      content: JSON or XML, told by its first character.
      most: how many messages it may hold; more are counted and not looked at.

    Returns:
      The messages in their order, or why the document as a whole cannot be read.
    """
    if content.lstrip()[:1] == b"<":
        root = parse_bytes(content)
        if isinstance(root, Refusal):
            return root
        if etree.QName(root) == etree.QName(NAMESPACE, BATCH):
            if most is not None and len(root) > most:
                return too_many(len(root), most)
            return _thorough([_from_xml(etree.tostring(child, with_tail=False)) for child in root])
        return _thorough([_from_xml(content)])
    try:
        parsed = msgspec.json.decode(content)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return Refusal(
            code="KERNEL_JSON_SYNTAX",
            value=str(error)[:200],
            expected="a Kernel message or a list of them, JSON or XML",
        )
    if isinstance(parsed, dict) and set(parsed) == {"messages"}:
        parsed = parsed["messages"]
    items = parsed if isinstance(parsed, list) else [parsed]
    if most is not None and len(items) > most:
        return too_many(len(items), most)
    return _thorough([_from_json(item) for item in items])


def too_many(number: int, most: int) -> Refusal:
    """The refusal of a document with no message, or with more than it may hold."""
    advice = "send them in several injections"
    return Refusal(code="INJECT_NUMBER", value=str(number), expected=f"1 to {most} messages", advice=advice)


def _thorough(found: list[Handed]) -> list[Handed]:
    """Every mistake of the first wrong messages: whoever sent thousands of them corrects the first hundred first."""
    left = EXPLAINED
    for number, one in enumerate(found):
        if one.xml and left:
            found[number], left = _explained(one), left - 1
    return found


def _from_xml(xml: bytes) -> Handed:
    message = decode(xml)
    if isinstance(message, Refusal):
        return Handed(None, xml, (message,), xml)
    return _checked(message, _xml_of(message) or xml)


_own = threading.local()


def _checker() -> KernelChecker:
    """The checker of the thread that asks: it is quick, and belongs to one thread."""
    made: KernelChecker | None = getattr(_own, "checker", None)
    if made is None:
        made = _own.checker = KernelChecker()
    return made


def _from_json(item: Any) -> Handed:
    sent = msgspec.json.encode(item, order="sorted")
    whole = completed(item)
    message = decode_json(msgspec.json.encode(whole))
    if isinstance(message, Refusal):
        return Handed(None, sent, tuple(_mistakes(whole)) or (message,))
    return _checked(message, sent)


def _checked(message: KernelMessage, sent: bytes) -> Handed:
    """With what only the schema minds: lengths, patterns, bounds."""
    (written,) = _checker().write([message])
    refusal = written if isinstance(written, Refusal) else None
    return Handed(message, sent) if refusal is None else Handed(None, sent, (refusal,), _xml_of(message))


def _xml_of(message: KernelMessage) -> bytes:
    try:
        return encode(message).encode()
    except ValueError:
        return b""


def _explained(one: Handed) -> Handed:
    """With every mistake instead of the first; slow, where checking is quick."""
    return one._replace(refusals=tuple(explain(one.xml)) or one.refusals) if one.xml else one


def completed(item: Any) -> Any:
    """A message with what every message has and a person need not write: times, reference, type.

    Args:
      item: the message as JSON gave it; what is no object is given back as it is.
    """
    if not isinstance(item, dict):
        return item
    now = datetime.now(UTC).isoformat()
    day = item.get("requested_date")
    defaults: dict[str, Any] = {
        "market_type": item.get("kind", ""),
        "reference": str(uuid.uuid4()),
        "created": now,
        "effective": f"{day}T00:00:00+00:00" if day else now,
    }
    if item.get("kind") in _OURS:
        defaults["sender_role"] = "supplier"
    return defaults | item


_OURS = frozenset(cls.__name__ for cls in OUTGOING)


def _mistakes(item: Any) -> Iterator[Refusal]:
    """Every field that is missing, unknown or wrong, where the decoder would stop at the first."""
    if not isinstance(item, dict):
        yield Refusal(code="KERNEL_JSON_SYNTAX", value=str(item)[:80], expected="an object with `kind`")
        return
    kind = item.get("kind")
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        yield Refusal(
            code="KERNEL_JSON_VALUE", path="kind", value=str(kind)[:80], expected=f"one of {', '.join(KINDS)}"
        )
        return
    for field in msgspec.structs.fields(cls):
        if field.name not in item:
            if field.required:
                yield Refusal(code="KERNEL_JSON_VALUE", path=field.name, expected="a value: the field is required")
            continue
        try:
            msgspec.json.decode(msgspec.json.encode(item[field.name]), type=field.type)
        except (msgspec.ValidationError, ValueError) as error:
            words, _, below = str(error).partition(" - at `$")
            value = item[field.name]
            shown = str(value)[:80] if isinstance(value, str | int | float | bool) else None
            yield Refusal(
                code="KERNEL_JSON_VALUE", path=field.name + below.rstrip("`"), value=shown, expected=words[:300]
            )
