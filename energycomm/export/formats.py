"""Exports as Parquet, CSV and JSON lines, written piece by piece."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import lru_cache
from itertools import chain, islice
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
    subject, rows = export.subject, export.rows()
    if form == "parquet":
        schema = _with_metadata(subject, str(export.place))
        return _parquet(schema, _tables(schema, rows))
    return chain(_names(form, subject), _text(form, subject, rows))


def part(form: str, subject: Subject, rows: Iterator[Row]) -> bytes:
    """Some rows of an export, for `joined`."""
    if form == "parquet":
        schema = arrow_schema(subject)
        return b"".join(_parquet(schema, _tables(schema, rows)))
    return b"".join(_text(form, subject, rows))


def joined(form: str, subject: Subject, cursor: str, parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of an export, in their order, as the one file that `pieces` gives.

    Args:
      form: parquet, csv or jsonl.
      subject: what is exported.
      cursor: the place that it brings whoever follows to.
      parts: see `part`; one is in memory at a time.
    """
    if form == "parquet":
        schema = _with_metadata(subject, cursor)
        return _parquet(schema, _together(schema, parts))
    return chain(_names(form, subject), parts)


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


def _with_metadata(subject: Subject, cursor: str) -> pa.Schema:
    told = {
        "energycomm.subject": subject.name,
        "energycomm.schema": str(SCHEMA),
        "energycomm.cursor": cursor,
    }
    return arrow_schema(subject).with_metadata(told)


def _tables(schema: pa.Schema, rows: Iterator[Row]) -> Iterator[pa.Table]:
    """Rows as tables, each of a row group."""
    while some := list(islice(rows, ROWS_TOGETHER)):
        columns = [
            pa.array(values, type=field.type) for values, field in zip(zip(*some, strict=True), schema, strict=True)
        ]
        yield pa.Table.from_arrays(columns, schema=schema)


def _together(schema: pa.Schema, parts: Iterable[bytes]) -> Iterator[pa.Table]:
    """The rows of files as tables, each of a row group, wherever a file ends."""
    waiting = schema.empty_table()
    for content in parts:
        for batch in pq.ParquetFile(pa.BufferReader(content)).iter_batches(ROWS_TOGETHER):
            more = pa.Table.from_batches([batch.replace_schema_metadata(schema.metadata)], schema)
            waiting = pa.concat_tables((waiting, more))
            while waiting.num_rows >= ROWS_TOGETHER:
                yield waiting.slice(0, ROWS_TOGETHER).combine_chunks()
                waiting = waiting.slice(ROWS_TOGETHER)
    if waiting.num_rows:
        yield waiting.combine_chunks()


def _parquet(schema: pa.Schema, groups: Iterator[pa.Table]) -> Iterator[bytes]:
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group)
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


def _names(form: str, subject: Subject) -> Iterator[bytes]:
    """What stands before the rows: the names of the columns in CSV."""
    if form == "csv":
        yield _lines([[column.name for column in subject.columns]])


def _text(form: str, subject: Subject, rows: Iterator[Row]) -> Iterator[bytes]:
    names = [column.name for column in subject.columns]
    while some := list(islice(rows, ROWS_TOGETHER)):
        if form == "csv":
            yield _lines([_cell(value) for value in row] for row in some)
            continue
        yield b"".join(
            _json.encode({name: value for name, value in zip(names, row, strict=True) if value is not None}) + b"\n"
            for row in some
        )


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    return stream.getvalue().encode()


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
        return _plain(value)
    return format(value, "f") if not isinstance(value, int) else str(value)


_plain = lru_cache(maxsize=65_536)(plain_cell)
"""Texts come again and again: units, time classes, access points."""


@lru_cache(maxsize=65_536)
def _instant(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")
