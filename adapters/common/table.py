"""Reads the table of a market (``table.yaml``): which document holds which CH messages, and where each leaf goes.

docs/adapters.md tells how a table is written. A mistake in it is found when it is read, and told with file, line and
leaf.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeAlias

import msgspec
import yaml
from msgspec import Struct, field

from adapters.common.places import Place, kind_named, places, required
from adapters.common.schemas import Schema
from adapters.common.times import LegalTime
from adapters.common.values import BASES, ValueType, value_types, written_as
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import LONGEST_NAME, Announcement

FORMS = ("xml", "json", "csv", "edifact")
PARTICULAR, LEFT_OUT = "particular", "left-out"
WHOLE = "."
"""Path of the piece that is the document itself, without what its header tells."""
_DOCUMENT = frozenset(
    ("about", "form", "forms", "root", "versions", "schema", "fixed", "header", "pieces", "keys", "columns",
     "separator", "name"),
)  # fmt: skip
_PIECE = frozenset(("makes", "digester", "fixed", "leaves"))
_TABLE = frozenset(
    ("market", "zone", "offsets", "entry", "exit", "types", "codes", "open", "blocks", "documents", "sent", "unread")
)
ENVELOPE = frozenset(("document", "type"))
"""What a header says of the document alone: its identifier, its type as the market declares it."""
_NEEDED = "needed"
_LONGEST_PARTICULAR = 120
_BASE_OF_PLACE = {"word": "code", "part": "text", "parts": "text"}


class TableFault(ValueError):
    """A table has a mistake; the text says in which file, line and leaf, and what is expected."""


class Row(dict[str, Any]):
    """A mapping of the file that knows the line of each key."""

    lines: dict[str, int]
    line: int


class Target(NamedTuple):
    """Where the value of a leaf goes.

    Attributes:
      kind: only into messages of this kind; None for all that have the field.
      path: name of the field, and of the field of its part.
      place: what it may hold; None where it is no field: a digester of the adapter takes the value.
      raw: it takes the text as it was written, not the value.
    """

    kind: str | None
    path: tuple[str, ...]
    place: Place | None
    raw: bool = False


Told: TypeAlias = tuple[str | None, Target, Any]
"""A target and its value; first the field's name, where it is a plain one of all messages."""


class Leaf(NamedTuple):
    """One leaf of a document.

    Attributes:
      name: what the program knows it by: the first target; of a particular its path, or the name that it is kept by.
      path: element names with ``/`` from the piece, an attribute with ``@``.
      type: name of its type.
      codes: the code list that translates it.
      targets: the fields that it fills.
      particular: it is kept as a particular of the message.
      left_out: why it is not kept at all.
      entering: of the header: it is part of what tells two CH messages apart.
      line: in the file.
    """

    name: str
    path: str
    type: str
    codes: str | None = None
    targets: tuple[Target, ...] = ()
    particular: bool = False
    left_out: str | None = None
    entering: bool = False
    line: int = 0


class Node(Struct):
    """One element of a document.

    Attributes:
      tag: local name.
      children: by local name, in the order of the table; attributes with ``@``.
      leaf: the leaf it is; None where it has elements.
      group: the list, or the kind, that each of its occurrences is an item of.
      needed: it has to be there when its parent is.
      many: a leaf that may stand several times.
      attributes: some child is an attribute.
      fixed: of a group: field -> value that every item has.
      defaults: of a group: nothing of it is told, the item is made all the same.
    """

    tag: str
    children: dict[str, Node] = field(default_factory=dict)
    leaf: Leaf | None = None
    group: str | None = None
    needed: bool = False
    many: bool = False
    attributes: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)

    def leaves(self) -> Iterable[Leaf]:
        """Every leaf below, in the order of the table."""
        if self.leaf is not None:
            yield self.leaf
        for child in self.children.values():
            yield from child.leaves()


class Piece(NamedTuple):
    """An element that is a CH message.

    Attributes:
      path: element names from the root of the document; none where the document itself is the one CH message.
      node: its leaves.
      makes: kinds of the Kernel messages that are made of it, the first of them always; of a document that is sent,
        kinds that it is made of.
      digester: name of what makes them, where the adapter has code of its own for it.
      fixed: field -> value, the same in every message.
    """

    path: tuple[str, ...]
    node: Node
    makes: tuple[type[KernelMessage], ...]
    digester: str | None
    fixed: Mapping[str, Any]


class Document(NamedTuple):
    """One kind of document.

    Attributes:
      label: names it; the market's message type.
      about: in words.
      forms: how it may be written, of `FORMS`.
      root: root element, or the key that all of a JSON document stands under; None where there is none.
      versions: version -> namespace.
      schema: the market's schema, against which each piece is checked; None for a JSON Schema.
      described: the file of the schema, of XML or of JSON, that tells its leaves.
      head: leaves of the header, below the root.
      pieces: by path.
      fixed: field -> value, the same in every message.
      keys: first keys of a JSON document that has no root.
      columns: of a CSV document.
      separator: of a CSV document.
      name: pattern of the file's name; its groups are leaves of the header, ``name/<group>``.
    """

    label: str
    about: str
    forms: tuple[str, ...]
    root: str | None
    versions: Mapping[str, str | None]
    schema: Schema | None
    described: Path | None
    head: Node
    pieces: Mapping[tuple[str, ...], Piece]
    fixed: Mapping[str, Any]
    keys: frozenset[str]
    columns: tuple[str, ...]
    separator: str
    name: str | None

    def leaves(self) -> Iterable[tuple[str, Leaf]]:
        """Every leaf with the path of its piece, empty for the header."""
        for leaf in self.head.leaves():
            yield "", leaf
        for path, piece in self.pieces.items():
            for leaf in piece.node.leaves():
                yield "/".join(path), leaf


class Codes(NamedTuple):
    """One code list: code -> word, and word -> the code that is written for it; whether it may grow."""

    words: Mapping[str, Any]
    codes: Mapping[str, str]
    open: bool


class Table(NamedTuple):
    """The table of a market.

    Attributes:
      path: of its file.
      market: its ISO code.
      legal: its legal time.
      entry, exit: how it announces that supply begins and ends.
      documents: by label.
      sent: documents that the adapter writes, by label.
      codes: by list.
      types: by name.
      longest: type -> longest text.
      unread: root element, or first keys of JSON -> what it is, of documents that are the market's but not read.
      raw: the file as it stands, for what an adapter adds to it.
      remembered: leaf, by its `id`, and text -> what it tells, of texts that were read without a word.
    """

    path: Path
    market: str
    legal: LegalTime
    entry: Announcement
    exit: Announcement
    documents: Mapping[str, Document]
    sent: Mapping[str, Document]
    codes: Mapping[str, Codes]
    types: Mapping[str, ValueType]
    longest: Mapping[str, int]
    unread: Mapping[str, str]
    raw: Mapping[str, Any]
    remembered: dict[tuple[int, str], list[Told]]


def read_table(path: Path, *, besides: Iterable[str] = ()) -> Table:
    """Read and check a table.

    Args:
      path: the file; the schemas it names lie beside it.
      besides: names of sections, and of rows of a document, that the adapter reads itself.

    Raises:
      TableFault: the file cannot be read, or a row of it is wrong.
    """
    try:
        raw = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a safe loader that remembers lines
    except OSError as error:
        raise TableFault(f"{path}: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise TableFault(f"{path}{line}: {getattr(error, 'problem', None) or error}") from None
    return _Reader(path, raw).table(frozenset(besides))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader whose mappings know the lines of their keys and take no key twice."""

    def construct_row(self, node: yaml.MappingNode) -> Iterable[Row]:
        row = Row()
        row.lines, row.line = {}, node.start_mark.line + 1
        yield row
        self.flatten_mapping(node)
        own = {id(value) for _, value in node.value}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node)
            key = key if isinstance(key, str) else str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in row.lines and id(value_node) in own and line != row.lines[key]:
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} stands twice", key_node.start_mark)
            row.lines[key] = line
            row[key] = self.construct_object(value_node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_row)


class _Reader:
    def __init__(self, path: Path, raw: Any) -> None:
        self.path, self.raw = path, raw
        self.own = False
        """Leaves may have names that are no fields: code of the adapter takes, or gives, their values."""

    def fault(self, where: str, what: str, row: Any = None, key: str | None = None) -> TableFault:
        line = ""
        if isinstance(row, Row):
            line = f":{row.lines.get(key, row.line) if key is not None else row.line}"
        return TableFault(f"{self.path}{line}: {where}: {what}" if where else f"{self.path}{line}: {what}")

    def table(self, besides: frozenset[str]) -> Table:
        raw = self.raw
        if not isinstance(raw, Row):
            raise self.fault("", "a table is a mapping with market, zone and documents")
        self.besides = besides
        self._known(raw, _TABLE | besides, "")
        for name in ("market", "zone", "entry", "exit", "documents"):
            if name not in raw:
                raise self.fault("", f"{name} is missing", raw)
        if not (isinstance(raw["market"], str) and len(raw["market"]) == 2 and raw["market"].isupper()):
            raise self.fault("market", "two capitals like FR are expected", raw, "market")
        offsets = raw.get("offsets", "legal")
        if offsets not in ("legal", "written"):
            raise self.fault("offsets", "legal or written is expected", raw, "offsets")
        try:
            self.legal = LegalTime(str(raw["zone"]), keeps_offset=offsets == "written")
        except (KeyError, ValueError, OSError):
            raise self.fault("zone", f"{raw['zone']!r} is no time zone", raw, "zone") from None
        self.types = value_types(self.legal)
        self.longest: dict[str, int] = {}
        self.bases = {name: name for name in BASES}
        self._types(self._row(raw, "types", ""))
        opened = frozenset(raw.get("open") or ())
        lists = self._row(raw, "codes", "")
        if strange := opened - set(lists):
            raise self.fault("open", f"there is no code list {sorted(strange)[0]!r}", raw, "open")
        self.codes = {name: self._codes(name, self._row(lists, name, "codes"), name in opened) for name in lists}
        documents, sent = (self._documents(section) for section in ("documents", "sent"))
        return Table(
            path=self.path,
            market=raw["market"],
            legal=self.legal,
            entry=self._announcement("entry", documents),
            exit=self._announcement("exit", documents),
            documents=documents,
            sent=sent,
            codes=self.codes,
            types=self.types,
            longest=self.longest,
            unread={str(root): str(what) for root, what in self._row(raw, "unread", "").items()},
            raw=raw,
            remembered={},
        )

    def _known(self, row: Row, known: frozenset[str], where: str) -> None:
        for key in row:
            if key not in known:
                raise self.fault(where, f"{key!r} is not known{_like(key, known)}", row, key)

    def _row(self, parent: Row, key: str, where: str) -> Row:
        """A mapping of a mapping; an empty one where there is none."""
        found = parent.get(key)
        if found is None:
            found = Row()
            found.lines, found.line = {}, parent.lines.get(key, parent.line)
        if not isinstance(found, Row):
            raise self.fault(where or key, f"{key} has to be a mapping", parent, key)
        return found

    def _announcement(self, name: str, documents: Mapping[str, Document]) -> Announcement:
        try:
            found = msgspec.convert(dict(self._row(self.raw, name, "")), Announcement)
        except msgspec.ValidationError as error:
            raise self.fault(name, str(error), self.raw, name) from None
        if found.market_type not in documents:
            raise self.fault(name, f"market_type {found.market_type!r} is no document", self.raw, name)
        return found

    def _types(self, rows: Row) -> None:
        for name in rows:
            row = self._row(rows, name, "types")
            base = row.get("base", "text")
            if base not in BASES:
                raise self.fault(f"types/{name}", f"base {base!r} is none of {', '.join(sorted(BASES))}", rows, name)
            self.bases[name] = base
            self.types.setdefault(name, self.types.get(base, self.types["text"]))
            try:
                if "format" in row:
                    self.types[name] = written_as(str(row["format"]), base, self.legal)
                if "longest" in row:
                    self.longest[name] = int(row["longest"])
            except (ValueError, TypeError) as error:
                raise self.fault(f"types/{name}", str(error), rows, name) from None

    def _codes(self, name: str, rows: Row, grows: bool) -> Codes:
        forward: dict[str, Any] = {}
        backward: dict[str, str] = {}
        for code, found in rows.items():
            listed = found if isinstance(found, list) else [found]
            for word in listed:
                if not isinstance(word, str | bool | int) or word == "":
                    raise self.fault(f"codes/{name}/{code}", "a word is expected", rows, code)
                backward.setdefault(str(word), code)
            forward[code] = _interned({code: listed[0]})[code]
        return Codes(forward, backward, grows)

    def _documents(self, section: str) -> dict[str, Document]:
        rows = self._row(self.raw, section, "")
        documents: dict[str, Document] = {}
        for label in rows:
            if len(label) > LONGEST_NAME:
                what = f"a label has at most {LONGEST_NAME} characters"
                raise self.fault(f"{section}/{label}", what, rows, label)
            found = self._document(label, self._row(rows, label, section), section)
            if (twin := next((one for one in documents.values() if _alike(one, found)), None)) is not None:
                what = (
                    f"nothing tells it from {twin.label}: root, keys or columns are the same in one form and namespace"
                )
                raise self.fault(f"{section}/{label}", what, rows, label)
            documents[label] = found
        return documents

    def _document(self, label: str, row: Row, section: str) -> Document:
        where = f"{section}/{label}"
        self._known(row, _DOCUMENT | self.besides, where)
        sent = self.own = section == "sent"
        forms = tuple(row.get("forms") or [row.get("form", "xml")])
        for form in forms:
            if form not in FORMS:
                raise self.fault(where, f"form {form!r} is none of {', '.join(FORMS)}", row, "form")
        if "xml" in forms and not row.get("root"):
            raise self.fault(where, "root is missing", row)
        if "json" in forms and not row.get("root") and not row.get("keys"):
            raise self.fault(where, "root or keys is missing", row)
        if "csv" in forms and not row.get("columns"):
            raise self.fault(where, "columns is missing", row)
        for name in ("about", "versions", "pieces"):
            if not row.get(name):
                raise self.fault(where, f"{name} is missing", row)
        described = self.path.parent / str(row["schema"]) if "schema" in row else None
        if described is not None and not described.is_file():
            raise self.fault(where, f"there is no schema {described}", row, "schema")
        schema = Schema(described) if described is not None and described.suffix.lower() != ".json" else None
        fixed = self._row(row, "fixed", where)
        head = Node(str(row.get("root") or label))
        pieces = self._row(row, "pieces", where)
        kinds = {kind for name in pieces for kind in self._makes(self._row(pieces, name, where), f"{where}/{name}")}
        self._fields(head, row, "header", f"{where}/header", tuple(kinds) or (KernelMessage,), header=True)
        told = {target.path[0] for leaf in head.leaves() for target in leaf.targets} | set(fixed)
        made = {}
        for name in pieces:
            self.own = sent or "digester" in self._row(pieces, name, where)
            piece = self._piece(name, self._row(pieces, name, where), f"{where}/pieces/{name}", told, fixed)
            made[piece.path] = piece
        return Document(
            label=label,
            about=str(row["about"]),
            forms=forms,
            root=row.get("root"),
            versions={str(version): space for version, space in self._row(row, "versions", where).items()},
            schema=schema,
            described=described,
            head=head,
            pieces=made,
            fixed=_interned(fixed),
            keys=frozenset(row.get("keys") or ()),
            columns=tuple(row.get("columns") or ()),
            separator=str(row.get("separator", ";")),
            name=row.get("name"),
        )

    def _makes(self, row: Row, where: str) -> tuple[type[KernelMessage], ...]:
        names = row.get("makes") or ()
        found = []
        for name in [names] if isinstance(names, str) else names:
            kind = kind_named(str(name))
            if kind is None:
                raise self.fault(where, f"there is no Kernel kind {name!r}", row, "makes")
            found.append(kind)
        return tuple(found)

    def _piece(self, name: str, row: Row, where: str, told: set[str], shared: Row) -> Piece:
        self._known(row, _PIECE, where)
        makes = self._makes(row, where)
        digester = row.get("digester")
        if not makes and not digester:
            raise self.fault(where, "makes or digester is expected", row)
        path = () if name == WHOLE else tuple(name.split("/"))
        node = Node(path[-1] if path else WHOLE, needed=True)
        self._fields(node, row, "leaves", where, makes)
        fixed = self._row(row, "fixed", where)
        for owner in (fixed, shared):
            for key, value in owner.items():
                self._fixed(key, value, makes, where, owner)
        for number, kind in enumerate(() if self.own else makes):
            self._complete(kind, node, told | _first(fixed, kind.__name__), where, row, grouped=number > 0)
        return Piece(path, node, makes, digester, _interned(fixed))

    def _fixed(self, key: str, value: Any, makes: tuple[type[KernelMessage], ...], where: str, row: Row) -> None:
        if not makes:
            return
        target = self._target(key, makes, where, row, key)
        place = target.place
        if place is not None and place.words and value not in place.words:
            raise self.fault(
                f"{where}/fixed", f"{key}: {value!r} is none of {', '.join(sorted(place.words))}", row, key
            )

    def _complete(
        self, kind: type[KernelMessage], node: Node, told: set[str], where: str, row: Row, *, grouped: bool
    ) -> None:
        """Every field that a kind cannot be made without has to come from somewhere."""
        name = kind.__name__
        item = next((child for child in _groups(node) if child.group == name), None)
        if grouped and item is None:
            return  # made only where all it needs is there
        sure = told | {"effective"} | _sure(node, name) | ({*_sure(item, name), *item.fixed} if item else set())
        for missing in sorted(required(kind) - sure):
            raise self.fault(where, f"{name} cannot be made: no needed leaf or fixed value gives {missing}", row)
        told = {key.removeprefix(f"{name}.") for key in self._row(row, "fixed", where)}
        told |= {".".join(target.path) for leaf in _needed(node) for target in leaf.targets}
        for target in (target for leaf in node.leaves() for target in leaf.targets if len(target.path) > 1):
            place = places(kind).get(target.path[0])
            if place is None or place.part is None or target.kind not in (None, name):
                continue
            for missing in sorted(required(place.part)):
                if f"{target.path[0]}.{missing}" not in told:
                    what = f"{target.path[0]} cannot be made: no needed leaf or fixed value gives {missing}"
                    raise self.fault(where, what, row)

    def _fields(
        self, parent: Node, owner: Row, key: str, where: str, makes: tuple[type[KernelMessage], ...], *,
        header: bool = False, part: Place | None = None,
    ) -> None:  # fmt: skip
        found = owner.get(key)
        for rows in found if isinstance(found, list) else [found or {}]:
            if isinstance(rows, str):
                blocks = self._row(self.raw, "blocks", "")
                if rows not in blocks:
                    raise self.fault(where, f"there is no block {rows!r}{_like(rows, blocks)}", owner, key)
                rows = self._row(blocks, rows, "blocks")
            if not isinstance(rows, Row):
                if rows:
                    raise self.fault(where, f"{key} has to be a mapping of leaves", owner, key)
                continue
            for path in rows:
                self._field(parent, path, rows, f"{where}/{path}", makes, header=header, part=part)

    def _field(
        self, parent: Node, path: str, rows: Row, where: str, makes: tuple[type[KernelMessage], ...], *,
        header: bool, part: Place | None,
    ) -> None:  # fmt: skip
        row = rows[path]
        if isinstance(row, Row):
            self._group(parent, path, row, rows, where, makes, part)
            return
        said = [row] if isinstance(row, str) else row
        if not isinstance(said, list) or not said or not all(isinstance(word, str) for word in said):
            raise self.fault(where, "a leaf is [field, type, needed], a group is {each, leaves}", rows, path)
        first, *rest = said
        line = rows.lines.get(path, rows.line)
        if first == LEFT_OUT:
            if len(rest) != 1:
                raise self.fault(where, "what is left out has one reason: [left-out, why]", rows, path)
            self._place(parent, path, where, rows).leaf = Leaf(path, path, "text", left_out=rest[0], line=line)
            return
        needed, entering = _NEEDED in rest, "entering" in rest
        kinds = [word for word in rest if word not in (_NEEDED, "entering")]
        if len(kinds) > 1 or (entering and not header):
            raise self.fault(where, f"{rest} is not a type and {_NEEDED}", rows, path)
        particular = first.partition(" ")[0] == PARTICULAR
        kept_as = first.partition(" ")[2] or path
        if particular and len(kept_as) > _LONGEST_PARTICULAR:
            raise self.fault(where, f"a particular's path has at most {_LONGEST_PARTICULAR} characters", rows, path)
        if particular and part is not None:
            raise self.fault(where, "a part has no particulars; leave it out with a reason", rows, path)
        targets = () if particular else tuple(
            Target(None, (word,), None) if header and word in ENVELOPE
            else self._target(word, makes, where, rows, path, part)
            for word in first.split()
        )  # fmt: skip
        base, codes = self._type(kinds[0] if kinds else None, targets, where, rows, path)
        if codes is not None:
            self._words(codes, targets, where, rows, path)
        node = self._place(parent, path, where, rows, needed=needed)
        node.many = any(target.place is not None and target.place.many for target in targets)
        name = kept_as if particular else first.split()[0].lstrip("=")
        node.leaf = Leaf(name, path, base, codes, targets, particular, None, entering, line)

    def _type(
        self, said: str | None, targets: tuple[Target, ...], where: str, rows: Row, path: str
    ) -> tuple[str, str | None]:
        """Type and code list of a leaf: what the table says, else what its first target holds."""
        if said is None:
            place = next((target.place for target in targets if target.place is not None), None)
            base = _BASE_OF_PLACE.get(place.form, place.form) if place is not None else "text"
            if base == "code":
                raise self.fault(where, "a field with a list of words needs a code list: code:<list>", rows, path)
            return base, None
        base, _, codes = said.partition(":")
        if base not in self.bases:
            raise self.fault(where, f"there is no type {base!r}{_like(base, self.bases)}", rows, path)
        if codes and codes not in self.codes:
            raise self.fault(where, f"there is no code list {codes!r}{_like(codes, self.codes)}", rows, path)
        return base, codes or None

    def _words(self, codes: str, targets: tuple[Target, ...], where: str, rows: Row, path: str) -> None:
        for target in targets:
            if target.raw or target.place is None or not target.place.words:
                continue
            for code, word in self.codes[codes].words.items():
                if word not in target.place.words:
                    expected = ", ".join(sorted(target.place.words))
                    raise self.fault(where, f"codes/{codes}/{code}: {word!r} is none of {expected}", rows, path)

    def _group(
        self, parent: Node, path: str, row: Row, rows: Row, where: str, makes: tuple[type[KernelMessage], ...],
        part: Place | None,
    ) -> None:  # fmt: skip
        self._known(row, frozenset(("each", "leaves", "fixed", _NEEDED)), where)
        name = row.get("each")
        if not isinstance(name, str):
            raise self.fault(where, "each is missing: the list, or the kind, that every occurrence is one of", row)
        node = self._place(parent, path, where, rows, needed=bool(row.get(_NEEDED)))
        node.group = name
        fixed = self._row(row, "fixed", where)
        node.fixed = _interned(fixed)
        inner: Place | None = None
        kinds = makes
        if makes and kind_named(name) is not None:
            kinds = tuple(kind for kind in makes if kind.__name__ == name)
            if not kinds:
                raise self.fault(where, f"{name} is none of the kinds that the piece makes", row, "each")
        elif makes:
            inner = self._target(name, makes, where, row, "each", part).place
            if inner is None and self.own:
                kinds = ()
            elif inner is None or inner.form != "parts" or inner.part is None:
                raise self.fault(where, f"{name} is no list of parts", row, "each")
            known = places(inner.part) if inner is not None and inner.part is not None else fixed
            for key in fixed:
                if key not in known:
                    raise self.fault(where, f"{name} has no {key}{_like(key, known)}", fixed, key)
        self._fields(node, row, "leaves", where, kinds, part=inner)
        if inner is not None and inner.part is not None:
            sure = _sure(node, "") | set(fixed)
            for missing in sorted(required(inner.part) - sure):
                made = inner.part.__name__
                raise self.fault(where, f"{made} cannot be made: no needed leaf or fixed value gives {missing}", row)

    def _target(
        self, word: str, makes: tuple[type[KernelMessage], ...], where: str, rows: Row, key: str,
        part: Place | None = None,
    ) -> Target:  # fmt: skip
        raw, word = word.startswith("="), word.lstrip("=")
        first, *rest = word.split(".")
        kind = first if kind_named(first) is not None else None
        if kind is not None:
            first, *rest = rest or [""]
        path = (first, *rest)
        if not makes:  # a digester of the adapter takes what is read, by its names
            return Target(kind, path, None, raw)
        owners: list[type[Struct]] = [cls for cls in makes if kind in (None, cls.__name__)]
        if part is not None and part.part is not None:
            owners = [part.part]
        place: Place | None = None
        for owner in owners:
            place = places(owner).get(first)
            if place is not None:
                break
        if place is not None and rest:
            place = places(place.part).get(rest[0]) if place.part is not None and len(rest) == 1 else None
        if place is None and self.own:
            return Target(kind, path, None, raw)
        if place is None:
            named = ", ".join(sorted(owner.__name__ for owner in owners)) or "the piece"
            every = {name for owner in owners for name in places(owner)}
            raise self.fault(where, f"{named} has no field {'.'.join(path)}{_like(first, every)}", rows, key)
        return Target(kind, path, place, raw)

    def _place(self, parent: Node, path: str, where: str, rows: Row, *, needed: bool = False) -> Node:
        """The new node of a path, with its parents."""
        *parents, last = path.split("/")
        for tag in parents:
            parent = parent.children.setdefault(tag, Node(tag))
            parent.needed = parent.needed or needed
            if parent.leaf is not None or parent.group is not None:
                raise self.fault(where, "it goes through an element that is a leaf or a group itself", rows, path)
        node = parent.children.get(last)
        if last.startswith("@"):
            parent.attributes = True
        element, _, attribute = last.partition("@")
        if attribute and element:  # name@attribute: an attribute of a leaf
            owner = parent.children.setdefault(element, Node(element))
            owner.attributes = True
            return owner.children.setdefault(f"@{attribute}", Node(f"@{attribute}", needed=needed))
        if not last or (node is not None and (node.leaf is not None or node.group is not None or not node.attributes)):
            raise self.fault(where, "this leaf stands twice", rows, path)
        node = node or parent.children.setdefault(last, Node(last))
        node.needed = node.needed or needed
        return node


def _alike(one: Document, other: Document) -> bool:
    """Whether one content would be of two documents."""
    forms = set(one.forms) & set(other.forms)
    same_space = bool(set(one.versions.values()) & set(other.versions.values()))
    return (
        ("xml" in forms and one.root == other.root and same_space)
        or ("json" in forms and (one.root, one.keys) == (other.root, other.keys))
        or ("csv" in forms and (set(one.columns), one.separator) == (set(other.columns), other.separator))
    )


def _interned(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with the Kernel's own words: a default is left out of JSON where it is the very object."""
    return {name: intern(value) if type(value) is str else value for name, value in values.items()}


def _sure(node: Node, kind: str) -> set[str]:
    """Fields that a node's needed leaves give for certain, outside its groups."""
    found: set[str] = set()
    for child in node.children.values():
        if not child.needed:
            continue
        if child.leaf is not None:
            found |= {target.path[0] for target in child.leaf.targets if target.kind in (None, kind)}
        elif child.group is None:
            found |= _sure(child, kind)
    return found


def _needed(node: Node) -> Iterable[Leaf]:
    """The leaves that are there whenever the node is, outside its groups."""
    for child in node.children.values():
        if child.needed and child.leaf is not None:
            yield child.leaf
        elif child.needed and child.group is None:
            yield from _needed(child)


def _first(fixed: Row, kind: str) -> set[str]:
    return {key.removeprefix(f"{kind}.").partition(".")[0] for key in fixed}


def _groups(node: Node) -> Iterable[Node]:
    for child in node.children.values():
        if child.group is not None:
            yield child
        elif child.leaf is None:
            yield from _groups(child)


def _like(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
