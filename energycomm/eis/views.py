"""Views of lists: filters and an order that a person keeps under a name."""

from __future__ import annotations

from sqlalchemy import Engine, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros

MOST = 50
"""Views of one list that one person keeps."""


def views_of(engine: Engine, person: str, listed: str) -> dict[str, str]:
    """The views of a person, by name: the filters as an address has them.

    Args:
      engine: the store.
      person: whose they are.
      listed: the list: messages, tickets, requests.
    """
    v = tables.saved_view.c
    query = select(v.name, v.query).where(v.person == person, v.list == listed).order_by(v.name)
    with reading(engine) as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def keep_view(store: Store, person: str, listed: str, name: str, query: str) -> None:
    """Keep a view; one of that name is replaced.

    Raises:
      UserError: the person keeps too many.
    """
    known = views_of(store.engine, person, listed)
    if len(known) >= MOST and name not in known:
        raise UserError(f"You keep {MOST} views of this list already.", "Remove one of them first.")
    sql = (
        "INSERT INTO saved_view (person, list, name, query, created_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (person, list, name) DO UPDATE SET query = excluded.query, created_at = excluded.created_at"
    )
    with store.transaction() as tx:
        tx.driver.run(sql, (person, listed, name, query, now_micros()))


def drop_view(store: Store, person: str, listed: str, name: str) -> bool:
    """Remove a view; whether there was one."""
    with store.transaction() as tx:
        sql = "DELETE FROM saved_view WHERE person = ? AND list = ? AND name = ?"
        return tx.driver.run(sql, (person, listed, name)) > 0
