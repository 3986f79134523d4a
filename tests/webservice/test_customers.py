"""The data protection officer: finds, hands over and erases a customer, reads the evidence, and sees nothing else."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.erasure.erasing import again, means_of, place
from energycomm.web_settings import WebSettings
from energycomm.webservice.roles import Role, Scope
from energycomm.webservice.routes.customers import ordered
from tests.console.scene import Visitor
from tests.erasure.left import OTHER, PRM, WORDS, filled
from tests.erasure.searching import in_values
from tests.pipeline.desk import Desk
from tests.webservice.conftest import Site, configured

AT = "2026-02-20"
"""A day of the first customer's."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Site]:
    """The web services on a store with a customer whose supply ended."""
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    desk = filled(url)
    desk.database.dispose()
    Desk.open.remove(desk)
    made = Site(url, configured(url))
    yield made
    made.close()


def officer(house: Site) -> TestClient:
    return house.caller(Role.OFFICER, person="dora")


def until_done(caller: TestClient, number: int) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = caller.get(f"/api/v1/erasures/{number}").json()
        if found["done_at"]:
            return found
        time.sleep(0.1)
    raise AssertionError("it was not done in time")


def lines(house: Site) -> list[tuple[str, str]]:
    with reading(house.store.engine) as connection:
        return [tuple(row) for row in connection.exec_driver_sql("SELECT what, subject FROM audit ORDER BY id")]


def test_an_officer_finds_hands_over_erases_and_proves_it(house: Site) -> None:
    caller = officer(house)
    found = caller.post("/api/v1/customers/find", json={"words": "aldegonde quinquengrogne"}).json()
    assert [(one["access_point"], one["names"]) for one in found] == [(PRM, ["Quinquengrogne", "Aldegonde"])]
    at = found[0]["at"]
    place = f"/api/v1/customers/FR/{PRM}"
    handed = caller.get(f"{place}/export?at={at}")
    assert handed.headers["content-disposition"] == f'attachment; filename="customer-FR-{PRM}.zip"'
    with zipfile.ZipFile(io.BytesIO(handed.content)) as file:
        assert "Impasse du Canari" in file.read("customer.json").decode()
    order = {"reason": "objected", "reference": "case 1", "at": at}
    tried = caller.post(f"{place}/erasure", json={**order, "dry_run": True})
    assert (tried.status_code, tried.json()["erasure"]) == (202, None)
    assert tried.json()["goes"]["note"] == 2
    assert {word for _, word in in_values(house.store.engine, WORDS)} == set(WORDS), "a dry run changes nothing"
    assert caller.get("/api/v1/erasures").json() == []
    begun = caller.post(f"{place}/erasure", json=order).json()
    proof = until_done(caller, begun["erasure"])
    assert {word for _, word in in_values(house.store.engine, WORDS)} == {"aldegonde"}  # of the neighbour
    (run,) = proof["runs"]
    assert (run["by"], run["via"].startswith("token"), proof["reference"]) == ("dora", True, "case 1")
    assert run["counts"] == tried.json()["goes"], "the dry run told what went"
    assert [one["erasure"] for one in caller.get("/api/v1/erasures").json()] == [begun["erasure"]]
    assert caller.post("/api/v1/customers/find", json={"words": "quinquengrogne"}).json() == []
    # No line of the audit has what was typed, or a name.
    told = json.dumps(lines(house)).lower()
    assert [word for word in (*WORDS, "aldegonde") if word in told] == []
    assert ("POST /api/v1/customers/find", f"access points {PRM}") in lines(house)
    assert any(subject.startswith(f"erasure {begun['erasure']} access point {PRM} done") for _, subject in lines(house))


def test_what_cannot_be_erased_is_refused_with_the_reason(house: Site) -> None:
    caller = officer(house)
    order = {"reason": "objected", "reference": "x"}
    other = caller.post(f"/api/v1/customers/FR/{OTHER}/erasure", json=order)
    assert (other.status_code, "the supply goes on" in other.json()["detail"]) == (409, True)
    both = caller.post(f"/api/v1/customers/FR/{PRM}/erasure", json=order)
    assert (both.status_code, "had 2 customers" in both.json()["detail"]) == (422, True)
    named = caller.post(f"/api/v1/customers/FR/{PRM}/erasure", json={**order, "reference": "Quinquengrogne", "at": AT})
    assert (named.status_code, "the reference names" in named.json()["detail"]) == (409, True)
    odd = caller.post(f"/api/v1/customers/FR/{PRM}/erasure", json={**order, "reason": "he asked", "at": AT})
    assert odd.status_code == 422
    assert "no-longer-needed" in odd.text
    assert caller.post("/api/v1/customers/FR/99999999999999/erasure", json=order).status_code == 404
    assert caller.get("/api/v1/erasures/7").json()["code"] == "API_NOT_FOUND"
    assert caller.get("/api/v1/erasures").json() == []


def test_nobody_else_may_and_the_officer_may_nothing_else(house: Site) -> None:
    """Roles and tokens of before have no `erase`; content of messages, envelopes, channels and health are not the
    officer's."""
    everybody_else = house.caller(*(frozenset(Role) - {Role.OFFICER}), person="root")
    assert everybody_else.get("/api/v1/erasures").status_code == 403
    narrow = house.caller(Role.OFFICER, scopes=frozenset(Scope) - {Scope.ERASE})
    assert narrow.get("/api/v1/erasures").status_code == 403
    caller = officer(house)
    for path in ("messages", "envelopes", "channels", "health", "statistics", "access-points/1", "audit", "rules"):
        assert caller.get(f"/api/v1/{path}").status_code == 403, path
    assert caller.get("/api/v1/me").json()["roles"] == ["officer"]


def test_an_officer_needs_a_second_factor_as_it_comes() -> None:
    assert WebSettings().second_factor_roles == ("administrator", "officer")


# --- pages ---


def test_the_pages_lead_from_a_name_to_the_evidence(house: Site) -> None:
    dora = Visitor(house, Role.OFFICER, person="dora")
    first = dora.get("/")
    assert str(first.url).endswith("/customers")
    assert [link for link in ("/messages", "/envelopes", "/channels", "/state") if f'href="{link}"' in first.text] == []
    assert "At least three" in dora.send("/customers", words="al").text
    found = dora.send("/customers", words="quinquengrogne")
    assert "quinquengrogne" not in str(found.url)
    link = found.text.split('href="/customers/FR/')[1].split('"')[0]
    page = dora.get(f"/customers/FR/{link}")
    assert "Impasse du Canari" in page.text
    at = link.partition("?at=")[2]
    plan = dora.send(f"/customers/FR/{PRM}/plan", at=at)
    for _ in range(600):
        if "To confirm, type the access point" in plan.text:
            break
        time.sleep(0.1)
        plan = dora.get(plan.url.path)
    assert "Code de commerce, article L123-22" in plan.text
    assert {word for _, word in in_values(house.store.engine, WORDS)} == set(WORDS)
    form = {"reason": "unlawful", "reference": "case 2", "access_point": PRM}
    assert "Choose a reason" in dora.send(f"{plan.url.path}/do", **{**form, "reason": "x"}).text
    assert "This is not the access point" in dora.send(f"{plan.url.path}/do", **{**form, "access_point": OTHER}).text
    assert dora.get("/erasures").text.count("/erasures/1") == 0
    done = dora.send(f"{plan.url.path}/do", **form)
    assert done.url.path == "/erasures/1"
    caller = officer(house)
    until_done(caller, 1)
    assert "GDPR, article 17(1)(d)" in dora.get("/erasures/1").text
    evidence = dora.get("/erasures/1/evidence")
    assert evidence.headers["content-disposition"] == 'attachment; filename="erasure-1.json"'
    assert (evidence.json()["reason"], evidence.json()["reference"]) == ("unlawful", "case 2")
    assert {word for _, word in in_values(house.store.engine, WORDS)} == {"aldegonde"}
    told = json.dumps(lines(house)).lower()
    assert [word for word in WORDS if word in told] == []


def test_an_erasure_that_a_process_left_is_gone_on_with_by_the_daemon(house: Site) -> None:
    """The order is stored before anything is done: whoever comes next does it."""
    store: Store = house.store
    means = means_of(house.config, store, ("dora", "session", ""))
    order = ordered(house.app.state.services, means, "FR", PRM, date.fromisoformat(AT), reason="objected")
    place(means, order)
    assert officer(house).get("/api/v1/erasures/1").json()["done_at"] is None
    again(means_of(house.config, store))
    (run,) = officer(house).get("/api/v1/erasures/1").json()["runs"]
    assert run["by"] == "energycomm"
    assert {word for _, word in in_values(store.engine, WORDS)} == {"aldegonde"}


@pytest.mark.parametrize(("language", "words"), [("fr", "Effacement"), ("nl", "Wissing")])
def test_the_pages_are_in_the_language_of_the_reader(house: Site, language: str, words: str) -> None:
    dora = Visitor(house, Role.OFFICER, person="dora")
    dora.client.headers["accept-language"] = language
    assert words in dora.get("/erasures").text
    assert "Name, e-mail, telephone" not in dora.get("/customers").text
