"""No route answers anybody who may not ask: every route and page, for every kind of caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from energycomm.documentation.routes import api_routes
from energycomm.web_settings import WebSettings
from energycomm.webservice.roles import Role
from tests.webservice.conftest import Site, configured, copied, ready
from tests.webservice.matrix import FORBIDDEN, FORGED, IN, SIGN_IN, Caller, Crowd, Door, doors, knock
from tests.webservice.rights import PUBLIC, RIGHTS

PATIENT = 1_000_000
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web services with patience for a matrix."""
    url = copied(ready, tmp_path_factory.mktemp("rights"))
    made = Site(url, configured(url, web=WebSettings(requests_per_minute=PATIENT, failures_per_minute=PATIENT)))
    yield made
    made.close()


def test_every_door_of_the_application_is_in_the_table_and_no_other(house: Site) -> None:
    """A route that somebody adds is not forgotten here."""
    walked = {(door.method, door.path) for door in doors(house.app)}
    assert walked - PUBLIC - RIGHTS.keys() == set(), "who may use these is not written down"
    assert (PUBLIC | RIGHTS.keys()) - walked == set(), "these are written down, and are not there"


def test_the_walk_sees_every_route_that_the_documents_tell_of(house: Site) -> None:
    """A walk that overlooks a router would prove nothing."""
    walked = {(door.method, door.path) for door in doors(house.app)}
    assert {(route.method, route.path) for route in api_routes()} <= walked
    described = house.app.openapi()["paths"]
    assert {(method.upper(), path) for path, operations in described.items() for method in operations} <= walked


@pytest.mark.parametrize(
    ("group", "answers"),
    [
        pytest.param(Crowd.of_one_scope, {IN, FORBIDDEN}, marks=pytest.mark.thorough),
        pytest.param(Crowd.bearers, {IN, FORBIDDEN}, marks=pytest.mark.thorough),
        pytest.param(Crowd.browsers, {IN, FORBIDDEN}, marks=pytest.mark.thorough),
        pytest.param(Crowd.strangers, {IN, FORBIDDEN, FORGED, SIGN_IN}, marks=pytest.mark.thorough),
    ],
    ids=("one-scope", "bearers", "browsers", "strangers"),
)
def test_the_rights_matrix_has_no_deviation(
    house: Site,
    group: Callable[[Crowd], Iterator[Caller]],
    answers: set[str],
    record_property: Callable[[str, object], None],
) -> None:
    """Every kind of caller at every door, against the table that was written by hand."""
    deviations = {}
    counted: Counter[str] = Counter()
    callers = 0
    for caller in group(Crowd(house)):
        callers += 1
        for place, right in RIGHTS.items():
            door = Door(*place)
            expected, found = caller.expected(door, right), knock(caller.client, door)
            counted[found] += 1
            if found != expected:
                deviations[caller.name, *place] = (expected, found)
    assert deviations == {}
    assert counted.total() == callers * len(RIGHTS)
    assert counted.keys() == answers
    assert min(counted.values()) > 30, "each answer was given often enough to mean something"
    record_property("cases", counted.total())
    record_property("answers", dict(counted))
    print(f"{counted.total()} cases: {callers} callers at {len(RIGHTS)} doors, {dict(counted)}")


def test_what_is_open_to_all_answers_nobody_with_a_fault(house: Site) -> None:
    answers = {place: knock(house.caller(), Door(*place)) for place in PUBLIC}
    assert set(answers.values()) <= {IN, SIGN_IN}


@pytest.mark.thorough
def test_a_method_that_is_not_in_the_table_is_none(house: Site) -> None:
    caller = Crowd(house).bearing(house.token(*Role))
    for path in {path for _, path in RIGHTS}:
        for method in METHODS:
            if (method, path) not in RIGHTS:
                status = caller.request(method, path.replace("{", "").replace("}", "")).status_code
                assert status in (404, 405), (method, path)


@pytest.mark.thorough
def test_who_may_not_use_a_route_is_refused_before_what_they_sent_is_read(house: Site) -> None:
    """What cannot be read would be answered with 400 or 422."""
    odd = {"content": b"{", "headers": {"Content-Type": "application/json"}}
    form = {"content": b"--x\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}
    nobody, other = house.caller(), Crowd(house).bearing(house.token(*Role, scopes=frozenset()))
    for place in RIGHTS:
        for settings in (odd, form):
            assert knock(nobody, Door(*place), **settings) == SIGN_IN, place
            assert knock(other, Door(*place), **settings) == FORBIDDEN, place


def test_every_route_is_recorded_by_the_same_kind_of_route(house: Site) -> None:
    """The check before the body is of `RecordedRoute`: a router that is made without it would not have it."""
    stack = list(house.app.routes)
    plain = set()
    while stack:
        route = stack.pop()
        if (inner := getattr(route, "original_router", None)) is not None:
            stack += inner.routes
        elif type(route) is APIRoute:
            plain |= {(method, route.path) for method in route.methods or ()}
    assert plain <= PUBLIC


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


def test_the_roles_of_the_documents_are_those_of_the_table(project_root: Path) -> None:
    """docs/api.md is generated; that it says what was promised is what matters to who reads it."""
    page = (project_root / "docs" / "api.md").read_text("utf-8")
    for (method, path), right in RIGHTS.items():
        if path.startswith("/api"):
            roles = "any" if right.roles == frozenset(Role) else ", ".join(f"`{role}`" for role in sorted(right.roles))
            assert f"| `{method} {path}` | {roles} | `{right.scope}` |" in page
