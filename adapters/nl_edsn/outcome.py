"""What comes of one CH message: its Kernel messages or its refusals, with reference and identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Any, NamedTuple, TypeAlias

import msgspec
from lxml import etree

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import Context
from adapters.nl_edsn.reading import Fields, Unreadable, need, read, read_loosely
from adapters.nl_edsn.syntax import Schema
from adapters.nl_edsn.times import day, moment, start_of_day
from energycomm.kernel.family import FUNCTION_RANK, RANK
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal

Notes: TypeAlias = list[Refusal]
_FAULTS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What a digester's own mistake may raise on content that nobody foresaw: it must not harm the neighbours."""
_encode = msgspec.msgpack.Encoder().encode
_LONGEST_REFERENCE = 400
_LONGEST_POINT = 40


class Digested(NamedTuple):
    """What a digester makes of one CH message.

    Attributes:
      reference: the market's reference, or the most natural key.
      access_point: identifier as written.
      messages: Kernel messages, in any order.
    """

    reference: str
    access_point: str | None
    messages: Iterable[KernelMessage]


class Outcome(NamedTuple):
    """One CH message, digested or refused; the adapter numbers it. See `adapters.contract.Transaction`."""

    reference: str
    access_point: str | None
    identity: bytes
    messages: tuple[KernelMessage, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


class Digester(NamedTuple):
    """Reads one element as one CH message.

    Attributes:
      digest: Kernel messages of checked content; may raise `Unreadable`.
      refer: reference and access point of any content, however broken; never fails.
      answers: the CH message answers one request of ours as a whole, so that the header's CorrelationID belongs to it.
    """

    digest: Callable[[Fields, Context, Notes], Digested]
    refer: Callable[[Fields, Context], tuple[str, str | None]]
    answers: bool = False

    def outcome(self, element: etree._Element, context: Context, schema: Schema, namespace: str | None) -> Outcome:
        """Check, read and digest one element."""
        checked = schema.check(element, namespace)
        if checked.refusals:
            return self.refused(element, context, checked.refusals, checked.notes)
        notes: Notes = list(checked.notes)
        try:
            fields = read(element)
            digested = self.digest(fields, context, notes)
            messages = tuple(sorted(digested.messages, key=_order))
        except Unreadable as unreadable:
            return self.refused(element, context, (unreadable.refusal,), checked.notes)
        except _FAULTS as fault:
            found = f"{type(fault).__name__}: {fault}"
            failed = refusal("DIGEST_FAILED", path=str(element.tag), value=found)
            return self.refused(element, context, (failed,), checked.notes)
        return Outcome(
            digested.reference,
            digested.access_point,
            self.identity(context, digested.reference, fields),
            messages,
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
        identity = self.identity(context, reference, fields)
        return Outcome(reference, access_point and access_point[:_LONGEST_POINT], identity, (), refusals, notes)

    def identity(self, context: Context, reference: str, content: Any) -> bytes:
        """Sixteen bytes that are equal exactly for equal content of equal reference, type and sender.

        The header's times, MessageID and receiver do not enter: an answer that comes twice, because a request was
        repeated under a new MessageID after a time-out, is known as the same.
        """
        state = context.seed.copy()
        if self.answers:
            state.update(repr(context.correlation).encode("utf-8", "surrogatepass"))
        state.update(reference.encode("utf-8", "surrogatepass"))
        state.update(_encode(content))
        return state.digest()


def _order(message: KernelMessage) -> tuple[datetime, int, int]:
    return message.effective, RANK.get(type(message).__name__, 99), FUNCTION_RANK[message.function]


def needed_instant(fields: Fields, tag: str, path: str, notes: Notes) -> datetime:
    """The instant of a date-time field that must be there; a missing offset is noted.

    Raises:
      Unreadable: missing (SYN_MISSING) or a date that no calendar has (SYN_VALUE).
    """
    text = need(fields, tag, path)
    try:
        found = moment(text)
    except ValueError:
        raise Unreadable(
            refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected="a date-time in 1900 to 2199")
        ) from None
    if found.naive:
        notes.append(refusal("NOTE_TIME_NAIVE", path=f"{path}/{tag}", value=text, expected=found.at.isoformat()))
    return found.at


def civil_day(fields: Fields, tag: str, path: str) -> date | None:
    """The civil day of a field, None where it is missing.

    Raises:
      Unreadable: a day that no calendar has (SYN_VALUE).
    """
    text = fields.get(tag)
    if type(text) is not str:
        return None
    try:
        return day(text)
    except ValueError:
        raise Unreadable(
            refusal("SYN_VALUE", path=f"{path}/{tag}", value=text, expected="a day in 1900 to 2199")
        ) from None


def needed_day(fields: Fields, tag: str, path: str) -> tuple[date, datetime]:
    """The civil day of a field that must be there, and midnight in Amsterdam at its start.

    Raises:
      Unreadable: missing (SYN_MISSING) or a day that no calendar has (SYN_VALUE).
    """
    need(fields, tag, path)
    civil = civil_day(fields, tag, path)
    assert civil is not None
    return civil, start_of_day(civil)
