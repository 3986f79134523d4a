"""Who is signed in to the pages: sessions that live in the store, so that they can be ended there.

The browser holds a random value in a cookie; the store holds its hash. While somebody is on their way through the
identity provider, a row of purpose `login` remembers what the provider's answer is compared with.
"""

from __future__ import annotations

import secrets
from typing import TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import delete, select

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.kernel.instants import now_micros
from energycomm.webservice.roles import Person, Role, roles_of, words_of
from energycomm.webservice.tokens import digest

HOUR = 3_600_000_000
LOGIN_MINUTES = 10
MOST_LOGINS = 10_000
"""Sign-ins under way at once: who starts more has no use for them."""


class SessionContent(Struct, frozen=True):
    """What a session remembers besides its person: the roles, and the token that forms carry."""

    roles: str
    csrf: str
    via: str


class LoginContent(Struct, frozen=True):
    """What a sign-in under way remembers: see OpenID Connect Core, 3.1.2.1, and RFC 7636.

    Attributes:
      state: comes back with the provider's answer.
      nonce: stands in the ID token.
      verifier: proves to the provider that we are who began.
      then: path of the page to show afterwards.
    """

    state: str
    nonce: str
    verifier: str
    then: str


C = TypeVar("C", SessionContent, LoginContent)


def begin(store: Store, person: str, roles: frozenset[Role], via: str, hours: float) -> str:
    """Sign somebody in; the value of their cookie."""
    content = SessionContent(words_of(roles), secrets.token_urlsafe(24), via)
    return _keep(store, "session", person, content, int(hours * HOUR))


def person_of(store: Store, cookie: str) -> Person | None:
    """Who a cookie stands for; None where it is unknown or over."""
    found = _find(store, "session", cookie, SessionContent)
    if found is None:
        return None
    name, content = found
    return Person(name, roles_of(content.roles), content.via, csrf=content.csrf)


def end(store: Store, cookie: str) -> None:
    """Sign out."""
    with store.transaction() as tx:
        tx.connection.execute(delete(tables.web_session).where(tables.web_session.c.hash == digest(cookie)))


def end_all(store: Store, person: str) -> int:
    """Sign a person out wherever they are; how many sessions that were."""
    t = tables.web_session
    with store.transaction() as tx:
        return tx.connection.execute(delete(t).where(t.c.person == person, t.c.purpose == "session")).rowcount


def remember_login(store: Store, content: LoginContent) -> str | None:
    """Remember a sign-in under way; the value of its cookie, None where too many are under way."""
    t = tables.web_session
    with reading(store.engine) as connection:
        rows = connection.execute(select(t.c.hash).where(t.c.purpose == "login").limit(MOST_LOGINS)).all()
    if len(rows) == MOST_LOGINS:
        return None
    return _keep(store, "login", "", content, LOGIN_MINUTES * 60_000_000)


def take_login(store: Store, cookie: str) -> LoginContent | None:
    """What a sign-in under way remembered, once: the second time there is nothing."""
    found = _find(store, "login", cookie, LoginContent)
    if found is None:
        return None
    end(store, cookie)
    return found[1]


def _keep(store: Store, purpose: str, person: str, content: Struct, micros: int) -> str:
    cookie, now, t = secrets.token_urlsafe(32), now_micros(), tables.web_session
    row = (digest(cookie), purpose, person, msgspec.json.encode(content).decode(), now, now + micros)
    with store.transaction() as tx:
        tx.connection.execute(delete(t).where(t.c.expires_at < now))
        tx.insert(t, [row])
    return cookie


def _find(store: Store, purpose: str, cookie: str, type_: type[C]) -> tuple[str, C] | None:
    t = tables.web_session
    query = select(t.c.person, t.c.content).where(
        t.c.hash == digest(cookie), t.c.purpose == purpose, t.c.expires_at > now_micros()
    )
    with reading(store.engine) as connection:
        row = connection.execute(query).first()
    return None if row is None else (row[0], msgspec.json.decode(row[1], type=type_))
