"""Callers of every kind, and what a door of the web services answers them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastapi import FastAPI
from sqlalchemy import update
from starlette.testclient import TestClient

from energycomm.eis import tables
from energycomm.webservice import sessions, tokens
from energycomm.webservice.identity import SAFE
from energycomm.webservice.roles import Person, Role, Scope
from tests.webservice.conftest import Site
from tests.webservice.rights import Right

NUMBER = "999999999"
"""Of nothing: whoever may ask is told that it is not there, and nothing is changed."""
PLACES = {"subject": "readings", "market": "FR", "identifier": NUMBER, "name": "nobody", "code": "FR-R03"}

IN, SIGN_IN, FORBIDDEN, FORGED = "in", "sign-in", "forbidden", "forged"


class Door(NamedTuple):
    """One method of one route."""

    method: str
    path: str


def doors(app: FastAPI) -> Iterator[Door]:
    """Every method of every route of an application, whatever routers they were included by.

    What an installed addition of the console mounts is the addition's own, and asked in its tests.
    """
    added = {f"/{one.name}" for one in getattr(app.state, "additions", ())}
    stack: list[tuple[str, Any]] = [("", route) for route in app.routes if getattr(route, "path", "") not in added]
    while stack:
        prefix, route = stack.pop()
        if (inner := getattr(route, "original_router", None)) is not None:
            stack += [(prefix + route.include_context.prefix, below) for below in inner.routes]
            continue
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield Door(method, re.sub(r":\w+}", "}", prefix + route.path))  # as the documents write it


def knock(caller: TestClient, door: Door, **settings: Any) -> str:
    """What a request without content comes to."""
    path = re.sub(r"\{([^}:]*)[^}]*\}", lambda found: PLACES.get(found[1], NUMBER), door.path)
    answer = caller.request(door.method, path, **settings)
    if answer.status_code == 401 or (answer.status_code == 303 and answer.headers["location"].startswith("/login")):
        return SIGN_IN
    if answer.status_code == 403:
        return FORGED if "API_FORGED" in answer.text else FORBIDDEN
    if answer.status_code >= 500 or answer.status_code == 429:
        return str(answer.status_code)
    return IN


class Caller(NamedTuple):
    """Somebody who knocks, and what they are by the promises.

    Attributes:
      name: what kind of caller.
      client: how they ask.
      roles, scopes: what they have; none of either: they are to sign in.
      forges: their changes lack the token of the forms, or come from another site.
    """

    name: str
    client: TestClient
    roles: frozenset[Role]
    scopes: frozenset[Scope]
    forges: bool = False

    def expected(self, door: Door, right: Right) -> str:
        """What is promised that a door answers them."""
        if not self.roles:
            return SIGN_IN
        if not self.roles & right.roles or right.scope not in self.scopes:
            return FORBIDDEN
        return FORGED if self.forges and door.method not in SAFE else IN


ALL, EVERY = frozenset(Role), frozenset(Scope)
NOT, NONE = frozenset[Role](), frozenset[Scope]()


def _words(roles: frozenset[Role], scopes: frozenset[Scope]) -> str:
    return f"{'+'.join(sorted(roles))} with {'+'.join(sorted(scopes)) if scopes != EVERY else 'every scope'}"


class Crowd:
    """Makes callers of every kind.

    Args:
      site: the web services.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.store = site, site.store
        self._made = 0

    def of_one_scope(self) -> Iterator[Caller]:
        """Tokens of every role with every scope alone."""
        for role in Role:
            for scope in Scope:
                yield self._bearer(frozenset({role}), frozenset({scope}))

    def bearers(self) -> Iterator[Caller]:
        """Other tokens."""
        for roles, scopes in (*self._kinds(), *((ALL, EVERY - {scope}) for scope in Scope)):
            yield self._bearer(roles, scopes)

    def browsers(self) -> Iterator[Caller]:
        """Sessions that hold."""
        for roles, scopes in self._kinds():
            made = self.signed_in(self.token(roles, scopes)[1])
            yield Caller(f"session of a token: {_words(roles, scopes)}", made, roles, scopes)
        for role in Role:
            yield Caller(f"session by provider: {role}", self.provided(role), frozenset({role}), EVERY)

    def strangers(self) -> Iterator[Caller]:
        """Who holds nothing, held something once, or holds what is another's."""
        yield Caller("nobody", self.client(), NOT, NONE)
        yield Caller("made-up token", self.bearing("ec_" + "x" * 43), NOT, NONE)
        yield Caller("made-up cookie", self.client(cookie="x" * 43), NOT, NONE)
        yield from self._over()
        yield from self._mixed()

    def _bearer(self, roles: frozenset[Role], scopes: frozenset[Scope]) -> Caller:
        return Caller(f"token: {_words(roles, scopes)}", self.bearing(self.token(roles, scopes)[1]), roles, scopes)

    def _kinds(self) -> Iterator[tuple[frozenset[Role], frozenset[Scope]]]:
        yield ALL, EVERY
        yield from ((frozenset({role}), EVERY) for role in Role)
        yield from ((ALL, frozenset({scope})) for scope in Scope)

    def _over(self) -> Iterator[Caller]:
        """Tokens and sessions that held once."""
        for how in ("expired", "revoked", "made with a revoked one"):
            number, secret = self.token(ALL, EVERY)
            of_token, session, first = self.bearing(secret), self.signed_in(secret), number
            if how == "made with a revoked one":
                maker = tokens.person_of(self.store, secret)
                assert maker is not None
                made = tokens.mint(self.store, maker, maker.name, ALL, scopes=EVERY, days=None, label="child")
                of_token, session = self.bearing(made[1]), self.signed_in(made[1])
            if how == "expired":
                self._end(tables.api_token, tables.api_token.c.id == number)
            else:
                assert tokens.revoke(self.store, first, "test")
            yield Caller(f"token {how}", of_token, NOT, NONE)
            yield Caller(f"session of a token {how}", session, NOT, NONE)
        for how in ("expired", "signed out"):
            session = self.signed_in(self.token(ALL, EVERY)[1])
            cookie = session.cookies["energycomm"]
            if how == "expired":
                self._end(tables.web_session, tables.web_session.c.hash == tokens.digest(cookie))
            else:
                sessions.end(self.store, cookie)
            yield Caller(f"session {how}", session, NOT, NONE)

    def _mixed(self) -> Iterator[Caller]:
        """What somebody tries with the things of another, or of another time."""
        own, other = self.signed_in(self.token(ALL, EVERY)[1]), self.signed_in(self.token(ALL, EVERY)[1])
        own.headers["X-CSRF-Token"] = other.headers["X-CSRF-Token"]
        yield Caller("session with the form token of another person", own, ALL, EVERY, forges=True)
        bare = self.signed_in(self.token(ALL, EVERY)[1])
        del bare.headers["X-CSRF-Token"]
        yield Caller("session without the form token", bare, ALL, EVERY, forges=True)
        foreign = self.signed_in(self.token(ALL, EVERY)[1])
        foreign.headers["Origin"] = "http://evil.test"
        yield Caller("session from another site", foreign, ALL, EVERY, forges=True)
        reading = frozenset({Scope.READ})
        narrow = self.signed_in(self.token(ALL, EVERY)[1])
        narrow.headers["Authorization"] = f"Bearer {self.token(ALL, reading)[1]}"
        yield Caller("narrow token in the browser of a wide session", narrow, ALL, reading)
        gone = self.signed_in(self.token(ALL, EVERY)[1])
        gone.headers["Authorization"] = "Bearer ec_gone"
        yield Caller("made-up token in the browser of a wide session", gone, NOT, NONE)

    def client(self, cookie: str = "") -> TestClient:
        """A browser."""
        made = self.site.caller()
        if cookie:
            made.cookies.set("energycomm", cookie, domain="gateway.test", path="/")
        return made

    def bearing(self, secret: str) -> TestClient:
        """A program with a token."""
        made = self.site.caller()
        made.headers["Authorization"] = f"Bearer {secret}"
        return made

    def token(self, roles: frozenset[Role], scopes: frozenset[Scope]) -> tuple[int, str]:
        """A token of a person of its own."""
        self._made += 1
        person = f"person {self._made}"
        return tokens.create(self.store, person, roles, scopes=scopes, days=1, label="test", by="test")

    def signed_in(self, secret: str) -> TestClient:
        """A browser whose person pasted a token into the sign-in."""
        made = self.client()
        assert made.post("/login", data={"token": secret}).status_code == 303
        return self._with_form_token(made)

    def provided(self, role: Role) -> TestClient:
        """A browser whose person came from the identity provider."""
        person = Person(f"colleague {role}", frozenset({role}), "session by provider")
        return self._with_form_token(self.client(sessions.begin(self.store, person, 1).cookie))

    def _with_form_token(self, browser: TestClient) -> TestClient:
        person = sessions.person_of(self.store, browser.cookies["energycomm"])
        assert person is not None
        browser.headers["X-CSRF-Token"] = person.csrf
        return browser

    def _end(self, table: Any, which: Any) -> None:
        with self.store.transaction() as tx:
            assert tx.connection.execute(update(table).where(which).values(expires_at=1)).rowcount == 1
