"""Reading requests to the market: lists, and one with every step of its life."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Engine, RowMapping, Select, select

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.sorting import sorted_by
from energycomm.kernel.instants import instant, moment

WAITING = frozenset(("sent", "acknowledged", "in-course"))
"""States in which an answer is awaited."""

REQUEST_ORDERS = {"made": "id", "market": "market", "kind": "kind", "state": "state", "answer_by": "answer_by"}
"""What requests are sorted by -> column."""


class RequestSummary(Struct, frozen=True, kw_only=True):
    """One request in a list. `overdue`: the market should have answered by now."""

    id: int
    market: str
    kind: str
    access_point: str | None
    reference: str
    market_reference: str | None
    state: str
    answer_code: str | None
    created_at: datetime
    answer_by: datetime
    overdue: bool


class RequestStep(Struct, frozen=True, kw_only=True):
    """One step of a request's life; `at` is None for an answer that bears no time."""

    at: datetime | None
    state: str
    code: str | None
    text: str | None
    message_id: int | None


class RequestDetail(Struct, frozen=True, kw_only=True):
    """One request with all its data. `content`: the bytes that are sent, as text."""

    summary: RequestSummary
    message_id: int
    type: str
    content: str
    content_type: str
    submitted_by: str
    attempts: int
    sent_at: datetime | None
    settled_at: datetime | None
    channel: str | None
    receipt: str | None
    last_error: str | None
    steps: tuple[RequestStep, ...]


def list_requests(
    engine: Engine,
    *,
    state: str | Sequence[str] | None = None,
    market: str | None = None,
    access_point: str | None = None,
    sort: str | None = None,
    cursor: int | None = None,
    limit: int = 50,
) -> tuple[RequestSummary, ...]:
    """Requests, the newest first unless they are sorted otherwise.

    Args:
      engine: the store.
      state: only in this state, or these.
      market: only of this market.
      access_point: only of the access point with this identifier.
      sort: one of `REQUEST_ORDERS`, from the end with - before it.
      cursor: only those after the request with this id: the next page.
      limit: how many at most.
    """
    table, point = tables.outgoing, tables.access_point
    query = sorted_by(_requests().limit(limit), table, REQUEST_ORDERS, sort, cursor)
    if state is not None:
        query = query.where(table.c.state.in_([state] if isinstance(state, str) else state))
    for column, value in ((table.c.market, market), (point.c.identifier, access_point)):
        if value is not None:
            query = query.where(column == value)
    with reading(engine) as connection:
        return tuple(_summary(row) for row in connection.execute(query).mappings())


def requests_of(engine: Engine, ids: Sequence[int]) -> list[RequestSummary]:
    """The requests with these ids, in that order; those that there are."""
    with reading(engine) as connection:
        rows = connection.execute(_requests().where(tables.outgoing.c.id.in_(ids))).mappings()
        known = {row["id"]: _summary(row) for row in rows}
    return [known[one] for one in ids if one in known]


def show_request(engine: Engine, request_id: int) -> RequestDetail | None:
    """One request, None when there is none with this id."""
    events = tables.outgoing_event
    steps = select(events).where(events.c.outgoing_id == request_id).order_by(events.c.id)
    with reading(engine) as connection:
        row = connection.execute(_requests().where(tables.outgoing.c.id == request_id)).mappings().one_or_none()
        if row is None:
            return None
        found = connection.execute(steps).mappings().all()
        content = driver_of(connection).vault.content("outgoing", (request_id,), bytes(row["content"]))
    return RequestDetail(
        summary=_summary(row),
        message_id=row["message_id"],
        type=row["type"],
        content=content.decode("utf-8", "replace"),
        content_type=row["content_type"],
        submitted_by=row["submitted_by"],
        attempts=row["attempts"],
        sent_at=_moment(row["sent_at"]),
        settled_at=_moment(row["settled_at"]),
        channel=row["channel"],
        receipt=row["receipt"],
        last_error=row["last_error"],
        steps=tuple(
            RequestStep(
                at=moment(step["at"]),
                state=step["state"],
                code=step["code"],
                text=step["text"],
                message_id=step["message_id"],
            )
            for step in found
        ),
    )


def _requests() -> Select[Any]:
    table, point = tables.outgoing, tables.access_point
    return select(table, point.c.identifier).outerjoin(point, point.c.id == table.c.access_point_id)


def _summary(row: RowMapping) -> RequestSummary:
    late = row["state"] in WAITING and row["answer_by"] < time.time() * 1_000_000
    return RequestSummary(
        id=row["id"],
        market=row["market"],
        kind=row["kind"],
        access_point=row["identifier"],
        reference=row["reference"],
        market_reference=row["market_reference"],
        state=row["state"],
        answer_code=row["answer_code"],
        created_at=instant(row["created_at"]),
        answer_by=instant(row["answer_by"]),
        overdue=late,
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else instant(micros)
