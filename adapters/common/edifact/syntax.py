"""A small strict EDIFACT reader (ISO 9735 syntax 1 to 3): segments as a stream, counters and references checked.

The library pydifact is not used: it holds a whole interchange as one text, without limits, positions or counters.
Functional groups (UNG) are refused: no market here sends them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import IO, NamedTuple

from msgspec import Struct, field

from adapters.common.codes import AdapterCode, CodeTable, Unreadable

CODES: tuple[AdapterCode, ...] = (
    AdapterCode(
        "EDI_SYNTAX",
        "member",
        "The interchange is no well-formed EDIFACT: a segment, tag or separator is wrong.",
        "Answer with CONTRL and ask the sender for a correct interchange.",
    ),
    AdapterCode(
        "EDI_TRUNCATED",
        "member",
        "The interchange ends before its UNZ.",
        "Fetch the file again.",
    ),
    AdapterCode(
        "EDI_CONTROL",
        "member",
        "The counters or references of UNB and UNZ do not agree.",
        "Answer with CONTRL; find out whether messages are missing.",
    ),
    AdapterCode(
        "EDI_MESSAGE",
        "message",
        "The counters or references of UNH and UNT do not agree.",
        "Answer with CONTRL; the message's neighbours are not concerned.",
    ),
)
"""Codes of EDIFACT that mean the same in every market; an adapter that reads it adds them to its table."""
refusal = CodeTable(*CODES).refusal

DEFAULT_SEPARATORS = ":+.? '"
MAX_SEGMENT = 1 << 16
"""Bytes of one segment; the longest that any guide allows is far below."""
MAX_SEGMENTS = 200_000
"""Segments of one message."""
_CHUNK = 1 << 16
_ENCODINGS = {
    "UNOA": "ascii",
    "UNOB": "ascii",
    "UNOC": "latin-1",
    "UNOD": "iso8859-2",
    "UNOE": "iso8859-5",
    "UNOF": "iso8859-7",
    "UNOG": "iso8859-3",
    "UNOH": "iso8859-4",
    "UNOI": "iso8859-6",
    "UNOJ": "iso8859-8",
    "UNOK": "iso8859-9",
    "UNOL": "iso8859-15",
    "UNOW": "utf-8",
    "UNOX": "utf-8",
    "UNOY": "utf-8",
}
"""Syntax identifier of UNB -> character set; Latin-1, in which no byte is wrong, where it is another."""
_TAG = re.compile(r"[A-Z]{3}")
_LONGEST_KNOWN, _MOST_KNOWN = 48, 4096
"""Characters of a segment that is remembered, and how many are."""

REFERENCES_DIFFER, COUNT_DIFFERS, MISSING = "28", "29", "13"
"""Codes of UN/EDIFACT list 0085 that a CONTRL answers with."""


class Segment(NamedTuple):
    """One segment.

    Attributes:
      tag: three capitals.
      elements: data elements after the tag, each a tuple of its components.
    """

    tag: str
    elements: tuple[tuple[str, ...], ...]

    def get(self, element: int, component: int = 0) -> str:
        """A component, empty where it is not there; both are counted from 0."""
        elements = self.elements
        if element < len(elements) and component < len(parts := elements[element]):
            return parts[component]
        return ""


class Interchange(NamedTuple):
    """What UNB says."""

    syntax: str
    sender: str
    receiver: str
    prepared: str
    reference: str
    test: bool


class Message(Struct):
    """One message, UNH to UNT.

    Attributes:
      reference: of UNH.
      type, version, release, agency, association: of UNH, composite S009.
      access: common access reference of UNH.
      segments: between UNH and UNT.
      fault: code of list 0085 where counters or references do not agree, else empty.
      found: what was found wrong, in words.
    """

    reference: str
    type: str
    version: str = ""
    release: str = ""
    agency: str = ""
    association: str = ""
    access: str = ""
    segments: list[Segment] = field(default_factory=list)
    fault: str = ""
    found: str = ""


class Trailer(NamedTuple):
    """The end of an interchange: a fault of UNZ (list 0085) and what was found, both empty where it is right."""

    fault: str
    found: str


def segments(content: IO[bytes]) -> Iterator[Segment]:
    """The segments of an interchange, UNA taken into account and left out.

    Raises:
      Unreadable: EDI_SYNTAX, EDI_TRUNCATED.
    """
    buffer = content.read(_CHUNK).lstrip(b"\xef\xbb\xbf \r\n\t")
    separators = DEFAULT_SEPARATORS
    at = 0
    if buffer.startswith(b"UNA"):
        separators = buffer[3:9].decode("latin-1")
        at = 9
        if len(separators) < 6 or len(set(separators) - {" "}) < 5 - (separators[3] == " "):
            raise Unreadable(refusal("EDI_SYNTAX", "UNA", separators, "six separators, each another one"))
    splitter = _splitter(separators)
    encoding = ""
    number = 0
    while True:
        found = splitter.segment.match(buffer, at)
        if found is None:
            at = len(buffer) - len(buffer[at:].lstrip(b"\r\n"))
        if (len(buffer) - at if found is None else len(found[1]) + 1) > MAX_SEGMENT:
            raise Unreadable(refusal("EDI_SYNTAX", f"segment {number + 1}", expected=f"at most {MAX_SEGMENT} bytes"))
        if found is None:
            more = content.read(_CHUNK)
            buffer, at = buffer[at:] + more, 0
            if more:
                continue
            if buffer.strip():
                raise Unreadable(refusal("EDI_TRUNCATED", f"segment {number + 1}", _shown(buffer), "a whole segment"))
            return
        number += 1
        raw = found[1]
        at = found.end()
        if not encoding:
            encoding = _ENCODINGS.get(raw[4:8].decode("latin-1"), "latin-1")
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            raise Unreadable(
                refusal("EDI_SYNTAX", f"segment {number}", _shown(raw), f"characters of {encoding}")
            ) from None
        yield splitter.split(text, number)


def _shown(raw: bytes) -> str:
    return raw[:60].decode("latin-1")


@lru_cache(maxsize=16)
def _splitter(separators: str) -> _Splitter:
    return _Splitter(separators)


class _Splitter:
    """Splits segments by the separators of UNA. Short ones are remembered: most come in every message of a market."""

    def __init__(self, separators: str) -> None:
        self.component, self.element, _, self.release, _, self.end = tuple(separators[:6])
        released = self.release if self.release != " " else "\0"
        self.released = released
        end, mark = re.escape(self.end), re.escape(released)
        held = f"[^{end}{mark}]*+"
        # Never tried another way, but for a sender who gives one sign both meanings.
        once = "+" if end != mark else ""
        self.segment = re.compile(f"[\r\n]*+({held}(?:{mark}.{held})*{once}){end}".encode("latin-1"), re.S)
        self._known: dict[str, Segment] = {}

    def split(self, text: str, number: int) -> Segment:
        """The segment of a text without its end."""
        known = self._known.get(text)
        if known is not None:
            return known
        if self.released in text:
            elements = [self._parts(part) for part in self._cut(text, self.element)]
        else:
            elements = [tuple(part.split(self.component)) for part in text.split(self.element)]
        tag = elements[0][0]
        if not _TAG.fullmatch(tag) or tag == "UNA":
            raise Unreadable(refusal("EDI_SYNTAX", f"segment {number}", text[:40], "a tag of three capitals"))
        segment = Segment(tag, tuple(elements[1:]))
        if len(text) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[text] = segment
        return segment

    def _parts(self, text: str) -> tuple[str, ...]:
        if self.released not in text:
            return tuple(text.split(self.component))
        return tuple(self._plain(part) for part in self._cut(text, self.component))

    def _cut(self, text: str, separator: str) -> list[str]:
        """Cut at separators that are not released; the release characters stay."""
        if self.released not in text:
            return text.split(separator)
        parts, start, at = [], 0, 0
        while at < len(text):
            if text[at] == self.released:
                at += 1
            elif text[at] == separator:
                parts.append(text[start:at])
                start = at + 1
            at += 1
        return [*parts, text[start:]]

    def _plain(self, text: str) -> str:
        """A component without its release characters."""
        return re.sub(f"{re.escape(self.released)}(.)", r"\1", text, flags=re.S)


def read(content: IO[bytes]) -> Iterator[Interchange | Message | Trailer]:
    """The interchange, its messages, its end.

    Raises:
      Unreadable: EDI_SYNTAX, EDI_TRUNCATED. Counters and references that do not agree are faults of what they are of.
    """
    stream = segments(content)
    first = next(stream, None)
    if first is None or first.tag != "UNB":
        raise Unreadable(refusal("EDI_SYNTAX", "segment 1", first and first.tag, "UNB"))
    interchange = _interchange(first)
    yield interchange
    count = 0
    message: Message | None = None
    for segment in stream:
        if segment.tag == "UNZ":
            if message is not None:
                yield _unclosed(message)
            yield _trailer(segment, interchange, count)
            if (rest := next(stream, None)) is not None:
                raise Unreadable(refusal("EDI_SYNTAX", "after UNZ", rest.tag, "nothing"))
            return
        if segment.tag == "UNH":
            if message is not None:
                yield _unclosed(message)
            count += 1
            kind, version, release, agency, association = (segment.get(1, at) for at in range(5))
            message = Message(segment.get(0), kind, version, release, agency, association, segment.get(2))
        elif message is None:
            raise Unreadable(refusal("EDI_SYNTAX", f"after message {count}", segment.tag, "UNH or UNZ"))
        elif segment.tag == "UNT":
            yield _closed(message, segment)
            message = None
        elif len(message.segments) >= MAX_SEGMENTS:
            raise Unreadable(refusal("EDI_SYNTAX", f"message {count}", expected=f"at most {MAX_SEGMENTS} segments"))
        else:
            message.segments.append(segment)
    raise Unreadable(refusal("EDI_TRUNCATED", f"after message {count}", expected="UNT and UNZ"))


def _interchange(unb: Segment) -> Interchange:
    if not unb.get(1) or not unb.get(2) or not unb.get(4):
        raise Unreadable(refusal("EDI_SYNTAX", "UNB", expected="sender, receiver and reference"))
    prepared = f"{unb.get(3)}{unb.get(3, 1)}"
    return Interchange(unb.get(0), unb.get(1), unb.get(2), prepared, unb.get(4), unb.get(10) == "1")


def _closed(message: Message, unt: Segment) -> Message:
    count = str(len(message.segments) + 2)
    stated = unt.get(0).lstrip("0") or "0"
    if unt.get(1) != message.reference:
        message.fault, message.found = REFERENCES_DIFFER, f"UNT {unt.get(1)} closes UNH {message.reference}"
    elif stated != count:
        message.fault, message.found = COUNT_DIFFERS, f"UNT counts {unt.get(0)} segments, there are {count}"
    return message


def _unclosed(message: Message) -> Message:
    message.fault, message.found = MISSING, f"UNH {message.reference} has no UNT"
    return message


def _trailer(unz: Segment, interchange: Interchange, count: int) -> Trailer:
    if unz.get(1) != interchange.reference:
        return Trailer(REFERENCES_DIFFER, f"UNZ {unz.get(1)} closes UNB {interchange.reference}")
    if (unz.get(0).lstrip("0") or "0") != str(count):
        return Trailer(COUNT_DIFFERS, f"UNZ counts {unz.get(0)} messages, there are {count}")
    return Trailer("", "")


def groups(run: Sequence[Segment], begins: Callable[[Segment], bool]) -> tuple[list[Segment], list[list[Segment]]]:
    """Split segments into what stands before the first segment group, and the groups.

    Args:
      run: segments of a message, or of a group that holds groups.
      begins: whether a segment is the first of a group.
    """
    starts = [at for at, segment in enumerate(run) if begins(segment)]
    ends = [*starts[1:], len(run)]
    return list(run[: starts[0] if starts else None]), [
        list(run[at:end]) for at, end in zip(starts, ends, strict=False)
    ]
