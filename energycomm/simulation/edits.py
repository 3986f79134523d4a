"""Edits of documents as bytes, for mistakes that no writer would make."""

from __future__ import annotations

import re
from collections.abc import Callable

Spoil = Callable[[bytes], bytes]


def without(tag: str) -> Spoil:
    """Take the first element of a local name out, with all in it.

    Args:
      tag: local name.
    """
    pattern = re.compile(rf"\s*<(?:\w+:)?{tag}(?:\s[^>]*)?>.*?</(?:\w+:)?{tag}>".encode(), re.DOTALL)
    return lambda content: _once(pattern, b"", content)


def with_text(tag: str, text: str) -> Spoil:
    """Give the first element of a local name another text.

    Args:
      tag: local name of an element without children.
      text: as it stands in the document.
    """
    pattern = re.compile(rf"(<(?:\w+:)?{tag}(?:\s[^>]*)?>)[^<]*".encode())
    return lambda content: _once(pattern, rb"\g<1>" + text.encode(), content)


def twice(tag: str) -> Spoil:
    """Repeat the first element of a local name.

    Args:
      tag: local name of an element without children.
    """
    pattern = re.compile(rf"(<(?:\w+:)?{tag}(?:\s[^>]*)?>[^<]*</(?:\w+:)?{tag}>)".encode())
    return lambda content: _once(pattern, rb"\g<1>\g<1>", content)


def within(piece: str, edit: Spoil) -> Spoil:
    """Edit what stands from the first element of a local name on, and not the header before it.

    Args:
      piece: local name of the element that is one CH message.
      edit: the edit.
    """
    pattern = re.compile(rf"<(?:\w+:)?{piece}[\s>]".encode())

    def spoil(content: bytes) -> bytes:
        found = pattern.search(content)
        if found is None:
            raise ValueError(f"the document has no {piece}")
        return content[: found.start()] + edit(content[found.start() :])

    return spoil


def _once(pattern: re.Pattern[bytes], replacement: bytes, content: bytes) -> bytes:
    changed, number = pattern.subn(replacement, content, count=1)
    if not number:
        raise ValueError(f"the document has nothing like {pattern.pattern!r}")
    return changed
