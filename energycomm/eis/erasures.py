"""Customers that were erased: orders, which hold for what arrives later and for what a restore brings back.

An order names an access point and a time, and nobody: the customer who was there then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, inspect, select

from energycomm.eis import tables
from energycomm.eis.store import StoreTransaction

FOREVER = (1 << 62) - 1
"""The end of a time that has none, microseconds since the epoch."""


class Order(Struct, frozen=True, kw_only=True):
    """What is to be erased, for good.

    Attributes:
      market: of the access point.
      access_point: its identifier.
      since, until: the customer was there from the one instant to before the other, microseconds since the epoch; 0
        and `FOREVER` where there is no bound.
      ordered_at: when it was ordered, microseconds since the epoch.
      by: who ordered it.
      reference: number of the case in the officer's register.
    """

    market: str
    access_point: str
    since: int
    until: int
    ordered_at: int
    by: str
    reference: str


class Erasure(Struct, frozen=True, kw_only=True):
    """An order and what became of it.

    Attributes:
      done_at: when nothing was left to be done; None while something is.
      wiped_at: when the files of the database were written anew after that.
      counts: place -> values that were taken out there.
      kept: what stays for a time -> until when, or why.
    """

    id: int
    order: Order
    done_at: int | None
    wiped_at: int | None
    counts: dict[str, int]
    kept: dict[str, str]


def erasures(connection: Connection) -> list[Erasure]:
    """Every order, the first first; none in a store of a version that had no such table."""
    if not inspect(connection).has_table("erasure"):
        return []
    found = []
    for row in connection.execute(select(tables.erasure).order_by(tables.erasure.c.id)).mappings():
        order = Order(**{name: row[name] for name in Order.__struct_fields__})
        told: dict[str, Any] = {name: msgspec.json.decode(row[name]) for name in ("counts", "kept")}
        found.append(Erasure(id=row["id"], order=order, done_at=row["done_at"], wiped_at=row["wiped_at"], **told))
    return found


def place_order(tx: StoreTransaction, order: Order) -> int:
    """Store an order; the same one again is one, and is to be done again.

    Returns:
      Its number.
    """
    same = (order.market, order.access_point, order.since, order.until)
    rows = tx.driver.rows(_SAME, same)
    if rows:
        tx.driver.run("UPDATE erasure SET done_at = NULL WHERE id = ?", (rows[0][0],))
        return int(rows[0][0])
    (number,) = tx.reserve(tables.erasure, 1)
    row = {name: getattr(order, name) for name in Order.__struct_fields__}
    tx.insert(tables.erasure, [{"id": number, **row, "counts": "{}", "kept": "{}"}])
    return number


def count(tx: StoreTransaction, number: int, place: str, values: int) -> None:
    """Add what was taken out, in the transaction that does it; the files have to be wiped again.

    Args:
      tx: the transaction.
      number: of the order.
      place: where.
      values: how many.
    """
    ((before,),) = tx.driver.rows("SELECT counts FROM erasure WHERE id = ?", (number,))
    total: dict[str, int] = msgspec.json.decode(before)
    total[place] = total.get(place, 0) + values
    text = msgspec.json.encode(dict(sorted(total.items()))).decode()
    tx.driver.run("UPDATE erasure SET counts = ?, wiped_at = NULL WHERE id = ?", (text, number))


def end(tx: StoreTransaction, number: int, now: int, kept: dict[str, str]) -> None:
    """Store that a run came to its end.

    Args:
      tx: the transaction.
      number: of the order.
      now: the present, microseconds since the epoch; not stored where it was done before.
      kept: what is left to be done -> until when, or why.
    """
    text = msgspec.json.encode(kept).decode()
    if kept:
        tx.driver.run("UPDATE erasure SET done_at = NULL, kept = ? WHERE id = ?", (text, number))
    else:
        sql = "UPDATE erasure SET done_at = coalesce(done_at, ?), kept = ? WHERE id = ?"
        tx.driver.run(sql, (now, text, number))


def wiped(tx: StoreTransaction, now: int) -> None:
    """Store that the files of the database were written anew."""
    tx.driver.run("UPDATE erasure SET wiped_at = ? WHERE done_at IS NOT NULL", (now,))


def missing(connection: Connection, orders: Iterable[Order]) -> list[Order]:
    """Those of some orders that a store does not have: it was restored to a time before them."""
    known = {_identity(one.order) for one in erasures(connection)}
    found = {_identity(one): one for one in orders}
    return [one for identity, one in sorted(found.items()) if identity not in known]


def _identity(order: Order) -> tuple[str, str, int, int]:
    return order.market, order.access_point, order.since, order.until


_SAME = "SELECT id FROM erasure WHERE market = ? AND access_point = ? AND since = ? AND until = ?"
