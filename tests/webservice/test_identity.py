"""Who gets in: with a token, with a session that began with a token, and who does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm.web_settings import WebSettings
from energycomm.webservice import audit, sessions, tokens
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import Site, configured, copied, ready

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_the_gateway_tells_anybody_one_word(lite_site: Site) -> None:
    """Whether it lives and is ready, and nothing of the database, its tables or what alarms."""
    for path, word in (("/health/live", "live"), ("/health/ready", "ready"), ("/health", "ready")):
        answer = lite_site.caller().get(path)
        assert (answer.status_code, answer.text) == (200, f"{word}\n")


def test_more_of_its_health_is_for_operators(lite_site: Site) -> None:
    assert lite_site.caller().get("/api/v1/health").status_code == 401
    assert lite_site.caller(Role.CONSULTANT).get("/api/v1/health").status_code == 403
    assert lite_site.caller(Role.OPERATOR, scopes=frozenset({Scope.READ})).get("/api/v1/health").status_code == 403
    answer = lite_site.caller(Role.OPERATOR)
    told = answer.get("/api/v1/health").json()
    assert (told["alarms"], told["waiting"]) == ([], 0)
    assert "eis" in told["database"]


def test_a_token_is_found_by_its_hash_and_is_kept_nowhere(lite_site: Site) -> None:
    secret = lite_site.token(Role.CONSULTANT)
    person = tokens.person_of(lite_site.store, secret)
    assert person is not None
    assert (person.name, person.roles, person.via) == ("anna", frozenset({Role.CONSULTANT}), "token 1")
    with lite_site.store.transaction() as tx:
        assert secret.encode() not in repr(tx.driver.rows("SELECT * FROM api_token")).encode()


def test_a_token_that_was_taken_back_or_is_over_lets_nobody_in(site: Site) -> None:
    secret = site.token(Role.CONSULTANT)
    assert tokens.revoke(site.store, 1, "bert")
    assert not tokens.revoke(site.store, 1, "bert"), "there is nothing left to take back"
    _, over = tokens.create(
        site.store, "anna", frozenset({Role.OPERATOR}), scopes=frozenset(Scope), days=0, label="", by="test"
    )
    assert tokens.person_of(site.store, secret) is None
    assert tokens.person_of(site.store, over) is None
    assert [(t.id, t.state) for t in tokens.list_tokens(site.store, everything=True)] == [
        (2, "expired"),
        (1, "revoked"),
    ]


def test_who_pastes_a_token_is_signed_in_with_its_roles(lite_site: Site) -> None:
    caller = lite_site.caller()
    answer = caller.post("/login", data={"token": lite_site.token(Role.CONSULTANT), "then": "/messages?state=rejected"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/messages?state=rejected")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    person = sessions.person_of(lite_site.store, caller.cookies["energycomm"])
    assert person is not None
    assert (person.name, person.roles, person.via) == ("anna", frozenset({Role.CONSULTANT}), "session by token 1")
    assert [entry.action for entry in audit.list_audit(lite_site.store).entries] == ["sign-in"]


def test_the_sign_in_leads_only_to_pages_of_ours(lite_site: Site) -> None:
    for then in ("https://evil.test/", "//evil.test", "/\\evil.test", "javascript:x"):
        answer = lite_site.caller().post("/login", data={"token": lite_site.token(Role.OPERATOR), "then": then})
        assert answer.headers["location"] == "/"


def test_a_wrong_token_is_refused_and_after_some_is_told_to_wait(small_site: Site) -> None:
    caller = small_site.caller()
    answers = [caller.post("/login", data={"token": "ec_wrong"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


ODD = [
    b"", b" ", b"ec_", b"ec_" + b"x" * 42, b"ec_" + b"x" * 43, b"ec_" + b"x" * 44, b"ec_" + b"x" * 42 + b"\xe9",
    b"\xff", b"\x80" * 300, b"a" * 20_000, b"a b c", b"..", b"." * 4000, b"[" * 4000, b"e30." * 1000, b"ec_%00",
    b"' OR 1=1 --",
]  # fmt: skip
"""What no credential is; in headers, cookies and forms."""


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_whatever_is_shown_for_a_credential_is_answered_without_a_fault(lite_site: Site, odd: bytes) -> None:
    caller, text = lite_site.caller(), odd.decode("latin-1")
    statuses = {
        caller.get("/api/v1/me", headers=[(b"Authorization", b"Bearer " + odd)]).status_code,
        caller.get("/api/v1/me", headers=[(b"Cookie", b"energycomm=" + odd)]).status_code,
        caller.post("/login", data={"token": text}).status_code,
        caller.post("/login", content=b"token=" + odd, headers=FORM).status_code,
        caller.post("/login", content=b"token=%ED%A0%80%00", headers=FORM).status_code,
    }
    assert statuses == {401}
    assert caller.get("/messages", headers=[(b"Cookie", b"energycomm=" + odd)]).status_code == 303
    assert caller.get("/login/callback", params={"state": text, "code": text}).status_code == 404, "no provider"
    signed_in = lite_site.caller()
    signed_in.post("/login", data={"token": lite_site.token(Role.OPERATOR)})
    assert signed_in.post("/logout", headers=[(b"X-CSRF-Token", odd)]).status_code == 403


def test_signing_out_ends_the_session_and_needs_the_token_of_the_form(site: Site) -> None:
    caller = site.caller()
    caller.post("/login", data={"token": site.token(Role.CONSULTANT)})
    cookie = caller.cookies["energycomm"]
    person = sessions.person_of(site.store, cookie)
    assert person is not None
    assert caller.post("/logout", data={"csrf": "guessed"}).status_code == 403
    assert caller.post("/logout", data={"csrf": person.csrf}, headers={"Origin": "http://evil.test"}).status_code == 403
    assert caller.post("/logout", data={"csrf": person.csrf}).status_code == 303
    assert sessions.person_of(site.store, cookie) is None


def test_a_body_over_the_bound_is_refused_whether_or_not_its_length_is_told(small_site: Site) -> None:
    caller = small_site.caller()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert caller.post("/login", content=b"x" * 2000).status_code == 413
    assert caller.post("/login", content=iter([b"x" * 600, b"x" * 600]), headers=form).status_code == 413


def test_every_answer_tells_the_browser_to_be_careful(lite_site: Site) -> None:
    answer = lite_site.caller().get("/login")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in answer.headers


def test_behind_a_proxy_the_public_address_is_ours_too(tmp_path: Path) -> None:
    """The proxy asks us by another name than the one that the browser sees."""
    url = copied(ready, tmp_path)
    made = Site(url, configured(url, web=WebSettings(public_url="https://energycomm.example.org/")))
    try:
        form = {"token": made.token(Role.OPERATOR)}
        statuses = {
            origin: made.caller().post("/login", data=form, headers={"Origin": origin}).status_code
            for origin in ("https://energycomm.example.org", "http://gateway.test", "https://evil.example.org")
        }
        assert list(statuses.values()) == [303, 303, 403]
    finally:
        made.close()
