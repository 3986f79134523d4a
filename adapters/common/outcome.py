"""What comes of one CH message: its Kernel messages or its refusals, with reference and identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
from lxml import etree

from adapters.common.codes import Unreadable, refusal
from adapters.common.reading import Fields, read, read_loosely
from adapters.common.schemas import Schema
from energycomm.kernel.family import FUNCTION_RANK, RANK
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Transaction

Notes: TypeAlias = list[Refusal]
Beside: TypeAlias = Callable[[tuple[KernelMessage, ...], Fields], tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]]
"""Adds to the messages of a CH message what its content says beside them, and notes."""
FAULTS = (Exception,)
"""What a digester's own mistake may raise on content that nobody foresaw: it must not harm the neighbours."""
_encode = msgspec.msgpack.Encoder().encode
LONGEST_REFERENCE = 400
LONGEST_POINT = 40


class Head(Protocol):
    """What a market's header must give: the hash of market, sender and type that identities go on from."""

    @property
    def seed(self) -> blake2b:
        """Left as it is: a copy of it goes on."""


C = TypeVar("C", bound=Head)


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
    """One CH message, digested or refused; the adapter numbers it. See `energycomm.market.contract.Transaction`."""

    reference: str
    access_point: str | None
    identity: bytes
    messages: tuple[KernelMessage, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()
    version: str | None = None

    def transaction(self, position: int, message_type: str, sender: str | None, version: str | None) -> Transaction:
        """The CH message with its number, as the contract wants it.

        Args:
          position: within the member, from 1.
          message_type: the market's.
          sender: party that sent the member.
          version: that the content was read as.
        """
        return Transaction(
            position=position,
            type=message_type,
            version=version,
            reference=self.reference,
            access_point=self.access_point,
            sender=sender,
            identity=self.identity,
            messages=self.messages,
            refusals=self.refusals,
            notes=self.notes,
        )


class Digester(NamedTuple, Generic[C]):
    """Reads one element as one CH message.

    Attributes:
      digest: Kernel messages of checked content; may raise `Unreadable`.
      refer: reference and access point of any content, however broken; never fails.
      read: content of a checked element.
      version: version the content is of, where content tells it.
      salt: what of the header belongs to the content, and so enters its identity.
    """

    digest: Callable[[Fields, C, Notes], Digested]
    refer: Callable[[Fields, C], tuple[str, str | None]]
    read: Callable[[etree._Element], Fields] = read
    version: Callable[[Fields, C], str | None] | None = None
    salt: Callable[[C], str] | None = None

    def outcome(
        self,
        element: etree._Element,
        context: C,
        schema: Schema,
        namespace: str | None = None,
        beside: Beside | None = None,
    ) -> Outcome:
        """Check, read and digest one element.

        Args:
          element: of the CH message.
          context: of its member.
          schema: of the element.
          namespace: of the message.
          beside: adds to the messages what the content says beside them, and notes.
        """
        checked = schema.check(element, namespace)
        if checked.refusals:
            return self.refused(element, context, checked.refusals, checked.notes)
        try:
            return self._digested(self.read(element), context, list(checked.notes), beside)
        except Unreadable as unreadable:
            return self.refused(element, context, (unreadable.refusal,), checked.notes)
        except FAULTS as fault:
            found = f"{type(fault).__name__}: {fault}"
            failed = refusal("DIGEST_FAILED", path=str(element.tag), value=found)
            return self.refused(element, context, (failed,), checked.notes)

    def outcome_of(self, fields: Fields, context: C, beside: Beside | None = None) -> Outcome | None:
        """Digest content that its schema accepts and that was read already.

        Args:
          fields: the content.
          context: of its member.
          beside: as for `outcome`.

        Returns:
          The outcome; None where there is something to refuse, which `outcome` does.
        """
        try:
            return self._digested(fields, context, [], beside)
        except FAULTS:
            return None

    def _digested(self, fields: Fields, context: C, notes: Notes, beside: Beside | None) -> Outcome:
        digested = self.digest(fields, context, notes)
        messages = tuple(digested.messages)
        if len(messages) > 1:
            messages = tuple(sorted(messages, key=business_order))
        if beside is not None:
            messages, left = beside(messages, fields)
            notes += left
        version = self.version(fields, context) if self.version else None
        identity = self._identity(context, digested.reference, fields)
        return Outcome(digested.reference, digested.access_point, identity, messages, (), tuple(notes), version)

    def refused(
        self, element: etree._Element, context: C, refusals: tuple[Refusal, ...], notes: tuple[Refusal, ...]
    ) -> Outcome:
        """The outcome of an element that cannot be digested."""
        fields = read_loosely(element)
        reference, access_point = self.refer(fields, context)
        reference = reference[:LONGEST_REFERENCE]
        identity = self._identity(context, reference, fields)
        return Outcome(reference, access_point and access_point[:LONGEST_POINT], identity, (), refusals, notes)

    def _identity(self, context: C, reference: str, content: Any) -> bytes:
        return identity(context, self.salt(context) + reference if self.salt else reference, content)


def identity(context: Head, reference: str, content: Any) -> bytes:
    """Sixteen bytes that are equal exactly for equal content of equal reference, type and sender.

    The header's times, versions, message ids and receiver do not enter, nor does white space around elements and
    values: an answer that comes twice, because a request was repeated after a time-out, is known as the same.
    """
    state = context.seed.copy()
    state.update(reference.encode("utf-8", "surrogatepass"))
    state.update(_encode(content))
    return state.digest()


def business_order(message: KernelMessage) -> tuple[datetime, int, int]:
    """What the messages of one CH message are sorted by."""
    return message.effective, RANK.get(type(message).__name__, 99), FUNCTION_RANK[message.function]
