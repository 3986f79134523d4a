"""Who is signed in to the pages: sessions that live in the store, so that they can be ended there.

The browser holds a random value in a cookie; the store holds its hash. A session that began with a token is that
token's: it has its person, roles and scopes, ends no later, and is over as soon as the token is taken back. One that
began with a password has the roles of its account. The content is sealed (`energycomm.eis.sealing`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs
from sqlalchemy import Connection, Engine, delete, select, update

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.datakeys import vault_of
from energycomm.eis.fitting import storable
from energycomm.eis.store import Store
from energycomm.eis.structures import filled
from energycomm.kernel.instants import now_micros
from energycomm.webservice import tokens
from energycomm.webservice.roles import Person, roles_of, words_of
from energycomm.webservice.tokens import digest

HOUR = 3_600_000_000
MINUTE = 60_000_000
SECOND = 1_000_000
HANDLE_BYTES = 8
"""Bytes of a session's hash that it is named by where people list and end sessions; they open nothing."""
PENDING_MINUTES = 10
"""How long somebody may be on their way through the steps of a sign-in."""


class SessionContent(Struct, frozen=True, omit_defaults=True):
    """The content of a session besides its person.

    Attributes:
      roles: of the person, where neither a token nor an account says them.
      csrf: the token that forms carry.
      via: how they came.
      step: what they have to do before they are signed in; none once they are.
      done: steps that they did.
      then: path of the page to show afterwards.
      id_token: what the provider told of them; it is shown to the provider again at the sign-out.
      subject: their name at the provider (`sub`).
      provider_session: their session there (`sid`).
    """

    roles: str
    csrf: str
    via: str
    step: str = ""
    done: tuple[str, ...] = ()
    then: str = ""
    id_token: str = ""
    subject: str = ""
    provider_session: str = ""


class Origin(Struct, frozen=True):
    """Where a session began.

    Attributes:
      address: of the browser.
      device: what it calls itself.
    """

    address: str = ""
    device: str = ""


class Provided(Struct, frozen=True):
    """What the identity provider told of a person besides name and roles.

    Attributes:
      id_token: the ID token; it is shown to the provider again at the sign-out.
      subject: their name there (`sub`).
      provider_session: their session there (`sid`); empty where it tells none.
    """

    id_token: str = ""
    subject: str = ""
    provider_session: str = ""


class Session(Struct, frozen=True, kw_only=True):
    """A session as it may be shown.

    Attributes:
      id: its name, for ending it.
      person: who.
      via: how they came.
      address: where it began.
      device: browser and system, as the browser calls itself.
      seen_at: last use, to the minute.
      own: whether it is the one that asks.
    """

    id: str
    person: str
    via: str
    address: str | None
    device: str | None
    created_at: datetime
    seen_at: datetime | None
    expires_at: datetime
    own: bool = False


class Begun(NamedTuple):
    """A session that began.

    Attributes:
      cookie: value of the browser's cookie.
      seconds: how long it lasts.
    """

    cookie: str
    seconds: int


class Pending(NamedTuple):
    """A sign-in that is under way: the password was right.

    Attributes:
      person: who.
      content: how far it is.
    """

    person: str
    content: SessionContent


def begin(
    store: Store,
    person: Person,
    hours: float,
    origin: Origin | None = None,
    *,
    account: int | None = None,
    provided: Provided | None = None,
) -> Begun:
    """Sign somebody in.

    Args:
      store: the EIS.
      person: who, as the provider, their account or their token tells.
      hours: how long at most; a token's session ends with the token.
      origin: where they come from.
      account: number of their account, where they came with a password.
      provided: what the provider told.
    """
    now = now_micros()
    end = min(now + int(hours * HOUR), person.until if person.until is not None else now + int(hours * HOUR))
    roles = "" if person.token is not None or account is not None else words_of(person.roles)
    given = provided or Provided()
    content = SessionContent(
        roles,
        secrets.token_urlsafe(24),
        person.via,
        id_token=given.id_token,
        subject=given.subject,
        provider_session=given.provider_session,
    )
    return _insert(store, person.name, content, (now, end), origin, token=person.token, account=account)


def begin_pending(store: Store, name: str, content: SessionContent) -> Begun:
    """Remember a sign-in that is under way.

    Args:
      store: the EIS.
      name: whose password was right.
      content: how far it is; it gets a new token for its forms.
    """
    fresh = structs.replace(content, csrf=secrets.token_urlsafe(24))
    now = now_micros()
    return _insert(store, name, fresh, (now, now + PENDING_MINUTES * MINUTE), None, token=None, account=None)


def _insert(
    store: Store,
    name: str,
    content: SessionContent,
    span: tuple[int, int],
    origin: Origin | None,
    *,
    token: int | None,
    account: int | None,
) -> Begun:
    t, cookie, (now, end) = tables.web_session, secrets.token_urlsafe(32), span
    row = {
        "hash": digest(cookie),
        "person": name,
        "content": msgspec.json.encode(content).decode(),
        "created_at": now,
        "expires_at": end,
        "token": token,
        "account_id": account,
        "address": storable(origin.address, 64) if origin else None,
        "device": storable(origin.device, 200) if origin else None,
        "seen_at": now,
    }
    with store.transaction() as tx:
        tx.connection.execute(delete(t).where(t.c.expires_at < now))
        tx.insert(t, [row])
    return Begun(cookie, max(0, (end - now) // SECOND))


def person_of(store: Store, cookie: str) -> Person | None:
    """The person of a cookie; None if it is unknown or expired, or the sign-in is still under way."""
    t, now = tables.web_session, now_micros()
    query = select(t).where(t.c.hash == digest(cookie), t.c.expires_at > now)
    with reading(store.engine) as connection:
        row = connection.execute(query).mappings().first()
        if row is None:
            return None
        content = _content(store.engine, row)
        found = None if content.step else _person(connection, row, content, now)
    if found is not None and (row["seen_at"] is None or row["seen_at"] < now - MINUTE):
        with store.transaction() as tx:
            tx.connection.execute(update(t).where(t.c.hash == row["hash"]).values(seen_at=now))
    return found


def _person(connection: Connection, row: Mapping[Any, Any], content: SessionContent, now: int) -> Person | None:
    name, via, csrf = row["person"], content.via, content.csrf
    if row["account_id"] is not None:
        a = tables.account
        held = select(a.c.roles).where(a.c.id == row["account_id"], a.c.disabled_at.is_(None))
        roles = connection.execute(held).scalar()
        return None if roles is None else Person(name, roles_of(roles), via, csrf=csrf)
    if row["token"] is None:
        return Person(name, roles_of(content.roles), via, csrf=csrf)
    k = tables.api_token
    token = connection.execute(select(k).where(k.c.id == row["token"])).mappings().first()
    if token is None or not tokens.holds(token, now):
        return None
    return structs.replace(tokens.holder(token), via=via, csrf=csrf)


def pending(store: Store, cookie: str) -> Pending | None:
    """The sign-in under way of a cookie; None if it is unknown, over or finished."""
    t, now = tables.web_session, now_micros()
    with reading(store.engine) as connection:
        row = connection.execute(select(t).where(t.c.hash == digest(cookie), t.c.expires_at > now)).mappings().first()
    if row is None:
        return None
    content = _content(store.engine, row)
    return Pending(row["person"], content) if content.step else None


def content_of(store: Store, cookie: str) -> SessionContent | None:
    """The content of a session; None if it is unknown."""
    t = tables.web_session
    with reading(store.engine) as connection:
        row = connection.execute(select(t).where(t.c.hash == digest(cookie))).mappings().first()
    return None if row is None else _content(store.engine, row)


def _content(engine: Engine, row: Mapping[Any, Any]) -> SessionContent:
    clear = vault_of(engine).text("web_session", bytes(row["hash"]), row["content"])
    return msgspec.json.decode(clear, type=SessionContent)


def signed_in(connection: Connection, engine: Engine) -> Iterable[tuple[str, str]]:
    """The sessions that hold: the name of the person, and roles that they have by the session or its account."""
    for row, content in _holding(connection, engine):
        yield row["person"], row["roles"] or content.roles


def _holding(
    connection: Connection, engine: Engine, person: str | None = None
) -> list[tuple[Mapping[Any, Any], SessionContent]]:
    """The sessions that hold, the newest first, with the roles of their account."""
    t, k, a, now = tables.web_session, tables.api_token, tables.account, now_micros()
    holding = select(k.c.id).where(k.c.revoked_at.is_(None), k.c.expires_at > now)
    query = (
        select(t, a.c.roles, a.c.disabled_at)
        .outerjoin(a, a.c.id == t.c.account_id)
        .where(t.c.expires_at > now, t.c.token.is_(None) | t.c.token.in_(holding), a.c.disabled_at.is_(None))
        .order_by(t.c.created_at.desc(), t.c.hash)
    )
    if person is not None:
        query = query.where(t.c.person == person)
    rows = [(row, _content(engine, row)) for row in connection.execute(query).mappings()]
    return [(row, content) for row, content in rows if not content.step]


def list_sessions(store: Store, person: str | None = None, cookie: str | None = None) -> list[Session]:
    """The sessions that hold, the newest first.

    Args:
      store: the EIS.
      person: only of this one.
      cookie: of the session that asks.
    """
    own = None if cookie is None else digest(cookie)
    with reading(store.engine) as connection:
        found = _holding(connection, store.engine, person)
    return [
        filled(Session, row, id=_handle(row["hash"]), via=content.via, own=bytes(row["hash"]) == own)
        for row, content in found
    ]


def _handle(found: bytes) -> str:
    return bytes(found)[:HANDLE_BYTES].hex()


def end(store: Store, cookie: str) -> None:
    """Sign out."""
    with store.transaction() as tx:
        tx.connection.execute(delete(tables.web_session).where(tables.web_session.c.hash == digest(cookie)))


def end_one(store: Store, session: str, person: str | None = None) -> str | None:
    """End a session by its name.

    Args:
      store: the EIS.
      session: its name (`Session.id`).
      person: only if it is theirs.

    Returns:
      Whose it was; None where there is none of that name.
    """
    t = tables.web_session
    try:
        first = bytes.fromhex(session)
    except ValueError:
        return None
    if len(first) != HANDLE_BYTES:
        return None
    condition = (t.c.hash >= first + bytes(32 - HANDLE_BYTES)) & (t.c.hash <= first + b"\xff" * (32 - HANDLE_BYTES))
    if person is not None:
        condition &= t.c.person == person
    with store.transaction() as tx:
        return tx.connection.execute(delete(t).where(condition).returning(t.c.person)).scalar()


def end_all(store: Store, person: str, but: str | None = None) -> int:
    """Sign a person out wherever they are; how many sessions that were.

    Args:
      store: the EIS.
      person: who.
      but: cookie of a session that goes on.
    """
    t = tables.web_session
    condition = t.c.person == person
    if but is not None:
        condition &= t.c.hash != digest(but)
    with store.transaction() as tx:
        return tx.connection.execute(delete(t).where(condition)).rowcount


def end_provided(store: Store, subject: str, provider_session: str) -> list[str]:
    """End the sessions that the provider says are over.

    Args:
      store: the EIS.
      subject: the person's name at the provider; empty for any.
      provider_session: the session there; empty for all of the person.

    Returns:
      The people whose sessions ended.
    """
    t, ended = tables.web_session, []
    with reading(store.engine) as connection:
        found = _holding(connection, store.engine)
    for row, content in found:
        if not content.subject and not content.provider_session:
            continue
        if subject and content.subject != subject:
            continue
        if provider_session and content.provider_session != provider_session:
            continue
        with store.transaction() as tx:
            if tx.connection.execute(delete(t).where(t.c.hash == row["hash"])).rowcount:
                ended.append(str(row["person"]))
    return ended
