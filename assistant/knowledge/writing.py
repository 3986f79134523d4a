"""Writing a document: loaders add pieces, the text and the structure grow together."""

from __future__ import annotations

import re

from assistant.knowledge.documents import Block, BlockKind

_SPACES = re.compile(r"[ \t\u00a0\u202f]+")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffd]")

LONGEST_CONTEXT = 300
"""Characters of a caption and header row that every row carries along."""


def clean(text: str, keep_lines: bool = False) -> str:
    """Text without control and invisible characters, runs of spaces as one.

    Args:
      text: the text.
      keep_lines: whether line ends stay (code); else a single line end is a space.
    """
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if keep_lines:
        return "\n".join(line.rstrip() for line in text.expandtabs(2).split("\n")).strip("\n")
    paragraphs = (_SPACES.sub(" ", part.replace("\n", " ")).strip() for part in _BLANK_LINES.split(text))
    return "\n".join(part for part in paragraphs if part)


class Writer:
    """Grows a document's text and blocks.

    Attributes:
      page: page number of what is added from now on.
      title: the first title; empty where there is none.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: list[tuple[int, str, str | None]] = []
        self.page: int | None = None
        self.title = ""

    @property
    def text(self) -> str:
        """What was written."""
        return "".join(self._parts)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Its structure."""
        return tuple(self._blocks)

    def heading(self, level: int, text: str, anchor: str | None = None) -> None:
        """A title; what follows is below it until one of its level or higher comes."""
        title = clean(text).replace("\n", " ")
        if not title:
            return
        self.title = self.title or title
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._add(title, "heading", anchor=anchor)
        self._headings.append((level, title, anchor))

    def paragraph(self, text: str, kind: BlockKind = "paragraph", anchor: str | None = None) -> None:
        """A paragraph, a list item or code."""
        self._add(clean(text, keep_lines=kind == "code"), kind, anchor=anchor)

    def table(
        self, header: list[str], rows: list[list[str]], caption: str = "", anchors: list[str] | None = None
    ) -> None:
        """A table, one block a row: each carries caption and header as its context, so that it can be read alone."""
        head = [clean(cell).replace("\n", " ") for cell in header]
        named = " | ".join(head)
        context = "\n".join(part for part in (clean(caption), named.strip(" |")) if part)[:LONGEST_CONTEXT]
        if caption:
            self._add(clean(caption), "paragraph")
        if named.strip(" |"):
            self._add(named, "heading")
        for number, row in enumerate(rows):
            cells = [clean(cell).replace("\n", " ") for cell in row]
            if any(cells):
                anchor = anchors[number] if anchors and number < len(anchors) else None
                self._add(" | ".join(cells), "row", context=context, anchor=anchor)

    def _add(self, text: str, kind: BlockKind, context: str = "", anchor: str | None = None) -> None:
        if not text.strip():
            return
        if self._length:
            gap = "\n" if kind in ("item", "row") and self._blocks[-1].kind in ("item", "row", "heading") else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        nearest = anchor or next((a for _, _, a in reversed(self._headings) if a), None)
        self._blocks.append(
            Block(
                start=self._length,
                end=self._length + len(text),
                kind=kind,
                headings=tuple(title for _, title, _ in self._headings),
                page=self.page,
                anchor=nearest,
                context=context,
            )
        )
        self._parts.append(text)
        self._length += len(text)
