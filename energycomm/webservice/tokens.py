"""API tokens: shown once, stored as a hash, with roles, scopes and an expiry; they can be revoked at any time.

A token has 256 bits of chance: its plain SHA-256 tells nobody anything, and is found by an index. A token that was made
by right of another one may no more than that, ends no later, and is taken back with it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import select, update

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store, StoreTransaction
from energycomm.eis.structures import filled
from energycomm.kernel.instants import instant, now_micros
from energycomm.webservice.roles import Person, Role, Scope, roles_of, scopes_of, words_of

PREFIX = "ec_"
"""What every token begins with, so that it is known for one where it does not belong."""
ACCOUNT_LENGTH = 11
"""Characters of a token that stand for the account that it is of: the prefix and 48 bits; it names none otherwise."""
FORM = re.compile(r"ec_[A-Za-z0-9_-]{43}")
"""What every token is made of: the store is not asked for what cannot be one."""
DAY = 86_400_000_000
MINUTE = 60_000_000
DAYS = 90
"""How long a token holds unless something else is asked for; no longer where a person of the provider makes it, whose
rights may end there at any time."""
LONGEST_DAYS = 3650


class Token(Struct, frozen=True, kw_only=True):
    """A token as it may be shown: without itself.

    Attributes:
      id: its number.
      label: what it is for.
      person: in whose name it acts.
      roles, scopes: what it may do.
      state: valid, expired or revoked.
      made_with: the token by whose right it was made, and with which it is taken back.
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
    made_with: int | None = None


class Excess(Struct, frozen=True):
    """One thing that a token would have more of than who makes it.

    Attributes:
      target: roles, scopes or days.
      value: what was asked for beyond.
      most: what may be asked for.
    """

    target: str
    value: str
    most: str


class Outranked(Exception):
    """A token would outrank or outlive who makes it.

    Attributes:
      excesses: in what.
    """

    def __init__(self, excesses: tuple[Excess, ...]) -> None:
        super().__init__(", ".join(one.target for one in excesses))
        self.excesses = excesses


class TakenBack(Exception):
    """The token with which another was to be created was revoked or expired meanwhile."""


def digest(secret: str) -> bytes:
    """The stored hash of a token or cookie."""
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
    """Create a token from the command line: a user who may run commands on the store has every right anyway.

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
    end = now_micros() + days * DAY
    with store.transaction() as tx:
        return _insert(tx, person, roles, scopes, end=end, label=label, by=by, made_with=None)


def mint(
    store: Store,
    maker: Person,
    person: str,
    roles: frozenset[Role],
    *,
    scopes: frozenset[Scope] | None,
    days: int | None,
    label: str,
) -> tuple[int, str, datetime]:
    """Create a token within the rights of a user: it has no further role or scope, and expires no later.

    Args:
      store: the EIS.
      maker: who makes it.
      person: in whose name it acts.
      roles: what it is.
      scopes: what it may be used for; None for all that the maker may.
      days: how long it holds, at most until the maker's token ends, or `DAYS` where they have none; None for that.
      label: what it is for.

    Returns:
      Its number, the token itself, which is shown once and kept nowhere, and its end.

    Raises:
      Outranked: it would be more than its maker.
      TakenBack: the maker's own token holds no more.
    """
    now = now_micros()
    longest = now + DAYS * DAY
    latest = longest if maker.until is None else maker.until
    end = min(longest, latest) if days is None else now + days * DAY
    wanted = maker.scopes if scopes is None else scopes
    found = []
    if roles - maker.roles:
        found.append(Excess("roles", words_of(roles - maker.roles), words_of(maker.roles)))
    if wanted - maker.scopes:
        found.append(Excess("scopes", words_of(wanted - maker.scopes), words_of(maker.scopes)))
    if end > latest:
        found.append(Excess("days", str(days), str((latest - now) // DAY)))
    if found:
        raise Outranked(tuple(found))
    with store.transaction() as tx:
        if maker.token is not None:
            # Held until this is committed: who takes the maker's token back meanwhile waits, and then finds this one.
            query = select(tables.api_token).where(tables.api_token.c.id == maker.token).with_for_update()
            row = tx.connection.execute(query).mappings().first()
            if row is None or not holds(row, now):
                raise TakenBack
        number, secret = _insert(tx, person, roles, wanted, end=end, label=label, by=maker.name, made_with=maker.token)
    return number, secret, instant(end)


def _insert(
    tx: StoreTransaction,
    person: str,
    roles: frozenset[Role],
    scopes: frozenset[Scope],
    *,
    end: int,
    label: str,
    by: str,
    made_with: int | None,
) -> tuple[int, str]:
    secret = PREFIX + secrets.token_urlsafe(32)
    (number,) = tx.reserve(tables.api_token, 1)
    row = {
        "id": number,
        "label": label,
        "hash": digest(secret),
        "person": person,
        "roles": words_of(roles),
        "scopes": words_of(scopes),
        "created_at": now_micros(),
        "created_by": by,
        "expires_at": end,
        "made_with": made_with,
    }
    tx.insert(tables.api_token, [row])
    return number, secret


def holds(row: Mapping[Any, Any], now: int) -> bool:
    """Whether a token of the table, by its columns, is valid at an instant in microseconds."""
    return row["revoked_at"] is None and row["expires_at"] > now


def holder(row: Mapping[Any, Any]) -> Person:
    """The person of a token of the table, by its columns."""
    return Person(
        row["person"],
        roles_of(row["roles"]),
        f"token {row['id']}",
        scopes_of(row["scopes"]),
        token=row["id"],
        until=row["expires_at"],
    )


def person_of(store: Store, secret: str) -> Person | None:
    """The person of a token; None if it is unknown, expired or revoked."""
    if not FORM.fullmatch(secret):
        return None
    t, now = tables.api_token, now_micros()
    with reading(store.engine) as connection:
        row = connection.execute(select(t).where(t.c.hash == digest(secret))).mappings().first()
    if row is None or not holds(row, now):
        return None
    if row["used_at"] is None or row["used_at"] < now - MINUTE:
        with store.transaction() as tx:
            tx.connection.execute(update(t).where(t.c.id == row["id"]).values(used_at=now))
    return holder(row)


def revoke(store: Store, number: int, by: str) -> tuple[int, ...]:
    """Revoke a token at once, with every token that was made with it, at every level.

    Sessions that began with one of them end with it.

    Args:
      store: the EIS.
      number: of the token.
      by: who takes it back.

    Returns:
      The numbers of all that were taken back, the token's own first; none where there is none that holds.
    """
    t = tables.api_token
    taken: list[int] = []
    with store.transaction() as tx:
        level, which = [number], t.c.id
        while level:
            # Generation by generation: each waits for those who are making a token of the one before.
            done = tx.connection.execute(
                update(t)
                .where(which.in_(level), t.c.revoked_at.is_(None))
                .values(revoked_at=now_micros(), revoked_by=by)
                .returning(t.c.id)
            )
            level, which = sorted(done.scalars()), t.c.made_with
            taken += level
    return tuple(taken)


def list_tokens(store: Store, *, everything: bool = False) -> list[Token]:
    """The tokens that hold, the newest first; those that are over too when `everything`."""
    t, now = tables.api_token, now_micros()
    query = select(t).order_by(t.c.id.desc())
    if not everything:
        query = query.where(t.c.revoked_at.is_(None), t.c.expires_at > now)
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
    return [
        filled(
            Token,
            row,
            roles=tuple(row["roles"].split()),
            scopes=tuple(row["scopes"].split()),
            state="revoked" if row["revoked_at"] is not None else "valid" if holds(row, now) else "expired",
        )
        for row in rows
    ]
