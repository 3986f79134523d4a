"""A printed document as plain blocks, and its two forms: Markdown and HTML.

Inline, a text may hold `code` between backticks; everything else is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from energycomm.templates import templates


@dataclass(frozen=True)
class Heading:
    """A heading with the anchor that links point at."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Labelled texts, one below the other; a text that is code is shown as a block of it."""

    rows: tuple[tuple[str, str], ...]
    code: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first cell links to the anchor of its row where one is given."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents:
    """The table of contents: (level, text, anchor)."""

    entries: tuple[tuple[int, str, str], ...]


Block: TypeAlias = Heading | Paragraph | Facts | Table | Contents


def with_contents(title: str, intro: Sequence[Block], blocks: Sequence[Block], deepest: int = 3) -> list[Block]:
    """A document with its title, introduction and a table of contents of the headings that follow."""
    entries = tuple((b.level, b.text, b.anchor) for b in blocks if isinstance(b, Heading) and b.level <= deepest)
    return [Heading(1, title, "top"), *intro, Contents(entries), *blocks]


# --- Markdown --------------------------------------------------------------------------------------------------------


def to_markdown(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown, with explicit anchors."""
    lines: list[str] = []
    for block in blocks:
        match block:
            case Heading(level=level, text=text, anchor=anchor):
                lines += [f'<a id="{anchor}"></a>', "", f"{'#' * level} {_markdown(text)}"]
            case Paragraph(text=text):
                lines.append(_markdown(text))
            case Facts(rows=rows, code=code):
                for label, text in rows:
                    lines.append(f"- **{label}:** `{text}`" if label in code else f"- **{label}:** {_markdown(text)}")
            case Table(head=head, rows=rows, anchors=anchors):
                lines.append(_row(head))
                lines.append("|" + " --- |" * len(head))
                for number, row in enumerate(rows):
                    cells = [_markdown(cell) for cell in row]
                    if anchors:
                        cells[0] = f"[{cells[0]}](#{anchors[number]})"
                    lines.append(_row(cells))
            case Contents(entries=entries):
                lines += [f"{'  ' * (level - 2)}- [{_markdown(text)}](#{anchor})" for level, text, anchor in entries]
        lines.append("")
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _markdown(text: str) -> str:
    """Text in which only backticks mean something."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"([\\*_<>\[\]#])", r"\\\1", parts[place])
    return "`".join(parts)


# --- HTML ------------------------------------------------------------------------------------------------------------


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Blocks as one HTML page that needs nothing else."""
    named = [(type(block).__name__, block) for block in blocks]
    return (
        templates(Path(__file__).parent / "templates").get_template("document.html").render(blocks=named, title=title)
    )
