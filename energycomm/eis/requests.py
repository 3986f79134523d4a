"""Reading requests to the market: lists, and one with every step of its life."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Engine, RowMapping, Select, select

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.kernel.instants import instant, moment

WAITING = frozenset(("sent", "acknowledged", "in-course"))
"""States in which an answer is awaited."""


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
    state: str | None = None,
    market: str | None = None,
    access_point: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> tuple[RequestSummary, ...]:
    """Requests, the newest first.

    Args:
      engine: the store.
      state: only in this state.
      market: only of this market.
      access_point: only of the access point with this identifier.
      before: only those with a smaller id: the next page.
      limit: how many at most.
    """
    table, point = tables.outgoing, tables.access_point
    query = _requests().order_by(table.c.id.desc()).limit(limit)
    for column, value in ((table.c.state, state), (table.c.market, market), (point.c.identifier, access_point)):
        if value is not None:
            query = query.where(column == value)
    if before is not None:
        query = query.where(table.c.id < before)
    with reading(engine) as connection:
        return tuple(_summary(row) for row in connection.execute(query).mappings())


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
