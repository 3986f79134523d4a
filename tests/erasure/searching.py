"""A search of everything that a store is made of, by other means than the program's: bytes on disks, opened values."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import zstandard
from sqlalchemy import Engine, text

import energycomm
from energycomm.eis import tables
from energycomm.eis.bulk import column_names, driver_of
from energycomm.eis.database import is_sqlite, reading
from energycomm.eis.datakeys import vault_of
from energycomm.eis.sealing import sealed_column

DICTIONARIES = Path(energycomm.__file__).parent / "eis" / "dictionaries"


def unpacked(content: bytes) -> bytes | None:
    """What is packed as docs/operating.md says, opened by zstd alone; None where nothing is."""
    file = DICTIONARIES / f"{content[0] - 1}.zstd" if content else DICTIONARIES
    if content[:1] != b"\x01" and not file.is_file():
        return None
    against = zstandard.ZstdCompressionDict(file.read_bytes()) if file.is_file() else None
    try:
        return zstandard.ZstdDecompressor(against, format=zstandard.FORMAT_ZSTD1_MAGICLESS).decompress(content[1:])
    except (zstandard.ZstdError, MemoryError):
        return None


def inside(content: bytes) -> Iterator[bytes]:
    """A content, and what it holds packed or in zips."""
    yield content
    if (clear := unpacked(content)) is not None:
        yield from inside(clear)
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for name in opened.namelist():
                yield from inside(opened.read(name))


def values(engine: Engine) -> Iterator[tuple[str, bytes]]:
    """Every value of every row of every table, in clear."""
    vault = vault_of(engine)
    with reading(engine) as connection:
        driver = driver_of(connection)
        for table in tables.metadata.sorted_tables:
            names, sealed = column_names(table), sealed_column(table)
            for row in driver.rows(
                f"SELECT {', '.join(f'{chr(34)}{one}{chr(34)}' for one in names)} FROM {table.name}"
            ):
                named = dict(zip(names, row, strict=True))
                for name, value in named.items():
                    if sealed is not None and name == sealed.column:
                        value = vault.value(sealed, tuple(named[key] for key in sealed.keys), value)
                    content = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
                    for part in inside(content):
                        yield f"{table.name}.{name}", part


def in_values(engine: Engine, words: list[str]) -> list[tuple[str, str]]:
    """Where words are found in the values of a store, in any case of letters: (table and column, word).

    Four digits stand somewhere in many an instant or hash: what has only a few is looked for as a number of its own.
    """
    wanted = [word.lower() for word in words]
    signs = {word: rf"(?<!\w){word}(?!\w)" if word.isdigit() and len(word) < 8 else re.escape(word) for word in wanted}
    found = {
        (place, word)
        for place, content in values(engine)
        for word, sign in signs.items()
        if re.search(sign, content.decode("utf-8", "replace").lower())
    }
    return sorted(found)


def on_disk(engine: Engine, words: list[str]) -> list[str]:
    """Which words are found in the bytes of the files of a database: of PostgreSQL of the whole server but its log."""
    if is_sqlite(engine):
        path = Path(str(engine.url.database))
        files = [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")]
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("CHECKPOINT"))
            data = Path(str(connection.execute(text("SHOW data_directory")).scalar()))
            name = connection.execute(text("SELECT oid FROM pg_database WHERE datname = current_database()")).scalar()
        files = [path for path in (data / "base" / str(name)).iterdir() if path.is_file()]
    contents = [path.read_bytes().lower() for path in files if path.exists()]
    return [word for word in words if any(word.lower().encode() in content for content in contents)]


def in_archives(engine: Engine, folder: Path, words: list[str]) -> list[tuple[str, str]]:
    """Where words are found in the files of archives: in their bytes, and in the values of their rows, in clear."""
    vault, found = vault_of(engine), set()
    for path in sorted(folder.rglob("*.parquet")):
        table = tables.metadata.tables[path.name.split("-")[0]]
        sealed = sealed_column(table)
        contents = [path.read_bytes()]
        for row in pq.read_table(path).to_pylist():
            for name, value in row.items():
                if sealed is not None and name == sealed.column:
                    value = vault.value(sealed, tuple(row[key] for key in sealed.keys), value)
                contents += inside(bytes(value) if isinstance(value, bytes) else str(value).encode())
        for content in contents:
            text_of = content.decode("utf-8", "replace").lower()
            found |= {(path.name, word) for word in words if word.lower() in text_of}
    return sorted(found)
