"""Reads the mapping table (mapping.yaml): every element path and every code of the Belgian market.

A licensee of the market's implementation guide puts the exact names into a copy of the table; the setting
`mappings` names it. A table with a mistake is refused as a whole, with the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, get_args

import yaml
from msgspec import Struct, field

from energycomm.kernel import vocabulary as words
from energycomm.kernel.requests import OUTGOING, MeasureKind

FILE = Path(__file__).parent / "mapping.yaml"
TYPES = frozenset(
    [
        "key",
        "party",
        "point",
        "code",
        "text",
        "instant",
        "day",
        "number",
        "whole",
        "index",
        "flag",
        "duration",
        "position",
        "currency",
    ]
)
LIMITED = {"key": 64, "party": 40, "point": 40, "code": 64, "text": 400}
"""Types of text -> the longest that a Kernel message can hold."""

WORDS: dict[str, frozenset[str]] = {
    "energy": frozenset(get_args(words.Energy)),
    "function": frozenset(get_args(words.Function)),
    "role": frozenset(get_args(words.Role)),
    "reason": frozenset(get_args(words.Reason)),
    "response": frozenset(("accepted", "rejected", "pending")),
    "contract_status": frozenset(get_args(words.ContractStatus)),
    "connection": frozenset(get_args(words.ConnectionStatus)),
    "direction": frozenset(get_args(words.Direction)),
    "reading_nature": frozenset(get_args(words.ReadingNature)),
    "qualification": frozenset(get_args(words.Qualification)),
    "quality": frozenset(get_args(words.Quality)),
    "category": frozenset(get_args(words.CustomerCategory)),
    "meter_action": frozenset(get_args(words.MeterAction)),
    "measure": frozenset(get_args(MeasureKind)),
}
"""Code lists whose words the program knows; the words of the others are carried as they are."""

_MESSAGE = frozenset(("reference",))
_EVENT = _MESSAGE | {"effective", "access_point"}
FIELDS: dict[str, frozenset[str]] = {
    "StartOfAccess": _EVENT,
    "StopOfAccess": _EVENT,
    "ChangeOfAccess": _EVENT,
    "MasterData": _EVENT,
    "MeterReadings": _EVENT | {"nature"},
    "MeteredSeries": _EVENT | {"end", "resolution", "unit"},
    "GridFeeInvoice": _MESSAGE | {"invoice", "invoice_date", "currency"},
    "GridFee": _EVENT | {"invoice", "charge_reference", "currency", "total_excluding_tax"},
    "Cancellation": _EVENT | {"original", "cancelled"},
    "Response": _MESSAGE | {"original", "status"},
    "ErrorReport": _MESSAGE | {"code"},
}
"""Documents that are digested -> fields that their messages cannot do without; the table must call them needed."""

SERVICE = frozenset(
    (
        "namespace",
        "send",
        "get",
        "count",
        "available",
        "queue",
        "message",
        "identifier",
        "kind",
        "total",
        "state",
        "payload",
    )
)
HEAD = frozenset(("document", "type", "created", "sender", "receiver", "reason", "role", "energy"))


class MappingFault(ValueError):
    """The mapping table has a mistake; the text says where and what."""


class Leaf(NamedTuple):
    """One field of a document.

    Attributes:
      name: as the program knows it.
      path: for people, element names with ``/``.
      type: one of `TYPES`.
      codes: the code list that translates it.
    """

    name: str
    path: str
    type: str
    codes: str | None


class Node(Struct):
    """One element of a document.

    Attributes:
      tag: local name.
      children: by local name, in the order of the document.
      leaf: the field it holds; None where it has children.
      group: name of the list that it is an item of, where it may repeat.
      needed: it has to be there when its parent is.
    """

    tag: str
    children: dict[str, Node] = field(default_factory=dict)
    leaf: Leaf | None = None
    group: str | None = None
    needed: bool = False


class Document(NamedTuple):
    """One kind of XML document, as `mapping.yaml` says."""

    label: str
    about: str
    root: str
    namespace: str
    type: str
    piece: Node
    head: Node
    sent: bool
    kinds: Mapping[str, str]
    schema: Path | None
    ended: bool = False


class Codes(NamedTuple):
    """One code list: code -> word, and word -> the code that is written for it."""

    words: Mapping[str, str]
    codes: Mapping[str, str]


class Table(NamedTuple):
    """The whole mapping table.

    Attributes:
      version: of the table: what is noted as the version that content was read as.
      documents: by label.
      codes: by list.
      attributes: type -> attributes that are written with its values.
      longest: type -> longest text.
      service: names of the message service.
      calorific: column of the calorific values -> names.
      edifact: qualifiers of the EDIFACT generation.
      ended_by_answer: reasons of requests that a positive answer ends; the others end with what is announced.
    """

    version: str
    documents: Mapping[str, Document]
    codes: Mapping[str, Codes]
    attributes: Mapping[str, Mapping[str, str]]
    longest: Mapping[str, int]
    service: Mapping[str, str]
    calorific: Mapping[str, tuple[str, ...]]
    edifact: Mapping[str, Any]
    ended_by_answer: frozenset[str]


@cache
def table() -> Table:
    """Our table, which holds where the setting `mappings` names no other.

    Raises:
      MappingFault: the table has a mistake.
    """
    return read_table(FILE)


def read_table(path: Path) -> Table:
    """Read and check a mapping table.

    Raises:
      MappingFault: the file cannot be read, or a row of it is wrong.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        raw = yaml.load(path.read_bytes(), loader)  # noqa: S506 - a safe loader, in C where there is one
        return _Reader(raw, path.parent).table()
    except (OSError, yaml.YAMLError) as error:
        raise MappingFault(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise MappingFault(f"{path}: {type(error).__name__}: {error}") from error


class _Reader:
    def __init__(self, raw: dict[str, Any], folder: Path) -> None:
        self.raw, self.folder = raw, folder
        self.codes = {name: _codes(name, rows) for name, rows in raw["codes"].items()}

    def table(self) -> Table:
        raw = self.raw
        if strange := set(raw["types"]) ^ TYPES:
            raise MappingFault(f"types: {sorted(strange)} are not the types that the program knows")
        limits = {name: int(row["longest"]) for name, row in raw["types"].items() if "longest" in row}
        for name, most in LIMITED.items():
            if not 1 <= limits.get(name, 0) <= most:
                raise MappingFault(f"types/{name}/longest: 1 to {most} is expected")
        documents = {label: self._document(label, row) for label, row in raw["documents"].items()}
        if missing := set(FIELDS) - set(documents):
            raise MappingFault(f"documents: {sorted(missing)} are missing")
        return Table(
            version=str(raw["version"]),
            documents=documents,
            codes=self.codes,
            attributes={name: row["attributes"] for name, row in raw["types"].items() if "attributes" in row},
            longest=limits,
            service=_service(raw["service"]),
            calorific={name: tuple(names) for name, names in raw["calorific"].items()},
            edifact=raw["edifact"],
            ended_by_answer=frozenset(
                self.codes["reason"].words[code]
                for row in documents.values()
                if row.ended
                for code in row.kinds.values()
            ),
        )

    def _document(self, label: str, row: dict[str, Any]) -> Document:
        piece, head = Node(row["piece"], needed=True), Node(row["root"])
        self._fields(head, {**self.raw["header"], **self.raw["context"]}, f"{label}: header")
        if strange := HEAD ^ _names(head):
            raise MappingFault(f"{label}: header and context need exactly {sorted(HEAD)}; see {sorted(strange)}")
        for part in row["fields"]:
            fields = self.raw["blocks"][part] if isinstance(part, str) else part
            self._fields(piece, fields, f"documents/{label}")
        missing = FIELDS.get(label, _MESSAGE) - _names(piece, needed=True)
        if missing:
            raise MappingFault(f"documents/{label}: {sorted(missing)} have to be there, marked as needed")
        kinds = {str(kind): str(code) for kind, code in row.get("kinds", {}).items()}
        known = {kind.__name__ for kind in OUTGOING}
        for kind, code in kinds.items():
            if kind not in known or code not in self.codes["reason"].words:
                raise MappingFault(f"documents/{label}/kinds: {kind}: {code} is no outgoing kind with a known reason")
        return Document(
            label=label,
            about=row["about"],
            root=row["root"],
            namespace=row["namespace"],
            type=str(row["type"]),
            piece=piece,
            head=head,
            sent=bool(row.get("sent", False)),
            kinds=kinds,
            schema=self.folder / row["schema"] if "schema" in row else None,
            ended=bool(row.get("ended_by_answer", False)),
        )

    def _fields(self, parent: Node, fields: dict[str, Any], where: str) -> None:
        for name, row in fields.items():
            if isinstance(row, dict):
                node = self._place(parent, row["each"], where)
                node.group = name
                self._fields(node, row["fields"], f"{where}/{name}")
                continue
            path, kind, *flags = row
            codes = None
            if ":" in kind:
                kind, codes = kind.split(":")
                if codes not in self.codes:
                    raise MappingFault(f"{where}/{name}: there is no code list {codes!r}")
            if kind not in TYPES or not set(flags) <= {"needed"}:
                raise MappingFault(f"{where}/{name}: type {kind!r} with {flags} is not known")
            node = self._place(parent, path, where, needed=bool(flags))
            node.leaf = Leaf(name, path, kind, codes)

    def _place(self, parent: Node, path: str, where: str, *, needed: bool = False) -> Node:
        """The new node of a path, with its parents."""
        *parents, last = path.split("/")
        for tag in parents:
            parent = parent.children.setdefault(tag, Node(tag))
            parent.needed = parent.needed or needed
            if parent.leaf or parent.group:
                raise MappingFault(f"{where}: {path} goes through an element that is a field itself")
        if last in parent.children or not last:
            raise MappingFault(f"{where}: {path} stands twice")
        node = parent.children[last] = Node(last, needed=needed)
        return node


def _service(row: dict[str, Any]) -> dict[str, str]:
    if strange := SERVICE ^ set(row):
        raise MappingFault(f"service: {sorted(strange)} are missing or not known")
    if row["payload"] not in ("base64", "xml"):
        raise MappingFault(f"service/payload: {row['payload']!r} is neither base64 nor xml")
    return {name: str(value) for name, value in row.items()}


def _names(node: Node, *, needed: bool = False) -> set[str]:
    """Names of the fields below a node, outside its groups."""
    found: set[str] = set()
    for child in node.children.values():
        if child.leaf is not None:
            found |= {child.leaf.name} if child.needed or not needed else set()
        elif child.group is None:
            found |= _names(child, needed=needed)
    return found


def _codes(name: str, rows: dict[Any, Any]) -> Codes:
    forward: dict[str, str] = {}
    backward: dict[str, str] = {}
    for code, row in rows.items():
        listed = row if isinstance(row, list) else [row]
        known = WORDS.get(name)
        for word in listed:
            if known is not None and word not in known:
                raise MappingFault(f"codes/{name}/{code}: {word!r} is none of {', '.join(sorted(known))}")
            backward.setdefault(str(word), str(code))
        # Interned: a default is left out of JSON where it is the very object, so words have to be those of the Kernel.
        forward[str(code)] = intern(str(listed[0]))
    return Codes(forward, backward)
