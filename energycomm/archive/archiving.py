"""Archives: what arrived up to the end of a month leaves the store for Parquet files, and comes back.

An archive is written in pieces. The files of a piece are on the disk before the transaction commits that removes their
rows; a run that ends early is continued by the next one, and nothing is ever in neither place. It comes back piece by
piece in the same way, each file checked against its SHA-256 before.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, field
from sqlalchemy import Connection, Table, text

from energycomm.archive.files import MANIFEST, File, check_file, ends_of, read_rows, write_rows
from energycomm.eis import changelog, migrations, tables
from energycomm.eis.away import BYTES_LEAVE, Archive, archives
from energycomm.eis.bulk import PostgresDriver, Row, column_names, quoted
from energycomm.eis.database import reading
from energycomm.eis.partitions import END, PARTITIONED, Busy, Partition, Partitions, is_over, take_out
from energycomm.eis.store import Store, StoreTransaction
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, micros
from energycomm.pipeline.leaving import MEASURES, points_with, portion, remove, removing
from energycomm.private_files import written_whole

ENVELOPES = 200
"""Envelopes whose bytes leave in one transaction."""

CHUNKS = 16
"""Pieces of 1 MiB of an envelope that are in memory at a time."""

_MONTH = re.compile(r"(\d{4})-(\d{2})")
_FILES = msgspec.json.Decoder(list[File])

Watch = Callable[[str, int], None]
"""Told what was done: `messages` or `envelopes`, and how many more."""


class Written(Struct):
    """What a run did.

    Attributes:
      messages: how many left.
      envelopes: how many left their bytes.
      bytes: size of the files.
      stays: why other messages of the time stay, in words -> how many.
    """

    messages: int = 0
    envelopes: int = 0
    bytes: int = 0
    stays: Counter[str] = field(default_factory=Counter)


def end_of(month: str, now: int) -> int:
    """The end of a month, UTC, in microseconds since the epoch.

    Raises:
      UserError: it is no month, or not over yet.
    """
    found = _MONTH.fullmatch(month)
    if found is None or not 1 <= int(found[2]) <= 12 or int(found[1]) < 1970:
        raise UserError(f"{month!r} is no month.", "Write it like 2026-01.")
    years, months = divmod(int(found[1]) * 12 + int(found[2]), 12)
    if years > 9999:
        raise UserError(f"{month!r} is no month.", "Write it like 2026-01.")
    end = micros(datetime(years, months + 1, 1, tzinfo=UTC))
    if end > now:
        raise UserError(f"{month} is not over yet.", "An archive holds what arrived up to the end of a month.")
    return end


def find(store: Store, name: str) -> Archive:
    """The archive of a name.

    Raises:
      UserError: there is none.
    """
    with reading(store.engine) as connection:
        there = archives(connection)
    for one in there:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in there) or "there is none yet"
    raise UserError(f"There is no archive {name!r}.", f"`energycomm eis archive list` shows them: {names}.")


def write(
    store: Store, folder: Path, month: str, by: str, now: int, watch: Watch = lambda _what, _rows: None
) -> Written:
    """Write an archive, go on with one that is not whole, or add to one what was settled since.

    Args:
      store: the EIS.
      folder: where archives are; each has a folder of its own there.
      month: what arrived up to its end leaves, as far as it is still there.
      by: who does it.
      now: the present, microseconds since the epoch.
      watch: told what was done.

    Raises:
      UserError: it is no month that is over; files cannot be written; another process writes the archive; it was begun
        in another folder.
    """
    before, done = end_of(month, now), Written()
    with removing(store) as unchecked:
        place = folder.resolve() / month
        number = _begin(unchecked, place, month, before, by, now)
        while _messages(unchecked, number, place, before, done, watch):
            pass
        for partition in _over(unchecked, before):
            _whole(unchecked, number, place, before, partition, done, watch)
        while _bytes(unchecked, number, place, before, done, watch):
            pass
        _manifest(unchecked, number, place, month)
        with unchecked.transaction() as tx:
            tx.driver.run("UPDATE archive SET written_at = ? WHERE id = ?", (now, number))
    Partitions(store.engine).tend()
    done.stays = +done.stays
    return done


def restore(
    store: Store, name: str, folder: Path | None = None, watch: Watch = lambda _what, _rows: None
) -> tuple[int, int]:
    """Bring back what an archive holds; what is back already is left alone. The files stay.

    Args:
      store: the EIS.
      name: of the archive.
      folder: of its files, where they are not where they were written.
      watch: told what was done.

    Returns:
      Messages, and envelopes whose bytes came back.

    Raises:
      UserError: there is no such archive; a file is absent or was changed, or is of another version.
    """
    archive = find(store, name)
    place = (folder or Path(archive.folder)).resolve()
    counts = {"messages": 0, "raw": 0}
    with removing(store) as unchecked:
        for number in _away(unchecked, archive.id):
            what, rows = _back(unchecked, archive.id, number, place)
            counts[what] += rows
            watch("messages" if what == "messages" else "envelopes", rows)
    return counts["messages"], counts["raw"]


def check(store: Store, name: str, folder: Path | None = None) -> Iterator[str]:
    """What is wrong with the files of an archive that hold what is away; nothing where it can come back.

    Raises:
      UserError: there is no such archive.
    """
    archive = find(store, name)
    place = (folder or Path(archive.folder)).resolve()
    for number in _away(store, archive.id):
        for file in _piece(store, archive.id, number)[2]:
            try:
                check_file(place, file, _table(file.table))
            except UserError as error:
                yield str(error)


class Changed(NamedTuple):
    """A file of an archive that is to be written anew.

    Attributes:
      rows: its rows, in portions.
      also: what belongs to it in the store.
    """

    rows: Iterator[Sequence[Row]]
    also: Callable[[StoreTransaction], None]


def rewrite(
    store: Store, archive: Archive, clean: Callable[[Table, Callable[[], Iterator[list[Row]]]], Changed | None]
) -> int:
    """Write files of an archive anew, those of what came back too, and remove the former ones.

    The new file of a piece is on the disk before the transaction that names it; whenever a run ends, the next one finds
    the files that count, and removes the others.

    Args:
      store: the EIS.
      archive: the archive.
      clean: is given the table of a file and how its rows are read; None where the file is to stay.

    Returns:
      How many files were written.

    Raises:
      UserError: a file of what is away is absent or was changed; one cannot be written.
    """
    place, written = Path(archive.folder), 0
    with store.reading() as reader:
        sql = 'SELECT "number", away FROM archive_piece WHERE archive_id = ? ORDER BY 1'
        pieces = [(row[0], bool(row[1])) for row in reader.driver.rows(sql, (archive.id,))]
    for number, away in pieces:
        files: list[File] = []
        done: list[Callable[[StoreTransaction], None]] = []
        for file in sorted(_piece(store, archive.id, number)[2], key=lambda one: one.table != "kernel_message"):
            table = _table(file.table)
            if not away and not (place / file.name).exists():
                files.append(file)
                continue
            check_file(place, file, table)
            changed = clean(table, partial(read_rows, place, file, table))
            if changed is None:
                files.append(file)
            else:
                files.append(write_rows(place, _following(file.name), table, changed.rows))
                done.append(changed.also)
        if done:
            written += len(done)
            with store.transaction() as tx:
                _locked(tx, archive.id)
                sql = 'UPDATE archive_piece SET files = ? WHERE archive_id = ? AND "number" = ?'
                tx.driver.run(sql, (msgspec.json.encode(files).decode(), archive.id, number))
                for also in done:
                    also(tx)
    _remove_loose(store, archive.id, place)
    if written:
        _manifest(store, archive.id, place, archive.name)
    return written


def _following(name: str) -> str:
    """The name of the next writing of a file: raw_chunk-00001.parquet, raw_chunk-00001.2.parquet, ..."""
    stem, *numbers = name.removesuffix(".parquet").split(".")
    return f"{stem}.{int(numbers[0]) + 1 if numbers else 2}.parquet"


def _remove_loose(store: Store, archive: int, place: Path) -> None:
    """Remove the files that a writing anew left behind; nobody writes the archive meanwhile."""
    with store.transaction() as tx:
        _locked(tx, archive)
        rows = tx.driver.rows("SELECT files FROM archive_piece WHERE archive_id = ?", (archive,))
        counts = {file.name for row in rows for file in _FILES.decode(row[0])}
        again = {name.split(".")[0] for name in counts}
        for path in place.glob("*.parquet"):
            if path.name not in counts and path.name.split(".")[0] in again:
                path.unlink()


# --- writing ---


def _begin(store: Store, place: Path, month: str, before: int, by: str, now: int) -> int:
    """The archive's row. One that is written is gone through again."""
    with store.transaction() as tx:
        rows = tx.driver.rows("SELECT id, folder, written_at FROM archive WHERE name = ?", (month,))
        if not rows:
            (number,) = tx.reserve(tables.archive, 1)
            row = {"id": number, "name": month, "before": before, "folder": str(place), "by": by, "made_at": now}
            tx.insert(tables.archive, [{**row, "revision": migrations.HEAD, "upto_point": 0}])
            return number
        ((number, folder, written_at),) = rows
        away = tx.driver.rows("SELECT count(*) FROM archive_piece WHERE archive_id = ? AND away", (number,))[0][0]
        if away and Path(folder) != place:
            raise UserError(
                f"The archive {month} is in {folder}, not in {place}.",
                "Name the folder above that one, or restore the archive first.",
            )
        if not away:
            # Nothing of it is in files alone: it is written anew.
            tx.driver.run("DELETE FROM archive_piece WHERE archive_id = ?", (number,))
        if not away or written_at is not None:
            tx.driver.run(
                "UPDATE archive SET folder = ?, revision = ?, upto_point = 0, written_at = NULL WHERE id = ?",
                (str(place), migrations.HEAD, number),
            )
        return int(number)


def _messages(store: Store, archive: int, place: Path, before: int, done: Written, watch: Watch) -> bool:
    """The next piece of messages; whether there may be more."""

    def run(tx: StoreTransaction) -> tuple[bool, int, int, Counter[str]]:
        upto, number = _locked(tx, archive)
        points = points_with(tx, MEASURES, upto, before)
        if not points:
            return False, 0, 0, Counter()
        leaving, size = portion(tx, MEASURES, points, before), 0
        messages = leaving.messages
        if messages:
            files = [
                write_rows(place, f"{table.name}-{number:05}.parquet", table, [rows])
                for table, rows in leaving.rows.items()
            ]
            remove(tx, leaving, archive, number)
            at = column_names(tables.kernel_message).index("effective")
            instants = [row[at] for row in messages]
            ids = [row[0] for row in messages]
            _store_piece(tx, archive, number, "messages", files, len(ids), ids, instants)
            size = sum(file.bytes for file in files)
        tx.driver.run("UPDATE archive SET upto_point = ? WHERE id = ?", (points[-1], archive))
        return True, len(messages), size, leaving.stays

    (more, messages, size, stays), _ = store.retried(run)
    done.messages += messages
    done.bytes += size
    done.stays.update(stays)
    if messages:
        watch("messages", messages)
    return more


_RAW = (
    "SELECT e.id, e.sha256, e.received_at FROM envelope e JOIN raw r ON r.sha256 = e.sha256 "
    "WHERE e.received_at < ? AND e.state = 'done' AND e.duplicate_of IS NULL AND r.archive_id IS NULL "
    'AND EXISTS (SELECT 1 FROM raw_chunk c WHERE c.sha256 = e.sha256 AND c."number" = 0) '
    "AND NOT EXISTS (SELECT 1 FROM envelope o WHERE o.sha256 = e.sha256 AND o.state IN ('archived', 'processing')) "
    "AND NOT EXISTS (SELECT 1 FROM ch_message c WHERE c.envelope_id = e.id AND c.outcome = 'put-aside') "
    "ORDER BY e.id LIMIT ?"
)


def _bytes(store: Store, archive: int, place: Path, before: int, done: Written, watch: Watch) -> bool:
    """The next piece of raw bytes; whether there was one."""

    def run(tx: StoreTransaction) -> tuple[int, int]:
        _, number = _locked(tx, archive)
        found = tx.driver.rows(_RAW, (before, ENVELOPES))
        if not found:
            return 0, 0
        contents = sorted({bytes(row[1]) for row in found})
        file = write_rows(place, f"raw_chunk-{number:05}.parquet", tables.raw_chunk, _chunks(tx, contents))
        tx.driver.many("UPDATE raw SET archive_id = ? WHERE sha256 = ?", [(archive, sha256) for sha256 in contents])
        tx.driver.many("DELETE FROM raw_chunk WHERE sha256 = ?", [(sha256,) for sha256 in contents])
        ids, instants = [row[0] for row in found], [row[2] for row in found]
        _store_piece(tx, archive, number, "raw", [file], len(found), ids, instants)
        return len(found), file.bytes

    (envelopes, size), _ = store.retried(run)
    done.envelopes += envelopes
    done.bytes += size
    if envelopes:
        watch("envelopes", envelopes)
    return bool(envelopes)


def _over(store: Store, before: int) -> list[Partition]:
    """The partitions of raw bytes that may leave as a whole: nobody writes to them any more, and every envelope whose
    bytes they hold is done and arrived in time."""
    found = []
    for partition in Partitions(store.engine).known():
        if partition.table == "raw_chunk" and partition.end != END:
            with reading(store.engine) as connection:
                if is_over(connection, partition) and _may_leave(connection, partition, before):
                    found.append(partition)
    return found


def _may_leave(connection: Connection, partition: Partition, before: int) -> bool:
    sql = f"FROM {partition.name} c WHERE NOT ({BYTES_LEAVE})"
    stays = text(f"SELECT NOT EXISTS (SELECT 1 FROM {partition.name}) OR EXISTS (SELECT 1 {sql})")
    return not connection.execute(stays, {"before": before}).scalar()


def _whole(
    store: Store, archive: int, place: Path, before: int, partition: Partition, done: Written, watch: Watch
) -> None:
    """Write a partition of raw bytes, attached or detached, to a file, and drop it."""

    def run(tx: StoreTransaction) -> tuple[int, int]:
        _, number = _locked(tx, archive)
        # Who reads goes on. Nothing comes to it any more; what was taken out of it meanwhile is seen here.
        tx.driver.run(f"LOCK TABLE {partition.name} IN SHARE MODE")
        if not _may_leave(tx.connection, partition, before):
            return 0, 0
        rows = tx.driver.rows(
            "SELECT count(*), min(id), max(id), min(received_at), max(received_at) FROM envelope WHERE state = 'done' "
            f"AND duplicate_of IS NULL AND sha256 IN (SELECT sha256 FROM {partition.name})"
        )
        ((envelopes, *ends),) = rows
        file = write_rows(place, f"raw_chunk-{number:05}.parquet", tables.raw_chunk, _all_chunks(tx, partition.name))
        tx.driver.run(
            f"UPDATE raw SET archive_id = ? WHERE sha256 IN (SELECT sha256 FROM {partition.name})", (archive,)
        )
        _store_piece(tx, archive, number, "raw", [file], envelopes, ends[:2], ends[2:])
        take_out(tx.connection, partition)
        tx.driver.run(f"DROP TABLE {partition.name}")
        return envelopes, file.bytes

    try:
        (envelopes, size), _ = store.retried(run)
    except Busy:
        return  # its rows leave one by one
    done.envelopes += envelopes
    done.bytes += size
    if envelopes:
        watch("envelopes", envelopes)


def _all_chunks(tx: StoreTransaction, table: str) -> Iterator[list[Row]]:
    sql = (
        f'SELECT {quoted(column_names(tables.raw_chunk))} FROM {table} WHERE (sha256, "number") > (?, ?) '
        f'ORDER BY sha256, "number" LIMIT {CHUNKS}'
    )
    after: Row = (b"", -1)
    while rows := tx.driver.rows(sql, after):
        yield rows
        after = rows[-1][:2]


def _chunks(tx: StoreTransaction, contents: Sequence[bytes]) -> Iterator[list[Row]]:
    sql = (
        f'SELECT {quoted(column_names(tables.raw_chunk))} FROM raw_chunk WHERE sha256 = ? AND "number" >= ? '
        'ORDER BY "number" LIMIT ?'
    )
    rows: list[Row] = []
    for sha256 in contents:
        start = 0
        while some := tx.driver.rows(sql, (sha256, start, CHUNKS)):
            rows += some
            start = some[-1][1] + 1
            if len(rows) >= CHUNKS:
                yield rows
                rows = []
    yield rows


def _locked(tx: StoreTransaction, archive: int) -> tuple[int, int]:
    """How far an archive is, and the number of its next piece; nobody else writes it until the transaction ends."""
    lock = " FOR UPDATE" if isinstance(tx.driver, PostgresDriver) else ""
    upto = tx.driver.rows(f"SELECT upto_point FROM archive WHERE id = ?{lock}", (archive,))[0][0]
    last = tx.driver.rows('SELECT max("number") FROM archive_piece WHERE archive_id = ?', (archive,))[0][0]
    return upto, (last or 0) + 1


def _store_piece(
    tx: StoreTransaction,
    archive: int,
    number: int,
    what: str,
    files: Sequence[File],
    rows: int,
    ids: Sequence[int],
    instants: Sequence[int],
) -> None:
    row = {
        "archive_id": archive,
        "number": number,
        "what": what,
        "away": True,
        "rows": rows,
        "first_id": min(ids),
        "last_id": max(ids),
        "first_at": min(instants),
        "last_at": max(instants),
        "files": msgspec.json.encode(files).decode(),
    }
    tx.insert(tables.archive_piece, [row])


def _manifest(store: Store, archive: int, place: Path, month: str) -> None:
    """Write down beside the files what they are, for who has no store to ask."""
    with store.reading() as reader, reading(store.engine) as connection:
        rows = reader.driver.rows(
            'SELECT "number", files FROM archive_piece WHERE archive_id = ? ORDER BY 1', (archive,)
        )
        named = reader.driver.rows("SELECT before, made_at, revision FROM archive WHERE id = ?", (archive,))
        whose = changelog.present(connection).store
    if not rows:
        return
    ((before, made_at, revision),) = named
    content = {
        "archive": month,
        "store": whose,
        "revision": revision,
        "before": instant(before),
        "made_at": instant(made_at),
        "pieces": [{"number": number, "files": _FILES.decode(files)} for number, files in rows],
    }
    with written_whole(place / MANIFEST) as file:
        file.write(msgspec.json.format(msgspec.json.encode(content), indent=2))


# --- coming back ---


def _away(store: Store, archive: int) -> list[int]:
    sql = 'SELECT "number" FROM archive_piece WHERE archive_id = ? AND away ORDER BY 1'
    with store.reading() as reader:
        return [row[0] for row in reader.driver.rows(sql, (archive,))]


def _piece(store: Store, archive: int, number: int) -> tuple[str, int, list[File]]:
    sql = 'SELECT what, "rows", files FROM archive_piece WHERE archive_id = ? AND "number" = ?'
    with store.reading() as reader:
        ((what, rows, files),) = reader.driver.rows(sql, (archive, number))
    return what, rows, _FILES.decode(files)


def _back(store: Store, archive: int, number: int, place: Path) -> tuple[str, int]:
    """Bring one piece back: (what it holds, how many)."""
    what, messages, files = _piece(store, archive, number)
    by_table = {file.table: file for file in files}
    for file in files:
        check_file(place, file, _table(file.table))
        _make_room(store, place, file)

    def run(tx: StoreTransaction) -> int:
        _locked(tx, archive)
        sql = 'SELECT away FROM archive_piece WHERE archive_id = ? AND "number" = ?'
        if not tx.driver.rows(sql, (archive, number))[0][0]:
            return 0
        if isinstance(tx.driver, PostgresDriver):
            lock = "ORDER BY p.identifier FOR NO KEY UPDATE OF p"
            tx.driver.rows(
                "SELECT p.id FROM access_point p JOIN archived_point a ON a.access_point_id = p.id "
                f"WHERE a.archive_id = ? AND a.piece = ? {lock}",
                (archive, number),
            )
        with changelog.quiet(tx.driver, sqlite=not isinstance(tx.driver, PostgresDriver)):
            for table in (tables.kernel_message, *MEASURES.tables, tables.raw_chunk):
                if table.name in by_table:
                    for rows in read_rows(place, by_table[table.name], table):
                        tx.driver.many(_insert(table), rows)
                        if what == "raw":
                            contents = sorted({row[0] for row in rows})
                            undo = "UPDATE raw SET archive_id = NULL WHERE sha256 = ?"
                            tx.driver.many(undo, [(sha256,) for sha256 in contents])
        tx.driver.run("DELETE FROM archived_point WHERE archive_id = ? AND piece = ?", (archive, number))
        tx.driver.run(
            'UPDATE archive_piece SET away = ? WHERE archive_id = ? AND "number" = ?', (False, archive, number)
        )
        return messages

    rows, _ = store.retried(run)
    return what, rows


def _make_room(store: Store, place: Path, file: File) -> None:
    """Ranges that were dropped are there again for what comes back."""
    key = PARTITIONED.get(file.table)
    ends = None if key is None else ends_of(place, file, key.column)
    if ends is not None:
        Partitions(store.engine).cover(file.table, *ends)


def _insert(table: Table) -> str:
    """Rows as they were stored: nothing is sealed or compressed anew."""
    names = column_names(table)
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table.name} ({quoted(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING"


def _table(name: str) -> Table:
    found = tables.metadata.tables.get(name)
    if found is None:
        raise UserError(f"There is no table {name} in this version.", "Restore it with the version that wrote it.")
    return found
