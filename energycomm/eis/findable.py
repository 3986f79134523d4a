"""What a search finds: which columns of which tables hold what people type, and the index that finds it in them.

The index is made of trigrams, three following characters: of PostgreSQL by its extension pg_trgm, of SQLite by FTS5. It
finds a value by any part of it, in any case of letters. Where a server does not allow the extension, and where SQLite
was built without FTS5, the same questions are answered by reading the tables, which takes longer the more they hold.

SQLite takes rows into the index when somebody searches, many at once, which costs a twentieth of doing so at each
arrival; what came since is read. So searches find all that is stored, and arrivals do not wait.

Names and contacts of customers are in no such index: `energycomm.eis.nameindex`.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError

EXTENSION: Final = "pg_trgm"


BESIDES_POINT: Final = (
    "CASE WHEN substr(reference, 1, length(access_point)) = access_point "
    "THEN substr(reference, length(access_point) + 1) ELSE reference END"
)
"""What a reference tells beside its access point, which is found by itself."""

TELLING: Final = (
    "(access_point IS NULL OR substr(reference, 1, length(access_point)) <> access_point "
    "OR substr(reference, length(access_point) + 1, 6) NOT LIKE '_20__-')"
)
"""References that tell more than a point and its days, of which there are as many as readings."""


class Findable(NamedTuple):
    """Columns of a table that are searched.

    Attributes:
      table: name of the table.
      columns: name of the column -> what a value in it is, in words.
      kind: what somebody finds by it.
      key: column that numbers its rows.
      where: which of its rows are searched, as SQL; all where it is empty.
      besides: columns that `where` and `parts` read beside those that are searched.
      parts: name of a column -> the part of its value that is searched, as SQL; the whole value of the others.
    """

    table: str
    columns: dict[str, str]
    kind: str
    key: str = "id"
    where: str = ""
    besides: tuple[str, ...] = ()
    parts: Mapping[str, str] = MappingProxyType({})

    def rows(self, of: str = "") -> str:
        """Which rows are searched, as SQL; `of` is what their columns are of: OLD, NEW."""
        return self._of(of, self.where) or "TRUE"

    def part(self, column: str, of: str = "") -> str:
        """What of a column is searched, as SQL."""
        return self._of(of, self.parts.get(column, column))

    def text(self, column: str) -> str:
        """What a pattern is held against on PostgreSQL. Its index is of this expression and not of the column: pg_trgm
        answers `=` too, for which the planner takes an index of the column before that of its values, and reads a
        hundred times the pages."""
        return f"({self.part(column)} || '')"

    def values(self, of: str = "") -> str:
        """What is searched of all columns."""
        return ", ".join(self.part(column, of) for column in self.columns)

    def _of(self, of: str, sql: str) -> str:
        names = "|".join((*self.columns, *self.besides))
        return re.sub(rf"\b({names})\b", rf"{of}.\1", sql) if of else sql

    @property
    def stem(self) -> str:
        """Name of its index on SQLite; those of PostgreSQL begin with it."""
        return f"find_{self.table}"


FINDABLE: Final = {
    one.table: one
    for one in (
        Findable("access_point", {"identifier": "identifier"}, "access point"),
        Findable("supply_period", {"reference": "reference of the supply contract"}, "contract"),
        Findable("contract", {"reference": "reference of the contract"}, "contract"),
        Findable("meter", {"serial": "serial number"}, "meter"),
        Findable("named_meter", {"serial": "serial number"}, "meter"),
        Findable(
            "ch_message",
            {"reference": "the market's reference"},
            "message",
            where=TELLING,
            besides=("access_point",),
            parts={"reference": BESIDES_POINT},
        ),
        Findable(
            "outgoing",
            {"reference": "our reference", "market_reference": "the market's reference", "batch": "its batch"},
            "request",
        ),
        Findable("request", {"reference": "the market's reference"}, "request"),
        Findable("received_request", {"reference": "the sender's reference"}, "request"),
        Findable("grid_invoice", {"invoice": "number"}, "invoice"),
        Findable("envelope", {"name": "name"}, "file"),
        Findable("member", {"path": "path in its envelope"}, "file"),
        Findable("ticket", {"title": "title", "link": "address in the other tracker"}, "ticket"),
    )
}
"""What is searched, by table. Each column is one of few a point, a file or a case, or a reference that tells more than
the point and the day of a message."""

MERGED_PAGES: Final = 500
"""Pages of an index that are written in one transaction of merging."""

NAMES: Final = Findable("customer_words", {"words": "name"}, "customer", "customer_id")
"""Names and contacts of customers, in words that say nothing without the store's key (`energycomm.eis.nameindex`)."""

INDEXED: Final = {**FINDABLE, NAMES.table: NAMES}


def install(connection: Connection) -> bool:
    """Make the index of all that is there, anew where there is one.

    Args:
      connection: in a writing transaction; the tables are there.

    Returns:
      Whether this database can: else searches read the tables.
    """
    follow(connection)
    return install_of(connection, INDEXED.values())


def install_of(connection: Connection, some: Iterable[Findable]) -> bool:
    """The same of some tables alone."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite and not _has_trigrams(connection):
        return False
    able = sqlite or _has_extension(connection)
    there = set(inspect(connection).get_table_names())  # earlier migrations come before some of the tables
    for one in some:
        if one.table not in there:
            continue
        statements = _sqlite(one) if sqlite else list(_postgres(one, trigrams=able))
        for statement in statements:
            connection.exec_driver_sql(statement)
    return able


def able(connection: Connection) -> bool:
    """Whether the index of trigrams is there."""
    if connection.dialect.name == "sqlite":
        return inspect(connection).has_table(FINDABLE["access_point"].stem)
    sql = "SELECT count(*) FROM pg_class WHERE relname = 'find_access_point_identifier' AND relkind = 'i'"
    return bool(connection.exec_driver_sql(sql).scalar())


def _has_trigrams(connection: Connection) -> bool:
    try:
        with connection.begin_nested():
            connection.exec_driver_sql("CREATE VIRTUAL TABLE temp.find_try USING fts5(a, tokenize = 'trigram')")
            connection.exec_driver_sql("DROP TABLE temp.find_try")
    except DBAPIError:
        return False
    return True


def _has_extension(connection: Connection) -> bool:
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}")
    except DBAPIError:
        return False
    return True


def _postgres(one: Findable, *, trigrams: bool) -> Iterable[str]:
    for column in one.columns:
        name = f"{one.stem}_{column}"
        yield f"DROP INDEX IF EXISTS {name}"
        if one is NAMES:
            yield f"CREATE INDEX {name} ON {one.table} USING gin (string_to_array({column}, ' '))"
        elif trigrams:
            where = f"WHERE {one.where or f'{column} IS NOT NULL'}"
            yield f"CREATE INDEX {name} ON {one.table} USING gin ({one.text(column)} gin_trgm_ops) {where}"


def _sqlite(one: Findable) -> list[str]:
    """Rows come in when somebody searches (`catch_up`), so that no arrival waits for it; they go by triggers."""
    names = ", ".join(one.columns)
    read = (*one.columns, *one.besides)
    differs = " OR ".join(f"OLD.{column} IS NOT NEW.{column}" for column in read)
    known = f"OLD.{one.key} <= (SELECT upto FROM find_upto WHERE name = '{one.table}')"
    gone = f"INSERT INTO {one.stem} ({one.stem}, rowid, {names}) SELECT 'delete', OLD.{one.key}, {one.values('OLD')} "
    gone += f"WHERE {one.rows('OLD')};"
    come = f"INSERT INTO {one.stem} (rowid, {names}) SELECT NEW.{one.key}, {one.values('NEW')} WHERE {one.rows('NEW')};"
    tokens = "unicode61" if one is NAMES else "trigram"
    return [
        *(f"DROP TRIGGER IF EXISTS {one.stem}_{event}" for event in ("update", "delete")),
        f"DROP TABLE IF EXISTS {one.stem}",
        "CREATE TABLE IF NOT EXISTS find_upto (name TEXT PRIMARY KEY, upto INTEGER NOT NULL) WITHOUT ROWID",
        f"CREATE VIRTUAL TABLE {one.stem} USING fts5({names}, content = '{one.table}', content_rowid = '{one.key}', "
        f"tokenize = '{tokens}', detail = 'none', columnsize = 0)",
        f"INSERT INTO {one.stem} (rowid, {names}) SELECT {one.key}, {one.values()} FROM {one.table} WHERE {one.rows()}",
        "INSERT OR REPLACE INTO find_upto (name, upto) "
        f"SELECT '{one.table}', coalesce(max({one.key}), 0) FROM {one.table}",
        f"CREATE TRIGGER {one.stem}_update AFTER UPDATE OF {', '.join(read)} ON {one.table} "
        f"WHEN {known} AND ({differs}) BEGIN {gone} {come} END",
        f"CREATE TRIGGER {one.stem}_delete AFTER DELETE ON {one.table} WHEN {known} BEGIN {gone} END",
    ]


def upto_of(connection: Connection) -> dict[str, int]:
    """Up to which row each table is in the index of SQLite: a search reads the few rows behind it."""
    return {row[0]: row[1] for row in connection.exec_driver_sql("SELECT name, upto FROM find_upto")}


def behind(connection: Connection) -> bool:
    """Whether rows of SQLite are not in its index yet."""
    asked = (f"SELECT max({one.key}) AS last, '{one.table}' AS name FROM {one.table}" for one in INDEXED.values())
    sql = f"SELECT 1 FROM find_upto u JOIN ({' UNION ALL '.join(asked)}) t ON t.name = u.name AND t.last > u.upto"
    return connection.exec_driver_sql(sql).first() is not None


def catch_up(connection: Connection) -> None:
    """Take the rows into the index of SQLite that came since.

    Rows get rising numbers, and there is one writer at a time: no row comes later with a lower number.

    Args:
      connection: in a writing transaction.
    """
    for one in INDEXED.values():
        names = ", ".join(one.columns)
        known = f"(SELECT upto FROM find_upto WHERE name = '{one.table}')"
        connection.exec_driver_sql(
            f"INSERT INTO {one.stem} (rowid, {names}) SELECT {one.key}, {one.values()} FROM {one.table} "
            f"WHERE {one.key} > {known} AND {one.rows()} ORDER BY {one.key}"
        )
        connection.exec_driver_sql(
            f"UPDATE find_upto SET upto = max(upto, (SELECT coalesce(max({one.key}), 0) FROM {one.table})) "
            f"WHERE name = '{one.table}'"
        )


def segments(connection: Connection, one: Findable) -> int:
    """In how many pieces an index of SQLite lies: a search looks into each, and each catching up may add one."""
    index = f"{one.stem}_idx"
    following = f"SELECT min(segid) FROM {index} WHERE segid > n"
    sql = (
        f"WITH RECURSIVE s(n) AS (SELECT min(segid) FROM {index} UNION ALL SELECT ({following}) FROM s "
        "WHERE n IS NOT NULL) SELECT count(n) FROM s"
    )
    return int(connection.exec_driver_sql(sql).scalar_one())


def merge(connection: Connection, one: Findable, *, begin: bool) -> bool:
    """Merge some of the pieces of an index of SQLite.

    Args:
      connection: in a writing transaction.
      one: whose index.
      begin: with all pieces that there are; else what was begun goes on.

    Returns:
      Whether something is left to merge.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    before = driver.total_changes
    pages = -MERGED_PAGES if begin else MERGED_PAGES
    connection.exec_driver_sql(f"INSERT INTO {one.stem} ({one.stem}, rank) VALUES ('merge', {pages})")
    return driver.total_changes - before > 1  # so the documentation of FTS5 says when it is done


def take_in(connection: Connection, one: Findable, first: int, last: int) -> None:
    """Take rows into the index of SQLite that were stored late: with numbers that it counts as known.

    Args:
      connection: in a writing transaction.
      one: whose rows.
      first, last: their numbers.
    """
    if able(connection):
        names = ", ".join(one.columns)
        upto = min(last, upto_of(connection)[one.table])
        sql = f"SELECT {one.key}, {one.values()} FROM {one.table} WHERE {one.key} BETWEEN {first:d} AND {upto:d} "
        sql += f"AND {one.rows()}"
        connection.exec_driver_sql(f"INSERT INTO {one.stem} (rowid, {names}) {sql}")


def follow(connection: Connection) -> None:
    """Make the triggers by which an entry of the index of names goes with its customer, or with a former name or
    contact.

    Args:
      connection: in a writing transaction; the tables are there.
    """
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRES:
        connection.exec_driver_sql(statement)


_SQLITE: Final = (
    "DROP TRIGGER IF EXISTS customer_words_gone",
    "DROP TRIGGER IF EXISTS customer_words_former",
    "CREATE TRIGGER customer_words_gone AFTER DELETE ON customer BEGIN "
    "DELETE FROM customer_words WHERE customer_id = OLD.id; END",
    "CREATE TRIGGER customer_words_former AFTER UPDATE OF name, content ON customer "
    "WHEN OLD.name IS NOT NEW.name OR OLD.content <> NEW.content BEGIN "
    "DELETE FROM customer_words WHERE customer_id = OLD.id; END",
)

_POSTGRES: Final = (
    """CREATE OR REPLACE FUNCTION forget_words() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      DELETE FROM customer_words w USING gone g WHERE w.customer_id = g.id;
      RETURN NULL;
    END $body$""",
    """CREATE OR REPLACE FUNCTION forget_former_words() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      DELETE FROM customer_words w USING gone g JOIN come c ON c.id = g.id
      WHERE w.customer_id = g.id AND (g.name IS DISTINCT FROM c.name OR g.content <> c.content);
      RETURN NULL;
    END $body$""",
    "DROP TRIGGER IF EXISTS customer_words_gone ON customer",
    "DROP TRIGGER IF EXISTS customer_words_former ON customer",
    "CREATE TRIGGER customer_words_gone AFTER DELETE ON customer REFERENCING OLD TABLE AS gone "
    "FOR EACH STATEMENT EXECUTE FUNCTION forget_words()",
    "CREATE TRIGGER customer_words_former AFTER UPDATE ON customer REFERENCING OLD TABLE AS gone NEW TABLE AS come "
    "FOR EACH STATEMENT EXECUTE FUNCTION forget_former_words()",
)
