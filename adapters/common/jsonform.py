"""Splits a JSON document into its header and its CH messages, one at a time: no large document is held whole.

`ijson` reads it; a small one that has nothing unusual is decoded at once by `msgspec`, which is ten times faster and
comes to the same. NaN, infinities and a key that stands twice with two values are refused; half a character
(``\\ud800`` alone), which JSON can say and no encoding can write, comes out as U+FFFE, which no message may hold.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from io import BytesIO
from typing import IO, Any, TypeAlias

import ijson
import msgspec

from adapters.common.codes import Unreadable, refusal

Path: TypeAlias = tuple[str, ...]
Part: TypeAlias = tuple[Path, Any]
"""Where a value stands, by the keys above it, and the value."""

MAX_PIECE = 16 << 20
"""Bytes that may be read from one value to the next."""
MAX_DEPTH = 200
"""Objects and arrays inside one another."""
LONGEST_NUMBER = 1000
"""Digits in a row that every document may have; one of 4300 and more would bring the reader down."""
_CHUNK = 1 << 16
SMALL = 1 << 18
"""Bytes up to which a document is decoded at once."""
_HEX = rb"[0-9a-fA-F]{2}"
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]" + _HEX + rb"\\u[dD][c-fC-F]" + _HEX + rb"|(u[dD][89a-fA-F]" + _HEX + rb")|.)", re.DOTALL
)
"""An escape of a text: a pair of halves of one character, half a character alone, or any other."""
_LONGEST_ESCAPE = 12
_SCALARS = frozenset(("string", "number", "boolean", "null"))
_KEY = re.compile(rb'"[ \t\r\n]*:')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_decode = msgspec.json.Decoder(float_hook=Decimal).decode


def split(stream: IO[bytes], pieces: Collection[Path], most: int = MAX_PIECE) -> Iterator[Part]:
    """Every value of a document that is not an object above a piece: header fields, and pieces one by one.

    Args:
      stream: the bytes; read once. An array of documents is read as its documents, one after the other.
      pieces: the keys under which a CH message, or an array of them, stands; the empty path: each document is one.
      most: bytes that may be read for one value.

    Raises:
      Unreadable: the document is no JSON (JSON_SYNTAX), is cut (JSON_TRUNCATED), or one value is too large or nested
        too deeply (JSON_LIMIT).
    """
    above = {path[:length] for path in pieces for length in range(len(path))}
    first = _first(stream)
    whole = _decoded(first) if len(first) <= min(SMALL, most) else None
    if whole is not None:
        for document in whole:
            yield from [((), document)] if () in pieces else _parts(document, (), above, pieces)
        return
    source = _Source(_Rest(first, stream), most)
    try:
        yield from _Walk(source, above, frozenset(pieces)).parts()
    except ijson.JSONError as error:
        said = error.args[0] if error.args else ""
        words = (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)).split("\n")[0].strip()
        if source.ended and "garbage" not in words:
            raise Unreadable(refusal("JSON_TRUNCATED", value=words, expected="the document to its end")) from None
        raise Unreadable(refusal("JSON_SYNTAX", value=words, expected="JSON")) from None


def _first(stream: IO[bytes]) -> bytes:
    """The bytes of a small document, or more than such a one has."""
    read: list[bytes] = []
    left = SMALL + 1
    while left > 0 and (data := stream.read(min(left, _CHUNK))):
        read.append(data)
        left -= len(data)
    return b"".join(read)


def _decoded(data: bytes) -> list[dict[str, Any]] | None:
    """The documents in some bytes, where decoding comes to the same as reading piece by piece; None of anything unusual
    or wrong: escapes, endless numbers, keys that stand twice, deep nesting."""
    if b"\\" in data or _has_digits(data, LONGEST_NUMBER // 2):
        return None
    brackets = data.translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH // 4):  # each turn takes the innermost one or two levels away
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        return None
    try:
        whole = _decode(data)
    except (msgspec.MsgspecError, ValueError):
        return None
    # A key that stood twice stands once now. Without escapes both texts have the same quotation marks.
    if len(_KEY.findall(data)) != msgspec.json.encode(whole).count(b'":'):
        return None
    documents = whole if isinstance(whole, list) else [whole]
    return documents if all(isinstance(one, dict) for one in documents) else None


def _has_digits(data: bytes, length: int) -> bool:
    """Whether a block of so many bytes is digits alone, as it is in a number of twice that length."""
    return any(data[at : at + length].isdigit() for at in range(0, len(data) - length + 1, length))


def _parts(held: dict[str, Any], path: Path, above: Collection[Path], pieces: Collection[Path]) -> Iterator[Part]:
    """What `_Walk` gives of an object."""
    for key, value in held.items():
        here = (*path, key)
        if here in above and isinstance(value, dict):
            yield from _parts(value, here, above, pieces)
        elif here in pieces and (value is None or isinstance(value, list)):
            yield from ((here, one) for one in value or ())
        else:
            yield here, value


class _Rest(BytesIO):
    """Bytes that were read before, and then the rest of their stream."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        super().__init__(first)
        self._rest = rest

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes, none at the end."""
        return super().read(size) or self._rest.read(-1 if size is None else size)


class _Walk:
    def __init__(self, source: _Source, above: Collection[Path], pieces: Collection[Path]) -> None:
        self._source, self._above, self._pieces = source, above, pieces
        self._events = iter(ijson.basic_parse(source, buf_size=_CHUNK))

    def parts(self) -> Iterator[Part]:
        event, value = next(self._events)
        if event == "start_array":
            for event, value in self._events:
                if event == "end_array":
                    break
                yield from self._document(event, value)
        else:
            yield from self._document(event, value)
        for _ in self._events:  # nothing but the end: the reader refuses what follows
            pass

    def _document(self, event: str, value: Any) -> Iterator[Part]:
        if event != "start_map":
            self._value(event, value)
            raise Unreadable(refusal("JSON_SYNTAX", value=event.removeprefix("start_"), expected="an object"))
        if () in self._pieces:
            yield (), self._value(event, value)
            return
        yield from self._object(())

    def _object(self, path: Path) -> Iterator[Part]:
        seen: set[str] = set()
        for event, key in self._events:
            if event == "end_map":
                return
            if key in seen:
                raise Unreadable(refusal("JSON_SYNTAX", value=key, expected="a key that stands once"))
            seen.add(key)
            here = (*path, key)
            event, value = next(self._events)
            if here in self._above and event == "start_map":
                yield from self._object(here)
            elif here in self._pieces:
                if event != "start_array":
                    if event != "null":
                        yield here, self._value(event, value)
                    continue
                for event, value in self._events:
                    if event == "end_array":
                        break
                    yield here, self._value(event, value)
            else:
                yield here, self._value(event, value)

    def _value(self, event: str, value: Any) -> Any:
        """The value that an event begins, read to its end."""
        self._source.left = self._source.most
        if event in _SCALARS:
            return value
        stack: list[Any] = [{} if event == "start_map" else []]
        key = ""
        keys: list[str] = []
        for event, value in self._events:
            holder = stack[-1]
            if event == "map_key":
                key = value
                continue
            if event in ("end_map", "end_array"):
                stack.pop()
                if not stack:
                    return holder
                key = keys.pop()
                continue
            inner = {} if event == "start_map" else [] if event == "start_array" else value
            if type(holder) is dict:
                if key in holder and (event not in _SCALARS or holder[key] != inner):
                    raise Unreadable(refusal("JSON_SYNTAX", value=key, expected="a key that stands once"))
                holder[key] = inner
            else:
                holder.append(inner)
            if event not in _SCALARS:
                if len(stack) >= MAX_DEPTH:
                    raise Unreadable(refusal("JSON_LIMIT", value="nested too deeply", expected=f"{MAX_DEPTH} levels"))
                stack.append(inner)
                keys.append(key)
        raise AssertionError("the reader ends no document in the middle of a value")


class _Source:
    """The bytes as the reader wants them: no byte order mark, no half characters, and not too many for one value.

    Attributes:
      most: bytes that may be read for one value.
      left: bytes that may still be read for the present value.
      ended: the end was reached.
    """

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._tail = b""
        self._begun = False
        self.most = self.left = most
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        """Some bytes, none at the end."""
        if size == 0:
            return b""
        given = b""
        while not given and not self.ended:
            data = self._stream.read(_CHUNK)
            self.left -= len(data)
            if self.left < 0:
                raise Unreadable(refusal("JSON_LIMIT", value=f"more than {self.most} bytes", expected="smaller values"))
            if _has_digits(data, LONGEST_NUMBER):
                raise Unreadable(refusal("JSON_LIMIT", value="a number without end", expected="shorter numbers"))
            self.ended = not data
            if not self._begun and data:
                self._begun = True
                if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    raise Unreadable(refusal("JSON_SYNTAX", value="UTF-16", expected="JSON in UTF-8"))
                data = data.removeprefix(codecs.BOM_UTF8)
            given = self._whole(data)
        if self.ended and not given:
            given, self._tail = self._tail, b""
            return given
        return given

    def _whole(self, data: bytes) -> bytes:
        """What can be given on: escapes that may be cut at the end stay back."""
        data = self._tail + data
        if self.ended:
            cut = len(data)
        elif b"\\" not in data[-_LONGEST_ESCAPE:] and b"\\u" not in data:
            self._tail = b""
            return data
        else:
            cut = max(len(data) - _LONGEST_ESCAPE, 0)
        parts: list[bytes] = []
        at = 0
        for found in _ESCAPE.finditer(data):
            if found.start() >= cut:
                break
            if found[1] is not None:
                parts += [data[at : found.start()], rb"\ufffe"]
                at = found.end()
            cut = max(cut, found.end())
        parts.append(data[at:cut])
        self._tail = data[cut:]
        return b"".join(parts)
