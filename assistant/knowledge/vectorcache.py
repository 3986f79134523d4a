"""Vectors by model and text: what was embedded once is never embedded again, even when an indexing was interrupted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.knowledge.embedding import Embedder, token_embedder
from assistant.knowledge.tokenvectors import TokenVectors
from energycomm.private_files import BESIDE, private_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
"""Texts that are embedded and committed together: what a crash loses at most."""


class VectorCache:
    """A SQLite file of vectors, keyed by the embedder's name and the hash of the text."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(private_file(path, BESIDE))
        with self._db:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vector "
                "(model TEXT NOT NULL, hash TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, hash)) "
                "WITHOUT ROWID"
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def missing(self, model: str, hashes: Iterable[str]) -> set[str]:
        """Hashes that have no vector yet."""
        return set(hashes) - {row[0] for row in self._db.execute("SELECT hash FROM vector WHERE model = ?", (model,))}

    def keep(self, model: str, items: Iterable[tuple[str, NDArray[np.float32]]]) -> None:
        """Keep the vectors of some texts, all of them or none.

        Args:
          model: name of the embedder.
          items: hash of a text and its vector.
        """
        rows = [(model, hash, vector.astype("<f4").tobytes()) for hash, vector in items]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    def fill(
        self, embedder: Embedder, texts: Iterable[tuple[str, str]], told: Callable[[int], None] | None = None,
        tokens: TokenVectors | None = None,
    ) -> int:  # fmt: skip
        """Embed texts and keep their vectors.

        Args:
          embedder: the embedder.
          texts: hash and text of what is missing.
          told: called with the number of texts done so far.
          tokens: where the vectors of single tokens are kept, if the embedder tells of them.

        Returns:
          How many were embedded.
        """
        done = 0
        for batch in _batches(texts, BATCH * 16):
            # Texts of like length together: a batch is padded to its longest.
            ordered = sorted(batch, key=lambda item: len(item[1]))
            for some in _batches(ordered, BATCH):
                vectors = _embedded(embedder, some, tokens)
                self.keep(embedder.name, ((hash, vector) for (hash, _), vector in zip(some, vectors, strict=True)))
                done += len(some)
                if told:
                    told(done)
        return done

    def vectors(self, model: str, hashes: Sequence[str], dimensions: int) -> NDArray[np.float32]:
        """The vectors of hashes, in their order, shape (len(hashes), dimensions)."""
        import numpy as np

        rows: dict[str, list[int]] = {}
        for number, hash in enumerate(hashes):
            rows.setdefault(hash, []).append(number)
        result = np.zeros((len(hashes), dimensions), dtype=np.float32)
        for hash, vector in self._db.execute("SELECT hash, vector FROM vector WHERE model = ?", (model,)):
            for number in rows.pop(hash, ()):
                result[number] = np.frombuffer(vector, "<f4")
        if rows:
            raise KeyError(f"{len(rows)} texts have no vector of {model}")
        return result

    def prune(self, model: str, keep: Iterable[str]) -> int:
        """Forget vectors of a model beyond `keep`; returns how many."""
        kept = set(keep)
        gone = [
            (model, row[0])
            for row in self._db.execute("SELECT hash FROM vector WHERE model = ?", (model,))
            if row[0] not in kept
        ]
        with self._db:
            self._db.executemany("DELETE FROM vector WHERE model = ? AND hash = ?", gone)
        return len(gone)


def _embedded(embedder: Embedder, some: list[tuple[str, str]], tokens: TokenVectors | None) -> NDArray[np.float32]:
    """The vectors of some texts; those of their tokens are kept first, so that a crash leaves none of them out."""
    texts = [text for _, text in some]
    teller = token_embedder(embedder) if tokens is not None else None
    if tokens is None or teller is None:
        return embedder.embed_passages(texts)
    vectors, rows = teller.embed_tokens(texts)
    tokens.keep(embedder.name, [(hash, row) for (hash, _), row in zip(some, rows, strict=True)])
    return vectors


def _batches(items: Iterable[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
