"""The files of an archive: rows of the store as Parquet, exactly as they are stored.

Values that are compressed or encrypted at rest stay so (`energycomm.eis.sealing`): such a value is bound to its row,
and opens again when the row is back. The other columns are as readable as in the database. Whole numbers are int64,
bytes binary, everything else is text or boolean.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from sqlalchemy import BigInteger, Boolean, Integer, LargeBinary, SmallInteger, Table

from energycomm.eis.bulk import Row, column_names
from energycomm.errors import UserError
from energycomm.private_files import private_folder, written_whole

TOGETHER = 2_000
"""Rows that are written and read at a time."""

MANIFEST = "manifest.json"


class File(Struct, frozen=True, kw_only=True):
    """A file of an archive.

    Attributes:
      name: of the file in the folder of the archive.
      table: whose rows it holds.
      rows: how many.
      bytes: its size.
      sha256: of its content, hexadecimal.
    """

    name: str
    table: str
    rows: int
    bytes: int
    sha256: str


def write_rows(folder: Path, name: str, table: Table, rows: Iterable[Sequence[Row]]) -> File:
    """Write a file, and read it again: it is on the disk, whole, when this returns.

    Args:
      folder: of the archive; made where it is not there.
      name: of the file; one of that name is replaced.
      table: whose rows they are.
      rows: portions of rows, all columns in the order of the table.

    Raises:
      UserError: it cannot be written, or does not read as it was written.
    """
    schema, number = schema_of(table), 0
    path = private_folder(folder, ours=True) / name
    try:
        with written_whole(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for some in rows:
                for start in range(0, len(some), TOGETHER):
                    part = some[start : start + TOGETHER]
                    writer.write_batch(_batch(schema, part))
                    number += len(part)
        _on_disk(folder)
        read = pq.ParquetFile(path).metadata.num_rows
        found = File(name=name, table=str(table.name), rows=number, bytes=path.stat().st_size, sha256=_sha256(path))
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be written: {error}.", "Name another folder, or make room.") from None
    if read != number:
        raise UserError(f"{path} does not read as it was written: {read} rows of {number}.", "Check its disk.")
    return found


def read_rows(folder: Path, file: File, table: Table) -> Iterator[list[Row]]:
    """The rows of a file in portions, in the order of the table's columns of today.

    Columns that the file does not have are empty, or have the value that older rows got; see `check_file`.
    """
    names = column_names(table)
    binary = {name for name in names if isinstance(table.columns[name].type, LargeBinary)}
    for batch in pq.ParquetFile(folder / file.name).iter_batches(TOGETHER):
        rows = batch.to_pydict()
        columns = [rows.get(name, [_default(table, name)] * batch.num_rows) for name in names]
        assert all(isinstance(value, bytes | None) for name in binary for value in rows.get(name, ())[:1])
        yield list(zip(*columns, strict=True))


def check_file(folder: Path, file: File, table: Table) -> None:
    """Refuse a file that is not the one that was written, or whose columns the table no longer has.

    Raises:
      UserError: it is absent, was changed, or is of another version of the tables.
    """
    path = folder / file.name
    try:
        content = _sha256(path)
        names = set(pq.ParquetFile(path).schema_arrow.names) if content == file.sha256 else set()
    except FileNotFoundError:
        raise UserError(
            f"{path} is not there.", "Bring the folder of the archive back, or name it with --folder."
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read: {error}.", "Restore the file from a backup.") from None
    if content != file.sha256:
        raise UserError(f"{path} was changed: its SHA-256 is not {file.sha256}.", "Restore the file from a backup.")
    now = {column.name: column for column in table.columns}
    lost = sorted(names - now.keys())
    filled = {name for name, column in now.items() if column.nullable or column.server_default is not None}
    needed = sorted(now.keys() - names - filled)
    if lost or needed:
        words = ", ".join((*lost, *needed))
        raise UserError(
            f"{path} is of another version of the table {table.name}: {words}.",
            "Restore it with the version of EnergyComm that wrote it, and upgrade then.",
        )


def ends_of(folder: Path, file: File, column: str) -> tuple[int, int] | None:
    """The least and the greatest value of a column of whole numbers; None where the file does not say."""
    parquet = pq.ParquetFile(folder / file.name)
    if column not in parquet.schema_arrow.names:
        return None
    place = parquet.schema_arrow.names.index(column)
    groups = [parquet.metadata.row_group(n).column(place).statistics for n in range(parquet.metadata.num_row_groups)]
    known = [one for one in groups if one is not None and one.has_min_max]
    return (min(one.min for one in known), max(one.max for one in known)) if known else None


def _default(table: Table, name: str) -> Any:
    """What rows of before have in a column that was added: nothing, or its default."""
    default = table.columns[name].server_default
    return None if default is None else int(str(getattr(default, "arg", 0)))


def schema_of(table: Table) -> pa.Schema:
    """The columns of a table's files."""
    return pa.schema([pa.field(one.name, _type(one.type), nullable=bool(one.nullable)) for one in table.columns])


def _type(kind: Any) -> pa.DataType:
    if isinstance(kind, Boolean):
        return pa.bool_()
    if isinstance(kind, BigInteger | Integer | SmallInteger):
        return pa.int64()
    return pa.binary() if isinstance(kind, LargeBinary) else pa.string()


def _batch(schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    arrays = []
    for field, values in zip(schema, zip(*rows, strict=True), strict=True):
        if pa.types.is_boolean(field.type):
            values = tuple(None if value is None else bool(value) for value in values)
        arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _on_disk(folder: Path) -> None:
    """The names in a folder survive a loss of power from now on."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
