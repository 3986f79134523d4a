"""Domain columns are as long as their fields declare, and the state of an access point holds what was stated last by
the name of the fact."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

LONGER = (
    ("contract", "status", 12),
    ("point_data", "connection_status", 16),
    ("customer", "category", 16),
    ("meter", "action", 16),
    ("reading", "qualification", 16),
    ("reading", "nature", 12),
    ("volume", "nature", 12),
    ("series", "direction", 12),
    ("request", "state", 14),
)
"""Columns of words of closed lists, which are all of one length now, with their length of before."""

LENGTH = 24

COMMENTS = (
    ("reading", "registers", "The indexes, JSON."),
    ("volume", "volumes", "The energies, JSON."),
    ("series", "positions", "The values, JSON."),
    ("grid_charge", "lines", "The lines, JSON."),
    ("calorific_value", "at", "Start of the month."),
    ("calorific_value", "station", "EAN-GSRN of the receiving station."),
    ("calorific_value", "month", "YYYY-MM"),
    ("calorific_value", "value", "kWh/m3(n); nothing where none is published."),
)
"""Comments of columns, which the declarations of their fields take the place of."""

FACTS = {
    7: "tariff",
    8: "subscribed_power",
    9: "contract_sequence",
    10: "calendar",
    11: "meter",
    14: "segment",
    15: "connection_status",
    16: "service_level",
}
"""Place in a state of before -> fact."""

PIECE = 1_000
"""Access points whose states are in memory at once."""


def upgrade() -> None:
    """Lengthen the columns and write the states anew."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _rewrite_tables(connection)
    else:
        for table, column, before in LONGER:
            op.alter_column(table, column, existing_type=sa.String(length=before), type_=sa.String(length=LENGTH))
        for table, column, before in COMMENTS:
            op.alter_column(table, column, comment=None, existing_comment=before)
    _rewrite_states(connection, "access_point", "id", "id")
    _rewrite_states(connection, "checkpoint", "access_point_id", "upto")


def _rewrite_tables(connection: sa.Connection) -> None:
    # SQLite keeps the length of a text in the text of the table alone, and documents that it may be changed there: no
    # row is copied, however many there are.
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    for table, column, before in LONGER:
        sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
        old = f"\t{column} VARCHAR({before})"
        if connection.exec_driver_sql(sql, (table,)).scalar_one().count(old) != 1:
            raise RuntimeError(f"the table {table} is not as an earlier version of this program made it")
        change = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?"
        connection.exec_driver_sql(change, (old, f"\t{column} VARCHAR({LENGTH})", table))
    connection.exec_driver_sql(f"PRAGMA schema_version = {int(version) + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")


def _rewrite_states(connection: sa.Connection, name: str, point: str, key: str) -> None:
    """Write the states of a table anew, some access points at a time."""
    table = sa.table(name, *(sa.column(one) for one in {point, key, "state"}))
    where = (table.c[point] == sa.bindparam("of"), table.c[key] == sa.bindparam("which"))
    change = sa.update(table).where(*where).values(state=sa.bindparam("written"))
    after: int | None = None
    while True:
        points = sa.select(table.c[point]).distinct().order_by(table.c[point]).limit(PIECE)
        if after is not None:
            points = points.where(table.c[point] > after)
        ids = connection.execute(points).scalars().all()
        if not ids:
            return
        query = sa.select(table.c[point], table.c[key], table.c.state)
        rows = connection.execute(query.where(table.c[point] >= ids[0], table.c[point] <= ids[-1])).all()
        written = [{"of": row[0], "which": row[1], "written": rewritten(bytes(row[2]))} for row in rows if row[2]]
        if written:
            connection.execute(change, written)
        after = ids[-1]


def rewritten(state: bytes) -> bytes:
    """A state of before in the form of now: the facts by their names, in place of one position each."""
    old: list[Any] = msgspec.msgpack.decode(state)
    stated = {fact: old[place] for place, fact in FACTS.items() if old[place] is not None}
    return msgspec.msgpack.encode([*old[:7], stated, *old[12:14], *old[17:]])
