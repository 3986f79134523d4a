"""The Dutch adapter: what EDSN sends to a supplier, and what a supplier asks of EDSN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from lxml import etree

from adapters.common.adapter import MarketAdapter, with_explained
from adapters.common.codes import Unreadable
from adapters.common.coverage import Ledger
from adapters.common.outcome import Outcome
from adapters.common.particulars import Particulars, with_particulars
from adapters.common.pattern import Pattern
from adapters.common.reading import Fields, local, namespace_of, read
from adapters.common.runs import Runs
from adapters.common.schemas import bare
from adapters.nl_edsn import faults
from adapters.nl_edsn.codes import refusal, unknown_codes
from adapters.nl_edsn.envelope import opened
from adapters.nl_edsn.header import EDSN, HEADER, MARKET, Context, context
from adapters.nl_edsn.requests import ANSWER_WITHIN, BUILDERS, POLLS, batch, batches, build, poll, repeated
from adapters.nl_edsn.settings import DEFAULT, Settings, read_settings
from adapters.nl_edsn.times import ZONE
from adapters.nl_edsn.types import OF_OPERATORS, PREFIXES, SENT_ENDS, SOAP, SOAP_NAMESPACES, Row, types_of
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


def _announced(market_type: str, event: str) -> Announcement:
    return Announcement(
        market_type=market_type,
        event=event,
        sender=EDSN,
        sender_role="clearing-house",
        numbered=True,
        whole_days=True,
    )


class Piece(NamedTuple):
    """One CH message: of which header, what comes of it, and its row and element where it is no fault."""

    head: Context
    outcome: Outcome
    row: Row | None = None
    element: etree._Element | None = None


class NlEdsn(MarketAdapter):
    """Reads the messages of `adapters.nl_edsn.types` and writes those of `adapters.nl_edsn.requests`. Satisfies
    `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    refusal = staticmethod(refusal)
    market: str = MARKET
    zone: str = ZONE
    builds: frozenset[str] = frozenset(BUILDERS)
    answer_within: Mapping[str, timedelta] = ANSWER_WITHIN
    polls: tuple[str, ...] = POLLS
    entry = _announced("GainResultResponse", "MOVEIN")
    exit = _announced("LossResultResponse", "EOSUPPLY")
    totals = frozenset(("T",))
    personal = frozenset(("GridContractParty",))
    kept_by_law: Mapping[str, str] = {
        "grid invoices": "Algemene wet inzake rijksbelastingen, artikel 52, vierde lid: zeven jaar",
        "requests": "Burgerlijk Wetboek, Boek 3, artikel 307: verjaring na vijf jaar",
    }
    simulator: str | None = "adapters.nl_edsn.simulator:simulator"
    lists = frozenset(
        (
            "GainResultResponse",
            "MasterDataResponse",
            "MasterDataUpdateResponse",
            "GetMeteringPointResponse",
        )
    )
    """The points that came to a supplier, and the master data of those that it asked for; what a batch of queries asked
    for comes in the list of updates. MasterDataGain is no such list: it tells no day, and a supply may be still to
    begin."""

    def __init__(self, settings: Settings = DEFAULT) -> None:
        """Args:
        settings: versions of the messages, and what goes out in batches.
        """
        self.settings = settings
        self.types: Mapping[str, DocumentType] = types_of(settings.rows)
        self.rows = {row.label: row for row in settings.rows}

    def mapped(self, path: Path) -> NlEdsn:
        """The adapter with a licensee's settings. See `adapters.nl_edsn.settings`.

        Raises:
          ValueError: the file has a mistake; the text says where and what.
        """
        return NlEdsn(read_settings(path))

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of a member's type, by its root element and namespace.

        Returns:
          A label of `types`, or a refusal: TYPE_UNKNOWN for a message of EDSN that no digester reads, VERSION_UNKNOWN
          for one that we read in another namespace, TYPE_NOT_OURS for anything else.
        """
        namespace = sniff.namespace or ""
        if sniff.form == "xml" and sniff.root == "Envelope" and namespace:
            if namespace not in SOAP_NAMESPACES:
                return refusal("VERSION_UNKNOWN", sniff.name, namespace, ", ".join(SOAP_NAMESPACES))
            if any(declared.startswith(PREFIXES) for declared in sniff.namespaces):
                return SOAP
        elif sniff.form == "xml" and sniff.root is not None:
            row = self._row(sniff.root, namespace, sniff.name, "TYPE_NOT_OURS")
            return row if isinstance(row, Refusal) else row.label
        return refusal("TYPE_NOT_OURS", sniff.name, sniff.root, ", ".join(self.types))

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; a name that a channel gave an answer tells what it answers. See
        `adapters.common.adapter.MarketAdapter.parts`."""
        position = 0
        for found in self._walk(label, content, name):
            if isinstance(found, Context):
                yield found.member_head()
                continue
            position += 1
            head, outcome = found.head.head, found.outcome
            version = None if outcome.refusals else found.head.version
            yield outcome.transaction(position, head["market_type"], head["sender"], version)

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message. See `adapters.common.adapter.MarketAdapter.errors`."""
        pieces = (found for found in self._walk(label, content, name, at_once=False) if isinstance(found, Piece))
        for piece in islice(pieces, position - 1, position):
            if piece.row is None or piece.element is None:
                return piece.outcome.refusals
            return with_explained(piece.row.schema.explain(piece.element), piece.outcome.refusals)
        return []

    def ledger(self) -> Ledger:
        """What becomes of each leaf of EDSN's messages. See `adapters.common.coverage`."""
        from adapters.nl_edsn.ledger import ledger  # it reads the schemas, which nothing else does

        return ledger()

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """EDSN's own bytes of a request. See `adapters.nl_edsn.requests.build`."""
        return build(message, reference, self.settings)

    def poll(self, name: str, sender: str, created: datetime, reference: str) -> OutgoingMessage | Refusal:
        """What fetches one of EDSN's lists. See `adapters.nl_edsn.requests.polls`."""
        return poll(name, sender, created, reference, settings=self.settings)

    def repeated(self, message: OutgoingMessage, attempt: int) -> bytes:
        """A further attempt has another MessageID. See `adapters.nl_edsn.requests.repeated`."""
        return repeated(message, attempt)

    def batches(self, messages: Sequence[OutgoingMessage]) -> list[list[int]]:
        """Which messages go out as one. See `adapters.nl_edsn.requests.batches`."""
        return batches(messages, self.settings)

    def batch(self, messages: Sequence[OutgoingMessage], reference: str) -> bytes:
        """Several messages as one. See `adapters.nl_edsn.requests.batch`."""
        return batch(messages, reference)

    def _row(self, root: str, namespace: str | None, path: str, stranger: str) -> Row | Refusal:
        """The row of a root element in a namespace, or why there is none.

        Args:
          root: local name.
          namespace: of the root.
          path: where it was found.
          stranger: code for what is no message of EDSN.
        """
        row = self.rows.get(root.removesuffix("Envelope"))
        if row is None or row.root != root:
            if not (namespace or "").startswith(PREFIXES):
                return refusal(stranger, path, root, ", ".join(self.types))
            expected = ", ".join(self.types)
            if root.startswith(OF_OPERATORS):
                expected = f"a message for a supplier; {root} is one of grid operators"
            elif root.endswith(SENT_ENDS):
                expected = f"a message that EDSN sends to a supplier; {root} is one that parties send to EDSN"
            return refusal("TYPE_UNKNOWN", path, root, expected)
        if namespace not in row.namespaces:
            return refusal("VERSION_UNKNOWN", path, namespace, ", ".join(row.namespaces))
        return row

    def _walk(self, label: str, content: IO[bytes], name: str, *, at_once: bool = True) -> Iterator[Context | Piece]:
        """The header of a member, then its pieces; where they are not read `at_once`, each with its element."""
        if label != SOAP:
            yield from _pieces(self.rows[label], (), content, name, at_once)
            return
        body, content = opened(content)
        if body is None:
            # Nothing of EDSN inside: the stream says whether it is damaged, and if not, what is missing.
            for _ in safexml.iterate(content, "{*}" + HEADER):
                pass
            raise Unreadable(_headless())
        if body.fault:
            yield from _fault(content, name)
            return
        row = self._row(body.root, body.namespace, "Envelope/Body", "ROOT_UNEXPECTED")
        if isinstance(row, Refusal):
            raise Unreadable(row)
        yield from _pieces(row, ("Envelope", "Body"), content, name, at_once)


def _pieces(
    row: Row, above: tuple[str, ...], content: IO[bytes], name: str, at_once: bool
) -> Iterator[Context | Piece]:
    header = (*above, row.root, HEADER)
    paths = {(*above, row.root, *path) for path in row.pieces}
    pattern = _pattern(row) if at_once else None
    runs = None if pattern is None else Runs(content, pattern, row.namespaces)
    head: Context | None = None
    beside = partial(_beside, row, None)
    for element in safexml.iterate(runs or content, sorted({f"{{*}}{path[-1]}" for path in (header, *paths)})):
        run = None if runs is None else runs.taken(element)
        path, namespace = _path(element), namespace_of(str(element.tag))
        if path == header and head is None:
            if namespace not in row.namespaces:
                raise Unreadable(refusal("VERSION_UNKNOWN", HEADER, namespace, ", ".join(row.namespaces)))
            head = context(read(element), row.label, namespace, row.versions[row.namespaces.index(namespace)])
            if head.correlation is None:  # the name under which the channel kept the answer may tell it
                head = head._replace(correlation=faults.kept_as(name).reference)
            yield head
        elif path in paths:  # one wanted element inside another is refused by the outer one's schema
            if head is None:
                raise Unreadable(_headless())
            if run is None:
                yield _piece(row, head, element, _outcome(row, head, element))
                continue
            for one in run:
                outcome = row.digester.outcome_of(one.fields, head, beside) if namespace == head.namespace else None
                if outcome is None:
                    whole = one.element(namespace)
                    yield _piece(row, head, whole, _outcome(row, head, whole))
                else:
                    yield _piece(row, head, None, outcome)
    if head is None:
        raise Unreadable(_headless())


def _outcome(row: Row, head: Context, element: etree._Element) -> Outcome:
    return row.digester.outcome(element, head, row.schema, head.namespace, partial(_beside, row, element))


_attributed = etree.XPath("boolean(.//@*)")


def _beside(
    row: Row, element: etree._Element | None, messages: tuple[KernelMessage, ...], fields: Fields
) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
    """What a CH message says beside its messages; of an element with attributes that is read once more, with them."""
    other = element is not None and (row.digester.read is not read or _attributed(element))
    return PARTICULARS.added(messages, row.label, element if element is not None and other else fields)


def _piece(row: Row, head: Context, element: etree._Element | None, outcome: Outcome) -> Piece:
    if codes := list(unknown_codes(outcome.notes)):
        messages, more = with_particulars(outcome.messages, codes)
        outcome = outcome._replace(messages=messages, notes=(*outcome.notes, *more))
    return Piece(head, outcome, row, element)


ORDERED = frozenset(("P4MeteringPoint",))
"""Elements that hold a CH message whose own ones stand in the order of our schema; those of the register stand in that
of each message."""


@cache
def _expression(path: Path, name: str) -> Pattern:
    return Pattern(path, name)


def _pattern(row: Row) -> Pattern | None:
    """What reads most CH messages of a row at once; None where they are read as trees."""
    names = {path[-1] for path in row.pieces}
    if len(names) > 1 or not names <= ORDERED or row.digester.read is not read:
        return None
    return _expression(row.schema.path, *names)


def _fault(content: IO[bytes], name: str) -> Iterator[Context | Piece]:
    soap_header: etree._Element | None = None
    head: Context | None = None
    for element in safexml.iterate(content, ("{*}Header", "{*}Fault")):
        if local(str(element.tag)) == "Header":
            soap_header = bare(element)
            continue
        if head is None:
            head = faults.fault_context(soap_header, name)
            yield head
        yield Piece(head, faults.outcome(element, head))


def _path(element: etree._Element) -> tuple[str, ...]:
    """Local names from the root to an element."""
    return tuple(reversed([local(str(one.tag)) for one in (element, *element.iterancestors())]))


def _headless() -> Refusal:
    return refusal("HEADER_MISSING", path=HEADER, expected=HEADER)


adapter = NlEdsn()
"""What the entry point ``nl`` of the group ``energycomm.adapters`` names."""
