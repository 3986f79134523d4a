"""Many rows at once, at the speed of the database's own driver, inside SQLAlchemy's connection and transaction.

SQLAlchemy's statement machinery costs more than the databases themselves (four times the time of a batch on SQLite), so
the hot path speaks to the drivers: INSERT of many rows at once by sqlite3, binary COPY and arrays of psycopg.
Statements are written once, with ``?`` for a bound value; values are always bound.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, count
from typing import Any, cast

import psycopg
from sqlalchemy import BigInteger, Boolean, Connection, Integer, LargeBinary, SmallInteger, String, Table, Text

from energycomm.eis import changelog, triggers
from energycomm.eis.fitting import Values, check, columns_of, completed
from energycomm.eis.sealing import PLAIN, VAULT, Vault, sealed_column

Row = tuple[Any, ...]
"""A row that was read, or the id and changed values of one."""

NewRow = Mapping[str, Any]
"""A row to store: value by name of column. What may be empty, or has a default, may be left out."""

NewColumns = Mapping[str, Values]
"""Rows to store: the values of all rows by name of column. What may be left out of a row may be left out."""

SQLITE_CHUNK = 512
"""Values in one IN list: few enough for every build of SQLite, and few different statements to prepare."""


SQLITE_ROWS = 32
"""Rows in one statement at most, a power of two; with the columns of any table below the bound of 999 values that old
builds of SQLite have."""


class Driver(ABC):
    """The operations of a database driver that the store needs. A driver that writes serves one transaction.

    Args:
      vault: what opens the columns that are encrypted at rest.
    """

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._data_key: tuple[int | None] | None = None

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""

    @abstractmethod
    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; the number of rows it touched."""

    @abstractmethod
    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""

    def insert(self, table: Table, rows: Sequence[NewRow]) -> None:
        """Store rows; what is encrypted at rest is sealed here.

        Raises:
          Misfit: one of the databases would refuse a value.
          TypeError: a row names a column that there is not, or leaves out one that needs a value.
        """
        if rows:
            self._store(table, self._sealed(table, columns_of(table, rows), column_names(table)))

    def insert_columns(self, table: Table, columns: NewColumns) -> None:
        """Store rows that are given as columns: `insert`, for many of them. Raises as that does."""
        self._store(table, self._sealed(table, completed(table, columns), column_names(table)))

    @contextmanager
    def logging_at_end(self) -> Iterator[None]:
        """Log the rows that the block stores when it ends, where that saves statements. What fails undoes them."""
        yield

    @abstractmethod
    def _store(self, table: Table, columns: Sequence[Values]) -> None:
        """Store rows: the values of all columns of a table, in their order."""

    @abstractmethod
    def put(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row], conflict: str) -> None:
        """Store rows where others may be in the way; they are neither checked nor sealed.

        Args:
          table: none whose changes are logged.
          columns: the names of what is given of each row.
          rows: their values.
          conflict: what becomes of a row that meets another, as SQL behind ON CONFLICT; no two of the rows meet.
        """

    @abstractmethod
    def update(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Change columns of rows by id, sealed as by `insert`; each row is (id, value of the first column, ...).

        Raises:
          Misfit: one of the databases would refuse a value.
        """

    @abstractmethod
    def matching(
        self, sql: str, values: Sequence[Any], column: str, tail: str = "", head: Sequence[Any] = ()
    ) -> list[Row]:
        """Rows of a query whose column is one of the values: ``sql AND column in values tail``."""

    @abstractmethod
    def given(self, sql: str, columns: tuple[str, ...], rows: Sequence[tuple[int, ...]]) -> list[Row]:
        """Rows of a query that reads rows of ours, whole numbers all of them, as its table `given`.

        Args:
          sql: the query; joins with CROSS JOIN begin at `given`.
          columns: names of the columns of `given`.
          rows: its rows.
        """

    @abstractmethod
    def delete(self, table: Table, ids: Sequence[int]) -> None:
        """Delete rows by id."""

    def _changed(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row]) -> list[Values]:
        """Changed values as they are stored: their ids, then the columns; checked, what is encrypted at rest sealed."""
        names, changes = ("id", *columns), list(zip(*rows, strict=True))
        check(table, names, changes)
        return self._sealed(table, changes, names)

    def _sealed(self, table: Table, columns: Sequence[Values], names: tuple[str, ...]) -> list[Values]:
        """Columns with the sealed one as it is stored."""
        found, column = list(columns), sealed_column(table)
        if column is None or column.column not in names:
            return found
        if self._data_key is None:
            self._data_key = (self.vault.writes_under(self),)
        place, keys = names.index(column.column), [columns[names.index(name)] for name in column.keys]
        found[place] = self.vault.sealed_values(column, zip(*keys, strict=True), columns[place], *self._data_key)
        return found


def driver_of(connection: Connection) -> Driver:
    """The driver below a SQLAlchemy connection; it shares the connection's transaction."""
    below = connection.connection.driver_connection
    vault = connection.get_execution_options().get(VAULT, PLAIN)
    if isinstance(below, sqlite3.Connection):
        return SqliteDriver(below, vault)
    return PostgresDriver(cast("psycopg.Connection[Any]", below), vault)


class SqliteDriver(Driver):
    """sqlite3."""

    def __init__(self, connection: sqlite3.Connection, vault: Vault = PLAIN) -> None:
        super().__init__(vault)
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; the number of rows it touched."""
        return self._connection.execute(sql, values).rowcount

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""
        if rows:
            self._connection.executemany(sql, rows)

    def _store(self, table: Table, columns: Sequence[Values]) -> None:
        """Store rows. What triggers would do for each, which costs more than the row, is done for all at once."""
        logged, counted, rows = table.name in changelog.LOGGED, table.name == _MESSAGES, len(columns[0])
        if rows == 1 or not (logged or counted):
            self._insert(table, columns, rows)
            return
        with changelog.together(self) as told:
            self._insert(table, columns, rows)
            if logged and told:
                changelog.log_runs(self, table.name, list(_picked(table, columns, "id", "message_id")))
            if counted:
                triggers.count_messages(self, _picked(table, columns, *_COUNTED))

    def _insert(self, table: Table, columns: Sequence[Values], rows: int) -> None:
        """Statements of many rows: SQLite copies the pages that a statement changes, to be able to undo it. A value
        that all rows share is bound once; of few rows none is, so that not too many statements are prepared."""
        together = rows >= SQLITE_ROWS
        shared = tuple(
            place
            for place, values in enumerate(columns)
            if together and values[0] == values[-1] and values.count(values[0]) == rows
        )
        once = [columns[place][0] for place in shared]
        different = list(zip(*(values for place, values in enumerate(columns) if place not in shared), strict=True))
        start, left, size = 0, rows, SQLITE_ROWS
        while left:
            while size > left:
                size >>= 1
            statement = _sqlite_insert(table, shared, size)
            while size <= left:
                self._connection.execute(statement, [*once, *chain.from_iterable(different[start : start + size])])
                start, left = start + size, left - size

    def put(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row], conflict: str) -> None:
        """Store rows where others may be in the way."""
        names = f"{table.name} ({quoted(columns)})"
        self.many(f"INSERT INTO {names} VALUES ({_marks(len(columns))}) ON CONFLICT {conflict}", rows)

    def update(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Change columns of rows by id; each row is (id, value of the first column, ...)."""
        if rows:
            ids, *changes = self._changed(table, columns, rows)
            self._connection.executemany(_sqlite_update(table, columns), zip(*changes, ids, strict=True))

    def matching(
        self, sql: str, values: Sequence[Any], column: str, tail: str = "", head: Sequence[Any] = ()
    ) -> list[Row]:
        """Rows of a query whose column is one of the values: ``sql AND column in values tail``."""
        found: list[Row] = []
        for piece in _pieces(values):
            statement = f"{sql} AND {column} IN ({_marks(len(piece))}) {tail}"
            found += self._connection.execute(statement, (*head, *piece)).fetchall()
        return found

    def given(self, sql: str, columns: tuple[str, ...], rows: Sequence[tuple[int, ...]]) -> list[Row]:
        """Rows of a query that reads rows of ours as its table `given`."""
        found: list[Row] = []
        start, size = 0, SQLITE_ROWS
        while left := len(rows) - start:
            while size > left:
                size >>= 1
            values = ", ".join([f"({_marks(len(columns))})"] * size)
            statement = f"WITH given({', '.join(columns)}) AS (VALUES {values}) {sql}"
            piece = rows[start : start + size]
            found += self._connection.execute(statement, list(chain.from_iterable(piece))).fetchall()
            start += size
        return found

    def delete(self, table: Table, ids: Sequence[int]) -> None:
        """Delete rows by id."""
        self.many(f"DELETE FROM {table.name} WHERE id = ?", [(i,) for i in ids])


class PostgresDriver(Driver):
    """psycopg 3, with results and arrays in binary."""

    def __init__(self, connection: psycopg.Connection[Any], vault: Vault = PLAIN) -> None:
        super().__init__(vault)
        self._cursor = connection.cursor(binary=True)
        self._to_log: list[changelog.Stored] | None = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        return self._cursor.execute(_percent(sql), values).fetchall()

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; the number of rows it touched."""
        return self._cursor.execute(_percent(sql), values).rowcount

    def many(self, sql: str, rows: Sequence[Row]) -> None:
        """Run a statement for each row of values."""
        if rows:
            self._cursor.executemany(_percent(sql), rows)

    @contextmanager
    def logging_at_end(self) -> Iterator[None]:
        """Log the rows of all tables that the block stores in one statement."""
        stored: list[changelog.Stored] = []
        self._to_log = stored
        try:
            yield
        finally:
            self._to_log = None
        if stored:
            changelog.log_stored(self, stored)

    def _store(self, table: Table, columns: Sequence[Values]) -> None:
        """Store rows; those of the tables that are logged are logged together."""
        gathered = self._to_log
        if table.name not in changelog.LOGGED or (gathered is None and len(columns[0]) == 1):
            self._copy_rows(table, columns)
            return
        ids, messages = zip(*_picked(table, columns, "id", "message_id"), strict=True)
        if not gathered:
            changelog.hold_still(self)
        self._copy_rows(table, columns)
        stored = table.name, list(ids), list(messages)
        if gathered is None:
            changelog.log_stored(self, [stored])
        else:
            gathered.append(stored)

    def _copy_rows(self, table: Table, columns: Sequence[Values]) -> None:
        statement, types = _copy(table)
        with self._cursor.copy(statement) as copy:
            copy.set_types(types)
            write = copy.write_row
            for row in zip(*columns, strict=True):
                write(row)

    def put(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row], conflict: str) -> None:
        """Store rows where others may be in the way, all in one statement, in their order."""
        if rows:
            arrays = ", ".join(f"?::{_type_name(table, name)}[]" for name in columns)
            names = f"{table.name} ({quoted(columns)})"
            statement = f"INSERT INTO {names} SELECT * FROM unnest({arrays}) ON CONFLICT {conflict}"
            self._cursor.execute(_percent(statement), [list(values) for values in zip(*rows, strict=True)])

    def update(self, table: Table, columns: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Change columns of rows by id; each row is (id, value of the first column, ...)."""
        if rows:
            changes = self._changed(table, columns, rows)
            self._cursor.execute(_postgres_update(table, columns), list(map(list, changes)))

    def matching(
        self, sql: str, values: Sequence[Any], column: str, tail: str = "", head: Sequence[Any] = ()
    ) -> list[Row]:
        """Rows of a query whose column is one of the values: ``sql AND column in values tail``."""
        if not values:
            return []
        statement = f"{sql} AND {column} = ANY(?) {tail}"
        return self._cursor.execute(_percent(statement), (*head, list(values))).fetchall()

    def given(self, sql: str, columns: tuple[str, ...], rows: Sequence[tuple[int, ...]]) -> list[Row]:
        """Rows of a query that reads rows of ours as its table `given`."""
        if not rows:
            return []
        arrays = ", ".join(["?::int8[]"] * len(columns))
        statement = f"WITH given({', '.join(columns)}) AS (SELECT * FROM unnest({arrays})) {sql}"
        return self._cursor.execute(_percent(statement), [list(one) for one in zip(*rows, strict=True)]).fetchall()

    def delete(self, table: Table, ids: Sequence[int]) -> None:
        """Delete rows by id."""
        if ids:
            self._cursor.execute(_percent(f"DELETE FROM {table.name} WHERE id = ANY(?)"), (list(ids),))


_MESSAGES = "kernel_message"
_COUNTED = ("market", "market_type", "kind", "state", "received_at")


def _picked(table: Table, columns: Sequence[Values], *names: str) -> Iterator[Row]:
    """Some columns of rows that are given as columns, row by row."""
    places = column_names(table)
    return zip(*(columns[places.index(name)] for name in names), strict=True)


@cache
def column_names(table: Table) -> tuple[str, ...]:
    """Names of a table's columns, in their order."""
    return tuple(column.name for column in table.columns)


def quoted(names: Iterable[str]) -> str:
    """Names of columns for a statement; some of ours are words of SQL (number, before, current, by)."""
    return ", ".join(f'"{name}"' for name in names)


@cache
def _sqlite_insert(table: Table, shared: tuple[int, ...], rows: int) -> str:
    """A statement whose first values are those that its rows share, by the places of their columns."""
    names = column_names(table)
    numbers = count(len(shared) + 1)
    row = [shared.index(place) + 1 if place in shared else 0 for place in range(len(names))]
    written = (", ".join(f"?{number or next(numbers)}" for number in row) for _ in range(rows))
    return f"INSERT INTO {table.name} ({quoted(names)}) VALUES {', '.join(f'({one})' for one in written)}"


@cache
def _sqlite_update(table: Table, columns: tuple[str, ...]) -> str:
    changes = ", ".join(f'"{name}" = ?' for name in columns)
    return f"UPDATE {table.name} SET {changes} WHERE id = ?"


@cache
def _copy(table: Table) -> tuple[bytes, list[str]]:
    statement = f"COPY {table.name} ({quoted(column_names(table))}) FROM STDIN (FORMAT BINARY)"
    return statement.encode(), [_type_name(table, name) for name in column_names(table)]


@cache
def _postgres_update(table: Table, columns: tuple[str, ...]) -> bytes:
    changes = ", ".join(f'"{name}" = v."{name}"' for name in columns)
    arrays = ", ".join(f"%b::{_type_name(table, name)}[]" for name in ("id", *columns))
    return (
        f"UPDATE {table.name} SET {changes} FROM unnest({arrays}) AS v ({quoted(('id', *columns))}) "
        f"WHERE {table.name}.id = v.id"
    ).encode()


@cache
def _percent(sql: str) -> bytes:
    return sql.replace("?", "%b").encode()


@cache
def _marks(n: int) -> str:
    return ",".join("?" * n)


def _pieces(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """Cut values into lists whose lengths are powers of two (the last value repeated): few statements to prepare."""
    for start in range(0, len(values), SQLITE_CHUNK):
        piece = values[start : start + SQLITE_CHUNK]
        size = 1 << (len(piece) - 1).bit_length()
        yield [*piece, *([piece[-1]] * (size - len(piece)))]


_TYPES: tuple[tuple[type[Any], str], ...] = (
    (SmallInteger, "int2"),
    (BigInteger, "int8"),
    (Integer, "int4"),
    (Boolean, "bool"),
    (LargeBinary, "bytea"),
    (Text, "text"),
    (String, "varchar"),
)


@cache
def _type_name(table: Table, name: str) -> str:
    kind = table.columns[name].type
    return next(found for cls, found in _TYPES if isinstance(kind, cls))
