"""Who is signed in to the pages: sessions that live in the store, so that they can be ended there.

The browser holds a random value in a cookie; the store holds its hash. A session that began with a token is that
token's: it has its person, roles and scopes, ends no later, and is over as soon as the token is taken back.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs
from sqlalchemy import Connection, delete, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import now_micros
from energycomm.webservice import tokens
from energycomm.webservice.roles import Person, roles_of, words_of
from energycomm.webservice.tokens import digest

HOUR = 3_600_000_000
SECOND = 1_000_000


class SessionContent(Struct, frozen=True):
    """The content of a session besides its person.

    Attributes:
      roles: of the person, where no token says them.
      csrf: the token that forms carry.
      via: how they came.
    """

    roles: str
    csrf: str
    via: str


class Begun(NamedTuple):
    """A session that began.

    Attributes:
      cookie: value of the browser's cookie.
      seconds: how long it lasts.
    """

    cookie: str
    seconds: int


def begin(store: Store, person: Person, hours: float) -> Begun:
    """Sign somebody in.

    Args:
      store: the EIS.
      person: who, as the provider or their token tells.
      hours: how long at most; a token's session ends with the token.
    """
    t, now = tables.web_session, now_micros()
    end = min(now + int(hours * HOUR), person.until if person.until is not None else now + int(hours * HOUR))
    roles = "" if person.token is not None else words_of(person.roles)
    content = msgspec.json.encode(SessionContent(roles, secrets.token_urlsafe(24), person.via)).decode()
    cookie = secrets.token_urlsafe(32)
    with store.transaction() as tx:
        tx.connection.execute(delete(t).where(t.c.expires_at < now))
        begun = {"hash": digest(cookie), "person": person.name, "content": content, "token": person.token}
        tx.insert(t, [{**begun, "created_at": now, "expires_at": end}])
    return Begun(cookie, max(0, (end - now) // SECOND))


def person_of(store: Store, cookie: str) -> Person | None:
    """The person of a cookie; None if it is unknown or expired."""
    t, now = tables.web_session, now_micros()
    query = select(t).where(t.c.hash == digest(cookie), t.c.expires_at > now)
    with reading(store.engine) as connection:
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        content = msgspec.json.decode(row["content"], type=SessionContent)
        if row["token"] is None:
            return Person(row["person"], roles_of(content.roles), content.via, csrf=content.csrf)
        k = tables.api_token
        token = connection.execute(select(k).where(k.c.id == row["token"])).mappings().first()
    if token is None or not tokens.holds(token, now):
        return None
    return structs.replace(tokens.holder(token), via=content.via, csrf=content.csrf)


def signed_in(connection: Connection) -> Iterable[tuple[str, str]]:
    """The sessions that hold: the name of the person, and roles that they have by the session alone."""
    t, k, now = tables.web_session, tables.api_token, now_micros()
    holding = select(k.c.id).where(k.c.revoked_at.is_(None), k.c.expires_at > now)
    query = select(t.c.person, t.c.content).where(t.c.expires_at > now, t.c.token.is_(None) | t.c.token.in_(holding))
    for name, content in connection.execute(query):
        yield name, msgspec.json.decode(content, type=SessionContent).roles


def end(store: Store, cookie: str) -> None:
    """Sign out."""
    with store.transaction() as tx:
        tx.connection.execute(delete(tables.web_session).where(tables.web_session.c.hash == digest(cookie)))


def end_all(store: Store, person: str) -> int:
    """Sign a person out wherever they are; how many sessions that were."""
    t = tables.web_session
    with store.transaction() as tx:
        return tx.connection.execute(delete(t).where(t.c.person == person)).rowcount
