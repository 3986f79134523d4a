"""What happened at an access point, in time order."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Engine, Select, Table, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.messages import current_codes, effect_of
from energycomm.kernel.instants import EPOCH, instant, micros, moment

NO_LATER = (1 << 62) - 1


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that happened at an access point.

    Attributes:
      at: when it took effect, None where the message bears no time; for a CH message that could not be read, when it
        arrived.
      what: `message`, `refused` (a CH message that could not be read), or a domain table: `supply_period`, ...
      message_id: the Kernel message that caused it; the message itself.
      content: its columns by name; of a message its kind, type, state, codes and what it waits for.
    """

    at: datetime | None
    what: str
    message_id: int | None
    content: dict[str, Any]


class Timeline(Struct, frozen=True, kw_only=True):
    """What happened at one access point.

    Attributes:
      id: its row; None when all that is known are CH messages that could not be read.
      market, identifier: the access point.
      entries: in time order; at one instant messages come before what they did.
      complete: False when the limit cut the earliest entries off.
    """

    id: int | None
    market: str
    identifier: str
    entries: tuple[Entry, ...]
    complete: bool


class Span(Struct, frozen=True):
    """Which part of a timeline: `low` <= instant < `high` (microseconds), of each kind the latest `limit`."""

    low: int
    high: int
    limit: int


def timelines(
    engine: Engine,
    identifier: str,
    *,
    market: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 2000,
) -> list[Timeline]:
    """The timelines of the access points with an identifier: one a market; none when it is known nowhere.

    Args:
      engine: the store.
      identifier: the market's identifier: PRM, EAN-GSRN.
      market: only of this market.
      since: only what took effect at or after this instant.
      until: only what took effect before this instant.
      limit: how many entries of each kind at most; the latest ones are given.
    """
    span = Span(-NO_LATER if since is None else micros(since), NO_LATER if until is None else micros(until), limit)
    with reading(engine) as connection:
        points = {row[1]: row[0] for row in connection.execute(point_query(identifier))}
        entries = {known: _known(connection, point_id, span) for known, point_id in points.items()}
        for refused_market, entry in _refused(connection, identifier, span):
            entries.setdefault(refused_market, []).append(entry)
    return [
        Timeline(
            id=points.get(name),
            market=name,
            identifier=identifier,
            entries=tuple(sorted(found, key=lambda entry: entry.at or EPOCH)),
            complete=all(number < limit for number in Counter(entry.what for entry in found).values()),
        )
        for name, found in sorted(entries.items())
        if market in (None, name)
    ]


def point_query(identifier: str) -> Select[Any]:
    """The access points with an identifier, of all markets."""
    point = tables.access_point
    return select(point.c.id, point.c.market).where(point.c.identifier == identifier)


def domain_query(table: Table, point_id: int, span: Span) -> Select[Any]:
    """The latest rows of a domain table in a span."""
    columns = table.c
    within = (columns.access_point_id == point_id, columns["at"] >= span.low, columns["at"] < span.high)
    return select(table).where(*within).order_by(columns["at"].desc(), columns.id.desc()).limit(span.limit)


def message_query(point_id: int, span: Span) -> Select[Any]:
    """The latest Kernel messages of an access point in a span, whatever their state."""
    k = tables.kernel_message
    columns = (k.c.id, k.c.kind, k.c.market_type, k.c.effective, k.c.state, k.c.waits_for, k.c.received_at, k.c.version)
    within = (k.c.access_point_id == point_id, k.c.effective >= span.low, k.c.effective < span.high)
    return select(*columns).where(*within).order_by(k.c.effective.desc(), k.c.id.desc()).limit(span.limit)


def _known(connection: Connection, point_id: int, span: Span) -> list[Entry]:
    entries = _messages(connection, point_id, span)
    for table in tables.EFFECTS:
        rows = connection.execute(domain_query(table, point_id, span)).mappings().all()
        for effect in (effect_of(table, row) for row in reversed(rows)):
            message_id = effect.content.pop("message_id")
            entries.append(Entry(at=effect.at, what=effect.table, message_id=message_id, content=effect.content))
    return entries


def _messages(connection: Connection, point_id: int, span: Span) -> list[Entry]:
    rows = connection.execute(message_query(point_id, span)).mappings().all()
    codes = current_codes(connection, [row["id"] for row in rows])
    entries = []
    for row in reversed(rows):
        content = {
            "kind": row["kind"],
            "type": row["market_type"],
            "state": row["state"],
            "received_at": instant(row["received_at"]),
            "codes": codes.get(row["id"], []),
            "waits_for": row["waits_for"],
            "version": row["version"],
        }
        plain = {name: value for name, value in content.items() if value not in (None, [])}
        entries.append(Entry(at=moment(row["effective"]), what="message", message_id=row["id"], content=plain))
    return entries


def _refused(connection: Connection, identifier: str, span: Span) -> list[tuple[str, Entry]]:
    """CH messages about the identifier that could not be read, at the time they arrived."""
    ch, envelope, incident = tables.ch_message.c, tables.envelope.c, tables.incident.c
    query = (
        select(ch.id, ch.market, ch.type, ch.reference, envelope.id, envelope.received_at)
        .join_from(tables.ch_message, tables.envelope, envelope.id == ch.envelope_id)
        .where(ch.access_point == identifier, tables.REFUSED)
        .where(envelope.received_at >= span.low, envelope.received_at < span.high)
        .order_by(ch.id.desc())
        .limit(span.limit)
    )
    entries = []
    for ch_message_id, market, kind, reference, envelope_id, received_at in reversed(connection.execute(query).all()):
        codes = select(incident.code).where(incident.ch_message_id == ch_message_id, incident.severity == "error")
        content = {
            "type": kind,
            "reference": reference,
            "ch_message_id": ch_message_id,
            "envelope_id": envelope_id,
            "codes": list(connection.execute(codes.order_by(incident.id)).scalars()),
        }
        entries.append((market, Entry(at=instant(received_at), what="refused", message_id=None, content=content)))
    return entries
