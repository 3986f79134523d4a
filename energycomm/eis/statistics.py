"""Counts over the whole store: how many messages of what, which errors, how large, how old the quarantine."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import Column, Connection, Engine, func, select, text

from energycomm.eis import tables
from energycomm.eis.database import is_sqlite, reading
from energycomm.kernel.instants import instant
from energycomm.kernel.verdicts import Severity


class MessageCount(Struct, frozen=True, kw_only=True):
    """Number of Kernel messages of one market, type and state."""

    market: str
    type: str
    state: str
    messages: int


class CodeCount(Struct, frozen=True, kw_only=True):
    """Number of Kernel messages that an error code holds for now; `comment` is one of the findings' as an example.

    A warning rejects nothing: it is counted apart from errors.
    """

    code: str
    severity: Severity
    messages: int
    comment: str


class Waiting(Struct, frozen=True, kw_only=True):
    """The quarantined message that has waited longest."""

    message_id: int
    received_at: datetime
    waits_for: str | None
    waits_until: datetime | None


class TableSize(Struct, frozen=True, kw_only=True):
    """Rows of a table, and its bytes with its indexes; bytes are None if the database does not give them."""

    table: str
    rows: int
    bytes: int | None


class Statistics(Struct, frozen=True, kw_only=True):
    """Counts over the whole store.

    Attributes:
      messages: by market, type and state.
      codes: the error codes that hold now, the most frequent first.
      warnings: the same of warnings.
      envelopes: by state.
      incidents: by code.
      notifications: by state.
      oldest_waiting: of the quarantine; None when it is empty.
      tables: sizes, in the order of their names.
      bytes: the database as a whole.
    """

    messages: tuple[MessageCount, ...]
    codes: tuple[CodeCount, ...]
    warnings: tuple[CodeCount, ...]
    envelopes: dict[str, int]
    incidents: dict[str, int]
    notifications: dict[str, int]
    oldest_waiting: Waiting | None
    tables: tuple[TableSize, ...]
    bytes: int


def statistics(engine: Engine, *, top: int = 10) -> Statistics:
    """Count everything; `top` is how many error codes to give."""
    e, i, o = tables.envelope.c, tables.incident.c, tables.outbox.c
    with reading(engine) as connection:
        return Statistics(
            messages=message_counts(connection),
            codes=code_counts(connection, top, "error"),
            warnings=code_counts(connection, top, "warning"),
            envelopes=_counts(connection, e.state),
            incidents=_counts(connection, i.code),
            notifications=_counts(connection, o.state),
            oldest_waiting=_oldest(connection),
            tables=_sizes(connection, sqlite=is_sqlite(engine)),
            bytes=_bytes(connection, sqlite=is_sqlite(engine)),
        )


def message_counts(connection: Connection) -> tuple[MessageCount, ...]:
    """Kernel messages by market, type and state."""
    k = tables.kernel_message.c
    keys = (k.market, k.market_type, k.state)
    rows = connection.execute(select(*keys, func.count()).group_by(*keys).order_by(*keys))
    return tuple(MessageCount(market=row[0], type=row[1], state=row[2], messages=row[3]) for row in rows)


def code_counts(connection: Connection, top: int, severity: Severity) -> tuple[CodeCount, ...]:
    """The most frequent codes that hold now as errors, or as warnings, with the number of messages of each."""
    f = tables.finding.c
    number = func.count(f.message_id.distinct())
    query = select(f.error_code, number, func.min(f.id)).where(f.current, f.severity == severity)
    rows = connection.execute(query.group_by(f.error_code).order_by(number.desc(), f.error_code).limit(top)).all()
    comments = select(f.id, f.comment).where(f.id.in_([row[2] for row in rows]))
    words = {row[0]: row[1] for row in connection.execute(comments)}
    return tuple(CodeCount(code=row[0], severity=severity, messages=row[1], comment=words[row[2]]) for row in rows)


def _counts(connection: Connection, column: Column[str]) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).group_by(column).order_by(column))
    return {row[0]: row[1] for row in rows}


def _oldest(connection: Connection) -> Waiting | None:
    k = tables.kernel_message.c
    query = select(k.id, k.received_at, k.waits_for, k.waits_until).where(tables.OPEN, k.state == "quarantined")
    row = connection.execute(query.order_by(k.received_at, k.id).limit(1)).first()
    if row is None:
        return None
    return Waiting(
        message_id=row[0],
        received_at=instant(row[1]),
        waits_for=row[2],
        waits_until=None if row[3] is None else instant(row[3]),
    )


def _sizes(connection: Connection, *, sqlite: bool) -> tuple[TableSize, ...]:
    found = []
    for name in sorted(tables.metadata.tables):
        rows = connection.execute(select(func.count()).select_from(tables.metadata.tables[name])).scalar_one()
        # SQLite tells the size of a table only when it was built with the module `dbstat`; Python's mostly is not.
        size = None if sqlite else connection.execute(_TABLE_BYTES, {"name": name}).scalar_one()
        found.append(TableSize(table=name, rows=rows, bytes=size))
    return tuple(found)


def _bytes(connection: Connection, *, sqlite: bool) -> int:
    if not sqlite:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    pages: int = connection.execute(text("PRAGMA page_count")).scalar_one()
    size: int = connection.execute(text("PRAGMA page_size")).scalar_one()
    return pages * size


_TABLE_BYTES = text(
    "SELECT pg_total_relation_size(cast(:name AS regclass)) + coalesce((SELECT sum(pg_total_relation_size(relid)) "
    "FROM pg_partition_tree(cast(:name AS regclass)) WHERE isleaf AND parentrelid IS NOT NULL), 0)"
)
