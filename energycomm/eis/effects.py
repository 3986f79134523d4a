"""Changing and withdrawing what accepted messages did, never without keeping the row as it was."""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.arrays import parts_json
from energycomm.eis.bulk import Driver, NewRow, PostgresDriver, Row, column_names, quoted
from energycomm.eis.domain import array_columns


class Writing(Protocol):
    """The transaction that the change belongs to."""

    driver: Driver

    def reserve(self, table: Table, n: int) -> range:
        """The next ids of a table."""

    def insert(self, table: Table, rows: Sequence[NewRow]) -> None:
        """Store rows."""


def keep_images(tx: Writing, table: Table, rows: Sequence[Row], why: str, now: int) -> None:
    """Keep before-images of rows.

    Args:
      tx: the transaction.
      table: the table of the rows.
      rows: all columns of each row, in the order of the table.
      why: what happens to them.
      now: when, microseconds since the epoch.
    """
    if not rows:
        return
    images = [dict(zip(column_names(table), row, strict=True)) for row in rows]
    for column in array_columns(table.name):
        for image in images:
            image[column] = None if image[column] is None else parts_json(image[column])
    tx.insert(
        tables.before_image,
        [
            {
                "table_name": table.name,
                "row_id": image["id"],
                "access_point_id": image.get("access_point_id"),
                "at": now,
                "why": why,
                "image": msgspec.json.encode(image).decode(),
            }
            for image in images
        ],
    )


def change_rows(tx: Writing, table: Table, columns: tuple[str, ...], rows: Sequence[Row], why: str, now: int) -> None:
    """Change columns of rows by id, each row being (id, value of the first column, ...), and keep before-images."""
    if not rows:
        return
    keep_images(tx, table, tx.driver.matching(_all(table), [row[0] for row in rows], "id"), why, now)
    tx.driver.update(table, columns, rows)


def drop_rows(tx: Writing, table: Table, condition: str, column: str, values: Sequence[int], why: str, now: int) -> int:
    """Delete the rows that meet a condition and whose column is one of the values; how many. Before-images are kept."""
    # Whoever changes such a row at this moment (the back office is told of it) is waited for, and counts.
    tail = "FOR UPDATE" if isinstance(tx.driver, PostgresDriver) else ""
    rows = tx.driver.matching(f"{_all(table)} AND {condition}", values, column, tail)
    keep_images(tx, table, rows, why, now)
    tx.driver.delete(table, [row[0] for row in rows])
    return len(rows)


def _all(table: Table) -> str:
    return f"SELECT {quoted(column_names(table))} FROM {table.name} WHERE true"
