"""Nothing waits for the database, or computes for long, on the thread that answers everybody."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from energycomm.web_settings import WebSettings
from energycomm.webservice import bodies, problems, recording, sessions
from energycomm.webservice.roles import Role
from tests.postgres import PostgresServer
from tests.webservice.conftest import PRM, Site, configured, copied, told
from tests.webservice.matrix import doors

FILLED = {"number": "1", "identifier": PRM, "code": "CO-R05", "name": "anna", "job_id": "x", "path": "style.css"}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def patient_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web services on a store with a story, which count nobody's requests."""
    web = WebSettings(requests_per_minute=1_000_000, failures_per_minute=1_000_000)
    if request.param == "sqlite":
        url = copied(told, tmp_path_factory.mktemp("patient"))
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = told(server.url(server.create_database()))
    made = Site(url, configured(url, web=web))
    yield made
    made.close()


@contextmanager
def watched(site: Site) -> Iterator[list[str]]:
    """Where the store was asked on a thread whose event loop runs."""
    found: list[str] = []

    def look(*_: Any) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        found.append("".join(traceback.format_stack(limit=12)))

    event.listen(site.store.engine, "checkout", look)
    try:
        yield found
    finally:
        event.remove(site.store.engine, "checkout", look)


def test_the_watch_finds_what_it_is_for(patient_site: Site) -> None:
    async def ask() -> None:
        with patient_site.store.engine.connect():
            pass

    with watched(patient_site) as found:
        with patient_site.store.engine.connect():
            pass
        assert found == []
        asyncio.run(ask())
    assert len(found) == 1


def filled(path: str) -> str:
    for name, value in FILLED.items():
        path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
    return path


def visit(caller: TestClient, method: str, path: str, csrf: str) -> int:
    headers = {"X-CSRF-Token": csrf} if csrf else {}
    form = "json" if path.startswith("/api") else "data"
    body: dict[str, Any] = {} if method in ("GET", "HEAD") else {form: {"a": "b"}}
    return caller.request(method, filled(path), headers=headers, **body).status_code


@pytest.mark.thorough
def test_no_route_asks_the_store_on_the_thread_of_the_event_loop(patient_site: Site) -> None:
    """Every route and page, by a program, by a browser, and by nobody."""
    roles = tuple(Role)
    program, browser, nobody = patient_site.caller(*roles), patient_site.caller(), patient_site.caller()
    browser.post("/login", data={"token": patient_site.token(*roles)})
    person = sessions.person_of(patient_site.store, browser.cookies["energycomm"])
    assert person is not None
    ways = ((program, ""), (browser, person.csrf), (browser, ""), (nobody, ""))
    statuses: set[int] = set()
    with watched(patient_site) as found:
        every = {(one.path == "/logout", one.path, one.method) for one in doors(patient_site.app)}
        for _, path, method in sorted(every):
            statuses |= {visit(caller, method, path, csrf) for caller, csrf in ways}
        statuses.add(browser.get("/nothing").status_code)
    assert found == [], found[:1]
    assert {200, 303, 401, 403, 404, 422} <= statuses
    assert 429 not in statuses


def test_what_reads_bodies_and_computes_is_no_coroutine(patient_site: Site) -> None:
    """Routes are plain functions, which run in threads; these do nothing but wait for them."""
    waiting = {"/health", "/health/live", "/health/ready", "/logout"}
    stack: list[tuple[str, Any]] = [("", route) for route in patient_site.app.routes]
    coroutines, seen = set(), 0
    while stack:
        prefix, route = stack.pop()
        if (inner := getattr(route, "original_router", None)) is not None:
            stack += [(prefix + route.include_context.prefix, below) for below in inner.routes]
            continue
        seen += 1
        if iscoroutinefunction(getattr(route, "endpoint", None)):
            coroutines.add(prefix + route.path)
    assert coroutines == waiting
    assert seen > 80


def test_json_is_read_in_a_thread_and_within_bounds(patient_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bool] = []

    def reading(content: bytes) -> Any:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        read.append(True)
        return bodies.read_json(content)

    monkeypatch.setattr(recording, "read_json", reading)
    caller = patient_site.caller(Role.CONSULTANT)
    assert caller.post("/api/v1/corrections/replays", json={"messages": [9999], "why": "x"}).status_code == 404
    assert read == [True]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{" + b",".join(b'"%d":0' % n for n in range(201)) + b"}", "200 keys|an object has 201 keys"),
        (b"[" * 17 + b"]" * 17, "too deep"),
        (b"[" * 5000 + b"]" * 5000, "too deep"),
        (b"[" + b"0," * 12_000 + b"0]", "12001 values"),
        (b"[" + b"[]," * 12_000 + b"0]", "lists and objects"),
        (b"[" + b",".join(b"[" + b"0," * 999 + b"0]" for _ in range(13)) + b"]", "too many values"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"nul", "no JSON"),
    ],
)
def test_json_beyond_the_bounds_is_refused_with_what_was_found(content: bytes, words: str) -> None:
    with pytest.raises(problems.Problem, match=words) as told:
        bodies.read_json(content)
    assert told.value.code == "API_UNREADABLE"


@pytest.mark.parametrize(
    "content", [b"[" * 16 + b"]" * 16, b"[" + b"0," * 11_998 + b"0]", b'{"a": [1, {"b": null}]}', b"3"]
)
def test_json_within_the_bounds_is_read(content: bytes) -> None:
    assert bodies.read_json(content) is not None
