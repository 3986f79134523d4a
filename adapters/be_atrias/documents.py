"""The walk through one XML document: its header and context first, then each payload as one CH message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from lxml import etree

from adapters.be_atrias import measure, structure
from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import Document, Table
from adapters.be_atrias.reading import Reading, Values, fingerprint
from adapters.common.codes import Unreadable
from adapters.common.outcome import FAULTS, business_order
from adapters.common.particulars import Particulars
from energycomm.kernel import safexml
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import MemberHead, Transaction

MARKET = "BE"
PARTICULARS = Particulars(Path(__file__).parent / "particulars.csv")
DIGESTERS: dict[str, Callable[[Values, dict[str, Any]], list[KernelMessage]]] = {
    "StartOfAccess": structure.start_of_access,
    "StopOfAccess": structure.stop_of_access,
    "ChangeOfAccess": structure.change_of_access,
    "MasterData": structure.master_data,
    "MeterReadings": measure.meter_readings,
    "MeteredSeries": measure.metered_series,
    "GridFeeInvoice": measure.grid_fee_invoice,
    "GridFee": measure.grid_fee,
    "Cancellation": structure.cancellation,
    "Response": structure.response,
    "ErrorReport": structure.error_report,
}
"""Label of a document -> what makes Kernel messages of its values."""


class Walk:
    """One document while it is read."""

    def __init__(self, table: Table, document: Document) -> None:
        self.table, self.document = table, document
        self.reading = Reading(table)
        self.heads: set[str] = set()
        self.head: dict[str, Any] = {}
        self.seed = blake2b(digest_size=16)
        self.position = 0

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions.

        Raises:
          Unreadable, safexml.Unreadable: the document ends badly or its header cannot be read.
        """
        for element in self._pieces(content):
            if not self.head:
                yield self._open()
            yield self._transaction(element)
        if not self.head:
            yield self._open()

    def _pieces(self, content: IO[bytes]) -> Iterator[etree._Element]:
        document = self.document
        space = f"{{{document.namespace}}}"
        wanted = [space + tag for tag in (document.piece.tag, *document.head.children)]
        for element in safexml.iterate(content, wanted):
            parent = element.getparent()
            if parent is None or parent.getparent() is not None:
                continue  # one wanted element inside another: the outer one's reading notes it
            if parent.tag != space + document.root:
                raise Unreadable(refusal("ROOT_UNEXPECTED", value=str(parent.tag), expected=document.root))
            tag = str(element.tag)[len(space) :]
            if tag == document.piece.tag:
                yield element
            elif tag not in self.heads:
                self.heads.add(tag)
                self.reading.walk(element, document.head.children[tag], document)

    def _open(self) -> MemberHead:
        document, reading = self.document, self.reading
        for tag in document.head.children:
            if tag not in self.heads:
                raise Unreadable(refusal("HEADER_MISSING", path=tag, expected=tag))
        if reading.refusals:
            first = reading.refusals[0]
            raise Unreadable(refusal("HEADER_INVALID", first.path, first.value, first.expected))
        values, raw = reading.values, reading.raw
        notes = list(reading.notes)
        if values["type"] != document.type:
            path = document.head.tag + "/" + "DocumentType"
            notes.append(refusal("NOTE_TYPE_DECLARED", path, values["type"], document.type))
        self.head = {
            "market": MARKET,
            "energy": values["energy"],
            "market_type": document.label,
            "market_reason": raw["reason"],
            "reason": values.get("reason"),
            "created": values["created"],
            "sender": values["sender"],
            "receiver": values["receiver"],
            "sender_role": values["role"],
            "receiver_role": "supplier",
        }
        entering = (MARKET, document.label, values["sender"], raw["reason"], values["role"], values["energy"])
        self.seed.update(repr(entering).encode("utf-8", "surrogatepass"))
        return MemberHead(
            type=document.label,
            version=self.table.version,
            sender=values["sender"],
            receiver=values["receiver"],
            created=raw["created"],
            notes=tuple(notes),
        )

    def _transaction(self, element: etree._Element) -> Transaction:
        self.position += 1
        reading = Reading(self.table)
        reading.walk(element, self.document.piece, self.document)
        messages: tuple[KernelMessage, ...] = ()
        if not reading.refusals:
            try:
                messages = tuple(sorted(self._messages(reading.values), key=business_order))
            except FAULTS as fault:
                found = f"{type(fault).__name__}: {fault}"
                reading.refusals.append(refusal("DIGEST_FAILED", self.document.piece.tag, found))
        messages, notes = PARTICULARS.added(messages, self.document.label, element)
        reference = reading.values.get("reference") or "-"
        point = reading.values.get("access_point")
        return Transaction(
            position=self.position,
            type=self.document.label,
            version=self.table.version,
            reference=reference,
            access_point=point,
            sender=self.head["sender"],
            identity=fingerprint(element, self.seed),
            messages=messages,
            refusals=tuple(reading.refusals),
            notes=(*reading.notes, *notes),
        )

    def _messages(self, values: Values) -> list[KernelMessage]:
        messages = DIGESTERS[self.document.label](values, self.head)
        if self.document.label == "Response" and self.head["reason"] in self.table.ended_by_answer:
            messages += structure.answered(values, self.head)
        return messages
