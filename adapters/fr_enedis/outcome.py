"""What comes of one CH message: its Kernel messages or its refusals, with reference and identity."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NamedTuple, TypeAlias

import msgspec
from lxml import etree

from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.header import Context
from adapters.fr_enedis.reading import Fields, Unreadable, read, read_loosely
from adapters.fr_enedis.syntax import Schema
from adapters.fr_enedis.times import day, moment
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal

Notes: TypeAlias = list[Refusal]
_FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What a digester's own mistake may raise on content that nobody foresaw: it must not harm the neighbours."""
_encode = msgspec.msgpack.Encoder().encode
_LONGEST_REFERENCE = 400
_MOJIBAKE = ("Ã", "Â", "â€", "Å")


class Digested(NamedTuple):
    """What a digester makes of one CH message.

    Attributes:
      reference: the market's reference, or the most natural key.
      access_point: identifier as written.
      messages: Kernel messages in business order.
    """

    reference: str
    access_point: str | None
    messages: tuple[KernelMessage, ...]


class Outcome(NamedTuple):
    """One CH message, digested or refused; the adapter numbers it. See `adapters.contract.Transaction`."""

    reference: str
    access_point: str | None
    version: str | None
    identity: bytes
    messages: tuple[KernelMessage, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


class Digester(NamedTuple):
    """Reads one element as one CH message.

    Attributes:
      digest: Kernel messages of checked content; may raise `Unreadable`.
      refer: reference and access point of any content, however broken; never fails.
      version: version the content is of; the declared one where content and declaration agree.
      read: content of a checked element.
    """

    digest: Callable[[Fields, Context, Notes], Digested]
    refer: Callable[[Fields, Context], tuple[str, str | None]]
    version: Callable[[Fields, str | None], str]
    read: Callable[[etree._Element], Fields] = read

    def outcome(self, element: etree._Element, context: Context, schema: Schema) -> Outcome:
        """Check, read and digest one element."""
        checked = schema.check(element)
        if checked.refusals:
            return self.refused(element, context, checked.refusals, checked.notes)
        notes: Notes = list(checked.notes)
        try:
            fields = self.read(element)
            digested = self.digest(fields, context, notes)
            version = self.version(fields, context.declared)
        except Unreadable as unreadable:
            return self.refused(element, context, (unreadable.refusal,), checked.notes)
        except _FAULTS as fault:
            found = f"{type(fault).__name__}: {fault}"
            return self.refused(
                element, context, (refusal("DIGEST_FAILED", path=str(element.tag), value=found),), checked.notes
            )
        return Outcome(
            digested.reference,
            digested.access_point,
            version,
            identity(context, digested.reference, fields),
            digested.messages,
            (),
            tuple(notes),
        )

    def refused(
        self, element: etree._Element, context: Context, refusals: tuple[Refusal, ...], notes: tuple[Refusal, ...]
    ) -> Outcome:
        """The outcome of an element that cannot be digested."""
        fields = read_loosely(element)
        reference, access_point = self.refer(fields, context)
        reference = reference[:_LONGEST_REFERENCE]
        return Outcome(
            reference,
            access_point and access_point[:40],
            None,
            identity(context, reference, fields),
            (),
            refusals,
            notes,
        )


def identity(context: Context, reference: str, content: Any) -> bytes:
    """Sixteen bytes that are equal exactly for equal content of equal reference, flux and sender.

    The header's date, versions and receiver do not enter, nor does white space around elements and values.
    """
    state = context.seed.copy()
    state.update(reference.encode("utf-8", "surrogatepass"))
    state.update(_encode(content))
    return state.digest()


def instant(fields: Fields, tag: str, path: str, notes: Notes) -> datetime | None:
    """The instant of a date-time field, None where it is missing; a missing offset is noted.

    Raises:
      Unreadable: a date that no calendar has (SYN_VALUE).
    """
    text = fields.get(tag)
    if text is None:
        return None
    try:
        read_as = moment(text)
    except ValueError:
        raise Unreadable(
            refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected="a date-time in 1900 to 2199")
        ) from None
    if read_as.naive:
        notes.append(refusal("NOTE_TIME_NAIVE", path=f"{path}/{tag}", value=text, expected=read_as.at.isoformat()))
    return read_as.at


def needed_instant(fields: Fields, tag: str, path: str, notes: Notes) -> datetime:
    """The instant of a date-time field that must be there.

    Raises:
      Unreadable: missing (SYN_MISSING) or a date that no calendar has (SYN_VALUE).
    """
    read_as = instant(fields, tag, path, notes)
    if read_as is None:
        raise Unreadable(refusal("SYN_MISSING", path=f"{path}/{tag}", expected="a date-time"))
    return read_as


def civil_day(fields: Fields, tag: str, path: str) -> date | None:
    """The civil day of a field, None where it is missing.

    Raises:
      Unreadable: a day that no calendar has (SYN_VALUE).
    """
    text = fields.get(tag)
    if text is None:
        return None
    try:
        return day(text)
    except ValueError:
        raise Unreadable(
            refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected="a day in 1900 to 2199")
        ) from None


def flag(fields: Fields, tag: str) -> bool | None:
    """An xs:boolean, None where it is missing."""
    text = fields.get(tag)
    return None if text is None else text in ("1", "true")


def whole(fields: Fields, tag: str) -> int | None:
    """A whole number, None where it is missing."""
    text = fields.get(tag)
    return None if text is None else int(text)


def words(fields: Fields, tag: str, path: str, notes: Notes) -> str | None:
    """A label; one that was encoded in UTF-8 twice is repaired and noted."""
    text: str | None = fields.get(tag)
    if text is None or text.isascii() or not any(mark in text for mark in _MOJIBAKE):
        return text
    for encoding in ("cp1252", "latin-1"):
        try:
            repaired = text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        notes.append(refusal("NOTE_LABEL_REPAIRED", path=f"{path}/{tag}", value=text, expected=repaired))
        return repaired
    return text
