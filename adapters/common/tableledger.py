"""The ledger of a market that a table describes: the leaves are those of the schemas that its documents name, the
reasons those of the leaves that it leaves out. Nothing has to be written for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from adapters.common.coverage import LeafPath, Ledger, LedgerDocument, Reason, example_values, write_json, write_xml
from adapters.common.schemaleaves import SchemaDocument, SchemaElement, documents_of
from adapters.common.table import Document, Leaf, Node, Table

_TRIED = 4
"""Values of a leaf that are tried: another code may be one that changes nothing."""
_READ = ("xml", "json")


def table_ledger(table: Table) -> Ledger:
    """The documents of a table whose schema it names, with what it leaves out; the others are unknown.

    Args:
      table: of the market.

    Raises:
      adapters.common.schemaleaves.SchemaFault: a schema cannot be read.
    """
    documents: list[LedgerDocument] = []
    reasons: list[Reason] = []
    unknown: list[str] = []
    for document in table.documents.values():
        declared = _declared(document)
        if declared is None:
            unknown.append(document.label)
            continue
        leaves = dict(declared.root.leaves())
        told = dict(_leaves(document))
        documents.append(
            LedgerDocument(
                label=document.label,
                type=document.label,
                root=declared.root,
                namespace=declared.namespace,
                qualified=declared.qualified,
                values={
                    "/".join(path): values
                    for number, (path, element) in enumerate(leaves.items())
                    if (values := _values(table, told.get(path), element, number))
                },
                name=f"member.{declared.form}",
                single=["/".join(path) for path, leaf in told.items() if _is_single(table, leaf)],
                write=write_json if declared.form == "json" else write_xml,
            )
        )
        reasons += _reasons(document.label, told, leaves)
    return Ledger(documents, table.path, reasons, unknown)


def _declared(document: Document) -> SchemaDocument | None:
    """The declaration of a document in its schema."""
    if document.described is None:
        return None
    found = documents_of(document.described)
    return next((one for one in found if one.root.name == document.root and one.form in _READ), None)


def _leaves(document: Document) -> Iterator[tuple[LeafPath, Leaf]]:
    """The leaves of a table, by their paths below the root."""
    yield from _below(document.head, ())
    for path, piece in document.pieces.items():
        yield from _below(piece.node, path)


def _below(node: Node, above: LeafPath) -> Iterator[tuple[LeafPath, Leaf]]:
    for name, child in node.children.items():
        path = (*above, name)
        if child.leaf is not None:
            yield path, child.leaf
        yield from _below(child, path)


def _reasons(label: str, told: dict[LeafPath, Leaf], leaves: dict[LeafPath, SchemaElement]) -> Iterator[Reason]:
    """A row for each element that is left out, and one for what stands below it."""
    for path, leaf in told.items():
        if leaf.left_out is None:
            continue
        below = any(other[: len(path)] == path and other != path for other in leaves)
        if path in leaves or not below:
            yield Reason(label, "/".join(path), leaf.left_out)
        if below:
            yield Reason(label, f"{'/'.join(path)}/*", leaf.left_out)


def _values(table: Table, leaf: Leaf | None, element: SchemaElement, number: int) -> Sequence[str]:
    """Texts that both the schema and the table take for a leaf; none where the table says nothing of it."""
    if leaf is None or leaf.left_out is not None:
        return ()
    if leaf.codes is not None:
        made: Iterator[str] = (code for code in table.codes[leaf.codes].words if code and element.allows(code))
    else:
        made = (text for text in example_values(element, number) if _takes(table, leaf, text))
    return list(islice(made, _TRIED))


def _is_single(table: Table, leaf: Leaf) -> bool:
    """Whether the table has one code alone for a leaf: no other value of it is known."""
    return leaf.codes is not None and len(table.codes[leaf.codes].words) == 1


def _takes(table: Table, leaf: Leaf, text: str) -> bool:
    kind = table.types["text" if leaf.type == "code" else leaf.type]
    longest = table.longest.get(leaf.type)
    try:
        kind.convert(text)
    except (ValueError, ArithmeticError):
        return False
    places = [target.place for target in leaf.targets if target.place is not None and target.place.form == "text"]
    return (longest is None or len(text) <= longest) and all(place.fault(text) is None for place in places)
