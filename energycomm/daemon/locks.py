"""Who does what: a lock for each duty, and one for the claims of a worker; all end with the process that holds them.

The locks save work; they keep nothing from being stored twice. A worker whose connection was lost may go on for a
moment beside its successor: the store sees to it that only one of them gets on (`records.TakenOver`, unique rows).
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import psycopg
from sqlalchemy import Engine

from energycomm.eis.database import is_sqlite, reporting
from energycomm.logs import Log
from energycomm.transport.folder_lock import FolderLock

log = Log()

FRESH = 1.0
"""Seconds for which a connection that answered is believed to be alive."""

LOOKS, LOOK_SECONDS = 20, 0.002
"""How often the lock of our turn is asked for, and the pause between."""


class Locks(Protocol):
    """The locks of one worker; safe for threads."""

    def take(self, key: str) -> bool:
        """Take a lock, or see that we hold it; False where another worker does.

        Raises:
          UserError: the database was lost, and every lock with it.
        """
        ...

    def holds(self, key: str) -> bool:
        """Whether we still hold it; False when the database was lost."""
        ...

    def release(self, key: str) -> None:
        """Give it back; nothing happens where we do not hold it."""
        ...

    def holder(self) -> int | None:
        """The number that our claims of envelopes carry: whoever sees it knows by its lock that we are there. Another
        one after the database was lost. None where another process does everything.

        Raises:
          UserError: the database was lost.
        """
        ...

    def line_up(self) -> None:
        """Let those whose group comes behind the one that we claim next wait for us, until `give_way` (`turn_of`).

        Raises:
          UserError: the database was lost.
        """
        ...

    def give_way(self) -> None:
        """Let those behind us go on; nothing happens where nobody waits."""
        ...

    def renounce(self) -> None:
        """Let every claim under our number go, also one that we do not know of; the next number is another one."""
        ...

    def close(self) -> None:
        """Give all back."""
        ...


def open_locks(engine: Engine) -> Locks:
    """The locks that go with a database."""
    return FileLocks(Path(str(engine.url.database))) if is_sqlite(engine) else AdvisoryLocks(engine)


def number_of(key: str) -> int:
    """The number of a lock: 64 bits with sign, the same everywhere."""
    return int.from_bytes(sha256(b"energycomm/" + key.encode()).digest()[:8], "big", signed=True)


def turn_of(holder: int) -> int:
    """The number of the lock that a worker has while it has the turn before others, by the number of its claims."""
    return -1 - holder


class AdvisoryLocks:
    """PostgreSQL's advisory locks, on one connection of their own.

    Args:
      engine: the database.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._held: set[str] = set()
        self._holder: int | None = None
        self._in_line = False
        self._seen = 0.0

    def take(self, key: str) -> bool:
        """Take a lock, or see that we hold it."""
        with self._guard:
            if key in self._held:
                self._check()
                return key in self._held or self.take(key)
            taken = self._ask("pg_try_advisory_lock(%s)", number_of(key))
            if taken:
                self._held.add(key)
            return bool(taken)

    def holds(self, key: str) -> bool:
        """Whether we still hold it, as far as the connection tells."""
        with self._guard:
            if key not in self._held:
                return False
            # Whoever asks needs no reason: without a connection there is no lock.
            with contextlib.suppress(Exception):
                self._check()
            return key in self._held

    def release(self, key: str) -> None:
        """Give it back."""
        with self._guard:
            if key in self._held:
                self._held.discard(key)
                with contextlib.suppress(Exception):
                    self._ask("pg_advisory_unlock(%s)", number_of(key))

    def holder(self) -> int:
        """The number of our claims."""
        with self._guard:
            if self._holder is not None:
                self._check()
                return self._holder
            number = secrets.randbits(63)
            self._ask("pg_try_advisory_lock(%s)", number)
            self._holder = number
            return number

    def line_up(self) -> None:
        """Take the lock of our turn. Whoever was told of our last one may still look at it for a moment; where it looks
        longer, we go on without: messages come late then, and are judged again."""
        with self._guard:
            turn = turn_of(self.holder())
            for _ in range(LOOKS):
                if self._in_line:
                    return
                self._in_line = self._ask("pg_try_advisory_lock(%s)", turn)
                time.sleep(0 if self._in_line else LOOK_SECONDS)

    def give_way(self) -> None:
        """Give the lock of our turn back."""
        with self._guard:
            if self._in_line and self._holder is not None:
                self._in_line = False
                with contextlib.suppress(Exception):
                    self._ask("pg_advisory_unlock(%s)", turn_of(self._holder))

    def renounce(self) -> None:
        """Give the number of our claims back."""
        self.give_way()
        with self._guard:
            number, self._holder = self._holder, None
            if number is not None:
                with contextlib.suppress(Exception):
                    self._ask("pg_advisory_unlock(%s)", number)

    def close(self) -> None:
        """Give all back."""
        with self._guard:
            self._lost()

    def _check(self) -> None:
        if time.monotonic() - self._seen > FRESH:
            self._ask("%s::bigint", 1)

    def _ask(self, call: str, number: int) -> Any:
        try:
            with reporting(self._engine):
                if self._connection is None:
                    self._connection = self._connect()
                query = f"SELECT {call}, pg_is_in_recovery()"
                ((found, standby),) = self._connection.execute(query.encode(), (number,)).fetchall()
                if standby:
                    # A standby gives locks of its own, which keep nobody out who asks the primary.
                    raise psycopg.errors.ReadOnlySqlTransaction("the server is a standby")
        except BaseException:
            self._lost()
            raise
        self._seen = time.monotonic()
        return found

    def _connect(self) -> psycopg.Connection[Any]:
        pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        assert isinstance(connection, psycopg.Connection)
        connection.autocommit = True
        return connection

    def _lost(self) -> None:
        connection, self._connection = self._connection, None
        self._held.clear()
        self._holder, self._in_line = None, False
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


class FileLocks:
    """On SQLite one process does everything: a lock on a file beside the database says which.

    Args:
      database: the database's file.
    """

    def __init__(self, database: Path) -> None:
        self._lock = FolderLock(database.with_name(database.name + ".daemon"))
        self._guard = threading.Lock()
        self._database, self._waits = database, False
        self._held: set[str] = set()
        self._holder = secrets.randbits(63)

    def take(self, key: str) -> bool:
        """Take a lock, or see that we hold it."""
        with self._guard:
            if not self._ours():
                return False
            self._held.add(key)
            return True

    def _ours(self) -> bool:
        """Whether the file is ours; it is told once when another process has it."""
        ours = self._lock.take()
        if self._waits == ours:
            self._waits = not ours
            words = "the other process ended" if ours else "another daemon works with this database; this one waits"
            log.warning("database.taken" if not ours else "database.free", file=str(self._database), why=words)
        return ours

    def holds(self, key: str) -> bool:
        """Whether we hold it."""
        return key in self._held

    def release(self, key: str) -> None:
        """Give it back."""
        with self._guard:
            self._held.discard(key)

    def holder(self) -> int | None:
        """The number of our claims; None while another process has the file."""
        with self._guard:
            return self._holder if self._ours() else None

    def line_up(self) -> None:
        """Nobody else works."""

    def give_way(self) -> None:
        """Nobody waits."""

    def renounce(self) -> None:
        """Take another number."""
        self._holder = secrets.randbits(63)

    def close(self) -> None:
        """Give all back."""
        with self._guard:
            self._held.clear()
            self._lock.release()
