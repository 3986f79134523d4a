"""What the back office hands in and takes out: requests to the market, notifications."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from energycomm.backoffice import notification
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, writing
from energycomm.kernel.instants import now_micros
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import PRM, Site

PLACE: dict[str, Any] = {"kind": "MasterDataRequest", "market": "FR", "access_point": PRM}


@pytest.fixture(scope="module")
def example(project_root: Any) -> dict[str, Any]:
    """A request of docs/requests.md."""
    page = (project_root / "docs" / "requests.md").read_text("utf-8")
    (block,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    found: dict[str, Any] = msgspec.json.decode(block)
    return found


def test_a_request_is_judged_built_and_followed_under_its_number(story_site: Site, example: dict[str, Any]) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    answer = caller.post("/api/v1/requests", json=example)
    done = answer.json()
    assert (answer.status_code, done["label"]) == (202, "accepted")
    followed = caller.get(answer.headers["location"]).json()
    assert (followed["summary"]["reference"], followed["submitted_by"]) == (done["reference"], "anna")
    assert [step["state"] for step in followed["steps"]] == ["built"]
    assert done["request_id"] in [one["id"] for one in caller.get("/api/v1/requests").json()["items"]]
    causes = story_site.caller(Role.CONSULTANT).get(f"/api/v1/messages/{done['message_id']}/causes").json()
    assert causes["requests"] == [done["request_id"]]


def test_a_request_with_a_key_is_handed_in_once(story_site: Site, example: dict[str, Any]) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    headers = {"Idempotency-Key": "move-2026-1"}
    other = example | {"access_point": "871999900000000028"}
    first = caller.post("/api/v1/requests", json=other, headers=headers)
    assert first.status_code == 202
    again = caller.post("/api/v1/requests", json=other, headers=headers)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"


def test_what_the_market_would_refuse_is_refused_first_with_every_reason(story_site: Site) -> None:
    caller = story_site.caller(Role.BACK_OFFICE)
    unknown = caller.post("/api/v1/requests", json={"kind": "EndOfSupply", "market": "FR", "access_point": PRM})
    assert (unknown.status_code, unknown.json()["errors"][0]["code"]) == (422, "OUT_KIND")
    wrong = caller.post("/api/v1/requests", json={"kind": "MoveInRequest", "market": "France", "access_point": 7})
    assert {one["target"] for one in wrong.json()["errors"]} >= {"/market", "/access_point"}
    many = caller.post("/api/v1/requests", json=[PLACE, PLACE])
    assert many.json()["detail"] == "A request is one message."


def test_only_a_dead_request_is_sent_again(story_site: Site, example: dict[str, Any]) -> None:
    third = example | {"access_point": "871999900000000035"}
    number = story_site.caller(Role.BACK_OFFICE).post("/api/v1/requests", json=third).json()["request_id"]
    operator = story_site.caller(Role.OPERATOR)
    assert operator.post(f"/api/v1/requests/{number}/retry").status_code == 409
    with writing(story_site.store.engine) as connection:
        driver_of(connection).run("UPDATE outgoing SET state = 'dead' WHERE id = ?", (number,))
    assert operator.post(f"/api/v1/requests/{number}/retry").json() == {"id": number, "state": "built"}
    assert operator.post("/api/v1/requests/999999/retry").status_code == 404


def test_notifications_are_pulled_in_order_and_not_given_again_once_acknowledged(
    story_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = story_site.caller(Role.BACK_OFFICE, scopes=frozenset({Scope.NOTIFY}), person="billing")
    total = _states(story_site)["pending"]
    first = caller.post("/api/v1/notifications/pull?limit=2").json()
    assert len(first["ids"]) == 2
    assert first["notifications"][0]["message"]["kernel"].startswith("<")
    second = caller.post("/api/v1/notifications/pull?limit=500").json()
    assert not set(first["ids"]) & set(second["ids"]), "what was given is not given to another"
    confirmed = caller.post("/api/v1/notifications/acknowledge", json={"ids": first["ids"]}).json()
    assert confirmed == {"asked": 2, "done": first["ids"]}
    assert caller.post("/api/v1/notifications/acknowledge", json={"ids": first["ids"]}).json()["done"] == []
    given = set(second["ids"])
    later = now_micros() + 10 * notification.LEASE
    monkeypatch.setattr(notification, "now_micros", lambda: later)
    again = caller.post("/api/v1/notifications/pull?limit=500").json()
    assert set(again["ids"]) >= given, "what nobody acknowledged is given again"
    while again["ids"]:
        caller.post("/api/v1/notifications/acknowledge", json={"ids": again["ids"]})
        again = caller.post("/api/v1/notifications/pull?limit=500").json()
    assert _states(story_site) == {"sent": total}


def test_dead_notifications_are_sent_again_by_the_operator(story_site: Site) -> None:
    with writing(story_site.store.engine) as connection:
        driver_of(connection).run("UPDATE outbox SET state = 'dead' WHERE id = 1")
    billing, operator = story_site.caller(Role.BACK_OFFICE), story_site.caller(Role.OPERATOR)
    assert [one["id"] for one in billing.get("/api/v1/notifications?state=dead").json()["items"]] == [1]
    assert operator.post("/api/v1/notifications/retry", json={"ids": [1, 2]}).json() == {"asked": 2, "done": [1]}
    assert billing.post("/api/v1/notifications/retry", json={"ids": [1]}).status_code == 403


def _states(site: Site) -> dict[str, int]:
    with reading(site.store.engine) as connection:
        rows = driver_of(connection).rows("SELECT state, count(*) FROM outbox GROUP BY state")
    return {row[0]: row[1] for row in rows}
