"""Safe reading of XML that others wrote: no entities, no DTD, no network, bounded depth and memory.

Every document with a DOCTYPE is refused at its first event: with entities switched off, a reference to one would
silently shorten the text it stands in.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Protocol

from lxml import etree

from energycomm.kernel.prescan import (
    EMPTY,
    SAFE,
    Sniffed,
    Unreadable,
    begun,
    parsed,
    prescan,
    refusal_of,
    refuse,
    shorten,
)
from energycomm.kernel.verdicts import Refusal

__all__ = ["SAFE", "Sniffed", "Unreadable", "begun", "iterate", "parse_bytes", "parser", "prescan", "shorten"]


MAX_PIECE = 64 << 20
"""Bytes that `iterate` reads between two wanted elements before it gives up."""

SMALL = 1 << 16
"""Bytes up to which `iterate` parses a document at once; it is read in a few pieces."""
READS = 4


def parser() -> etree.XMLParser:
    """A new parser with safe settings. It accepts a DOCTYPE: use `parse_bytes` for content of others."""
    return etree.XMLParser(**SAFE)


_PARSER = parser()


def parse_bytes(data: bytes) -> etree._Element | Refusal:
    """The root element of a document that is held in memory.

    Returns:
      The root element, or a refusal: XML_DOCTYPE, XML_EMPTY, XML_ENCODING, XML_SYNTAX, XML_TRUNCATED, XML_LIMIT.
    """
    # Without "<!" and "<?" there is neither DOCTYPE nor an encoding that could hide one: parsed at once.
    plain = data[:1] == b"<" and data[1:2] != b"\x00" and b"<!" not in data and b"<?" not in data
    if not plain:
        seen = prescan(io.BytesIO(data))
        if isinstance(seen, Refusal):
            return seen
    try:
        return etree.fromstring(data, _PARSER)
    except etree.XMLSyntaxError as error:
        seen = prescan(io.BytesIO(data))  # tells a truncated document from a wrong one
        return seen if isinstance(seen, Refusal) else refusal_of(error)


class Readable(Protocol):
    """Bytes that are read from their beginning."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; none at the end."""


class _Bounded:
    """A stream that gives up when too much is read between two wanted elements; `first` was read of it before."""

    def __init__(self, stream: Readable, limit: int, first: bytes) -> None:
        self._stream, self._first = stream, first
        self._limit = limit
        self.left = limit
        self.empty = True

    def read(self, size: int) -> bytes:
        data, self._first = self._first[:size] or self._stream.read(size), self._first[size:]
        self.left -= len(data)
        self.empty = self.empty and not data
        if self.left < 0:
            expected = f"a wanted element within {self._limit} bytes"
            raise Unreadable(refuse("LIMIT", f"more than {self._limit} bytes without one", expected))
        return data

    def found(self) -> None:
        self.left = self._limit


def iterate(stream: Readable, tag: str | Sequence[str], *, max_piece: int = MAX_PIECE) -> Iterator[etree._Element]:
    """The elements of a tag, one by one, in constant memory.

    Each element is whole when it is given and is emptied, with everything that stood before it, when the next one is
    asked for: keep values, not elements. Ask for a header's tag too if the header is wanted. An element inside another
    wanted one is given first and is empty in the outer one. Run `prescan` first: it tells a document that is cut from
    one that is wrong.

    Args:
      stream: the bytes of one XML document.
      tag: tag or tags, in lxml's form ``{namespace}name``; ``{*}name`` for any namespace.
      max_piece: bytes that may be read from one wanted element to the next.

    Raises:
      Unreadable: the document is broken, has a DOCTYPE, or a piece is too large. Where it was cut, what came before
        may be kept; else keep nothing.
    """
    first, whole = _beginning(stream, min(SMALL, max_piece))
    if whole and (elements := _of_small(first, (tag,) if isinstance(tag, str) else tag)) is not None:
        yield from elements
        return
    source = _Bounded(stream, max_piece, first)
    checked = False
    try:
        for _, element in etree.iterparse(source, events=("end",), tag=tag, **SAFE):
            if not checked:
                if element.getroottree().docinfo.internalDTD is not None:
                    raise Unreadable(refuse("DOCTYPE", "<!DOCTYPE", "a document without DOCTYPE"))
                checked = True
            source.found()
            yield element
            _forget(element)
    except etree.XMLSyntaxError as error:
        raise Unreadable(EMPTY if source.empty else refusal_of(error)) from None


def _beginning(stream: Readable, most: int) -> tuple[bytes, bool]:
    """The first bytes of a stream, and whether they are all of it and not many."""
    first = b""
    for _ in range(READS):
        data = stream.read(most)
        first += data
        if not data or len(first) > most:
            return first, not data
    return first, False


def _of_small(data: bytes, tags: Sequence[str]) -> Iterator[etree._Element] | None:
    """What `iterate` gives of a document in memory, which is parsed at once; None where something is wrong with it."""
    root = parsed(data)
    return None if root is None else _ended(list(root.iter(*tags)))


def _ended(elements: Sequence[etree._Element]) -> Iterator[etree._Element]:
    """Elements, given in the order in which they begin, in the order in which they end. Of a small document only what
    stands inside a wanted element is emptied; the rest goes with the document."""
    begun: list[etree._Element] = []
    for element in elements:
        above = element.getparent()
        while begun and above is not begun[-1] and not any(one is begun[-1] for one in element.iterancestors()):
            yield (ended := begun.pop())
            if begun:
                _forget(ended)
        begun.append(element)
    while begun:
        yield (ended := begun.pop())
        if begun:
            _forget(ended)


def _forget(element: etree._Element) -> None:
    """Empty an element and take away all that stood before it, at every level: empty siblings cost memory too."""
    element.clear()
    level: etree._Element | None = element
    while level is not None:
        parent = level.getparent()
        if parent is not None:
            while level.getprevious() is not None:
                del parent[0]
        level = parent
