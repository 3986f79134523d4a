"""The points of a run: every statement, commit, and operation on a file, at each of which it can be made to fail.

A trap is laid in a process of its own (`harness`), which ends afterwards: nothing is taken out again. The database is
watched through the connections and cursors that its driver makes, files through `open` and `os`. Only files below one
folder count, so the rules and the program's own files do not.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import Engine

Fault = Literal["exception", "error", "full", "kill"]
FAULTS: tuple[Fault, ...] = ("exception", "error", "full", "kill")
"""exception: what nobody expects, once. error: the database or the disk fails, once; PostgreSQL's connection is cut.
full: from this point on nothing can be written. kill: the process ends there, as by `kill -9`."""

KILLED = 137
_READS = ("SELECT", "PRAGMA", "BEGIN", "WITH", "SHOW", "SET")


class Unexpected(Exception):
    """What nobody expects."""


class Point(NamedTuple):
    """One point: what is about to be done, and to what."""

    kind: str
    what: str

    @property
    def writes(self) -> bool:
        """Whether a full disk is in its way."""
        if self.kind == "statement":
            return not self.what.upper().startswith(_READS)
        return self.kind not in ("read", "list", "close", "committed") and not self.what.startswith("rb:")


class Trap:
    """Counts the points of this process, and springs at one.

    Args:
      folder: files below it count.
      at: number of the point to spring at, from 1; 0 never does.
      fault: what happens there.
    """

    def __init__(self, folder: Path, at: int = 0, fault: Fault = "exception") -> None:
        self.folder, self.at, self.fault = os.path.realpath(folder) + "/", at, fault
        self.points: list[Point] = []
        self.sprung = False
        self._guard = threading.Lock()
        self._within = threading.local()

    def passes(self, kind: str, what: str, connection: Any = None) -> None:
        """A point is reached: goes on, raises, or ends the process."""
        if getattr(self._within, "busy", False):
            return
        point = Point(kind, " ".join(what.split())[:80])
        with self._guard:
            self.points.append(point)
            here = len(self.points) == self.at
            self.sprung = self.sprung or here
            full = self.sprung and self.fault == "full" and point.writes
        if here and self.fault == "kill":
            os._exit(KILLED)
        if here and self.fault == "exception":
            raise Unexpected(f"at point {self.at}, {point.kind} {point.what}")
        if full or (here and self.fault == "error"):
            raise _of_database(connection, full) if connection is not None else _of_disk(point, full)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What happens within belongs to the point at hand."""
        before, self._within.busy = getattr(self._within, "busy", False), True
        try:
            yield
        finally:
            self._within.busy = before

    def lay(self) -> None:
        """Watch this process from now on."""
        _watch_sqlite(self)
        _watch_postgres(self)
        _watch_files(self)


def _of_disk(point: Point, full: bool) -> OSError:
    number = errno.ENOSPC if full else errno.EIO
    return OSError(number, os.strerror(number), point.what)


def _of_database(connection: Any, full: bool) -> Exception:
    if isinstance(connection, sqlite3.Connection):
        name, words = ("SQLITE_FULL", "database or disk is full") if full else ("SQLITE_IOERR", "disk I/O error")
        error = sqlite3.OperationalError(words)
        error.sqlite_errorname, error.sqlite_errorcode = name, getattr(sqlite3, name)
        return error
    if full:
        return psycopg.errors.DiskFull("could not extend file: No space left on device")
    connection.pgconn.finish()
    return psycopg.OperationalError("server closed the connection unexpectedly")


# --- the databases ---


def _watch_sqlite(trap: Trap) -> None:
    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *values: Any) -> Any:
            trap.passes("statement", sql, self.connection)
            return super().execute(sql, *values)

        def executemany(self, sql: str, *values: Any) -> Any:
            trap.passes("statement", sql, self.connection)
            return super().executemany(sql, *values)

    class Watched(sqlite3.Connection):
        def cursor(self, *_: Any, **__: Any) -> Any:
            return super().cursor(Cursor)

        def execute(self, sql: str, *values: Any) -> Any:
            trap.passes("statement", sql, self)
            return super().execute(sql, *values)

        def executemany(self, sql: str, *values: Any) -> Any:
            trap.passes("statement", sql, self)
            return super().executemany(sql, *values)

        def commit(self) -> None:
            if not self.in_transaction:
                return
            trap.passes("commit", "before", self)
            super().commit()
            trap.passes("committed", "after", self)

    def connecting(dialect: Any, _record: Any, _arguments: Any, parameters: dict[str, Any]) -> None:
        if dialect.name == "sqlite":
            parameters["factory"] = Watched

    event.listen(Engine, "do_connect", connecting)


def _watch_postgres(trap: Trap) -> None:
    class Cursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, *values: Any, **options: Any) -> Any:
            trap.passes("statement", _words(query), self.connection)
            return super().execute(query, *values, **options)

        def executemany(self, query: Any, *values: Any, **options: Any) -> Any:
            trap.passes("statement", _words(query), self.connection)
            return super().executemany(query, *values, **options)

        @contextmanager
        def copy(self, statement: Any, *values: Any, **options: Any) -> Iterator[Any]:
            trap.passes("statement", _words(statement), self.connection)
            with super().copy(statement, *values, **options) as copy:
                yield copy
                trap.passes("statement", f"{_words(statement)} end", self.connection)

    class Watched(psycopg.Connection[Any]):
        def commit(self) -> None:
            if self.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                return
            trap.passes("commit", "before", self)
            super().commit()
            trap.passes("committed", "after", self)

    def connecting(dialect: Any, _record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
        if dialect.name == "postgresql":
            return Watched.connect(*arguments, cursor_factory=Cursor, **parameters)
        return None

    event.listen(Engine, "do_connect", connecting)


def _words(query: Any) -> str:
    return query.decode() if isinstance(query, bytes) else str(query)


# --- files ---


def _watch_files(trap: Trap) -> None:
    original = io.open

    class Raw(io.FileIO):
        """A file whose reads and writes are points."""

        def write(self, data: Any) -> int:
            trap.passes("write", str(self.name))
            return super().write(data)

        def readinto(self, buffer: Any) -> int:
            trap.passes("read", str(self.name))
            return super().readinto(buffer)

        def readall(self) -> bytes:
            trap.passes("read", str(self.name))
            return super().readall()

    def opening(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **options: Any) -> Any:
        if isinstance(file, int) or not _below(trap, file):
            return original(file, mode, buffering, *more, **options)
        plain = mode.replace("t", "").replace("b", "")
        trap.passes("open", f"{'rb' if plain == 'r' else plain}:{file}")
        raw = Raw(os.fspath(file), plain)
        if buffering == 0:
            return raw
        buffered: Any
        if "+" in plain:
            buffered = io.BufferedRandom(raw)
        else:
            buffered = io.BufferedReader(raw) if plain == "r" else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *more, **options)

    io.open = opening
    builtins.open = opening
    for name, kind in _CALLS.items():
        setattr(os, name, _watched(trap, kind, getattr(os, name)))
    os.fsync = _watched_fsync(trap, os.fsync)  # type: ignore[assignment]


_CALLS = {
    "rename": "rename",
    "replace": "rename",
    "unlink": "unlink",
    "remove": "unlink",
    "mkdir": "make",
    "rmdir": "unlink",
    "scandir": "list",
    "listdir": "list",
    "open": "open",
}


def _below(trap: Trap, file: Any) -> bool:
    try:
        return str(os.path.realpath(os.fspath(file))).startswith(trap.folder)
    except (TypeError, ValueError):
        return False


def _watched(trap: Trap, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any = ".", *more: Any, **options: Any) -> Any:
        if not isinstance(path, int) and _below(trap, path):
            reads = kind == "open" and not (more and more[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            trap.passes(kind, f"rb:{path}" if reads else str(path))
        return original(path, *more, **options)

    return call


def _watched_fsync(trap: Trap, original: Callable[[int], None]) -> Callable[[Any], None]:
    def fsync(file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        path = str(Path(f"/proc/self/fd/{number}").readlink())
        if path.startswith(trap.folder):
            trap.passes("fsync", path)
        original(file)

    return fsync
