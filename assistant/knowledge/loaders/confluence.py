"""Confluence: its REST interface, and its offline exports (HTML and XML)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from lxml import etree

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.language import detect
from assistant.knowledge.loaders.contract import Failure, day_of
from assistant.knowledge.loaders.folder import Facts, FolderLoader
from assistant.knowledge.loaders.html import write_fragment
from assistant.knowledge.loaders.rest import RestClient
from assistant.knowledge.writing import Writer

PAGE_SIZE = 50

_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_PARAMETER = re.compile(r"<ac:parameter\b[^>]*>.*?</ac:parameter>", re.DOTALL)


class ConfluenceLoader:
    """The pages of a space, by REST (`/rest/api/content`)."""

    def __init__(self, url: str, space: str, *, user: str = "", token: str = "", transport: Any = None) -> None:
        self.source = f"confluence:{space}"
        self._url = url.rstrip("/")
        self._space = space
        self._rest = RestClient(url, user, token, transport)

    def ids(self) -> Iterable[str]:
        """Ids of all pages of the space."""
        return [str(page["id"]) for page in self._pages("version")]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The pages."""
        wanted = None if ids is None else set(ids)
        for page in self._pages("body.storage,version,ancestors"):
            if wanted is None or str(page["id"]) in wanted:
                yield self._document(page)

    def poll(self, since: datetime) -> Iterable[str]:
        """Pages changed since."""
        words = f'space = "{self._space}" and type = page and lastmodified >= "{since:%Y-%m-%d %H:%M}"'
        return [str(item["id"]) for item in self._paged("/rest/api/content/search", {"cql": words})]

    def _pages(self, expand: str) -> Iterator[Any]:
        yield from self._paged("/rest/api/content", {"spaceKey": self._space, "type": "page", "expand": expand})

    def _paged(self, path: str, parameters: dict[str, str | int]) -> Iterator[Any]:
        start = 0
        while True:
            answer = self._rest.json(path, {**parameters, "start": start, "limit": PAGE_SIZE})
            results = answer.get("results") or []
            yield from results
            if len(results) < int(answer.get("limit") or PAGE_SIZE):
                return
            start += len(results)

    def _document(self, page: Any) -> Document:
        version = page.get("version") or {}
        return storage_document(
            id=str(page["id"]),
            title=str(page.get("title") or ""),
            storage=((page.get("body") or {}).get("storage") or {}).get("value") or "",
            parents=[str(item.get("title") or "") for item in page.get("ancestors") or []],
            metadata=Metadata(
                source=self.source,
                address=self._url + ((page.get("_links") or {}).get("webui") or f"/pages/{page['id']}"),
                author=(version.get("by") or {}).get("displayName"),
                modified=day_of(version.get("when")),
            ),
        )


class ConfluenceExport:
    """An offline export of a space: a folder of HTML pages, or one with `entities.xml`."""

    def __init__(self, folder: Path, source: str | None = None, facts: Facts | None = None) -> None:
        self.source = source or f"confluence:{folder.name}"
        self._folder = folder
        self._facts = facts or Facts()

    def ids(self) -> Iterable[str]:
        """Ids of all pages."""
        return [item.id for item in self.load()]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The pages."""
        wanted = None if ids is None else set(ids)
        entities = self._folder / "entities.xml"
        for item in self._entities(entities) if entities.is_file() else self._html():
            if wanted is None or item.id in wanted:
                yield item

    def poll(self, since: datetime) -> Iterable[str]:
        """All pages when the export is newer."""
        newest = max((file.stat().st_mtime for file in self._folder.iterdir()), default=0.0)
        return self.ids() if newest >= since.timestamp() else []

    def _html(self) -> Iterator[Document | Failure]:
        import msgspec

        for item in FolderLoader(self._folder, self.source, self._facts).load():
            if isinstance(item, Document):
                if item.id == "index.html":
                    continue
                # "SPACE : Title" is how the export titles its pages.
                title = item.metadata.title.rpartition(" : ")[2]
                item = msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, title=title))
            yield item

    def _entities(self, path: Path) -> Iterator[Document | Failure]:
        bodies: dict[str, str] = {}
        pages: list[dict[str, str]] = []
        parser = etree.iterparse(
            str(path),
            events=("end",),
            tag="object",
            resolve_entities=False,
            no_network=True,
            huge_tree=True,
            recover=True,
        )
        for _, element in parser:
            kind = element.get("class")
            values = {item.get("name"): item for item in element.iterchildren("property", "id")}
            known = {name: (item.text or "") for name, item in values.items() if name}
            if kind == "BodyContent":
                owner = values.get("content")
                inner = owner.find("id") if owner is not None else None
                if inner is not None and inner.text:
                    bodies[inner.text] = known.get("body", "")
            elif (
                kind == "Page"
                and known.get("contentStatus", "current") == "current"
                and not known.get("originalVersion")
            ):
                pages.append(known)
            element.clear()
        for page in pages:
            yield storage_document(
                id=page.get("id", ""),
                title=page.get("title", ""),
                storage=bodies.get(page.get("id", ""), ""),
                parents=[],
                metadata=Metadata(
                    source=self.source,
                    address=f"{path}#{page.get('id', '')}",
                    modified=day_of(page.get("lastModificationDate")),
                    market=self._facts.market,
                    version=self._facts.version,
                    valid_from=self._facts.valid_from,
                    valid_to=self._facts.valid_to,
                ),
                language=self._facts.language,
            )


def is_confluence_export(path: Path) -> bool:
    """Whether a folder is an offline export of Confluence."""
    if not path.is_dir():
        return False
    if (path / "entities.xml").is_file():
        return True
    index = path / "index.html"
    return index.is_file() and "confluence" in index.read_text("utf-8", "replace")[:20_000].lower()


def storage_document(
    *, id: str, title: str, storage: str, parents: list[str], metadata: Metadata, language: str | None = None
) -> Document:
    """A page in Confluence's storage format as a document."""
    import msgspec

    writer = Writer()
    for level, parent in enumerate(parents[-2:], start=1):
        writer.heading(level, parent)
    writer.heading(min(3, len(parents[-2:]) + 1), title)
    body = _CDATA.sub(lambda match: html.escape(match.group(1)), _PARAMETER.sub("", storage))
    write_fragment(body, writer)
    facts = msgspec.structs.replace(metadata, title=title, language=language or detect(writer.text))
    return Document(id=id, metadata=facts, text=writer.text, blocks=writer.blocks)
