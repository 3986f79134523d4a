"""The vectors of the tokens of every passage, by model and text, in a SQLite file beside the generations.

Questions read them from there by the hash of a passage's text, a few passages at a time: nothing is held in memory.
What a newer generation has pruned is simply not there, and the search does without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from energycomm.private_files import BESIDE, private_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Small = NDArray[np.int8]

FILE = "tokens.db"
_TABLE = (
    "CREATE TABLE IF NOT EXISTS passage "
    "(model TEXT NOT NULL, hash TEXT NOT NULL, tokens INTEGER NOT NULL, rows BLOB NOT NULL, "
    "PRIMARY KEY (model, hash)) WITHOUT ROWID"
)
WAIT = 30
"""Seconds that a reader waits for a batch that is being written."""


class TokenVectors:
    """A file of token vectors; it need not be there to be asked.

    Args:
      path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def missing(self, model: str, hashes: Iterable[str]) -> set[str]:
        """Hashes of which nothing is kept."""
        if not self.path.is_file():
            return set(hashes)
        with closing(self._open()) as db:
            return set(hashes) - {row[0] for row in db.execute("SELECT hash FROM passage WHERE model = ?", (model,))}

    def keep(self, model: str, items: Iterable[tuple[str, Small]]) -> None:
        """Keep the token vectors of some texts, all of them or none.

        Args:
          model: name of the embedder.
          items: hash of a text and its tokens, shape (tokens, dimensions).
        """
        with closing(self._open(writable=True)) as db, db:
            db.execute(_TABLE)
            db.executemany(
                "INSERT OR REPLACE INTO passage VALUES (?, ?, ?, ?)",
                [(model, hash, len(rows), rows.tobytes()) for hash, rows in items],
            )

    def rows(self, model: str, hashes: Sequence[str]) -> list[Small | None]:
        """The token vectors of some texts in their order, each of shape (tokens, dimensions); None where none are."""
        import numpy as np

        if not self.path.is_file():
            return [None] * len(hashes)
        sql = "SELECT tokens, rows FROM passage WHERE model = ? AND hash = ?"
        found: list[Small | None] = []
        with closing(self._open()) as db:
            for hash in hashes:
                row = db.execute(sql, (model, hash)).fetchone()
                found.append(np.frombuffer(row[1], np.int8).reshape(row[0], -1) if row and row[0] else None)
        return found

    def prune(self, model: str, keep: Iterable[str]) -> int:
        """Forget texts of a model beyond `keep`; returns how many."""
        if not self.path.is_file():
            return 0
        kept = set(keep)
        with closing(self._open(writable=True)) as db, db:
            known = db.execute("SELECT hash FROM passage WHERE model = ?", (model,)).fetchall()
            gone = [(model, hash) for (hash,) in known if hash not in kept]
            db.executemany("DELETE FROM passage WHERE model = ? AND hash = ?", gone)
        return len(gone)

    def _open(self, *, writable: bool = False) -> sqlite3.Connection:
        if writable:
            return sqlite3.connect(private_file(self.path, BESIDE), timeout=WAIT)
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT)
