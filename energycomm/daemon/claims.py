"""Envelopes that wait to be processed, and who takes which: each by one worker only.

A worker claims a group of small envelopes of one channel and market by one statement, which also counts the attempt. A
claim names its holder: a number whose lock ends with the connection of its worker (`energycomm.daemon.locks`), so that
what a dead worker held is free at once. The store refuses what a worker writes of an envelope that another one claimed
meanwhile.

Groups follow the stamps in the names of envelopes, across the numbered series of a market: these tell of the same
access points, and a message that comes after a later one of its access point is judged again, with all that follow it.
So groups lock their access points in this order: one locks as soon as all before it have locked theirs. From there on
only those wait for each other that share an access point; with many access points these are few.

Which of a group kills its workers is found by halving: whatever was begun before is claimed in smaller groups, alone
at the last attempt that counts.
"""

# ruff: noqa: S608 - statements are put together from our own words and numbers, never from values

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import psycopg

from energycomm.daemon.locks import turn_of
from energycomm.eis.bulk import PostgresDriver, driver_of
from energycomm.eis.database import is_sqlite, reading
from energycomm.eis.store import Store
from energycomm.pipeline.records import OpenEnvelope

TOGETHER = 64
"""Envelopes of one group, at most. Smaller ones cost more than they let other workers do meanwhile: the state of an
access point is written once in each."""

SMALL = 1 << 18
"""Bytes up to which an envelope shares a group; a commit of its own costs a larger one nothing."""

LOOK_AHEAD = 1000
"""Free envelopes, the oldest, among which a group is chosen."""


class Claimed(NamedTuple):
    """An envelope that is ours.

    Attributes:
      envelope: the envelope.
      attempt: the number of this attempt at it.
      stamp: in its name; empty where that tells none.
    """

    envelope: OpenEnvelope
    attempt: int
    stamp: str = ""


def claim(store: Store, holder: int, attempts: int) -> list[Claimed]:
    """Claim a group of envelopes.

    The oldest free envelope is taken, first of a channel and market of which no other worker holds anything; with it
    the small ones of both that were begun as often, the earliest stamps first.

    Args:
      store: the EIS.
      holder: the number of our claims.
      attempts: workers that may die on one envelope.

    Returns:
      The group in the order of its stamps; empty where nothing is free.
    """
    with store.transaction() as tx:
        rows = tx.driver.rows(_statement(attempts, isinstance(tx.driver, PostgresDriver)), (holder,) * 3)
    found = [
        Claimed(OpenEnvelope(number, name, bytes(sha256), state == "archived", *rest), attempt, stamp or "")
        for number, name, sha256, state, *rest, attempt, stamp in rows
    ]
    return sorted(found, key=lambda one: (one.stamp, one.envelope.id))


def release(store: Store, left: Sequence[tuple[int, int, bool]]) -> None:
    """Give claims back.

    Args:
      store: the EIS.
      left: (envelope, the holder of the claim, whether the attempt counts) of each.

    Raises:
      UserError: the database was lost.
    """
    with store.transaction() as tx:
        tx.driver.many(_RELEASE, [(0 if counts else 1, holder, number) for number, holder, counts in sorted(left)])


def put_off(store: Store, left: Sequence[tuple[int, int]]) -> None:
    """Keep claims, (envelope, holder) of each, without working on them: nobody waits for these envelopes."""
    with store.transaction() as tx:
        tx.driver.many(_PUT_OFF, left)


def others_ahead(store: Store, group: Sequence[Claimed]) -> list[int]:
    """The holders of small envelopes of the same channel and market that come before all of a group. A large one takes
    too long to be waited for."""
    if is_sqlite(store.engine):
        return []
    stamp, number = min((one.stamp, one.envelope.id) for one in group)
    with reading(store.engine) as connection:
        return [row[0] for row in driver_of(connection).rows(_AHEAD, (number, stamp))]


def turn_is_over(store: Store, holder: int, seconds: float) -> bool:
    """Wait until a worker on PostgreSQL has given way to those behind it, or died.

    Args:
      store: the EIS.
      holder: the number of its claims.
      seconds: for which it is waited for at most.

    Returns:
      False where it has not.
    """
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        driver.rows("SELECT set_config('lock_timeout', ?, true)", (f"{seconds * 1000:.0f}ms",))
        try:
            driver.rows("SELECT pg_advisory_xact_lock_shared(?)", (turn_of(holder),))
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            return False
    return True


def unfinished(store: Store, group: Sequence[Claimed]) -> list[Claimed]:
    """Those of a group that have not come to their end, as they are now."""
    by_id = {one.envelope.id: one for one in group}
    sql = "SELECT id, state FROM envelope WHERE state IN ('archived', 'processing')"
    with reading(store.engine) as connection:
        open_ones = {row[0]: row[1] for row in driver_of(connection).matching(sql, list(by_id), "id")}
    return [
        one._replace(envelope=one.envelope._replace(fresh=open_ones[number] == "archived"))
        for number, one in by_id.items()
        if number in open_ones
    ]


def backlog(store: Store, most: int) -> int:
    """How many envelopes wait; counted up to `most` + 1."""
    sql = (
        "SELECT count(*) FROM (SELECT 1 AS one FROM envelope WHERE state IN ('archived', 'processing') LIMIT ?) AS few"
    )
    with reading(store.engine) as connection:
        return int(driver_of(connection).rows(sql, (most + 1,))[0][0])


def states(store: Store, ids: list[int]) -> dict[int, str]:
    """States of envelopes, by id."""
    with reading(store.engine) as connection:
        found = driver_of(connection).matching("SELECT id, state FROM envelope WHERE true", ids, "id")
    return {row[0]: row[1] for row in found}


def reasons(store: Store, envelope_id: int) -> str:
    """Why an envelope failed, in words: its incidents."""
    sql = "SELECT code, path, value FROM incident WHERE envelope_id = ? AND severity = 'error' ORDER BY id LIMIT 20"
    with reading(store.engine) as connection:
        rows = driver_of(connection).rows(sql, (envelope_id,))
    return "\n".join(f"{code} {path}: {value or ''}".rstrip(": ") for code, path, value in rows)


def group_size(begun: int, attempts: int) -> int:
    """How many envelopes share a group that was begun so often.

    Args:
      begun: attempts before this one.
      attempts: those that may be made; the last one is made alone.
    """
    halvings = TOGETHER.bit_length() - 1
    return 1 if begun >= attempts - 1 else max(1, TOGETHER >> begun * -(-halvings // (attempts - 1)))


@cache
def _statement(attempts: int, postgres: bool) -> str:
    """The statement that claims; three times the holder is bound."""
    most = " ".join(f"WHEN {begun} THEN {group_size(begun, attempts)}" for begun in range(min(attempts, 7)))
    parts = _POSTGRES if postgres else _SQLITE
    return _CLAIM.format(**parts, most=f"CASE attempts {most} ELSE 1 END")


_POSTGRES = {
    # A holder lives as long as its lock.
    "live": "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted "
    "AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "UNION SELECT cast(? AS bigint)",
    "lock": "FOR NO KEY UPDATE OF e SKIP LOCKED",
}
_SQLITE = {"live": "SELECT ?", "lock": ""}
"""One process does everything: what another one held is free."""

_WAITING = "e.state IN ('archived', 'processing')"
# The number of a claim that is put off is negative.
_FREE = f"{_WAITING} AND (e.holder IS NULL OR abs(e.holder) NOT IN (SELECT holder FROM live))"
_CLAIM = f"""
WITH live(holder) AS MATERIALIZED ({{live}}),
busy AS (
  SELECT DISTINCT coalesce(e.market, '') AS market, e.channel FROM envelope e
  WHERE e.holder IN (SELECT holder FROM live) AND e.holder <> ? AND {_WAITING}
),
free AS MATERIALIZED (
  SELECT e.id, coalesce(e.market, '') AS market, coalesce(e.series_stamp, '') AS stamp, e.channel,
    coalesce(e.attempts, 0) AS attempts, r.size
  FROM envelope e JOIN raw r ON r.sha256 = e.sha256 WHERE {_FREE} ORDER BY e.id LIMIT {LOOK_AHEAD}
),
head AS MATERIALIZED (
  SELECT * FROM free f ORDER BY CASE WHEN EXISTS (
    SELECT 1 FROM busy b WHERE b.market = f.market AND b.channel = f.channel
  ) THEN 1 ELSE 0 END, f.id LIMIT 1
),
picked AS MATERIALIZED (
  SELECT e.id FROM envelope e JOIN free f ON f.id = e.id
  JOIN head h ON h.channel = f.channel AND h.market = f.market AND h.attempts = f.attempts
    AND (h.id = f.id OR (h.size <= {SMALL} AND f.size <= {SMALL}))
  WHERE {_FREE} ORDER BY CASE WHEN h.id = f.id THEN 0 ELSE 1 END, f.stamp, f.id
  LIMIT coalesce((SELECT {{most}} FROM head), 0) {{lock}}
)
UPDATE envelope SET holder = ?, attempts = coalesce(attempts, 0) + 1 WHERE id IN (SELECT id FROM picked)
RETURNING id, name, sha256, state, channel, coalesce(answers, 0), holder, attempts, series_stamp
"""
_AHEAD = f"""
SELECT DISTINCT e.holder FROM envelope e JOIN envelope own ON own.id = ? AND own.channel = e.channel
  AND coalesce(own.market, '') = coalesce(e.market, '')
JOIN raw r ON r.sha256 = e.sha256 AND r.size <= {SMALL}
WHERE (coalesce(e.series_stamp, ''), e.id) < (?, own.id) AND e.holder <> own.holder AND e.holder > 0 AND {_WAITING}
"""
_PUT_OFF = "UPDATE envelope SET holder = -holder WHERE id = ? AND holder = ?"
_RELEASE = (
    "UPDATE envelope SET attempts = CASE WHEN attempts > 0 THEN attempts - ? ELSE attempts END, "
    "holder = CASE WHEN abs(holder) = ? THEN NULL ELSE holder END WHERE id = ? AND state IN ('archived', 'processing')"
)
