"""Splits the JSON of an on-demand flux into its pieces; one piece at a time is held, never the file.

The document is ``{"header": {...}, "mesures": [{...}, ...]}``, or an array of such objects (R67). Each element of
``mesures`` is given as soon as it is whole. The JSON that Enedis writes is strict; NaN, infinities and duplicate keys
of the outer object are refused.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any, NamedTuple

from energycomm.kernel.verdicts import Refusal

CHUNK = 1 << 16
MAX_PIECE = 16 << 20
"""Characters that one value may take before the file is given up."""
_BLANK = " \t\r\n"


class Broken(Exception):
    """The document cannot be read on; `refusal` says why (JSON_SYNTAX, JSON_TRUNCATED, JSON_LIMIT)."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Header(NamedTuple):
    """The header of the pieces that follow."""

    content: Any


class Piece(NamedTuple):
    """One element of ``mesures``."""

    content: Any


def _refuse(what: str, value: str | None, expected: str) -> Broken:
    advice = "fetch the file again" if what == "TRUNCATED" else "ask Enedis for a correct file"
    return Broken(Refusal(code=f"JSON_{what}", value=value, expected=expected, advice=advice))


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def split(stream: IO[bytes], pieces: str = "mesures", header: str = "header") -> Iterator[Header | Piece]:
    """The header and the pieces of a document, in its order.

    Args:
      stream: the bytes; read once.
      pieces: key of the array of pieces.
      header: key of the header.

    Raises:
      Broken: the document is no JSON, cut, or one value is too large.
    """
    text = _Text(stream)
    if text.take("["):
        if text.take("]"):
            text.end()
            return
        while True:
            yield from _object(text, pieces, header)
            if not text.more("]"):
                break
    else:
        yield from _object(text, pieces, header)
    text.end()


def _object(text: _Text, pieces: str, header: str) -> Iterator[Header | Piece]:
    text.need("{")
    if text.take("}"):
        return
    seen: set[str] = set()
    while True:
        key = text.value()
        if type(key) is not str or key in seen:
            raise _refuse("SYNTAX", str(key)[:80], "a key that stands once")
        seen.add(key)
        text.need(":")
        if key == pieces and text.take("["):
            if not text.take("]"):
                while True:
                    yield Piece(text.value())
                    if not text.more("]"):
                        break
        else:
            value = text.value()
            if key == header:
                yield Header(value)
            elif key == pieces and value is not None:
                raise _refuse("SYNTAX", str(value)[:80], f"an array as the value of {pieces}")
        if not text.more("}"):
            return


class _Text:
    """The characters of a document, read as needed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._scan = json.JSONDecoder(parse_float=Decimal, parse_constant=_constant).raw_decode
        self._held = ""
        self._at = 0
        self._ended = False

    def _fill(self, size: int = CHUNK) -> bool:
        """Read on; False at the end."""
        if self._ended:
            return False
        data = self._stream.read(size)
        self._ended = not data
        try:
            self._held = self._held[self._at :] + self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            if self._ended:
                raise _refuse("TRUNCATED", "bytes of a character", "the document to its end") from None
            raise _refuse("SYNTAX", str(error)[:120], "UTF-8") from None
        self._at = 0
        return not self._ended

    def _next(self) -> str:
        """The next character that is no blank, not taken; empty at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _BLANK:
                    return self._held[self._at]
                self._at += 1
            if not self._fill():
                return ""

    def take(self, sign: str) -> bool:
        """Whether a sign comes next; it is taken then."""
        if self._next() != sign:
            return False
        self._at += 1
        return True

    def need(self, sign: str) -> None:
        """Take a sign that must come next."""
        if not self.take(sign):
            raise self._unexpected(sign)

    def more(self, closing: str) -> bool:
        """Whether another element follows in an array or object that `closing` ends."""
        if self.take(","):
            return True
        if self.take(closing):
            return False
        raise self._unexpected(f", or {closing}")

    def end(self) -> None:
        """Nothing but blanks may follow."""
        if self._next():
            raise self._unexpected("the end of the document")

    def _unexpected(self, wanted: str) -> Broken:
        found = self._next()
        return (
            _refuse("SYNTAX", self._held[self._at : self._at + 40], wanted)
            if found
            else _refuse("TRUNCATED", None, wanted)
        )

    def value(self) -> Any:
        """The next value, whole."""
        if not self._next():
            raise _refuse("TRUNCATED", None, "a value")
        size = CHUNK
        while True:
            try:
                found, end = self._scan(self._held, self._at)
            except RecursionError:
                raise _refuse("LIMIT", "nested too deeply", "some hundred levels at most") from None
            except ValueError as error:
                if len(self._held) - self._at > MAX_PIECE:
                    raise _refuse("LIMIT", f"more than {MAX_PIECE} characters", "smaller values") from None
                # The value may be cut by the end of what is held: read on, twice as much each time.
                if self._fill(size):
                    size *= 2
                    continue
                raise _refuse(*self._fault(error)) from None
            if end == len(self._held) and type(found) is not dict and type(found) is not list and self._fill(size):
                continue  # a number may go on
            self._at = end
            return found

    def _fault(self, error: ValueError) -> tuple[str, str, str]:
        """What, value and expectation of a scanner's error at the end of the stream."""
        place = getattr(error, "pos", None)
        cut = place is not None and not self._held[place:].strip(_BLANK)
        words = str(getattr(error, "msg", error))[:120]
        cut = cut or words.startswith("Unterminated string")
        return ("TRUNCATED" if cut else "SYNTAX"), words, "the document to its end" if cut else "JSON"
