"""A message that names no access point writes domain rows without one, in place of the access point 0 that is none;
columns are as long as the fields that they hold."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TABLES = (
    "supply_period",
    "contract",
    "point_data",
    "customer",
    "meter",
    "reading",
    "volume",
    "series",
    "grid_charge",
    "request",
)

LONGER = (
    ("supply_period", "reason"),
    ("supply_period", "end_reason"),
    ("kernel_message", "market_type"),
    ("message_tally", "market_type"),
    ("reading", "source"),
    ("volume", "source"),
    ("series", "source"),
)
"""Columns that are as long now as the field of the message that they hold."""


def upgrade() -> None:
    """Let the column be empty; rows of the access point 0, which only SQLite has, lose it."""
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for table in TABLES:
            op.alter_column(table, "access_point_id", existing_type=sa.BigInteger(), nullable=True)
        for table, column in LONGER:
            op.alter_column(table, column, existing_type=sa.String(length=40), type_=sa.String(length=64))
        outcomes = "digested, refused, put-aside"
        op.alter_column("ch_message", "outcome", existing_type=sa.String(length=10), comment=outcomes)
        return
    # SQLite keeps NOT NULL, and the length of a text, in the text of the table alone, and documents that these may be
    # changed there: no row is copied, however many there are.
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    for table in TABLES:
        _rewrite(connection, table, "access_point_id INTEGER NOT NULL", "access_point_id INTEGER")
    for table, column in LONGER:
        _rewrite(connection, table, f"\t{column} VARCHAR(40)", f"\t{column} VARCHAR(64)")
    connection.exec_driver_sql(f"PRAGMA schema_version = {int(version) + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
    for table in TABLES:
        row = sa.table(table, sa.column("access_point_id"))
        connection.execute(sa.update(row).where(row.c.access_point_id == 0).values(access_point_id=None))


def _rewrite(connection: sa.Connection, table: str, old: str, new: str) -> None:
    sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    text = connection.exec_driver_sql(sql, (table,)).scalar_one()
    if text.count(old) != 1:
        raise RuntimeError(f"the table {table} is not as an earlier version of this program made it")
    change = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?"
    connection.exec_driver_sql(change, (old, new, table))
