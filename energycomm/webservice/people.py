"""Who uses the web services: everybody who has an account, holds a token or is signed in."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import func, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant, now_micros
from energycomm.webservice.accounts import list_accounts
from energycomm.webservice.sessions import signed_in


class KnownPerson(Struct, frozen=True, kw_only=True):
    """A person who has an account, a token or a session.

    Attributes:
      name: as the audit names them.
      roles: of their tokens and sessions together.
      tokens: how many of their tokens hold.
      sessions: how often they are signed in.
      seen_at: their last line in the audit; None before the first.
      password: state of their account: initial, valid, expired, disabled; none without a password.
      second_factor: whether they need a one-time code to sign in.
    """

    name: str
    roles: tuple[str, ...]
    tokens: int
    sessions: int
    seen_at: datetime | None
    password: str = "none"  # noqa: S105 - a state
    second_factor: bool = False


def known_people(store: Store) -> list[KnownPerson]:
    """Everybody who has an account, holds a token or is signed in, by name."""
    now, token = now_micros(), tables.api_token
    holding = select(token.c.person, token.c.roles).where(token.c.revoked_at.is_(None), token.c.expires_at > now)
    accounts = {one.name: one for one in list_accounts(store)}
    with reading(store.engine) as connection:
        tokens = connection.execute(holding).all()
        sessions = list(signed_in(connection, store.engine))
        names = sorted({row[0] for row in (*tokens, *sessions)} | accounts.keys())
        audit = tables.audit
        last = select(audit.c.person, func.max(audit.c.at)).where(audit.c.person.in_(names)).group_by(audit.c.person)
        seen = {row[0]: row[1] for row in connection.execute(last)}
    roles: dict[str, set[str]] = {name: set() for name in names}
    for name, one in accounts.items():
        roles[name].update(one.roles)
    for name, words in (*tokens, *sessions):
        roles[name].update(words.split())
    return [
        KnownPerson(
            name=name,
            roles=tuple(sorted(roles[name])),
            tokens=sum(row[0] == name for row in tokens),
            sessions=sum(row[0] == name for row in sessions),
            seen_at=instant(seen[name]) if name in seen else None,
            password=accounts[name].state if name in accounts else "none",
            second_factor=name in accounts and accounts[name].second_factor,
        )
        for name in names
    ]
