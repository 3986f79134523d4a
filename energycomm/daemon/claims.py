"""Envelopes that wait to be processed, and who takes which: each by one worker only."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import EXIT_DATABASE, reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.batch import Tally
from energycomm.pipeline.records import OpenEnvelope, note

LOOK_AHEAD = 64


class Waiting(NamedTuple):
    """An envelope that is archived and not finished."""

    id: int
    name: str
    sha256: bytes
    channel: str


def waiting(store: Store, limit: int = LOOK_AHEAD) -> list[Waiting]:
    """The envelopes that wait or are being processed, in the order they came."""
    sql = "SELECT id, name, sha256, channel FROM envelope WHERE state IN ('archived', 'processing') ORDER BY id LIMIT ?"
    with reading(store.engine) as connection:
        return [Waiting(row[0], row[1], bytes(row[2]), row[3]) for row in driver_of(connection).rows(sql, (limit,))]


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


def begin(store: Store, envelope_id: int) -> int | None:
    """Count an attempt at an envelope; the number of the attempt, None when there is nothing to do any more."""
    with store.transaction() as tx:
        sql = (
            "UPDATE envelope SET attempts = COALESCE(attempts, 0) + 1 "
            "WHERE id = ? AND state IN ('archived', 'processing')"
        )
        if not tx.driver.run(sql, (envelope_id,)):
            return None
        return int(tx.driver.rows("SELECT attempts FROM envelope WHERE id = ?", (envelope_id,))[0][0])


def forgive(store: Store, ids: list[int]) -> None:
    """Take back attempts that ended for no fault of the envelope: a stop, a lost database, another worker.

    Raises:
      UserError: the database was lost.
    """
    with store.transaction() as tx:
        tx.driver.many("UPDATE envelope SET attempts = attempts - 1 WHERE id = ? AND attempts > 0", [(i,) for i in ids])


def put_aside(store: Store, envelope: OpenEnvelope, attempts: int) -> None:
    """Give an envelope up that workers died of: it fails, its bytes stay."""
    with store.transaction() as tx:
        sql = (
            "UPDATE envelope SET state = 'failed', finished_at = ? WHERE id = ? AND state IN ('archived', 'processing')"
        )
        tx.driver.run(sql, (now_micros(), envelope.id))
    refusal = Refusal(
        code="ENV_PUT_ASIDE",
        path=envelope.name,
        value=f"{attempts} attempts",
        expected="an envelope that can be processed",
        advice="look at the log of the attempts; hand the envelope in again once the cause is removed",
    )
    note(store, Tally(), envelope.id, None, refusal, "error")


def database_trouble(error: BaseException) -> bool:
    """Whether an error says that the database cannot be used at present."""
    return isinstance(error, UserError) and error.exit_code == EXIT_DATABASE


def quietly_forgive(store: Store, ids: list[int]) -> list[int]:
    """`forgive`, later where the database is lost: the ids that are left."""
    with contextlib.suppress(UserError):
        if ids:
            forgive(store, ids)
        return []
    return ids
