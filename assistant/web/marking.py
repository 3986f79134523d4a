"""Preparing answers and documents for the page: lines with their citations, blocks with their highlights."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from assistant.chat.answer import Answer, Source
from assistant.knowledge.documents import Block, Document

_CITED = re.compile(r"\[(\d{1,2})\]")


class Piece(Struct, frozen=True):
    """A piece of a line: text, or the citation of a source."""

    text: str
    source: Source | None = None


class Marked(Struct, frozen=True):
    """A piece of a block: text, highlighted or not."""

    text: str
    highlighted: bool


class ShownBlock(Struct, frozen=True, kw_only=True):
    """A block of a document for the page."""

    kind: str
    level: int
    page: int | None
    pieces: tuple[Marked, ...]


def lines_of(answer: Answer) -> list[list[Piece]]:
    """The lines of an answer, their [1] tied to the sources."""
    numbered = {source.number: source for source in answer.cited}
    lines = []
    for line in answer.text.split("\n"):
        pieces, at = [], 0
        for match in _CITED.finditer(line):
            source = numbered.get(int(match.group(1)))
            if source is not None:
                pieces += [Piece(line[at : match.start()]), Piece(match.group(), source)]
                at = match.end()
        lines.append([*pieces, Piece(line[at:])])
    return lines


def pieces_of(text: str, start: int, spans: Sequence[tuple[int, int]]) -> tuple[Marked, ...]:
    """A text that begins at an offset, cut at the borders of highlighted spans."""
    pieces: list[Marked] = []
    at = start
    end = start + len(text)
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end)
        if first >= last:
            continue
        pieces += [Marked(text[at - start : first - start], False), Marked(text[first - start : last - start], True)]
        at = last
    pieces.append(Marked(text[at - start :], False))
    return tuple(piece for piece in pieces if piece.text)


def source_pieces(source: Source) -> tuple[Marked, ...]:
    """A source's passage with its highlights."""
    passage = source.passage
    return pieces_of(passage.text, passage.start, [(span.start, span.end) for span in source.highlights])


def blocks_of(document: Document, spans: Sequence[tuple[int, int]]) -> list[ShownBlock]:
    """A whole document with highlighted spans."""
    blocks = document.blocks or (Block(start=0, end=len(document.text)),)
    return [
        ShownBlock(
            kind=block.kind,
            level=min(6, len(block.headings) + 1),
            page=block.page,
            pieces=pieces_of(document.text[block.start : block.end], block.start, spans),
        )
        for block in blocks
    ]


def marks_of(source: Source) -> str:
    """The highlights of a source as its link writes them."""
    return ",".join(f"{span.start}-{span.end}" for span in source.highlights)


def copied(answer: Answer) -> str:
    """What is copied: the question, the answer, its sources."""
    sources = [
        f"[{source.number}] {source.passage.metadata.title} — {source.passage.metadata.address} ({source.passage.id})"
        for source in answer.cited
    ]
    return "\n".join([answer.question, "", answer.text, *([""] if sources else []), *sources])
