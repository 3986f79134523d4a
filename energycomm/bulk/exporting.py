"""Exports by buckets: what was read of the store is written to buckets, and any process makes the file's rows of them.

A bucket holds messages in the order of the export, none of them in two. Its result is the part of the file that its
messages make; the parts one after the other are the file that one process writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from sqlalchemy import Boolean, Connection, Engine, Integer
from sqlalchemy.types import TypeEngine

from energycomm.bulk.buckets import ROWS_TOGETHER
from energycomm.bulk.runs import Run, bucket_file, finished
from energycomm.bulk.workers import Task, Workers, refuse_other_program
from energycomm.eis import tables
from energycomm.eis.away import Archive
from energycomm.errors import UserError
from energycomm.export.formats import joined, part
from energycomm.export.making import OF_MESSAGE, Making, Told, read_columns
from energycomm.export.rows import Export, export_in, subject_of
from energycomm.export.subjects import DISPUTES, WITHDRAW, Row, Selection, Subject
from energycomm.market.installed import Markets
from energycomm.private_files import written_whole

BUCKET_ROWS = 20_000
"""Rows of the store in a bucket: the message that reaches them is its last."""

BUCKET_PARTS = 1 << 18
"""Characters of parts in a bucket: a row of the store may be thousands of a curve's."""

_Stored: TypeAlias = tuple[Any, ...]
"""A row of a bucket."""

_COUNT = 8
"""Bytes before a result that say how many rows it has."""

_AWAY = "away"
"""Note of the archives that hold rows of the export."""


class Question(Struct, frozen=True, kw_only=True):
    """What is exported.

    Attributes:
      subject: its name.
      form: parquet, csv or jsonl.
      selection: which rows.
      cursor: where an earlier export ended; None: all that holds.
      zones: market -> name of its legal time.
      program: version of EnergyComm that asks: another one may have other columns.
    """

    subject: str
    form: str
    selection: Selection
    cursor: str | None
    zones: dict[str, str]
    program: str = version("energycomm")


def question(subject: str, form: str, selection: Selection, cursor: str | None, markets: Markets) -> Question:
    """What is to be exported.

    Raises:
      UserError: there is no such subject, or it is not exported by buckets.
    """
    subject_of(subject)
    if subject == DISPUTES:
        raise UserError(
            "The disputes are not exported by buckets: invoices are checked against the whole store.",
            "Leave out --work and --processes.",
        )
    zones = {market: zone.key for market, zone in markets.zones.items()}
    return Question(subject=subject, form=form, selection=selection, cursor=cursor, zones=zones)


def bucket_schema(subject: Subject) -> pa.Schema:
    """The columns of a bucket: `op` and message, `OF_MESSAGE`, then those that are read of the subject's table.

    A message that is taken back unless a row of it is wanted has a first row that says so, with its origin alone.
    """
    columns = tables.metadata.tables[subject.table].columns
    texts = ("market", "access_point", "kind", "market_type")
    head = {"at": pa.int64(), **dict.fromkeys(texts, pa.string())}
    return pa.schema(
        [
            pa.field("op", pa.string(), nullable=False),
            pa.field("message", pa.int64(), nullable=False),
            *(pa.field(name, head[name]) for name in OF_MESSAGE),
            *(pa.field(f"own_{name}", _type(columns[name].type)) for name in read_columns(subject)),
        ]
    )


def _type(kept: TypeEngine[Any]) -> pa.DataType:
    if isinstance(kept, Boolean):
        return pa.bool_()
    return pa.int64() if isinstance(kept, Integer) else pa.string()


class Exporting:
    """Exports a subject; see `energycomm.bulk.runs.Work`.

    Args:
      asked: what is exported.
      rows: rows of the store in a bucket; `BUCKET_ROWS` when None.
    """

    def __init__(self, asked: Question, rows: int | None = None) -> None:
        self.question = msgspec.json.encode(asked)
        self.task: Task = made
        self._asked, self._rows = asked, rows or BUCKET_ROWS
        self._subject, self._zones = subject_of(asked.subject), _zones(asked)

    def notes(self, connection: Connection) -> dict[str, str]:
        """The archives that hold rows which would be among these."""
        return {_AWAY: msgspec.json.encode(self._opened(connection).lacks()).decode()}

    def write(self, connection: Connection, folder: Path) -> Iterator[Path]:
        """Write the buckets; few rows are in memory."""
        export, schema = self._opened(connection), bucket_schema(self._subject)
        names = read_columns(self._subject)
        parts = names.index(self._subject.parts) - len(names) if self._subject.parts else None
        messages = filter(None, (list(_stored(told, len(names))) for told in export.read()))
        message, number = next(messages, None), 0
        while message is not None:
            number += 1
            path = bucket_file(folder, number)
            with written_whole(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
                held = size = 0
                rows: list[_Stored] = []
                while message is not None and held < self._rows and size < BUCKET_PARTS:
                    held += len(message)
                    size += sum(len(row[parts] or "") for row in message) if parts is not None else 0
                    rows += message
                    message = next(messages, None)
                    if len(rows) >= ROWS_TOGETHER:
                        writer.write_batch(_batch(schema, rows))
                        rows = []
                if rows:
                    writer.write_batch(_batch(schema, rows))
            yield path

    def _opened(self, connection: Connection) -> Export:
        asked = self._asked
        return export_in(connection, self._subject, asked.selection, self._zones, asked.cursor)


def _stored(told: Told, columns: int) -> Iterator[_Stored]:
    """The rows of a message in a bucket."""
    if told.origin is not None:
        yield (WITHDRAW, told.message, *told.origin, *(None,) * (len(OF_MESSAGE) - 2 + columns))
    for row in told.rows:
        yield (told.op, told.message, *row)


def _batch(schema: pa.Schema, rows: Sequence[_Stored]) -> pa.RecordBatch:
    columns = []
    for values, field in zip(zip(*rows, strict=True), schema, strict=True):
        # SQLite keeps a truth as a number.
        truths = field.type == pa.bool_()
        told = [None if value is None else bool(value) for value in values] if truths else values
        columns.append(pa.array(told, type=field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def read_bucket(content: bytes) -> Iterator[Told]:
    """The messages of a bucket, as they were read of the store."""
    batches = pq.ParquetFile(pa.BufferReader(content)).iter_batches(ROWS_TOGETHER)
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for message, several in groupby(rows, key=lambda row: row[1]):
        found = list(several)
        first = found[0]
        origin = (first[2], first[3]) if first[0] == WITHDRAW else None
        yield Told(found[-1][0], message, origin, [row[2:] for row in (found if origin is None else found[1:])])


def made(asked: bytes, bucket: bytes) -> bytes:
    """Make the rows of a bucket.

    Args:
      asked: a `Question` as JSON.
      bucket: the file.

    Returns:
      How many rows, and their part of the file.

    Raises:
      UserError: another version of EnergyComm asks.
    """
    wanted, making = _opened(asked)
    number = 0

    def rows() -> Iterator[Row]:
        nonlocal number
        for told in read_bucket(bucket):
            for row in making.rows(told):
                number += 1
                yield row

    content = part(wanted.form, making.subject, rows())
    return number.to_bytes(_COUNT, "big") + content


@lru_cache(maxsize=1)
def _opened(asked: bytes) -> tuple[Question, Making]:
    found = msgspec.json.decode(asked, type=Question)
    refuse_other_program(found.program)
    return found, Making(subject_of(found.subject), found.selection, _zones(found))


def _zones(asked: Question) -> dict[str, ZoneInfo]:
    return {market: ZoneInfo(name) for market, name in asked.zones.items()}


class Exported:
    """An export that a run made.

    Args:
      run: the run.
      asked: what was exported.

    Attributes:
      told: how many rows were taken out so far.
      cursor: the place in the history of the store that it brings whoever follows to.
      continued: when the store was read, where the run was begun earlier; else None.
      away: the archives that hold rows which would be among these.
    """

    def __init__(self, run: Run, asked: Question) -> None:
        self._run, self._asked = run, asked
        self.told, self.cursor = 0, run.place
        self.continued = run.taken_at if run.continued else None
        self.away = msgspec.json.decode(run.notes[_AWAY], type=tuple[Archive, ...])

    def pieces(self) -> Iterator[bytes]:
        """The file, in pieces."""
        return joined(self._asked.form, subject_of(self._asked.subject), self.cursor, self._parts())

    def clear(self) -> None:
        """Remove the buckets, once the file is whole: who runs the same export again begins anew."""
        self._run.clear()

    def _parts(self) -> Iterator[bytes]:
        for result in self._run.results():
            self.told += int.from_bytes(result[:_COUNT], "big")
            yield result[_COUNT:]


@contextmanager
def exported(
    engine: Engine,
    asked: Question,
    folder: Path,
    workers: Workers,
    *,
    rows: int | None = None,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> Iterator[Exported]:
    """Export by buckets; a run that was cut off goes on with those that have no result, of the store as it was then.

    Args:
      engine: the store, which is only read.
      asked: what is exported.
      folder: for the run alone; the same folder continues it.
      workers: who makes the rows.
      rows: rows of the store in a bucket; `BUCKET_ROWS` when None.
      watch: called with (buckets done, buckets of the run).

    Yields:
      The export, as long as nobody else uses its folder.

    Raises:
      UserError: a value is unknown, the cursor cannot be followed from, or see `energycomm.bulk.runs.finished`.
    """
    with finished(engine, Exporting(asked, rows), folder, workers, watch) as run:
        yield Exported(run, asked)
