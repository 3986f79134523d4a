"""What a stored message takes: bytes of each table and index, and of the write-ahead log.

Example: python -m benchmarks --only size
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from benchmarks import table
from benchmarks.material import READING, flat
from benchmarks.whole_path import UrlOf, fresh_gateway
from energycomm.eis.database import is_sqlite
from energycomm.pipeline.progress import total

LEAST = 1.0
"""Bytes a message below which a table or index has no row of its own."""


def compare(folder: Path, databases: dict[str, UrlOf], messages: int) -> list[str]:
    """Tables of what a daily reading (R151) takes in a fresh store, in Markdown.

    Args:
      folder: where the envelope is written.
      databases: name -> fresh databases.
      messages: how many readings to store.
    """
    material = flat(folder, "R151", messages * READING)
    sums: list[list[str]] = []
    parts: list[list[str]] = []
    for name, url_of in databases.items():
        with fresh_gateway(url_of()) as gateway:
            way, engine = gateway.inbound, gateway.store.engine
            total(way.take(material.before, "bench"))
            before, log = measured(engine), written(engine)
            stored = sum(total(way.take(material.files, "bench")).tally.messages.values())
            spent = written(engine) - log
            after = measured(engine)
        grown = Counter({one: (after[one] - before[one]) / stored for one in after})
        raw = sum(path.stat().st_size for path in material.files) / stored
        logged = "-" if is_sqlite(engine) else f"**{spent / stored:.0f}**"
        sums.append([name, str(stored), f"{raw:.0f}", f"**{sum(grown.values()):.0f}**", logged])
        parts += [[name, kind, of, f"{size:.0f}"] for (kind, of), size in grown.most_common() if size >= LEAST]
    head = ["database", "readings", "XML that arrived, bytes a reading", "stored", "write-ahead log"]
    return [*table(head, sums), "", *table(["database", "what", "name", "bytes a reading"], parts)]


def measured(engine: Engine) -> dict[tuple[str, str], int]:
    """Bytes by (table or index, name)."""
    with engine.connect() as connection:
        return _sqlite_sizes(connection) if is_sqlite(engine) else _postgres_sizes(connection)


def _postgres_sizes(connection: Connection) -> dict[tuple[str, str], int]:
    found = connection.execute(
        text(
            "SELECT CASE relkind WHEN 'i' THEN 'index' ELSE 'table' END, "
            "coalesce(pg_partition_root(oid), oid)::regclass::text, sum(pg_relation_size(oid) "
            "+ CASE WHEN reltoastrelid = 0 THEN 0 ELSE pg_total_relation_size(reltoastrelid) END)::bigint "
            "FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace GROUP BY 1, 2"
        )
    )
    return {(kind, name): size for kind, name, size in found}


def _sqlite_sizes(connection: Connection) -> dict[tuple[str, str], int]:
    """From the pages of each tree; the file alone where this SQLite does not count them."""
    tables = set(inspect(connection).get_table_names())
    if not connection.execute(text("SELECT sqlite_compileoption_used('ENABLE_DBSTAT_VTAB')")).scalar():
        pages = connection.execute(text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
        return {("table", "the whole file"): int(pages.scalar_one())}
    found = connection.execute(text("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    return {("table" if name in tables else "index", name): size for name, size in found}


def written(engine: Engine) -> int:
    """Bytes of the write-ahead log so far; 0 for SQLite, which writes its own over and over."""
    if is_sqlite(engine):
        return 0
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")).scalar_one())
