"""People sign in with OpenID Connect; what the provider says is believed only where it can be."""

from __future__ import annotations

import base64
import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from pydantic import ValidationError
from starlette.testclient import TestClient

from energycomm.transport.allowances import Guesses
from energycomm.web_settings import OidcSettings
from energycomm.webservice import accounts, audit, sessions
from energycomm.webservice.provider import AT_ONCE
from energycomm.webservice.roles import Role
from energycomm.webservice.underway import Seal
from tests.webservice.conftest import Site, configured, copied, ready
from tests.webservice.provider import CLIENT, SECRET, TestProvider


@pytest.fixture
def provider() -> Iterator[TestProvider]:
    made = TestProvider()
    yield made
    made.close()


@pytest.fixture
def house(provider: TestProvider, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "secret").write_text(SECRET + "\n")
    oidc = OidcSettings(
        issuer=provider.issuer,
        client_id=CLIENT,
        secret_file=tmp_path / "secret",
        roles={"energy-correction": "consultant", "energy-it": "operator"},
    )
    url = copied(ready, tmp_path)
    made = Site(url, configured(url, oidc=oidc))
    yield made
    made.close()


def begin(caller: TestClient, then: str = "/messages") -> str:
    answer = caller.get("/login/provider", params={"then": then})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def come_back(caller: TestClient, code: str, state: str) -> Any:
    return caller.get("/login/callback", params={"code": code, "state": state})


def test_a_person_signs_in_and_has_the_roles_of_their_groups(house: Site, provider: TestProvider) -> None:
    caller = house.caller()
    answer = come_back(caller, *provider.sign_in(begin(caller)))
    assert (answer.status_code, answer.headers["location"]) == (303, "/messages")
    person = sessions.person_of(house.store, caller.cookies["energycomm"])
    assert person is not None
    assert (person.name, person.roles, person.via) == ("anna", frozenset({Role.CONSULTANT}), "session by provider")
    assert "energycomm-login" not in caller.cookies
    assert [(one.person, one.action) for one in audit.list_audit(house.store).entries] == [("anna", "sign-in")]
    assert caller.get("/api/v1/messages").status_code == 200


def test_groups_that_the_token_does_not_tell_are_asked_for(house: Site, provider: TestProvider) -> None:
    provider.groups_in_userinfo = True
    caller = house.caller()
    assert come_back(caller, *provider.sign_in(begin(caller))).status_code == 303


def test_nested_claims_and_other_names_are_found(provider: TestProvider, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    oidc = OidcSettings(
        issuer=provider.issuer,
        client_id=CLIENT,
        secret_file=tmp_path / "secret",
        roles={"it": "operator"},
        roles_claim="realm_access.roles",
        name_claim="upn",
    )
    provider.claims = {"realm_access": {"roles": ["it"]}, "email": "otto@example.org"}
    url = copied(ready, tmp_path)
    site = Site(url, configured(url, oidc=oidc))
    try:
        caller = site.caller()
        come_back(caller, *provider.sign_in(begin(caller)))
        person = sessions.person_of(site.store, caller.cookies["energycomm"])
        assert person is not None
        assert (person.name, person.roles) == ("otto@example.org", frozenset({Role.OPERATOR}))
    finally:
        site.close()


def test_who_is_in_no_group_of_ours_is_turned_away(house: Site, provider: TestProvider) -> None:
    provider.claims = {"groups": ["football"]}
    caller = house.caller()
    answer = come_back(caller, *provider.sign_in(begin(caller)))
    assert answer.status_code == 401
    assert "no group" in answer.text
    assert "energycomm" not in caller.cookies


@pytest.mark.parametrize(
    "lie",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another-program"},
        {"aud": ["energycomm", "another-program"], "azp": "another-program"},
        {"exp": 1},
        {"nonce": "of an older sign-in"},
        {"iat": int(time.time()) + 3600},
    ],
    ids=lambda lie: "-".join(lie),
)
def test_what_cannot_be_believed_lets_nobody_in(house: Site, provider: TestProvider, lie: dict[str, Any]) -> None:
    provider.claims = lie
    caller = house.caller()
    answer = come_back(caller, *provider.sign_in(begin(caller)))
    assert answer.status_code == 401
    assert "energycomm" not in caller.cookies
    assert audit.list_audit(house.store).entries == ()


def test_a_token_signed_by_somebody_else_lets_nobody_in(house: Site, provider: TestProvider) -> None:
    caller = house.caller()
    code, state = provider.sign_in(begin(caller))
    provider.get = lambda path, real=provider.get: (  # type: ignore[method-assign, misc]
        (200, {"keys": [RSAKey.generate_key(2048, {"kid": "one"}).as_dict(private=False)]})
        if path == "/keys"
        else real(path)
    )
    assert come_back(caller, code, state).status_code == 401


def test_a_key_that_the_provider_changed_is_fetched_again(house: Site, provider: TestProvider) -> None:
    caller = house.caller()
    assert come_back(caller, *provider.sign_in(begin(caller))).status_code == 303
    provider.key = RSAKey.generate_key(2048, {"kid": "two"}, private=True)
    assert come_back(caller, *provider.sign_in(begin(caller))).status_code == 303


def test_a_way_back_that_was_not_begun_here_or_is_walked_twice_ends_at_the_sign_in(
    house: Site, provider: TestProvider
) -> None:
    """Without the cookie of the beginning a link with a code signs nobody in: login CSRF."""
    caller, other = house.caller(), house.caller()
    code, state = provider.sign_in(begin(caller))
    assert come_back(other, code, state).status_code == 401
    assert come_back(caller, code, "guessed").status_code == 401
    assert come_back(caller, code, state).status_code == 401, "what was remembered is forgotten after one try"


def test_a_code_that_the_provider_refuses_is_told(house: Site, provider: TestProvider) -> None:
    caller = house.caller()
    _, state = provider.sign_in(begin(caller))
    assert come_back(caller, "made-up", state).status_code == 401


def test_a_provider_that_does_not_answer_is_told_without_its_secret(house: Site, provider: TestProvider) -> None:
    provider.get = lambda path: (500, {})  # type: ignore[method-assign]
    answer = house.caller().get("/login/provider")
    assert answer.status_code == 503
    assert "cannot be reached" in answer.text
    assert SECRET not in answer.text


@pytest.mark.thorough
@pytest.mark.parametrize("begun", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_however_many_sign_ins_are_begun_everybody_still_signs_in(
    house: Site, provider: TestProvider, begun: int
) -> None:
    """From the same address and from another; a sign-in that was begun before all others ends like any other."""
    early, late, elsewhere = house.caller(), house.caller(), house.caller(address="198.51.100.7")
    way = provider.sign_in(begin(early))
    for _ in range(begun):
        assert house.caller().get("/login/provider").status_code == 303
    assert come_back(early, *way).status_code == 303
    assert come_back(late, *provider.sign_in(begin(late))).status_code == 303
    assert come_back(elsewhere, *provider.sign_in(begin(elsewhere))).status_code == 303
    with house.store.transaction() as tx:
        assert tx.driver.rows("SELECT count(*) FROM web_session") == [(3,)], "nothing is kept of those that were begun"


def test_refused_sign_ins_are_limited_and_the_rightful_of_the_same_address_are_not(
    house: Site, provider: TestProvider
) -> None:
    house.app.state.services.failures = Guesses(3)
    statuses = []
    for _ in range(5):
        guesser = house.caller()
        begin(guesser)
        statuses.append(come_back(guesser, "made-up", "guessed").status_code)
    assert statuses == [401, 401, 401, 429, 429]
    caller = house.caller()
    assert come_back(caller, *provider.sign_in(begin(caller))).status_code == 303


def test_what_the_browser_keeps_of_a_sign_in_is_sealed_and_holds_ten_minutes() -> None:
    """Another process with the same secret opens it; nobody reads it, changes it, or uses it later."""
    now = [1_000_000.0]
    seal, twin, other = (Seal(secret, lambda: now[0]) for secret in (lambda: "a", lambda: "a", lambda: "b"))
    cookie = seal.close("STATE", "NONCE", "VERIFIER", "/messages")
    opened = twin.open(cookie)
    assert opened is not None
    assert (opened.state, opened.nonce, opened.verifier, opened.then) == ("STATE", "NONCE", "VERIFIER", "/messages")
    assert other.open(cookie) is None
    parts = cookie.split(".")  # key (none), start, content, tag; the header is not the browser's
    plain = b"".join(base64.urlsafe_b64decode(part + "==") for part in parts)
    assert not any(word in plain for word in (b"STATE", b"NONCE", b"VERIFIER"))
    for place in range(len(parts)):
        changed = [part[:-2] + ("AA" if part[-2:] != "AA" else "BB") if part else "AA" for part in parts]
        assert seal.open(".".join([*parts[:place], changed[place], *parts[place + 1 :]])) is None, place
    for odd in ("", ".", "....", "x" * 5000, "\u20ac", cookie + "x"):
        assert seal.open(odd) is None
    now[0] += 599
    assert seal.open(cookie) is not None
    now[0] += 2
    assert seal.open(cookie) is None


@pytest.mark.parametrize("name", ["a\0b", "a\u202eb", "a\nb"])
def test_a_name_that_no_store_holds_lets_nobody_in(house: Site, provider: TestProvider, name: str) -> None:
    provider.claims = {"preferred_username": name}
    caller = house.caller()
    answer = come_back(caller, *provider.sign_in(begin(caller)))
    assert answer.status_code == 401
    assert "energycomm" not in caller.cookies


@pytest.mark.parametrize(
    "odd",
    [b"", b"...", b"." * 4000, b"[" * 4000, b"\xff" * 40, b".AAAA.AAAA.AAAA", b".AAAAAAAAAAAAAAAA..AAAA", b"a.b.c.d"],
)
def test_whatever_a_browser_says_of_a_sign_in_is_answered_without_a_fault(house: Site, odd: bytes) -> None:
    headers = [(b"Cookie", b"energycomm-login=" + odd)]
    for state in ("", "x", odd.decode("latin-1")):
        answer = house.caller().get("/login/callback", params={"state": state, "code": "c"}, headers=headers)
        assert answer.status_code == 401


def test_a_path_that_fits_no_cookie_leads_to_the_front_page() -> None:
    seal = Seal(lambda: "a", time.time)
    opened = seal.open(cookie := seal.close("S" * 32, "N" * 32, "V" * 64, "/messages?" + "x" * 5000))
    assert opened is not None
    assert opened.then == "/"
    assert len(cookie) < 4000


def test_a_provider_that_does_not_answer_is_asked_once_in_a_while(house: Site, provider: TestProvider) -> None:
    """Who begins meanwhile does not wait for it."""
    asked = []

    def get(path: str) -> tuple[int, dict[str, Any]]:
        asked.append(path)
        return 500, {}

    real, provider.get = provider.get, get  # type: ignore[method-assign]
    assert [house.caller().get("/login/provider").status_code for _ in range(20)] == [503] * 20
    assert len(asked) == 1
    provider.get = real  # type: ignore[method-assign]
    made = house.app.state.services.provider
    made._clock = lambda: time.time() + 6
    begin(house.caller())


def test_a_slow_provider_takes_a_few_of_our_threads_and_no_sign_in_is_used_up(
    house: Site, provider: TestProvider
) -> None:
    """Whoever comes then is asked to load the page again, and may."""
    caller = house.caller()
    way = provider.sign_in(begin(caller))
    made = house.app.state.services.provider
    for _ in range(AT_ONCE):
        assert made._asking.acquire(blocking=False)
    answer = come_back(caller, *way)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    for _ in range(AT_ONCE):
        made._asking.release()
    assert come_back(caller, *way).status_code == 303


def test_without_a_provider_there_is_only_the_token(lite_site: Site) -> None:
    assert lite_site.caller().get("/login/provider").status_code == 404


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"issuer": "http://login.example.org"}, "only on this machine"),
        ({"issuer": "https://login.example.org"}, "client_id"),
        ({"issuer": "https://login.example.org", "client_id": "x"}, "the secret"),
        ({"issuer": "https://login.example.org", "client_id": "x", "secret_env": "S"}, "roles"),
        (
            {"issuer": "https://l.example", "client_id": "x", "secret_env": "S", "roles": {"g": "king"}},
            "administrator",
        ),
    ],
)
def test_a_provider_that_is_set_up_by_half_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        OidcSettings(**settings)


# --- signing out at the provider --------------------------------------------------------------------------------------


def signed_in(house: Site, provider: TestProvider, **claims: Any) -> TestClient:
    provider.claims = claims
    caller = house.caller()
    assert come_back(caller, *provider.sign_in(begin(caller))).status_code == 303
    return caller


def leave(house: Site, caller: TestClient) -> Any:
    person = sessions.person_of(house.store, caller.cookies["energycomm"])
    assert person is not None
    return caller.post("/logout", data={"csrf": person.csrf})


def test_a_sign_out_leads_on_to_the_provider(house: Site, provider: TestProvider) -> None:
    """By a page of ours: the policy for browsers keeps our forms from leading elsewhere."""
    provider.described["end_session_endpoint"] = f"{provider.issuer}/logout"
    caller = signed_in(house, provider)
    answer = leave(house, caller)
    assert answer.status_code == 200
    (address,) = set(re.findall(r'(?:url=|href=")(http[^"]+/logout[^"]*)', html.unescape(answer.text)))
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert query["post_logout_redirect_uri"] == "http://gateway.test/login"
    assert query["client_id"] == CLIENT
    token = jwt.decode(query["id_token_hint"], provider.key, algorithms=["RS256"])
    assert token.claims["sub"] == "17"
    assert caller.get("/api/v1/me").status_code == 401
    assert [one.action for one in audit.list_audit(house.store).entries] == ["sign-out", "sign-in"]


def test_a_sign_out_is_one_where_the_provider_has_none_or_is_away(house: Site, provider: TestProvider) -> None:
    assert leave(house, signed_in(house, provider)).headers["location"] == "/login"
    caller = signed_in(house, provider)
    house.app.state.services.provider._described = None
    provider.described["issuer"] = "http://127.0.0.1:1"
    assert leave(house, caller).headers["location"] == "/login"


def logout_token(provider: TestProvider, key: RSAKey | None = None, **changes: Any) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": provider.issuer,
        "aud": CLIENT,
        "iat": now,
        "exp": now + 120,
        "jti": "one",
        "sub": "17",
        "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
    }
    claims = {name: value for name, value in (claims | changes).items() if value is not None}
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key or provider.key)


def test_who_signs_out_at_the_provider_is_signed_out_here(house: Site, provider: TestProvider) -> None:
    """All their sessions by their name, one by its name there; nobody else's."""
    first, second = signed_in(house, provider, sid="a"), signed_in(house, provider, sid="b")
    other = signed_in(house, provider, sid="c", sub="18", preferred_username="otto")
    by_token = house.caller()
    by_token.post("/login", data={"token": house.token(Role.CONSULTANT)})
    told = house.caller()
    assert told.post("/logout/provider", data={"logout_token": logout_token(provider, sid="a")}).status_code == 200
    assert [one.get("/api/v1/me").status_code for one in (first, second, other, by_token)] == [401, 200, 200, 200]
    assert told.post("/logout/provider", data={"logout_token": logout_token(provider)}).status_code == 200
    assert [one.get("/api/v1/me").status_code for one in (first, second, other, by_token)] == [401, 401, 200, 200]


@pytest.mark.parametrize(
    "lie",
    [
        {"events": {}}, {"events": None}, {"nonce": "x"}, {"sub": None}, {"aud": "another"}, {"exp": 1},
        {"iss": "http://elsewhere"}, {"jti": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_logout_token_that_cannot_be_believed_ends_nothing(
    house: Site, provider: TestProvider, lie: dict[str, Any]
) -> None:
    caller = signed_in(house, provider)
    answer = house.caller().post("/logout/provider", data={"logout_token": logout_token(provider, **lie)})
    assert answer.status_code == 400
    assert caller.get("/api/v1/me").status_code == 200


def test_a_logout_token_of_another_key_ends_nothing(house: Site, provider: TestProvider) -> None:
    caller = signed_in(house, provider)
    for token in (logout_token(provider, RSAKey.generate_key(2048, {"kid": "one"}, private=True)), "", "x.y.z"):
        assert house.caller().post("/logout/provider", data={"logout_token": token}).status_code == 400
    assert caller.get("/api/v1/me").status_code == 200


def test_who_is_disabled_here_does_not_come_in_by_the_provider(house: Site, provider: TestProvider) -> None:
    caller = signed_in(house, provider)
    assert accounts.disable(house.store, "anna", "test").sessions == 1
    assert caller.get("/api/v1/me").status_code == 401
    answer = come_back(caller, *provider.sign_in(begin(caller)))
    assert answer.status_code == 401
    assert "ask an administrator" in answer.text
