"""Stored content brought to the form that is written now, row by row beside other processes; and its verification.

That is: compressed, and encrypted under the current data key if the store has one. Every value says how it is kept.
So nothing has to be remembered of how far a run came: the next one finds what is left, whatever became of this one.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import psycopg
from msgspec import MsgspecError, Struct, field
from sqlalchemy import Engine

from energycomm.eis import changelog, tables
from energycomm.eis.arrays import FORMER, array_text, parts_as
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import EXIT_DATABASE, Conflict, is_sqlite, reading, reporting, writing
from energycomm.eis.datakeys import vault_of
from energycomm.eis.domain import array_columns
from energycomm.eis.findable import FINDABLE
from energycomm.eis.sealing import (
    SEALED_COLUMNS,
    Row,
    Sealed,
    Vault,
    data_key_of,
    lock_of,
    shown_key,
)
from energycomm.errors import DamagedRow, UserError

TEXTS: Final = 200
"""Rows of text in one transaction."""

PIECES: Final = 16
"""Pieces of raw bytes, of 1 MiB each, in one transaction."""

SHOWN: Final = 100
"""Damaged rows that are named; further ones are only counted."""

WAIT: Final = 0.2
"""Seconds until rows that another transaction holds are tried again."""


class Resealed(Struct):
    """What a run did.

    Attributes:
      rows: how many values were written anew, by table.
      damaged: rows that do not open and were left as they are, the first of them.
      damaged_rows: how many there are.
    """

    rows: dict[str, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    damaged_rows: int = 0


class Verified(Struct):
    """What was read.

    Attributes:
      rows: how many values, by table and data key (``plain`` where there is none).
      damaged: rows that do not open, the first of them.
      damaged_rows: how many there are.
    """

    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    damaged_rows: int = 0


def reseal(engine: Engine, watch: Callable[[str, int], object] = lambda _table, _rows: None) -> Resealed:
    """Rewrite every sealed column compressed, under the current data key if there is one, and parts of messages as
    arrays.

    In transactions of a few rows: others write meanwhile, and a run that is killed is gone on with by the next. Rows
    that another transaction holds are tried again until it ends.

    Args:
      engine: the store, unlocked.
      watch: told of the table and how many of its rows were written, after each transaction.

    Raises:
      UserError: a key is missing, or the database was lost.
    """
    done = Resealed()
    for form in _forms():
        damaged: set[Row] = set()
        while (written := _pass(engine, form, damaged, watch)) is not None:
            done.rows[form.table] = done.rows.get(form.table, 0) + written
            if written == 0:
                time.sleep(WAIT)
        done.damaged_rows += len(damaged)
        done.damaged += [f"row {shown_key(keys)} of {form.table}" for keys in sorted(damaged)[:SHOWN]]
    return done


def verify(engine: Engine, watch: Callable[[str, int], object] = lambda _table, _rows: None) -> Verified:
    """Open every sealed value of a store, without changing anything.

    Args:
      engine: the store, unlocked.
      watch: told of the table and how many of its rows were read, after each piece.
    """
    vault = vault_of(engine)
    found = Verified()
    for column in SEALED_COLUMNS:
        counts: dict[str, int] = {}
        for rows in _all_rows(engine, column):
            for *keys, stored in rows:
                number = data_key_of(column, stored)
                name = "plain" if number is None else str(number)
                counts[name] = counts.get(name, 0) + 1
                try:
                    vault.value(column, tuple(keys), stored)
                except DamagedRow as damaged:
                    found.damaged_rows += 1
                    if found.damaged_rows <= SHOWN:
                        found.damaged.append(str(damaged))
            watch(column.table, len(rows))
        found.rows[column.table] = counts
    return found


def wipe(engine: Engine, further: Iterable[str] = ()) -> None:
    """Rewrite the files of the tables, so that they contain no former content; others wait meanwhile.

    SQLite: the whole file, and its write-ahead log is emptied. PostgreSQL: the tables that `reseal` writes; their old
    files go with the server's next checkpoint. Room for a second copy is needed.

    Args:
      engine: the store.
      further: tables of PostgreSQL to rewrite besides, with what the planner noted of their values. The next segment
        of the write-ahead log is begun, where the user may.
    """
    connection = engine.raw_connection()
    try:
        below: Any = connection.driver_connection
        with reporting(engine):
            if is_sqlite(engine):
                for table in further:
                    if (found := FINDABLE.get(table)) and _has_index(below, found.stem):
                        below.execute(f"INSERT INTO {found.stem} ({found.stem}) VALUES ('optimize')")
                # The copy that VACUUM makes belongs on the disk, not in memory.
                below.execute("PRAGMA temp_store = FILE")
                below.execute("VACUUM")
                if below.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise UserError(
                        "The write-ahead log could not be emptied: another process reads the database.",
                        "Run the command again when it has ended.",
                        EXIT_DATABASE,
                    )
            else:
                below.autocommit = True
                named = list(dict.fromkeys(further))
                for table in dict.fromkeys((*(form.table for form in _forms()), *named)):
                    below.execute(f"VACUUM (FULL{', ANALYZE' if table in named else ''}) {table}")
                if named:
                    # The planner's notes hold frequent values of columns; those of before are in its own pages.
                    below.execute("VACUUM (FULL) pg_statistic")
                    for statement in ("SELECT pg_switch_wal()", "CHECKPOINT"):
                        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
                            below.execute(statement)
    finally:
        connection.invalidate()  # it bears settings of its own
        connection.close()


def _has_index(below: Any, name: str) -> bool:
    return bool(below.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone())


class _Form(Protocol):
    """A column and the form that its values are written in now."""

    table: str
    column: str
    keys: tuple[str, ...]
    at_once: int

    def wrong(self, number: int | None) -> tuple[str, Row]:
        """The condition of values in other forms, and its values; `number` is the data key of now."""

    def anew(self, vault: Vault, key: Row, stored: Any, number: int | None) -> Any:
        """A value in this form.

        Raises:
          DamagedRow: it does not open.
        """


class _SealedForm:
    """Compressed, and encrypted if the store has a data key."""

    def __init__(self, column: Sealed) -> None:
        self._column = column
        self.table, self.column, self.keys = column.table, column.column, column.keys
        self.at_once = PIECES if column.binary and len(column.keys) > 1 else TEXTS

    def wrong(self, number: int | None) -> tuple[str, Row]:
        lock = lock_of(self._column, number)
        return f'substr("{self.column}", 1, {len(lock)}) <> ?', (lock,)

    def anew(self, vault: Vault, key: Row, stored: Any, number: int | None) -> Any:
        return vault.sealed(self._column, key, vault.value(self._column, key, stored), number)


class _ArrayForm:
    """Parts of messages as arrays."""

    keys: tuple[str, ...] = ("id",)
    at_once: int = TEXTS

    def __init__(self, table: str, column: str, part: type[Struct]) -> None:
        self.table, self.column, self._part = table, column, part

    def wrong(self, number: int | None) -> tuple[str, Row]:
        return FORMER.format(column=f'"{self.column}"'), ()

    def anew(self, vault: Vault, key: Row, stored: Any, number: int | None) -> Any:
        try:
            return array_text(parts_as(stored, self._part))
        except (ValueError, MsgspecError):
            raise DamagedRow(self.table, shown_key(key), "holds no parts of messages") from None


def _forms() -> list[_Form]:
    found: list[_Form] = [_SealedForm(column) for column in SEALED_COLUMNS]
    found += [_ArrayForm(table, *one) for table in tables.DOMAIN for one in array_columns(table).items()]
    return found


def _pass(engine: Engine, form: _Form, damaged: set[Row], watch: Callable[[str, int], object]) -> int | None:
    """Go through a table once; how many values were written, None when all were as they should be, but for damaged."""
    written, right = 0, True
    after: Row | None = None
    while keys := _next_keys(engine, form, after):
        after = keys[-1]
        if all(key in damaged for key in keys):
            continue
        right = False
        # Refused because of what another did meanwhile: the next pass finds these rows again.
        with contextlib.suppress(Conflict):
            count = _rewrite_span(engine, form, keys[0], keys[-1], damaged)
            written += count
            watch(form.table, count)
    return None if right else written


def _next_keys(engine: Engine, form: _Form, after: Row | None) -> list[Row]:
    """The next rows that are not as they are written now; found without a lock, as it may take long."""
    with reading(engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows("SELECT data_key FROM at_rest")
        wrong, values = form.wrong(rows[0][0] if rows else None)
        keys = _names(form)
        sql = f"SELECT {keys} FROM {form.table} WHERE {wrong}"
        if after is not None:
            sql, values = f"{sql} AND ({keys}) > ({_marks(form)})", (*values, *after)
        return [_key(row) for row in driver.rows(f"{sql} ORDER BY {keys} LIMIT ?", (*values, form.at_once))]


def _rewrite_span(engine: Engine, form: _Form, first: Row, last: Row, damaged: set[Row]) -> int:
    """Write rows anew that are not as they should be, from one to another; rows that others hold are left out."""
    keys = _names(form)
    with writing(engine) as connection:
        driver = driver_of(connection)
        number = driver.vault.writes_under(driver)
        wrong, values = form.wrong(number)
        # Nobody is waited for with rows in hand: two who wait for each other are so made impossible.
        tail = "" if is_sqlite(engine) else " FOR NO KEY UPDATE SKIP LOCKED"
        rows = driver.rows(
            f'SELECT {keys}, "{form.column}" FROM {form.table} WHERE {wrong} '
            f"AND ({keys}) >= ({_marks(form)}) AND ({keys}) <= ({_marks(form)}){tail}",
            (*values, *first, *last),
        )
        changes = []
        for row in rows:
            key = _key(row[:-1])
            try:
                changes.append((form.anew(driver.vault, key, row[-1], number), *key))
            except DamagedRow:
                damaged.add(key)
        where = " AND ".join(f'"{name}" = ?' for name in form.keys)
        with changelog.quiet(driver, sqlite=is_sqlite(engine)):
            driver.many(f'UPDATE {form.table} SET "{form.column}" = ? WHERE {where}', changes)
    return len(changes)


def _all_rows(engine: Engine, column: Sealed) -> Iterator[list[Row]]:
    """Every row of a sealed column, with its primary key, in pieces; each piece is a transaction of its own."""
    keys, after = _names(column), None
    while True:
        sql, values = f'SELECT {keys}, "{column.column}" FROM {column.table}', ()
        if after is not None:
            sql, values = f"{sql} WHERE ({keys}) > ({_marks(column)})", after
        with reading(engine) as connection:
            rows = driver_of(connection).rows(f"{sql} ORDER BY {keys} LIMIT ?", (*values, _SealedForm(column).at_once))
        if not rows:
            return
        after = _key(rows[-1][:-1])
        yield [(*_key(row[:-1]), row[-1]) for row in rows]


def _names(column: Sealed | _Form) -> str:
    return ", ".join(f'"{name}"' for name in column.keys)


def _marks(column: Sealed | _Form) -> str:
    return ", ".join("?" * len(column.keys))


def _key(row: Row) -> Row:
    return tuple(bytes(part) if isinstance(part, bytes | bytearray | memoryview) else part for part in row)
