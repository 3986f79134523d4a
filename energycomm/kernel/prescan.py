"""One pass over an XML stream before it is used: checks that it is well-formed to its end, and finds its root.

The pass costs a third of a parse, since libxml2 reports nothing but a DOCTYPE to Python and builds no tree. Because no
tree is built, libxml2's own bound on depth does not hold, so the nesting is counted in the bytes (`_Nesting`). Where
bytes cannot be read as ASCII, elements are followed one by one instead, which is slower and rare.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any, Final, NamedTuple, TypedDict, cast

from lxml import etree

from energycomm.kernel.verdicts import Refusal

CHUNK = 1 << 18
"""Bytes read at a time."""
HEAD = 1 << 10
"""Bytes fed at a time until the root element is seen; the XML declaration must end within the first of them."""
MAX_TAG = 1 << 16
"""Bytes that one start tag with its attributes may take (a hundred times what any market writes)."""
MAX_OPEN = 100_000
"""Elements open at a time that the pass bears, about 10 MB of memory; reading (`iterate`, `parse_bytes`) bears 256."""
MAX_DEPTH = 256
"""Depth that is refused where elements are followed one by one; the same as libxml2's bound for trees."""
MAX_ATTRIBUTES = 4_096
"""Attributes of one element that are refused where elements are followed one by one."""

_BLANK = rb"[ \t\r\n]"
_NAME = rb"[A-Za-z_][A-Za-z0-9_.-]*"
_VALUE = rb"(?:\"[ !#-%'-;=-~]*\"|'[ -%\x28-;=-~]*')"
_ATTRIBUTE = rb"%b+%b(?::%b)?%b*=%b*%b" % (_BLANK, _NAME, _NAME, _BLANK, _BLANK, _VALUE)
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:<\?xml%b[^<>&]{0,200}?\?>)?%b*<(?:(%b):)?(%b)((?:%b)*)%b*/?>"
    % (_BLANK, _BLANK, _NAME, _NAME, _ATTRIBUTE, _BLANK)
)
_DECLARED = re.compile(rb"(%b(?::%b)?)%b*=%b*(%b)" % (_NAME, _NAME, _BLANK, _BLANK, _VALUE))
_ENCODING = re.compile(rb"^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
_ASCII_BASED = re.compile(rb"(?i)utf-?8|(us-)?ascii|iso-?8859-?1?[0-9]|latin-?1|windows-125[0-8]|cp125[0-8]")


class _Settings(TypedDict):
    resolve_entities: bool
    no_network: bool
    load_dtd: bool
    dtd_validation: bool
    huge_tree: bool
    remove_comments: bool
    remove_pis: bool


SAFE: Final[_Settings] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""Settings of every parser that builds a tree. `huge_tree=False` bounds the depth (256) and one text or tag (10 MB)."""


class Sniffed(NamedTuple):
    """The result of the pass.

    Attributes:
      root: local name of the root element.
      namespace: its namespace, None where it has none.
    """

    root: str
    namespace: str | None


class Unreadable(Exception):
    """XML turned out to be damaged or out of bounds while it was read as a stream; `refusal` is what to report."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def shorten(value: str | None, limit: int = 200) -> str | None:
    """A value as it is shown in a refusal: at most `limit` characters."""
    return value if value is None or len(value) <= limit else value[: limit - 1] + "…"


def refuse(what: str, value: str | None, expected: str, advice: str = "ask the sender for a correct file") -> Refusal:
    """A refusal with the code ``XML_<what>``."""
    return Refusal(code=f"XML_{what}", value=shorten(value), expected=expected, advice=advice)


DOCTYPE = refuse(
    "DOCTYPE", "<!DOCTYPE", "a document without DOCTYPE", "no market sends one: find out who made the file"
)
EMPTY = refuse("EMPTY", None, "an XML document", "fetch the file again")

_ENCODING_FAULTS = frozenset((31, 32, 81, 6003))
_UNFINISHED = frozenset((4, 40, 45, 47, 63, 77))
_LIMIT_FAULTS = frozenset((107, 110, 114, 116))


def code_of(error: etree.XMLSyntaxError) -> int:
    """libxml2's number of a syntax error."""
    return int(getattr(error, "code", 0) or 0)


def refusal_of(error: etree.XMLSyntaxError, *, truncated: bool = False) -> Refusal:
    """The refusal of a syntax error: XML_ENCODING, XML_LIMIT, XML_TRUNCATED or XML_SYNTAX, with the line.

    Args:
      error: what the parser raised.
      truncated: it was raised at the end of the document, after a good beginning.
    """
    words = re.sub(r",? *line \d+, column \d+$", "", (error.msg or "not XML").replace("\n", " ")).strip()
    line, column = error.position
    value = f"line {line}, column {column}: {words}"
    if truncated:
        return refuse("TRUNCATED", value, "the document to its end", "fetch the file again")
    if code_of(error) in _ENCODING_FAULTS:
        return refuse(
            "ENCODING", value, "bytes of the encoding that the XML declaration names, UTF-8 where it names none"
        )
    if code_of(error) in _LIMIT_FAULTS or "XML_PARSE_HUGE" in words:
        return refuse("LIMIT", value, f"at most {MAX_DEPTH} levels of elements, and texts and tags below 10 MB")
    return refuse("SYNTAX", value, "well-formed XML")


class _Found(Exception):
    """A parser's target met what ends the pass."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


class _Silent:
    """Target of the pass: told of a DOCTYPE and nothing else."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise _Found(DOCTYPE)

    def close(self) -> None:
        return None


class _First(_Silent):
    """Target that remembers the root element."""

    root: str | None = None

    def start(self, tag: str, attributes: object) -> None:
        if self.root is None:
            self.root = tag


class _Follow(_Silent):
    """Target that follows every element and holds the bounds exactly."""

    depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Found(_too_deep(MAX_DEPTH))
        if len(attributes) > MAX_ATTRIBUTES:
            raise _Found(refuse("LIMIT", f"{len(attributes)} attributes", f"at most {MAX_ATTRIBUTES} attributes"))

    def end(self, tag: str) -> None:
        self.depth -= 1


def _too_deep(limit: int) -> Refusal:
    return refuse("LIMIT", f"more than {limit} elements open", f"at most {MAX_DEPTH} levels of elements")


def prescan(stream: IO[bytes]) -> Sniffed | Refusal:
    """Read a stream once, to its end, and classify it.

    Memory stays flat whatever the size. The stream need not be seekable; it is not closed.

    Args:
      stream: the bytes of one XML document.

    Returns:
      Root and namespace of a well-formed document without DOCTYPE, or a refusal: XML_EMPTY, XML_DOCTYPE, XML_ENCODING,
      XML_TRUNCATED, XML_LIMIT (nesting, size of a tag), XML_SYNTAX. The stream is then not read further.

    Raises:
      Whatever the stream raises.
    """
    beginning = b""
    while len(beginning) < HEAD and (chunk := stream.read(CHUNK)):
        beginning += chunk
    if not beginning.strip(b" \t\r\n\x00"):
        rest = any(chunk.strip(b" \t\r\n") for chunk in iter(lambda: stream.read(CHUNK), b""))
        return refuse("SYNTAX", "line 1: blanks", "an XML document from the first byte on") if rest else EMPTY
    first = _First()
    nesting = None
    chunks = iter(lambda: stream.read(CHUNK), b"")
    if _reads_as_ascii(beginning):
        if len(beginning) <= MAX_TAG:
            following = next(chunks, b"")
            if not following and (root := parsed(beginning)) is not None:
                _last.seen = beginning, root
                return _sniffed(root.tag)
            chunks = chain((following,), chunks) if following else chunks
        nesting, first.root = _Nesting(), _plain_root(beginning)
    main = _parser(_Silent() if nesting is not None else _Follow())
    try:
        return _pass(chunks, beginning, first, nesting, main)
    except _Found as found:
        return found.refusal
    except etree.XMLSyntaxError as error:
        return refusal_of(error)


_TREES = etree.XMLParser(**SAFE)
_last = threading.local()
"""The small document that was looked at last in this thread, with its tree: whoever reads it next need not parse it."""


def parsed(data: bytes) -> etree._Element | None:
    """The tree of a document in memory, for the caller alone; None where it is unsound or has a DOCTYPE."""
    seen, root = getattr(_last, "seen", (b"", None))
    _last.seen = b"", None
    if root is not None and seen == data:
        return cast("etree._Element", root)
    try:
        root = etree.fromstring(data, _TREES)
    except etree.XMLSyntaxError:
        return None
    return None if root.getroottree().docinfo.internalDTD is not None else root


def begun(stream: IO[bytes]) -> Sniffed | None:
    """Root and namespace of a document that ends in the middle; None where it ends before its root. The stream is read
    as far as the root.

    Args:
      stream: the bytes of a document that `prescan` refused with XML_TRUNCATED.
    """
    first = _First()
    head = _parser(first)
    try:
        while first.root is None and (chunk := stream.read(CHUNK)):
            _find_root(head, first, chunk)
    except (_Found, etree.XMLSyntaxError):
        return None
    return None if first.root is None else _sniffed(first.root)


def _sniffed(root: str) -> Sniffed:
    name = etree.QName(root)
    return Sniffed(name.localname, name.namespace)


def _pass(
    chunks: Iterator[bytes], chunk: bytes, first: _First, nesting: _Nesting | None, main: etree.XMLParser
) -> Sniffed | Refusal:
    head = None if first.root is not None else _parser(first)
    last = chunk
    while chunk:
        if head is not None and first.root is None:
            _find_root(head, first, chunk)
        main.feed(chunk)
        if nesting is not None and (refusal := nesting.see(chunk)):
            return refusal
        if fault := _namespace_fault(main):
            return fault
        last, chunk = chunk, next(chunks, b"")
    try:
        main.close()
        if head is not None and first.root is None:
            head.close()
    except etree.XMLSyntaxError as error:
        # What was good so far and does not end with a tag was cut; so was what ends with a tag and still lacks others.
        cut = b"<" in last and (last.rstrip(b" \t\r\n\x00")[-1:] != b">" or code_of(error) in _UNFINISHED)
        return refusal_of(error, truncated=cut)
    if fault := _namespace_fault(main):
        return fault
    assert first.root is not None
    return _sniffed(first.root)


def _parser(target: _Silent) -> etree.XMLParser:
    return etree.XMLParser(
        target=cast("Any", target),  # libxml2 is only told of the events that the target has methods for
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def _find_root(head: etree.XMLParser, first: _First, chunk: bytes) -> None:
    for at in range(0, len(chunk), HEAD):
        head.feed(chunk[at : at + HEAD])
        if first.root is not None:
            return


def _plain_root(beginning: bytes) -> str | None:
    """The root's name, with its namespace as lxml writes it, where nothing but an XML declaration stands before it and
    its start tag is written plainly; else a parser finds it. Whether the document is sound is told by the pass."""
    found = _ROOT.match(beginning)
    if found is None:
        return None
    prefix, name, attributes = found.groups()
    wanted = b"xmlns" if prefix is None else b"xmlns:" + prefix
    for attribute, value in _DECLARED.findall(attributes):
        if attribute == wanted and len(value) > len("''"):
            return None if b" " in value else f"{{{value[1:-1].decode()}}}{name.decode()}"
    return None if prefix is not None else str(name.decode())


def _namespace_fault(parser: etree.XMLParser) -> Refusal | None:
    """An undeclared prefix or a namespace that is no URI: only noted here, though every tree parser refuses it."""
    for entry in parser.feed_error_log:
        if entry.level >= etree.ErrorLevels.ERROR and entry.domain == etree.ErrorDomains.NAMESPACE:
            value = f"line {entry.line}, column {entry.column}: {entry.message}"
            return refuse("SYNTAX", value, "prefixes that are declared, for namespaces that are URIs")
    return None


def _reads_as_ascii(beginning: bytes) -> bool:
    """Whether markup can be counted in the bytes: its characters are one byte each, which no other character has."""
    head = beginning[:HEAD]
    if b"\x00" in head[:4] or head[:1] in (b"\xfe", b"\xff", b"\x4c", b"+"):
        return False
    if b"<?xml" not in head[:8]:
        return True
    if b"?>" not in head:
        return False
    declared = _ENCODING.search(head)
    return declared is None or _ASCII_BASED.fullmatch(declared[1]) is not None


_OPENING = re.compile(rb"<!--|<!\[CDATA\[|<\?")
_UNTIL = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}
_SELF_CLOSING = re.compile(rb"<[^/!?<>](?:[^\"'<>]|\"[^\"]*\"|'[^']*')*/>")


class _Nesting:
    """Counts how many elements are open, from the bytes of a well-formed document.

    In well-formed XML a ``<`` always begins markup, and outside of comments, CDATA and instructions it begins a tag:
    start tags minus end tags minus self-closing tags are open. Counting self-closing tags costs as much as the rest, so
    it begins only when the sum without it has grown large; the sum is therefore never below the truth.
    """

    def __init__(self) -> None:
        self._open = 0
        self._rest = b""
        self._until = b""
        self._none_seen = True

    def see(self, chunk: bytes) -> Refusal | None:
        """Count the next bytes; a refusal when too many elements are open or a tag is too large."""
        data = self._rest + chunk if self._rest else chunk
        if self._none_seen and len(data) <= MAX_TAG:  # too few for either: they are counted once more follow
            self._rest = data
            return None
        self._none_seen = False
        if self._until or (b"!" in data and b"<!" in data) or (b"?" in data and b"<?" in data):
            data, self._rest = self._without_asides(data)
            end = len(data)
        else:
            # A tag is never counted in two parts: what follows the last "<" waits for the next bytes.
            end = max(data.rfind(b"<"), 0)
            self._rest = data[end:] if data[end : end + 1] == b"<" else b""
        if len(self._rest) > MAX_TAG:
            if b">" not in self._rest:
                return refuse("LIMIT", f"a tag of more than {MAX_TAG} bytes", f"tags of at most {MAX_TAG} bytes")
            data, end, self._rest = data[:end] + self._rest, end + len(self._rest), b""
        starts = data.count(b"<", 0, end)
        self._open += starts - 2 * data.count(b"</", 0, end)
        if self._open > MAX_OPEN // 2:
            plain = data.count(b">", 0, end) == starts
            self._open -= data.count(b"/>", 0, end) if plain else len(_SELF_CLOSING.findall(data, 0, end))
        return _too_deep(MAX_OPEN // 2) if self._open > MAX_OPEN else None

    def _without_asides(self, data: bytes) -> tuple[bytes, bytes]:
        """The data without comments, CDATA and instructions, and what waits for the next bytes."""
        pieces: list[bytes] = []
        at = 0
        while True:
            if self._until:
                end = data.find(self._until, at)
                if end < 0:
                    return b"".join(pieces), data[max(at, len(data) - 2) :]
                at, self._until = end + len(self._until), b""
            opening = _OPENING.search(data, at)
            if opening is None:
                end = data.rfind(b"<", at)
                pieces.append(data[at : end if end >= 0 else len(data)])
                return b"".join(pieces), data[end:] if end >= 0 else b""
            pieces.append(data[at : opening.start()])
            at, self._until = opening.end(), _UNTIL[opening.group()]
