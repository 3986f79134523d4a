"""A file of a market without one customer: what others are told of in it stays, byte by byte.

A value in a file is the customer's if the smallest part around it that names an access point names the customer's. A
part that names none, beside parts of the same kind that do, stands by itself: it is the customer's if it has a full
name or a contact. In XML and JSON the parts are elements, in EDIFACT what follows an access point, elsewhere lines.
Zips are opened, and so are files encrypted under a key of the ring: what remains of those is kept in clear.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final
from xml.parsers import expat

from msgspec import Struct, field, structs

from energycomm.erasure.traces import Traces
from energycomm.kernel.personal import ERASED
from energycomm.transport.forms import form_of
from energycomm.transport.keys import KeyRing
from energycomm.transport.windows import Window

_HEAD: Final = 4096

DEEPEST: Final = 8
"""Zips inside each other that are opened."""

_TAG = re.compile(rb"""<[^\s/>]+((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*/?>""")
_ATTRIBUTE = re.compile(rb"""[^\s=>]+\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_INTERCHANGE = re.compile(r"\s*UN[A-Z][^\n]*'")
"""How a file of EDIFACT begins."""
_SEGMENT = re.compile(r"(?:\?.|[^'?])*'?|\?$", re.DOTALL)
_ELEMENT = re.compile(r"(?:\?.|[^+'?])+", re.DOTALL)
_RELEASE = re.compile(r"\?(.)|:", re.DOTALL)
_WORD: Final = re.compile(r"(?<!\w)[0-9A-Za-z]{8,40}(?!\w)")
"""What may be an identifier of an access point."""
_MARK: Final = ERASED.encode()

Span = tuple[int, int]

Waiting = list[tuple[Callable[[], None], bool]]
"""What is to be changed in JSON once it is known whose it is; with whether the value has a full name or a contact."""


class Whose(Struct, frozen=True):
    """Whose data are taken out of a file.

    Attributes:
      traces: the customer's words.
      points: identifiers of the customer's access points.
      others: identifiers of other access points of the same file.
      elements: elements whose content is a customer's: of files of the customer's time; of others none.
      known: of files that nobody digested: says which words of one are access points. A name alone is no proof there:
        nothing is taken out unless the file names the customer's access point, or has a full name or a contact.
    """

    traces: Traces
    points: frozenset[str]
    others: frozenset[str] = frozenset()
    elements: frozenset[str] = frozenset()
    known: Callable[[Collection[str]], frozenset[str]] | None = None

    def owner(self, text: str) -> tuple[bool, bool]:
        """Whether a value is an access point of the customer's, or another."""
        bare = text.strip()
        return bare in self.points, bare in self.others


def redacted(content: bytes, whose: Whose, keys: KeyRing | None = None, depth: int = 0) -> bytes:
    """A file without the customer; the same bytes where it tells nothing of one.

    Args:
      content: the file.
      whose: the customer.
      keys: open encrypted zips.
      depth: zips that it is in.
    """
    if content.startswith(b"PK\x03\x04") and depth < DEEPEST:
        return _zip(content, whose, keys, depth)
    clear = None if keys is None or depth >= DEEPEST else _decrypted(content, keys)
    if clear is not None:
        opened = redacted(clear, whose, keys, DEEPEST if not zipfile.is_zipfile(io.BytesIO(clear)) else depth)
        return content if opened == clear else opened
    return _member(content, whose)


def readable(content: bytes, keys: KeyRing) -> bool:
    """Whether a file that was read once can be read now: one that is encrypted under a key that is gone cannot."""
    return form_of(content[:_HEAD]) != "binary" or _decrypted(content, keys) is not None


def _zip(content: bytes, whose: Whose, keys: KeyRing | None, depth: int) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as before:
            entries = [(one, before.read(one)) for one in before.infolist()]
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError, ValueError):
        return content  # nobody could read it: it is searched as it is elsewhere
    done = [(one, part, redacted(part, whose, keys, depth + 1)) for one, part in entries]
    if all(part is clean or part == clean for _, part, clean in done):
        return content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as after:
        for one, _, clean in done:
            after.writestr(one, clean, compress_type=one.compress_type)
    return buffer.getvalue()


def _decrypted(content: bytes, keys: KeyRing) -> bytes | None:
    window = Window(content, 0, len(content))
    for key in keys.in_order():
        if (size := key.clear_size(window)) is not None:
            clear = b"".join(key.decrypt(window, size))
            # A wrong key leaves a valid padding by chance: what comes out has to be something.
            if zipfile.is_zipfile(io.BytesIO(clear)) or (clear and form_of(clear[:_HEAD]) != "binary"):
                return clear
    return None


def _member(content: bytes, whose: Whose) -> bytes:
    text, encoding = _text(content)
    said = _released(text) if _INTERCHANGE.match(text) else text
    there = whose.traces.in_text(said) or (
        any(name in text for name in whose.elements) and any(point in text for point in whose.points)
    )
    if not there:
        return content
    if whose.known is not None:
        if not any(point in text for point in whose.points) and not whose.traces.surely_in(said):
            return content
        points = whose.known(frozenset(_WORD.findall(text)))
        whose = structs.replace(whose, others=whose.others | (points - whose.points), known=None)
    head = text.lstrip("\ufeff \t\r\n")[:1]
    if head == "<":
        found = _xml(content, whose)
        if found is not None:
            return found
    if head in ("{", "["):
        clean = _json(text, whose)
        if clean is not None:
            return content if clean == text else clean.encode(encoding, "replace")
    clean = "".join(_lines(text, whose))
    return content if clean == text else clean.encode(encoding, "replace")


def _text(content: bytes) -> tuple[str, str]:
    """The text of a file, and its encoding; any bytes are a text."""
    named = _ENCODING.match(content)
    tried = ["utf-16"] if content[:2] in (b"\xff\xfe", b"\xfe\xff") else []
    if not tried and b"\x00" in content[:_HEAD]:
        # UTF-16 without a mark: every other byte of what is mostly letters is zero.
        head = content[:_HEAD]
        tried = ["utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"]
    tried += ["utf-8"] if named is None else [named[1].decode("ascii"), "utf-8"]
    for encoding in tried:
        try:
            return content.decode(encoding), encoding
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("latin-1"), "latin-1"


class _Node(Struct):
    """An element that is open.

    Attributes:
      tag: its name.
      behind: where its start tag ends.
      personal: it is below an element whose content is a customer's, or is one.
      leaf: it has no elements in it.
      text: its text.
      values: places and texts of its attributes, and of the leaves in it.
      named: places that have the customer's words, and the values beside them.
      below: places below elements whose content is a customer's.
      own, other: whether an access point of the customer's, or another, is named in it.
      sure: what it has of the customer's words is a full name or a contact.
      pointed: names of the elements in it that name an access point.
      doubts: the elements in it that name none, with what they have.
    """

    tag: str
    behind: int
    personal: bool
    leaf: bool = True
    text: list[str] = field(default_factory=list)
    values: list[tuple[Span, str]] = field(default_factory=list)
    named: list[Span] = field(default_factory=list)
    below: list[Span] = field(default_factory=list)
    own: bool = False
    other: bool = False
    sure: bool = False
    pointed: set[str] = field(default_factory=set)
    doubts: list[_Node] = field(default_factory=list)


def _xml(content: bytes, whose: Whose) -> bytes | None:
    """XML without the customer; None where it cannot be read so."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None
    parser = expat.ParserCreate()
    parser.buffer_text = True
    open_: list[_Node] = [_Node("", 0, personal=False)]
    gone: list[Span] = []

    def refuse(*_: Any) -> None:
        raise ValueError("a document type is not read")

    def start(name: str, attributes: dict[str, str]) -> None:
        begin = parser.CurrentByteIndex
        tag = _TAG.match(content, begin)
        if tag is None:
            raise ValueError("a tag that cannot be read")
        parent = open_[-1]
        parent.leaf = False
        node = _Node(name, tag.end(), parent.personal or name.rpartition(":")[2] in whose.elements)
        if len(attributes):
            spans = [one.span(1) if one[1] is not None else one.span(2) for one in _attributes(content, tag)]
            node.values += list(zip(spans, attributes.values(), strict=True))
        open_.append(node)

    def end(_name: str) -> None:
        node = open_.pop()
        parent = open_[-1]
        if node.leaf:
            value = "".join(node.text)
            if value.strip():
                place = (node.behind, parser.CurrentByteIndex)
                parent.values.append((place, value))
                if node.personal:
                    parent.below.append(place)
        _close(node, parent, whose, gone)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: open_[-1].text.append(text)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError):
        return None
    root = open_.pop()
    last = _Node("", 0, personal=False)
    _close(root, last, whose, gone)
    for one in last.doubts:
        root.named += one.named
    if not root.own and not root.other:
        gone += root.named  # no access point anywhere: the words are all that is known
    clean = _without(content, gone)
    if root.other:
        return clean
    text, encoding = _text(clean)
    return whose.traces.scrub(text).encode(encoding, "replace") if whose.traces.in_text(text) else clean


def _attributes(content: bytes, tag: re.Match[bytes]) -> Iterator[re.Match[bytes]]:
    return _ATTRIBUTE.finditer(content, *tag.span(1))


def _close(node: _Node, parent: _Node, whose: Whose, gone: list[Span]) -> None:
    """An element ends: what is in it is the customer's, another's, or still in doubt."""
    points = set()
    for place, value in node.values:
        own, other = whose.owner(value)
        node.own, node.other = node.own or own, node.other or other
        if own or other:
            points.add(place)
    told = [place for place, value in node.values if place not in points and whose.traces.told_by(value)]
    if told and not points:
        told = [place for place, _ in node.values]  # a name, and what stands beside it: title, date of birth
    words = [value for place, value in node.values if place in told and whose.traces.told_by(value)]
    node.sure = node.sure or len(set(words)) > 1 or any(whose.traces.surely_in(word) for word in words)
    node.named += told
    for one in node.doubts:
        if one.sure and one.tag in node.pointed:
            gone += one.named + one.below
        else:
            node.named += one.named
            node.below += one.below
            node.sure = node.sure or one.sure
    if node.personal:
        node.below += [place for place, _ in node.values if place not in points]
    if node.own:
        gone += node.named
        if not node.other:
            gone += node.below
    if node.own or node.other:
        parent.pointed.add(node.tag)
    elif node.named or node.below:
        parent.doubts.append(node)
    parent.own, parent.other = parent.own or node.own, parent.other or node.other


def _without(content: bytes, gone: list[Span]) -> bytes:
    if not gone:
        return content
    parts, done = [], 0
    for first, last in sorted(set(gone)):
        if first >= done:
            parts += [content[done:first], _MARK]
            done = last
    return b"".join((*parts, content[done:]))


def _json(text: str, whose: Whose) -> str | None:
    """JSON, or lines of JSON, without the customer; None where it is none."""
    try:
        root = [json.loads(text)]
        lines = False
    except ValueError:
        try:
            root, lines = [json.loads(line) for line in text.splitlines() if line.strip()], True
        except ValueError:
            return None
    before = json.dumps(root)
    waiting: Waiting = []
    own, other = _walk(root, whose, waiting, personal=False)
    if own or not other:
        _change(waiting)
    if json.dumps(root) == before:
        return text
    return "".join(json.dumps(one, ensure_ascii=False) + ("\n" if lines else "") for one in root)


def _walk(held: Any, whose: Whose, waiting: Waiting, *, personal: bool) -> tuple[bool, bool]:
    """Go through a value; what is in doubt is done by whoever names an access point further up.

    Returns:
      Whether an access point of the customer's, and whether another, is named in it.
    """
    own = other = False
    mine: Waiting = []
    alone: list[Waiting] = []
    items = list(held.items()) if isinstance(held, dict) else list(enumerate(held))
    for key, value in items:
        below = personal or key in whose.elements
        has_own = has_other = False
        if isinstance(value, dict | list):
            inside: Waiting = []
            has_own, has_other = _walk(value, whose, inside, personal=below)
            alone.append(inside)
        elif isinstance(value, str):
            has_own, has_other = whose.owner(value)
            if not has_own and not has_other:
                if below:
                    mine.append((_setting(held, key, ERASED), whose.traces.surely_in(value)))
                elif whose.traces.told_by(value):
                    clean = whose.traces.scrub(value)
                    change = _setting(held, key, clean if clean != value else ERASED)
                    mine.append((change, whose.traces.surely_in(value)))
        own, other = own or has_own, other or has_other
    for inside in alone:
        # Of a list some items name access points: one that names none stands by itself.
        if isinstance(held, list) and (own or other) and any(sure for _, sure in inside):
            _change(inside)
        else:
            mine += inside
    if own:
        _change(mine)
    elif not other:
        waiting += mine
    return own, other


def _change(waiting: Waiting) -> None:
    for change, _ in waiting:
        change()


def _setting(held: Any, key: Any, value: str) -> Callable[[], None]:
    def change() -> None:
        held[key] = value

    return change


def _lines(text: str, whose: Whose) -> Iterator[str]:
    """Lines, or segments of EDIFACT, without the customer."""
    edifact = _INTERCHANGE.match(text) is not None
    another = False
    pieces = _SEGMENT.findall(text) if edifact else re.split(r"(?<=\n)", text)
    for piece in pieces:
        own = any(point in piece for point in whose.points)
        if own:
            another = False
        elif any(point in piece for point in whose.others):
            another = True
        if another:
            yield piece
        else:
            yield _segment(piece, whose.traces) if edifact else whose.traces.scrub(piece)
        another = another and edifact


def _segment(segment: str, traces: Traces) -> str:
    """A segment of EDIFACT without the elements that tell of the customer: a name may be in several components."""
    return _ELEMENT.sub(lambda found: ERASED if traces.in_text(_released(found[0])) else found[0], segment)


def _released(text: str) -> str:
    """What a text of EDIFACT says, with blanks between components."""
    return _RELEASE.sub(lambda found: found[1] or " ", text)
