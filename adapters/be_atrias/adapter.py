"""The Belgian adapter: what the clearing house sends to a supplier, and what a supplier asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from adapters.be_atrias import calorific, times
from adapters.be_atrias.codes import refusal
from adapters.be_atrias.documents import DIGESTERS, MARKET, Walk
from adapters.be_atrias.edifact import digesting as edifact
from adapters.be_atrias.edifact.control import control_answer
from adapters.be_atrias.mapping import Table, read_table, table
from adapters.be_atrias.requests import build, built_kinds
from adapters.common.adapter import MarketAdapter
from adapters.common.coverage import Ledger
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

ANSWER_WITHIN = timedelta(days=5)
"""How long an answer of the clearing house may take before the request is overdue; an assumption."""


def _types(mapping: Table) -> dict[str, DocumentType]:
    rows = {
        label: DocumentType(label, "xml", document.root, (mapping.version,), document.about)
        for label, document in mapping.documents.items()
        if label in DIGESTERS
    }
    rows[calorific.LABEL] = DocumentType(calorific.LABEL, "other", "GCVMonth", ("1",), calorific.ABOUT)
    rows[edifact.LABEL] = DocumentType(edifact.LABEL, "other", "UNB", ("D",), edifact.ABOUT)
    return rows


class BeAtrias(MarketAdapter):
    """Reads and writes the documents of the mapping table. Satisfies `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    refusal = staticmethod(refusal)
    market: str = MARKET
    zone: str = times.ZONE
    entry = Announcement(market_type="StartOfAccess", event="E65", whole_days=True)
    exit = Announcement(market_type="StopOfAccess", event="E20", whole_days=True)
    simulator: str | None = "adapters.be_atrias.simulator:simulator"

    def __init__(self, mapping: Table | None = None) -> None:
        """Args:
        mapping: the mapping table; ours by default.
        """
        mapping = mapping or table()
        self.mapping = mapping
        self.types: Mapping[str, DocumentType] = _types(mapping)
        self.builds: frozenset[str] = built_kinds(mapping)
        self.service: Mapping[str, str] = mapping.service
        self.answer_within: Mapping[str, timedelta] = dict.fromkeys(self.builds, ANSWER_WITHIN)
        self._roots = {document.root: document for document in mapping.documents.values()}

    def ledger(self) -> Ledger:
        """What becomes of each leaf of the documents. See `adapters.common.coverage`."""
        from adapters.be_atrias.ledger import ledger  # it reads the schemas, which nothing else does

        return ledger(self.mapping)

    def acknowledge(self, label: str, content: IO[bytes], reference: str, created: datetime) -> bytes | Refusal | None:
        """The CONTRL that answers an interchange of EDIFACT; documents want none. See `energycomm.market.contract`."""
        if label != edifact.LABEL:
            return None
        return control_answer(content, reference, created, self.mapping)

    def mapped(self, path: Path) -> BeAtrias:
        """The adapter with a licensee's table. See `energycomm.market.contract.Mappable`.

        Raises:
          ValueError: the table has a mistake; the text says where and what.
        """
        return BeAtrias(read_table(path))

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of a member's type: by root element and namespace, or by the first characters of a text.

        Returns:
          A label of `types`, or a refusal: TYPE_UNKNOWN for a document that we send ourselves, VERSION_UNKNOWN for a
          root we know in another namespace, TYPE_NOT_OURS for anything else.
        """
        expected = ", ".join(self.types)
        if sniff.form == "xml":
            document = self._roots.get(sniff.root or "")
            if document is None:
                return refusal("TYPE_NOT_OURS", sniff.name, sniff.root, expected)
            if sniff.namespace != document.namespace:
                return refusal("VERSION_UNKNOWN", sniff.name, sniff.namespace, document.namespace)
            if document.label not in self.types:
                return refusal("TYPE_UNKNOWN", sniff.name, sniff.root, expected)
            return document.label
        if sniff.form == "other" and sniff.root:
            if edifact.recognised(sniff.root):
                return edifact.LABEL
            if calorific.recognised(sniff.root, self.mapping):
                return calorific.LABEL
        return refusal("TYPE_NOT_OURS", sniff.name, sniff.root, expected)

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """The head and the transactions of a document, an interchange or a file of calorific values.

        Where the counters at the end of an interchange do not agree, a refusal comes after its transactions.
        """
        if label == edifact.LABEL:
            yield from edifact.parts(self.mapping, content)
        elif label == calorific.LABEL:
            yield from calorific.parts(self.mapping, content, name)
        else:
            yield from Walk(self.mapping, self.mapping.documents[label]).parts(content)

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """The document that asks the market for what a Kernel message says. See `adapters.be_atrias.requests`."""
        return build(self.mapping, message, reference)


adapter = BeAtrias()
"""What the entry point ``be`` of the group ``energycomm.adapters`` names."""
