"""The Dutch adapter: what EDSN sends to a supplier, and what a supplier asks of EDSN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from lxml import etree

from adapters.common.adapter import MarketAdapter, with_explained
from adapters.common.codes import Unreadable
from adapters.common.coverage import Ledger
from adapters.common.outcome import Outcome
from adapters.common.particulars import Particulars
from adapters.common.reading import local, namespace_of, read
from adapters.common.schemas import bare
from adapters.nl_edsn import faults
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.envelope import Opened, opened
from adapters.nl_edsn.header import EDSN, HEADER, MARKET, Context, context
from adapters.nl_edsn.requests import ANSWER_WITHIN, BUILDERS, POLLS, build, poll, repeated
from adapters.nl_edsn.times import ZONE
from adapters.nl_edsn.types import BY_LABEL, BY_ROOT, PREFIXES, SOAP, SOAP_NAMESPACES, TYPES, Row, contents
from energycomm.kernel import safexml
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import (
    Announcement,
    DocumentType,
    MemberHead,
    OutgoingMessage,
    Sniff,
    Transaction,
)

PARTICULARS = Particulars(Path(__file__).parent / "particulars.csv")


class NlEdsn(MarketAdapter):
    """Reads the messages of `adapters.nl_edsn.types` and writes those of `adapters.nl_edsn.requests`. Satisfies
    `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    refusal = staticmethod(refusal)
    market: str = MARKET
    zone: str = ZONE
    types: Mapping[str, DocumentType] = TYPES
    builds: frozenset[str] = frozenset(BUILDERS)
    answer_within: Mapping[str, timedelta] = ANSWER_WITHIN
    polls: tuple[str, ...] = POLLS
    entry = Announcement(
        market_type="GainResultResponse",
        event="MOVEIN",
        sender=EDSN,
        sender_role="clearing-house",
        numbered=True,
        whole_days=True,
    )
    exit = Announcement(
        market_type="LossResultResponse",
        event="EOSUPPLY",
        sender=EDSN,
        sender_role="clearing-house",
        numbered=True,
        whole_days=True,
    )
    simulator: str | None = "adapters.nl_edsn.simulator:simulator"

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of a member's type, by its root element and namespace.

        Returns:
          A label of `types`, or a refusal: TYPE_UNKNOWN for a message of EDSN that no digester reads, VERSION_UNKNOWN
          for one that we read in another namespace, TYPE_NOT_OURS for anything else.
        """
        namespace = sniff.namespace or ""
        if sniff.form == "xml" and sniff.root is not None:
            if sniff.root == "Envelope" and namespace in SOAP_NAMESPACES:
                if any(declared.startswith(PREFIXES) for declared in sniff.namespaces):
                    return SOAP
                return refusal("TYPE_NOT_OURS", path=sniff.name, value=sniff.root, expected=", ".join(TYPES))
            if sniff.root == "Envelope" and namespace:
                return refusal("VERSION_UNKNOWN", path=sniff.name, value=namespace, expected=", ".join(SOAP_NAMESPACES))
            row = BY_ROOT.get(sniff.root)
            if row is not None and namespace in row.namespaces:
                return row.label
            if row is not None:
                return refusal("VERSION_UNKNOWN", path=sniff.name, value=namespace, expected=", ".join(row.namespaces))
            if namespace.startswith(PREFIXES):
                return refusal("TYPE_UNKNOWN", path=sniff.name, value=sniff.root, expected=", ".join(TYPES))
        return refusal("TYPE_NOT_OURS", path=sniff.name, value=sniff.root, expected=", ".join(TYPES))

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; a name that a channel gave an answer tells what it answers. See
        `adapters.common.adapter.MarketAdapter.parts`."""
        position = 0
        head: Context | None = None
        for found, outcome, _, versions in _Member(label, name).outcomes(content):
            if head is None:
                head = found
                yield head.member_head(versions)
            if outcome is not None:
                position += 1
                version = versions[-1] if versions and not outcome.refusals else None
                yield outcome.transaction(position, head.type, head.sender, version)

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message. See `adapters.common.adapter.MarketAdapter.errors`."""
        passed = 0
        for _, outcome, piece, _ in _Member(label, name).outcomes(content):
            if outcome is None:
                continue
            passed += 1
            if passed == position:
                if piece is None:
                    return outcome.refusals
                row, element = piece
                return with_explained(row.schema.explain(element), outcome.refusals)
        return []

    def ledger(self) -> Ledger:
        """What becomes of each leaf of EDSN's messages. See `adapters.common.coverage`."""
        from adapters.nl_edsn.ledger import ledger  # it reads the schemas, which nothing else does

        return ledger()

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """EDSN's own bytes of a request. See `adapters.nl_edsn.requests.build`."""
        return build(message, reference)

    def poll(self, name: str, sender: str, created: datetime, reference: str) -> OutgoingMessage | Refusal:
        """What fetches one of EDSN's lists. See `adapters.nl_edsn.requests.polls`."""
        return poll(name, sender, created, reference)

    def repeated(self, message: OutgoingMessage, attempt: int) -> bytes:
        """A further attempt: a P4 query gets another MessageID. See `adapters.nl_edsn.requests.repeated`."""
        return repeated(message, attempt)


class _Member:
    """The walk through one member: its header first, then its pieces."""

    def __init__(self, label: str, name: str) -> None:
        self.label = label
        self.name = name

    def outcomes(
        self, content: IO[bytes]
    ) -> Iterator[tuple[Context, Outcome | None, tuple[Row, etree._Element] | None, tuple[str, ...]]]:
        """The head alone first, then each outcome with its row and element."""
        envelope: Opened | None = None
        if self.label == SOAP:
            envelope, content = opened(content)
            if envelope is not None and envelope.fault:
                yield from self._fault(content)
                return
        row = self._row(envelope)
        if row is None:
            # Nothing of EDSN inside: the stream says whether it is damaged, and if not, what is missing.
            for _ in safexml.iterate(content, "{*}" + HEADER):
                pass
            raise Unreadable(_headless())
        namespace = envelope.namespace if envelope is not None else None
        yield from self._pieces(row, namespace, content)

    def _row(self, envelope: Opened | None) -> Row | None:
        if self.label != SOAP:
            return BY_LABEL[self.label]
        if envelope is None:
            return None
        row = BY_ROOT.get(envelope.root)
        if row is None:
            code = "TYPE_UNKNOWN" if (envelope.namespace or "").startswith(PREFIXES) else "ROOT_UNEXPECTED"
            raise Unreadable(refusal(code, path="Envelope/Body", value=envelope.root, expected=", ".join(BY_ROOT)))
        if envelope.namespace not in row.namespaces:
            expected = ", ".join(row.namespaces)
            path = f"Envelope/Body/{envelope.root}"
            raise Unreadable(refusal("VERSION_UNKNOWN", path=path, value=envelope.namespace, expected=expected))
        return row

    def _pieces(
        self, row: Row, namespace: str | None, content: IO[bytes]
    ) -> Iterator[tuple[Context, Outcome | None, tuple[Row, etree._Element] | None, tuple[str, ...]]]:
        names = sorted({contents(row, known) for known in row.namespaces})
        tags = [f"{{*}}{HEADER}", *(f"{{*}}{name}" for name in names)]
        head: Context | None = None
        versions: tuple[str, ...] = ()
        for element in safexml.iterate(content, tags):
            parent = element.getparent()
            if local(str(element.tag)) == HEADER:
                if head is None and parent is not None and local(str(parent.tag)) == row.root:
                    namespace = namespace_of(str(element.tag))
                    if namespace not in row.namespaces:
                        expected = ", ".join(row.namespaces)
                        raise Unreadable(refusal("VERSION_UNKNOWN", path=HEADER, value=namespace, expected=expected))
                    versions = (row.versions[row.namespaces.index(namespace)],)
                    head = _with_name(context(read(element), row.label, _number(namespace)), self.name)
                    yield head, None, None, versions
                continue
            if parent is None or (grandparent := _document(element, row)) is None or grandparent != row.root:
                continue  # one wanted element inside another: the outer one's schema check refuses it
            if head is None:
                raise Unreadable(_headless())
            outcome = row.digester.outcome(element, head, row.schema, namespace)
            messages, notes = PARTICULARS.added(outcome.messages, row.label, element)
            outcome = outcome._replace(messages=messages, notes=(*outcome.notes, *notes))
            yield head, outcome, (row, element), versions
        if head is None:
            raise Unreadable(_headless())

    def _fault(
        self, content: IO[bytes]
    ) -> Iterator[tuple[Context, Outcome | None, tuple[Row, etree._Element] | None, tuple[str, ...]]]:
        soap_header: etree._Element | None = None
        for element in safexml.iterate(content, ("{*}Header", "{*}Fault")):
            if local(str(element.tag)) == "Header":
                soap_header = bare(element)
                continue
            head = faults.fault_context(soap_header, self.name)
            yield head, None, None, ("1.0",)
            yield head, faults.outcome(element, head), None, ("1.0",)


def _document(element: etree._Element, row: Row) -> str | None:
    """The root of the business document that a piece stands in: its parent for a content, the parent of its content
    else."""
    parent = element.getparent()
    if parent is not None and row.piece in ("P4MeteringPoint", "Portaal_MeteringPoint"):
        if local(str(parent.tag)) not in ("P4Content", "Portaal_Content"):
            return None
        parent = parent.getparent()
    return None if parent is None else local(str(parent.tag))


def _with_name(head: Context, name: str) -> Context:
    """A header that names no request takes it from the name under which the channel kept the answer."""
    if head.correlation is not None:
        return head
    return head._replace(correlation=faults.kept_as(name).reference)


def _number(namespace: str | None) -> str | None:
    """The number in a namespace: ``2`` of ``urn:nedu:edsn:data:p4...:2:standard``."""
    parts = (namespace or "").split(":")
    return parts[-2] if len(parts) > 2 else None


def _headless() -> Refusal:
    return refusal("HEADER_MISSING", path=HEADER, expected=HEADER)


adapter = NlEdsn()
"""What the entry point ``nl`` of the group ``energycomm.adapters`` names."""
