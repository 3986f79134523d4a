"""The ledger of a market: every leaf of what it sends is carried by a Kernel field, kept as a particular, or left out
with a reason.

What is carried is measured, not declared: a document with every leaf of its schema is written and digested; then one
leaf after the other gets another valid value, and the fields of the Kernel messages that change are what carries it.
What changes nothing has to stand in the market's table of reasons, a CSV file of the columns document, path and reason.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

import msgspec
from lxml import etree

from adapters.common.schemaleaves import SchemaElement
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead

Outcome: TypeAlias = Literal["carried", "particular", "left-out", "missing"]
LeafPath: TypeAlias = tuple[str, ...]
COLUMNS = ["document", "path", "reason"]
OPEN = "*"
"""Name of the leaf that stands for content which a schema leaves open."""
ONE_VALUE = "one value alone is taken"
"""In place of a field: what a leaf says that may say nothing else."""
_STRANGE = "no-such-code"
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
SHORTEST_REASON = 20
"""Characters: less is no sentence that tells a supplier why he does not see a value."""

_EXAMPLES: dict[str, tuple[str, ...]] = {
    "instant": ("2026-03-0{d}T00:00:00+01:00", "2026-03-0{d}T00:00:00"),
    "day": ("2026-03-0{d}",),
    "number": ("1{n}.5", "{d}.5", "{n}", "{d}"),
    "whole": ("1{n}", "{d}"),
    "flag": ("true", "false"),
}
_FORMS = (
    "{name}-{n}", "V{n}", "{n}", "{d}", "2026-03-0{d}", "2026-03-0{d}T00:00:00+01:00", "2026-03-0{d}T00:00:00",
    "2026-03-0{d}T00:00:00Z", "2026-03-0{d}T00:00Z", "0{d}:00:00", "--03-0{d}", "2026030{d}", "2026030{d}0000",
    "2026030{d}000000", "EU{l}", "AB{l}{l}", "00{d}", "{n:08}", "{n:013}", "{n:014}", "{n:018}",
    "00000000-0000-4000-8000-{n:012}", "PT{d}H",
)  # fmt: skip
"""What a text may be tried as where its type has a pattern or a length."""


class LedgerDocument(NamedTuple):
    """One document that a market sends, as the ledger sees it.

    Attributes:
      label: of the adapter's types, with what tells it from others of that type.
      type: label of the adapter's types.
      root: its elements: those of the schema, with the header where that stands in no schema of ours.
      namespace: of the root.
      qualified: its children are in that namespace too.
      values: path as `matches` reads it -> values to try, the first of them in the document that is changed.
      settings: values of whole documents, tried one after the other: what a leaf becomes may depend on a code, or on
        another leaf that is not there (an empty value).
      name: file name of a member.
      write: makes the bytes of a member.
      single: paths of leaves of which one value alone is known: what becomes of any other is measured.
    """

    label: str
    type: str
    root: SchemaElement
    namespace: str | None = None
    qualified: bool = False
    values: Mapping[str, Sequence[str]] = {}
    settings: Sequence[Mapping[str, str]] = ({},)
    name: str = "member.xml"
    write: Callable[[LedgerDocument, Mapping[LeafPath, str]], bytes] | None = None
    single: Sequence[str] = ()


class Ledger(NamedTuple):
    """What an adapter gives to be measured.

    Attributes:
      documents: that the market sends.
      reasons: the file of what is left out, and why.
      rows: the rows of that file, where it is no table of reasons of its own.
      unknown: labels of types of which no schema is known.
    """

    documents: Sequence[LedgerDocument]
    reasons: Path
    rows: Sequence[Reason] | None = None
    unknown: Sequence[str] = ()

    def reasoned(self) -> Sequence[Reason]:
        """The reasons.

        Raises:
          LedgerFault: the file is missing or has other columns.
        """
        return read_reasons(self.reasons) if self.rows is None else self.rows


@runtime_checkable
class Ledgered(Protocol):
    """An adapter that keeps a ledger."""

    def ledger(self) -> Ledger:
        """Its documents and reasons."""


def ledgered(adapter: Adapter) -> Ledger | None:
    """The ledger of an adapter, made once; None where it keeps none."""
    return _ledger(adapter) if isinstance(adapter, Ledgered) else None


@lru_cache(maxsize=16)  # of a market each: reading its schemas takes seconds
def _ledger(adapter: Any) -> Ledger:
    found: Ledger = adapter.ledger()
    return found


class Reason(NamedTuple):
    """A row of the table of reasons."""

    document: str
    path: str
    reason: str


class Entry(NamedTuple):
    """What becomes of one leaf.

    Attributes:
      path: below the root.
      outcome: one of the three, or ``missing``: it is in none.
      fields: Kernel fields that carry it.
      reason: why it is left out.
    """

    path: str
    outcome: Outcome
    fields: tuple[str, ...] = ()
    reason: str = ""


class LedgerFault(ValueError):
    """A ledger cannot be made; the text says why."""


def read_reasons(path: Path) -> list[Reason]:
    """The rows of a table of reasons.

    Raises:
      LedgerFault: the file is missing or has other columns.
    """
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if rows.fieldnames != COLUMNS:
                raise LedgerFault(f"{path}: the columns are {', '.join(COLUMNS)}")
            return [Reason(row["document"], row["path"], row["reason"] or "") for row in rows]
    except OSError as error:
        raise LedgerFault(f"{path}: {error.strerror or error}") from None


def matches(pattern: str, path: str) -> bool:
    """Whether a path is meant: a whole path, or its end; ``*`` stands for anything.

    Args:
      pattern: ``PRM/Id_PRM``, ``Id_PRM``, ``Compteur/*``.
      path: of a leaf, below the root.
    """
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")


def opened(root: SchemaElement) -> SchemaElement:
    """The element, with one leaf ``*`` in each element below whose content the schema leaves open."""
    for child in root.children:
        if child.type is None and not child.children:
            child.children = [SchemaElement(OPEN, "text")]
        opened(child)
    return root


def entries(adapter: Adapter, document: LedgerDocument, reasons: Iterable[Reason]) -> list[Entry]:
    """What becomes of each leaf of a document.

    Args:
      adapter: that digests it.
      document: of that adapter's ledger.
      reasons: for what is left out.

    Raises:
      LedgerFault: the adapter takes the document in none of its settings.
    """
    known = [row for row in reasons if fnmatchcase(document.label, row.document)]
    carried = measured(adapter, document)
    found = []
    for leaf, _ in document.root.leaves():
        path = "/".join(leaf)
        fields = tuple(sorted(carried.get(leaf, ())))
        if fields:
            kept = all(".particulars" in field for field in fields)
            found.append(Entry(path, "particular" if kept else "carried", fields))
            continue
        reason = next((row.reason for row in known if matches(row.path, path)), None)
        found.append(Entry(path, "missing" if reason is None else "left-out", (), reason or ""))
    return found


def carriers(adapter: Adapter, label: str, field: str) -> frozenset[str]:
    """Names of the leaves of a document type that carry a field. See `energycomm.market.contract.Carrying`."""
    return frozenset(path[-1] for path, fields in _carried(cast(Any, adapter), label) if field in fields)


@lru_cache(maxsize=256)  # as many as all markets have types: measuring a large one takes a second
def _carried(adapter: Adapter, label: str) -> tuple[tuple[LeafPath, frozenset[str]], ...]:
    ledger = ledgered(adapter)
    found: list[tuple[LeafPath, frozenset[str]]] = []
    # The label of a document names the type that its messages are told by, and what tells it from others of that type.
    for document in ledger.documents if ledger else ():
        if label == document.type or label in document.label.split("-"):
            with suppress(LedgerFault):
                found += [(leaf, frozenset(fields)) for leaf, fields in measured(adapter, document).items()]
    return tuple(found)


def measured(adapter: Adapter, document: LedgerDocument) -> dict[LeafPath, set[str]]:
    """The Kernel fields that change with each leaf.

    Raises:
      LedgerFault: the adapter takes the document in none of its settings.
    """
    tried = {
        leaf: _values(document, "/".join(leaf), element, number)
        for number, (leaf, element) in enumerate(document.root.leaves(), start=1)
    }
    found: dict[LeafPath, set[str]] = {leaf: set() for leaf in tried}
    refused: list[Refusal] = []
    taken = False
    for setting in document.settings:
        base = {leaf: values[0] for leaf, values in tried.items() if values}
        for pattern, value in setting.items():
            base.update({leaf: value for leaf in base if matches(pattern, "/".join(leaf))})
        base = {leaf: value for leaf, value in base.items() if value}
        before = _messages(adapter, document, base)
        if not before or isinstance(before[0], Refusal):
            refused += [one for one in before if isinstance(one, Refusal)]
            continue
        taken = True
        for leaf in (one for one in base if "/".join(one) in document.single):
            after = _messages(adapter, document, {**base, leaf: _STRANGE})
            found[leaf] |= {ONE_VALUE} if after and isinstance(after[0], Refusal) else _changes(before, after)
        for leaf, values in tried.items():
            for value in values:
                if found[leaf] or base.get(leaf) in (None, value):
                    continue
                after = _messages(adapter, document, {**base, leaf: value})
                if after and not isinstance(after[0], Refusal):
                    found[leaf] |= _changes(before, after)
    if not taken:
        told = "; ".join(f"{one.code} {one.path} {one.value!r}, expected {one.expected}" for one in refused[:3])
        raise LedgerFault(f"{document.label} is taken in none of its settings: {told}")
    return found


def _values(document: LedgerDocument, path: str, element: SchemaElement, number: int) -> list[str]:
    """Values of a leaf that its type allows: given ones, its codes, or made ones."""
    given = [value for pattern, values in document.values.items() if matches(pattern, path) for value in values]
    if given:
        return given
    codes = [code for code in element.codes if code]
    if codes and element.simple is None:
        return codes
    return [*codes, *[value for value in example_values(element, number) if value not in codes][:2]]


def example_values(element: SchemaElement, number: int) -> Iterator[str]:
    """Values that the type of a leaf allows, besides its codes; others for each number.

    Args:
      element: the leaf.
      number: tells it from the other leaves of its document.
    """
    forms = (*_EXAMPLES.get(element.type or "", ()), *_FORMS)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    made = [
        form.format(name=element.name.lstrip("@")[:20], n=n, d=n % 9 + 1, l=letters[n % 26])
        for form in forms
        for n in (number, number + 1)
    ]
    yield from (value for value in dict.fromkeys(made) if element.allows(value))


def _messages(
    adapter: Adapter, document: LedgerDocument, values: Mapping[LeafPath, str]
) -> Sequence[KernelMessage | Refusal]:
    """The Kernel messages of a document of such values; its refusals where it is refused."""
    content = (document.write or write_xml)(document, values)
    messages: list[KernelMessage] = []
    refused: list[Refusal] = []
    for part in adapter.digest(document.type, BytesIO(content), document.name):
        if isinstance(part, Refusal):
            refused.append(part)
        elif not isinstance(part, MemberHead):
            messages += part.messages
            refused += part.refusals
    return refused or messages


def _changes(before: Sequence[Any], after: Sequence[Any]) -> set[str]:
    """The fields in which two sequences of messages differ; the kinds, where they have others."""
    kinds = [[type(message).__name__ for message in messages] for messages in (before, after)]
    if kinds[0] != kinds[1]:
        first, second = (set(kind) for kind in kinds)
        return {f"{kind} (whether it comes)" for kind in (first ^ second) or first}
    found: set[str] = set()
    for kind, one, other in zip(kinds[0], before, after, strict=True):
        found |= {f"{kind}.{path}" for path in _differing(msgspec.to_builtins(one), msgspec.to_builtins(other))}
    return found


def _differing(one: Any, other: Any) -> set[str]:
    if one == other:
        return set()
    if isinstance(one, dict) and isinstance(other, dict):
        found = set()
        for name in one.keys() | other.keys():
            inner = _differing(one.get(name), other.get(name))
            found |= {f"{name}.{path}" if path else name for path in inner}
        return found
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return set().union(*(_differing(*pair) for pair in zip(one, other, strict=True)))
    return {""}


def write_xml(document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
    """A document with such values; an element all of whose leaves have none is left out.

    Args:
      document: whose elements are written, in the order of the schema.
      values: of its leaves.
    """
    space = f"{{{document.namespace}}}" if document.namespace else ""
    spaces = {"m": document.namespace} if document.namespace else {}
    root = etree.Element(f"{space}{document.root.name}", nsmap=spaces)
    _write(root, document.root, (), values, space if document.qualified else "")
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


def _write(
    parent: etree._Element, declared: SchemaElement, above: LeafPath, values: Mapping[LeafPath, str], space: str
) -> None:
    for child in declared.children:
        path = (*above, child.name)
        if child.name.startswith("@"):
            if path in values:
                parent.set(child.name[1:], values[path])
            continue
        if path not in values and not any(key[: len(path)] == path for key in values):
            continue
        made = etree.SubElement(parent, f"{space}{'Content' if child.name == OPEN else child.name}")
        made.text = values.get(path)
        _write(made, child, path, values, space)


def write_json(document: LedgerDocument, values: Mapping[LeafPath, str]) -> bytes:
    """A document of JSON with such values; a leaf with attributes is an object with ``value``, what may stand several
    times stands in an array, and a root without a name is the object itself.

    Args:
      document: whose elements are written.
      values: of its leaves.
    """
    content = _object(document.root, (), values)
    return msgspec.json.encode({document.root.name: content} if document.root.name else content)


def _object(declared: SchemaElement, above: LeafPath, values: Mapping[LeafPath, str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for child in declared.children:
        path = (*above, child.name)
        held: Any = _object(child, path, values)
        if child.name.startswith("@"):
            if path in values:
                made[child.name[1:]] = _plain(child, values[path])
        elif child.type is not None and path in values:
            value = _plain(child, values[path])
            made[child.name] = {"value": value, **held} if held else value
        elif held:
            made[child.name] = held
        if child.many and child.name in made:
            made[child.name] = [made[child.name]]
    return made


def _plain(declared: SchemaElement, text: str) -> Any:
    """A value as JSON has it: a number, true or false, a text."""
    if declared.type == "flag":
        return text == "true"
    if declared.type in ("whole", "number") and _JSON_NUMBER.fullmatch(text):
        return msgspec.Raw(text.encode())
    return text


def faults(adapter: Adapter, ledger: Ledger) -> list[str]:
    """What is wrong with a ledger, in words: leaves in none of the three, stale rows, reasons that are none.

    Args:
      adapter: that digests the documents.
      ledger: its own.
    """
    reasons = ledger.reasoned()
    used: set[Reason] = set()
    found = [
        f"{row.document}: {row.path}: {row.reason!r} is no sentence"
        for row in reasons
        if len(row.reason) < SHORTEST_REASON
    ]
    for document in ledger.documents:
        for entry in entries(adapter, document, reasons):
            if entry.outcome == "missing":
                found.append(f"{document.label}: {entry.path} is neither carried nor left out with a reason")
            elif entry.outcome == "left-out":
                row = next(
                    row
                    for row in reasons
                    if fnmatchcase(document.label, row.document) and matches(row.path, entry.path)
                )
                used.add(row)
    found += [f"{row.document}: {row.path} leaves nothing out" for row in reasons if row not in used]
    return found
