"""Partitions of the tables that grow by time, on PostgreSQL: ranges of ids, which grow with time.

Keys that must be unique have the column of the ranges in them; what recognises repetitions (`raw`, `ch_message`) is
not partitioned. The next range is made ahead, about a month wide at the present pace. The partition `..._rest` takes
what is in no range, so that no row is ever refused. A range out of which everything has left is dropped: its room
needs no vacuum. SQLite has no partitions.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
from msgspec import Struct
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from energycomm.eis import tables
from energycomm.eis.away import BYTES_LEAVE
from energycomm.eis.database import Conflict, is_sqlite, reading, rehearsing, writing
from energycomm.eis.tables import ID_BLOCK, sequence_name
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.logs import Log

log = Log()

MONTH = 30 * 86_400_000_000
"""Microseconds for which a range is to last."""

COUNTED = 1 << 28
"""Bytes of a partition up to which its rows are counted; of larger ones PostgreSQL's estimate is told."""


class Key(NamedTuple):
    """How a table is partitioned.

    Attributes:
      column: ranges of it are partitions.
      counter: the table whose ids it holds.
      arrived: a query for when the row at one end of a partition came to be: `{of}` the partition, `{order}` the end.
      whole: a partition may be detached with rows in it; rows of the others belong to what is in the store.
      least: ids of a range at least, and what its width is a multiple of.
      step: ids that a row takes.
    """

    column: str
    counter: str
    arrived: str
    whole: bool = False
    least: int = 100_000
    step: int = 1


_OF_MESSAGE = "SELECT received_at FROM kernel_message WHERE id = (SELECT message_id FROM {of} ORDER BY {order} LIMIT 1)"

PARTITIONED: dict[str, Key] = {
    "raw_chunk": Key(
        "envelope_id",
        "envelope",
        "SELECT received_at FROM envelope WHERE id = (SELECT envelope_id FROM {of} ORDER BY {order} LIMIT 1)",
        whole=True,
        least=50_000,
    ),
    "state_change": Key("message_id", "kernel_message", 'SELECT "at" FROM {of} ORDER BY {order} LIMIT 1'),
    "particular": Key("message_id", "kernel_message", _OF_MESSAGE),
    **{name: Key("id", name, _OF_MESSAGE) for name in ("reading", "volume", "series")},
    "change_log": Key(
        "batch",
        "change_batch",
        'SELECT "at" FROM change_batch WHERE id = (SELECT batch FROM {of} ORDER BY {order} LIMIT 1)',
        least=100_000 * ID_BLOCK,
        step=ID_BLOCK,  # its trigger takes the first id of a block
    ),
}
"""The tables that are partitioned."""

PATIENCE = 500
"""Milliseconds for which a table is waited for."""

TRIES = 10

REST = "rest"
LEAST, END = -(1 << 63), (1 << 63) - 1
"""Bounds of what has none."""


class Partition(Struct, frozen=True, kw_only=True):
    """A partition.

    Attributes:
      name: of the partition, a table of the database.
      table: the table that it is part of, or was.
      first: its least id, `LEAST` for the first range; `END` for the rest.
      end: the id that it ends before; `END` for the rest.
      attached: part of its table; else nothing reads it.
      bytes: with its indexes.
    """

    name: str
    table: str
    first: int
    end: int
    attached: bool
    bytes: int

    @property
    def range(self) -> bool:
        """It is attached, and not the rest."""
        return self.attached and self.end != END

    @property
    def number(self) -> int:
        """Its number among those of its table; 0 for the rest."""
        last = self.name.rpartition("_")[2]
        return 0 if last == REST else int(last[1:])


class Content(Struct, frozen=True, kw_only=True):
    """What is in a partition.

    Attributes:
      rows: how many there are, or about how many.
      counted: they were counted, not estimated.
      first: when the first of them came, microseconds since the epoch; None where that is not known.
      last: when the last came.
    """

    rows: int
    counted: bool
    first: int | None
    last: int | None


class Partitions:
    """The partitions of a store.

    Args:
      engine: the store.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.built = not is_sqlite(engine)

    def known(self) -> list[Partition]:
        """All partitions, attached or not, by table and range; none on SQLite."""
        if not self.built:
            return []
        with reading(self.engine) as connection:
            return partitions_of(connection, PARTITIONED)

    def content(self, partition: Partition) -> Content:
        """What is in a partition; of the largest it is PostgreSQL's estimate."""
        key = PARTITIONED[partition.table]
        with reading(self.engine) as connection:
            rows, counted = -1, False
            if partition.bytes > COUNTED:
                estimate = "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(:name)"
                rows = _scalar(connection, estimate, name=partition.name)
            if rows < 0:
                rows, counted = _scalar(connection, f"SELECT count(*) FROM {partition.name}"), True
            ends = [
                _scalar(connection, key.arrived.format(of=partition.name, order=f'"{key.column}"{way}'))
                for way in ("", " DESC")
            ]
        return Content(rows=rows, counted=counted, first=ends[0], last=ends[1])

    def require(self) -> None:
        """Refuse a store without partitions.

        Raises:
          UserError: it is a SQLite file, whose tables are whole.
        """
        if not self.built:
            raise UserError(
                "A SQLite store has no partitions: its tables are whole.",
                "`energycomm eis archive` and `energycomm eis retention` work on it as on PostgreSQL.",
            )

    # --- making them ---

    def tend(self, *, drop: bool = True) -> None:
        """Make ranges ahead, and drop those that are over and empty. What fails is logged: no row depends on it.

        Args:
          drop: drop them too.
        """
        if not self.built or rehearsing(self.engine):
            return
        try:
            self.make_ahead()
            if drop:
                self.drop_empty()
        except (UserError, Conflict) as error:
            log.warning("partition.failed", reason=str(error))

    def make_ahead(self, wide: int | None = None) -> list[Partition]:
        """Make the next range of each table that has used up half of its last one.

        Args:
          wide: make the next range of each table in any case, for that many numbers.

        Returns:
          The new ones.
        """
        made: list[Partition] = []
        if not self.built:
            return made
        with reading(self.engine) as connection:
            short = _used_up(connection) if wide is None else list(PARTITIONED)
        for table in short:
            with suppress(Busy), writing(self.engine) as connection:
                _alone(connection, table)
                _shut(connection, table, TRIES if wide is not None else 1)
                if wide is not None:
                    made.append(_next(connection, table, wide * PARTITIONED[table].step))
                while wide is None and table in _used_up(connection):  # not made by another process meanwhile
                    made.append(_next(connection, table, _month(connection, PARTITIONED[table])))
        for one in made:
            log.info("partition.made", partition=one.name, first=one.first, end=one.end)
        return made

    def cover(self, table: str, first: int, last: int) -> None:
        """Make the ranges anew that ids had before they were dropped, for rows that come back.

        Args:
          table: where they come back.
          first: the least id.
          last: the greatest.
        """
        if not self.built or table not in PARTITIONED:
            return
        column = PARTITIONED[table].column
        with suppress(Busy), writing(self.engine) as connection:
            _alone(connection, table)
            _shut(connection, table)
            place = LEAST
            for one in _ranges(connection, table):
                if place <= last and first < one.first and place < one.first:
                    within = f'WHERE "{column}" >= {place} AND "{column}" < {one.first}'
                    if not _filled(connection, f"{table}_{REST}", within):
                        _make(connection, table, place, one.first)
                place = one.end

    # --- out and in ---

    def detach(self, found: Partition) -> None:
        """Take a partition out of its table: it stays in the database, and nothing reads it.

        Of raw bytes what belongs to unfinished envelopes, and to messages that were put aside, goes to the rest.

        Raises:
          UserError: it is detached, or what is in it is in use.
        """
        name = found.name
        if not found.attached:
            raise UserError(f"{name} is detached already.", f"`energycomm eis partition attach {name}` brings it back.")
        if found.end == END:
            raise UserError(f"{name} holds what is in no range, and stays.", "Name another one.")
        column, whole = PARTITIONED[found.table].column, PARTITIONED[found.table].whole
        with reading(self.engine) as connection:
            if not is_over(connection, found):
                words = "A range is over when the numbers that are given out have gone beyond it."
                raise UserError(f"{name} is in use: new rows go there.", words)
            if not whole and _filled(connection, name):
                raise UserError(f"{name} holds rows of what is in the store.", _LEAVE[found.table])
        # Its range is known to the table itself from now on: looked for while others work, kept while it is detached.
        condition = f'"{column}" < {found.end}' + ("" if found.first == LEAST else f' AND "{column}" >= {found.first}')
        with writing(self.engine) as connection:
            _alone(connection, found.table)
            if not _scalar(connection, _CHECKED, name=name, range=f"{name}_range"):
                check = f"ALTER TABLE {name} ADD CONSTRAINT {name}_range CHECK ({condition}) NOT VALID"
                connection.exec_driver_sql(check)
        with writing(self.engine) as connection:
            connection.exec_driver_sql(f"ALTER TABLE {name} VALIDATE CONSTRAINT {name}_range")
        with writing(self.engine) as connection:
            take_out(connection, found)
            if not whole and _filled(connection, name):
                raise UserError(f"{name} holds rows of what is in the store.", _LEAVE[found.table])
            if whole:
                stay = f"WHERE sha256 IN (SELECT sha256 FROM {name} c WHERE NOT ({BYTES_LEAVE}))"
                after = {"before": 1 << 62}
                connection.execute(text(f"INSERT INTO {found.table} SELECT * FROM {name} {stay}"), after)
                connection.execute(text(f"DELETE FROM {name} {stay}"), after)

    def attach(self, found: Partition) -> None:
        """Bring a detached partition back into its table.

        Raises:
          UserError: it is attached, or another one has its range.
        """
        name = found.name
        if found.attached:
            raise UserError(f"{name} is attached already.", "There is nothing to do.")
        if found.end == END:
            raise UserError(f"The range of {name} is not known: it was detached in another way.", "Attach it by SQL.")
        with writing(self.engine) as connection:
            _alone(connection, found.table)
            lock(connection, found.table)
            for one in _ranges(connection, found.table):
                if one.first < found.end and found.first < one.end:
                    raise UserError(f"{one.name} has the range of {name} by now.", f"Detach {one.name} before.")
            column, rest = PARTITIONED[found.table].column, f"{found.table}_{REST}"
            within = f'"{column}" >= {found.first} AND "{column}" < {found.end}'
            connection.exec_driver_sql(f"INSERT INTO {name} SELECT * FROM {rest} WHERE {within}")
            connection.exec_driver_sql(f"DELETE FROM {rest} WHERE {within}")
            _bring_in(connection, found)
            connection.exec_driver_sql(f"ALTER TABLE {name} DROP CONSTRAINT {name}_range")

    # --- what is over ---

    def drop_empty(self) -> list[str]:
        """Drop the ranges that are over and empty, for whoever reads now and for whoever began to read before.

        Returns:
          Their names. One that an earlier reader may still see rows of is left for the next time.
        """
        gone: list[str] = []
        for one in self.known():
            if not one.range:
                continue
            with writing(self.engine) as connection:
                if not is_over(connection, one) or _filled(connection, one.name):
                    continue
                # Whoever took rows out of it committed before this number was given.
                now = _scalar(connection, "SELECT mod(txid_current(), 4294967296)::text")
            with reading(self.engine) as connection:
                if _scalar(connection, _EARLIER, now=now):
                    continue
            with suppress(Busy), writing(self.engine) as connection:
                _alone(connection, one.table)
                lock(connection, one.table, 1)
                attached = {other.name for other in _ranges(connection, one.table)}
                if one.name not in attached or _filled(connection, one.name):
                    continue
                take_out(connection, one)
                connection.exec_driver_sql(f"DROP TABLE {one.name}")
                gone.append(one.name)
        for name in gone:
            log.info("partition.dropped", partition=name)
        return gone


def detached_with(engine: Engine, sha256: bytes) -> str | None:
    """The detached partition that holds the bytes of an envelope; None where none does."""
    for one in Partitions(engine).known():
        if one.table == "raw_chunk" and not one.attached:
            with reading(engine) as connection:
                if _filled(connection, one.name, "WHERE sha256 = :sha256", sha256=sha256):
                    return one.name
    return None


def partitions_of(connection: Connection, names: Iterable[str]) -> list[Partition]:
    """The partitions of tables, attached or not, by table and range."""
    order = list(names)
    found = [_partition(*row) for row in connection.execute(_PARTITIONS, {"parents": order})]
    return sorted(found, key=lambda one: (order.index(one.table), one.first, one.name))


def is_over(connection: Connection, partition: Partition) -> bool:
    """Whether no new row comes to a partition: all ids of its range were given out, and used up as far as is known."""
    return partition.end <= _used(connection)[PARTITIONED[partition.table].counter] - ID_BLOCK


class Busy(UserError):
    """Somebody reads or writes a table for long; nothing was changed."""


def lock(connection: Connection, table: str, tries: int = TRIES, mode: str = "ACCESS EXCLUSIVE") -> None:
    """Wait for whoever works on a table, and let nobody in until the transaction ends.

    Who waits for a table makes all wait who come after. So it is waited for shortly, and again.

    Args:
      connection: in a writing transaction.
      table: a table that is partitioned, or a partition.
      tries: how often.
      mode: of PostgreSQL; says who else is let in.

    Raises:
      Busy: a transaction that began before does not end, such as an export.
    """
    for _ in range(tries):
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {PATIENCE}")
                connection.exec_driver_sql(f"LOCK TABLE ONLY {table} IN {mode} MODE")
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                raise
            time.sleep(PATIENCE / 1000)
        else:
            return
    words = f"Somebody works on {table} for long: nothing was changed."
    raise Busy(words, "Try again when the export, or whatever it is, has ended.")


def _shut(connection: Connection, table: str, tries: int = TRIES) -> None:
    """Let nobody write to a table that gets a new range.

    First of all to the tables that its rows name: the new range watches them, and whoever wrote there goes on to write
    here. Then to what is in no range, which is looked through.

    Raises:
      Busy: see `lock`.
    """
    named = {key.column.table.name for key in tables.metadata.tables[table].foreign_keys} - {table}
    for one in sorted(named):
        lock(connection, one, tries, "SHARE ROW EXCLUSIVE")
    lock(connection, f"{table}_{REST}", tries)


def take_out(connection: Connection, partition: Partition) -> None:
    """Detach a partition, where it is attached.

    Raises:
      Busy: see `lock`.
    """
    _alone(connection, partition.table)
    lock(connection, partition.table)
    if partition.attached:
        connection.exec_driver_sql(f"ALTER TABLE {partition.table} DETACH PARTITION {partition.name}")


def _alone(connection: Connection, table: str) -> None:
    """Nobody else makes or takes partitions of a table until the transaction ends."""
    key = list(PARTITIONED).index(table)
    connection.execute(text("SELECT pg_advisory_xact_lock(:key, :table)"), {"key": _LOCK, "table": key})


def _next(connection: Connection, table: str, span: int) -> Partition:
    """Make the range after the last one."""
    key, begin = PARTITIONED[table], _ranges(connection, table)[-1].end
    used = _used(connection)[key.counter]
    if _filled(connection, f"{table}_{REST}", f'WHERE "{key.column}" >= {begin}'):
        # Nobody looked in time, or a restored store left ids out: what came meanwhile stays where it is.
        begin = used + key.least
    return _make(connection, table, begin, max(begin, used) + span)


def _make(connection: Connection, table: str, first: int, end: int) -> Partition:
    number = 1 + max(one.number for one in partitions_of(connection, [table]))
    made = Partition(name=f"{table}_p{number}", table=table, first=first, end=end, attached=True, bytes=0)
    # To attach a table lets others write meanwhile; to create it as a partition does not.
    connection.exec_driver_sql(f"CREATE TABLE {made.name} (LIKE {table} INCLUDING ALL)")
    _bring_in(connection, made)
    return made


def _bring_in(connection: Connection, partition: Partition) -> None:
    first = "MINVALUE" if partition.first == LEAST else str(partition.first)
    connection.exec_driver_sql(
        f"ALTER TABLE {partition.table} ATTACH PARTITION {partition.name} "
        f"FOR VALUES FROM ({first}) TO ({partition.end})"
    )


def _ranges(connection: Connection, table: str) -> list[Partition]:
    """The ranges that are attached, in their order."""
    return [one for one in partitions_of(connection, [table]) if one.range]


def _used(connection: Connection) -> dict[str, int]:
    """Ids below these were given out, later ones are not less; by the table whose ids they are."""
    return {name: int(used) for name, used in connection.execute(_COUNTERS)}


def _used_up(connection: Connection) -> list[str]:
    """The tables that have used up half of their last range."""
    used, last = _used(connection), {one.table: one for one in partitions_of(connection, PARTITIONED) if one.range}
    return [
        table
        for table, one in last.items()
        if used[PARTITIONED[table].counter] >= one.end - (one.end - max(one.first, 0)) // 2
    ]


def _month(connection: Connection, key: Key) -> int:
    """The ids that a month takes at the pace of the messages."""
    used = _used(connection)
    first = _scalar(
        connection,
        "SELECT id FROM kernel_message WHERE received_at >= :since ORDER BY received_at, id LIMIT 1",
        since=now_micros() - MONTH,
    )
    messages = used["kernel_message"]
    share = 0 if first is None else (messages - first) / messages
    return math.ceil(used[key.counter] * share / key.least) * key.least or key.least


def _filled(connection: Connection, name: str, where: str = "", **values: Any) -> bool:
    return bool(_scalar(connection, f"SELECT EXISTS (SELECT 1 FROM {name} {where})", **values))


def _scalar(connection: Connection, sql: str, **values: Any) -> Any:
    return connection.execute(text(sql), values).scalar()


def _partition(table: str, name: str, attached: bool, bounds: str | None, size: int) -> Partition:
    """From a row of `_PARTITIONS`."""
    words = bounds or ""
    least, end = re.search(r"(?:FROM \(|>= )'?(-?\d+)", words), re.search(r"(?:TO \(|< )'?(-?\d+)", words)
    first = int(least[1]) if least else LEAST if end else END
    last = int(end[1]) if end else END
    return Partition(name=name, table=table, first=first, end=last, attached=attached, bytes=size)


_LOCK = 0x656E6572
"""Key of the locks under which partitions are made: the letters of `ener`."""

_PARTITIONS = text(
    "SELECT t.relname, c.relname, c.relispartition, coalesce(pg_get_expr(c.relpartbound, c.oid), "
    "(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c' "
    "AND k.conname = c.relname || '_range')), pg_total_relation_size(c.oid) FROM pg_class t "
    "JOIN pg_class c ON c.relnamespace = t.relnamespace AND c.relkind = 'r' "
    f"AND c.relname ~ ('^' || t.relname || '_(p[0-9]+|{REST})$') "
    "WHERE t.relkind = 'p' AND t.oid = ANY (SELECT to_regclass(one) FROM unnest(cast(:parents AS text[])) AS one)"
)
_COUNTERS = text(
    " UNION ALL ".join(
        f"SELECT '{name}', last_value + CASE WHEN is_called THEN {ID_BLOCK} ELSE 0 END FROM {sequence_name(name)}"
        for name in dict.fromkeys(key.counter for key in PARTITIONED.values())
    )
)
_CHECKED = "SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass(:name) AND conname = :range"
_EARLIER = (
    "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND age(backend_xmin) > age(cast(:now AS xid)))"
)
_LEAVES = "`energycomm eis archive write MONTH` takes what is settled; a range that is empty is dropped by itself."
_LEAVE = dict.fromkeys(PARTITIONED, _LEAVES) | {
    "change_log": "`change_days` of [retention] removes what is old; the range is dropped by itself when it is empty."
}
"""What empties a table, in words."""
