"""The place of one message in the text of a member: its own element, object, segments or rows, and nobody else's.

Market files say nothing of offsets, and digesters keep none. But each message names its access point or its reference,
and what belongs to it stands together. So the place is looked for from the inside: from where its name stands, the part
around it grows as long as it holds the name of no other message, and stops at what is repeated beside it: a member has
its messages one after the other. Where nothing bears a name of the message, nothing is shown.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

MOST_PLACES = 1_000
"""Places of a name that are looked at."""

BEFORE, AFTER = 1 << 18, 1 << 20
"""Characters before and after a place in which the element around it is looked for."""

SHORTEST = 6
"""Characters of a name that is nobody else's by chance."""

_NAME = re.compile(r"[0-9A-Za-z_-]{6,}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TAG = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<(/?)([^\s/<>!?]+)[^<>]*?(/?)>", re.DOTALL)
_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_SEGMENT = re.compile(r"(?:[^'?]|\?.)*'\s*", re.DOTALL)
_GROUPS = ("IDE", "NAD", "LIN")
"""Segments that begin what belongs to one point, the strongest first; where there is none before, its name does."""

Span = tuple[int, int]


class Names(NamedTuple):
    """What a message is known by in the text.

    Attributes:
      point: identifier of its access point, None where it has none.
      tokens: the parts of its reference that are long enough to be looked for.
      others: access points and numbers of the other messages of the member.
      beside: the member has other messages, whether they bear a name or not: none of them is all of it.
    """

    point: str | None
    tokens: tuple[str, ...]
    others: frozenset[str]
    beside: bool


def names_of(reference: str, point: str | None, others: Iterable[tuple[str, str | None]]) -> Names:
    """What tells a message from its neighbours.

    Args:
      reference: the market's reference of the message.
      point: its access point.
      others: references and access points of the other messages of the member.
    """
    tokens = tuple(dict.fromkeys((*_NAME.findall(reference), *_DAY.findall(reference))))
    own = {*tokens, point}
    foreign: set[str] = set()
    beside = False
    for text, place in others:
        beside = True
        # A message of no point, an invoice, may name those of its neighbours.
        if place is not None and point is not None and place not in own:
            foreign.add(place)
        # Days and codes of another message may stand in this one too; numbers do not.
        foreign |= {
            one for one in _NAME.findall(text) if one not in own and sum(map(str.isdigit, one)) >= SHORTEST
            and not _DAY.match(one)
        }  # fmt: skip
    return Names(point, tokens, frozenset(foreign), beside)


class _Part(NamedTuple):
    """A part of a text that holds a name; `repeated`: it has others of its kind beside it."""

    begin: int
    end: int
    repeated: bool


def own_spans(text: str, names: Names) -> list[Span]:
    """Where the message stands; empty where it is not found.

    Args:
      text: of the member.
      names: of the message.
    """
    places = list(islice(_places(text, names.point), MOST_PLACES)) if names.point else []
    if not places:
        places = sorted(islice((at for name in names.tokens for at in _places(text, name)), MOST_PLACES))
    if not places:
        return []
    beginning = text.lstrip("\ufeff \t\r\n")[:3]
    if beginning[:1] == "<":
        parts = [
            part
            for low, high in _windows(places, len(text))
            for part in _nested(_xml(text, low, high), low, high, places)
        ]
    elif beginning[:1] in ("{", "["):
        parts = list(_nested(_json(text), 0, len(text), places))
    elif beginning in ("UNA", "UNB"):
        parts = list(_segments(text, names, places))
    else:
        return _rows(text, names)
    if names.beside:
        end = len(text.rstrip())
        parts = [part for part in parts if part.end < end]
    foreign = cache(lambda part: _foreign(text[part.begin : part.end], names.others))
    grown = {_grown(place, parts, foreign) for place in places}
    candidates = [one for one in grown if one is not None]
    # What holds most of its names is the message; of equal ones the first.
    best = max(candidates, key=lambda one: (_held(text, one, names), -one[0]), default=None)
    if best is None:
        return []
    begin, end = best
    return [(begin - len(text[:begin]) + len(text[:begin].rstrip(" \t")), end)]


def _places(text: str, name: str) -> Iterator[int]:
    for found in re.finditer(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])", text):
        yield found.start()


def _held(text: str, span: Span, names: Names) -> int:
    piece = text[span[0] : span[1]]
    return sum(name in piece or name.replace("-", "") in piece for name in names.tokens)


def _grown(place: int, parts: Sequence[_Part], foreign: Callable[[_Part], bool]) -> Span | None:
    """The largest part around a place that is the message's own; None where another's name stands in the smallest."""
    around = sorted((part for part in parts if part.begin <= place < part.end), key=lambda part: part.end - part.begin)
    own: _Part | None = None
    for part in around:
        if (own is not None and own.repeated) or foreign(part):
            break
        own = part
    return None if own is None else (own.begin, own.end)


def _foreign(piece: str, others: Collection[str]) -> bool:
    return any(found in others for found in _NAME.findall(piece)) if others else False


def _windows(places: Sequence[int], length: int) -> Iterator[Span]:
    """The stretches of a large text in which the parts around places are looked for."""
    low, high = -1, -1
    for place in places:
        begin, end = max(0, place - BEFORE), min(length, place + AFTER)
        if begin > high:
            if high >= 0:
                yield low, high
            low = begin
        high = end
    yield low, high


def _nested(events: Iterator[tuple[int, int, str]], low: int, high: int, places: Sequence[int]) -> Iterator[_Part]:
    """The parts that hold a place, of a stretch of nested parts.

    Args:
      events: (place, end, name) of every part that begins, and of every end, whose name begins with a slash and tells
        what it ends. An end of what began before the stretch is passed over.
      low, high: the stretch.
      places: in order.
    """
    # A frame: begin, name, how many children of each name, those of them that hold a place.
    stack: list[tuple[int, str, Counter[str], list[tuple[int, int, str]]]] = [(low, "", Counter(), [])]

    def close(end: int) -> Iterator[_Part]:
        begin, name, counts, held = stack.pop()
        yield from (_Part(first, last, counts[kind] > 1) for first, last, kind in held)
        if stack and bisect_left(places, begin) < bisect_left(places, end):
            stack[-1][3].append((begin, end, name))

    for begin, end, name in events:
        if name.startswith("/"):
            known = name == "/" or any(frame[1] == name[1:] for frame in stack[1:])
            while known and len(stack) > 1:
                last = stack[-1][1] == name[1:] or name == "/"
                yield from close(end)
                if last:
                    break
        else:
            stack[-1][2][name] += 1
            stack.append((begin, name, Counter(), []))
    while len(stack) > 1:
        yield from close(high)
    yield from close(high)


def _xml(text: str, low: int, high: int) -> Iterator[tuple[int, int, str]]:
    for found in _TAG.finditer(text, low, high):
        ends, name, empty = found.groups()
        if name is None:
            continue
        if ends:
            yield found.start(), found.end(), f"/{name}"
        else:
            yield found.start(), found.end(), name
            if empty:
                yield found.end(), found.end(), f"/{name}"


def _json(text: str) -> Iterator[tuple[int, int, str]]:
    """Objects and arrays: those in an array have one name, those of an object the name of their key."""
    arrays, key = [False], ""
    for found in _JSON.finditer(text):
        sign = found[0]
        if sign in "{[":
            yield found.start(), found.end(), "item" if arrays[-1] else key or "value"
            arrays.append(sign == "[")
        elif sign in "}]":
            yield found.start(), found.end(), "/"
            if len(arrays) > 1:
                arrays.pop()
        else:
            key = sign


def _segments(text: str, names: Names, places: Sequence[int]) -> Iterator[_Part]:
    """The messages of an interchange, and in each what belongs to one point."""
    named = [one for one in (names.point, *names.tokens) if one]
    message: list[tuple[int, int, str]] = []
    messages: list[list[tuple[int, int, str]]] = []
    for found in _SEGMENT.finditer(text):
        segment = (found.start(), found.end(), found[0])
        if segment[2].startswith("UNH"):
            message = []
            messages.append(message)
        if messages:
            message.append(segment)
        if segment[2].startswith("UNT"):
            message = []
    for one in messages:
        if bisect_left(places, one[0][0]) == bisect_left(places, one[-1][1]):
            continue
        yield _Part(one[0][0], one[-1][1], repeated=len(messages) > 1)
        if _foreign(text[one[0][0] : one[-1][1]], names.others):
            for begin, end in pairwise(_groups(one, names, named)):
                yield _Part(one[begin][0], one[end][0], repeated=True)


def _groups(message: Sequence[tuple[int, int, str]], names: Names, named: Collection[str]) -> list[int]:
    """Where in a message of several points what belongs to each begins, and where the last of it ends."""
    begins: list[int] = []
    low, owner = 1, None
    for place, (_, _, words) in enumerate(message):
        foreign = _foreign(words, names.others)
        if not foreign and not _any(words, named):
            continue
        begin = _opening(message, low, place)
        if foreign != owner or message[begin][2].startswith(_GROUPS[0]):
            begins.append(begin)
        low, owner = place + 1, foreign
    tail = next(
        (place for place in range(len(message) - 1, 0, -1) if message[place][2].startswith("UN")), len(message) - 1
    )
    return [*begins, tail]


def _opening(message: Sequence[tuple[int, int, str]], low: int, place: int) -> int:
    """The segment that begins what a name belongs to."""
    for kind in _GROUPS:
        for number in range(place, low - 1, -1):
            if message[number][2].startswith(kind):
                return number
    return place


def _any(words: str, named: Iterable[str]) -> bool:
    return any(True for name in named for _ in _places(words, name))


def _rows(text: str, names: Names) -> list[Span]:
    """The head of a table and the rows of the message."""
    lines, begin = [], 0
    for line in text.splitlines(keepends=True):
        lines.append((begin, begin + len(line), line))
        begin += len(line)
    wanted = [names.point] if names.point else [name for name in names.tokens if any(_places(text, name))]
    if not wanted:
        return []
    own = [
        (start, end)
        for start, end, line in lines[1:]
        if all(_any(line, [name]) for name in wanted if name) and not _foreign(line, names.others)
    ]
    return [lines[0][:2], *own] if own else []
