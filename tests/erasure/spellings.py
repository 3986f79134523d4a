"""A word in every spelling that a byte search has to look for: encodings, base64, references, escapes; and contents
opened by other means than the program's."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator

ENCODINGS = ("utf-8", "latin-1", "utf-16-le", "utf-16-be")


def base64_of(content: bytes) -> set[bytes]:
    """What base64 of a text with a content in it has in it, however many bytes stand before: at its three alignments,
    without the signs that its neighbours share."""
    found = set()
    for before in range(3):
        text = base64.b64encode(b"\x00" * before + content)
        first = -(-before * 8 // 6)
        last = (before + len(content)) * 8 // 6
        found.add(text[first:last])
    return found


def spellings(word: str) -> set[bytes]:
    """A word as bytes, in every spelling; each in the case of letters that is given."""
    found: set[bytes] = set()
    for encoding in ENCODINGS:
        try:
            content = word.encode(encoding)
        except UnicodeEncodeError:
            continue
        found.add(content)
        plain = base64_of(content)
        found |= plain | {one.translate(bytes.maketrans(b"+/", b"-_")) for one in plain}
    found.add("".join(f"&#{ord(sign)};" for sign in word).encode())
    found.add("".join(f"&#x{ord(sign):x};" for sign in word).encode())
    found.add("".join(f"\\u{ord(sign):04x}" for sign in word).encode())
    found.add("".join(f"%{byte:02X}" for byte in word.encode()).encode())
    return found


def spelt_in(content: bytes, words: list[str]) -> list[str]:
    """Which words a content has in some spelling, small or capital."""
    return [
        word
        for word in words
        if any(one in content for form in (word, word.upper(), word.capitalize()) for one in spellings(form))
    ]


def everything(content: bytes) -> bytes:
    """A content with all that zips, gzip, zlib and base64 in it hold."""
    return b"\n".join(_opened(content, 0))


def _opened(content: bytes, depth: int) -> Iterator[bytes]:
    yield content
    if depth > 5:
        return
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for name in file.namelist():
                yield from _opened(file.read(name), depth + 1)
    elif content.startswith(b"\x1f\x8b"):
        yield from _opened(gzip.decompress(content), depth + 1)
    elif content.startswith(b"x\x9c"):
        yield from _opened(zlib.decompress(content), depth + 1)
    else:
        joined = re.sub(rb"\s|\\[rn]|&#1[03];", b"", content)
        for run in re.findall(rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{8,}", joined.replace(b"base64", b" ")):
            fours = run[: len(run) - (len(run) % 4 == 1)].translate(bytes.maketrans(b"-_", b"+/"))
            yield from _opened(base64.b64decode(fours + b"=" * (-len(fours) % 4)), depth + 1)
