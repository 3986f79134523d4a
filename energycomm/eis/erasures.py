"""Customers that were erased: orders, which hold for what arrives later and for what a restore brings back.

An order names an access point and a time, and nobody: the customer who was there then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, inspect, select

from energycomm.eis import tables
from energycomm.eis.store import StoreTransaction
from energycomm.errors import UserError

FOREVER = (1 << 62) - 1
"""The end of a time that has none, microseconds since the epoch."""


Reason = Literal["no-longer-needed", "consent-withdrawn", "objected", "unlawful", "obliged"]

REASONS: Final[Mapping[Reason, str]] = {
    "no-longer-needed": "GDPR, article 17(1)(a): the data are not needed any more for what they were collected for",
    "consent-withdrawn": "GDPR, article 17(1)(b): the customer withdrew the consent, and nothing else is a ground",
    "objected": "GDPR, article 17(1)(c): the customer objected, and no ground overrides that",
    "unlawful": "GDPR, article 17(1)(d): the data were processed unlawfully",
    "obliged": "GDPR, article 17(1)(e): a law obliges us to erase them",
}
"""Why a customer is erased -> the law. Words of a closed list: a sentence might name somebody."""


def reason_of(word: str) -> Reason:
    """A reason as it was typed.

    Raises:
      UserError: it is none.
    """
    for known in get_args(Reason):
        if word == known:
            found: Reason = known
            return found
    raise UserError(f"{word!r} is no reason to erase a customer.", f"One of: {', '.join(REASONS)}.")


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
      reason: why; None of orders from before there were reasons.
    """

    market: str
    access_point: str
    since: int
    until: int
    ordered_at: int
    by: str
    reference: str
    reason: Reason | None = None

    @property
    def digest(self) -> bytes:
        """SHA-256 of the order: of its JSON with sorted keys and no blanks."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).digest()


class Kept(Struct, frozen=True, kw_only=True):
    """Something that stays when a customer is erased.

    Attributes:
      what: what stays.
      because: why, in words.
      law: what wants or allows it in every market; `national`: the law of the market, as it is cited there.
      until: the day after which it goes; None where it stays as nobody's.
    """

    what: str
    because: str
    law: str
    national: str | None = None
    until: str | None = None


class Evidence(Struct, frozen=True, kw_only=True):
    """What one run of an erasure did: for auditors, without a name.

    Attributes:
      erasure: number of the order.
      at: when, microseconds since the epoch.
      by: who did it; `via`: how they came.
      done: nothing was left to be done.
      counts: place -> values that were taken out there.
      kept: what stayed, and by which law.
      order_sha256: of the order, hexadecimal: see `Order.digest`.
    """

    id: int
    erasure: int
    at: int
    by: str
    via: str
    done: bool
    counts: dict[str, int]
    kept: tuple[Kept, ...]
    order_sha256: str


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
    looked = inspect(connection)
    if not looked.has_table("erasure"):
        return []
    there = {column["name"] for column in looked.get_columns("erasure")}
    columns = [column for column in tables.erasure.columns if column.name in there]
    found = []
    for row in connection.execute(select(*columns).order_by(tables.erasure.c.id)).mappings():
        order = Order(**{name: row[name] for name in Order.__struct_fields__ if name in row})
        told: dict[str, Any] = {name: msgspec.json.decode(row[name]) for name in ("counts", "kept")}
        found.append(Erasure(id=row["id"], order=order, done_at=row["done_at"], wiped_at=row["wiped_at"], **told))
    return found


def numbered(connection: Connection, number: int) -> Erasure:
    """An order by its number.

    Raises:
      UserError: there is none.
    """
    for one in erasures(connection):
        if one.id == number:
            return one
    raise UserError(f"There is no erasure {number}.", "`energycomm customer erasures` shows all of them.")


def evidence(connection: Connection, number: int) -> list[Evidence]:
    """What the runs of an order did, the first first.

    Args:
      connection: to the store.
      number: of the order.
    """
    e = tables.erasure_evidence
    rows = connection.execute(select(e).where(e.c.erasure_id == number).order_by(e.c.id)).mappings()
    return [
        Evidence(
            id=row["id"],
            erasure=row["erasure_id"],
            at=row["at"],
            by=row["by"],
            via=row["via"],
            done=row["done"],
            counts=msgspec.json.decode(row["counts"]),
            kept=msgspec.json.decode(row["kept"], type=tuple[Kept, ...]),
            order_sha256=bytes(row["order_hash"]).hex(),
        )
        for row in rows
    ]


def add_evidence(tx: StoreTransaction, found: Evidence) -> None:
    """Store what a run did; its own number is given here."""
    (number,) = tx.reserve(tables.erasure_evidence, 1)
    row = {
        "id": number,
        "erasure_id": found.erasure,
        "at": found.at,
        "by": found.by[:120],
        "via": found.via[:140],
        "done": found.done,
        "counts": msgspec.json.encode(dict(sorted(found.counts.items()))).decode(),
        "kept": msgspec.json.encode(found.kept).decode(),
        "order_hash": bytes.fromhex(found.order_sha256),
    }
    tx.insert(tables.erasure_evidence, [row])


def place_order(tx: StoreTransaction, order: Order) -> int:
    """Store an order; the same one again is one, and is to be done again.

    Returns:
      Its number.
    """
    same = (order.market, order.access_point, order.since, order.until)
    rows = tx.driver.rows(_SAME, same)
    if rows:
        sql = "UPDATE erasure SET done_at = NULL, reason = coalesce(reason, ?) WHERE id = ?"
        tx.driver.run(sql, (order.reason, rows[0][0]))
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
    """Store that the files of the database were written anew, from an instant on: of what was done by then."""
    tx.driver.run("UPDATE erasure SET wiped_at = ? WHERE done_at <= ?", (now, now))


def missing(connection: Connection, orders: Iterable[Order]) -> list[Order]:
    """Those of some orders that a store does not have: it was restored to a time before them."""
    known = {_identity(one.order) for one in erasures(connection)}
    found = {_identity(one): one for one in orders}
    return [one for identity, one in sorted(found.items()) if identity not in known]


def _identity(order: Order) -> tuple[str, str, int, int]:
    return order.market, order.access_point, order.since, order.until


_SAME = "SELECT id FROM erasure WHERE market = ? AND access_point = ? AND since = ? AND until = ?"
