"""A file of a market without one customer: what others are told of in it stays, byte by byte.

A value in a file is the customer's if the smallest part around it that names an access point names the customer's. A
part that names none, beside parts of the same kind that do, stands by itself: it is the customer's if it has a full
name or a contact. In XML and JSON the parts are elements, in EDIFACT what follows an access point, elsewhere lines.
Zips are opened, and so are files encrypted under a key of the ring: what remains of those is kept in clear. A document
in base64 or gzip inside of a file is a file of its own if it names an access point; otherwise it is a value of the part
that it stands in, as a name in other spellings is.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import Any, Final
from xml.parsers import expat

from msgspec import Struct, field, structs

from energycomm.erasure.packed import (
    DEEPEST,
    entries,
    hidden,
    packed_again,
    runs,
    said,
    spellings,
    unzipped,
    zipped_like,
)
from energycomm.erasure.traces import Traces
from energycomm.kernel.personal import ERASED
from energycomm.transport.forms import form_of
from energycomm.transport.keys import KeyRing
from energycomm.transport.windows import Window

_HEAD: Final = 4096

_TAG = re.compile(rb"""<[^\s/>]+((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*/?>""")
_ATTRIBUTE = re.compile(rb"""[^\s=>]+\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_INTERCHANGE = re.compile(r"\s*UN[A-Z][^\n]*'")
"""How a file of EDIFACT begins."""
_SEGMENT = re.compile(r"(?:\?.|[^'?])*'?|\?$", re.DOTALL)
_ELEMENT = re.compile(r"(?:\?.|[^+'?])+", re.DOTALL)
_RELEASE = re.compile(r"\?(.)|:", re.DOTALL)
_CELL: Final = re.compile(r"""(?:&#?\w+;|[^"'<>;|,\t\r\n])+""")
"""A value of a text of no known form."""
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
      deep: words stand in the file packed, or in other spellings: every value is opened.
    """

    traces: Traces
    points: frozenset[str]
    others: frozenset[str] = frozenset()
    elements: frozenset[str] = frozenset()
    known: Callable[[Collection[str]], frozenset[str]] | None = None
    deep: bool = False

    def told_by(self, value: str) -> bool:
        """Whether a value tells of the customer, packed or spelt otherwise too."""
        return self.traces.told_by(value) or (self.deep and any(map(self.traces.told_by, self._beneath(value))))

    def surely_in(self, value: str) -> bool:
        """The same of a full name or a contact."""
        return self.traces.surely_in(value) or (self.deep and any(map(self.traces.surely_in, self._beneath(value))))

    def scrub(self, text: str) -> str:
        """A text of the customer's without the words that tell of one."""
        clean = self.traces.scrub(text)
        return opened_out(clean, self.traces.in_text, self.names) if self.deep else clean

    def _beneath(self, value: str) -> Iterator[str]:
        """What a value says packed or spelt otherwise; a document that names an access point is no value."""
        yield from spellings(value)
        for run in runs(value):
            texts = tuple(said(run.content))
            if not any(map(self.names, texts)):
                yield from texts

    def names(self, text: str) -> bool:
        """Whether a text names an access point that is known."""
        return any(point in text for point in (*self.points, *self.others))

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
    if depth < DEEPEST and (inside := unzipped(content)) is not None:
        clean = redacted(inside, whose, keys, depth + 1)
        return content if clean == inside else zipped_like(content, clean)
    clear = None if keys is None or depth >= DEEPEST else _decrypted(content, keys)
    if clear is not None:
        opened = redacted(clear, whose, keys, DEEPEST if not zipfile.is_zipfile(io.BytesIO(clear)) else depth)
        return content if opened == clear else opened
    return _member(content, whose, depth)


def opened_out(text: str, tells: Callable[[str], bool], apart: Callable[[str], bool] = lambda _text: False) -> str:
    """A text without what tells of the customer packed, or in other spellings.

    Args:
      text: the text, without what tells of the customer plainly.
      tells: whether a text does.
      apart: whether a text that was packed is a document by itself, and stays.
    """
    parts, done = [], 0
    for run in runs(text):
        texts = tuple(said(run.content))
        if any(map(tells, texts)) and not any(map(apart, texts)):
            parts += [text[done : run.start], ERASED]
            done = run.end
    rest = "".join((*parts, text[done:]))
    if not any(map(tells, spellings(rest))):
        return rest
    return _CELL.sub(lambda cell: ERASED if any(map(tells, spellings(cell[0]))) else cell[0], rest)


def readable(content: bytes, keys: KeyRing) -> bool:
    """Whether a file that was read once can be read now: one that is encrypted under a key that is gone cannot."""
    return form_of(content[:_HEAD]) != "binary" or _decrypted(content, keys) is not None


def _zip(content: bytes, whose: Whose, keys: KeyRing | None, depth: int) -> bytes:
    found = entries(content)
    if found is None:
        return content  # nobody could read it: it is searched as it is elsewhere
    done = [(one, part, redacted(part, whose, keys, depth + 1)) for one, part in found]
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


def _member(content: bytes, whose: Whose, depth: int) -> bytes:
    text, encoding = _text(content)
    plain = _released(text) if _INTERCHANGE.match(text) else text
    beneath = "\n".join(hidden(text, depth))
    packed = whose.traces.in_text(beneath)
    there = (
        packed
        or whose.traces.in_text(plain)
        or (any(name in text for name in whose.elements) and any(point in text for point in whose.points))
    )
    if not there:
        return content
    if whose.known is not None:
        everything = f"{plain}\n{beneath}"
        if not any(point in everything for point in whose.points) and not whose.traces.surely_in(everything):
            return content
        points = whose.known(frozenset(_WORD.findall(f"{text}\n{beneath}")))
        whose = structs.replace(whose, others=whose.others | (points - whose.points), known=None)
    if packed:
        whose = structs.replace(whose, deep=True)
        rest = _documents(text, whose, depth)
        if rest != text:
            text, content = rest, rest.encode(encoding, "replace")
    return _formed(content, text, encoding, whose)


def _documents(text: str, whose: Whose, depth: int) -> str:
    """A text whose packed documents, that name an access point, are without the customer."""
    parts, done = [], 0
    for run in runs(text):
        if depth < DEEPEST and any(map(whose.names, said(run.content, depth + 1))):
            clean = redacted(run.content, structs.replace(whose, deep=False), None, depth + 1)
            if clean != run.content:
                parts += [text[done : run.start], packed_again(text[run.start : run.end], clean)]
                done = run.end
    return "".join((*parts, text[done:]))


def _formed(content: bytes, text: str, encoding: str, whose: Whose) -> bytes:
    """XML, JSON, EDIFACT or lines without the customer."""
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

    def comment(value: str) -> None:
        begin = parser.CurrentByteIndex + len(b"<!--")
        open_[-1].values.append(((begin, content.index(b"-->", begin)), value))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: open_[-1].text.append(text)
    parser.StartDoctypeDeclHandler, parser.CommentHandler = refuse, comment
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError):
        return None
    return _whole(content, open_.pop(), whose, gone)


def _whole(content: bytes, root: _Node, whose: Whose, gone: list[Span]) -> bytes:
    """A document that was read to its end without the customer: what only its root decides, and the words left."""
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
    rest = whose.scrub(text)
    return clean if rest == text else rest.encode(encoding, "replace")


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
    told = [place for place, value in node.values if place not in points and whose.told_by(value)]
    if told and not points:
        told = [place for place, _ in node.values]  # a name, and what stands beside it: title, date of birth
    words = [value for place, value in node.values if place in told and whose.told_by(value)]
    node.sure = node.sure or len(set(words)) > 1 or any(map(whose.surely_in, words))
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
                    mine.append((_setting(held, key, ERASED), whose.surely_in(value)))
                elif whose.told_by(value):
                    clean = whose.scrub(value)
                    change = _setting(held, key, clean if clean != value else ERASED)
                    mine.append((change, whose.surely_in(value)))
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
    for piece in _SEGMENT.findall(text) if edifact else _whole_lines(text, whose):
        own = any(point in piece for point in whose.points)
        if own:
            another = False
        elif any(point in piece for point in whose.others):
            another = True
        if another:
            yield piece
        else:
            yield _segment(piece, whose) if edifact else whose.scrub(piece)
        another = another and edifact


def _whole_lines(text: str, whose: Whose) -> list[str]:
    """The lines of a text; base64 in several lines is one of them."""
    wrapped = [run for run in runs(text) if "\n" in text[run.start : run.end]] if whose.deep else []
    cuts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    cuts = [cut for cut in cuts if not any(run.start < cut < run.end for run in wrapped)]
    return [text[first:last] for first, last in pairwise(cuts)]


def _segment(segment: str, whose: Whose) -> str:
    """A segment of EDIFACT without the elements that tell of the customer: a name may be in several components."""

    def clean(found: re.Match[str]) -> str:
        plain = _released(found[0])
        return ERASED if whose.scrub(plain) != plain else found[0]

    return _ELEMENT.sub(clean, segment)


def _released(text: str) -> str:
    """What a text of EDIFACT says, with blanks between components."""
    return _RELEASE.sub(lambda found: found[1] or " ", text)
