"""The contract of a market adapter. A new market is one folder with an object that satisfies `Adapter`, plus its rules.

Everything of one country but its rules is named here: its types, digesters and builders, its words, its correction
scripts, its simulator. The gateway knows a market by its adapter alone.

The gateway opens envelopes (decryption, zip, safety of XML) and hands each member to the adapter of its market as a
stream. The adapter says what the member is (`dispatch`), splits it into CH messages and digests each into Kernel
messages (`digest`). Bad content is a value (`Refusal`), never an exception: one bad transaction harms no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Literal, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.vocabulary import Role


class Sniff(NamedTuple):
    """What can be seen of a member without digesting it.

    Attributes:
      name: file name of the member, without folders.
      form: how the content is written.
      root: local name of the XML root element; the first keys, comma separated, of a JSON object;
        the first characters of any other text, some hundreds: an interchange of EDIFACT says there who wrote to whom,
        and after which guide.
      namespace: namespace of the XML root element.
      namespaces: namespaces that the beginning of an XML document declares: where the root is one that many share, a
        SOAP envelope, they tell whose content it carries.
    """

    name: str
    form: Literal["xml", "json", "other"]
    root: str | None = None
    namespace: str | None = None
    namespaces: tuple[str, ...] = ()


class Announcement(Struct, frozen=True, kw_only=True):
    """How a market announces that supply begins or ends: the plainest of its announcements.

    Attributes:
      market_type: message type of the market.
      event: its code of the event.
      sender: who announces it; that of the messages around it when None.
      sender_role: role of that sender.
      numbered: whether a number of the transaction is demanded.
      whole_days: whether supply begins and ends at midnight in the market's legal time.
    """

    market_type: str
    event: str
    sender: str | None = None
    sender_role: Role | None = None
    numbered: bool = False
    whole_days: bool = False


class Series(NamedTuple):
    """A file's place in a numbered series.

    Attributes:
      key: names the series within the market; two files of one key are numbered one after the other.
      number: the number in the file's name; None where numbers of this type say nothing (on-demand files).
      stamp: time stamp in the file's name, as written there.
    """

    key: str
    number: int | None
    stamp: str | None = None


LONGEST_NAME = 40
"""Characters of a type's label, a version and a party, as they are stored."""

DIGEST_FAILED = "DIGEST_FAILED"
"""Code of a CH message that a digester itself broke on: the market is not to blame, and it can be tried again."""


class Transaction(Struct, frozen=True, kw_only=True, gc=False):
    """One CH message: the smallest thing a market can accept or refuse, digested or refused.

    Attributes:
      position: number of the CH message within its member, from 1.
      type: the market's message type, C15.
      version: schema version it was read as.
      reference: the market's own reference, as natural as it has one; unique per content within (market, sender).
      access_point: identifier as written, None where none is concerned.
      sender: party that sent the member.
      identity: 16 bytes that are equal exactly for equal content of equal reference and sender, whatever envelope,
      header
        date or white space it came with. A second arrival of the same identity is a duplicate.
      messages: the Kernel messages, in business order; empty when refused.
      refusals: why it could not be digested; empty when it could.
      notes: what was noticed and did not prevent digestion.
    """

    position: int
    type: str
    version: str | None
    reference: str
    access_point: str | None
    sender: str | None
    identity: bytes
    messages: tuple[KernelMessage, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()


class OutgoingMessage(Struct, frozen=True, kw_only=True):
    """A message to the market, in the market's own form: built once, and the same bytes on every retry.

    Attributes:
      type: the market's message type or service.
      content: the bytes to send.
      reference: our message id, which the market repeats in its answers (`correlation` of the Kernel messages that
        `digest` makes of them).
      content_type: media type of the content, as a transport announces it.
    """

    type: str
    content: bytes
    reference: str
    content_type: str


class MemberHead(Struct, frozen=True, kw_only=True):
    """The header of a member, given once before its transactions.

    Attributes:
      type: the market's message type.
      declared_version: version the header declares; noted, never a reason to refuse.
      version: version the content was read as.
      sender, receiver: parties of the header.
      created: when the market wrote it, as written.
      announced: number of transactions the header announces, where it does.
      request: the market's reference of the request whose result, or a part of it, the member is.
      files: number of files that a report on that request announces; None where the member is no report.
      notes: what was noticed in the header.
    """

    type: str
    declared_version: str | None = None
    version: str | None = None
    sender: str | None = None
    receiver: str | None = None
    created: str | None = None
    announced: int | None = None
    request: str | None = None
    files: int | None = None
    notes: tuple[Refusal, ...] = ()


class DocumentType(NamedTuple):
    """One row of an adapter's visible table: how a member's type is recognised and what reads it."""

    label: str
    form: Literal["xml", "json", "other"]
    root: str
    versions: tuple[str, ...]
    about: str


@runtime_checkable
class Pollable(Protocol):
    """An adapter of a market that keeps things for us until we ask (optional)."""

    polls: tuple[str, ...]
    """Message types that fetch what waits."""

    def poll(self, name: str, sender: str, created: datetime, reference: str) -> OutgoingMessage | Refusal:
        """The message that fetches what waits.

        Args:
          name: one of `polls`.
          sender: our identifier.
          created: now, aware.
          reference: of this message; each has its own.
        """


@runtime_checkable
class Repeating(Protocol):
    """An adapter of a market that requires new bytes of some messages at each attempt (optional)."""

    def repeated(self, message: OutgoingMessage, attempt: int) -> bytes:
        """The bytes of a further attempt; those of the message where the market takes the same again.

        Args:
          message: as it was built.
          attempt: 1 for the first; every number always gives the same bytes.
        """


@runtime_checkable
class Batching(Protocol):
    """An adapter of a market that takes several requests in one message (optional)."""

    def batches(self, messages: Sequence[OutgoingMessage]) -> list[list[int]]:
        """Which messages go out as one: their numbers in groups, each number in one; a group of one goes out as it
        is.

        Args:
          messages: as they were built, in the order of sending.
        """

    def batch(self, messages: Sequence[OutgoingMessage], reference: str) -> bytes:
        """Several messages of one group as one; each keeps its own reference inside.

        Args:
          messages: two at least.
          reference: of the whole, another one each time: an answer that bears it answers all of them.
        """


@runtime_checkable
class Acknowledging(Protocol):
    """An adapter of a market whose senders expect an acknowledgement of syntax (optional).

    The daemon sends the acknowledgement of each member that came by a channel of the market, once per content.
    """

    def acknowledge(
        self, label: str, content: IO[bytes], reference: str, created: datetime
    ) -> OutgoingMessage | Refusal | None:
        """The acknowledgement of a member, or of its errors.

        Args:
          label: of the member's type.
          content: the member; read once.
          reference: ours, at most 14 characters.
          created: now, aware.

        Returns:
          The answer; None where none is wanted; a refusal where nobody is there to be answered.
        """


@runtime_checkable
class Listing(Protocol):
    """An adapter of a market that can send a list of the points that we supply (optional)."""

    lists: frozenset[str]
    """Labels of the document types that are such lists, or tell the points of one after the other."""


@runtime_checkable
class Totalling(Protocol):
    """An adapter of a market with registers of all hours (optional)."""

    totals: frozenset[str]
    """Time classes that stand for all hours: beside others of the same hours they tell the same energy once more."""


@runtime_checkable
class Personal(Protocol):
    """An adapter of a market whose documents tell of customers (optional)."""

    personal: frozenset[str]
    """Names of the elements whose content is a customer's, whatever stands below them, in documents and in the paths
    of particulars. The address of an installation is none."""


@runtime_checkable
class Keeping(Protocol):
    """An adapter of a market whose law says how long records are kept (optional)."""

    kept_by_law: Mapping[str, str]
    """What is kept when a customer is erased (``grid invoices``, ``requests``) -> the law, as it is cited."""


@runtime_checkable
class Registering(Protocol):
    """An adapter of a market in which the register number of an establishment begins with that of its company
    (optional)."""

    establishment_digits: int
    """Digits of an establishment's number."""
    company_digits: int
    """How many of them, the first ones, are the company's: who is a business alone is found by either."""


@runtime_checkable
class Noticing(Protocol):
    """An adapter of a market that tells of services of a point that run and stopped (optional)."""

    notices: frozenset[str]
    """Labels of the document types that tell it: each of their milestones is of one service, which stopped where its
    state is done, at the instant at which it takes effect."""


def notices_of(markets: Mapping[str, object]) -> dict[str, frozenset[str]]:
    """Market -> its types of messages that tell which services run and stopped; of those that have some."""
    return {code: one.notices for code, one in markets.items() if isinstance(one, Noticing)}


@runtime_checkable
class Coding(Protocol):
    """An adapter of a market that has codes of its own for what is refused for its form (optional)."""

    def coded(self, refused: Refusal) -> Refusal:
        """A refusal with the market's own code in its advice, where the market has one; else as it is.

        Args:
          refused: a refusal of the gateway or of the adapter; one that has the code already stays as it is.
        """


@runtime_checkable
class Carrying(Protocol):
    """An adapter that can say where in a document a Kernel field is read from (optional)."""

    def carriers(self, label: str, field: str) -> frozenset[str]:
        """Names of the leaves (elements, keys; attributes with ``@``) of a document type that carry a field.

        Args:
          label: of the document type.
          field: with its kind: ``MeterReading.registers.unit``.

        Returns:
          The names; none where the field comes from elsewhere, or no schema of the type is known.
        """


@runtime_checkable
class Mappable(Protocol):
    """An adapter with a table of names and codes that a licensee may replace (optional)."""

    def mapped(self, path: Path) -> Adapter:
        """The adapter with the table of a file.

        Raises:
          ValueError: the table has a mistake; the text says where and what.
        """


class Adapter(Protocol):
    """A market adapter, found through the entry point group ``energycomm.adapters``."""

    market: str
    """ISO code of the market: FR."""
    zone: str
    """IANA name of the market's legal time."""
    types: Mapping[str, DocumentType]
    """Every document type the adapter digests, by label."""
    builds: frozenset[str]
    """Names of the outgoing Kernel kinds that `build` knows."""
    answer_within: Mapping[str, timedelta]
    """Kind -> how long the market may take to answer before a request is overdue; of others the gateway's own time."""
    entry: Announcement
    """How supply is announced to begin: what a start that follows from the history is written as."""
    exit: Announcement
    """How supply is announced to end."""
    service: Mapping[str, str]
    """What the elements of the market's message service are called, for a channel of the kind ``message-queue``."""
    scripts: Path | None
    """Folder of correction scripts for what only this market's rules refuse."""
    simulator: str | None
    """Where the market's simulator is, as ``module:object``; it is imported when somebody asks for it."""

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of the member's type (`Dispatch_in`), or a refusal: unknown type, unknown version.

        A member that is not of this market at all gives the refusal code ``TYPE_NOT_OURS``. Where several markets write
        in one form, sender, receiver or guide have to say that it is this one: two markets that claim one document are
        a refusal, unless it came by a channel of one of them.
        """

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """Split one member and digest its CH messages (`Parser_in`, `Digester_i`).

        Yields one `MemberHead`, then a `Transaction` per CH message. A `Refusal` ends the member: its header could not
        be read. The stream is read once, in constant memory. The content was checked before: well-formed, no DOCTYPE,
        bounded size.
        """

    def explain(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every schema error of one CH message of a member, for a person: path, value found, what was expected.

        Slow and thorough, where `digest` is quick. `position` is that of the `Transaction`.
        """

    def series(self, name: str) -> Series | Refusal | None:
        """The place of an envelope's file name in its numbered series.

        None: the name says nothing of a series (a plain XML file). A refusal: the name matches no known pattern.
        """

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """Write one outgoing Kernel message in the market's form (`Builder_i`), one to one.

        Deterministic: the same message and reference give the same bytes. The adapter checks what it wrote against its
        own schema of the market's form; whatever cannot be written gives a refusal with a code ``BUILD_...``.

        Args:
          message: a message of one of the kinds `builds`.
          reference: our message id, to be repeated by the market.
        """
