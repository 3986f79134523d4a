"""Reading Kernel messages: lists by filter, page by page, and one message with everything that is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Engine, RowMapping, Select, Table, and_, or_, select

from energycomm.eis import tables
from energycomm.eis.arrays import parts_of
from energycomm.eis.browsing import MessageFilter as MessageFilter
from energycomm.eis.browsing import find
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.domain import SEARCHED, array_columns
from energycomm.eis.message_parts import (
    Effect,
    FindingRecord,
    IncidentRecord,
    Notification,
    Origin,
    StateRecord,
)
from energycomm.eis.particulars import particulars_of
from energycomm.eis.predictions import PredictionRecord, predictions_of
from energycomm.eis.structures import filled
from energycomm.kernel.instants import instant, moment

COUNTED = frozenset(("positions", "prices"))
"""Columns of parts that are too many to be shown."""


class MessageSummary(Struct, frozen=True, kw_only=True):
    """One line of a list of Kernel messages.

    Attributes:
      effective: when it takes effect; None for one that bears no time, an answer without a header.
      codes: the error codes that hold now.
    """

    id: int
    market: str
    type: str
    kind: str
    access_point: str | None
    effective: datetime | None
    state: str
    waits_for: str | None
    received_at: datetime
    version: int
    codes: tuple[str, ...] = ()


class MessagePage(Struct, frozen=True, kw_only=True):
    """A page of Kernel messages, the newest first; `next` is the cursor of the page after it, None on the last."""

    messages: tuple[MessageSummary, ...]
    next: str | None = None


class MessageDetail(Struct, frozen=True, kw_only=True):
    """A Kernel message with everything that is known of it."""

    summary: MessageSummary
    position: int
    xml: str
    waits_until: datetime | None
    corrects: int | None
    injected_by: str | None
    origin: Origin | None
    siblings: tuple[MessageSummary, ...]
    """All Kernel messages of the same CH message, this one too, in their order."""
    changes: tuple[StateRecord, ...]
    findings: tuple[FindingRecord, ...]
    effects: tuple[Effect, ...]
    notifications: tuple[Notification, ...]
    incidents: tuple[IncidentRecord, ...]
    particulars: dict[str, str] = {}
    """Values of the market that no field has a place for, by the market's name."""
    predictions: tuple[PredictionRecord, ...] = ()
    """What models say of it beside the rules, the latest first."""


def list_messages(
    engine: Engine, wanted: MessageFilter | None = None, *, limit: int = 50, cursor: str | None = None
) -> MessagePage:
    """Kernel messages, the newest first, one page at a time.

    Args:
      engine: the store.
      wanted: which messages; all when None.
      limit: how many on a page.
      cursor: `next` of the page before.

    Raises:
      ValueError: the cursor is none of ours.
    """
    with reading(engine) as connection:
        found = find(connection, wanted or MessageFilter(), limit, cursor)
        messages = summaries(connection, found.ids)
    return MessagePage(messages=messages, next=found.next)


def summaries(connection: Connection, ids: Sequence[int]) -> tuple[MessageSummary, ...]:
    """The lines of messages, in the order of their ids as given; ids of no message are left out."""
    rows = {row["id"]: row for row in _all(connection, _summaries().where(tables.kernel_message.c.id.in_(ids)))}
    return _with_codes(connection, [rows[i] for i in ids if i in rows])


def show_message(engine: Engine, message_id: int) -> MessageDetail | None:
    """One Kernel message with all its data; None when there is none with this id."""
    k = tables.kernel_message
    with reading(engine) as connection:
        row = connection.execute(select(k).where(k.c.id == message_id)).mappings().first()
        if row is None:
            return None
        ch_message_id = row["ch_message_id"]
        (summary,) = _with_codes(connection, _all(connection, _summaries().where(k.c.id == message_id)))
        siblings: tuple[MessageSummary, ...] = (summary,)
        if ch_message_id is not None:
            query = _summaries().where(k.c.ch_message_id == ch_message_id).order_by(k.c.position, k.c.id)
            siblings = _with_codes(connection, _all(connection, query))
        return MessageDetail(
            summary=summary,
            position=row["position"],
            xml=driver_of(connection).vault.text("kernel_message", message_id, row["xml"]),
            waits_until=None if row["waits_until"] is None else instant(row["waits_until"]),
            corrects=row["corrects"],
            injected_by=row["injected_by"],
            origin=None if ch_message_id is None else _origin(connection, ch_message_id),
            siblings=siblings,
            changes=_changes(connection, message_id),
            findings=_findings(connection, message_id),
            effects=_effects(connection, message_id, row["access_point_id"], row["effective"]),
            notifications=_notifications(connection, message_id),
            incidents=() if ch_message_id is None else incidents(connection, "ch_message_id", ch_message_id),
            particulars=particulars_of(connection, message_id),
            predictions=predictions_of(connection, message_id),
        )


def incidents(connection: Connection, column: str, value: int, limit: int = 1000) -> tuple[IncidentRecord, ...]:
    """The incidents of an envelope (`envelope_id`) or a CH message (`ch_message_id`), in their order."""
    t = tables.incident
    rows = _all(connection, select(t).where(t.c[column] == value).order_by(t.c.id).limit(limit))
    return tuple(filled(IncidentRecord, row) for row in rows)


def current_codes(connection: Connection, message_ids: Sequence[int]) -> dict[int, list[str]]:
    """Error codes of the findings that hold now, warnings too, by message; messages without any are left out."""
    f = tables.finding.c
    codes: dict[int, list[str]] = {}
    for start in range(0, len(message_ids), 500):
        some = message_ids[start : start + 500]
        query = select(f.message_id, f.error_code).where(f.message_id.in_(some), f.current).order_by(f.id)
        for message_id, code in connection.execute(query):
            found = codes.setdefault(message_id, [])
            if code not in found:
                found.append(code)
    return codes


def effect_of(table: Table, row: RowMapping) -> Effect:
    """A row of a domain table, its parts and JSON decoded; the values of a series are only counted."""
    content: dict[str, Any] = {}
    arrays = array_columns(table.name)
    for column, value in row.items():
        # The library's names are a subclass of text, which no JSON encoder takes.
        name = str(column)
        if name in ("id", "access_point_id", "at") or value is None:
            continue
        if name in arrays:
            parts = parts_of(value)
            content[name] = len(parts) if name in COUNTED else parts
        elif name == "content" or (table.name, name) in SEARCHED:
            content[name] = msgspec.json.decode(value)
        else:
            content[name] = moment(value) if name.endswith("_at") else value
    return Effect(table=str(table.name), id=row["id"], at=moment(row["at"]), content=content)


def _summaries() -> Select[Any]:
    k, point = tables.kernel_message, tables.access_point
    names = ("id", "market", "kind", "effective", "state", "waits_for", "received_at", "version")
    labelled = (k.c.market_type.label("type"), point.c.identifier.label("access_point"))
    query = select(*(k.c[name] for name in names), *labelled)
    return query.select_from(k).outerjoin(point, point.c.id == k.c.access_point_id)


def _all(connection: Connection, query: Select[Any]) -> Sequence[RowMapping]:
    return connection.execute(query).mappings().all()


def _with_codes(connection: Connection, rows: Sequence[RowMapping]) -> tuple[MessageSummary, ...]:
    codes = current_codes(connection, [row["id"] for row in rows])
    return tuple(filled(MessageSummary, row, codes=tuple(codes.get(row["id"], ()))) for row in rows)


def _origin(connection: Connection, ch_message_id: int) -> Origin:
    ch, member, envelope = tables.ch_message, tables.member, tables.envelope
    joined = ch.join(member, member.c.id == ch.c.member_id).join(envelope, envelope.c.id == ch.c.envelope_id)
    query = select(
        ch,
        ch.c.id.label("ch_message_id"),
        member.c.path.label("member"),
        envelope.c.name.label("envelope"),
        envelope.c.sha256,
        envelope.c.received_at,
        envelope.c.channel,
    )
    row = connection.execute(query.select_from(joined).where(ch.c.id == ch_message_id)).mappings().one()
    return filled(Origin, row)


def _changes(connection: Connection, message_id: int) -> tuple[StateRecord, ...]:
    t, rules = tables.all_changes, tables.rules_version
    query = select(t, rules.c.hash.label("rules")).outerjoin(rules, rules.c.id == t.c.rules_version_id)
    rows = _all(connection, query.where(t.c.message_id == message_id).order_by(t.c.id))
    return tuple(filled(StateRecord, row) for row in rows)


def _findings(connection: Connection, message_id: int) -> tuple[FindingRecord, ...]:
    t = tables.finding
    rows = _all(connection, select(t).where(t.c.message_id == message_id).order_by(t.c.id))
    return tuple(filled(FindingRecord, row) for row in rows)


def _effects(connection: Connection, message_id: int, point_id: int | None, at: int) -> tuple[Effect, ...]:
    """What a message did: rows of its access point at its instant, the supply period that it ended, and rows of what
    belongs to no access point."""
    found: list[Effect] = []
    for table in tables.ALONE:
        query = select(table).where(table.c.message_id == message_id).order_by(table.c.id)
        found += [effect_of(table, row) for row in _all(connection, query)]
    if point_id is None:
        return tuple(found)
    for table in tables.EFFECTS:
        cause = and_(table.c.at == at, table.c.message_id == message_id)
        if table is tables.supply_period:
            cause = or_(cause, table.c.end_message_id == message_id)
        query = select(table).where(table.c.access_point_id == point_id, cause).order_by(table.c.id)
        found += [effect_of(table, row) for row in _all(connection, query)]
    return tuple(found)


def _notifications(connection: Connection, message_id: int) -> tuple[Notification, ...]:
    t = tables.outbox
    rows = _all(connection, select(t).where(t.c.message_id == message_id).order_by(t.c.id))
    return tuple(filled(Notification, row) for row in rows)
