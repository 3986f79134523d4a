"""What the assistant keeps that names a customer who is erased: questions, answers, titles, opinions, documents.

The gateway finds `keeper` by the entry point group `energycomm.erasure`. What is found goes whole: an answer without
the words that it was about is none. Patterns of what is personal are taken out before anything is written; a name in
the middle of a sentence is known only once it is known whose it is.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from errno import EIO
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assistant.config import load_config
from energycomm.config import Config, choosing


class Kept(NamedTuple):
    """Rows of a file that hold what people typed or attached.

    Attributes:
      file: its name in the folder of the assistant.
      table: its name.
      columns: those with words; in packed ones they stand as they are.
      place: what the evidence of an erasure calls it.
    """

    file: str
    table: str
    columns: tuple[str, ...]
    place: str


KEPT = (
    Kept("log.db", "exchange", ("question", "answer"), "assistant_questions"),
    Kept("log.db", "title", ("title",), "assistant_questions"),
    Kept("log.db", "feedback", ("comment",), "assistant_questions"),
    Kept("attachments.db", "attachment", ("name", "document"), "assistant_documents"),
)


def keeper(config: Config) -> Callable[[Callable[[str], bool], bool], Counter[str]]:
    """What deletes, for a configuration of the gateway: that of the supplier whose customer is erased.

    Raises:
      UserError: the configuration of the assistant is wrong.
    """
    # Also in a thread of a service or daemon for several suppliers, in which none is chosen.
    with choosing(config.supplier.name if config.supplier is not None else None):
        return partial(forget, load_config().folder)


def forget(folder: Path, tells: Callable[[str], bool], dry: bool) -> Counter[str]:
    """Delete what names a customer; its bytes are written over.

    Args:
      folder: of the assistant.
      tells: whether a text surely names the customer.
      dry: count only.

    Returns:
      Place -> how many questions, titles, opinions and documents.

    Raises:
      OSError: a file cannot be used now, with its name.
    """
    found = Counter[str]()
    for kept in KEPT:
        path = folder / kept.file
        if path.is_file():
            try:
                found[kept.place] += _forget(path, kept, tells, dry)
            except sqlite3.Error as error:
                raise OSError(EIO, str(error), str(path)) from error
    return +found


def _forget(path: Path, kept: Kept, tells: Callable[[str], bool], dry: bool) -> int:
    with closing(sqlite3.connect(path, timeout=10)) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (kept.table,)).fetchall():
            return 0
        rows = db.execute(f"SELECT rowid, {', '.join(kept.columns)} FROM {kept.table}")  # noqa: S608 - names of ours
        gone = [(row,) for row, *values in rows if any(tells(_words(value)) for value in values)]
        if not dry:
            db.executemany(f"DELETE FROM {kept.table} WHERE rowid = ?", gone)  # noqa: S608 - names of ours
    return len(gone)


def _words(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
