"""A source in its place: the page of a PDF as a page, the section of another document, the sentence marked."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from msgspec import Struct

from assistant.chat.assistant import Assistant
from assistant.chat.attachments import Attachments
from assistant.config import AssistantConfig
from assistant.knowledge import apart
from assistant.knowledge.documents import Document, Passage
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.loaders.folder import LARGEST_FILE
from assistant.knowledge.pdfpages import Page
from assistant.web.marking import blocks_of, marks_of, section_of
from assistant.web.visit import Visit, conversation_of
from assistant.web.words import HEADERS, Pages, words_of

MOST_PAGES = 32
"""Pictures of pages that are held: a page is shown, and its picture is fetched."""

Spans = tuple[tuple[int, int], ...]


class _Found(NamedTuple):
    """A passage with its document; the bytes of its PDF where they are held, or its path."""

    passage: Passage
    document: Document
    held: bytes | None
    attached: bool


class _Drawing(Struct, frozen=True):
    """Which picture: of which passage, for whom, with which marks."""

    owner: str
    passage: str
    marks: Spans


class Reading:
    """The routes.

    Args:
      assistant: has the index.
      attachments: the documents of conversations.
      pages: answers pages.
      config: whose names are covered.
    """

    def __init__(self, assistant: Assistant, attachments: Attachments, pages: Pages, config: AssistantConfig) -> None:
        self.assistant, self.attachments, self.pages, self.config = assistant, attachments, pages, config
        self._drawn: OrderedDict[_Drawing, Page] = OrderedDict()
        self._lock = threading.Lock()

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        app.get("/document/{passage}", response_class=HTMLResponse)(self.document)
        app.get("/page/{passage}")(self.picture)

    def document(
        self, request: Request, passage: str, marks: str = "", conversation: str = "", whole: bool = False
    ) -> HTMLResponse:
        """The place of a passage: a page of a PDF, a section, or the whole document; its marked spans highlighted."""
        found = self._find(request, passage, conversation)
        if found is None:
            words = words_of(request, self.pages.otherwise)
            return self.pages.page(request, "trouble.html", 404, trouble=words.t("This document is no longer there."))
        spans = _spans(marks, found.passage)
        page = None if whole else self._page(request, found, spans, conversation)
        blocks = found.document.blocks
        section = list(blocks) if whole else section_of(found.document, found.passage)
        return self.pages.page(
            request,
            "document.html",
            passage=found.passage,
            metadata=found.passage.metadata,
            attached=found.attached,
            page=page,
            blocks=blocks_of(found.document, section, spans),
            more=len(section) < len(blocks),
            marks=marks_of(spans),
            conversation=conversation,
        )

    def picture(self, request: Request, passage: str, marks: str = "", conversation: str = "") -> Response:
        """The picture of the page of a passage."""
        found = self._find(request, passage, conversation)
        page = found and self._page(request, found, _spans(marks, found.passage), conversation)
        if not page:
            return Response("There is no such page.\n", 404, media_type="text/plain")
        return Response(page.picture, headers={**HEADERS, "Cache-Control": "private, no-store"}, media_type="image/png")

    def _find(self, request: Request, id: str, conversation: str) -> _Found | None:
        passage = self.assistant.index.passage(id)
        whole = passage and self.assistant.index.document(passage.document)
        if passage and whole:
            return _Found(passage, whole, None, attached=False)
        name = conversation_of(request, conversation)
        own = self.attachments.passage(id, Visit(request).author, name) if name else None
        return _Found(*own, attached=True) if own is not None else None

    def _page(self, request: Request, found: _Found, spans: Spans, conversation: str) -> Page | None:
        """The page of a passage; None where it is of no PDF, or the file is no longer there or another one."""
        number = found.passage.page
        if number is None or Path(found.passage.metadata.address).suffix.lower() != ".pdf":
            return None
        # What is attached belongs to one author; another one may have a passage of the same words.
        owner = f"{Visit(request).author} {conversation}" if found.attached else ""
        drawing = _Drawing(owner, found.passage.id, spans)
        with self._lock:
            if drawing in self._drawn:
                self._drawn.move_to_end(drawing)
                return self._drawn[drawing]
        content = found.held if found.attached else _file(Path(found.passage.metadata.address))
        if content is None:
            return None
        sentences = tuple(found.document.text[start:end] for start, end in spans)
        # One's own document is shown as it is; of others' the picture shows no more than the index has.
        names = () if found.attached else tuple(self.config.listed_names())
        page = apart.page(
            apart.ShowPage(content=content, number=number, sentences=sentences, cover=not found.attached, names=names)
        )
        if isinstance(page, Failure) or not page.found:
            return None
        with self._lock:
            self._drawn[drawing] = page
            while len(self._drawn) > MOST_PAGES:
                self._drawn.popitem(last=False)
        return page


def _spans(marks: str, passage: Passage) -> Spans:
    """Spans as a link writes them; what is none is left out, and without any the passage is the span."""
    found = []
    for part in marks.split(",")[:20]:
        start, _, end = part.partition("-")
        if start.isdecimal() and end.isdecimal() and len(part) < 30 and int(start) < int(end):
            found.append((int(start), int(end)))
    return tuple(found) or ((passage.start, passage.end),)


def _file(path: Path) -> bytes | None:
    """The file of an indexed document; None where it is gone, too large, or a link in its place."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        return file.read() if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_FILE else None
