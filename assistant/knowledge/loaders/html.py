"""HTML: what a reader sees, with headings, anchors, lists and tables; Confluence's storage format too."""

from __future__ import annotations

from collections.abc import Iterator

import lxml.html
from lxml import etree

from assistant.knowledge.writing import Writer

_LEFT_OUT = frozenset(("script", "style", "nav", "noscript", "template", "svg", "head", "form", "button", "iframe"))
_BOILERPLATE = frozenset(("navigation", "banner", "contentinfo", "search"))
_EXPORTED = frozenset(("page-metadata", "breadcrumb-section", "footer"))
"""Ids and classes that Confluence's export gives to what is no content: who wrote it, where it stands, when it was."""
_BLOCK_TAGS = (
    "p div section article main aside header footer body html table ul ol dl pre blockquote h1 h2 h3 h4 h5 h6 li dt dd "
    "figure figcaption details summary center hr"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())


def read_html(content: bytes | str, writer: Writer) -> dict[str, str]:
    """Write a page of HTML.

    Args:
      content: the page.
      writer: where it is written.

    Returns:
      Its title, language and author, as far as it says them.
    """
    root = _parse(content)
    if root is None:
        return {}
    known = {"language": (root.get("lang") or "")[:2].lower(), "title": _title(root)}
    for meta in root.iter("meta"):
        if (meta.get("name") or "").lower() == "author":
            known["author"] = meta.get("content") or ""
    body = next(iter(root.iter("main")), None)
    if body is None:
        body = next(iter(root.iter("body")), root)
    _Walk(writer).element(body)
    return {key: value for key, value in known.items() if value}


def write_fragment(content: str, writer: Writer) -> None:
    """Write a piece of HTML, such as stands in Markdown or in a page of Confluence."""
    root = _parse(f"<body>{content}</body>")
    if root is not None:
        _Walk(writer).element(root)


def _parse(content: bytes | str) -> lxml.html.HtmlElement | None:
    parser = lxml.html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, huge_tree=False)
    if isinstance(content, str):
        # A declared encoding would be at odds with text that is decoded already.
        parser = lxml.html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8")
        content = content.encode("utf-8", "replace")
    try:
        root = lxml.html.document_fromstring(content, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    return root


def _title(root: lxml.html.HtmlElement) -> str:
    title = next(iter(root.iter("title")), None)
    return " ".join((title.text or "").split()) if title is not None else ""


class _Walk:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._anchor: str | None = None

    def element(self, element: lxml.html.HtmlElement) -> None:
        tag = _tag(element)
        if tag in _LEFT_OUT or element.get("role") in _BOILERPLATE or element.get("hidden") is not None:
            return
        if not _EXPORTED.isdisjoint((element.get("id"), *(element.get("class") or "").split())):
            return
        self._anchor = element.get("id") or element.get("name") or self._anchor
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            words = _words(element)
            # "SPACE : Title" is how the export titles its pages.
            words = words.partition(" : ")[2] or words if element.get("id") == "title-heading" else words
            self._writer.heading(int(tag[1]), words, self._anchor)
            self._anchor = None
        elif tag == "table":
            self._table(element)
        elif tag in ("ul", "ol"):
            for number, item in enumerate(child for child in element if _tag(child) == "li"):
                self._item(item, f"{number + 1}." if tag == "ol" else "-")
        elif tag in ("pre", "plain-text-body"):
            self._writer.paragraph(element.text_content(), "code")
        elif any(_tag(child) in _BLOCKS for child in element):
            self._mixed(element)
        else:
            self._writer.paragraph(_words(element), anchor=element.get("id"))

    def _mixed(self, element: lxml.html.HtmlElement) -> None:
        """Blocks with text between them."""
        loose = [element.text or ""]
        for child in element:
            if _tag(child) in _BLOCKS:
                self._writer.paragraph("".join(loose))
                loose = []
                self.element(child)
            elif _tag(child) not in _LEFT_OUT:
                loose.append(_words(child))
            loose.append(child.tail or "")
        self._writer.paragraph("".join(loose))

    def _item(self, item: lxml.html.HtmlElement, mark: str) -> None:
        nested = [child for child in item if _tag(child) in ("ul", "ol", "table", "pre")]
        words = _words(item, without=nested)
        if words.strip():
            self._writer.paragraph(f"{mark} {words.strip()}", "item")
        for child in nested:
            self.element(child)

    def _table(self, table: lxml.html.HtmlElement) -> None:
        caption = next((_words(child) for child in table if _tag(child) == "caption"), "")
        rows = [row for row in table.iter("tr") if next(row.iterancestors("table"), None) is table]
        cells = [[_words(cell) for cell in row if _tag(cell) in ("td", "th")] for row in rows]
        anchors = [row.get("id") or "" for row in rows]
        heads = bool(rows) and all(_tag(cell) == "th" for cell in rows[0] if _tag(cell) in ("td", "th"))
        if heads:
            self._writer.table(cells[0], cells[1:], caption, anchors[1:])
        else:
            self._writer.table([], cells, caption, anchors)


def _tag(element: lxml.html.HtmlElement) -> str:
    tag = element.tag
    return tag.rpartition(":")[2].lower() if isinstance(tag, str) else ""


def _words(element: lxml.html.HtmlElement, without: list[lxml.html.HtmlElement] | None = None) -> str:
    return " ".join("".join(_texts(element, frozenset(map(id, without or ())))).split())


def _texts(element: lxml.html.HtmlElement, without: frozenset[int]) -> Iterator[str]:
    if _tag(element) in _LEFT_OUT or id(element) in without:
        return
    if _tag(element) == "br":
        yield " "
    if _tag(element) == "img":
        yield element.get("alt") or ""
    yield element.text or ""
    for child in element:
        if _tag(child) in _BLOCKS:
            yield " "
        yield from _texts(child, without)
        if _tag(child) in _BLOCKS:
            yield " "
        yield child.tail or ""
