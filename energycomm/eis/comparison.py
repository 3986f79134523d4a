"""Comparison of two stores by content, with the differences in words.

What is compared is their meaning (`energycomm.eis.meaning`): no ids, no clocks, nothing of the order in which they
learned it.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from typing import Any

from lxml import etree
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.meaning import Meaning, canonical, cuts_of, point_names, slices
from energycomm.kernel.safexml import parse_bytes
from energycomm.kernel.verdicts import Refusal

__all__ = ["Meaning", "canonical", "compare", "differences"]

_NOTHING = object()
LONGEST = 200
"""Characters of a value that are shown."""

NAMES = {
    "access_points": "access point",
    "messages": "message",
    "notifications": "notifications of message",
    **{table.name: f"{table.name.replace('_', ' ')} of message" for table in tables.ALONE},
    "ch_messages": "CH message",
    "envelopes": "envelope",
    "members": "member",
    "requests": "request",
}
"""Section of a meaning -> what it is about, in words."""


def compare(left: Engine, right: Engine) -> Iterator[str]:
    """The differences of two stores, one line each; empty when they have the same content.

    Only a slice of each is in memory at any time, and the names of their access points.
    """
    points = [name for name, _ in groupby(merge(point_names(left), point_names(right)))]
    cuts = max(cuts_of(left), cuts_of(right))
    for (_, one), (_, other) in zip(slices(left, points, cuts), slices(right, points, cuts), strict=True):
        yield from _told(one, other)


def differences(left: Meaning, right: Meaning, limit: int = 20) -> list[str]:
    """Where two meanings differ: one line a place, at most `limit`; empty when they are equal."""
    found: list[str] = []
    for line in _told(left, right):
        found.append(line)
        if len(found) == limit:
            break
    return found


def _told(left: Meaning, right: Meaning) -> Iterator[str]:
    for section in (*NAMES, *sorted((left.keys() | right.keys()) - NAMES.keys())):
        ours, theirs = left.get(section, {}), right.get(section, {})
        if ours == theirs:
            continue
        for key in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(key, _NOTHING), theirs.get(key, _NOTHING)
            what = f"{NAMES.get(section, section)} {key}"
            content = one if one is not _NOTHING else other
            if isinstance(content, dict) and content.get("kind") and content.get("access_point"):
                what += f" ({content['kind']} of {content['access_point']})"
            if one is _NOTHING or other is _NOTHING:
                yield f"{what}: only in the {'second' if one is _NOTHING else 'first'} store"
            else:
                yield from _differences(one, other, what)


def _differences(left: Any, right: Any, path: str) -> Iterator[str]:
    if left == right:
        return
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(left.keys() | right.keys()):
            place = f"{path}, {name}"
            one, other = left.get(name, _NOTHING), right.get(name, _NOTHING)
            if name == "xml" and isinstance(one, str) and isinstance(other, str):
                yield from _xml_differences(one, other, place)
            else:
                yield from _differences(one, other, place)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True), 1):
            yield from _differences(one, other, f"{path} {number}")
    else:
        yield f"{path}: {_shown(left)} and {_shown(right)}"


def _xml_differences(left: str, right: str, place: str) -> Iterator[str]:
    """The attributes and texts in which two Kernel messages differ; the whole where one is no XML, or none differs."""
    ours, theirs = _leaves(left), _leaves(right)
    found = False
    for path in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(path, _NOTHING), theirs.get(path, _NOTHING)
        if one != other:
            found = True
            yield f"{place} {path}: {_shown(one)} and {_shown(other)}"
    if not found:
        yield f"{place}: {_shown(left)} and {_shown(right)}"


def _leaves(xml: str) -> dict[str, str]:
    root = parse_bytes(xml.encode("utf-8", "surrogatepass"))
    if isinstance(root, Refusal):
        return {}
    found: dict[str, str] = {}
    tree = root.getroottree()
    space, brace, _ = str(root.tag).rpartition("}")
    for element in root.iter(etree.Element):
        place = "" if element is root else str(tree.getelementpath(element)).replace(space + brace, "")
        for name, value in element.attrib.items():
            found[f"{place}/@{name!s}".lstrip("/")] = str(value)
        if element.text:
            found[place or "text"] = element.text
    return found


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
