"""Fresh stores for run after run, with fsync on, and what each is held against."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, text

from energycomm.eis.comparison import canonical
from energycomm.eis.database import is_sqlite, opened, reading
from energycomm.eis.sealing import PLAIN
from tests.postgres import PostgresServer

Facts = dict[str, Any]

_COUNTED = {
    "members twice": "SELECT count(*) FROM "
    "(SELECT 1 AS one FROM member GROUP BY envelope_id, path HAVING count(*) > 1) AS twice",
    "CH messages": "SELECT count(*) FROM ch_message",
    "CH duplicates": "SELECT count(*) FROM ch_duplicate",
    "Kernel messages": "SELECT count(*) FROM kernel_message",
    "findings": 'SELECT count(*) FROM finding WHERE "current"',
    "raw contents": "SELECT count(*) FROM raw",
    "access points": "SELECT count(*) FROM access_point",
}
_OF_THE_FAULT = ("ENV_MISSING", "ENV_UNREADABLE")
"""Codes of incidents that record the fault itself: a file that could not be read at that moment."""

_ROWS = {
    "left": "SELECT sha256, state FROM envelope WHERE state IN ('archived', 'processing') ORDER BY sha256",
    # A file that could not be read is tried anew each time that it comes: how often says nothing. Of two files with one
    # content the first is whichever came first.
    "envelopes": "SELECT DISTINCT sha256, state FROM envelope WHERE duplicate_of IS NULL ORDER BY sha256, state",
    "members": "SELECT DISTINCT sha256, size, state, committed, transactions FROM member ORDER BY sha256, size, state",
    "refusals": f"SELECT DISTINCT i.code, i.path, i.value FROM incident i WHERE i.code NOT IN {_OF_THE_FAULT} "
    "ORDER BY i.code, i.path, i.value",
    "incidents": "SELECT i.code, i.path, i.value FROM incident i JOIN envelope e ON e.id = i.envelope_id "
    "WHERE e.state <> 'failed' ORDER BY i.code, i.path, i.value",
    "outbox": "SELECT event, state, count(*) FROM outbox GROUP BY event, state ORDER BY event, state",
    "requests": "SELECT market, type, kind, state, channel FROM outgoing ORDER BY market, type, kind, state",
    "campaigns": "SELECT script, state, selected, freed FROM campaign ORDER BY script",
    "items": 'SELECT action, state, "before", after, count(*) FROM campaign_item GROUP BY action, state, "before", '
    'after ORDER BY action, state, "before", after',
    "revision": "SELECT version_num FROM alembic_version",
}


class Database(Protocol):
    """Where stores are made."""

    name: str

    def make(self, folder: Path) -> str:
        """A fresh, empty database; its URL."""
        ...

    def copy(self, url: str, folder: Path) -> str:
        """A copy of a database that nobody is connected to; its URL."""
        ...

    def drop(self, url: str) -> None:
        """Remove one."""
        ...


class SqliteFiles:
    """SQLite, as in production."""

    name = "SQLite"

    def make(self, folder: Path) -> str:
        """A file that is not there yet."""
        return f"sqlite:///{folder / 'eis.db'}"

    def copy(self, url: str, folder: Path) -> str:
        """The file, and its write-ahead log where one was left."""
        source = Path(url.removeprefix("sqlite:///"))
        for path in source.parent.glob("eis.db*"):
            shutil.copy(path, folder / path.name)
        return self.make(folder)

    def drop(self, url: str) -> None:
        """It goes with its folder."""


class PostgresDatabases:
    """Databases of a PostgreSQL server that keeps its promises (`tests.postgres.DURABLE`)."""

    name = "PostgreSQL"

    def __init__(self, server: PostgresServer) -> None:
        self.server = server

    def make(self, folder: Path) -> str:
        """A new one."""
        return self.server.url(self.server.create_database())

    def copy(self, url: str, folder: Path) -> str:
        """One that is made from another."""
        return self.server.url(self.server.create_database(url.rpartition("/")[2]))

    def drop(self, url: str) -> None:
        """Whoever is connected to it is cut off."""
        self.server.drop_database(url.rpartition("/")[2])


def facts(url: str) -> Facts:
    """What a store holds, to be compared: its meaning, counts, states, the hash of every envelope, what is damaged."""
    with opened(url) as engine:
        found: Facts = {}
        with reading(engine) as connection:
            for name, sql in _COUNTED.items():
                found[name] = connection.execute(text(sql)).scalar()
            for name, sql in _ROWS.items():
                found[name] = [[str(value) for value in row] for row in connection.execute(text(sql))]
            found["bytes"] = sorted(_contents(connection))
            found["keys"] = sorted(row[0].hex() for row in connection.execute(text("SELECT DISTINCT sha256 FROM raw")))
        found["damage"] = damage(engine)
        meaning = canonical(engine)
        # Each request has a reference of its own, another one in each run.
        requests = sorted(meaning["requests"].values(), key=repr)
        meaning["requests"] = {str(number): one for number, one in enumerate(requests)}
        return {**meaning, "facts": found}


def _contents(connection: Connection) -> list[str]:
    """The SHA-256 of the kept bytes themselves, each computed here and not read from its column."""
    digests: dict[str, Any] = {}
    sql = text('SELECT sha256, "number", bytes FROM raw_chunk ORDER BY sha256, "number"')
    for key, number, piece in connection.execute(sql):
        clear = PLAIN.content("raw_chunk", (bytes(key), number), bytes(piece))
        digests.setdefault(bytes(key).hex(), hashlib.sha256()).update(clear)
    return [f"{key} {digest.hexdigest()}" for key, digest in digests.items()]


def damage(engine: Engine) -> list[str]:
    """What the database itself says is broken: its pages (SQLite) and its references."""
    with reading(engine) as connection:
        if is_sqlite(engine):
            broken = [str(row) for row in connection.execute(text("PRAGMA foreign_key_check"))]
            whole = [row[0] for row in connection.execute(text("PRAGMA integrity_check"))]
            return broken + [word for word in whole if word != "ok"]
        invalid = text("SELECT conname FROM pg_constraint WHERE contype = 'f' AND NOT convalidated")
        return [row[0] for row in connection.execute(invalid)]
