"""A session is as good as its token, and a token as good as the one by whose right it was made."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from energycomm import cli
from energycomm.eis import tables
from energycomm.errors import ExitCode
from energycomm.kernel.instants import now_micros
from energycomm.webservice import people, sessions, tokens
from energycomm.webservice.roles import Person, Role, Scope
from tests.webservice.conftest import Site, copied, ready

READING = frozenset({Scope.READ})
GIVING = frozenset({Scope.READ, Scope.ADMINISTER})


def browser(site: Site, secret: str) -> TestClient:
    """A browser of somebody who pasted a token, with the token of its forms."""
    made = site.caller()
    assert made.post("/login", data={"token": secret}).status_code == 303
    person = sessions.person_of(site.store, made.cookies["energycomm"])
    assert person is not None
    made.headers["X-CSRF-Token"] = person.csrf
    return made


def program(site: Site, secret: str) -> TestClient:
    made = site.caller()
    made.headers["Authorization"] = f"Bearer {secret}"
    return made


def ordered(**changes: Any) -> dict[str, Any]:
    return {"person": "anna", "roles": ["administrator"], "label": "test", **changes}


def test_a_session_may_what_its_token_may_and_no_more(site: Site) -> None:
    """A reading token of an administrator makes no tokens, and corrects nothing, by way of the sign-in."""
    caller = browser(site, site.token(*Role, scopes=READING))
    me = caller.get("/api/v1/me").json()
    assert (me["scopes"], me["via"]) == (["read"], "session by token 1")
    assert caller.post("/api/v1/tokens", json=ordered()).status_code == 403
    assert caller.get("/api/v1/tokens").status_code == 403
    assert caller.post("/api/v1/corrections/replays", json={"messages": [1]}).status_code == 403
    assert caller.post("/messages/1/edit", data={}).status_code == 403
    assert caller.get("/messages").status_code == 200
    assert len(tokens.list_tokens(site.store, everything=True)) == 1


def test_pages_offer_only_what_the_session_may_do(story_site: Site) -> None:
    wide = browser(story_site, story_site.token(Role.CONSULTANT))
    narrow = browser(story_site, story_site.token(Role.CONSULTANT, scopes=READING))
    rejected = wide.get("/api/v1/messages?state=rejected").json()["messages"][0]
    page = f"/messages/{rejected['id']}"
    assert f'href="{page}/edit"' in wide.get(page).text
    answer = narrow.get(page)
    assert answer.status_code == 200
    assert f"{page}/edit" not in answer.text
    assert f'action="{page}/' not in answer.text


def test_a_token_that_is_taken_back_ends_its_sessions_at_once(site: Site) -> None:
    caller, other = browser(site, site.token(*Role)), browser(site, site.token(*Role, person="bert"))
    assert caller.get("/messages").status_code == 200
    tokens.revoke(site.store, 1, "test")
    assert caller.get("/api/v1/me").status_code == 401
    assert caller.post("/api/v1/tokens", json=ordered()).status_code == 401
    answer = caller.get("/messages")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?then=/messages")
    assert other.get("/api/v1/me").status_code == 200
    assert [(one.name, one.tokens, one.sessions) for one in people.known_people(site.store)] == [("bert", 1, 1)]


def test_a_session_ends_with_its_token(site: Site) -> None:
    """It lasts ten hours where the token does; this one has one."""
    secret = site.token(*Role)
    hour = now_micros() + sessions.HOUR
    with site.store.transaction() as tx:
        tx.connection.execute(update(tables.api_token).values(expires_at=hour))
    caller = site.caller()
    cookie = caller.post("/login", data={"token": secret}).headers["set-cookie"]
    assert "Max-Age=3599" in cookie or "Max-Age=3600" in cookie
    with site.store.transaction() as tx:
        assert tx.driver.rows("SELECT expires_at, token FROM web_session") == [(hour, 1)]
        tx.connection.execute(update(tables.api_token).values(expires_at=1))
    assert caller.get("/api/v1/me").status_code == 401


def test_a_session_of_the_provider_has_every_scope_and_no_token(site: Site) -> None:
    began = sessions.begin(site.store, Person("otto", frozenset({Role.OPERATOR}), "session by provider"), 10)
    assert began.seconds == 36_000
    assert sessions.person_of(site.store, began.cookie) == Person(
        "otto", frozenset({Role.OPERATOR}), "session by provider", csrf=_csrf(site, began.cookie)
    )
    assert [(one.name, one.roles, one.sessions) for one in people.known_people(site.store)] == [
        ("otto", ("operator",), 1)
    ]


def _csrf(site: Site, cookie: str) -> str:
    person = sessions.person_of(site.store, cookie)
    assert person is not None
    return person.csrf


@pytest.mark.parametrize("ask", [program, browser], ids=["token", "session"])
def test_nobody_makes_a_token_that_is_more_than_they_are(site: Site, ask: Any) -> None:
    """Every excess is told at once; what was refused is not made."""
    caller = ask(site, site.token(Role.ADMINISTRATOR, scopes=GIVING))
    greedy = ordered(roles=["administrator", "consultant"], scopes=["read", "correct"], days=3650)
    answer = caller.post("/api/v1/tokens", json=greedy)
    assert (answer.status_code, answer.json()["code"]) == (403, "API_FORBIDDEN")
    assert [(one["target"], one["value"]) for one in answer.json()["errors"]] == [
        ("/roles", "consultant"),
        ("/scopes", "correct"),
        ("/days", "3650"),
    ]
    assert len(tokens.list_tokens(site.store, everything=True)) == 1


@pytest.mark.parametrize("ask", [program, browser], ids=["token", "session"])
def test_a_made_token_has_at_most_what_its_maker_has_where_nothing_is_said(site: Site, ask: Any) -> None:
    caller = ask(site, site.token(Role.ADMINISTRATOR, Role.OPERATOR, scopes=GIVING))
    answer = caller.post("/api/v1/tokens", json=ordered())
    assert answer.status_code == 201
    made, first = tokens.list_tokens(site.store)
    assert (made.roles, made.scopes) == (("administrator",), ("administer", "read"))
    assert (made.expires_at, made.made_with, made.created_by) == (first.expires_at, first.id, "anna")
    assert answer.json()["expires_at"] == made.expires_at.isoformat().replace("+00:00", "Z")


def test_a_person_of_the_provider_gives_what_they_have_for_ninety_days(site: Site) -> None:
    maker = Person("otto", frozenset({Role.ADMINISTRATOR}), "session by provider")
    _, _, end = tokens.mint(
        site.store, maker, "program", frozenset({Role.ADMINISTRATOR}), scopes=None, days=None, label="x"
    )
    assert abs(end - datetime.now(UTC) - timedelta(days=90)) < timedelta(minutes=5)
    with pytest.raises(tokens.Outranked) as caught:
        tokens.mint(site.store, maker, "program", frozenset(Role), scopes=None, days=91, label="x")
    assert caught.value.excesses == (
        tokens.Excess("roles", "back_office consultant officer operator", "administrator"),
        tokens.Excess("days", "91", "90"),
    )


def test_with_a_token_all_go_that_were_made_by_its_right(site: Site) -> None:
    """The child, the grandchild that a session of it made, and their sessions; others stay."""
    root, other = site.token(*Role), site.token(*Role, person="bert")
    child = program(site, root).post("/api/v1/tokens", json=ordered(person="carl")).json()
    grandchild = browser(site, child["token"]).post("/api/v1/tokens", json=ordered(person="dora")).json()
    session = browser(site, grandchild["token"])
    assert session.get("/api/v1/me").json()["name"] == "dora"
    answer = program(site, other).delete("/api/v1/tokens/1")
    assert answer.json() == {"id": 1, "state": "revoked", "also": [child["id"], grandchild["id"]]}
    for caller in (program(site, child["token"]), program(site, grandchild["token"]), session):
        assert caller.get("/api/v1/me").status_code == 401
    assert [one.person for one in tokens.list_tokens(site.store)] == ["bert"]
    assert program(site, other).delete("/api/v1/tokens/1").status_code == 409


def test_a_token_that_is_made_while_its_maker_is_taken_back_does_not_hold(site: Site) -> None:
    """Whichever comes first: it is not made, or it is taken back too."""
    maker = tokens.person_of(site.store, site.token(*Role))
    assert maker is not None
    made, ends = [], threading.Event()

    def make() -> None:
        parent = maker
        while not ends.is_set():
            try:
                _, secret, _ = tokens.mint(
                    site.store, parent, "anna", frozenset(Role), scopes=None, days=None, label="x"
                )
            except tokens.TakenBack:
                return
            made.append(secret)
            parent = tokens.person_of(site.store, secret) or parent

    threads = [threading.Thread(target=make) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(made) < 12:
        ends.wait(0.01)
    tokens.revoke(site.store, 1, "test")
    for thread in threads:
        thread.join(20)
    ends.set()
    assert tokens.list_tokens(site.store) == []
    assert [tokens.person_of(site.store, secret) for secret in made] == [None] * len(made)


def test_commands_give_any_right_and_tell_what_goes_with_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may run commands on the store is above all tokens."""
    url = copied(ready, tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["token", "create", "anna", "--role", "administrator", "--role", "operator"]) == 0
    root = capsys.readouterr().out.strip()
    site = Site(url)
    try:
        made = program(site, root).post("/api/v1/tokens", json=ordered(person="carl", roles=["operator"])).json()
        assert cli.main(["token", "list", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert [(one["id"], one["created_by"], one["made_with"]) for one in listed if one["id"] == made["id"]] == [
            (made["id"], "anna", 1)
        ]
        assert cli.main(["token", "revoke", "1", str(made["id"])]) == 0
        assert capsys.readouterr().out == "2 tokens revoked\n"
        assert program(site, made["token"]).get("/api/v1/me").status_code == 401
        assert cli.main(["token", "create", "anna", "--role", "administrator"]) == 0
        root = capsys.readouterr().out.strip()
        assert program(site, root).post("/api/v1/tokens", json=ordered()).status_code == 201
        assert cli.main(["user", "sign-out", "anna", "--revoke"]) == 0
        assert "2 tokens revoked" in capsys.readouterr().out
        assert tokens.list_tokens(site.store) == []
    finally:
        site.close()


@pytest.mark.parametrize("name", ["x" * 121, "a\nb", "a\udcff"])
def test_a_name_that_no_store_holds_is_refused_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("ENERGYCOMM_DATABASE", copied(ready, tmp_path))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["token", "create", name, "--role", "operator"]) == ExitCode.USAGE
    assert "cannot be stored" in capsys.readouterr().err


def test_who_signs_in_again_and_again_with_a_right_token_is_told_to_wait(small_site: Site) -> None:
    """Each session is a row in the store."""
    secret = small_site.token(Role.OPERATOR)
    answers = [small_site.caller().post("/login", data={"token": secret}).status_code for _ in range(6)]
    assert answers == [303] * 5 + [429]
