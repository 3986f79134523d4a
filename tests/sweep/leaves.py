"""Every leaf of a document, and the document with another value in one of them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from lxml import etree

LONG = 5_000
NASTY: dict[str, str] = {
    "empty": "",
    "blank": " ",
    "zero": "0",
    "minus": "-1",
    "word": "x",
    "long": "x" * LONG,
    "digits": "9" * 60,
    "int4": "2147483648",
    "int8": "9223372036854775808",
    "decimals": "0.00000000000000000001",
    "exponent": "1E+400",
    "tiny exponent": "1e-400",
    "nan": "NaN",
    "infinity": "-Infinity",
    "comma": "1,5",
    "arabic digits": "١٢٣",
    "first day": "0001-01-01",
    "last day": "9999-12-31",
    "no day": "2024-02-30",
    "first instant": "0001-01-01T00:00:00+14:00",
    "last instant": "9999-12-31T23:59:59-14:00",
    "offset with seconds": "2024-01-01T00:00:00+00:00:30",
    "leap second": "2016-12-31T23:59:60Z",
    "compact last": "99991231235959",
    "compact edifact": "999912312359+14",
    "entity": "&amp;",
    "markup": "<a b='c'/>",
    "quote": "'\"; DROP TABLE envelope; --",
    "formula": "=1+1",
    "percent": "%s %(x)s {0} {x}",
    "path": "../../../etc/passwd",
    "new line": "a\r\nb\tc",
    "joined": "e\u0301\u200b\u202e",
    "emoji": "\U0001f9e8" * 300,
    "separators": "+':?''++",
    "true": "true",
    "null word": "null",
}
"""Name of a value -> the value; every document form can hold them."""
CONTROLS: dict[str, str] = {
    "nul": "a\x00b",
    "control": "a\x01b",
    "substitute": "a\x1ab",
    "next line": "a\x85b",
    "noncharacter": "a\ufffeb",
    "surrogate": "a\ud800b",
}
"""Values that XML cannot hold, for JSON, EDIFACT and CSV."""
OTHER_TYPES: dict[str, Any] = {
    "null": None,
    "truth": True,
    "huge number": 10**30,
    "fraction": 1e308,
    "list": ["x"],
    "object": {"x": 1},
    "nothing in a list": [],
}
"""Values of another type, for JSON."""


class Case(NamedTuple):
    """A document with one leaf changed; `name` says which, and how."""

    name: str
    content: bytes


def cases(content: bytes, form: str) -> Iterator[Callable[[], Case]]:
    """Every case of a document, each made when it is called."""
    if form == "xml":
        yield from _xml(content)
    elif form == "json":
        yield from _json(content)
    elif content.lstrip()[:3] in (b"UNA", b"UNB"):
        yield from _pieces(content, re.compile(rb"(?<=[+:'])[^+:'\r\n]+"))
    else:
        yield from _pieces(content, re.compile(rb"[^;,\t\r\n]+"))


def _case(name: str, make: Callable[..., bytes], *arguments: Any) -> Case:
    return Case(name, make(*arguments))


def _xml(content: bytes) -> Iterator[Callable[[], Case]]:
    tree = etree.fromstring(content)
    places = [element for element in tree.iter() if isinstance(element.tag, str)]
    for number, element in enumerate(places):
        path = etree.QName(element).localname
        names = [str(name) for name in element.attrib]
        for name in ([None] if len(element) == 0 else []) + names:
            for word, value in NASTY.items():
                yield partial(_case, f"{path} {name or ''} {word}", _set, tree, number, name, value)
        if number:
            for word in ("removed", "doubled", "emptied"):
                yield partial(_case, f"{path} {word}", _cut, tree, number, word)


def _set(tree: Any, number: int, attribute: str | None, value: str) -> bytes:
    changed = copy.deepcopy(tree)
    element = [one for one in changed.iter() if isinstance(one.tag, str)][number]
    if attribute is None:
        element.text = value
    else:
        element.set(attribute, value)
    return bytes(etree.tostring(changed, encoding="utf-8", xml_declaration=True))


def _cut(tree: Any, number: int, how: str) -> bytes:
    changed = copy.deepcopy(tree)
    element = [one for one in changed.iter() if isinstance(one.tag, str)][number]
    parent = element.getparent()
    if how == "doubled":
        parent.insert(parent.index(element), copy.deepcopy(element))
    elif how == "removed":
        parent.remove(element)
    else:
        for child in list(element):
            element.remove(child)
        element.text = None
    return bytes(etree.tostring(changed, encoding="utf-8", xml_declaration=True))


def _json(content: bytes) -> Iterator[Callable[[], Case]]:
    document = json.loads(content)
    for path in _paths(document):
        shown = ".".join(map(str, path))
        for word, value in (NASTY | CONTROLS | OTHER_TYPES).items():
            yield partial(_case, f"{shown} {word}", _put, document, path, value)
        yield partial(_case, f"{shown} removed", _put, document, path, _GONE)


_GONE = object()


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from _paths(child, (*path, key))


def _put(document: Any, path: tuple[Any, ...], value: Any) -> bytes:
    changed = copy.deepcopy(document)
    node = changed
    for key in path[:-1]:
        node = node[key]
    if value is _GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return json.dumps(changed).encode()


def _pieces(content: bytes, leaf: re.Pattern[bytes]) -> Iterator[Callable[[], Case]]:
    for found in leaf.finditer(content):
        low, high = found.span()
        shown = f"{low} {found.group()[:20]!r}"
        for word, value in (NASTY | CONTROLS).items():
            put = value.encode("utf-8", "surrogatepass")
            yield partial(_case, f"{shown} {word}", _splice, content, low, high, put)
        yield partial(_case, f"{shown} bytes", _splice, content, low, high, b"\xff\xfe\x80")


def _splice(content: bytes, low: int, high: int, put: bytes) -> bytes:
    return content[:low] + put + content[high:]
