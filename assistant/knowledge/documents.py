"""What the assistant knows: documents with their structure, and the passages that are found and cited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date
from typing import Literal

from msgspec import Struct

BlockKind = Literal["heading", "paragraph", "item", "row", "code"]

ID_LENGTH = 8
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads like something else


class Metadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a document comes from and for whom it holds.

    Attributes:
      source: name of the loader's source: docs, rules, confluence:SPACE.
      address: where a person finds it: a path, a URL, a page's address.
      title: its title.
      author: who wrote it last, where the source says so; scrubbed.
      modified: the day it was last changed.
      market: FR, BE, NL, ..., None for all.
      language: ISO 639-1 code; found from the text when the source does not say.
      valid_from, valid_to: first and last day it holds; None is open.
      version: label of the version, `2025-08`; several versions of one address stand side by side.
      codes: codes that the document defines: a rule's code and error code.
    """

    source: str
    address: str
    title: str = ""
    author: str | None = None
    modified: date | None = None
    market: str | None = None
    language: str | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    version: str | None = None
    codes: tuple[str, ...] = ()

    def holds_on(self, day: date) -> bool:
        """Whether the document is valid on a day."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day <= self.valid_to)


class Block(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a document's structure: `Document.text[start:end]`.

    Attributes:
      start, end: span in the document's text, in characters.
      kind: what it is.
      headings: the titles above it, outermost first.
      page: page number, from 1, where the format has pages.
      anchor: name to jump to in the source.
      context: what has to be known to read it: a table's caption and header row.
    """

    start: int
    end: int
    kind: BlockKind = "paragraph"
    headings: tuple[str, ...] = ()
    page: int | None = None
    anchor: str | None = None
    context: str = ""


class Document(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A document as clean text with its structure.

    Attributes:
      id: stable id within its source, the same for every version of the same address.
      text: the whole text.
      blocks: its structure, in order, not overlapping.
    """

    id: str
    metadata: Metadata
    text: str
    blocks: tuple[Block, ...] = ()


class Passage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is embedded, found and cited: `text` is word for word `document text[start:end]`.

    Attributes:
      id: 8 characters made from the content: the same text at the same address and version keeps its id.
      document: id of the document (with its version: `Document.key`).
      context: titles, caption and header row: embedded with the text, never quoted.
    """

    id: str
    document: str
    start: int
    end: int
    text: str
    metadata: Metadata
    context: str = ""
    headings: tuple[str, ...] = ()
    page: int | None = None
    anchor: str | None = None

    @property
    def embedded(self) -> str:
        """The text that is embedded and indexed."""
        return f"{self.context}\n{self.text}" if self.context else self.text


def document_key(document: Document) -> str:
    """Key of one version of a document: its id, and its version where it has one."""
    return f"{document.id}@{document.metadata.version}" if document.metadata.version else document.id


def short_id(parts: Iterable[str]) -> str:
    """A stable id of 8 characters from the parts."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    number = int.from_bytes(digest[:5], "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(35, -1, -5))
