"""What the ledger of the table has to know besides: values that decide what other leaves become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adapters.common.coverage import Ledger, LedgerDocument, Reason
from adapters.common.table import Leaf, Node, Table
from adapters.dk_energinet.documents import declarable

_SAID_OF_DOCUMENT = {
    "document": "names one delivery of the document: the next has another",
    "type": "is held against the document, which is known by its root",
}
_WITH_VALUE = {"*/QuantityMissing": ""}
_WITHOUT_VALUE = {"*/EnergyQuantity": "", "*/QuantityQuality": "", "*/QuantityQuality/*": ""}
_US = "5790009000013"
_SETTINGS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "DK_MeteredDataTimeSeries": (_WITH_VALUE, _WITHOUT_VALUE),
    "DK_AggregatedMeteredDataTimeSeries": (_WITH_VALUE, _WITHOUT_VALUE),
    "DK_NotifyAggregatedWholesaleServices": (_WITH_VALUE, _WITHOUT_VALUE),
    "AccountingPointCharacteristics": (
        {},
        {
            "process.processType": "E03",
            "receiver_MarketParticipant.mRID": _US,
            "energySupplier_MarketParticipant.mRID": _US,
        },
    ),
}
"""Label -> documents in which leaves count that do not in others."""


def with_settings(ledger: Ledger, table: Table) -> Ledger:
    """The ledger of the hub.

    Args:
      ledger: as the table alone gives it.
      table: of the hub.
    """
    heads = {label: list(_leaves(document.head, ())) for label, document in table.documents.items()}
    rows = [
        Reason(label, path, _SAID_OF_DOCUMENT[leaf.name])
        for label, leaves in heads.items()
        for path, leaf in leaves
        if leaf.name in _SAID_OF_DOCUMENT
    ]
    documents = [_with(one, heads[one.label], declarable(one.label)) for one in ledger.documents]
    return ledger._replace(documents=documents, rows=[*ledger.reasoned(), *rows])


def _with(document: LedgerDocument, head: Sequence[tuple[str, Leaf]], declared: Sequence[str]) -> LedgerDocument:
    types = {path: declared for path, leaf in head if leaf.name == "type" and declared}
    # A name at the end of a path is meant wherever it stands: types of charges, points and addresses have their own.
    others = {
        "/".join(path): [code for code in leaf.codes if code]
        for path, leaf in document.root.leaves()
        if len(path) > 1 and path[-1] in types and leaf.codes
    }
    others |= {"/".join(path): ["DK", "SE"] for path, _ in document.root.leaves() if path[-1] == "country"}
    settings = _SETTINGS.get(document.label, document.settings)
    return document._replace(values={**others, **document.values, **types}, settings=settings)


def _leaves(node: Node, above: tuple[str, ...]) -> Iterator[tuple[str, Leaf]]:
    for name, child in node.children.items():
        if child.leaf is not None:
            yield "/".join((*above, name)), child.leaf
        yield from _leaves(child, (*above, name))
