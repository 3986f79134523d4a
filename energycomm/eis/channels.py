"""What is known of channels and daemons, whichever host they run on: in the store, so that all obey and show it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Engine

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant, micros
from energycomm.masking import mask

SECOND = 1_000_000
BACK_OFFICE = "back office"
"""Name of the notifications among the channels, whose names hold no space."""
SILENT_SECONDS = 30
"""A daemon that gave no sign for so long is dead, hangs, or cannot write to the store."""
FORGOTTEN_SECONDS = 86_400
"""A daemon that gave no sign for so long is not shown any more, while another one gives signs."""


class ChannelState(Struct, frozen=True, kw_only=True):
    """What is known of a channel.

    Attributes:
      paused_at, paused_by, why: since when, by whom and why nothing is received or sent; None while it works.
      asked_at: when a person asked for an attempt at once, microseconds since the epoch.
      worked_at: when it last did what was asked.
      failed_at, error: when it last failed, and how; None once it worked again.
      host: which host said so.
    """

    paused_at: datetime | None = None
    paused_by: str | None = None
    why: str | None = None
    asked_at: int = 0
    worked_at: datetime | None = None
    failed_at: datetime | None = None
    error: str | None = None
    host: str | None = None


class DaemonState(Struct, frozen=True, kw_only=True):
    """What a daemon said of itself.

    Attributes:
      name: its host, and the port of its health.
      begun_at: when it started.
      seen_at: its last sign.
      silent: it gives no sign any more.
      facts: what its heartbeat says: workers, alarms.
    """

    name: str
    begun_at: datetime
    seen_at: datetime
    silent: bool
    facts: Mapping[str, Any]


NEW = ChannelState()
"""Of a channel that nothing is known of."""


def channel_states(engine: Engine) -> dict[str, ChannelState]:
    """What is known of the channels, by name.

    Raises:
      UserError: the database was lost.
    """
    sql = "SELECT name, paused_at, paused_by, why, asked_at, worked_at, failed_at, error, host FROM channel_state"
    with reading(engine) as connection:
        rows = driver_of(connection).rows(sql)
    return {
        name: ChannelState(
            paused_at=None if paused_at is None else instant(paused_at),
            paused_by=paused_by,
            why=why,
            asked_at=asked_at or 0,
            worked_at=None if worked_at is None else instant(worked_at),
            failed_at=None if failed_at is None else instant(failed_at),
            error=error,
            host=host,
        )
        for name, paused_at, paused_by, why, asked_at, worked_at, failed_at, error, host in rows
    }


def pause(store: Store, name: str, by: str, why: str, now: int) -> None:
    """Let a channel rest until somebody resumes it; who did so first, and why, stays.

    Args:
      store: the EIS.
      name: of the channel.
      by: who wants it.
      why: for those who come after.
      now: the present, microseconds since the epoch.
    """
    with store.transaction() as tx:
        tx.driver.run(
            "INSERT INTO channel_state AS c (name, paused_at, paused_by, why) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET paused_at = coalesce(c.paused_at, excluded.paused_at), "
            "paused_by = CASE WHEN c.paused_at IS NULL THEN excluded.paused_by ELSE c.paused_by END, "
            "why = CASE WHEN c.paused_at IS NULL THEN excluded.why ELSE c.why END",
            (name[:80], now, by[:120], why[:400] or None),
        )


def resume(store: Store, name: str) -> bool:
    """Let a channel go on; whether it was paused."""
    sql = (
        "UPDATE channel_state SET paused_at = NULL, paused_by = NULL, why = NULL "
        "WHERE name = ? AND paused_at IS NOT NULL"
    )
    with store.transaction() as tx:
        return bool(tx.driver.run(sql, (name[:80],)))


def ask(store: Store, name: str, now: int) -> bool:
    """Ask whoever leads a channel to try it at once; whether it is not paused, so that somebody will."""
    sql = (
        "INSERT INTO channel_state (name, asked_at) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET asked_at = excluded.asked_at WHERE channel_state.paused_at IS NULL"
    )
    with store.transaction() as tx:
        return bool(tx.driver.run(sql, (name[:80], now)))


def note(store: Store, name: str, host: str, now: int, error: str | None) -> None:
    """Note that a channel worked, or how it failed; secrets are masked.

    Args:
      store: the EIS.
      name: of the channel.
      host: who says it.
      now: the present, microseconds since the epoch.
      error: what went wrong; None where it worked.
    """
    worked = error is None
    words = None if error is None else mask(error).replace("\0", " ")[:1000]
    column = "worked_at" if worked else "failed_at"
    sql = (
        f"INSERT INTO channel_state (name, {column}, error, host) VALUES (?, ?, ?, ?) "  # noqa: S608 - our own words
        f"ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}, error = excluded.error, host = excluded.host"
        + (", failed_at = NULL" if worked else "")
    )
    with store.transaction() as tx:
        tx.driver.run(sql, (name[:80], now, words, host[:255]))


def daemon_states(engine: Engine, now: int) -> list[DaemonState]:
    """What the daemons of all hosts said of themselves, by name.

    Args:
      engine: the database.
      now: the present, microseconds since the epoch.

    Raises:
      UserError: the database was lost.
    """
    sql = "SELECT name, begun_at, seen_at, facts FROM daemon_state ORDER BY name"
    with reading(engine) as connection:
        rows = driver_of(connection).rows(sql)
    found = []
    for name, begun_at, seen_at, facts in rows:
        silent = now - seen_at > SILENT_SECONDS * SECOND
        told: dict[str, Any] = msgspec.json.decode(facts)
        times = {"begun_at": instant(begun_at), "seen_at": instant(seen_at)}
        found.append(DaemonState(name=name, silent=silent, facts=told, **times))
    if all(one.silent for one in found):
        return found
    return [one for one in found if now - micros(one.seen_at) < FORGOTTEN_SECONDS * SECOND]


def sign(store: Store, name: str, begun: int, now: int, facts: Mapping[str, Any]) -> None:
    """Write what a daemon says of itself.

    Args:
      store: the EIS.
      name: of the daemon.
      begun: when it started, microseconds since the epoch.
      now: the present, in the same unit.
      facts: what its heartbeat says.
    """
    sql = (
        "INSERT INTO daemon_state (name, begun_at, seen_at, facts) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET "
        "begun_at = excluded.begun_at, seen_at = excluded.seen_at, facts = excluded.facts"
    )
    with store.transaction() as tx:
        tx.driver.run(sql, (name[:280], begun, now, msgspec.json.encode(facts).decode()))


def leave(store: Store, name: str) -> None:
    """A daemon ended in order: nobody is to miss it."""
    with store.transaction() as tx:
        tx.driver.run("DELETE FROM daemon_state WHERE name = ?", (name[:280],))
