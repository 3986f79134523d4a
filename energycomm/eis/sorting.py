"""Lists sorted by a column, page by page: what follows is what comes after the last row that was shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, Table, and_, or_, select


def sorted_by(
    query: Select[Any], table: Table, columns: Mapping[str, str], sort: str | None, after: int | None
) -> Select[Any]:
    """A query of a table's rows in the order of one of its columns; equal ones in the same direction by their numbers,
    so that one index of the column and the number serves both directions.

    Args:
      query: of the list.
      table: whose `id` is larger for newer rows.
      columns: name -> column that it can be sorted by, which is never NULL.
      sort: one of the names, from the end with - before it; None for the newest first.
      after: id of the last row of the page before; None for the first page. That row says where it stands in the
        order, so one that was changed meanwhile is followed by what comes after its new place.
    """
    falling, column = (True, "id") if sort is None else (sort.startswith("-"), columns[sort.removeprefix("-")])
    key, number = table.c[column], table.c.id
    if after is not None:
        last = table.alias()
        reached: Any = after if column == "id" else select(last.c[column]).where(last.c.id == after).scalar_subquery()
        further = key < reached if falling else key > reached
        same = number < after if falling else number > after
        query = query.where(further if column == "id" else or_(further, and_(key == reached, same)))
    return query.order_by(*((key.desc(), number.desc()) if falling else (key, number)))
