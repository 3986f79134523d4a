"""Preparing answers and documents for the page: lines with their citations, blocks with their highlights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from assistant.chat.answer import Answer, Source
from assistant.chat.attachments import SOURCE
from assistant.chat.surroundings import ROW
from assistant.chat.working import PERSONAL
from assistant.knowledge.documents import Block, Document, Passage

SURE, FAIRLY_SURE = 0.9, 0.7
"""Confidence from which an answer is said to be sure, and fairly sure."""
MOST_BLOCKS = 400
"""Blocks of a section that are shown."""

_CITED = re.compile(r"\[(\d{1,2})\]")


class Piece(Struct, frozen=True):
    """A piece of a line: text, or the citation of a source."""

    text: str
    source: Source | None = None


class Marked(Struct, frozen=True):
    """A piece of a block: text, highlighted or not."""

    text: str
    highlighted: bool


class Table(Struct, frozen=True, kw_only=True):
    """A table: names of its columns, empty where it has none, and the cells of its rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[tuple[Marked, ...], ...], ...]


class ShownBlock(Struct, frozen=True, kw_only=True):
    """A block of a document for the page: text, or a table."""

    kind: str
    page: int | None
    pieces: tuple[Marked, ...] = ()
    table: Table | None = None


class ShownSource(Struct, frozen=True, kw_only=True):
    """A source for the page.

    Attributes:
      source: what was found.
      share: how well it fits, as a share of what fits best, 0..1.
      marks: its highlights as links write them.
      quotes: its highlights, those that are rows of a table as tables.
    """

    source: Source
    share: float
    marks: str
    quotes: tuple[ShownBlock, ...]


class Plan(Struct, frozen=True):
    """What was understood: the operation and its arguments, by name."""

    operation: str
    arguments: tuple[tuple[str, str], ...]


class ShownTurn(Struct, frozen=True, kw_only=True):
    """A question with its answer for the page.

    Attributes:
      number: of the answer in the log; None where it is not logged.
      lines: of the answer, their citations tied to the sources.
      cited, looked_at: the sources.
      plans: what was understood, where the answer was worked out.
      without_table: whether a table was left out when the answer was logged.
      sureness: high, fair or low.
    """

    answer: Answer
    number: int | None
    good: bool | None
    lines: list[list[Piece]]
    copied: str
    cited: tuple[ShownSource, ...]
    looked_at: tuple[ShownSource, ...]
    plans: tuple[Plan, ...]
    without_table: bool
    sureness: str


def turn_shown(answer: Answer, number: int | None, good: bool | None, *, kept: bool = False) -> ShownTurn:
    """An answer for the page.

    Args:
      answer: with its question.
      number: in the log.
      good: what its author thought of it.
      kept: whether it comes from the log.
    """
    shown = _sources(answer)
    plans = answer.worked.plans if answer.worked is not None else ()
    personal = any(plan.get("do") in PERSONAL for plan in plans)
    bare = answer.worked is not None and not any(one.table or one.values for one in answer.worked.answers)
    return ShownTurn(
        answer=answer,
        number=number,
        good=good,
        lines=lines_of(answer),
        copied=copied(answer),
        cited=tuple(one for one in shown if one.source.number),
        looked_at=tuple(one for one in shown if not one.source.number),
        plans=tuple(map(_plan, plans)),
        without_table=kept and personal and bare,
        sureness="high" if answer.confidence >= SURE else "fair" if answer.confidence >= FAIRLY_SURE else "low",
    )


def _sources(answer: Answer) -> list[ShownSource]:
    """The sources, cited ones first; scores are compared among those of the index, and among attached ones."""
    best: dict[bool, float] = {}
    for source in answer.sources:
        own = source.passage.metadata.source == SOURCE
        best[own] = max(best.get(own, 0.0), source.score)
    others = [source for source in answer.sources if not source.number]
    shown = []
    for source in (*answer.cited, *others):
        highest = best[source.passage.metadata.source == SOURCE]
        share = max(0.0, min(1.0, source.score / highest)) if highest > 0 else 0.0
        marks = marks_of((span.start, span.end) for span in source.highlights)
        shown.append(ShownSource(source=source, share=share, marks=marks, quotes=tuple(_quotes(source))))
    return shown


def marks_of(spans: Iterable[tuple[int, int]]) -> str:
    """Spans as links write them: 10-25,40-60."""
    return ",".join(f"{start}-{end}" for start, end in spans)


def _quotes(source: Source) -> Iterator[ShownBlock]:
    """The highlights of a source; rows of one table together, below the names of its columns."""
    head = tuple(source.passage.context.rpartition("\n")[2].split(ROW))
    for row, spans in groupby(source.highlights, lambda span: ROW in span.text):
        if not row:
            yield from (ShownBlock(kind="paragraph", page=None, pieces=(Marked(span.text, True),)) for span in spans)
            continue
        rows = tuple(tuple((Marked(cell, True),) for cell in span.text.split(ROW)) for span in spans)
        fits = len(head) > 1 and all(len(one) == len(head) for one in rows)
        yield ShownBlock(kind="row", page=None, table=Table(head=head if fits else (), rows=rows))


def _plan(plan: dict[str, Any]) -> Plan:
    """A plan in lines; what is nested is named by its path."""

    def lines(values: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
        for name, value in values.items():
            if isinstance(value, dict):
                yield from lines(value, f"{above}{name}.")
            elif value not in (None, "", [], ()):
                words = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
                yield f"{above}{name}".replace("_", " "), words

    rest = {name: value for name, value in plan.items() if name != "do"}
    return Plan(str(plan.get("do", "")).replace("_", " "), tuple(lines(rest)))


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


def section_of(document: Document, passage: Passage) -> list[Block]:
    """The section of a passage: the blocks below the same titles, with their own; the page where there are none."""
    blocks = list(document.blocks)
    inside = [n for n, block in enumerate(blocks) if block.start < passage.end and passage.start < block.end]
    if not inside:
        return [Block(start=passage.start, end=passage.end)]
    titles, page = passage.headings, blocks[inside[0]].page

    def belongs(block: Block) -> bool:
        return block.headings[: len(titles)] == titles and (bool(titles) or block.page == page)

    first, last = inside[0], inside[-1]
    while first > 0 and belongs(blocks[first - 1]):
        first -= 1
    while last + 1 < len(blocks) and belongs(blocks[last + 1]):
        last += 1
    # The title itself stands before what is below it.
    if first > 0 and blocks[first - 1].kind == "heading":
        first -= 1
    return blocks[max(first, inside[0] - MOST_BLOCKS) : last + 1][:MOST_BLOCKS]


def blocks_of(document: Document, blocks: Sequence[Block], spans: Sequence[tuple[int, int]]) -> list[ShownBlock]:
    """Blocks of a document with highlighted spans; the rows of a table together, its header at their head."""
    shown: list[ShownBlock] = []
    for rows, group in groupby(blocks or [Block(start=0, end=len(document.text))], lambda block: block.kind == "row"):
        if rows:
            shown.append(_table(document, list(group), spans, shown))
            continue
        for block in group:
            pieces = pieces_of(document.text[block.start : block.end], block.start, spans)
            shown.append(ShownBlock(kind=block.kind, page=block.page, pieces=pieces))
    return shown


def _table(
    document: Document, rows: Sequence[Block], spans: Sequence[tuple[int, int]], before: list[ShownBlock]
) -> ShownBlock:
    """A table of rows; its header is the block before them, which says what their context does."""
    named = rows[0].context.rpartition("\n")[2]
    if before and before[-1].kind == "heading" and "".join(piece.text for piece in before[-1].pieces) == named:
        before.pop()
    cells = tuple(tuple(_cells(document.text[row.start : row.end], row.start, spans)) for row in rows)
    head = tuple(named.split(ROW)) if named and all(len(row) == named.count(ROW) + 1 for row in cells) else ()
    return ShownBlock(kind="row", page=rows[0].page, table=Table(head=head, rows=cells))


def _cells(text: str, start: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[Marked, ...]]:
    for cell in text.split(ROW):
        yield pieces_of(cell, start, spans)
        start += len(cell) + len(ROW)


def copied(answer: Answer) -> str:
    """What is copied: the question, the answer, its sources."""
    sources = [
        f"[{source.number}] {source.passage.metadata.title} — {source.passage.metadata.address} ({source.passage.id})"
        for source in answer.cited
    ]
    return "\n".join([answer.question, "", answer.text, *([""] if sources else []), *sources])
