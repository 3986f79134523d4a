"""Reading envelopes: lists, one with its members and what became of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Engine, Select, func, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.message_parts import IncidentRecord
from energycomm.eis.messages import incidents
from energycomm.eis.sorting import sorted_by
from energycomm.eis.structures import filled

ENVELOPE_ORDERS = {"received": "id", "name": "name", "state": "state"}
"""What envelopes are sorted by -> column."""


class EnvelopeSummary(Struct, frozen=True, kw_only=True):
    """One line of a list of envelopes; `reason` is the first thing that could not be read in it."""

    id: int
    name: str
    sha256: str
    size: int
    received_at: datetime
    channel: str
    market: str | None
    state: str
    duplicate_of: int | None
    key_label: str | None
    series_key: str | None
    series_number: int | None
    series_stamp: str | None
    finished_at: datetime | None
    reason: str | None = None


class EnvelopePage(Struct, frozen=True, kw_only=True):
    """A page of envelopes, the newest first; `next` is the cursor of the page after it, None on the last."""

    envelopes: tuple[EnvelopeSummary, ...]
    next: str | None = None


class MemberRecord(Struct, frozen=True, kw_only=True):
    """A member of an envelope; `transactions` is known at its end, `committed` counts those that are stored."""

    id: int
    path: str
    sha256: str
    size: int
    type: str | None
    declared_version: str | None
    version: str | None
    sender: str | None
    receiver: str | None
    state: str
    duplicate_of: int | None
    committed: int
    transactions: int | None


class EnvelopeDetail(Struct, frozen=True, kw_only=True):
    """An envelope with its content.

    Attributes:
      summary: the envelope.
      members: its members, in their order.
      outcomes: number of CH messages by outcome: digested, refused, duplicate.
      states: number of Kernel messages by state.
      incidents: refusals and notes, at most 1000.
      duplicates: ids of envelopes that brought the same bytes later.
    """

    summary: EnvelopeSummary
    members: tuple[MemberRecord, ...]
    outcomes: dict[str, int]
    states: dict[str, int]
    incidents: tuple[IncidentRecord, ...]
    duplicates: tuple[int, ...]


def list_envelopes(
    engine: Engine,
    *,
    state: str | None = None,
    series: str | None = None,
    sort: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> EnvelopePage:
    """Envelopes, the newest first unless they are sorted otherwise, one page at a time.

    Args:
      engine: the store.
      state: archived, processing, done, failed, duplicate; all when None.
      series: only those of a numbered series.
      sort: one of `ENVELOPE_ORDERS`, from the end with - before it.
      limit: how many on a page.
      cursor: `next` of the page before.

    Raises:
      ValueError: the cursor is none of ours.
    """
    query = envelopes_query(state, series, limit, cursor, sort)
    with reading(engine) as connection:
        rows = connection.execute(query).mappings().all()
        shown = rows[:limit]
        reasons = _reasons(connection, [row["id"] for row in shown])
    following = str(shown[-1]["id"]) if len(rows) > limit else None
    told = [filled(EnvelopeSummary, {**row, "reason": reasons.get(row["id"])}) for row in shown]
    return EnvelopePage(envelopes=tuple(told), next=following)


def envelopes_of(engine: Engine, ids: Sequence[int]) -> list[EnvelopeSummary]:
    """The envelopes with these ids, in that order; those that there are."""
    with reading(engine) as connection:
        rows = connection.execute(_envelopes().where(tables.envelope.c.id.in_(ids))).mappings()
        known = {row["id"]: row for row in rows}
        reasons = _reasons(connection, ids)
    return [filled(EnvelopeSummary, {**known[one], "reason": reasons.get(one)}) for one in ids if one in known]


def _reasons(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    """Envelope -> code of its first incident that is an error, and what was expected."""
    i = tables.incident.c
    first = select(func.min(i.id)).where(i.envelope_id.in_(ids), i.severity == "error").group_by(i.envelope_id)
    query = select(i.envelope_id, i.code, i.expected).where(i.id.in_(first))
    return {number: _reason(code, expected) for number, code, expected in connection.execute(query)}


def _reason(code: str, expected: str | None) -> str:
    words = f"{code}: expected {expected}"
    return words if expected else code


def envelopes_query(
    state: str | None, series: str | None, limit: int, cursor: str | None, sort: str | None = None
) -> Select[Any]:
    """The query of one page, with one additional row that shows whether another page follows."""
    if cursor is not None and not cursor.isdecimal():
        raise ValueError(f"{cursor!r} is no cursor of a page")
    e = tables.envelope.c
    query = _envelopes().limit(limit + 1)
    if state is not None:
        query = query.where(e.state == state)
    if series is not None:
        query = query.where(e.series_key == series)
    return sorted_by(query, tables.envelope, ENVELOPE_ORDERS, sort, None if cursor is None else int(cursor))


def show_envelope(engine: Engine, envelope_id: int) -> EnvelopeDetail | None:
    """One envelope with its content; None when there is none with this id."""
    e, m = tables.envelope.c, tables.member
    with reading(engine) as connection:
        row = connection.execute(_envelopes().where(e.id == envelope_id)).mappings().first()
        if row is None:
            return None
        members = connection.execute(select(m).where(m.c.envelope_id == envelope_id).order_by(m.c.id)).mappings().all()
        later = select(e.id).where(e.sha256 == row["sha256"], e.duplicate_of == envelope_id).order_by(e.id)
        return EnvelopeDetail(
            summary=filled(EnvelopeSummary, row),
            members=tuple(filled(MemberRecord, member) for member in members),
            outcomes=_outcomes(connection, envelope_id),
            states=_states(connection, envelope_id),
            incidents=incidents(connection, "envelope_id", envelope_id),
            duplicates=tuple(connection.execute(later).scalars()),
        )


def refused_ch_messages(engine: Engine, envelope_id: int, limit: int = 1000) -> tuple[tuple[int, str, str], ...]:
    """The CH messages of an envelope that were refused: (id, type, reference), in their order."""
    table = tables.ch_message
    query = (
        select(table.c.id, table.c.type, table.c.reference)
        .where(table.c.envelope_id == envelope_id, table.c.outcome == "refused")
        .order_by(table.c.id)
        .limit(limit)
    )
    with reading(engine) as connection:
        return tuple((row[0], row[1], row[2]) for row in connection.execute(query))


def _envelopes() -> Select[Any]:
    e, raw = tables.envelope, tables.raw
    return select(e, raw.c.size).select_from(e.join(raw, raw.c.sha256 == e.c.sha256))


def _outcomes(connection: Connection, envelope_id: int) -> dict[str, int]:
    ch, duplicate, member = tables.ch_message.c, tables.ch_duplicate.c, tables.member.c
    by_outcome = select(ch.outcome, func.count()).where(ch.envelope_id == envelope_id).group_by(ch.outcome)
    found = _numbers(connection, by_outcome.order_by(ch.outcome))
    members = select(member.id).where(member.envelope_id == envelope_id)
    duplicates = connection.execute(select(func.count()).where(duplicate.member_id.in_(members))).scalar_one()
    return found | ({"duplicate": duplicates} if duplicates else {})


def _states(connection: Connection, envelope_id: int) -> dict[str, int]:
    k, ch = tables.kernel_message.c, tables.ch_message.c
    of_envelope = select(ch.id).where(ch.envelope_id == envelope_id)
    query = select(k.state, func.count()).where(k.ch_message_id.in_(of_envelope)).group_by(k.state).order_by(k.state)
    return _numbers(connection, query)


def _numbers(connection: Connection, query: Select[Any]) -> dict[str, int]:
    return {row[0]: row[1] for row in connection.execute(query)}
