"""The adapter of a market that a table describes: it recognises, splits and digests by the table alone.

What a table cannot say is code of the market: what makes Kernel messages of a piece (`digesters`), a form of its own
(`split`), building, and numbered series. docs/adapters.md tells how a table is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from hashlib import blake2b
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from lxml import etree
from msgspec import structs

from adapters.common import csvform, jsonform, xmlform
from adapters.common.adapter import MarketAdapter
from adapters.common.codes import AdapterCode, CodeTable, Unreadable
from adapters.common.declared import Declared, Writer, declared
from adapters.common.outcome import FAULTS, LONGEST_POINT, LONGEST_REFERENCE, business_order
from adapters.common.particulars import with_particulars
from adapters.common.pieces import Reading, Values, messages_of
from adapters.common.reading import namespace_of
from adapters.common.regular import Content, Walk, content_of
from adapters.common.shapes import Ways, way
from adapters.common.table import Document, Node, Piece, Table
from adapters.common.views import PLAIN, VALUE, XML, View
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import DocumentType, MemberHead, OutgoingMessage, Sniff, Transaction

if TYPE_CHECKING:
    from adapters.common.coverage import Ledger

Digest: TypeAlias = Callable[[Values, Values], list[KernelMessage]]
"""Kernel messages of the values of a piece and those of its header. May raise `adapters.common.codes.Unreadable`."""
Part: TypeAlias = tuple[tuple[str, ...], Any]
"""Path below the root, and content: of a field of the header, or of a piece."""

_ENDINGS = {".xml": "xml", ".json": "json", ".csv": "csv"}
_SAID = {"xml": "XML", "json": "JSON", "csv": "CSV", "edifact": "EDIFACT", "other": "text"}
_FORM_OF_SNIFF = {"csv": "other", "edifact": "other"}
_BEGINNING = 64
MAX_HELD = 16 << 20
"""Bytes of JSON that may be read before the header is whole; the messages in them are held."""


class TableAdapter(MarketAdapter):
    """Reads the documents of a table. Satisfies `energycomm.market.contract.Adapter`.

    An object may be used by several threads at once.
    """

    builds: frozenset[str] = frozenset()
    """Names of the outgoing Kernel kinds that `build` knows: none, where the market has no code for it."""
    strict: bool = False
    """Whether headers, and documents of JSON, are held against the schemas of the table too, and whatever these do not
    know is refused."""
    wrapped: frozenset[str] = frozenset()
    """Types of the schemas whose leaves are objects with `value` in JSON, besides codes."""

    def __init__(
        self, table: Table, digesters: Mapping[str, Digest] | None = None, codes: Sequence[AdapterCode] = ()
    ) -> None:
        """Args:
          table: of the market.
          digesters: what makes Kernel messages of the pieces whose `digester` names it.
          codes: those of the adapter beside the shared ones.

        Raises:
          ValueError: the table names a digester that is not given.
        """
        self.table = table
        self.market: str = table.market
        self.zone: str = table.legal.zone
        self.entry, self.exit = table.entry, table.exit
        self.types = {label: _type(document) for label, document in table.documents.items()}
        self.attributes = {label: frozenset(_attributes(document)) for label, document in table.documents.items()}
        """Label -> attributes that belong to the content of its pieces."""
        self.ways: Ways = {}
        self.contents: dict[tuple[str, tuple[str, ...], str | None], Content | None] = {}
        """Label, path below the root and namespace -> what may stand there; None where only a schema tells."""
        self._digesters = digesters or {}
        for label, document in table.documents.items():
            for path, piece in document.pieces.items():
                if piece.digester is not None and piece.digester not in self._digesters:
                    raise ValueError(f"{label}/{'/'.join(path)}: there is no digester {piece.digester!r}")
        held = CodeTable(*codes)
        self.codes = held.codes
        """Every code of the adapter, in the order of the documentation."""
        self.refusal = held.refusal

    def dispatch(self, sniff: Sniff) -> str | Refusal:
        """The label of a member's type, by its root and namespace, its first keys, or the names of its columns.

        Returns:
          A label of `types`, or a refusal: TYPE_UNKNOWN for a document that the market has and that is not read,
          VERSION_UNKNOWN for a root we know in another namespace, TYPE_NOT_OURS for anything else.
        """
        root = sniff.root or ""
        keys = {key.strip() for key in root.split(",")} if sniff.form == "json" else set()
        versions: list[str] = []
        documents = self._rooted.get(root, {}) if sniff.form == "xml" else self.table.documents
        for label, document in documents.items():
            if sniff.form == "xml":
                if (sniff.namespace or None) in document.versions.values():
                    return label
                versions += [space or "no namespace" for space in document.versions.values()]
            elif sniff.form == "json" and "json" in document.forms and self._has_keys(document, keys):
                return label
            elif sniff.form == "other" and "csv" in document.forms:
                if csvform.is_table(root, document.columns, document.separator):
                    return label
            elif sniff.form == "other" and self.recognises(document, root):
                return label
        if versions:
            return self.refusal("VERSION_UNKNOWN", sniff.name, sniff.namespace, ", ".join(versions))
        if sniff.form == "xml" and root in self._sent:
            return self.refusal("TYPE_UNKNOWN", sniff.name, root, self._expected)
        for name in {root, *keys} & set(self.table.unread):
            return self.refusal("TYPE_UNKNOWN", sniff.name, f"{name}: {self.table.unread[name]}", self._expected)
        if sniff.form == "xml" and sniff.namespace is not None and sniff.namespace in self._spaces:
            return self.refusal("TYPE_UNKNOWN", sniff.name, root, self._expected)
        return self.refusal("TYPE_NOT_OURS", sniff.name, root[:80], self._expected)

    @cached_property
    def _rooted(self) -> dict[str | None, dict[str, Document]]:
        """The documents of XML, by root and label."""
        found: dict[str | None, dict[str, Document]] = {}
        for label, document in self.table.documents.items():
            if "xml" in document.forms:
                found.setdefault(document.root, {})[label] = document
        return found

    @cached_property
    def _expected(self) -> str:
        return ", ".join(self.types)

    @cached_property
    def _sent(self) -> frozenset[str | None]:
        """The roots of what is sent."""
        return frozenset(document.root for document in self.table.sent.values())

    @cached_property
    def _spaces(self) -> frozenset[str | None]:
        """The namespaces of all documents."""
        return frozenset(space for document in self.table.documents.values() for space in document.versions.values())

    @staticmethod
    def _has_keys(document: Document, keys: set[str]) -> bool:
        return document.root in keys if document.root else document.keys <= keys

    def recognises(self, document: Document, beginning: str) -> bool:
        """Whether a text that is neither XML, JSON nor CSV is a document of the table, by its first characters."""
        return False

    def split(self, document: Document, content: IO[bytes]) -> tuple[View, Iterator[Part]]:
        """What looks at the parts of a document that is neither XML, JSON nor CSV, and the parts, the header first.

        A market with EDIFACT gives the segments of each of its messages as dictionaries here.

        Raises:
          Unreadable: the market has no other form.
        """
        raise Unreadable(self.refusal("FORM_UNEXPECTED", value="text", expected=_said(document.forms)))

    def parts(self, label: str, content: IO[bytes], name: str) -> Iterator[MemberHead | Transaction | Refusal]:
        """The head and the transactions of a member. See `MarketAdapter.parts`."""
        for part, _ in _Member(self, self.table.documents[label], name).parts(content):
            yield part

    def errors(self, label: str, content: IO[bytes], name: str, position: int) -> Sequence[Refusal]:
        """Every error of one CH message: what the market's schema says of it, and what its digester did."""
        document = self.table.documents.get(label)
        if document is None:
            return super().errors(label, content, name, position)
        for part, piece in _Member(self, document, name).parts(content):
            if isinstance(part, Transaction) and part.position == position:
                if document.schema is None or not isinstance(piece, etree._Element):
                    return part.refusals
                explained = document.schema.explain(piece)
                places = {_place(found.path) for found in explained if not found.code.startswith("NOTE_")}
                return [*explained, *(found for found in part.refusals if _place(found.path) not in places)]
        return []

    def seed(self, document: Document, values: Values, raw: Mapping[str, str]) -> blake2b:
        """The hash that the identities of a member's messages go on from: of its type, its sender, and what the table
        says is entering.

        Args:
          document: of the table.
          values: of the header, by field.
          raw: of the header, as written, by leaf.
        """
        entering = [raw.get(leaf.path) for leaf in document.head.leaves() if leaf.entering]
        told = repr((document.label, values.get("sender"), *entering))
        return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16)

    def ledger(self) -> Ledger:
        """What becomes of the leaves of the schemas that the table names. See `adapters.common.coverage`."""
        # Imported when somebody asks: schemas take longer to read than all that is digested by them.
        from adapters.common.tableledger import table_ledger

        return table_ledger(self.table)

    def noticed(self, document: Document, values: Values) -> Sequence[Refusal]:
        """Notes on a header beside those of the table: none.

        Args:
          document: of the table.
          values: of the header, by field.
        """
        return ()

    def digester(self, piece: Piece) -> Digest | None:
        """What makes Kernel messages of a piece, None where the table does."""
        return None if piece.digester is None else self._digesters[piece.digester]

    def build(self, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
        """A refusal (BUILD_KIND): a table alone writes nothing."""
        return self.refusal("BUILD_KIND", "kind", type(message).__name__, ", ".join(sorted(self.builds)))


class _Member:
    """The walk through one member: its header first, then its pieces."""

    def __init__(self, adapter: TableAdapter, document: Document, name: str) -> None:
        self.adapter, self.table, self.document, self.name = adapter, adapter.table, document, name
        self.attributes = adapter.attributes[document.label]
        self.heads: dict[str, None] = {}
        self.head: Values = {}
        self.seed = blake2b(digest_size=16)
        self.version: str | None = None
        self.position = 0
        self.space: str | None = None
        self.whole: Any = None
        """The document, where it is one CH message: its schema knows it with its header."""

    def parts(self, content: IO[bytes]) -> Iterator[tuple[MemberHead | Transaction, Any]]:
        """The head and each transaction with the content it was read of; raises `Unreadable`."""
        form, stream = self._form(content)
        view, parts = self._split(form, stream)
        self.reading = Reading(self.table, view)
        self._take_name()
        held: list[Part] = []
        told = False
        for path, piece in parts:
            if self.version is None:
                self._find_version(piece)
            if not path and path in self.document.pieces:
                self.whole, piece = piece, self._body(piece, view)
            if path not in self.document.pieces:
                self._take(path, piece, late=told)
                continue
            held.append((path, piece))
            # Members of an object have no order: the header, or a part of it that may be missing, may follow.
            if not told and form == "json" and not self._whole(every=stream.given <= MAX_HELD):
                if stream.given > MAX_HELD:
                    break
                continue
            if not told:
                told = True
                yield self._open(form), None
            for path, piece in held:
                yield self._transaction(path, piece, view), piece if path else self.whole
            held.clear()
        if not told:
            yield self._open(form), None
        for path, piece in held:
            yield self._transaction(path, piece, view), piece
        self._see_pieces()

    def _see_pieces(self) -> None:
        """Refuse a document without the CH messages that its schema wants.

        Raises:
          Unreadable: so it is (HEADER_MISSING).
        """
        if self.position or not self.adapter.strict or self.document.schema is None:
            return
        root = declared(self.document.schema.path, self.adapter.wrapped)
        for path in self.document.pieces:
            if path and path[0] in root.children and root.children[path[0]].needed:
                place = f"{self.document.head.tag}/{path[0]}"
                raise Unreadable(self.adapter.refusal("HEADER_MISSING", place, expected=path[0]))

    def _form(self, content: IO[bytes]) -> tuple[str, _Joined]:
        """The form of a content by its first character, one of the document's, and the content from its beginning.

        Raises:
          Unreadable: it is written in a form that the document does not have (FORM_UNEXPECTED).
        """
        forms = self.document.forms
        first = content.read(_BEGINNING)
        joined = _Joined(first, content)
        begins = first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        found = "xml" if begins == b"<" or b"<\0" in first[:4] or b"\0<" in first[:4] else ""
        found = found or ("json" if begins in (b"{", b"[") else "other")
        if not begins or found in forms:
            return found if found in forms else forms[0], joined
        other = next((form for form in forms if form in _FORM_OF_SNIFF), None)
        if found == "other" and other is not None:
            return other, joined
        if found == "other" and "xml" in forms:
            return "xml", joined  # the reader says what is wrong with it
        raise Unreadable(self.adapter.refusal("FORM_UNEXPECTED", value=_SAID[found], expected=_said(forms)))

    def _split(self, form: str, content: IO[bytes]) -> tuple[View, Iterator[Part]]:
        document = self.document
        if form == "xml":
            namespaces = list(dict.fromkeys(document.versions.values()))
            names = document.head.children
            closed = self.adapter.strict and () not in document.pieces
            return XML, xmlform.split(content, document.root or "", namespaces, names, document.pieces, closed=closed)
        if form == "json":
            above = (document.root,) if document.root else ()
            pieces = {(*above, *path) for path in document.pieces}
            return PLAIN, self._of_json(jsonform.split(content, pieces), above)
        if form == "csv":
            only = next(iter(document.pieces))
            return PLAIN, ((only, row) for row in csvform.split(content, document.columns, document.separator))
        return self.adapter.split(document, content)

    def _of_json(self, parts: Iterator[Part], above: tuple[str, ...]) -> Iterator[Part]:
        """The parts below the root; beside it nothing may stand where the adapter is strict."""
        for path, held in parts:
            if path[: len(above)] == above:
                yield path[len(above) :], held
            elif self.adapter.strict:
                found = str(held)[:_BEGINNING]
                raise Unreadable(self.adapter.refusal("HEADER_INVALID", path[0], found, f"{above[0]} alone"))

    def _find_version(self, content: Any) -> None:
        versions = self.document.versions
        space = namespace_of(str(content.tag)) if isinstance(content, etree._Element) else None
        self.version = next((version for version, known in versions.items() if known == space), next(iter(versions)))
        self.space = versions[self.version]

    def _body(self, content: Any, view: View) -> Any:
        """What a document that is one CH message holds besides its header, which is taken."""
        head = self.document.head
        if isinstance(content, dict):
            for name, child in view.items(content, head):
                if name in head.children:
                    self._take((name,), child)
            return {name: held for name, held in content.items() if name not in head.children}
        if not isinstance(content, etree._Element):
            return {}
        body = etree.Element(content.tag)
        body.extend(deepcopy(child) for name, child in view.items(content, head) if name not in head.children)
        return body

    def _take(self, path: tuple[str, ...], content: Any, *, late: bool = False) -> None:
        """A part of the header, or what stands beside it.

        Raises:
          Unreadable: it stands behind CH messages (HEADER_INVALID).
        """
        name = path[0] if path else ""
        known, strict = name in self.document.head.children, self.adapter.strict
        place = f"{self.document.head.tag}/{name}"
        if late and (known or strict):
            raise Unreadable(self.adapter.refusal("HEADER_INVALID", place, name, "before the transactions"))
        if known and name not in self.heads:
            self.reading.take(name, content, self.document.head, self.document.head.tag)
            if strict and self.document.schema is not None:
                self._declared_head(name, content)
            self.heads[name] = None
        elif strict:
            expected = "one such element" if known else "an element that the schema knows"
            self.reading.refusals.append(self.adapter.refusal("SYN_UNEXPECTED", place, name, expected))

    def _declared_head(self, name: str, content: Any) -> None:
        """What the schema says of a part of the header: of its content, and in XML of its place."""
        assert self.document.schema is not None
        refusals = self.reading.refusals
        found: list[Refusal] = []
        if not refusals and content not in (None, {VALUE: ""}) and not self._regular_head(name, content):
            self._judged((name,), content, found, self.reading.notes)
        refusals += [structs.replace(one, path=f"{self.document.head.tag}/{one.path.lstrip('/')}") for one in found]
        if not isinstance(content, etree._Element):
            return
        last = next(reversed(self.heads), None)
        if name in self._order and self._order.get(last, -1) >= self._order[name]:
            place = f"{self.document.head.tag}/{name}"
            refusals.append(self.adapter.refusal("SYN_UNEXPECTED", place, name, f"before {last}"))

    @cached_property
    def _order(self) -> dict[str | None, int]:
        """Where the elements below the root stand, by the schema."""
        root = self._declared(())
        return {} if root is None else {name: place for place, name in enumerate(root.children)}

    def _regular_head(self, name: str, content: Any) -> bool:
        """Whether a part of the header is as the schema has it; False also where only the schema tells."""
        wanted = self._content_of_head
        return wanted is not None and Walk(self.table).header(name, content, wanted)

    @cached_property
    def _content_of_head(self) -> Content | None:
        return self._content(())

    def _take_name(self) -> None:
        node = self.document.head.children.get("name")
        if self.document.name is None or node is None:
            return
        found = re.fullmatch(self.document.name, re.split(r"[/\\]", self.name)[-1])
        if found is not None:
            self.heads["name"] = None
            Reading.walk(self.reading, {key: text for key, text in found.groupdict().items() if text}, node)

    def _whole(self, *, every: bool) -> bool:
        """Whether each part of the header, or each that has to be there, was read."""
        return all(name in self.heads for name, node in self.document.head.children.items() if every or node.needed)

    def _open(self, form: str) -> MemberHead:
        document, reading = self.document, self.reading
        refusal = self.adapter.refusal
        for name, node in document.head.children.items():
            if node.needed and name not in self.heads:
                raise Unreadable(refusal("HEADER_MISSING", f"{document.head.tag}/{name}", expected=name))
        self._unknown(reading.refusals, reading.notes)
        if reading.refusals:
            first = reading.refusals[0]
            raise Unreadable(refusal("HEADER_INVALID", first.path, first.value, first.expected))
        values = {**document.fixed, **reading.values}
        notes = [*reading.notes, *self.adapter.noticed(document, values)]
        said = next((told for ending, told in _ENDINGS.items() if self.name.lower().endswith(ending)), form)
        if said != form and not (said == "csv" and form == "edifact"):
            notes.append(refusal("NOTE_FORM", self.name, _SAID[form], _SAID[said]))
        self.head = {"market": self.table.market, "market_type": document.label, **values}
        self.seed = self.adapter.seed(document, values, reading.raw)
        created = next((leaf.path for leaf in document.head.leaves() if leaf.name == "created"), None)
        return MemberHead(
            type=document.label,
            version=self.version,
            sender=values.get("sender"),
            receiver=values.get("receiver"),
            created=reading.raw.get(created) if created is not None else None,
            notes=tuple(notes),
        )

    def _transaction(self, path: tuple[str, ...], content: Any, view: View) -> Transaction:
        self.position += 1
        piece, refusal = self.document.pieces[path], self.adapter.refusal
        regular = self._regular(path, content, view)
        if regular is not None:
            reading, identity = regular
            refusals, notes = [], []
        else:
            reading, identity = self._read(path, content, view)
            refusals, notes = list(reading.refusals), list(reading.notes)
            if self.document.schema is not None and (self.adapter.strict or isinstance(content, etree._Element)):
                self._judged(path, content if path else self.whole, refusals, notes)
            self._unknown(refusals, notes)
        values = reading.values
        messages: tuple[KernelMessage, ...] = ()
        reference = values.get("reference") or self.head.get("reference") or "-"
        point = values.get("access_point") or self.head.get("access_point")
        if not refusals:
            try:
                messages, more = self._messages(piece, reading, reference)
                notes += more
            except Unreadable as unreadable:
                refusals.append(unreadable.refusal)
            except FAULTS as fault:
                refusals.append(refusal("DIGEST_FAILED", piece.node.tag, f"{type(fault).__name__}: {fault}"))
        return Transaction(
            position=self.position,
            type=self.document.label,
            version=self.version,
            reference=str(reference)[:LONGEST_REFERENCE],
            access_point=None if point is None else str(point)[:LONGEST_POINT],
            sender=self.head.get("sender"),
            identity=identity,
            messages=messages,
            refusals=tuple(refusals),
            notes=tuple(notes),
        )

    def _regular(self, path: tuple[str, ...], content: Any, view: View) -> tuple[Reading, bytes] | None:
        """What is read of a piece that is as table and schema have it, and its identity; None of any other."""
        wanted = self._content(path) if path else None
        if wanted is None:
            return None
        walk = Walk(self.table, self.attributes)
        identity = (walk.element if view is XML else walk.object)(content, wanted, self.seed)
        return None if identity is None else (walk.reading, identity)

    def _content(self, path: tuple[str, ...]) -> Content | None:
        """What may stand in a piece, or in the header for an empty path; None where that is left to the schema."""
        document, contents = self.document, self.adapter.contents
        key = document.label, path, self.space
        if key not in contents:
            node = document.pieces[path].node if path else document.head
            found = self._declared(path)
            contents[key] = None if found is None else content_of(node, found, self.space)
        return contents[key]

    def _declared(self, path: tuple[str, ...]) -> Declared | None:
        """The declaration of a piece, or of the document; None where there is no such schema."""
        if not self.adapter.strict or self.document.schema is None:
            return None
        found = declared(self.document.schema.path, self.adapter.wrapped)
        for name in path:
            found = found.children[name]
        return found

    def _read(self, path: tuple[str, ...], content: Any, view: View) -> tuple[Reading, bytes]:
        """What the table reads of a piece, and its identity."""
        reading, piece = Reading(self.table, view), self.document.pieces[path]
        identity = self._shaped(reading, content, piece) if view is XML and not self.attributes else None
        if identity is None:
            reading.walk(content, piece.node)
            identity = view.identity(content, self.seed, self.attributes)
        return reading, identity

    def _shaped(self, reading: Reading, content: etree._Element, piece: Piece) -> bytes | None:
        """Read an element that is built as others; its identity as the view tells it, None where it is to be walked."""
        parts = list(content.iter(etree.Element))
        found = way(self.adapter.ways, piece.node, [part.tag for part in parts], [len(part) for part in parts])
        if found is None:
            return None
        texts = [(part.text or "").strip() for part in parts]
        if not all(texts[at] for at in found.needed):
            return None
        reading.follow(found, texts)
        state = self.seed.copy()
        state.update((found.identity % tuple(texts)).encode("utf-8", "surrogatepass"))
        return state.digest()

    def _judged(self, path: tuple[str, ...], content: Any, refusals: list[Refusal], notes: list[Refusal]) -> None:
        """What the market's schema says besides what the table does, of XML or of JSON."""
        assert self.document.schema is not None
        if isinstance(content, etree._Element):
            self._checked(content, refusals, notes)
            return
        node = self._declared(path)
        assert node is not None
        writer = Writer(self.space)
        name = path[-1] if path else self.document.root or ""
        self._checked(writer.element(name, content, node, name), refusals, notes, writer.refusals)

    def _checked(
        self,
        content: etree._Element,
        refusals: list[Refusal],
        notes: list[Refusal],
        others: Sequence[Refusal] = (),
    ) -> None:
        """What the market's schema says besides what the table does."""
        assert self.document.schema is not None
        found = self.document.schema.check(content)
        places = {_place(refused.path) for refused in refusals}
        refusals += [refused for refused in (*others, *found.refusals) if _place(refused.path) not in places]
        noted = {_place(note.path) for note in notes}
        notes += [note for note in found.notes if _place(note.path) not in noted]

    def _unknown(self, refusals: list[Refusal], notes: list[Refusal]) -> None:
        """Refuse what was noted as unknown, where the adapter is strict."""
        if not self.adapter.strict:
            return
        places = {_place(refused.path) for refused in refusals}
        for note in [note for note in notes if note.code == "NOTE_ELEMENT_UNKNOWN"]:
            notes.remove(note)
            if _place(note.path) not in places:
                expected = "an element that the schema knows"
                refusals.append(self.adapter.refusal("SYN_UNEXPECTED", note.path, note.value, expected))

    def _messages(
        self, piece: Piece, reading: Reading, reference: str
    ) -> tuple[tuple[KernelMessage, ...], tuple[Refusal, ...]]:
        """The Kernel messages in their order, and a note where they say more than can be kept."""
        head = {**self.head, "reference": reference}
        head.setdefault("effective", head.get("created"))
        particulars = {**self.reading.particulars, **reading.particulars}
        digest = self.adapter.digester(piece)
        if digest is None:
            return tuple(sorted(messages_of(piece, reading.values, particulars, head), key=business_order)), ()
        made = sorted(digest(reading.values, {**head, **piece.fixed}), key=business_order)
        return with_particulars(tuple(made), particulars)


class _Joined(BytesIO):
    """A stream that gives bytes that were read before, and then the rest; `given` counts them."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        super().__init__(first)
        self._rest = rest
        self.given = 0

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes, none at the end."""
        data = super().read(size) or self._rest.read(-1 if size is None else size)
        self.given += len(data)
        return data

    def readline(self, size: int | None = -1) -> bytes:
        """A line, or the beginning of one that is longer than `size`."""
        line = super().readline(size)
        return line if line.endswith(b"\n") else line + self._rest.readline(-1 if size is None else size - len(line))


def _type(document: Document) -> DocumentType:
    form = _FORM_OF_SNIFF.get(document.forms[0], document.forms[0])
    root = document.root or ",".join(sorted(document.keys)) or document.separator.join(document.columns)
    assert form in ("xml", "json", "other")
    return DocumentType(document.label, form, root, tuple(document.versions), document.about)  # type: ignore[arg-type]


def _said(forms: Sequence[str]) -> str:
    return " or ".join(_SAID[form] for form in forms)


def _attributes(document: Document) -> Iterator[str]:
    def below(node: Node) -> Iterator[str]:
        for name, child in node.children.items():
            if name.startswith("@"):
                yield name[1:]
            yield from below(child)

    for piece in document.pieces.values():
        yield from below(piece.node)


def _place(path: str) -> str:
    """A path as schema and table both tell it: without numbers, from the piece on."""
    return re.sub(r"\[[0-9]+\]", "", path).strip("/")
