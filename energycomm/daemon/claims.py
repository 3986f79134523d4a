"""Envelopes that wait to be processed, and who takes which: each by one worker only."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.errors import UserError
from energycomm.pipeline.records import forgive

LOOK_AHEAD = 64


class Waiting(NamedTuple):
    """An envelope that is archived and not finished."""

    id: int
    name: str
    sha256: bytes
    channel: str
    state: str


def waiting(store: Store, limit: int = LOOK_AHEAD) -> list[Waiting]:
    """The envelopes that wait or are being processed, in the order they came."""
    sql = (
        "SELECT id, name, sha256, channel, state FROM envelope "
        "WHERE state IN ('archived', 'processing') ORDER BY id LIMIT ?"
    )
    with reading(store.engine) as connection:
        return [Waiting(row[0], row[1], bytes(row[2]), *row[3:]) for row in driver_of(connection).rows(sql, (limit,))]


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


def quietly_forgive(store: Store, ids: list[int]) -> list[int]:
    """`forgive`, later where the database is lost: the ids that are left."""
    with contextlib.suppress(UserError):
        if ids:
            forgive(store, ids)
        return []
    return ids
