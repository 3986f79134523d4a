"""Cutting documents into passages along their structure, never longer than the embedder reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from msgspec import Struct

from assistant.knowledge.documents import Block, Document, Passage, document_key, short_id
from assistant.knowledge.sentences import split

CountTokens = Callable[[str], int]

CONTEXT_TOKENS = 72
"""Most tokens of titles, caption and header that go along with a passage."""


class ChunkSize(Struct, frozen=True, kw_only=True):
    """How long passages are, in tokens of the embedder.

    Attributes:
      most: longest passage, its context counted.
      overlap: tokens that a passage repeats of the one before it in the same section.
    """

    most: int = 256
    overlap: int = 32


class _Unit(Struct, frozen=True):
    """The smallest thing that is not cut: a sentence, a table row, a line of code."""

    start: int
    end: int
    tokens: int
    block: Block


def chunk(document: Document, size: ChunkSize, count: CountTokens) -> list[Passage]:
    """The passages of a document.

    A passage holds blocks of one section and one table; its text is a span of the document's. What is longer than a
    passage is cut between sentences, and a sentence that alone is longer between words.

    Args:
      document: the document.
      size: how long passages are.
      count: tokens of a text as the embedder reads it, special tokens and prefix counted.
    """
    if size.most <= CONTEXT_TOKENS // 2:
        raise ValueError(f"passages of {size.most} tokens leave no room for text")
    key = document_key(document)
    extra = count("")
    passages: list[Passage] = []
    seen: dict[str, int] = {}
    for block_context, blocks in _sections(document):
        context = _context(document, blocks[0], block_context, count, extra, size)
        room = size.most - count(context + "\n" if context else "")
        for start, end, first in _pack(document, blocks, room, size.overlap, count, extra):
            text = document.text[start:end]
            facts = document.metadata
            identity = "\x1f".join((facts.source, document.id, facts.version or "", context, text))
            seen[identity] = seen.get(identity, -1) + 1
            passages.append(
                Passage(
                    id=short_id((identity, str(seen[identity]))),
                    document=key,
                    start=start,
                    end=end,
                    text=text,
                    metadata=facts,
                    context=context,
                    headings=first.headings,
                    page=first.page,
                    anchor=first.anchor,
                )
            )
    return passages


def _sections(document: Document) -> Iterator[tuple[str, list[Block]]]:
    """Runs of blocks below the same titles, on the same table; titles stand in the context."""
    if not document.blocks and document.text.strip():
        yield "", [Block(start=0, end=len(document.text))]
        return
    body = [block for block in document.blocks if block.kind != "heading"]
    if not body and document.blocks:
        yield "", list(document.blocks)
        return
    for (_, context, _), blocks in groupby(body, key=lambda block: (block.headings, block.context, block.page)):
        yield context, list(blocks)


def _context(document: Document, first: Block, table: str, count: CountTokens, extra: int, size: ChunkSize) -> str:
    titles = list(first.headings)
    if document.metadata.title and document.metadata.title not in titles:
        titles.insert(0, document.metadata.title)
    most = min(CONTEXT_TOKENS, size.most // 2)
    # The innermost titles and the header say most: the outermost give way.
    while titles:
        context = "\n".join(part for part in (" › ".join(titles), table) if part)
        if count(context) - extra <= most:
            return context
        titles.pop(0)
    words = table.split()
    while words and count(" ".join(words)) - extra > most:
        words = words[: len(words) * 3 // 4]
    return " ".join(words)


def _pack(
    document: Document, blocks: list[Block], room: int, overlap: int, count: CountTokens, extra: int
) -> Iterator[tuple[int, int, Block]]:
    units = [unit for block in blocks for unit in _units(document, block, max(8, room), count, extra)]
    start = 0
    while start < len(units):
        end, tokens = start, 0
        while end < len(units) and (end == start or tokens + units[end].tokens <= room):
            tokens += units[end].tokens
            end += 1
        # The sum over units is an estimate: the whole may be a few tokens longer.
        while end - start > 1 and count(document.text[units[start].start : units[end - 1].end]) - extra > room:
            end -= 1
        yield units[start].start, units[end - 1].end, units[start].block
        if end >= len(units):
            return
        back, shared = end, 0
        while back - 1 > start and shared + units[back - 1].tokens <= overlap:
            back -= 1
            shared += units[back].tokens
        start = back


def _units(document: Document, block: Block, room: int, count: CountTokens, extra: int) -> Iterator[_Unit]:
    text = document.text[block.start : block.end]
    whole = count(text) - extra
    if block.kind == "row" and whole <= room:
        yield _Unit(block.start, block.end, whole, block)
        return
    for piece in split(text, block.start) or ():
        tokens = count(piece.text) - extra
        if tokens <= room:
            yield _Unit(piece.start, piece.end, tokens, block)
        else:
            yield from _words(document, piece.start, piece.end, room, block, count, extra)


def _words(
    document: Document, start: int, end: int, room: int, block: Block, count: CountTokens, extra: int
) -> Iterator[_Unit]:
    """A sentence that is too long, cut between words by halving; a word that is too long, between characters."""
    tokens = count(document.text[start:end]) - extra
    if tokens <= room or end - start < 2:
        yield _Unit(start, end, tokens, block)
        return
    middle = document.text.rfind(" ", start + 1, (start + end) // 2 + 1)
    if middle <= start:
        middle = (start + end) // 2
    yield from _words(document, start, middle, room, block, count, extra)
    yield from _words(document, middle, end, room, block, count, extra)
