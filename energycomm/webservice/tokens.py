"""API tokens: made once and shown once, kept as a hash, with roles, scopes and an end, and taken back at any time.

A token has 256 bits of chance: its plain SHA-256 tells nobody anything, and is found by an index.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from msgspec import Struct
from sqlalchemy import select, update

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant, now_micros
from energycomm.webservice.roles import Person, Role, Scope, roles_of, scopes_of, words_of

PREFIX = "ec_"
"""What every token begins with, so that it is known for one where it does not belong."""
DAY = 86_400_000_000
MINUTE = 60_000_000
LONGEST_DAYS = 3650


class Token(Struct, frozen=True, kw_only=True):
    """A token as it may be shown: without itself.

    Attributes:
      id: its number.
      label: what it is for.
      person: in whose name it acts.
      roles, scopes: what it may do.
      state: valid, expired or revoked.
    """

    id: int
    label: str
    person: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    state: str
    created_at: datetime
    created_by: str
    expires_at: datetime
    revoked_at: datetime | None
    used_at: datetime | None


def digest(secret: str) -> bytes:
    """What is stored of a token or cookie."""
    return hashlib.sha256(secret.encode()).digest()


def create(
    store: Store,
    person: str,
    roles: frozenset[Role],
    *,
    scopes: frozenset[Scope],
    days: int,
    label: str,
    by: str,
) -> tuple[int, str]:
    """Make a token.

    Args:
      store: the EIS.
      person: in whose name it acts.
      roles: what it is.
      scopes: what it may be used for.
      days: how long it holds.
      label: what it is for.
      by: who made it.

    Returns:
      Its number, and the token itself, which is shown once and kept nowhere.
    """
    secret = PREFIX + secrets.token_urlsafe(32)
    now = now_micros()
    with store.transaction() as tx:
        (number,) = tx.reserve(tables.api_token, 1)
        words = (words_of(roles), words_of(scopes))
        end = now + days * DAY
        tx.insert(tables.api_token, [(number, label, digest(secret), person, *words, now, by, end, None, None, None)])
    return number, secret


def person_of(store: Store, secret: str) -> Person | None:
    """Who a token stands for; None where it is unknown, over or revoked."""
    if not secret.startswith(PREFIX) or len(secret) > 200:
        return None
    t, now = tables.api_token, now_micros()
    with reading(store.engine) as connection:
        row = connection.execute(select(t).where(t.c.hash == digest(secret))).mappings().first()
    if row is None or row["revoked_at"] is not None or row["expires_at"] <= now:
        return None
    if row["used_at"] is None or row["used_at"] < now - MINUTE:
        with store.transaction() as tx:
            tx.connection.execute(update(t).where(t.c.id == row["id"]).values(used_at=now))
    return Person(row["person"], roles_of(row["roles"]), f"token {row['id']}", scopes_of(row["scopes"]))


def revoke(store: Store, number: int, by: str) -> bool:
    """Take a token back, at once; False where there is none that holds."""
    t = tables.api_token
    with store.transaction() as tx:
        done = tx.connection.execute(
            update(t).where(t.c.id == number, t.c.revoked_at.is_(None)).values(revoked_at=now_micros(), revoked_by=by)
        )
        return bool(done.rowcount)


def list_tokens(store: Store, *, everything: bool = False) -> list[Token]:
    """The tokens that hold, the newest first; those that are over too when `everything`."""
    t, now = tables.api_token, now_micros()
    query = select(t).order_by(t.c.id.desc())
    if not everything:
        query = query.where(t.c.revoked_at.is_(None), t.c.expires_at > now)
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
    return [
        Token(
            id=row["id"],
            label=row["label"],
            person=row["person"],
            roles=tuple(row["roles"].split()),
            scopes=tuple(row["scopes"].split()),
            state="revoked" if row["revoked_at"] is not None else "expired" if row["expires_at"] <= now else "valid",
            created_at=instant(row["created_at"]),
            created_by=row["created_by"],
            expires_at=instant(row["expires_at"]),
            revoked_at=None if row["revoked_at"] is None else instant(row["revoked_at"]),
            used_at=None if row["used_at"] is None else instant(row["used_at"]),
        )
        for row in rows
    ]
