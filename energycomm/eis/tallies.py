"""Counts that take as long with a million messages as with ten: read from the tallies that triggers keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, Engine, case, func, literal, select, union_all

from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import is_sqlite, writing
from energycomm.eis.triggers import ALL_TIME, HOUR
from energycomm.kernel.instants import instant, micros
from energycomm.kernel.verdicts import Severity

MANY_LOOSE = 200
"""Rows of single transactions that make it worth settling."""

MOST_CODES = 400
"""Codes whose oldest message is looked up; SQLite allows 500 parts of a compound query."""

_LOCK = 0x656E657267790002


class Combination(Struct, frozen=True, kw_only=True):
    """How many messages of one market, type and kind are in one state."""

    market: str
    type: str
    kind: str
    state: str
    messages: int


class Hourly(Struct, frozen=True, kw_only=True):
    """How many messages of one market, type and state arrived in one hour, in the state they are in now."""

    hour: datetime
    market: str
    type: str
    state: str
    messages: int


class Frequency(Struct, frozen=True, kw_only=True):
    """How often a code or a rule was found, as an error or as a warning: never both together.

    Attributes:
      name: the error code, or the rule's code.
      messages: messages that it holds for now.
      occurrences: its findings that hold now.
      ever: all its findings, of former verdicts too.
      oldest: arrival of the message with the smallest number that it holds for now; None when there is none.
    """

    name: str
    messages: int
    occurrences: int
    ever: int
    oldest: datetime | None = None


def combinations(connection: Connection) -> tuple[Combination, ...]:
    """Every combination of market, type, kind and state that there are messages of, since the beginning."""
    t = tables.message_tally.c
    keys = (t.market, t.market_type, t.kind, t.state)
    number = func.sum(t.messages)
    query = select(*keys, number).where(t.hour == ALL_TIME).group_by(*keys).having(number > 0).order_by(*keys)
    return tuple(
        Combination(market=row[0], type=row[1], kind=row[2], state=row[3], messages=int(row[4]))
        for row in connection.execute(query)
    )


def hourly(connection: Connection, since: datetime, until: datetime) -> tuple[Hourly, ...]:
    """What arrived between two instants, which full hours hold, by hour, market, type and state."""
    t = tables.message_tally.c
    keys = (t.hour, t.market, t.market_type, t.state)
    number = func.sum(t.messages)
    within = (t.hour >= micros(since) // HOUR, t.hour < -(-micros(until) // HOUR), t.hour != ALL_TIME)
    query = select(*keys, number).where(*within).group_by(*keys).having(number > 0).order_by(*keys)
    return tuple(
        Hourly(hour=instant(row[0] * HOUR), market=row[1], type=row[2], state=row[3], messages=int(row[4]))
        for row in connection.execute(query)
    )


def arrivals(connection: Connection, since: datetime, until: datetime) -> dict[datetime, dict[str, int]]:
    """What arrived between two instants, which full hours hold: hour -> state -> messages."""
    t = tables.message_tally.c
    number = func.sum(t.messages)
    within = (t.hour >= micros(since) // HOUR, t.hour < -(-micros(until) // HOUR), t.hour != ALL_TIME)
    query = select(t.hour, t.state, number).where(*within).group_by(t.hour, t.state).having(number > 0)
    found: dict[datetime, dict[str, int]] = {}
    for hour, state, messages in connection.execute(query):
        found.setdefault(instant(hour * HOUR), {})[state] = int(messages)
    return found


def code_frequencies(connection: Connection, code: str | None = None) -> tuple[Frequency, ...]:
    """The error codes that hold for messages now, the most frequent first; of these one, where it is named."""
    found = [one for one in _frequencies(connection, "code", code) if one.messages > 0]
    oldest = _oldest(connection, [one.name for one in found])
    return tuple(
        Frequency(
            name=one.name,
            messages=one.messages,
            occurrences=one.occurrences,
            ever=one.ever,
            oldest=oldest.get(one.name),
        )
        for one in found
    )


def rule_frequencies(connection: Connection, severity: Severity = "error") -> dict[str, Frequency]:
    """How often each rule was found as an error or as a warning, by the rule's code; rules that never were are left
    out."""
    return {one.name: one for one in _frequencies(connection, "rule" if severity == "error" else "rulw")}


def _frequencies(connection: Connection, what: str, name: str | None = None) -> list[Frequency]:
    t = tables.finding_tally.c
    sums = (func.sum(t.messages), func.sum(t.occurrences), func.sum(t.ever))
    query = select(t.name, *sums).where(t.what == what).group_by(t.name).having(sums[2] > 0)
    query = query.order_by(sums[0].desc(), t.name)
    if name is not None:
        query = query.where(t.name == name)
    return [
        Frequency(name=row[0], messages=int(row[1]), occurrences=int(row[2]), ever=int(row[3]))
        for row in connection.execute(query)
    ]


def _oldest(connection: Connection, codes: Sequence[str]) -> dict[str, datetime]:
    """One step into an index for each code: its findings are sorted by message."""
    f, k = tables.finding.c, tables.kernel_message.c
    if not codes:
        return {}
    steps = [
        select(literal(code), select(func.min(f.message_id)).where(f.error_code == code, f.current).scalar_subquery())
        for code in codes[:MOST_CODES]
    ]
    first = {code: number for code, number in connection.execute(union_all(*steps)) if number is not None}
    rows = connection.execute(select(k.id, k.received_at).where(k.id.in_(set(first.values()))))
    at = {row[0]: instant(row[1]) for row in rows}
    return {code: at[number] for code, number in first.items() if number in at}


def loose(connection: Connection) -> int:
    """How many rows of single transactions wait to be settled."""
    rows = (func.coalesce(func.sum(case((t.c.writer != 0, 1), else_=0)), 0) for t in _TALLIES)
    return sum(int(connection.execute(select(one)).scalar_one()) for one in rows)


_TALLIES = (tables.message_tally, tables.finding_tally)


def settle(engine: Engine) -> int:
    """Add up the rows of single transactions; how many there were. SQLite has none."""
    if is_sqlite(engine):
        return 0
    with writing(engine) as connection:
        driver = driver_of(connection)
        if not driver.rows("SELECT pg_try_advisory_xact_lock(?)", (_LOCK,))[0][0]:
            return 0
        messages = driver.run(_SETTLE_MESSAGES)
        findings = driver.run(_SETTLE_FINDINGS)
    return messages + findings


_SETTLE_MESSAGES = """
WITH gone AS (DELETE FROM message_tally WHERE writer <> 0 RETURNING *)
INSERT INTO message_tally AS t (hour, market, market_type, kind, state, writer, messages)
SELECT hour, market, market_type, kind, state, 0, sum(messages) FROM gone GROUP BY 1, 2, 3, 4, 5
ON CONFLICT (hour, market, market_type, kind, state, writer) DO UPDATE SET messages = t.messages + excluded.messages
"""
_SETTLE_FINDINGS = """
WITH gone AS (DELETE FROM finding_tally WHERE writer <> 0 RETURNING *)
INSERT INTO finding_tally AS t (what, name, writer, messages, occurrences, ever)
SELECT what, name, 0, sum(messages), sum(occurrences), sum(ever) FROM gone GROUP BY 1, 2
ON CONFLICT (what, name, writer) DO UPDATE SET messages = t.messages + excluded.messages,
  occurrences = t.occurrences + excluded.occurrences, ever = t.ever + excluded.ever
"""
