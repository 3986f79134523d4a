"""The log of changes, and cursors: places in it from which somebody outside follows the store.

Triggers log each row of the exported tables that is made, changed or taken back, whoever does it, in the same
transaction. The changes of a transaction are a *batch*, and batches are numbered without gaps **in the order of their
commits**: the number is given by a deferred trigger, under the lock of the one row of `change_head`, which is held
until the commit is visible. So what a reader sees is always all batches up to some number: none is committed later with
a lower one. (Ids of rows come from sequences and say nothing of commits.) On SQLite, which has one writer at a time,
each statement is a batch of its own, numbered at once.

Rows that are made together have ids that follow one another: they are one line, a *run*, whose `message_id` is the
least of theirs. Of the others the rows themselves tell it; of one that is taken back again, the line that says so.

A cursor is the number of a batch with the name of the store and the batch's mark, a number drawn by chance. A copy of a
store, or one that was restored from a backup and went on, has other marks: it refuses the cursor instead of leaving out
what happened in between.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

from sqlalchemy import Connection, inspect, text

from energycomm.errors import UserError

LOGGED = ("reading", "volume", "series", "grid_charge", "grid_invoice", "supply_period", "contract", "finding")
"""The tables whose changes are logged."""

_CURSOR = re.compile(r"ec1-([0-9a-f]{16})-([0-9]{1,18})-([0-9]{1,10})")

_MARKS = 1 << 31

_QUIET = "coalesce(current_setting('energycomm.quiet', true), '') = 'on'"
_TOGETHER = "coalesce(current_setting('energycomm.together', true), '') = 'on'"

_POSTGRES = (
    f"""CREATE OR REPLACE FUNCTION log_batch() RETURNS bigint LANGUAGE plpgsql AS $body$
    DECLARE mine bigint := nullif(current_setting('energycomm.batch', true), '')::bigint;
    BEGIN
      IF mine IS NULL THEN
        mine := nextval('change_batch_ids');
        INSERT INTO change_batch (id, mark, at) VALUES (
          mine, floor(random() * {_MARKS})::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
        PERFORM set_config('energycomm.batch', mine::text, true);
      END IF;
      RETURN mine;
    END $body$""",
    f"""CREATE OR REPLACE FUNCTION log_changes() RETURNS trigger LANGUAGE plpgsql AS $body$
    DECLARE mine bigint;
    BEGIN
      IF {_QUIET} OR NOT EXISTS (SELECT 1 FROM changed) THEN RETURN NULL; END IF;
      mine := log_batch();
      INSERT INTO change_log (batch, table_name, row_id, op, message_id)
      SELECT mine, TG_TABLE_NAME, id, TG_ARGV[0], message_id FROM changed ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $body$""",
    """CREATE OR REPLACE FUNCTION log_row() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      INSERT INTO change_log (batch, table_name, row_id, op, message_id)
      VALUES (log_batch(), TG_ARGV[0], NEW.id, 'insert', NEW.message_id) ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $body$""",
    f"""CREATE OR REPLACE FUNCTION log_runs(name text, ids bigint[], messages bigint[])
    RETURNS void LANGUAGE plpgsql AS $body$
    DECLARE mine bigint;
    BEGIN
      PERFORM set_config('energycomm.together', 'off', true);
      IF {_QUIET} THEN RETURN; END IF;
      mine := log_batch();
      INSERT INTO change_log AS l (batch, table_name, row_id, op, message_id, run)
      SELECT mine, name, min(id), 'insert', min(message), count(*) FROM (
        SELECT id, message, id - row_number() OVER (ORDER BY id) AS island FROM unnest(ids, messages) AS u(id, message)
      ) AS c GROUP BY island
      ON CONFLICT (batch, table_name, row_id, op) DO UPDATE SET run = greatest(l.run, excluded.run);
    END $body$""",
    """CREATE OR REPLACE FUNCTION number_batch() RETURNS trigger LANGUAGE plpgsql AS $body$
    DECLARE next bigint;
    BEGIN
      UPDATE change_head SET number = number + 1, mark = NEW.mark RETURNING number INTO next;
      UPDATE change_batch SET number = next WHERE id = NEW.id;
      RETURN NULL;
    END $body$""",
    "DROP TRIGGER IF EXISTS change_batch_numbered ON change_batch",
    "CREATE CONSTRAINT TRIGGER change_batch_numbered AFTER INSERT ON change_batch "
    "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION number_batch()",
)


def _postgres_triggers(table: str) -> list[str]:
    """The triggers of a table. That of new rows is one of rows: with one that sees all rows of a statement, COPY
    stores the rows of a partitioned table one by one, each with a line of its own in the write-ahead log. It is still
    while the driver logs what it stored (`together`)."""
    statements = [
        f"DROP TRIGGER IF EXISTS log_{table}_insert ON {table}",
        f"CREATE TRIGGER log_{table}_insert AFTER INSERT ON {table} "
        f"FOR EACH ROW WHEN (NOT ({_QUIET} OR {_TOGETHER})) EXECUTE FUNCTION log_row('{table}')",
    ]
    for op, rows in (("update", "NEW"), ("delete", "OLD")):
        name = f"log_{table}_{op}"
        statements.append(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        statements.append(
            f"CREATE TRIGGER {name} AFTER {op.upper()} ON {table} REFERENCING {rows} TABLE AS changed "
            f"FOR EACH STATEMENT EXECUTE FUNCTION log_changes('{op}')"
        )
    return statements


_NEW_BATCH = f"UPDATE change_head SET number = number + 1, mark = abs(random() % {_MARKS})"
_BATCH = (
    "INSERT INTO change_batch (id, number, mark, at) SELECT number, number, mark, "
    "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) FROM change_head"
)


def _sqlite_triggers(table: str, condition: str) -> list[str]:
    statements = []
    for op, row in (("insert", "NEW"), ("update", "NEW"), ("delete", "OLD")):
        name = f"log_{table}_{op}"
        statements.append(f"DROP TRIGGER IF EXISTS {name}")
        statements.append(
            f"CREATE TRIGGER {name} AFTER {op.upper()} ON {table} {condition}BEGIN "
            f"{_NEW_BATCH}; {_BATCH}; "
            "INSERT INTO change_log (batch, table_name, row_id, op, message_id) "
            f"SELECT number, '{table}', {row}.id, '{op}', {row}.message_id FROM change_head; END"
        )
    return statements


def install(connection: Connection) -> None:
    """Make the head of the log and the triggers that write it.

    Args:
      connection: in a transaction; the tables are there.
    """
    sqlite = connection.dialect.name == "sqlite"
    statements = [] if sqlite else list(_POSTGRES)
    condition = quiet_condition(connection, "= 0") if sqlite else ""
    for table in LOGGED:
        statements += _sqlite_triggers(table, condition) if sqlite else _postgres_triggers(table)
    for statement in statements:
        connection.exec_driver_sql(statement)
    head = (
        "INSERT INTO change_head (one, store, number, mark, floor, floor_mark) VALUES (1, :store, 0, 0, 0, 0) "
        "ON CONFLICT DO NOTHING"
    )
    connection.execute(text(head), {"store": secrets.token_hex(8)})


class Writing(Protocol):
    """A driver in a transaction (`energycomm.eis.bulk.Driver`)."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a query."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement."""


def quiet_condition(connection: Connection, level: str) -> str:
    """The condition of triggers of SQLite that are still at some levels of `quiet`, those that a comparison leaves out;
    empty for the migrations of before, which know no quiet."""
    found = inspect(connection)
    known = found.has_table("change_head") and any(one["name"] == "quiet" for one in found.get_columns("change_head"))
    return f"WHEN (SELECT quiet FROM change_head) {level} " if known else ""


@contextmanager
def quiet(driver: Writing, *, sqlite: bool) -> Iterator[None]:
    """Log nothing of what the block does: rows get another form or another place, and say the same.

    Args:
      driver: in a writing transaction.
      sqlite: of which database it is. On PostgreSQL what fails undoes the setting too.
    """
    if sqlite:
        with _level(driver, 1):
            yield
        return
    driver.rows("SELECT set_config('energycomm.quiet', 'on', true)")
    yield
    driver.rows("SELECT set_config('energycomm.quiet', 'off', true)")


@contextmanager
def together(driver: Writing) -> Iterator[bool]:
    """Let the triggers of SQLite that count and log new rows be still: the block does both for all its rows at once.

    Args:
      driver: SQLite's, in a writing transaction.

    Yields:
      Whether the rows are to be logged: the block does not stand in one of `quiet`.
    """
    with _level(driver, 2) as before:
        yield before == 0


Stored: TypeAlias = tuple[str, list[int], list[int]]
"""Rows that were stored together: one of `LOGGED`, their ids, and their messages."""


def hold_still(driver: Writing) -> None:
    """Let the triggers of PostgreSQL that log each new row be still until `log_stored`. What fails undoes that too.

    Args:
      driver: PostgreSQL's, in a writing transaction.
    """
    driver.rows("SELECT set_config('energycomm.together', 'on', true)")


def log_stored(driver: Writing, stored: Sequence[Stored]) -> None:
    """Log all rows that were stored while the triggers of PostgreSQL were still, which then log again.

    Args:
      driver: PostgreSQL's, in a writing transaction.
      stored: all that was stored meanwhile in tables that are logged.
    """
    calls = ", ".join(["log_runs(?, ?::bigint[], ?::bigint[])"] * len(stored))
    driver.rows(f"SELECT {calls}", [value for one in stored for value in one])


@contextmanager
def _level(driver: Writing, level: int) -> Iterator[int]:
    ((before,),) = driver.rows("SELECT quiet FROM change_head")
    driver.run("UPDATE change_head SET quiet = ?", (level,))
    try:
        yield before
    finally:
        driver.run("UPDATE change_head SET quiet = ?", (before,))


def log_runs(driver: Writing, table: str, rows: Sequence[tuple[int, int]]) -> None:
    """Log rows that were inserted together while the triggers of SQLite were still.

    Args:
      driver: SQLite's, in a writing transaction.
      table: one of `LOGGED`.
      rows: id and message of each.
    """
    driver.run(_NEW_BATCH)
    driver.run(_BATCH)
    runs: list[tuple[int, int, int]] = []
    for number, message in sorted(rows):
        first, least, length = runs[-1] if runs else (0, 0, 0)
        if length and number == first + length:
            runs[-1] = (first, min(least, message), length + 1)
        else:
            runs.append((number, message, 1))
    for run in runs:
        driver.run(
            "INSERT INTO change_log (batch, table_name, row_id, op, message_id, run) "
            "SELECT number, ?, ?, 'insert', ?, ? FROM change_head",
            (table, *run),
        )


class Place(NamedTuple):
    """A place in the log: the batch up to which somebody knows the store, and its mark."""

    store: str
    number: int
    mark: int

    def __str__(self) -> str:
        """The cursor."""
        return f"ec1-{self.store}-{self.number}-{self.mark}"


def present(connection: Connection) -> Place:
    """The place up to which a transaction sees the store."""
    row = connection.execute(text("SELECT store, number, mark FROM change_head")).one()
    return Place(row[0], row[1], row[2])


ANEW = "Export anew without --since, and follow from the cursor that it gives."


def place_of(connection: Connection, cursor: str) -> Place:
    """The place that a cursor names.

    Args:
      connection: the transaction in which the log is read.
      cursor: as an earlier export gave it.

    Raises:
      UserError: it is no cursor, is of another store or of another history of this one, or what changed since then is
        no longer known.
    """
    found = _CURSOR.fullmatch(cursor.strip())
    if found is None:
        raise UserError(
            f"{cursor[:80]!r} is no cursor.", "A cursor is what an export told at its end: ec1-STORE-NUMBER-MARK."
        )
    place = Place(found[1], int(found[2]), int(found[3]))
    head = connection.execute(text("SELECT store, number, floor, floor_mark FROM change_head")).one()
    if place.store != head.store:
        raise UserError(f"The cursor is of another store: {place.store}; this one is {head.store}.", ANEW)
    if place.number > head.number:
        words = f"The cursor {place.number} is ahead of the store, which is at {head.number}: it was restored."
        raise UserError(words, ANEW)
    if place.number < head.floor:
        words = f"What changed after the cursor {place.number} is no longer known; the log begins at {head.floor}."
        raise UserError(words, ANEW)
    mark = head.floor_mark
    if place.number > head.floor:
        sql = text("SELECT mark FROM change_batch WHERE number = :number")
        mark = connection.execute(sql, {"number": place.number}).scalar()
    if mark != place.mark:
        raise UserError("The cursor is of another history of this store: it was restored or copied since.", ANEW)
    return place


def forget(connection: Connection, before: int, limit: int) -> list[int]:
    """Remove the oldest batches that were made before an instant, so that cursors of before are refused.

    Args:
      connection: a writing transaction.
      before: microseconds since the epoch.
      limit: how many batches at most.

    Returns:
      Their numbers.
    """
    sql = text("SELECT id, number, mark, at FROM change_batch WHERE number IS NOT NULL ORDER BY number LIMIT :limit")
    gone = []
    for row in connection.execute(sql, {"limit": limit}):
        if row.at >= before:
            break
        gone.append(row)
    if gone:
        ids = [{"id": row.id} for row in gone]
        connection.execute(text("DELETE FROM change_log WHERE batch = :id"), ids)
        connection.execute(text("DELETE FROM change_batch WHERE id = :id"), ids)
        head = text("UPDATE change_head SET floor = :number, floor_mark = :mark")
        connection.execute(head, {"number": gone[-1].number, "mark": gone[-1].mark})
    return [row.number for row in gone]
