"""Exports as Parquet, CSV and JSON lines, written piece by piece."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from energycomm.cells import plain_cell
from energycomm.export.disputes import Disputes
from energycomm.export.rows import Export
from energycomm.export.subjects import SCHEMA, Column, Row, Subject

ROWS_TOGETHER = 20_000
"""Rows of a row group, or of a piece of text."""

MEDIA_TYPES = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
}
"""Format -> its media type."""

_json = msgspec.json.Encoder(decimal_format="string")


def pieces(form: str, export: Export | Disputes) -> Iterator[bytes]:
    """An export as bytes, in pieces; one without rows is a file with its columns all the same.

    Args:
      form: parquet, csv or jsonl.
      export: what is exported; Parquet keeps its subject and cursor among its metadata.
    """
    return {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl}[form](export, export.rows())


def arrow_schema(subject: Subject) -> pa.Schema:
    """The columns of a subject in the types of Arrow and Parquet."""
    return pa.schema([pa.field(column.name, _type(column), nullable=column.name != "op") for column in subject.columns])


def _type(column: Column) -> pa.DataType:
    if column.digits is not None:
        whole, fraction = column.digits
        return pa.decimal128(whole + fraction, fraction)
    return {
        "text": pa.string(),
        "json": pa.string(),
        "integer": pa.int64(),
        "truth": pa.bool_(),
        "instant": pa.timestamp("us", tz="UTC"),
        "day": pa.date32(),
    }[column.type]


def _parquet(export: Export | Disputes, rows: Iterator[Row]) -> Iterator[bytes]:
    told = {
        "energycomm.subject": export.subject.name,
        "energycomm.schema": str(SCHEMA),
        "energycomm.cursor": str(export.place),
    }
    schema = arrow_schema(export.subject).with_metadata(told)
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        while some := list(islice(rows, ROWS_TOGETHER)):
            columns = [
                pa.array(values, type=field.type) for values, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is written forward and read out in between."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, data: Any) -> int:
        """Keep bytes until they are taken."""
        piece = bytes(data)
        self._waiting.append(piece)
        self._place += len(piece)
        return len(piece)

    def tell(self) -> int:
        """How much was written."""
        return self._place

    def taken(self) -> bytes:
        """What was written since it was last asked."""
        found, self._waiting = b"".join(self._waiting), []
        return found


def _csv(export: Export | Disputes, rows: Iterator[Row]) -> Iterator[bytes]:
    names: list[Sequence[Any]] = [[column.name for column in export.subject.columns]]
    while some := names or list(islice(rows, ROWS_TOGETHER)):
        names = []
        stream = io.StringIO(newline="")
        csv.writer(stream, quoting=csv.QUOTE_MINIMAL).writerows([_cell(value) for value in row] for row in some)
        yield stream.getvalue().encode()


def _cell(value: Any) -> str:
    """A cell that no spreadsheet runs: numbers stay numbers, an instant is written in UTC."""
    if value is None:
        return ""
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    return format(value, "f") if not isinstance(value, int) else str(value)


_text = lru_cache(maxsize=65_536)(plain_cell)
"""Texts come again and again: units, time classes, access points."""


@lru_cache(maxsize=65_536)
def _instant(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _jsonl(export: Export | Disputes, rows: Iterator[Row]) -> Iterator[bytes]:
    names = [column.name for column in export.subject.columns]
    while some := list(islice(rows, ROWS_TOGETHER)):
        yield b"".join(
            _json.encode({name: value for name, value in zip(names, row, strict=True) if value is not None}) + b"\n"
            for row in some
        )
