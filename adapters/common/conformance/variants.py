"""Fixtures varied: written in another way, with a CH message twice, with other values, damaged.

Where a CH message stands in a document is found by trial: it is the element that, standing twice, gives one message
more. So headers may be flat or nested, and no market has to be known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from lxml import etree

MOST_TRIALS = 300
"""Elements of a document that are tried."""
_MARK = "piece-of-a-document"


class Piece(NamedTuple):
    """The place of a CH message in a document.

    Attributes:
      before, after: bytes around it.
      content: its bytes.
      between: what separates two of them.
      hollow: in its place, one that holds nothing that could be known.
    """

    before: bytes
    content: bytes
    after: bytes
    between: bytes
    hollow: bytes

    def document(self, *pieces: bytes) -> bytes:
        """The document with other pieces in this place."""
        return self.before + self.between.join(pieces) + self.after

    def times(self, count: int) -> Iterator[bytes]:
        """The document with its piece so many times, in parts."""
        yield self.before + self.content
        for _ in range(count - 1):
            yield self.between + self.content
        yield self.after


def piece_of(content: bytes, count: Callable[[bytes], int]) -> Piece | None:
    """The innermost place of one CH message in a document; None where none is found.

    Args:
      content: the document.
      count: how many CH messages a document holds.
    """
    whole = count(content)
    more = [piece for piece, seen in _tried(content, count) if seen == whole + 1]
    return more[-1] if more else None


def repeatable(content: bytes, count: Callable[[bytes], int]) -> Piece | None:
    """The outermost place of one or several CH messages; None where none is found.

    Args:
      content: the document.
      count: how many CH messages a document holds.
    """
    whole = count(content)
    return next((piece for piece, seen in _tried(content, count) if seen > whole), None)


def _tried(content: bytes, count: Callable[[bytes], int]) -> Iterator[tuple[Piece, int]]:
    """What could be a CH message, and how many there are when it stands twice."""
    for piece in islice(_candidates(content), MOST_TRIALS):
        yield piece, count(piece.document(piece.content, piece.content))


def form(content: bytes) -> str:
    """``xml``, ``json`` or ``other``, by the first character."""
    first = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return "xml" if first == b"<" else "json" if first in (b"{", b"[") and first else "other"


def _candidates(content: bytes) -> Iterator[Piece]:
    """The elements that could be a CH message, the outer ones first, one of each name in a parent."""
    if form(content) == "xml":
        yield from _elements(content)
    elif form(content) == "json":
        yield from _items(content)
    else:
        *lines, row = content.rstrip().splitlines(keepends=True) or [b""]
        if lines and b"'" not in lines[0]:  # a table; EDIFACT counts its segments
            yield Piece(b"".join(lines), row, b"\n", b"\n", b"nonsense")


def _elements(content: bytes) -> Iterator[Piece]:
    root = etree.fromstring(content)
    level = [root]
    while level:
        below = []
        for parent in level:
            seen = set()
            for child in parent.iterchildren(etree.Element):
                if child.tag not in seen:
                    seen.add(child.tag)
                    below.append(child)
                    yield _element(root, child)
        level = below


def _element(root: etree._Element, element: etree._Element) -> Piece:
    parent = element.getparent()
    assert parent is not None
    place = parent.index(element)
    mark = etree.Comment(_MARK)
    mark.tail, element.tail, tail = element.tail, None, element.tail
    parent.replace(element, mark)
    before, _, after = etree.tostring(root, encoding="UTF-8", xml_declaration=True).partition(
        f"<!--{_MARK}-->".encode()
    )
    parent[place] = element
    content = etree.tostring(element)
    element.tail = tail
    hollow = etree.Element(element.tag, nsmap=element.nsmap)  # type: ignore[arg-type]
    for name, value in element.attrib.items():
        hollow.set(name, value)
    etree.SubElement(hollow, "nonsense").text = "1"
    return Piece(before, content, after, b"", etree.tostring(hollow))


def _items(content: bytes) -> Iterator[Piece]:
    document = json.loads(content.decode("utf-8-sig"))
    level: list[Any] = [document]
    while level:
        below: list[Any] = []
        for held in level:
            if isinstance(held, list) and held and isinstance(held[0], dict):
                first, held[0] = held[0], _MARK
                before, _, after = json.dumps(document).partition(f'"{_MARK}"')
                held[0] = first
                yield Piece(before.encode(), json.dumps(first).encode(), after.encode(), b",", b'{"nonsense": "1"}')
            below += held if isinstance(held, list) else held.values() if isinstance(held, dict) else ()
        level = below


def rewritten(content: bytes) -> bytes:
    """The same document with other white space between its elements; of other forms, as it is."""
    if form(content) == "xml":
        root = etree.fromstring(content, etree.XMLParser(remove_blank_text=True, remove_comments=True))
        etree.indent(root, space="\t\t")
        return etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    if form(content) == "json":
        return json.dumps(json.loads(content.decode("utf-8-sig")), indent=7).encode()
    return content


def written_later(content: bytes, created: str | None) -> bytes | None:
    """The same document, written at another time; None where its header tells none.

    Args:
      content: the document.
      created: the time as the header has it.
    """
    told = (created or "").encode()
    digit = re.search(rb"[0-9](?=(?:\.[0-9]+)?(?:Z|[+-][0-9:]{2,5})?$)", told)
    if digit is None or told not in content:
        return None
    other = b"1" if digit[0] != b"1" else b"2"
    return content.replace(told, told[: digit.start()] + other + told[digit.end() :], 1)


def beside_removed(piece: Piece) -> bytes:
    """An XML document of which nothing is left but a piece and the elements around it."""
    root = etree.fromstring(piece.document(f"<{_MARK}/>".encode()))
    marked = root.find(f".//{{*}}{_MARK}")
    assert marked is not None
    step: etree._Element | None = marked
    while step is not None and (parent := step.getparent()) is not None:
        for other in list(parent):
            if other is not step:
                parent.remove(other)
        step = parent
    return etree.tostring(root).replace(etree.tostring(marked), piece.content, 1)


def other_values(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Name of a leaf whose value is a number -> the document with another one there."""
    if form(content) == "xml":
        root = etree.fromstring(content)
        for leaf in [one for one in root.iter(etree.Element) if not len(one) and (one.text or "").isdigit()]:
            kept, leaf.text = leaf.text, "7" if leaf.text != "7" else "8"
            yield str(leaf.tag), etree.tostring(root)
            leaf.text = kept
    elif form(content) == "json":
        document = json.loads(content.decode("utf-8-sig"))
        for held, name in list(_places(document)):
            value = held[name]
            if str(value).isdigit() and not isinstance(value, bool):
                other = "7" if str(value) != "7" else "8"
                held[name] = other if isinstance(value, str) else int(other)
                yield str(name), json.dumps(document).encode()
                held[name] = value


def _places(held: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a value in a JSON document: what holds it, and its key there."""
    for name, value in enumerate(held) if isinstance(held, list) else held.items():
        if isinstance(value, list | dict):
            yield from _places(value)
        else:
            yield held, name


def damaged(content: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """The document with some bytes lost or replaced, always the same ones."""
    rng = Random(seed)  # noqa: S311 - damage, no secret
    for _ in range(count):
        broken = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(broken)) if broken else 0
            broken[at : at + rng.randint(0, 30)] = rng.choice((b"", b"<x/>", b'"', rng.randbytes(rng.randint(1, 12))))
        yield bytes(broken)


_NONSENSE = ("0", "-1", "9" * 30, "0001-01-01", "9999-12-31T24:00:00Z", "é", " ", "x" * 500)


def nonsense(content: bytes, count: int, seed: int = 1) -> Iterator[bytes]:
    """Well-formed documents whose elements vanish, double, lose what they hold or get other texts."""
    rng = Random(seed)  # noqa: S311 - damage, no secret
    for _ in range(count):
        if form(content) == "xml":
            root = etree.fromstring(content)
            for _ in range(rng.randint(1, 3)):
                _damage_element(root, rng)
            yield etree.tostring(root)
        elif form(content) == "json":
            document = json.loads(content.decode("utf-8-sig"))
            for _ in range(rng.randint(1, 3)):
                _damage_value(document, rng)
            yield json.dumps(document).encode()


def _damage_element(root: etree._Element, rng: Random) -> None:
    victim = rng.choice([one for one in root.iter(etree.Element) if one is not root] or [root])
    parent, what = victim.getparent(), rng.choice(("remove", "double", "empty", "text"))
    if what == "remove" and parent is not None:
        parent.remove(victim)
    elif what == "double" and parent is not None:
        parent.append(deepcopy(victim))
    elif what == "empty":
        victim.clear()
    else:
        victim.text = rng.choice(_NONSENSE)


def _damage_value(document: Any, rng: Random) -> None:
    places = list(_places(document))
    if not places:
        return
    held, name = rng.choice(places)
    if isinstance(held, dict) and rng.random() < 0.3:
        del held[name]
    else:
        held[name] = rng.choice((*_NONSENSE, None, True, -1, 1e300, [], {}, [held[name], held[name]]))


def hostile(content: bytes) -> Iterator[tuple[str, bytes]]:
    """What it is -> a document that would harm a careless reader; of XML and JSON."""
    if form(content) == "xml":
        at = content.index(b"<", content.index(b"?>") + 2 if content.lstrip(b"\xef\xbb\xbf").startswith(b"<?") else 0)
        root = re.match(rb"<([^\s/>]+)", content[at:])
        name = root[1] if root else b"x"
        bomb = b"".join(b'<!ENTITY b%d "%s">' % (n, b"&b%d;" % (n - 1) * 10) for n in range(1, 9))
        doctype = b'<!DOCTYPE %s [<!ENTITY b0 "bomb">%s]>' % (name, bomb)
        filled = re.sub(rb">([^<>\s][^<>]*)</", b">&b8;</", content[at:], count=1)
        yield "entities inside one another", content[:at] + doctype + filled
        outside = b'<!DOCTYPE %s [<!ENTITY b8 SYSTEM "file:///etc/hostname">]>' % name
        yield "an entity that names a file", content[:at] + outside + filled
        close = content.rindex(b"</")
        yield (
            "elements nested a hundred thousand deep",
            content[:close] + b"<d>" * 100_000 + b"</d>" * 100_000 + content[close:],
        )
        yield "bytes that are no text", content[:close] + b"\xff\xfe\x00\x01" + content[close:]
    elif form(content) == "json":
        end = content.rindex(b"}") if b"}" in content else len(content)
        yield "arrays nested a hundred thousand deep", content[:end] + b', "d": ' + b"[" * 100_000 + content[end:]
        yield "a number of a million digits", content[:end] + b', "d": ' + b"9" * 1_000_000 + content[end:]
        yield "bytes that are no text", content[:end] + b', "d": "\xff\xfe"' + content[end:]
