"""What content is, by its first bytes. Names and extensions are not asked: ``.JSON``, ``.json`` and none all occur."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse

HEAD = 1024
"""Bytes that `form_of` wants to see."""

Form = Literal["empty", "zip", "xml", "json", "other", "binary"]

ZIP_ENTRY = b"PK\x03\x04"
ZIP_WITHOUT_ENTRIES = b"PK\x05\x06"

_KNOWN_BINARIES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b\x08", "a gzip file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"\x7fELF", "a program"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"-----BEGIN PGP", "a PGP message"),
)
_UTF_16 = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f\x7f]")
_CONTROL_BYTES = bytes(number for number in range(128) if _CONTROLS.match(chr(number)))
_XML_BEGINS = re.compile(r"<[A-Za-z_?!:\u00c0-\uffff]")
_BLANKS = " \t\r\n\ufeff"


def form_of(head: bytes) -> Form:
    """The form of content, by its first `HEAD` bytes (or all, if shorter).

    ``other`` is text that is neither XML nor JSON (EDIFACT, CSV); ``binary`` is anything else, encrypted content too.
    """
    if not head:
        return "empty"
    if head.startswith((ZIP_ENTRY, ZIP_WITHOUT_ENTRIES, b"PK\x07\x08")):
        return "zip"
    text = _as_text(head)
    if text is None:
        return "xml" if head.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"<?xml") else "binary"
    text = text.lstrip(_BLANKS)
    if not text:
        return "empty" if len(head) < HEAD else "other"
    if _XML_BEGINS.match(text):
        return "xml"
    if text[0] == "{" or (text[0] == "[" and text[1:].lstrip(_BLANKS)[:1] in '{["]-0123456789tfn'):
        return "json"
    return "other"


def _as_text(head: bytes) -> str | None:
    """The head decoded, or None where it is no text."""
    for mark, encoding in _UTF_16:
        if head.startswith(mark):
            text = head[: len(head) & ~1].decode(encoding, "replace")
            return None if _CONTROLS.search(text) else text
    if len(head.translate(None, _CONTROL_BYTES)) < len(head):  # in UTF-8 no other character has these bytes
        return None
    try:
        # A character may be cut at the end of the head: the incremental decoder keeps it back.
        return codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return head.decode("latin-1")


def known_binary(head: bytes) -> str | None:
    """The kind of a binary file that is no envelope, by its magic number."""
    return next((kind for magic, kind in _KNOWN_BINARIES if head.startswith(magic)), None)


def may_be_encrypted(head: bytes, size: int) -> bool:
    """Whether content could be AES-CBC: whole blocks, and bytes spread as evenly as cipher text is.

    Args:
      head: the first bytes, `HEAD` of them where there are as many.
      size: size of the whole content, in bytes.
    """
    if size < 32 or size % 16:
        return False
    commonest = max(head.count(bytes((byte,))) for byte in set(head))
    return commonest <= max(8, len(head) // 24)


XML_HEAD = 8192
"""Bytes that `namespaces_of` wants to see."""

_NAMESPACE = re.compile(r"""(?<=\s)xmlns(?::[^\s=]+)?\s*=\s*["']([^"'<&]{1,300})["']""")


def namespaces_of(head: bytes) -> tuple[str, ...]:
    """The namespaces that the beginning of an XML document declares, each once, in their order.

    Args:
      head: the first `XML_HEAD` bytes of the document, or all where shorter.
    """
    if b"xmlns" not in head and b"\x00" not in head:
        return ()
    text = _as_text(head) or ""
    found: dict[str, None] = {}
    at = text.find("xmlns")
    while at >= 0:
        declared = _NAMESPACE.match(text, at)
        if declared is not None:
            found[declared[1]] = None
        at = text.find("xmlns", at + 1 if declared is None else declared.end())
    return tuple(found)


TEXT_ROOT = 400
"""Characters that `text_root` gives."""


def text_root(head: bytes) -> str:
    """The first characters of a text that is neither XML nor JSON, as `Sniff.root` of a market's contract wants them.

    Args:
      head: the first bytes of the text.

    Returns:
      At most `TEXT_ROOT` characters from the first one that is no blank; lines stay lines.
    """
    return (_as_text(head) or "").lstrip(_BLANKS)[:TEXT_ROOT]


_JSON_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')


def json_root(head: bytes, path: str = "") -> str | Refusal:
    """The first keys of a JSON document, as `Sniff.root` of a market's contract wants them.

    Args:
      head: the first bytes of the document; keys beyond them are not seen.
      path: the member, for the refusal.

    Returns:
      Keys of the outermost object (of the first object of an array), comma separated; a refusal ``JSON_SYNTAX``
      when what can be seen is not JSON.
    """
    text = _as_text(head)
    if text is None:
        return refuse("JSON_SYNTAX", path, "bytes that are no text", "JSON")
    text = text.lstrip(_BLANKS)
    at = 1
    if text.startswith("["):
        at = re.compile(r"\[\s*").match(text).end()  # type: ignore[union-attr]
        if text[at : at + 1] != "{":
            return ""
        at += 1
    keys: list[str] = []
    space = re.compile(r"\s*")
    while True:
        at = space.match(text, at).end()  # type: ignore[union-attr]
        if at >= len(text) or (text[at] == "}" and not keys):
            return ",".join(keys)
        name = _JSON_STRING.match(text, at)
        if name is None:
            cut = len(head) >= HEAD and text[at] == '"' and '"' not in text[at + 1 :]
            return ",".join(keys) if cut else refuse("JSON_SYNTAX", path, text[at : at + 20], "a key in quotes")
        at = space.match(text, name.end()).end()  # type: ignore[union-attr]
        if at >= len(text):
            return ",".join([*keys, name[1]])
        if text[at] != ":":
            return refuse("JSON_SYNTAX", path, text[at : at + 20], "':' after a key")
        keys.append(name[1])
        end = _after_value(text, at + 1)
        if isinstance(end, str):
            return refuse("JSON_SYNTAX", path, end, "a value")
        at = space.match(text, end).end()  # type: ignore[union-attr]
        if at >= len(text) or text[at] == "}":
            return ",".join(keys)
        if text[at] != ",":
            return refuse("JSON_SYNTAX", path, text[at : at + 20], "',' or '}' after a value")
        at += 1


_JSON_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}\[\],:]))')
_CLOSES = {"}": "{", "]": "["}


def _after_value(text: str, at: int) -> int | str:
    """Where the JSON value that begins at `at` ends: the end of the text where it is cut; or the offending text."""
    open_brackets: list[str] = []
    while at < len(text):
        token = _JSON_TOKEN.match(text, at)
        if token is None:
            rest = text[at:].lstrip()
            # An unfinished string or literal at the end of what can be seen is no fault yet.
            if not rest or (rest[0] == '"' and '"' not in rest[1:]) or re.fullmatch(r"[-+.\w]{1,40}", rest):
                return len(text)
            return rest[:20]
        at = token.end()
        mark = token[3]
        if mark in ("{", "["):
            open_brackets.append(mark)
        elif mark in _CLOSES:
            if not open_brackets or open_brackets.pop() != _CLOSES[mark]:
                return text[token.start() : token.start() + 20].strip()
        elif mark and not open_brackets:
            return text[token.start() : token.start() + 20].strip()
        if not open_brackets:
            return at
    return at
