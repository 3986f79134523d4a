"""What the store lacks of what stored messages say: the task of `energycomm eis backfill`, and its buckets.

A bucket holds the messages of some whole access points, or of none, with what is stored beside them. What the accepted
ones leave in the store is derived again from their Kernel XML, their verdicts as they are; where it differs, that is
the result. It asks no store and writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from sqlalchemy import Connection, Table

from energycomm.bulk.buckets import ROWS_TOGETHER
from energycomm.bulk.judging import NO_CHECKPOINTS, opened
from energycomm.bulk.runs import bucket_file
from energycomm.eis import tables
from energycomm.eis.bulk import column_names, driver_of, quoted
from energycomm.eis.nameindex import words_of
from energycomm.eis.particulars import value_text
from energycomm.eis.store import MessageRow, StoreReader
from energycomm.kernel.codec import decode
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import GridCharge, GridInvoice, KernelMessage
from energycomm.market.installed import Markets
from energycomm.pipeline.effects import Rows, content, contents
from energycomm.pipeline.fold import APPLIED, Broken, Entry, Fold, Judge, business_key, fault_words
from energycomm.pipeline.history import counting, start_of
from energycomm.pipeline.rederiving import OF_NO_POINT, rows_alone
from energycomm.pipeline.state import load_state
from energycomm.private_files import written_whole

TOGETHER = 16
"""Access points that are read at a time."""

ALONE_TOGETHER = 500
"""Messages without an access point that are read, and written, at a time."""

_INVOICED = (GridCharge.__name__, GridInvoice.__name__)

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
        pa.field("kind", pa.string(), nullable=False),
        pa.field("counts", pa.bool_(), nullable=False),
        pa.field("particulars", pa.binary(), nullable=False),
        pa.field("invoiced", pa.bool_(), nullable=False),
        pa.field("xml", pa.string(), nullable=False),
        pa.field("start", pa.binary()),
        pa.field("stored", pa.binary()),
    ]
)
"""Columns of a bucket: row and names of the access point, 0 and empty for messages without one; of the message its row,
its place in business order, its state and kind, whether it counts, its particulars, whether it is known to be of an
invoice, its Kernel XML; in the first row of an access point the state that its walk begins with, where that is not
whole, and what is stored of it."""


class Lack(Struct, frozen=True, kw_only=True):
    """What the store lacks of an access point, or of some messages without one.

    Attributes:
      market, identifier: of the access point; the identifier is empty without one.
      counts: (table, kind of message, missing, changed or extra) -> how many.
      rows: messages without an access point whose domain rows differ; of an access point all are looked at.
      derive: domain rows or supply periods of the access point differ.
      particulars, invoices: messages of which these differ.
      customers: rows of customers whose names are not in the index.
      fault: why nothing was derived; None where something was.
    """

    market: str
    identifier: str
    counts: list[tuple[str, str, str, int]] = []
    rows: list[int] = []
    derive: bool = False
    particulars: list[int] = []
    invoices: list[int] = []
    customers: list[int] = []
    fault: str | None = None

    @property
    def is_any(self) -> bool:
        """Whether anything is lacking, or could not be looked at."""
        return bool(self.counts or self.fault)


class Looked(Struct, frozen=True):
    """The result of a bucket: how many messages were looked at, and what is lacking."""

    messages: int
    lacks: list[Lack]


_Row: TypeAlias = dict[str, Any]


def write_buckets(connection: Connection, folder: Path, markets: Markets, size: int) -> Iterator[Path]:
    """Write all messages of the store with what is stored of them, whole access points first; few are in memory.

    Args:
      connection: a snapshot of the store.
      folder: for the files.
      markets: the installed ones.
      size: messages of a bucket.

    Yields:
      Each file when it is whole.

    Raises:
      UserError: a market is not installed.
      DamagedRow: an encrypted message cannot be opened.
    """
    reader = StoreReader(driver_of(connection))
    number, groups = 0, _groups(connection, reader, markets)
    group = next(groups, None)
    while group is not None:
        number += 1
        path = bucket_file(folder, number)
        with written_whole(path) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            told, rows = 0, []
            while group is not None and told < size:
                told += len(group)
                rows += group
                group = next(groups, None)
                if len(rows) >= ROWS_TOGETHER or group is None or told >= size:
                    writer.write_batch(pa.RecordBatch.from_pylist(rows, SCHEMA))
                    rows = []
        yield path


def _groups(connection: Connection, reader: StoreReader, markets: Markets) -> Iterator[list[_Row]]:
    """The rows of one access point after the other; then those of messages without one."""
    after = 0
    while points := reader.driver.rows(_POINTS, (after, TOGETHER)):
        for _, market, _ in points:
            markets.zone(market)
        yield from filter(None, _of_points(reader, points))
        after = points[-1][0]
    after = 0
    while ids := [row[0] for row in reader.driver.rows(_ALONE, (after, ALONE_TOGETHER))]:
        yield from filter(None, _alone(reader, ids))
        after = ids[-1]


_POINTS = "SELECT id, market, identifier FROM access_point WHERE id > ? ORDER BY id LIMIT ?"
_ALONE = "SELECT id FROM kernel_message WHERE access_point_id IS NULL AND id > ? ORDER BY id LIMIT ?"


def _of_points(reader: StoreReader, points: Sequence[tuple[int, str, str]]) -> Iterator[list[_Row]]:
    ids = [point for point, _, _ in points]
    found = reader.messages_of(ids)
    starts = {point: start for point in ids if (start := start_of(reader, point)) is not None}
    for point, (floor, _) in starts.items():
        found[point] = [row for row in found.get(point, ()) if row.effective >= floor]
    every = [row for rows in found.values() for row in rows]
    beside = _beside(reader, every)
    stored = _stored(reader, [table for table in tables.EFFECTS if table.name in _filled(every)], ids)
    for name, number, *period in reader.driver.matching(_PERIODS, ids, "access_point_id"):
        stored.setdefault(number, {}).setdefault(name, []).append(period)
    words = {row[0] for row in reader.driver.matching(_WORDS, ids, "c.access_point_id")}
    for point, market, identifier in points:
        told = [beside(row, point, market, identifier) for row in found.get(point, ())]
        if told:
            kept = stored.get(point, {})
            if point in starts:
                told[0]["start"], floor = starts[point][1], starts[point][0]
                kept = {name: [row for row in rows if row[_at(name)] >= floor] for name, rows in kept.items()}
            customers = [row[0] for row in kept.get(tables.customer.name, ())]
            told[0]["stored"] = _encode((kept, [number for number in customers if number in words]))
        yield told


_PERIOD = str(tables.supply_period.name)
_PERIODS = f"SELECT '{_PERIOD}', access_point_id, at, message_id, ended_at FROM supply_period WHERE true"  # noqa: S608 - our own
_WORDS = "SELECT w.customer_id FROM customer_words w JOIN customer c ON c.id = w.customer_id WHERE true"


def _at(name: str) -> int:
    """The place of the instant in what is stored of a table."""
    return 0 if name == _PERIOD else column_names(tables.DOMAIN[name]).index("at")


def _alone(reader: StoreReader, ids: Sequence[int]) -> Iterator[list[_Row]]:
    rows = reader.messages(ids)
    markets: dict[int, str] = dict(
        reader.driver.matching("SELECT id, market FROM kernel_message WHERE true", ids, "id")
    )
    beside = _beside(reader, rows)
    of = _stored(reader, [tables.DOMAIN[name] for name in sorted(_filled(rows))], ids, "message_id")
    for market, several in groupby(
        sorted(rows, key=lambda row: (markets[row.id], row.id)), lambda row: markets[row.id]
    ):
        told = [beside(row, 0, market, "") for row in several]
        for one in told:
            one["stored"] = _encode((of.get(one["id"], {}), []))
        yield told


def _beside(reader: StoreReader, rows: Sequence[MessageRow]) -> Any:
    """What makes the row of a message, with what is read of all of them at once."""
    counted = {row.id for row in counting(reader, rows)}
    particulars: dict[int, list[tuple[str, str]]] = {}
    sql = "SELECT message_id, name, value FROM particular WHERE true"
    for number, name, value in reader.driver.matching(sql, [row.id for row in rows], "message_id"):
        particulars.setdefault(number, []).append((name, value))
    sql = "SELECT message_id FROM invoice_message WHERE true"
    invoiced = [row.id for row in rows if row.kind in _INVOICED]
    known = {row[0] for row in reader.driver.matching(sql, invoiced, "message_id")}

    def told(row: MessageRow, point: int, market: str, identifier: str) -> _Row:
        return {
            "point": point,
            "market": market,
            "identifier": identifier,
            "id": row.id,
            "identity": row.identity,
            "position": row.position,
            "effective": row.effective,
            "state": row.state,
            "kind": row.kind,
            "counts": row.id in counted,
            "particulars": _encode(sorted(particulars.get(row.id, ()))),
            "invoiced": row.id in known,
            "xml": row.xml,
            "start": None,
            "stored": None,
        }

    return told


def _filled(rows: Sequence[MessageRow]) -> set[str]:
    """The tables that may hold rows of some messages."""
    kinds = {row.kind for row in rows}
    return {kept.table for kind in kinds if kind in KINDS and (kept := KINDS[kind].kept) is not None}


def _stored(
    reader: StoreReader, among: Sequence[Table], ids: Sequence[int], column: str = "access_point_id"
) -> dict[int, dict[str, list[Any]]]:
    """Rows of domain tables, by their access point or message and the name of the table."""
    found: dict[int, dict[str, list[Any]]] = {}
    for table in among:
        if table is tables.supply_period:
            continue
        names = column_names(table)
        alone = f" AND {OF_NO_POINT}" if column == "message_id" and table in tables.EFFECTS else ""
        # Names of our own tables and columns, never values.
        sql = f"SELECT {quoted(names)} FROM {table.name} WHERE true{alone}"  # noqa: S608 - our own names
        place = names.index(column)
        for row in reader.driver.matching(sql, ids, column):
            found.setdefault(row[place], {}).setdefault(str(table.name), []).append(tuple(row))
    return found


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


# --- the task ---------------------------------------------------------------------------------------------------------


def looked(question: bytes, bucket: bytes) -> bytes:
    """Look what the store lacks of the messages of a bucket.

    Args:
      question: an `energycomm.bulk.judging.Question` as JSON: its rules say what an accepted message does.
      bucket: the file.

    Returns:
      `Looked` as JSON.

    Raises:
      UserError: another version of EnergyComm asks, or the engine is not installed here.
    """
    asked, engine = opened(question)
    batches = pq.ParquetFile(pa.BufferReader(bucket)).iter_batches(ROWS_TOGETHER)
    rows = (row for batch in batches for row in batch.to_pylist())
    number, lacks = 0, []
    for (_, market, _), several in groupby(rows, lambda row: (row["point"], row["market"], row["identifier"])):
        found = list(several)
        number += len(found)
        lack = _lack(engine, ZoneInfo(asked.zones[market]), found)
        if lack.is_any:
            lacks.append(lack)
    return msgspec.json.encode(Looked(number, lacks))


def _lack(engine: Judge, zone: ZoneInfo, rows: Sequence[_Row]) -> Lack:
    first = rows[0]
    counts: Counter[tuple[str, str, str]] = Counter()
    messages = {row["id"]: decode(row["xml"]) for row in rows}
    read = {number: one for number, one in messages.items() if isinstance(one, KernelMessage)}
    particulars = [
        row["id"] for row in rows if row["id"] in read and _particulars(read[row["id"]]) != row["particulars"]
    ]
    invoices = [row["id"] for row in rows if row["kind"] in _INVOICED and row["id"] in read and not row["invoiced"]]
    kinds = {row["id"]: row["kind"] for row in rows}
    for table, ids in ((tables.particular, particulars), (tables.invoice_message, invoices)):
        counts.update(
            (str(table.name), kinds[number], "missing" if table is tables.invoice_message else "changed")
            for number in ids
        )
    derive, fault, alone, customers = False, None, [], []
    try:
        if first["point"]:
            customers = _without_words(first, counts)
            derive = _point_differs(engine, zone, rows, read, counts)
        else:
            alone = _differing_alone(engine, rows, read, counts)
    except Broken as broken:
        fault = str(broken)
    except ValueError as error:
        fault = str(error)
    except Exception as error:
        fault = fault_words(error)
    return Lack(
        market=first["market"],
        identifier=first["identifier"],
        counts=[(*what, number) for what, number in sorted(counts.items())],
        rows=alone,
        derive=derive,
        particulars=particulars,
        invoices=invoices,
        customers=customers,
        fault=fault,
    )


def _particulars(message: KernelMessage) -> bytes:
    return _encode(sorted((one.name, value_text(one.value)) for one in message.particulars or ()))


def _without_words(first: _Row, counts: Counter[tuple[str, str, str]]) -> list[int]:
    """The customers whose names are not in the index; one whose name has no word is not expected there."""
    kept, known = _decode(first["stored"])
    name = column_names(tables.customer).index("name")
    found = [
        row[0]
        for row in kept.get(tables.customer.name, ())
        if row[name] is not None and words_of(row[name]) and row[0] not in known
    ]
    if found:
        counts[str(tables.customer_words.name), "CustomerData", "missing"] += len(found)
    return found


def _point_differs(
    engine: Judge,
    zone: ZoneInfo,
    rows: Sequence[_Row],
    read: Mapping[int, KernelMessage],
    counts: Counter[tuple[str, str, str]],
) -> bool:
    first = rows[0]
    entries = []
    for row in rows:
        message = read.get(row["id"])
        if not row["counts"]:
            continue
        if message is None:
            raise ValueError(f"message {row['id']}: its Kernel XML cannot be read")
        key = business_key(message, row["effective"], row["identity"] or b"", row["position"])
        entries.append(Entry(key, message, row["effective"], row["id"], row["state"]))
    entries.sort(key=lambda entry: entry.key)
    fold = Fold(engine, zone, load_state(first["start"]), first["point"], {}, since_checkpoint=NO_CHECKPOINTS)
    fold.foresee(entries)
    for entry in entries:
        fold.replay(entry)
    kept, _ = _decode(first["stored"])
    kinds = {row["id"]: row["kind"] for row in rows}
    before = counts.total()
    written = {(period.start, period.message): period.end for period in fold.state.periods}
    stored = {(at, number): ended for at, number, ended in kept.pop(_PERIOD, ())}
    floor = first["start"] is not None
    for place in written.keys() | stored.keys():
        if floor and place not in stored:
            continue  # it is from before the floor
        if written.get(place, "none") != stored.get(place, "none"):
            what = "missing" if place not in stored else "extra" if place not in written else "changed"
            counts[_PERIOD, kinds.get(place[1], ""), what] += 1
    _compare(fold.rows, kept, kinds, counts)
    return counts.total() > before


def _compare(
    written: Rows, stored: Mapping[str, Sequence[Any]], kinds: Mapping[int, str], counts: Counter[tuple[str, str, str]]
) -> None:
    """Count what domain rows lack: those that a walk writes, and those that are stored, by the name of the table."""
    wanted = {str(table.name): rows for table, rows in written.items()}
    for name in wanted.keys() | stored.keys():
        table = tables.DOMAIN[name]
        place = column_names(table).index("message_id") - 1
        ours = Counter(contents(table, wanted.get(name, [])))
        theirs = Counter(content(table, tuple(row)) for row in stored.get(name, ()))
        missing = Counter(row[place] for row in (ours - theirs).elements())
        extra = Counter(row[place] for row in (theirs - ours).elements())
        for number in missing.keys() | extra.keys():
            kind, changed = kinds.get(number, ""), min(missing[number], extra[number])
            counts[name, kind, "changed"] += changed
            counts[name, kind, "missing"] += missing[number] - changed
            counts[name, kind, "extra"] += extra[number] - changed
    for what in [what for what, number in counts.items() if not number]:
        del counts[what]


def _differing_alone(
    engine: Judge,
    rows: Sequence[_Row],
    read: Mapping[int, KernelMessage],
    counts: Counter[tuple[str, str, str]],
) -> list[int]:
    """The messages without an access point whose domain rows differ."""
    found = []
    for row in rows:
        message = read.get(row["id"])
        if message is None or not row["counts"] or row["state"] not in APPLIED:
            continue
        before = counts.total()
        kept, _ = _decode(row["stored"])
        _compare(rows_alone(engine, message, row["id"]), kept, {row["id"]: row["kind"]}, counts)
        if counts.total() > before:
            found.append(row["id"])
    return found
