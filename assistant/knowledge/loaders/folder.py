"""Folders of documentation: Markdown, HTML, text, PDF, DOCX, XLSX and CSV."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from assistant.knowledge.documents import Document, Metadata
from assistant.knowledge.language import detect
from assistant.knowledge.loaders.contract import Failure
from assistant.knowledge.loaders.html import read_html
from assistant.knowledge.loaders.markdown import day_in, read_markdown
from assistant.knowledge.loaders.office import read_csv, read_docx, read_pdf, read_xlsx
from assistant.knowledge.writing import Writer
from energycomm.errors import UserError

LARGEST_FILE = 64 << 20
"""Bytes of a file that is read; a larger one is reported."""

TEXT: dict[str, Callable[[str, Writer], dict[str, Any]]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".csv": read_csv,
    ".tsv": read_csv,
}
BINARY: dict[str, Callable[[bytes, Writer], dict[str, str]]] = {
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".xlsx": read_xlsx,
}
PLAIN = (".txt", ".rst", ".adoc")
UNREAD = frozenset((".doc", ".docm", ".xls", ".xlsm", ".ppt", ".pptx", ".odt", ".ods", ".odp", ".rtf", ".msg", ".eml"))
"""Endings of documents of which none is read: a run tells how many there are."""
SUFFIXES = frozenset((*TEXT, *BINARY, *PLAIN))
NO_SOURCE = b"<!-- assistant: no source -->"
"""At the head of a Markdown page: it is not indexed. What is measured of the assistant answers nobody's question."""


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of all documents of a folder, unless one says otherwise itself."""

    market: str | None = None
    language: str | None = None
    version: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None


class FolderLoader:
    """A folder, with all its folders below; names that begin with a full stop are left out, links are not followed."""

    def __init__(self, folder: Path, source: str | None = None, facts: Facts | None = None) -> None:
        if not folder.exists():
            raise UserError(f"There is no folder {folder}.", "Name a folder or file that exists.")
        self._root = folder if folder.is_dir() else folder.parent
        self._only = None if folder.is_dir() else folder
        self.source = source or (folder.name if folder.is_dir() else folder.stem) or folder.resolve().name
        self._facts = facts or Facts()
        self.unread: Counter[str] = Counter()
        if self._only is not None and self._only.suffix.lower() not in SUFFIXES:
            raise UserError(
                f"{folder} is not of a kind that is read.", f"Read are files that end in {', '.join(sorted(SUFFIXES))}."
            )

    def ids(self) -> Iterable[str]:
        """Paths within the folder, with slashes."""
        return [path.relative_to(self._root).as_posix() for path in self._files()]

    def load(self, ids: Iterable[str] | None = None) -> Iterator[Document | Failure]:
        """The documents; what kinds of documents were left alone is counted in `unread`."""
        self.unread.clear()
        wanted = None if ids is None else set(ids)
        for path in self._files():
            id = path.relative_to(self._root).as_posix()
            if wanted is None or id in wanted:
                yield self._document(id, path)

    def poll(self, since: datetime) -> Iterable[str]:
        """Files that were written since."""
        moment = since.timestamp()
        return [path.relative_to(self._root).as_posix() for path in self._files() if path.stat().st_mtime >= moment]

    def _files(self) -> Iterator[Path]:
        if self._only is not None:
            yield self._only
            return
        for folder, names, files in os.walk(self._root, followlinks=False):
            names[:] = sorted(name for name in names if not name.startswith("."))
            for name in sorted(files):
                path = Path(folder, name)
                self.unread.update({path.suffix.lower()} & UNREAD)
                read = not name.startswith(".") and path.suffix.lower() in SUFFIXES and not path.is_symlink()
                if read and _is_source(path):
                    yield path

    def _document(self, id: str, path: Path) -> Document | Failure:
        try:
            state = path.stat()
            if state.st_size > LARGEST_FILE:
                return Failure(id, f"{state.st_size} bytes, more than {LARGEST_FILE}")
            content = path.read_bytes()
        except OSError as error:
            return Failure(id, error.strerror or str(error))
        return document_of(
            id, content, source=self.source, address=str(path), facts=self._facts,
            modified=datetime.fromtimestamp(state.st_mtime, UTC).date(),
        )  # fmt: skip


def _is_source(path: Path) -> bool:
    if path.suffix.lower() != ".md":
        return True
    try:
        with path.open("rb") as page:
            return NO_SOURCE not in page.read(1000)
    except OSError:
        return True  # it is reported when it is read


def document_of(
    id: str,
    content: bytes,
    *,
    source: str,
    address: str,
    facts: Facts | None = None,
    modified: date | None = None,
    title: str = "",
) -> Document | Failure:
    """A file's content as a document; its name's ending says the format.

    Args:
      id: id within the source, ending like a file name.
      content: the bytes.
      source: name of the source.
      address: where a person finds it.
      facts: what is known of it otherwise.
      modified: the day it was last changed.
      title: its title, where the source knows one.
    """
    suffix = Path(id).suffix.lower()
    writer = Writer()
    try:
        if suffix in BINARY:
            known: dict[str, Any] = dict(BINARY[suffix](content, writer))
        else:
            text = _decoded(content)
            known = TEXT[suffix](text, writer) if suffix in TEXT else _plain(text, writer)
    except UserError:
        raise
    except Exception as error:  # a library's complaint of a broken file, of any kind
        return Failure(id, f"no readable {suffix[1:]}: {type(error).__name__}: {error}"[:200])
    if suffix == ".pdf" and not writer.text:
        return Failure(id, "no text in it: scanned pages have to go through text recognition first")
    facts = facts or Facts()
    # The first title of a workbook is the name of a sheet.
    first = "" if suffix == ".xlsx" else writer.title
    return Document(
        id=id,
        metadata=Metadata(
            source=source,
            address=address,
            title=str(known.get("title") or title or first or Path(id).stem)[:200],
            author=str(known["author"]) if known.get("author") else None,
            modified=modified,
            market=str(known["market"]).upper() if known.get("market") else facts.market,
            language=str(known.get("language") or facts.language or detect(writer.text) or "") or None,
            valid_from=day_in(known, "valid_from") or facts.valid_from,
            valid_to=day_in(known, "valid_to") or facts.valid_to,
            version=str(known["version"]) if known.get("version") else facts.version,
        ),
        text=writer.text,
        blocks=writer.blocks,
    )


def _decoded(content: bytes) -> str:
    """Text as it was meant: what Excel saves as CSV in France is in Windows' letters, not in UTF-8."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _plain(text: str, writer: Writer) -> dict[str, Any]:
    for part in text.replace("\r\n", "\n").split("\n\n"):
        writer.paragraph(part)
    return {}
