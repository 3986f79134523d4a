"""The adapter: documents are read by `table.yaml`; this file has what a table cannot say of a whole document.
Satisfies `energycomm.market.contract.Adapter`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import IO

from msgspec import structs

from adapters.common.codes import Unreadable
from adapters.common.coverage import Ledger
from adapters.common.pieces import Values
from adapters.common.table import Document
from adapters.common.tableadapter import TableAdapter
from adapters.dk_energinet import requests
from adapters.dk_energinet.choices import choices
from adapters.dk_energinet.codes import ADDED, OWN, refusal, with_hub_code
from adapters.dk_energinet.digesting import DIGESTERS
from adapters.dk_energinet.documents import TABLE, declarable
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, OutgoingMessage, Sniff, Transaction

_MOST_REMEMBERED = 1 << 17
"""Identifiers of one document that are remembered: so many transactions are more than any document of the hub has."""

_OF_HUB = re.compile(r"DK_[A-Za-z]{1,80}|[A-Za-z]{1,80}_MarketDocument")
_SPACES = ("urn:ediel.org:", "un:unece:260:data:EEM-DK_")
"""Roots and namespaces of documents that are the hub's, whether they are read or not."""
_NONE = "-"
"""Reference of a transaction that has none."""


class Energinet(TableAdapter):
    """Reads and writes what the Danish hub defines. An object may be used by several threads."""

    form: requests.Form = "xml"
    """In which requests are written."""
    service: Mapping[str, str] = {"known": "00101"}
    """Of the queue of the hub: it refuses a document that it has with 00101. The paths are those of the kind."""
    strict = True
    wrapped = frozenset(("minute", "position", "amount", "version"))
    builds: frozenset[str] = requests.KINDS
    answer_within: Mapping[str, timedelta] = dict.fromkeys(requests.KINDS, timedelta(days=1))
    lists = frozenset(("AccountingPointCharacteristics",))
    simulator: str | None = "adapters.dk_energinet.simulator:simulator"
    personal = frozenset(
        (
            "firstCustomer_MarketParticipant.mRID",
            "firstCustomer_MarketParticipant.name",
            "secondCustomer_MarketParticipant.mRID",
            "secondCustomer_MarketParticipant.name",
            "marketEvaluationPoint.customer_MarketParticipant.mRID",
            "marketEvaluationPoint.customer_MarketParticipant.name",
            "UsagePointLocation",
        )
    )

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """See `TableAdapter.dispatch`; refusals bear the hub's own code too."""
        found = super().dispatch(sniff)
        if isinstance(found, str):
            return found
        of_hub = [name for name in (sniff.root or "").split(",") if _OF_HUB.fullmatch(name.strip())]
        if found.code == "TYPE_NOT_OURS" and (of_hub or (sniff.namespace or "").startswith(_SPACES)):
            root = of_hub[0] if of_hub else sniff.root
            found = refusal("TYPE_UNKNOWN", sniff.name, root, ", ".join(self.types))
        return with_hub_code(found)

    def coded(self, refused: Refusal) -> Refusal:
        """See `energycomm.market.contract.Coding`. What no market knows the hub refuses like what is not its own."""
        of_gateway = refused.code == "TYPE_UNKNOWN" and not refused.advice.startswith(ADDED)
        read_as = structs.replace(refused, code="TYPE_NOT_OURS") if of_gateway else refused
        return structs.replace(with_hub_code(read_as), code=refused.code)

    def digest(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """See `TableAdapter.digest`; refusals bear the hub's own code too."""
        for part in super().digest(label, content, name):
            if isinstance(part, Refusal):
                yield with_hub_code(part)
            elif isinstance(part, Transaction) and part.refusals:
                yield structs.replace(part, refusals=tuple(with_hub_code(one) for one in part.refusals))
            else:
                yield part

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """See `TableAdapter.parts`. The second transaction of an identifier is refused, and a document in another form
        than its name announces."""
        seen: set[str] = set()
        for part in super().parts(label, content, name):
            if isinstance(part, MemberHead):
                told = next((note for note in part.notes if note.code == "NOTE_FORM"), None)
                if told is not None:
                    raise Unreadable(refusal("FORM_UNEXPECTED", "", told.value, told.expected))
            elif isinstance(part, Transaction):
                if part.reference in seen:
                    part = structs.replace(part, messages=(), refusals=(*part.refusals, _twin(part)))
                elif part.reference != _NONE and len(seen) < _MOST_REMEMBERED:
                    seen.add(part.reference)
            yield part

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """See `TableAdapter.errors`, and whether the identifier stood before."""
        held = content.read()
        found = [with_hub_code(one) for one in super().errors(label, BytesIO(held), name, position)]
        for part in self.parts(label, BytesIO(held), name):
            if isinstance(part, Transaction) and part.position == position:
                found += [with_hub_code(one) for one in part.refusals if one.code == "TRANSACTION_REPEATED"]
                break
        return found

    def noticed(self, document: Document, values: Values) -> Sequence[Refusal]:
        """Nothing; a header that declares the type of another document is refused.

        Raises:
          Unreadable: so it is (TYPE_DECLARED).
        """
        declared = values.get("type")
        known = declarable(document.label)
        if declared is not None and known and declared not in known:
            raise Unreadable(refusal("TYPE_DECLARED", f"{document.root}/type", declared, " or ".join(known)))
        return ()

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """The document that asks for what a Kernel message says, in XML or in JSON."""
        return requests.build(message, reference, self.form)

    def mapped(self, path: Path) -> Energinet:
        """The adapter with the choices of a licensee: the form of requests, and the names of the hub's queue.

        Args:
          path: of a file in YAML with `form` (``xml`` or ``json``), `service`, or both.

        Raises:
          ValueError: the file cannot be read, or has a mistake.
        """
        made = Energinet(TABLE, digesters=DIGESTERS, codes=OWN)
        made.form, service = choices(path)
        made.service = {**self.service, **service}
        return made

    def ledger(self) -> Ledger:
        """See `TableAdapter.ledger`; what a header says of its document alone is not kept."""
        from adapters.dk_energinet.ledger import with_settings  # its schemas are read when somebody asks

        return with_settings(super().ledger(), self.table)


def _twin(part: Transaction) -> Refusal:
    return refusal("TRANSACTION_REPEATED", "mRID", part.reference, "an identifier for each transaction")


adapter = Energinet(TABLE, digesters=DIGESTERS, codes=OWN)
"""What the entry point ``dk`` of the group ``energycomm.adapters`` names."""
