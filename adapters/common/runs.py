"""Takes runs of CH messages that a pattern reads out of the bytes of a document, before these are parsed.

libxml2 still parses the whole document and decides what it is: in place of a run it finds one empty element with the
run's number. So header, root, depth and damage are judged as ever; only the inside of a CH message that `Pattern`
matches is no longer built as a tree.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection
from typing import IO, NamedTuple

from lxml import etree

from adapters.common.pattern import Pattern
from adapters.common.reading import Fields
from energycomm.kernel import safexml

_CHUNK = 1 << 16
_LONGEST = 1 << 20
"""Bytes in which a CH message must end; longer ones are left to the parser, and so is all that follows."""
_DECLARATION = re.compile(rb"<\?xml[ \t\r\n][^>]*?\?>")
_ENCODING = re.compile(rb"[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*[\"']([^\"']*)[\"']")
_DEFAULT = re.compile("xmlns[ \\t\\r\\n]*=[ \\t\\r\\n]*(?:\"([^\"<&]*)\"|'([^'<&]*)')")
_MARK = "run"
_ASIDES = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}


class Piece(NamedTuple):
    """A CH message of a run.

    Attributes:
      fields: what it holds.
      within: a text that it stands in.
      start, end: where.
    """

    fields: Fields
    within: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The CH message as it is written."""
        return self.within[self.start : self.end]

    def element(self, namespace: str | None = None) -> etree._Element:
        """The CH message as a tree, for whoever needs one.

        Args:
          namespace: that the document declares for it.
        """
        text = self.text if namespace is None else self.text.replace(">", f' xmlns="{namespace}">', 1)
        return etree.fromstring(text, safexml.parser())


class Runs:
    """A stream of the bytes of a document, in which runs of CH messages are replaced. Satisfies what `safexml.iterate`
    reads from."""

    def __init__(self, stream: IO[bytes], pattern: Pattern, namespaces: Collection[str] = ()) -> None:
        """Args:
        stream: the bytes, at their beginning.
        pattern: of the CH messages.
        namespaces: of which a document may declare one, once and before its CH messages; a run has that of the
          element that stands for it.
        """
        self._stream, self._pattern, self._namespaces = stream, pattern, namespaces
        self._declared = False
        self._rest = b""
        self._begun = self._left_alone = False
        self._until = ""
        # Nobody who writes a document knows it.
        self._secret = secrets.token_hex(8)
        self._number = 0
        self._held: dict[str, list[Piece]] = {}
        name = re.escape(pattern.opening.decode())
        self._next = re.compile(rf"{name}|<!--|<!\[CDATA\[|<\?|<!|xmlns(?!:)")

    def taken(self, element: etree._Element) -> list[Piece] | None:
        """The run that an element stands for; None for an element of the document."""
        number = element.get(_MARK)
        return None if number is None else self._held.pop(number, None)

    def read(self, size: int = -1) -> bytes:
        """The next bytes, of any number; none at the end."""
        if self._left_alone:
            return self._stream.read(_CHUNK)
        while True:
            data = self._stream.read(_CHUNK)
            whole = self._rest + data
            if not data or len(whole) > _LONGEST or not self._readable(whole):
                return self._leave(whole)
            end = whole.rfind(self._pattern.closing)
            if end < 0:
                self._rest = whole
                continue
            end += len(self._pattern.closing)
            self._rest = whole[end:]
            try:
                text = whole[:end].decode()
            except UnicodeDecodeError:
                return self._leave(whole)
            if "\ufffe" in text or "\uffff" in text:  # no characters of XML
                return self._leave(whole)
            replaced = self._replaced(text).encode()
            return self._leave(replaced + self._rest) if self._left_alone else replaced

    def _leave(self, data: bytes) -> bytes:
        self._left_alone, self._rest = True, b""
        return data

    def _readable(self, beginning: bytes) -> bool:
        """Whether the document is in UTF-8."""
        if self._begun:
            return True
        self._begun = True
        declaration = _DECLARATION.match(beginning)
        if declaration is None:
            return beginning[:1] == b"<" and beginning[1:2] not in (b"?", b"\x00")
        encoding = _ENCODING.search(declaration.group())
        return encoding is None or encoding[1].lower() == b"utf-8"

    def _replaced(self, text: str) -> str:
        """A text that ends with the end of a CH message, its runs replaced."""
        out: list[str] = []
        at = begin = 0
        while True:
            if self._until:  # inside of a comment or the like, where nothing is markup
                end = text.find(self._until, at)
                if end < 0:
                    break
                at, self._until = end + len(self._until), ""
            found = self._next.search(text, at)
            if found is None:
                break
            mark = found.group()
            if mark in _ASIDES:
                at, self._until = found.end(), _ASIDES[mark]
                continue
            if mark == "xmlns" and (declared := self._declaration(text, found.start())):
                at = declared
                continue
            if mark[:2] == "<!" or mark == "xmlns":  # a DOCTYPE, or elements of a namespace
                self._left_alone = True
                break
            run, at = self._run(text, found.start())
            if run:
                out += (text[begin : found.start()], self._mark(run, text, found.start(), at))
                begin = at
            else:
                at = found.end()
        out.append(text[begin:])
        return "".join(out)

    def _declaration(self, text: str, at: int) -> int | None:
        """Where the declaration of the one namespace that may stand there ends."""
        found = _DEFAULT.match(text, at)
        if found is None or self._declared or self._number or (found[1] or found[2]) not in self._namespaces:
            return None
        self._declared = True
        return found.end()

    def _run(self, text: str, start: int) -> tuple[list[Piece], int]:
        """The CH messages that follow each other from a place on, and where they end."""
        match, run = self._pattern.match, []
        while (found := match(text, start)) is not None:
            fields, end = found
            run.append(Piece(fields, text, start, end))
            start = end
        return run, start

    def _mark(self, run: list[Piece], text: str, start: int, end: int) -> str:
        """The element in place of a run. It ends on the line and in the column of the run, so that damage behind it is
        found in its place."""
        self._number += 1
        number = f"{self._secret}-{self._number}"
        self._held[number] = run
        begun = f'<{self._pattern.name} {_MARK}="{number}"'
        taken = text[start:end]
        blank = len(taken) - len(taken.rstrip())
        taken, rest = taken[: len(taken) - blank], taken[len(taken) - blank :]
        lines = taken.count("\n")
        width = len(taken) - (taken.rfind("\n") + 1) - len("/>") - (0 if lines else len(begun))
        return f"{begun}{chr(10) * lines}{' ' * width}/>{rest}"
