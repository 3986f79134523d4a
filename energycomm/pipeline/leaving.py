"""Messages that leave the store: which may go, with which rows, and how their access points go on without them.

A message of a measure (index, energy, curve), or of a customer whose supply ended, may leave when it is settled, a
stored state of its access point covers it, and nothing that stays in the store names it. Its verdicts, findings,
particulars, sent notifications and domain rows go with it. Its CH message stays, so that a repetition is recognised; so
do contracts, supplies, requests and invoices of its access point, the state, and the messages that were refused.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from msgspec import Struct, field
from sqlalchemy import Table

from energycomm.eis import changelog, tables
from energycomm.eis.bulk import PostgresDriver, Row, column_names, quoted
from energycomm.eis.database import is_sqlite, opened
from energycomm.eis.overdue import stale
from energycomm.eis.store import NEVER, Store, StoreReader, StoreTransaction
from energycomm.kernel.family import KINDS
from energycomm.pipeline.state import dump_state, load_state

PIECE_MESSAGES = 10_000
"""Messages that are looked at in one transaction; the access point that reaches them is its last."""

POINTS = 500
"""Access points that are counted at a time."""

SETTLED = ("accepted", "treated", "withdrawn")
"""States of messages that may leave."""

OPEN = ("received", "quarantined", "to_replay", "engine_error", "delegated", "ticketed")
"""States of messages that somebody or something still works on: no floor goes beyond one."""

TOLD: tuple[Table, ...] = (
    tables.state_change,
    tables.finding,
    tables.particular,
    tables.prediction,
    tables.outbox,
)
"""Tables whose rows leave and come back with their message; in the order in which they come back."""


class Leaving(NamedTuple):
    """Messages that may leave: of the kinds that these domain tables keep, with the rows there."""

    domain: tuple[Table, ...]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables but that of the messages, in the order in which their rows come back."""
        return (*TOLD, *self.domain)

    @property
    def condition(self) -> str:
        """The condition of messages of these kinds."""
        names = {table.name for table in self.domain}
        kinds = (name for name, cls in KINDS.items() if cls.kept is not None and cls.kept.table in names)
        return f"kind IN ({', '.join(repr(kind) for kind in kinds)})"


MEASURES = Leaving(tables.MEASURES)
READINGS = Leaving((tables.reading, tables.volume))
CURVES = Leaving((tables.series,))
CUSTOMERS = Leaving((tables.customer,))
"""What may leave: to an archive all measures; by retention these classes."""

_TRIED = 3
"""Checkpoints of an access point that are looked at, the latest first."""


class Portion(Struct):
    """What leaves in one transaction.

    Attributes:
      what: the kinds of messages.
      rows: of the messages and of what belongs to them, by table.
      floors: access point -> the instant up to which its history is not whole any more, and the state to be stored
        there; None where there is a checkpoint.
      stays: why others stay, in words -> how many.
    """

    what: Leaving
    rows: dict[Table, list[Row]] = field(default_factory=dict)
    floors: dict[int, tuple[int, bytes | None]] = field(default_factory=dict)
    stays: Counter[str] = field(default_factory=Counter)

    @property
    def messages(self) -> list[Row]:
        """The rows of the messages."""
        return self.rows.get(tables.kernel_message, [])


@contextmanager
def removing(store: Store) -> Iterator[Store]:
    """The store as it is for who removes rows: SQLite would walk whole tables for each message, to see whether one of
    them refers to it. `portion` has seen to that."""
    if not is_sqlite(store.engine):
        yield store
        return
    with opened(str(store.engine.url), create=False, check_references=False) as engine:
        yield Store(engine)


def points_with(reader: StoreReader, what: Leaving, after: int, before: int, most: int = PIECE_MESSAGES) -> list[int]:
    """The next access points with messages that arrived before an instant; as many as hold `most` of them.

    Args:
      reader: the store.
      what: the kinds of messages.
      after: access points up to this one were looked at.
      before: microseconds since the epoch.
      most: messages; the access point that reaches them is the last.
    """
    rows = reader.driver.rows(
        f"SELECT access_point_id, count(*) FROM kernel_message WHERE access_point_id > ? AND received_at < ? "
        f"AND {what.condition} GROUP BY access_point_id ORDER BY access_point_id LIMIT ?",
        (after, before, POINTS),
    )
    points, messages = [], 0
    for point, number in rows:
        points.append(point)
        messages += number
        if messages >= most:
            break
    return points


def portion(tx: StoreReader, what: Leaving, points: Sequence[int], before: int) -> Portion:
    """What may leave of some access points.

    Args:
      tx: the transaction that removes it: on PostgreSQL it locks the access points, so that it stays so. A reader
        where nothing is to be removed.
      what: the kinds of messages; of customers only those before the end of a supply that ended before `before`.
      points: the access points.
      before: only messages that arrived, and take effect, before this instant; microseconds since the epoch.
    """
    if isinstance(tx, StoreTransaction) and isinstance(tx.driver, PostgresDriver):
        lock = "ORDER BY identifier FOR NO KEY UPDATE"
        tx.driver.matching("SELECT id FROM access_point WHERE true", points, "id", lock)
    found = Portion(what)
    sql = (
        "SELECT id, access_point_id, effective, state, ch_message_id, corrects FROM kernel_message "
        f"WHERE received_at < ? AND {what.condition}"
    )
    candidates = tx.driver.matching(sql, points, "access_point_id", head=(before,))
    floors = _floors(tx, points, before)
    ended: dict[int, int] = {}
    if what is CUSTOMERS:
        sql = "SELECT access_point_id, max(ended_at) FROM supply_period WHERE ended_at < ?"
        ended = dict(tx.driver.matching(sql, points, "access_point_id", "GROUP BY access_point_id", (before,)))
    chosen: dict[int, Row] = {}
    for row in candidates:
        number, point, effective, state, _, corrects = row
        if state not in SETTLED:
            found.stays[f"{state} messages"] += 1
        elif what is CUSTOMERS and effective >= ended.get(point, effective):
            found.stays["of supplies that go on, or ended later"] += 1
        elif corrects is not None:
            found.stays["corrected versions"] += 1
        elif effective >= floors.get(point, (effective, None))[0]:
            found.stays["not yet in a stored state of their access point"] += 1
        else:
            chosen[number] = row
    for words, ids in _named(tx, what, points, chosen):
        held = ids & chosen.keys()
        found.stays[words] += len(held)
        for number in held:
            del chosen[number]
    found.stays = +found.stays
    if chosen:
        _gather(tx, found, chosen, before)
        found.floors = {point: floors[point] for point in {row[1] for row in chosen.values()}}
    return found


def remove(tx: StoreTransaction, leaving: Portion, archive_id: int, piece: int) -> None:
    """Remove what leaves; nobody is told: what it says holds as ever.

    Args:
      tx: the transaction in which it was found.
      leaving: what leaves; in the files by now, where it is to come back.
      archive_id: the archive that it belongs to from now on.
      piece: number of the piece of the archive.
    """
    with changelog.quiet(tx.driver, sqlite=not isinstance(tx.driver, PostgresDriver)):
        for table in (*reversed(leaving.what.tables), tables.kernel_message):
            rows = leaving.rows.get(table, [])
            if table.primary_key.columns.keys() == ["id"]:
                tx.driver.delete(table, [row[0] for row in rows])
            else:
                place = column_names(table).index("message_id")
                ids = sorted({row[place] for row in rows})
                tx.driver.many(f"DELETE FROM {table.name} WHERE message_id = ?", [(number,) for number in ids])
    made = [(point, upto, state) for point, (upto, state) in leaving.floors.items() if state is not None]
    tx.save_checkpoints(made)
    stale(tx.driver, list(leaving.floors))
    tx.driver.many(
        "INSERT INTO archived_point (access_point_id, archive_id, piece, upto) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (access_point_id, archive_id) DO UPDATE SET upto = excluded.upto, piece = excluded.piece",
        [(point, archive_id, piece, upto) for point, (upto, _) in sorted(leaving.floors.items())],
    )


def _gather(tx: StoreReader, found: Portion, chosen: dict[int, Row], before: int) -> None:
    ids = sorted(chosen)
    points = sorted({row[1] for row in chosen.values()})
    found.rows[tables.kernel_message] = tx.driver.matching(_all(tables.kernel_message), ids, "id", "ORDER BY id")
    for table in found.what.tables:
        place = column_names(table).index("message_id")
        if table in found.what.domain:  # no index on their message
            sql = f'{_all(table)} AND "at" < ?'
            read = tx.driver.matching(sql, points, "access_point_id", head=(before,))
            rows = [row for row in read if row[place] in chosen]
        else:
            rows = tx.driver.matching(_all(table), ids, "message_id")
        if rows:
            found.rows[table] = rows


def _floors(tx: StoreReader, points: Sequence[int], limit: int) -> dict[int, tuple[int, bytes | None]]:
    """The latest instant of each access point up to which its history may leave, with the state to be stored there."""
    open_ = ", ".join(f"'{state}'" for state in OPEN)
    sql = f"SELECT access_point_id, min(effective) FROM kernel_message WHERE state IN ({open_})"
    waiting: dict[int, int] = dict(tx.driver.matching(sql, points, "access_point_id", "GROUP BY access_point_id"))
    stored: dict[int, list[int]] = {}
    sql = "SELECT access_point_id, upto FROM checkpoint WHERE upto <= ?"
    for point, upto in tx.driver.matching(sql, points, "access_point_id", head=(limit,)):
        stored.setdefault(point, []).append(upto)
    sql = "SELECT access_point_id, max(upto) FROM archived_point WHERE true"
    former = tx.driver.matching(sql, points, "access_point_id", "GROUP BY access_point_id")
    floors: dict[int, tuple[int, bytes | None]] = {point: (upto, None) for point, upto in former}
    for point, last_at, data in tx.driver.matching(
        "SELECT id, last_at, state FROM access_point WHERE true", points, "id"
    ):
        most = min(limit, waiting.get(point, limit))
        state = load_state(data)
        now = max((last_at + 1, *(one.end for one in state.told)))
        least = floors.get(point, (NEVER, None))[0]
        if least < now <= most:
            state.advance(now)
            floors[point] = (now, dump_state(state))
            continue
        known = sorted((upto for upto in stored.get(point, ()) if least < upto <= most), reverse=True)
        for upto in known[:_TRIED]:
            ((data,),) = tx.driver.rows(
                "SELECT state FROM checkpoint WHERE access_point_id = ? AND upto = ?", (point, upto)
            )
            # What is told from there on may take values out of a series that reaches beyond it.
            if load_state(data).reaches(upto) == upto:
                floors[point] = (upto, None)
                break
    return floors


def _named(
    tx: StoreReader, what: Leaving, points: Sequence[int], chosen: dict[int, Row]
) -> Iterator[tuple[str, set[int]]]:
    """The messages that something names which stays, with words for what it is."""
    ids = sorted(chosen)
    for table in tables.metadata.sorted_tables:
        for column in table.columns:
            refers = any(key.column.table is tables.kernel_message for key in column.foreign_keys)
            if refers and table not in TOLD and table not in tables.EFFECTS:
                sql = f"SELECT {column.name} FROM {table.name} WHERE true"
                rows = tx.driver.matching(sql, ids, column.name)
                yield f"named by {table.name.replace('_', ' ')}", {row[0] for row in rows}
    for table in tables.EFFECTS:
        if table not in what.domain:
            ends = ", end_message_id" if "end_message_id" in table.columns else ""
            rows = tx.driver.matching(
                f"SELECT message_id{ends} FROM {table.name} WHERE true", points, "access_point_id"
            )
            yield f"named by {table.name.replace('_', ' ')}", {number for row in rows for number in row if number}
    rows = tx.driver.matching("SELECT message_id FROM outbox WHERE state <> 'sent'", ids, "message_id")
    yield "notifications that are not sent", {row[0] for row in rows}
    sql = (
        "SELECT c.id FROM ch_message c JOIN envelope e ON e.id = c.envelope_id "
        "WHERE e.state IN ('archived', 'processing')"
    )
    unfinished = {
        row[0] for row in tx.driver.matching(sql, sorted({row[4] for row in chosen.values() if row[4]}), "c.id")
    }
    yield "of unfinished envelopes", {number for number, row in chosen.items() if row[4] in unfinished}


def _all(table: Table) -> str:
    return f"SELECT {quoted(column_names(table))} FROM {table.name} WHERE true"
