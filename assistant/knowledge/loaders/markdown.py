"""Markdown: headings with their anchors, paragraphs, lists, code, tables, and front matter as metadata."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from assistant.knowledge.loaders.html import write_fragment
from assistant.knowledge.writing import Writer

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*\r?\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ATTRIBUTES = re.compile(r"[ \t]*\{\s*[#.][^}\n]*\}\s*$|^\{\s*[#.:][^}\n]*\}\s*$")
_ADMONITION = re.compile(r"""[ ]*(?:!!!|\?\?\?\+?)[ ]+[\w -]+?(?:[ ]+"([^"]*)")?[ ]*""")
_FENCE = re.compile(r"[ ]*(?:```|~~~)")
_SLUG_OUT = re.compile(r"[^\w\- ]")


def read_markdown(text: str, writer: Writer) -> dict[str, Any]:
    """Write a Markdown page.

    Args:
      text: the page.
      writer: where it is written.

    Returns:
      What its front matter says; empty without one.
    """
    known, body = front_matter(text)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(_unboxed(_COMMENT.sub("", body)))
    _Page(writer).write(tokens)
    return known


def _unboxed(text: str) -> str:
    """A text whose boxes (`!!! warning "Deprecated"` and the indented lines below) are paragraphs: title, then content.

    They are no CommonMark, which reads the indented lines as code; MkDocs and Python-Markdown show them as prose.
    """
    written: list[str] = []
    inside: int | None = None  # how far the box is indented
    fenced = False
    for line in text.split("\n"):
        indented = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and indented < inside + 4:
            inside = None
        box = None if fenced or inside is not None else _ADMONITION.fullmatch(line.rstrip())
        if box:
            inside = indented
            written += ["", line[:indented] + (box[1] or ""), ""]
            continue
        if inside is not None:
            written.append(line[:inside] + line[inside + 4 :])
            continue
        fenced ^= bool(_FENCE.match(line))
        written.append(line)
    return "\n".join(written)


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The front matter and the rest of a page; a front matter that is no YAML mapping counts as none."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        content = yaml.safe_load(match.group(1))
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        return {}, text[match.end() :]
    return {str(key): value for key, value in content.items()}, text[match.end() :]


def day_in(known: dict[str, Any], key: str) -> date | None:
    """A day of a front matter, written as a date or a text."""
    value = known.get(key)
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value)[:10]) if value else None
    except ValueError:
        return None


def slug(title: str) -> str:
    """The anchor that Markdown renderers make of a title."""
    return _SLUG_OUT.sub("", title.lower()).strip().replace(" ", "-")


class _Page:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._anchor: str | None = None

    def write(self, tokens: list[Token]) -> None:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            end = _closing(tokens, at)
            if token.type == "heading_open":
                title = _ATTRIBUTES.sub("", _inline(tokens[at + 1]))
                self._writer.heading(int(token.tag[1:]), title, self._anchor or slug(title))
                self._anchor = None
            elif token.type == "paragraph_open":
                self._writer.paragraph(_ATTRIBUTES.sub("", _inline(tokens[at + 1])))
            elif token.type in ("fence", "code_block"):
                self._writer.paragraph(token.content, "code")
            elif token.type == "html_block":
                anchor = re.search(r"""<a\s+(?:id|name)=["']([^"']+)""", token.content)
                self._anchor = anchor.group(1) if anchor else self._anchor
                write_fragment(token.content, self._writer)
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                self._list(tokens[at + 1 : end], 0)
            elif token.type == "table_open":
                self._table(tokens[at + 1 : end])
            elif token.type == "blockquote_open":
                self.write(tokens[at + 1 : end])
            at = end + 1

    def _list(self, tokens: list[Token], depth: int) -> None:
        at = 0
        while at < len(tokens):
            end = _closing(tokens, at)
            if tokens[at].type == "list_item_open":
                self._item(tokens[at + 1 : end], depth, tokens[at].info)
            at = end + 1

    def _item(self, tokens: list[Token], depth: int, number: str) -> None:
        at = 0
        mark = f"{number}." if number else "-"
        while at < len(tokens):
            token, end = tokens[at], _closing(tokens, at)
            if token.type == "paragraph_open":
                self._writer.paragraph(f"{mark} {_inline(tokens[at + 1])}".strip(), "item")
                mark = ""
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                self._list(tokens[at + 1 : end], depth + 1)
            else:
                self.write(tokens[at : end + 1])
            at = end + 1

    def _table(self, tokens: list[Token]) -> None:
        rows: list[list[str]] = []
        anchors: list[str] = []
        for at, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
                anchors.append("")
            elif token.type in ("th_open", "td_open"):
                rows[-1].append(_inline(tokens[at + 1]))
        if rows:
            self._writer.table(rows[0], rows[1:])


def _closing(tokens: list[Token], at: int) -> int:
    """Index of the token that closes the one at `at`; itself when it opens nothing."""
    if tokens[at].nesting != 1:
        return at
    depth = 0
    for index in range(at, len(tokens)):
        depth += tokens[index].nesting
        if depth == 0:
            return index
    return len(tokens) - 1


def _inline(token: Token) -> str:
    """The words of an inline token: links by their text, images by their description."""
    words: list[str] = []
    for child in token.children or []:
        if child.type in ("softbreak", "hardbreak") or (
            child.type == "html_inline" and child.content.startswith("<br")
        ):
            words.append(" ")
        elif child.type == "image" or child.type in ("text", "code_inline"):
            words.append(child.content)
    return "".join(words)
