"""What a text hides from a plain search: base64, gzip and zips in it, and other spellings of its signs.

A name may stand in a file as `UXVpbnF1ZW5ncm9nbmU=`, in a document that was compressed and written as base64 into
another one, as `&#81;uinquengrogne`, `\\u0051uinquengrogne` or `%51uinquengrogne`.
"""

from __future__ import annotations

import base64
import binascii
import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from energycomm.transport.limits import Limits

DEEPEST: Final = 8
"""Packings inside each other that are opened."""

_LIMITS: Final = Limits(member=1 << 30)
"""How far packings are opened: nothing larger, and no bomb, is read into memory."""

_UNIT: Final = r"(?:[A-Za-z0-9+/_-]|\\/)"
_WRAP: Final = r"(?:\r?\n[ \t]*|(?:\\r)?\\n|(?:&#(?:13|x0?[dD]);)?&#(?:10|x0?[aA]);)"
_RUN: Final = re.compile(rf"(?:{_UNIT}{{40,}}+{_WRAP})++{_UNIT}{{2,}}+={{0,2}}|{_UNIT}{{4,}}+={{0,2}}")
"""What may be base64: in one piece, or in lines of one length. JSON may write a slash with a backslash."""
_BREAK: Final = re.compile(_WRAP)
_WEB: Final = str.maketrans("-_", "+/")
_OFFSETS: Final = 4
"""Signs in front that may belong to something else: base64 is read in fours."""
_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})")
_BLANKS: Final = str.maketrans("", "", " \t\r\n\ufeff")
_GZIP: Final = b"\x1f\x8b\x08"


class Run(Struct, frozen=True):
    """Base64 in a text.

    Attributes:
      start, end: its place.
      content: the bytes that it stands for.
    """

    start: int
    end: int
    content: bytes


def runs(text: str) -> Iterator[Run]:
    """The base64 of a text that stands for a text, or for something that is packed."""
    if text.isdecimal():
        return
    for found in _RUN.finditer(text):
        content = _decoded(found[0])
        if content is not None:
            offset, clear = content
            yield Run(found.start() + offset, found.end(), clear)


def packed_again(written: str, content: bytes) -> str:
    """Base64 of a content, in lines and in the alphabet of what was written before.

    Args:
      written: the base64 that it takes the place of.
      content: the bytes.
    """
    web = "-" in written or "_" in written
    text = (base64.urlsafe_b64encode if web else base64.b64encode)(content).decode()
    broken = _BREAK.search(written)
    if broken is not None:
        width = broken.start()
        text = broken[0].join(text[start : start + width] for start in range(0, len(text), width))
    return text if written.endswith("=") or len(written.rstrip("=")) % 4 == 0 else text.rstrip("=")


def unzipped(content: bytes) -> bytes | None:
    """What gzip or zlib packed; None where it is neither, is damaged, or is a bomb."""
    gzipped = content.startswith(_GZIP)
    if not gzipped and not (content[:1] == b"\x78" and int.from_bytes(content[:2], "big") % 31 == 0):
        return None
    clear, rest, most = bytearray(), content, _most(len(content))
    try:
        while rest:
            opener = zlib.decompressobj(zlib.MAX_WBITS | (16 if gzipped else 0))
            clear += opener.decompress(rest, most + 1 - len(clear))
            if not opener.eof or len(clear) > most:
                return None
            rest = opener.unused_data if gzipped else b""
    except zlib.error:
        return None
    return bytes(clear)


def zipped_like(before: bytes, clear: bytes) -> bytes:
    """A content packed as another one was, by gzip or zlib."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | (16 if before.startswith(_GZIP) else 0))
    return packer.compress(clear) + packer.flush()


def entries(content: bytes) -> list[tuple[zipfile.ZipInfo, bytes]] | None:
    """The files of a zip; None where it cannot be read, or is too large to be opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            listed = opened.infolist()
            if sum(one.file_size for one in listed) > _most(len(content)):
                return None
            return [(one, opened.read(one)) for one in listed]
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, NotImplementedError, EOFError, ValueError):
        return None


def _most(size: int) -> int:
    """Bytes that so many packed ones may unpack to."""
    return min(_LIMITS.member, max(_LIMITS.ratio_floor, size * _LIMITS.ratio))


def spellings(text: str) -> Iterator[str]:
    """A text with its signs written plainly, where some are written otherwise."""
    if "&" in text and (plain := html.unescape(text)) != text:
        yield plain
    if "\\u" in text and (plain := _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)) != text:
        yield plain
    if "%" in text and (plain := unquote(text)) != text:
        yield plain


def hidden(text: str, depth: int = 0) -> Iterator[str]:
    """Everything that a text says besides what stands in it plainly.

    Args:
      text: the text.
      depth: packings that it is in.
    """
    yield from spellings(text)
    if depth < DEEPEST:
        for written in sorted(set(_RUN.findall(text))):
            content = None if written.isdecimal() else _decoded(written)
            if content is not None:
                yield from said(content[1], depth + 1)


def said(content: bytes, depth: int = 0) -> Iterator[str]:
    """Everything that a content says, opened as far as it can be.

    Args:
      content: any bytes.
      depth: packings that it is in.
    """
    if depth > DEEPEST:
        return
    if content.startswith(b"PK\x03\x04"):
        for _, part in entries(content) or ():
            yield from said(part, depth + 1)
    elif (clear := unzipped(content)) is not None:
        yield from said(clear, depth + 1)
    elif (plain := plain_text(content)) is not None:
        yield plain
        yield from hidden(plain, depth)


def plain_text(content: bytes) -> str | None:
    """The text of bytes that are one, as UTF-8, UTF-16 or Latin-1; None where they are none."""
    if b"\x00" in content:
        odd, even = content[1::2].count(0), content[::2].count(0)
        encodings = ["utf-16"] if content[:2] in (b"\xff\xfe", b"\xfe\xff") else []
        encodings.append("utf-16-le" if odd > even else "utf-16-be")
    else:
        encodings = ["utf-8", "latin-1"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.translate(_BLANKS).isprintable():
            return text
    return None


def _decoded(written: str) -> tuple[int, bytes] | None:
    """The bytes of base64, and how many signs before it belong to something else; None where they are nothing."""
    signs = written if len(written) < 40 else _BREAK.sub("", written)
    signs = signs.replace("\\/", "/").translate(_WEB).rstrip("=")
    for offset in range(_OFFSETS if set("+/").intersection(signs) or len(signs) > 8 else 1):
        rest = signs[offset:]
        rest = rest[:-1] if len(rest) % 4 == 1 else rest
        try:
            content = binascii.a2b_base64(rest + "=" * (-len(rest) % 4))
        except binascii.Error:
            return None
        if len(content) > 1 and _is_something(content):
            return offset, content
    return None


def _is_something(content: bytes) -> bool:
    packed = content.startswith((b"PK\x03\x04", _GZIP)) or (
        content[:1] == b"\x78" and content[1:2] in b"\x01\x5e\x9c\xda"
    )
    return packed or plain_text(content) is not None
