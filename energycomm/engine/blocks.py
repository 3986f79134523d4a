"""A printed document as plain blocks, and its two forms: Markdown and HTML.

Inline, a text may hold `code` between backticks; everything else is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


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

STYLE = """
:root { --ink: #1d2733; --soft: #5b6b7b; --line: #dfe5ea; --tint: #f5f8fa; --mark: #0b6e6e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 6rem; color: var(--ink); background: #fff;
  font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.45rem; margin: 3.2rem 0 .8rem; padding-bottom: .3rem; border-bottom: 2px solid var(--line); }
h3 { font-size: 1.1rem; margin: 2.4rem 0 .5rem; }
a { color: var(--mark); text-decoration: none; } a:hover { text-decoration: underline; }
nav { background: var(--tint); border: 1px solid var(--line); border-radius: 6px;
  padding: 1rem 1.4rem; columns: 22rem 2; }
nav div { break-inside: avoid; font-size: .92rem; padding: .08rem 0; }
nav .l2 { font-weight: 600; margin-top: .5rem; } nav .l3 { padding-left: 1rem; } nav .l4 { padding-left: 2rem; }
dl { display: grid; grid-template-columns: 10.5rem 1fr; gap: .25rem 1rem; margin: .5rem 0 1rem; }
dt { color: var(--soft); font-size: .92rem; } dd { margin: 0; overflow-wrap: anywhere; }
code { font: .88em ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; background: var(--tint);
  border-radius: 3px; padding: .08em .3em; }
dd.code { font: .88em/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; background: var(--tint);
  border-left: 3px solid var(--mark); padding: .3rem .7rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .8rem 0 1.4rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; border-bottom: 2px solid var(--line); }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } nav { columns: 1; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { columns: 2; } h3 { break-after: avoid; } }
"""


def to_html(blocks: Sequence[Block], title: str, language: str = "en") -> str:
    """Blocks as one HTML page that needs nothing else."""
    body = "\n".join(_html(block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level=level, text=text, anchor=anchor):
            return f'<h{level} id="{escape(anchor)}">{_inline(text)}</h{level}>'
        case Paragraph(text=text):
            return f"<p>{_inline(text)}</p>"
        case Facts(rows=rows, code=code):
            pairs = (
                f"<dt>{escape(label)}</dt><dd{' class=' + chr(34) + 'code' + chr(34) if label in code else ''}>"
                f"{escape(text) if label in code else _inline(text)}</dd>"
                for label, text in rows
            )
            return f"<dl>{''.join(pairs)}</dl>"
        case Table(head=head, rows=rows, anchors=anchors):
            lines = []
            for number, row in enumerate(rows):
                cells = [_inline(cell) for cell in row]
                if anchors:
                    cells[0] = f'<a href="#{escape(anchors[number])}">{cells[0]}</a>'
                lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
            top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
            return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        case Contents(entries=entries):
            links = (
                f'<div class="l{level}"><a href="#{escape(anchor)}">{_inline(text)}</a></div>'
                for level, text, anchor in entries
            )
            return f"<nav>{''.join(links)}</nav>"


def _inline(text: str) -> str:
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
