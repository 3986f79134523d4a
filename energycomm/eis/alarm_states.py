"""Alarms that somebody was told of, or is to be: in the store, so that each is told once, whichever process tells."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store

SECOND = 1_000_000
LEASE = 120 * SECOND
"""What a process claimed and did not settle within is told by another one."""

Key = tuple[str, str]
"""Code and subject of an alarm."""


class Known(Struct, frozen=True, kw_only=True):
    """An alarm as it is kept.

    Attributes:
      since: when it was first seen, microseconds since the epoch.
      detail: in words, as of the last look.
      over: its cause is gone; kept until that was told.
      told_at: when somebody was last told of it; None: never.
      claimed_at: when a process began to tell of it; None: none does.
    """

    since: int
    detail: str
    over: bool = False
    told_at: int | None = None
    claimed_at: int | None = None


def standing(store: Store) -> dict[Key, str]:
    """The alarms that were on at the last look, with their detail.

    Raises:
      UserError: the database was lost.
    """
    with reading(store.engine) as connection:
        sql = "SELECT code, subject, detail FROM alarm_state WHERE over = ?"
        return {(code, subject): detail for code, subject, detail in driver_of(connection).rows(sql, (False,))}


def look(store: Store, current: Mapping[Key, str], now: int) -> dict[Key, Known]:
    """Bring what is kept to what is so now; all of it.

    Args:
      store: the EIS.
      current: the alarms that are on, with their detail.
      now: the present, microseconds since the epoch.

    Raises:
      UserError: the database was lost.
    """
    with store.transaction() as tx:
        sql = "SELECT code, subject, since, detail, over, told_at, claimed_at FROM alarm_state"
        found = {
            (row[0], row[1]): Known(since=row[2], detail=row[3], over=bool(row[4]), told_at=row[5], claimed_at=row[6])
            for row in tx.driver.rows(sql)
        }
        for key, known in list(found.items()):
            if key in current:
                if known.over or known.detail != current[key]:
                    found[key] = Known(since=known.since, detail=current[key], told_at=known.told_at)
                    sql = "UPDATE alarm_state SET detail = ?, over = ? WHERE code = ? AND subject = ?"
                    tx.driver.run(sql, (current[key], False, *key))
            elif known.told_at is None and known.claimed_at is None:
                # Nobody heard of it, and nobody needs to.
                del found[key]
                tx.driver.run("DELETE FROM alarm_state WHERE code = ? AND subject = ?", key)
            elif not known.over:
                found[key] = Known(since=known.since, detail=known.detail, over=True, told_at=known.told_at)
                tx.driver.run("UPDATE alarm_state SET over = ? WHERE code = ? AND subject = ?", (True, *key))
        for key in sorted(current.keys() - found.keys()):
            found[key] = Known(since=now, detail=current[key])
            sql = (
                "INSERT INTO alarm_state (code, subject, since, detail, over) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (code, subject) DO NOTHING"
            )
            tx.driver.run(sql, (*key, now, current[key], False))
    return found


def claim(store: Store, key: Key, now: int) -> bool:
    """Whether this process is to tell of an alarm: no other one does at present.

    Args:
      store: the EIS.
      key: the alarm.
      now: the present, microseconds since the epoch.
    """
    sql = (
        "UPDATE alarm_state SET claimed_at = ? WHERE code = ? AND subject = ? "
        "AND (claimed_at IS NULL OR claimed_at < ? OR claimed_at > ?)"
    )
    with store.transaction() as tx:
        return bool(tx.driver.run(sql, (now, *key, now - LEASE, now + LEASE)))


def settle(store: Store, key: Key, told_at: int | None, *, over: bool = False) -> None:
    """End a claim.

    Args:
      store: the EIS.
      key: the alarm.
      told_at: when it was told; None: it could not be.
      over: what was told is its end.
    """
    with store.transaction() as tx:
        if told_at is None:
            tx.driver.run("UPDATE alarm_state SET claimed_at = NULL WHERE code = ? AND subject = ?", key)
        elif over:
            tx.driver.run("DELETE FROM alarm_state WHERE code = ? AND subject = ? AND over = ?", (*key, True))
        else:
            sql = "UPDATE alarm_state SET claimed_at = NULL, told_at = ? WHERE code = ? AND subject = ?"
            tx.driver.run(sql, (told_at, *key))
