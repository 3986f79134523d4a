"""The Belgian adapter: what the clearing house sends to a supplier, and what a supplier asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import IO

from adapters.be_atrias import calorific, measure, structure
from adapters.be_atrias.codes import OWN
from adapters.be_atrias.edifact import digesting as edifact
from adapters.be_atrias.edifact.control import control_answer
from adapters.be_atrias.mapping import ended_by_answer, read_table, table, type_of
from adapters.be_atrias.requests import build, built_kinds
from adapters.common.coverage import Ledger
from adapters.common.pieces import Values
from adapters.common.table import Document, Table
from adapters.common.tableadapter import Digest, TableAdapter
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import (
    DocumentType,
    MemberHead,
    OutgoingMessage,
    Sniff,
    Transaction,
)

ANSWER_WITHIN = timedelta(days=5)
"""How long an answer of the clearing house may take before the request is overdue; an assumption."""


_OTHERS = {
    calorific.LABEL: DocumentType(calorific.LABEL, "other", "GCVMonth", ("1",), calorific.ABOUT),
    edifact.LABEL: DocumentType(edifact.LABEL, "other", "UNB", ("D",), edifact.ABOUT),
}
"""Types of what the mapping table does not describe."""


class BeAtrias(TableAdapter):
    """Reads and writes the documents of the mapping table. Satisfies `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    simulator: str | None = "adapters.be_atrias.simulator:simulator"
    lists = frozenset(("StartOfAccess", "MasterData"))
    """The accesses that began, and the data of points; both come for many points in one document."""
    totals = frozenset(("TH",))

    personal = frozenset(("ConsumerInvolvedCustomerParty", "ForwardingAddress"))
    kept_by_law: Mapping[str, str] = {
        "grid invoices": "Code de la TVA, article 60 : dix ans (Wetboek btw, artikel 60: tien jaar)",
        "requests": "ancien Code civil, article 2262bis : prescription de dix ans (oud Burgerlijk Wetboek: tien jaar)",
    }

    def __init__(self, mapping: Table | None = None) -> None:
        """Args:
        mapping: the mapping table; ours by default.
        """
        super().__init__(mapping or table(), self._made_by(), OWN)
        self.types = {**self.types, **_OTHERS}
        self.builds = built_kinds(self.table)
        self.service: Mapping[str, str] = {name: str(word) for name, word in self.table.raw["service"].items()}
        self.answer_within: Mapping[str, timedelta] = dict.fromkeys(self.builds, ANSWER_WITHIN)
        self._ended = ended_by_answer(self.table)

    def _made_by(self) -> dict[str, Digest]:
        """Name of a digester of the mapping table -> what makes Kernel messages of the values of a piece."""
        return {
            "start_of_access": structure.start_of_access,
            "stop_of_access": structure.stop_of_access,
            "change_of_access": structure.change_of_access,
            "master_data": structure.master_data,
            "meter_readings": measure.meter_readings,
            "metered_series": measure.metered_series,
            "cancellation": structure.cancellation,
            "response": self._response,
        }

    def _response(self, values: Values, head: Values) -> list[KernelMessage]:
        """An answer, and the end of a request after which nothing more comes."""
        ended = structure.answered(values, head) if head.get("reason") in self._ended else []
        return [*structure.response(values, head), *ended]

    def ledger(self) -> Ledger:
        """What becomes of each leaf of the documents. See `adapters.common.coverage`."""
        from adapters.be_atrias.ledger import ledger  # it reads the schemas, which nothing else does

        return ledger(self.table)

    def acknowledge(
        self, label: str, content: IO[bytes], reference: str, created: datetime
    ) -> OutgoingMessage | Refusal | None:
        """The CONTRL that answers an interchange of EDIFACT; documents want none. See `energycomm.market.contract`."""
        if label != edifact.LABEL:
            return None
        return control_answer(content, reference, created, self.table)

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
        if sniff.form == "other" and sniff.root:
            if edifact.recognised(sniff.root):
                return edifact.LABEL
            if calorific.recognised(sniff.root, self.table):
                return calorific.LABEL
        return super().dispatch(sniff)

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """The head and the transactions of a document, an interchange or a file of calorific values.

        Where the counters at the end of an interchange do not agree, a refusal comes after its transactions.
        """
        if label == edifact.LABEL:
            return edifact.parts(self.table, content)
        if label == calorific.LABEL:
            return calorific.parts(self.table, content, name)
        return super().parts(label, content, name)

    def noticed(self, document: Document, values: Values) -> Sequence[Refusal]:
        """A type in the header that is not the document's. See `TableAdapter.noticed`."""
        declared, expected = values["type"], type_of(self.table, document)
        path = next(f"{document.root}/{leaf.path}" for leaf in document.head.leaves() if leaf.name == "type")
        return [] if declared == expected else [self.refusal("NOTE_TYPE_DECLARED", path, declared, expected)]

    def seed(self, document: Document, values: Values, raw: Mapping[str, str]) -> blake2b:
        """The hash that identities go on from: market, type, sender, reason, role and energy."""
        told = (values[name] for name in ("sender", "market_reason", "sender_role", "energy"))
        entering = repr((self.market, document.label, *told))
        return blake2b(entering.encode("utf-8", "surrogatepass"), digest_size=16)

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """The document that asks the market for what a Kernel message says. See `adapters.be_atrias.requests`."""
        return build(self.table, message, reference)


adapter = BeAtrias()
"""What the entry point ``be`` of the group ``energycomm.adapters`` names."""
