"""An embedder that keeps its vectors in a file: a grid asks for the same texts again, and so does the next run."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.knowledge.embedding import Embedder

if TYPE_CHECKING:
    from assistant.knowledge.embedding import Vectors

FILE = "vectors.db"
BATCH = 512
"""Texts that are embedded and committed together: what an interrupted run loses at most."""


class Keeping:
    """Vectors by role and text, read from a SQLite file once and added to it; the embedder is asked for what is new.

    Args:
      embedder: who embeds.
      folder: where the file lies; made when missing.
      told: called with what is being done, when many texts are embedded.
    """

    def __init__(self, embedder: Embedder, folder: Path, told: Callable[[str], None] = lambda line: None) -> None:
        import numpy as np

        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.inner = embedder
        self._told = told
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        self._db = sqlite3.connect(folder / FILE, timeout=60)
        self._db.execute("CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, model TEXT, vector BLOB NOT NULL)")
        rows = self._db.execute("SELECT key, vector FROM vector WHERE model = ?", (self.name,))
        self._known = {key: np.frombuffer(vector, "<f4") for key, vector in rows}

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages."""
        return self._vectors("passage", texts, self.inner.embed_passages)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._vectors("query", texts, self.inner.embed_queries)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self.inner.count_tokens(text)

    def _vectors(self, role: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        import numpy as np

        keys = [hashlib.sha256(f"{self.name}\x1f{role}\x1f{text}".encode()).digest() for text in texts]
        new = [(key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in self._known]
        began = time.perf_counter()
        for at in range(0, len(new), BATCH):
            part = new[at : at + BATCH]
            vectors = np.asarray(embed([text for _, text in part]), dtype="<f4")
            with self._db:
                self._db.executemany(
                    "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)",
                    [(key, self.name, row.tobytes()) for (key, _), row in zip(part, vectors, strict=True)],
                )
            self._known.update((key, row) for (key, _), row in zip(part, vectors, strict=True))
            if len(new) > BATCH:
                self._told(f"  {at + len(part)} of {len(new)} embedded, {time.perf_counter() - began:.0f} s")
        rows = [self._known[key] for key in keys]
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), self.dimensions)
