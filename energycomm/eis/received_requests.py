"""Requests of other parties to us: what we owe an answer to, what was answered, what was taken back.

A request is named by its market, its access point where it has one, and the market's reference. Whether an answer is
owed follows from what is stored: no state is kept of it, so it is the same whatever the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from msgspec import Struct
from sqlalchemy import Engine, select

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.instants import instant, micros, now_micros

NEVER_DUE = (1 << 63) - 1
"""Where a request without a time for its answer stands in the list: last."""

OWED_ORDERS = {
    "answer_by": f"coalesce(r.answer_by_at, {NEVER_DUE})",
    "received": "k.received_at",
    "market": "k.market",
    "access_point": "coalesce(p.identifier, '')",
}
"""What requests to us are sorted by -> its SQL, never NULL."""

_RECEIVED = "received_request r JOIN kernel_message k ON k.id = r.message_id"
_POINT = "LEFT JOIN access_point p ON p.id = r.access_point_id"
_TAKING_BACK = (
    "WITH w AS MATERIALIZED (SELECT v.market, c.correlation, c.access_point_id, c.function, c.at, c.message_id "
    "FROM received_request c JOIN kernel_message v ON v.id = c.message_id WHERE c.function <> 'original')"
)
"""What takes a request back. They are few, and looked for once: SQLite would look at all requests for each of them."""
_WITHDRAWN = (
    "EXISTS (SELECT 1 FROM w WHERE w.correlation = r.reference AND w.market = k.market "
    "AND coalesce(w.access_point_id, 0) = coalesce(r.access_point_id, 0) AND (w.function = 'cancel' "
    "OR r.function = 'original' OR (w.at, w.message_id) > (r.at, r.message_id)))"
)
_ANSWERED = (
    "EXISTS (SELECT 1 FROM outgoing o WHERE o.answers = r.reference AND o.market = k.market "
    "AND coalesce(o.access_point_id, 0) = coalesce(r.access_point_id, 0) AND o.state NOT IN ('refused', 'dead'))"
)
"""An answer that the market refused, or that could not be sent, is none."""


def owed_query(columns: str, tail: str) -> str:
    """A query about the requests that we owe an answer to.

    Args:
      columns: what is asked of each: of the request `r`, its message `k`, its access point `p`.
      tail: further conditions, each after an `AND`, and what follows them.
    """
    received = f"{_RECEIVED} {_POINT}"
    owed = f"r.function <> 'cancel' AND NOT {_WITHDRAWN} AND NOT {_ANSWERED}"
    return f"{_TAKING_BACK} SELECT {columns} FROM {received} WHERE {owed} {tail}"  # noqa: S608 - our own names


class OwedAnswer(Struct, frozen=True, kw_only=True):
    """A request to us that waits for our answer.

    Attributes:
      message_id: the Kernel message that brought it.
      market, access_point, reference: what names it; an answer repeats them, the reference as its `correlation`.
      requester: party that asks.
      object_code: the market's code of what is asked.
      requested_date: day from which it shall take effect.
      text: the party's words.
      received_at: when it arrived.
      answer_by: until when we owe the answer, in the legal time of the market; None where the market does not say.
      late: that instant is over.
    """

    message_id: int
    market: str
    access_point: str | None
    reference: str
    requester: str | None
    object_code: str | None
    requested_date: date | None
    text: str | None
    received_at: datetime
    answer_by: datetime | None
    late: bool


def list_owed(
    engine: Engine,
    zones: Mapping[str, tzinfo],
    *,
    market: str | None = None,
    late: bool = False,
    sort: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> list[OwedAnswer]:
    """What we owe an answer to, the most urgent first unless they are sorted otherwise.

    Args:
      engine: the store.
      zones: market -> its legal time; of others UTC.
      market: only of this market.
      late: only what is late.
      sort: one of `OWED_ORDERS`, from the end with - before it.
      after: only what comes after the request with this place (`place_of`): the next page.
      limit: how many at most.

    Raises:
      ValueError: `after` is no place.
    """
    now, falling = now_micros(), (sort or "").startswith("-")
    key, side = OWED_ORDERS[(sort or "answer_by").removeprefix("-")], "<" if falling else ">"
    where: list[tuple[str, tuple[object, ...]]] = []
    if market is not None:
        where.append(("k.market = ?", (market,)))
    if late:
        where.append(("r.answer_by_at < ?", (now,)))
    if after is not None:
        at, _, last = after.partition("_")
        reached: tuple[object, ...] = (int(at), int(last))
        place = "?, ?"
        if key != OWED_ORDERS["answer_by"]:  # the last row says where it stands in this order
            reached = (int(last), int(last))
            place = f"(SELECT {key} FROM {_RECEIVED} {_POINT} WHERE r.message_id = ?), ?"  # noqa: S608 - our own names
        where.append((f"({key}, r.message_id) {side} ({place})", reached))
    columns = (
        "r.message_id, k.market, p.identifier, r.reference, r.requester, r.object_code, r.requested_date, r.text, "
        "k.received_at, r.answer_by_at"
    )
    order = "DESC" if falling else "ASC"
    conditions = "".join(f" AND {one}" for one, _ in where)
    sql = owed_query(columns, f"{conditions} ORDER BY {key} {order}, r.message_id {order} LIMIT ?")
    values = [value for _, given in where for value in given]
    with reading(engine) as connection:
        rows = driver_of(connection).rows(sql, (*values, limit))
    return [_owed(row, zones, now) for row in rows]


def _owed(row: tuple[Any, ...], zones: Mapping[str, tzinfo], now: int) -> OwedAnswer:
    number, code, point, reference, requester, object_code, day, text, received_at, by = row
    return OwedAnswer(
        message_id=number,
        market=code,
        access_point=point,
        reference=reference,
        requester=requester,
        object_code=object_code,
        requested_date=None if day is None else date.fromisoformat(day),
        text=text,
        received_at=instant(received_at),
        answer_by=None if by is None else instant(by).astimezone(zones.get(code, UTC)),
        late=by is not None and by < now,
    )


def place_of(owed: OwedAnswer) -> str:
    """Where a request stands in the list of what we owe."""
    by = NEVER_DUE if owed.answer_by is None else micros(owed.answer_by)
    return f"{by}_{owed.message_id}"


def state_of(tx: StoreTransaction, market: str, access_point_id: int | None, reference: str) -> str | None:
    """How a request to us stands: `open`, `answered` or `withdrawn`; None where none such was accepted.

    On PostgreSQL it is locked until the transaction ends, so that nobody else answers it meanwhile.
    """
    k, r = tables.kernel_message, tables.received_request
    named = (r.c.reference == reference, k.c.market == market, r.c.function != "cancel")
    point = r.c.access_point_id.is_(None) if access_point_id is None else r.c.access_point_id == access_point_id
    joined = k.join(r, r.c.message_id == k.c.id)
    query = select(k.c.id).select_from(joined).where(*named, point).order_by(k.c.id).with_for_update(of=k)
    ids = tx.connection.execute(query).scalars().all()
    sql = f"{_TAKING_BACK} SELECT {_WITHDRAWN}, {_ANSWERED} FROM {_RECEIVED} WHERE true"  # noqa: S608 - our own names
    states = {
        "withdrawn" if withdrawn else "answered" if answered else "open"
        for withdrawn, answered in tx.driver.matching(sql, ids, "r.message_id")
    }
    return next((state for state in ("open", "answered", "withdrawn") if state in states), None)
