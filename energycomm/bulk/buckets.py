"""Buckets: the messages of some whole access points as a Parquet file, read from one snapshot of the store.

A bucket holds all that judging its messages again takes, so that whoever judges it needs no store. Its rows are Kernel
messages in the order of their access points; only messages that count are in it (incoming, not withdrawn, of a
corrected one the newest version). Buckets hold Kernel XML in plain text: they are private files, and are removed with
their run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from sqlalchemy import Connection, select

from energycomm.bulk.runs import bucket_file
from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.store import MessageRow, StoreReader
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import KernelMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.fold import APPLIED, Entry, business_key
from energycomm.pipeline.history import counting, start_of, was_given_up
from energycomm.private_files import written_whole

BUCKET_MESSAGES = 20_000
"""Messages of a bucket: the access point that reaches them is its last."""

POINTS_TOGETHER = 16
"""Access points that are read at a time, at most."""

MESSAGES_TOGETHER = 4_000
"""Messages after which no further access point is read with them: each of some may have thousands."""

ROWS_TOGETHER = 2_000
"""Rows of a bucket that are written and read at a time."""

SCHEMA = pa.schema(
    [
        pa.field("point", pa.int64(), nullable=False),
        pa.field("market", pa.string(), nullable=False),
        pa.field("identifier", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("identity", pa.binary()),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("effective", pa.int64(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("given_up", pa.bool_(), nullable=False),
        pa.field("asked", pa.bool_(), nullable=False),
        pa.field("codes", pa.string(), nullable=False),
        pa.field("xml", pa.string(), nullable=False),
        pa.field("start", pa.binary()),
    ]
)
"""Columns of a bucket: row and names of the access point; of the message its row, its place in business order, its
state; whether its verdict is asked for, the error codes of that verdict with blanks between, its Kernel XML; the state
that judging begins with, in the first row of an access point whose earlier history is in an archive."""


class Point(Struct, frozen=True):
    """An access point of a bucket.

    Attributes:
      id: its row.
      market, identifier: its names.
      entries: its messages that can be read, in business order.
      asked: message -> error codes of its stored verdict, of those whose verdicts are asked for.
      start: the state that judging begins with; None for one that knows nothing.
    """

    id: int
    market: str
    identifier: str
    entries: list[Entry]
    asked: dict[int, tuple[str, ...]]
    start: bytes | None = None


def write_buckets(
    connection: Connection,
    folder: Path,
    markets: Markets,
    since: int,
    states: Collection[str] = (),
    size: int = BUCKET_MESSAGES,
) -> Iterator[Path]:
    """Write the access points with messages that are asked for, whole, in buckets; few rows are in memory.

    Args:
      connection: a snapshot of the store.
      folder: for the files.
      markets: the installed ones.
      since: microseconds since the epoch; only verdicts of messages that arrived since then are asked for.
      states: and only of messages in these states; in any when empty.
      size: messages of a bucket.

    Yields:
      Each file when it is whole, in the order of access points.

    Raises:
      UserError: the database was lost, or a market is not installed.
      DamagedRow: an encrypted message cannot be opened.
    """
    number, points = 0, _points(connection, markets, since, states)
    point = next(points, None)
    while point is not None:
        number += 1
        path = bucket_file(folder, number)
        with written_whole(path) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            told, rows = 0, []
            while point is not None and told < size:
                told += len(point)
                rows += point
                point = next(points, None)
                if len(rows) >= ROWS_TOGETHER or point is None or told >= size:
                    writer.write_batch(pa.RecordBatch.from_pylist(rows, SCHEMA))
                    rows = []
        yield path


def _points(
    connection: Connection, markets: Markets, since: int, states: Collection[str]
) -> Iterator[list[dict[str, Any]]]:
    """The rows of one access point after the other."""
    reader = StoreReader(driver_of(connection))
    for ids in _in_parts(reader, _with_messages(connection, since, states)):
        sql = "SELECT id, market, identifier FROM access_point WHERE true"
        named = {row[0]: (row[1], row[2]) for row in reader.driver.matching(sql, ids, "id")}
        for market, _ in named.values():
            markets.zone(market)
        found = reader.messages_of(ids)
        starts = {point: start for point in ids if (start := start_of(reader, point)) is not None}
        for point, (floor, _) in starts.items():
            found[point] = [row for row in found.get(point, ()) if row.effective >= floor]
        counted = {row.id for row in counting(reader, [row for rows in found.values() for row in rows])}
        kept = {point: [row for row in rows if row.id in counted] for point, rows in found.items()}
        asked = {
            row.id: row
            for rows in kept.values()
            for row in rows
            if row.received_at >= since and (not states or row.state in states)
        }
        codes = _codes(reader, list(asked.values()))
        for point, rows in sorted(kept.items()):
            told = [_row(point, *named[point], row, asked=row.id in asked, codes=codes.get(row.id, "")) for row in rows]
            if told and point in starts:
                told[0]["start"] = starts[point][1]
            yield told


def _with_messages(connection: Connection, since: int, states: Collection[str]) -> Iterator[Sequence[int]]:
    t = tables.kernel_message.c
    query = select(t.access_point_id).where(t.received_at >= since, t.access_point_id.is_not(None))
    if states:
        query = query.where(t.state.in_(states))
    options = {"stream_results": True, "max_row_buffer": 2000}
    found = connection.execute(query.distinct().order_by(t.access_point_id), execution_options=options)
    for some in found.scalars().partitions(POINTS_TOGETHER):
        yield list(some)


def _in_parts(reader: StoreReader, several: Iterable[Sequence[int]]) -> Iterator[list[int]]:
    """Access points whose messages are read together: one, or as many as have few."""
    sql = "SELECT access_point_id, count(*) FROM kernel_message WHERE true"
    for ids in several:
        counts: dict[int, int] = dict(reader.driver.matching(sql, ids, "access_point_id", "GROUP BY access_point_id"))
        part, messages = [ids[0]], counts[ids[0]]
        for point in ids[1:]:
            messages += counts[point]
            if messages > MESSAGES_TOGETHER:
                yield part
                part, messages = [], counts[point]
            part.append(point)
        yield part


def _codes(reader: StoreReader, asked: Sequence[MessageRow]) -> dict[int, str]:
    """Error codes of the verdicts that are asked for; an accepted message has none."""
    refused = [row.id for row in asked if row.state not in APPLIED]
    return {number: " ".join(sorted(codes)) for number, codes in reader.current_codes(refused).items()}


def _row(point: int, market: str, identifier: str, row: MessageRow, *, asked: bool, codes: str) -> dict[str, Any]:
    return {
        "point": point,
        "market": market,
        "identifier": identifier,
        "id": row.id,
        "identity": row.identity,
        "position": row.position,
        "effective": row.effective,
        "state": row.state,
        "given_up": was_given_up(row),
        "asked": asked,
        "codes": codes,
        "xml": row.xml,
        "start": None,
    }


def read_bucket(content: bytes) -> Iterator[Point]:
    """The access points of a bucket, one at a time.

    Args:
      content: the file. Messages whose Kernel XML this version cannot read are left out, as by the live path.
    """
    file = pq.ParquetFile(pa.BufferReader(content))
    batches = file.iter_batches(ROWS_TOGETHER)
    rows = (row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    for (point, market, identifier), several in groupby(rows, key=itemgetter(0, 1, 2)):
        entries: list[Entry] = []
        asked: dict[int, tuple[str, ...]] = {}
        start: bytes | None = None
        for _, _, _, number, identity, position, at, state, given_up, is_asked, codes, xml, begin in several:
            start = start or begin
            message = decode(xml)
            if not isinstance(message, KernelMessage):
                continue
            key = business_key(message, at, identity or b"", position)
            entries.append(Entry(key, message, at, number, state, given_up))
            if is_asked:
                asked[number] = tuple(codes.split())
        entries.sort(key=lambda entry: entry.key)
        yield Point(point, market, identifier, entries, asked, start)
