"""The log of questions, retrievals and answers, and what people thought of them, in SQLite, for a limited time.

Every question belongs to its author. What is asked for under another name is as if it did not exist.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assistant.chat.answer import Answer
from assistant.chat.working import kept as without_points
from assistant.config import AssistantConfig
from assistant.extras import installed
from assistant.knowledge.scrubbing import PACKAGES, Scrubber
from energycomm.errors import UserError
from energycomm.private_files import BESIDE, private_file, private_folder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS exchange (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, conversation TEXT NOT NULL,
    question TEXT NOT NULL, language TEXT NOT NULL,
    abstained INTEGER NOT NULL, confidence REAL NOT NULL, generator TEXT NOT NULL, seconds REAL NOT NULL,
    timings TEXT NOT NULL, retrieved TEXT NOT NULL, cited TEXT NOT NULL, flags TEXT NOT NULL, answer BLOB NOT NULL,
    author TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS exchange_at ON exchange (at);
CREATE INDEX IF NOT EXISTS exchange_conversation ON exchange (conversation, id);
CREATE TABLE IF NOT EXISTS title (
    conversation TEXT NOT NULL, author TEXT NOT NULL, title TEXT NOT NULL, PRIMARY KEY (conversation, author)
);
CREATE TABLE IF NOT EXISTS feedback (
    exchange INTEGER PRIMARY KEY REFERENCES exchange (id) ON DELETE CASCADE,
    at TEXT NOT NULL, good INTEGER NOT NULL, comment TEXT NOT NULL
);
"""


MOST_CONVERSATIONS = 200
"""Conversations of an author; the oldest goes when one more begins."""
LONGEST_TITLE = 120


class Exchange(Struct, frozen=True, kw_only=True):
    """A question and its answer, as logged."""

    id: int
    at: str
    question: str
    answer: Answer
    good: bool | None = None
    comment: str = ""


class Conversation(Struct, frozen=True, kw_only=True):
    """What an author asked one after the other.

    Attributes:
      name: that nobody can guess.
      title: as its author named it; its first question otherwise.
      began, last: when its first and last question were asked.
      questions: how many there are.
    """

    name: str
    title: str
    began: str
    last: str
    questions: int


class Log:
    """The log file. Questions are scrubbed of personal data before they are written.

    Args:
      path: the file.
      enabled: when False nothing is ever written (the opt-out), and reading finds nothing new.
      retention_days: what is older is deleted at every writing.
    """

    def __init__(self, path: Path, *, enabled: bool = True, retention_days: int = 90) -> None:
        self.enabled = enabled
        self._days = retention_days
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        if enabled or path.exists():
            private_folder(path.parent)
            self._db = sqlite3.connect(private_file(path, BESIDE), check_same_thread=False, timeout=10)
            self._db.executescript(_SCHEMA)
            if "author" not in {row[1] for row in self._db.execute("PRAGMA table_info(exchange)")}:
                # Of whom a question of an older log was, nobody knows: it is nobody's.
                self._db.execute("ALTER TABLE exchange ADD COLUMN author TEXT NOT NULL DEFAULT ''")
            self._db.execute("CREATE INDEX IF NOT EXISTS exchange_author ON exchange (author, conversation)")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA secure_delete = ON")

    def write(self, answer: Answer, conversation: str = "", author: str = "") -> int | None:
        """Log an answer; returns its number, None when logging is off.

        Args:
          answer: with its question.
          conversation: that it is part of.
          author: who asked; empty where nobody knows.
        """
        if not self.enabled or self._db is None:
            return None
        scrubber = Scrubber()
        question = scrubber.scrub(answer.question)
        kept = msgspec.structs.replace(
            without_points(answer, scrubber.scrub),
            question=question,
            understood=scrubber.scrub(answer.understood or "") or None,
        )
        with self._lock, self._db:
            self._prune()
            cursor = self._db.execute(
                "INSERT INTO exchange (at, conversation, question, language, abstained, confidence, generator, "
                "seconds, timings, retrieved, cited, flags, answer, author) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    conversation,
                    question,
                    answer.language,
                    answer.abstained,
                    answer.confidence,
                    answer.generator,
                    sum(answer.seconds.values()),
                    _json(answer.seconds),
                    _json([(source.passage.id, round(source.score, 4)) for source in answer.sources]),
                    _json([source.passage.id for source in answer.cited]),
                    _json(answer.flags),
                    msgspec.msgpack.encode(kept),
                    author,
                ),
            )
            self._bound(author)
            return cursor.lastrowid

    def _bound(self, author: str) -> None:
        """Drop the oldest conversations of an author beyond the most that are kept."""
        assert self._db is not None
        beyond = self._db.execute(
            "SELECT conversation FROM exchange WHERE author = ? AND conversation <> '' GROUP BY conversation "
            "ORDER BY max(id) DESC LIMIT -1 OFFSET ?",
            (author, MOST_CONVERSATIONS),
        ).fetchall()
        self._drop([name for (name,) in beyond], author)

    def rate(self, exchange: int, good: bool, comment: str = "", author: str = "") -> None:
        """Note what its author thought of an answer; a later opinion replaces an earlier one.

        Raises:
          UserError: there is no such answer of theirs.
        """
        own = "SELECT 1 FROM exchange WHERE id = ? AND author = ?"
        if self._db is None or exchange >= 1 << 63 or not self._row(own, (exchange, author)):
            raise UserError(
                f"There is no answer {exchange} of yours in the log.", "Its number is printed below the answer."
            )
        with self._lock, self._db:
            self._db.execute(
                "INSERT INTO feedback VALUES (?, ?, ?, ?) ON CONFLICT (exchange) DO UPDATE SET at = excluded.at, "
                "good = excluded.good, comment = excluded.comment",
                (exchange, datetime.now(UTC).isoformat(timespec="seconds"), good, Scrubber().scrub(comment)[:2000]),
            )

    def exchange(self, number: int) -> Exchange | None:
        """One exchange by its number."""
        found = self._read("WHERE e.id = ?", (number,))
        return found[0] if found else None

    def conversation(self, name: str, author: str = "") -> list[Exchange]:
        """What an author asked in a conversation, the oldest first."""
        return self._read("WHERE e.conversation = ? AND e.author = ? ORDER BY e.id", (name, author))

    def conversations(self, author: str) -> list[Conversation]:
        """The conversations of an author, the latest first."""
        if self._db is None:
            return []
        query = (
            "SELECT c.conversation, coalesce(t.title, first.question), c.began, c.last, c.questions FROM "
            "(SELECT conversation, min(id) AS first, max(id) AS latest, min(at) AS began, max(at) AS last, "
            "count(*) AS questions FROM exchange WHERE author = ? AND conversation <> '' GROUP BY conversation) c "
            "JOIN exchange first ON first.id = c.first "
            "LEFT JOIN title t ON t.conversation = c.conversation AND t.author = first.author "
            "ORDER BY c.latest DESC LIMIT ?"
        )
        with self._lock:
            rows = self._db.execute(query, (author, MOST_CONVERSATIONS)).fetchall()
        return [
            Conversation(name=name, title=title[:LONGEST_TITLE], began=began, last=last, questions=questions)
            for name, title, began, last, questions in rows
        ]

    def rename(self, name: str, title: str, author: str) -> None:
        """Name a conversation; an empty title gives it that of its first question again.

        Raises:
          UserError: the author has no such conversation.
        """
        self._own(name, author)
        assert self._db is not None
        title = Scrubber().scrub(" ".join(title.split()))[:LONGEST_TITLE]
        with self._lock, self._db:
            self._db.execute("DELETE FROM title WHERE conversation = ? AND author = ?", (name, author))
            if title:
                self._db.execute("INSERT INTO title VALUES (?, ?, ?)", (name, author, title))

    def forget(self, name: str, author: str) -> None:
        """Delete a conversation with all its questions, answers and opinions.

        Raises:
          UserError: the author has no such conversation.
        """
        self._own(name, author)
        assert self._db is not None
        with self._lock, self._db:
            self._drop((name,), author)

    def _own(self, name: str, author: str) -> None:
        own = "SELECT 1 FROM exchange WHERE conversation = ? AND author = ? AND conversation <> ''"
        if self._db is None or not self._row(own, (name, author)):
            raise UserError("There is no such conversation of yours.", "Choose one of the list.")

    def _drop(self, names: Sequence[str], author: str) -> None:
        assert self._db is not None
        for table in ("exchange", "title"):
            self._db.executemany(
                f"DELETE FROM {table} WHERE conversation = ? AND author = ?",  # noqa: S608 - names of ours
                [(name, author) for name in names],
            )

    def latest(self, limit: int = 20, rated: bool = False, author: str | None = "") -> list[Exchange]:
        """The latest exchanges of an author (None: of everybody), the newest first; only rated ones when asked."""
        wanted = ["e.author = ?"] if author is not None else []
        wanted += ["f.good IS NOT NULL"] if rated else []
        where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
        return self._read(f"{where} ORDER BY e.id DESC LIMIT ?", (*([] if author is None else [author]), limit))

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()

    def _read(self, where: str, values: tuple[Any, ...]) -> list[Exchange]:
        if self._db is None:
            return []
        query = (
            "SELECT e.id, e.at, e.question, e.answer, f.good, f.comment FROM exchange e "
            "LEFT JOIN feedback f ON f.exchange = e.id "
        )
        with self._lock:
            rows = self._db.execute(query + where, values).fetchall()
        return [
            Exchange(
                id=id,
                at=at,
                question=question,
                answer=msgspec.msgpack.decode(answer, type=Answer),
                good=None if good is None else bool(good),
                comment=comment or "",
            )
            for id, at, question, answer, good, comment in rows
        ]

    def _row(self, query: str, values: tuple[Any, ...]) -> Any:
        assert self._db is not None
        with self._lock:
            return self._db.execute(query, values).fetchone()

    def _prune(self) -> None:
        assert self._db is not None
        oldest = (datetime.now(UTC) - timedelta(days=self._days)).isoformat(timespec="seconds")
        self._db.execute("DELETE FROM exchange WHERE at < ?", (oldest,))
        self._db.execute("DELETE FROM title WHERE conversation NOT IN (SELECT conversation FROM exchange)")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def open_log(config: AssistantConfig) -> Log:
    """The log that the configuration names; none is written without the packages that know personal data."""
    enabled = config.log and installed(*PACKAGES)
    return Log(config.folder / "log.db", enabled=enabled, retention_days=config.retention_days)
