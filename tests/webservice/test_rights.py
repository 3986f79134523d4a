"""No route answers anybody who may not ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from energycomm.documentation.routes import api_routes
from energycomm.webservice.identity import Require
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import Site, copied, ready

PUBLIC = {
    "/api/v1/openapi.json",
    "/health",
    "/health/live",
    "/health/ready",
    "/login",
    "/login/provider",
    "/login/callback",
    "/logout",
    "/static/console",
}
"""What anybody may ask for: nothing of it shows anything of the store."""


class Door(NamedTuple):
    """One method of one route, and who guards it."""

    method: str
    path: str
    guard: Require | None


def doors(app: FastAPI) -> Iterator[Door]:
    """Every method of every route of an application, whatever routers they were included by."""
    stack: list[tuple[str, Any]] = [("", route) for route in app.routes]
    while stack:
        prefix, route = stack.pop()
        if (inner := getattr(route, "original_router", None)) is not None:
            stack += [(prefix + route.include_context.prefix, below) for below in inner.routes]
            continue
        for method in sorted(getattr(route, "methods", None) or {"GET"}):
            yield Door(method, prefix + route.path, _guard(getattr(route, "dependant", None)))


def _guard(dependant: Any) -> Require | None:
    stack = [dependant] if dependant is not None else []
    while stack:
        one = stack.pop()
        if isinstance(one.call, Require):
            return one.call
        stack += one.dependencies
    return None


def knock(caller: TestClient, door: Door) -> int:
    """The status that a request without content gets."""
    path = re.sub(r"\{[^}]*\}", "1", door.path)
    return int(caller.request(door.method, path).status_code)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(copied(ready, tmp_path_factory.mktemp("rights")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def guarded(house: Site) -> list[Door]:
    """Every door that is not open to all."""
    return [door for door in doors(house.app) if door.path not in PUBLIC]


def test_the_walk_sees_every_route_that_the_documents_tell_of(house: Site, guarded: list[Door]) -> None:
    """A walk that overlooks a router would prove nothing."""
    walked = {(door.method, door.path) for door in guarded}
    assert {(route.method, route.path) for route in api_routes()} <= walked
    described = house.app.openapi()["paths"]
    assert {
        (method.upper(), path) for path, operations in described.items() for method in operations if path not in PUBLIC
    } <= walked
    assert len(walked) > 45


def test_nobody_gets_in_without_signing_in(house: Site, guarded: list[Door]) -> None:
    """Programs are told 401; browsers that ask for a page are sent to the sign-in."""
    caller = house.caller()
    answers = {(door.method, door.path): knock(caller, door) for door in guarded}
    let_in = {place: status for place, status in answers.items() if status not in (401, 303)}
    assert let_in == {}
    assert {status for (_, path), status in answers.items() if path.startswith("/api")} == {401}


def test_every_route_says_who_may_use_it(guarded: list[Door]) -> None:
    assert [(door.method, door.path) for door in guarded if door.guard is None] == []


def test_who_has_another_role_is_refused_everywhere(house: Site, guarded: list[Door]) -> None:
    callers = {role: house.caller(role, person=role) for role in Role}
    let_in = {}
    tried = 0
    for door in guarded:
        assert door.guard is not None
        for role, caller in callers.items():
            if role not in door.guard.roles:
                tried += 1
                status = knock(caller, door)
                if status != 403:
                    let_in[door.method, door.path, str(role)] = status
    assert let_in == {}
    assert tried > 60


def test_a_token_without_the_scope_is_refused_everywhere(house: Site, guarded: list[Door]) -> None:
    """A token has all the roles, and everything but the one scope that the route is for."""
    callers = {
        scope: house.caller(*Role, scopes=frozenset(Scope) - {scope}, person=f"all but {scope}") for scope in Scope
    }
    let_in = {}
    for door in guarded:
        assert door.guard is not None
        status = knock(callers[door.guard.scope], door)
        if status != 403:
            let_in[door.method, door.path] = status
    assert let_in == {}


def test_a_refused_right_is_in_the_audit(house: Site) -> None:
    operator = house.caller(Role.OPERATOR, person="otto")
    assert operator.get("/api/v1/messages/1").status_code == 403
    entries = house.caller(Role.ADMINISTRATOR).get("/api/v1/audit?person=otto&action=refused").json()["entries"]
    assert (entries[0]["what"], entries[0]["subject"], entries[0]["status"]) == (
        "GET /api/v1/messages/1",
        "number=1",
        403,
    )


def test_a_session_of_a_browser_changes_nothing_without_the_token_of_its_forms(house: Site) -> None:
    caller = house.caller()
    caller.post("/login", data={"token": house.token(*Role)})
    assert caller.get("/api/v1/me").json()["via"].startswith("session")
    assert caller.post("/api/v1/notifications/pull").status_code == 403
    assert caller.post("/api/v1/notifications/pull", headers={"X-CSRF-Token": "wrong"}).json()["code"] == "API_FORGED"


def test_the_roles_of_the_documents_are_those_of_the_routes(project_root: Path) -> None:
    """docs/api.md is generated; that no route is missing there is what matters to who reads it."""
    page = (project_root / "docs" / "api.md").read_text("utf-8")
    missing = [route.path for route in api_routes() if f"| `{route.method} {route.path}` |" not in page]
    assert missing == []
