"""The SOAP envelope: what stands in its body is seen from its first bytes, without reading the rest."""

from __future__ import annotations

from typing import IO, NamedTuple, cast

from lxml import etree

from adapters.common.reading import local, namespace_of
from energycomm.kernel import safexml

CHUNK = 4096
MOST = 1 << 18
"""Bytes that may stand before the body's content: a security header with its certificate has a tenth of it."""


class Opened(NamedTuple):
    """What the body holds.

    Attributes:
      root: local name of its first element.
      namespace: that element's namespace.
      fault: it is a SOAP fault.
    """

    root: str
    namespace: str | None
    fault: bool


class _Joined:
    """A stream that gives bytes that were read before, and then the rest."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if self._first:
            given = self._first if size < 0 else self._first[:size]
            self._first = self._first[len(given) :]
            return given
        return self._rest.read(size)


def opened(content: IO[bytes]) -> tuple[Opened | None, IO[bytes]]:
    """What the body of a SOAP envelope holds, and the same stream from its beginning.

    Args:
      content: the envelope.

    Returns:
      None and the stream where nothing was found: reading the stream tells whether it is damaged.
    """
    parser = etree.XMLPullParser(events=("start",), **safexml.SAFE)
    seen = b""
    found: Opened | None = None
    try:
        while found is None and len(seen) < MOST:
            chunk = content.read(CHUNK)
            if not chunk:
                break
            seen += chunk
            parser.feed(chunk)
            found = _first_in_body(parser)
    except etree.XMLSyntaxError:
        found = None
    return found, cast("IO[bytes]", _Joined(seen, content))


def _first_in_body(parser: etree.XMLPullParser) -> Opened | None:
    for _, element in parser.read_events():
        assert isinstance(element, etree._Element)  # a start event has nothing else
        parent = element.getparent()
        if parent is not None and local(str(parent.tag)) == "Body" and _is_child_of_root(parent):
            root = local(str(element.tag))
            return Opened(root, namespace_of(str(element.tag)), root == "Fault")
    return None


def _is_child_of_root(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and parent.getparent() is None
