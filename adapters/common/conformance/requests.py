"""The checks of what an adapter writes: one complete request of every kind that it says it builds, and the answers.

A complete request has every field that its kind declares. A value is that of an example request where one has the
field, else one that stands in a message of the fixtures, else any that the Kernel's declaration allows.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pkgutil import resolve_name
from typing import Any

import msgspec
from lxml import etree
from msgspec import Struct

from adapters.common.conformance.findings import Check, Faults, NotShown, all_of_it, each_built_kind
from adapters.common.conformance.subject import Subject, Undigested, read, sniff, told
from adapters.common.reading import local, namespace_of
from adapters.common.schemas import Schema
from energycomm.kernel import safexml
from energycomm.kernel.check import explain
from energycomm.kernel.codec import encode
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Particular
from energycomm.kernel.requests import OUTGOING
from energycomm.kernel.shape import Scalar, shape_of
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Acknowledging, OutgoingMessage
from energycomm.simulation.answering import Asked, Clerk

REFERENCE = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
NOW = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAY = date(2026, 4, 1)
_ANY: dict[str, Any] = {
    "text": "1", "integer": 1, "decimal": Decimal(1), "truth": True, "instant": NOW, "day": DAY,
}  # fmt: skip
_TYPES: dict[str, type] = {
    "text": str, "word": str, "integer": int, "decimal": Decimal, "truth": bool, "instant": datetime, "day": date,
}  # fmt: skip
_BY_PATTERN = ("EUR", "AB", "0" * 64, "1")
_OF_PARTIES = {"sender": "receiver", "receiver": "sender", "sender_role": "receiver_role",
               "receiver_role": "sender_role"}  # fmt: skip
"""Field of what we send -> the field of what we receive that has its value."""
_AS_IT_IS = frozenset(("particulars", "function", "schema_version", "status_code"))
"""Fields that are left as a request has them by itself: they say how it is written, not what is asked."""


class _Values:
    """Values of fields that a market is known to use, by the class that has the field."""

    def __init__(self, subject: Subject, kind: str) -> None:
        self._held: dict[tuple[str, str], Any] = {}
        own = [one for one in subject.requests if one.get("kind") == kind]
        for example in [*own, *subject.requests]:
            cls = KINDS.get(str(example.get("kind")))
            if cls is not None:
                self._take(cls, example, "Request")
        for message in _incoming(subject):
            self._take(type(message), msgspec.to_builtins(message, builtin_types=(datetime, date, Decimal)), "Message")

    def _take(self, cls: type[Struct], fields: Any, owner: str) -> None:
        shape = shape_of(cls)
        for attribute in shape.attributes:
            value = fields.get(attribute.field)
            if value is not None:
                self._held.setdefault((owner, attribute.field), value)
        for child in shape.children:
            held = fields.get(child.field)
            for one in held if isinstance(held, list | tuple) else [held] if held else []:
                self._take(child.part, one, child.part.__name__)

    def value(self, owner: str, field: str, scalar: Scalar) -> Any:
        """A value of a field; of a part, by the part's class."""
        found = self._held.get((owner, field))
        if found is None and owner == "Request":
            found = self._held.get(("Message", _OF_PARTIES.get(field, field)))
            if type(found) is not _TYPES[scalar.name]:  # another field of the same name
                found = None
        return _any(scalar) if found is None or (scalar.words and found not in scalar.words) else found


def _incoming(subject: Subject) -> Iterator[KernelMessage]:
    for name, content in subject.members.items():
        try:
            found = read(subject.adapter, content, name)
        except Undigested:
            continue
        for transaction in found.transactions:
            yield from transaction.messages


def _any(scalar: Scalar) -> Any:
    """A value that a declaration allows."""
    if scalar.words:
        return scalar.words[0]
    if scalar.pattern:
        return next(one for one in _BY_PATTERN if re.fullmatch(scalar.pattern.strip("^$"), one))
    return scalar.least if scalar.name == "integer" and scalar.least is not None else _ANY[scalar.name]


def complete_request(subject: Subject, kind: str) -> KernelMessage:
    """A request with every field that its kind declares.

    Args:
      subject: whose examples and fixtures give the values.
      kind: of the request.
    """
    values = _Values(subject, kind)
    own = next((one for one in subject.requests if one.get("kind") == kind), {})
    fields = _filled(KINDS[kind], values, "Request") | {
        "market": subject.adapter.market,
        "market_type": own.get("market_type", kind),
        "reference": own.get("reference", "R-1"),
        "created": own.get("created", NOW),
        "effective": own.get("effective", NOW),
    }
    if "cancelled_kind" in fields:
        fields["cancelled_kind"] = own.get("cancelled_kind", min(subject.adapter.builds - {kind}, default=kind))
    return msgspec.convert(fields, KINDS[kind], strict=False)


def _filled(cls: type[Struct], values: _Values, owner: str) -> dict[str, Any]:
    shape = shape_of(cls)
    fields = {
        one.field: values.value(owner, one.field, one.scalar)
        for one in shape.attributes
        if one.field not in _AS_IT_IS and one.default is None
    }
    for child in shape.children:
        if child.part is not Particular:
            part = _filled(child.part, values, child.part.__name__)
            fields[child.field] = [part] if child.many else part
    return fields


def _built(subject: Subject, kind: str) -> tuple[KernelMessage, OutgoingMessage]:
    message = complete_request(subject, kind)
    built = subject.adapter.build(message, REFERENCE)
    if isinstance(built, Refusal):
        raise NotShown(f"it is not built: {told(built)}")
    return message, built


def _bare(subject: Subject, _: None) -> Faults:
    """A request with nothing in it but what every message has: what is missing is told, and nothing is made up."""
    for cls in OUTGOING:
        kind = cls.__name__
        fields = {one.field: _any(one.scalar) for one in shape_of(cls).attributes if one.required}
        fields |= {"market": subject.adapter.market, "market_type": kind, "created": NOW, "effective": NOW}
        message = msgspec.convert(fields, cls, strict=False)
        built = subject.adapter.build(message, REFERENCE)
        if built != subject.adapter.build(message, REFERENCE):
            yield f"{kind}: the same request gives other bytes when it is built again"
        if isinstance(built, Refusal):
            if not built.code.startswith("BUILD_"):
                yield f"{kind} is refused with {built.code}, a code BUILD_ is expected"
        elif kind not in subject.adapter.builds:
            yield f"{kind} is built, and stands not in builds"
    return f"{len(OUTGOING)} kinds"


def _complete(subject: Subject, kind: str) -> Faults:
    message = complete_request(subject, kind)
    yield from (f"the suite made no valid {kind}: {told(one)}" for one in explain(encode(message)))
    built = subject.adapter.build(message, REFERENCE)
    if isinstance(built, Refusal):
        yield f"it is refused: {told(built)}"
        return ""
    if built != subject.adapter.build(message, REFERENCE):
        yield "the same request gives other bytes when it is built again"
    if not built.content or not built.type or not built.content_type:
        yield f"content, type or content type is missing: {built.type!r}, {built.content_type!r}"
    if built.reference != REFERENCE:
        yield f"its reference is {built.reference!r}, {REFERENCE!r} was given"
    if "xml" in built.content_type:
        parsed = safexml.parse_bytes(built.content)
        if isinstance(parsed, Refusal):
            yield f"it is no XML: {told(parsed)}"
    elif "json" in built.content_type:
        json.loads(built.content)
    return f"{built.type}, {len(built.content)} bytes"


def _valid(subject: Subject, kind: str) -> Faults:
    _, built = _built(subject, kind)
    parsed = safexml.parse_bytes(built.content) if "xml" in built.content_type else None
    if parsed is None or isinstance(parsed, Refusal):
        raise NotShown("it is not written in XML")
    declared = _declarations(subject)
    for element in _outer(parsed):
        for schema in declared.get(local(str(element.tag)), ()):
            space = namespace_of(str(element.tag))
            if schema.target in (None, space):
                found = schema.check(element, None if schema.target else space)
                yield from (told(one) for one in (*found.refusals, *found.notes))
                return f"{schema.path.name}, {local(str(element.tag))}"
    raise NotShown(f"no schema of the package declares {local(str(parsed.tag))}")


def _declarations(subject: Subject) -> dict[str, list[Schema]]:
    """Name of an element -> the schemas of the package that declare it as a document."""
    found: dict[str, list[Schema]] = {}
    for path in sorted(subject.folder().rglob("*.xsd")):
        root = etree.parse(path, safexml.parser()).getroot()
        for element in root.iterchildren("{http://www.w3.org/2001/XMLSchema}element"):
            found.setdefault(element.get("name", ""), []).append(Schema(path))
    return found


def _outer(root: etree._Element) -> Iterable[etree._Element]:
    """The root, and what an envelope of SOAP has in it."""
    yield root
    for child in root:
        yield from (child, *child)


def _answered(subject: Subject, kind: str) -> Faults:
    if subject.adapter.simulator is None:
        raise NotShown("the market has no simulator that answers")
    clerk: Clerk = resolve_name(subject.adapter.simulator).clerk
    _, built = _built(subject, kind)
    asked = Asked(kind, built.content, built.reference, NOW)
    seen: set[str] = set()
    for what, documents in (("granted", clerk.accept(asked, NOW)), ("refused", clerk.refuse(asked, NOW, 0))):
        repeated = False
        for name, content in (part for one in documents for part in _members(f"{one.name}{one.suffix}", one.content)):
            found = read(subject.adapter, content, name)
            wrong = found.refusal or next((one for part in found.transactions for one in part.refusals), None)
            if wrong is not None:
                yield f"{what}: the answer {name} is refused: {told(wrong)}"
            messages = [message for part in found.transactions for message in part.messages]
            repeated = repeated or any(message.correlation == built.reference for message in messages)
            seen |= {type(message).__name__ for message in messages}
        if documents and not repeated:
            yield f"{what}: no message of the answer has our reference as its correlation"
    return ", ".join(sorted(seen))


def _members(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """A document, or what is in it where it is a zip."""
    if not name.endswith(".zip"):
        yield name, content
        return
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for member in archive.namelist():
            yield from _members(member, archive.read(member))


def _acknowledging(subject: Subject) -> Iterator[tuple[str, Acknowledging]]:
    if isinstance(subject.adapter, Acknowledging):
        yield "", subject.adapter


def _acknowledged(subject: Subject, adapter: Acknowledging) -> Faults:
    count = 0
    for name, content in subject.members.items():
        label = subject.adapter.dispatch(sniff(name, content))
        if isinstance(label, Refusal):
            continue
        said = [adapter.acknowledge(label, BytesIO(content), "A-1", NOW) for _ in range(2)]
        if said[0] != said[1]:
            yield f"{name} is acknowledged with other bytes when it is asked again"
        if isinstance(said[0], OutgoingMessage):
            count += 1
            content = said[0].content
            found = subject.adapter.dispatch(sniff("acknowledgement", content))
            if isinstance(found, str):
                answer = read(subject.adapter, content, "acknowledgement", found)
                if answer.refusal is not None:
                    yield f"the acknowledgement of {name} is not read: {told(answer.refusal)}"
    return f"{count} acknowledgements"


_EXAMPLE = ("Correct build; or give an example request of the kind, with values that the market takes, in the folder "
            "`requests` beside the fixtures.")  # fmt: skip

CHECKS: tuple[Check, ...] = (
    Check("bare request", "A request without content is built or refused with a code BUILD_, the same twice.",
          "Refuse what is missing (BUILD_MISSING), and kinds that are not built (BUILD_KIND).", all_of_it, _bare),
    Check("complete request", "A request with every field that its kind declares is built, the same twice.",
          _EXAMPLE, each_built_kind, _complete),
    Check("request schema", "A complete request is valid by the schema that the package has of it.",
          "Put the market's schema into the package; check what is written against it.", each_built_kind, _valid),
    Check("answer", "What the simulated market answers to a complete request is read, with our reference.",
          "Let the market's reference of our request become `correlation`.", each_built_kind, _answered),
    Check("acknowledgement", "Acknowledgements are the same twice, and read where they are of this market's types.",
          "See acknowledge in the contract.", _acknowledging, _acknowledged),
)  # fmt: skip
"""What is checked of the writing of requests."""
