"""The text and metadata of a generation of the knowledge, in SQLite."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

import msgspec
from msgspec import Struct

from assistant.knowledge.documents import Document, Passage
from assistant.knowledge.filtering import Dropped
from energycomm.private_files import private_file

_encode = msgspec.msgpack.Encoder().encode
_document = msgspec.msgpack.Decoder(Document).decode
_passage = msgspec.msgpack.Decoder(Passage).decode


class SourceState(Struct, frozen=True, kw_only=True):
    """What is known of one source: counts, and what was left out of it, by reason."""

    source: str
    version: str
    documents: int
    passages: int
    dropped: dict[str, int]


class Store:
    """One SQLite file; open it read-only to answer, writable to make a new generation."""

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        self.path = path
        if writable:
            self._db = sqlite3.connect(private_file(path), isolation_level=None)
            self._db.executescript(resources.files("assistant.knowledge").joinpath("schema.sql").read_text("utf-8"))
        else:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def copy_to(self, path: Path) -> None:
        """Copy everything to a new file."""
        target = sqlite3.connect(private_file(path))
        with target:
            self._db.backup(target)
        target.close()

    # documents

    def hashes(self, source: str, version: str) -> dict[str, str]:
        """Key -> hash of the documents of one version of a source."""
        rows = self._db.execute("SELECT key, hash FROM document WHERE source = ? AND version = ?", (source, version))
        return dict(rows.fetchall())

    def put(self, key: str, document: Document, hash: str, scrubbed: Mapping[str, int]) -> None:
        """Store a document, and how much of each kind was scrubbed of it; its passages are put by `put_passages`."""
        self._db.execute("DELETE FROM scrubbed WHERE document = ?", (key,))
        self._db.executemany(
            "INSERT INTO scrubbed VALUES (?, ?, ?)", [(key, kind, count) for kind, count in scrubbed.items()]
        )
        facts = document.metadata
        self._db.execute(
            "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET id = excluded.id, "
            "source = excluded.source, version = excluded.version, hash = excluded.hash, content = excluded.content",
            (key, document.id, facts.source, facts.version or "", hash, _encode(document)),
        )

    def remove(self, key: str) -> None:
        """Forget a document and its passages."""
        for statement in (
            "DELETE FROM passage WHERE document = ?",
            "DELETE FROM dropped WHERE document = ?",
            "DELETE FROM scrubbed WHERE document = ?",
            "DELETE FROM document WHERE key = ?",
        ):
            self._db.execute(statement, (key,))

    def put_passages(
        self, key: str, passages: Sequence[tuple[Passage, str, Sequence[str]]], dropped: Sequence[Dropped]
    ) -> None:
        """Replace a document's passages.

        Args:
          key: the document's key.
          passages: each passage with the hash of its embedded text and its tokens.
          dropped: what was left out.
        """
        self._db.execute("DELETE FROM passage WHERE document = ?", (key,))
        self._db.execute("DELETE FROM dropped WHERE document = ?", (key,))
        self._db.executemany(
            "INSERT OR REPLACE INTO passage (id, document, position, content, hash, tokens) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (passage.id, key, position, _encode(passage), hash, " ".join(tokens))
                for position, (passage, hash, tokens) in enumerate(passages)
            ],
        )
        self._db.executemany(
            "INSERT INTO dropped VALUES (?, ?, ?)", [(item.document, item.reason, item.words) for item in dropped]
        )

    def document(self, key: str) -> Document | None:
        """A document by its key."""
        row = self._db.execute("SELECT content FROM document WHERE key = ?", (key,)).fetchone()
        return _document(row[0]) if row else None

    def one_of_each_source(self) -> list[Document]:
        """A document of each source."""
        rows = self._db.execute("SELECT content, min(key) FROM document GROUP BY source")
        return [_document(content) for content, _ in rows]

    def documents(self) -> Iterator[tuple[str, Document]]:
        """Every document with its key."""
        for key, content in self._db.execute("SELECT key, content FROM document ORDER BY source, version, id"):
            yield key, _document(content)

    # passages

    def number(self) -> list[str]:
        """Number the passages for the indexes; returns the hashes of their embedded texts in that order."""
        rows = self._db.execute(
            "SELECT p.id, p.hash FROM passage p JOIN document d ON d.key = p.document "
            "ORDER BY d.source, d.version, d.id, p.position"
        ).fetchall()
        self._db.execute("UPDATE passage SET row = NULL")
        self._db.executemany("UPDATE passage SET row = ? WHERE id = ?", [(row, r[0]) for row, r in enumerate(rows)])
        return [hash for _, hash in rows]

    def embedded_texts(self, hashes: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Hash and text of some hashes, each once."""
        wanted = set(hashes)
        for hash, content in self._db.execute("SELECT hash, content FROM passage ORDER BY row"):
            if hash in wanted:
                wanted.discard(hash)
                yield hash, _passage(content).embedded

    def tokens(self) -> Iterator[list[str]]:
        """The tokens of every passage, in the order of their numbers."""
        for (tokens,) in self._db.execute("SELECT tokens FROM passage ORDER BY row"):
            yield tokens.split()

    def size(self) -> int:
        """How many passages there are."""
        return int(self._db.execute("SELECT count(*) FROM passage").fetchone()[0])

    def passages(self) -> list[Passage]:
        """Every passage, in the order of their numbers."""
        return [_passage(content) for (content,) in self._db.execute("SELECT content FROM passage ORDER BY row")]

    def passage(self, id: str) -> Passage | None:
        """A passage by its id."""
        row = self._db.execute("SELECT content FROM passage WHERE id = ?", (id,)).fetchone()
        return _passage(row[0]) if row else None

    def passages_of(self, key: str) -> list[Passage]:
        """The passages of a document, in their order."""
        rows = self._db.execute("SELECT content FROM passage WHERE document = ? ORDER BY position", (key,))
        return [_passage(content) for (content,) in rows]

    # about the whole

    def sources(self) -> list[SourceState]:
        """What is known of each version of each source."""
        passages = dict(self._db.execute("SELECT document, count(*) FROM passage GROUP BY document").fetchall())
        dropped: dict[str, Counter[str]] = {}
        for document, reason, count in self._db.execute(
            "SELECT document, reason, count(*) FROM dropped GROUP BY document, reason"
        ):
            dropped.setdefault(document, Counter())[reason] += count
        states: dict[tuple[str, str], tuple[int, int, Counter[str]]] = {}
        for key, source, version in self._db.execute("SELECT key, source, version FROM document"):
            documents, held, left = states.get((source, version), (0, 0, Counter()))
            states[source, version] = (
                documents + 1,
                held + passages.get(key, 0),
                left + dropped.get(key, Counter()),
            )
        return [
            SourceState(source=source, version=version, documents=state[0], passages=state[1], dropped=dict(state[2]))
            for (source, version), state in sorted(states.items())
        ]

    def dropped(self) -> list[Dropped]:
        """Everything that was left out."""
        return [Dropped(*row) for row in self._db.execute("SELECT document, reason, words FROM dropped ORDER BY 1, 2")]

    def scrubbed(self) -> dict[str, int]:
        """How much of each kind was scrubbed of all documents."""
        return dict(self._db.execute("SELECT kind, sum(count) FROM scrubbed GROUP BY kind ORDER BY kind").fetchall())

    def fact(self, name: str) -> str | None:
        """A fact about the generation."""
        row = self._db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: str) -> None:
        """State a fact about the generation."""
        self._db.execute("INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                         (name, value))  # fmt: skip

    def begin(self) -> None:
        """Begin a transaction."""
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End a transaction."""
        self._db.execute("COMMIT")
