"""What a caller may take, what happens when everybody comes at once, and how a cut-off try is taken up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.kernel.codec import encode_json
from energycomm.kernel.instants import now_micros
from energycomm.transport.allowances import MOST_CALLERS, Guesses, RateLimit, place_of
from energycomm.webservice import idempotency
from energycomm.webservice.problems import Problem
from energycomm.webservice.roles import Role
from tests.pipeline.story import day, start
from tests.webservice.conftest import Site, ready


def test_who_asks_too_often_is_told_how_long_to_wait_and_others_are_not_held_up(small_site: Site) -> None:
    caller, other = small_site.caller(Role.OPERATOR), small_site.caller(Role.OPERATOR, person="otto")
    answers = [caller.get("/api/v1/me") for _ in range(6)]
    assert [one.status_code for one in answers] == [200] * 5 + [429]
    assert answers[-1].json()["code"] == "API_RATE"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 13
    assert other.get("/api/v1/me").status_code == 200


def test_who_guesses_tokens_is_told_to_wait_and_the_rightful_of_the_same_address_are_not(small_site: Site) -> None:
    """With a token, with a session, and at the sign-in."""
    guesser, rightful = small_site.caller(), small_site.caller(Role.OPERATOR)
    signed_in = small_site.caller()
    token = small_site.token(Role.OPERATOR, person="otto")
    assert signed_in.post("/login", data={"token": token}).status_code == 303
    guesser.headers["Authorization"] = "Bearer ec_guess"
    assert [guesser.get("/api/v1/me").status_code for _ in range(4)] == [401, 401, 401, 429]
    for _ in range(100):
        answer = guesser.get("/api/v1/me")
        assert (answer.status_code, answer.json()["code"]) == (429, "API_RATE")
        assert 1 <= int(answer.headers["retry-after"]) <= 61
    assert rightful.get("/api/v1/me").status_code == 200
    assert signed_in.get("/api/v1/me").status_code == 200
    assert small_site.caller().post("/login", data={"token": "ec_wrong"}).status_code == 429
    assert small_site.caller().post("/login", data={"token": token}).status_code == 303


def test_one_token_that_is_guessed_from_many_addresses_is_guessed_no_faster(small_site: Site) -> None:
    """What begins a token stands for its account; whoever has the whole of it gets in."""
    secret = small_site.token(Role.OPERATOR)
    statuses = []
    for number in range(6):
        caller = small_site.caller(address=f"198.51.100.{number}")
        caller.headers["Authorization"] = f"Bearer {secret[:-1]}?"
        statuses.append(caller.get("/api/v1/me").status_code)
    assert statuses == [401, 401, 401, 429, 429, 429]
    caller.headers["Authorization"] = f"Bearer {secret}"
    assert caller.get("/api/v1/me").status_code == 200


def test_whose_session_is_over_finds_the_way_to_the_sign_in_whatever_others_guess(small_site: Site) -> None:
    stale = small_site.caller()
    stale.cookies.set("energycomm", "x" * 43, domain="gateway.test", path="/")
    assert [stale.get("/api/v1/me").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert [stale.get("/messages").status_code for _ in range(5)] == [303] * 5
    assert stale.get("/login").status_code == 200


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x" * 1000, "x" * 64),
    ],
)
def test_a_network_of_ipv6_is_one_place(address: str, place: str) -> None:
    """A host has 2**64 addresses there."""
    assert place_of(address) == place


def test_a_flood_of_made_up_accounts_does_not_make_an_address_forgotten() -> None:
    """And what is remembered stays bounded."""
    guesses = Guesses(3, lambda: 0.0)
    waits = [guesses.wrong("192.0.2.1", f"account {number}") for number in range(MOST_CALLERS + 10)]
    assert waits[:3] == [0.0] * 3
    assert set(waits[3:]) == {20.0}
    assert len(guesses._accounts._buckets) == MOST_CALLERS
    assert guesses.wrong("192.0.2.2", "other") == 0.0


def test_an_allowance_fills_evenly_and_never_beyond_a_minute() -> None:
    now = [0.0]
    limit = RateLimit(60, lambda: now[0])
    assert all(limit.spend("a").granted for _ in range(60))
    refused = limit.spend("a")
    assert (refused.granted, refused.wait) == (False, 1.0)
    now[0] += 1.0
    assert limit.spend("a").granted
    assert not limit.spend("a").granted
    now[0] += 3600
    assert limit.spend("a").left == 59
    assert limit.spend("b").left == 59


def test_callers_that_were_not_seen_for_long_are_forgotten_and_memory_is_bounded() -> None:
    limit = RateLimit(1)
    limit.spend("first")
    for number in range(MOST_CALLERS + 10):
        limit.spend(str(number))
    assert len(limit._buckets) == MOST_CALLERS
    assert limit.spend("first").granted


def test_many_programs_that_inject_at_once_do_not_harm_one_another(database_url: str) -> None:
    """Different access points, the same access point, and the same messages under one key."""
    site = Site(ready(database_url))
    try:
        caller = site.caller(Role.CONSULTANT)
        assert caller.post("/api/v1/injections", json=[]).status_code == 422, "the rules are read"

        def send(number: int) -> int:
            prm = str(99000000000017 + 1000 * (number % 6))
            content = b"[" + b",".join(encode_json(one) for one in start(prm, day(number)).messages) + b"]"
            headers = {"Idempotency-Key": f"point-{number % 12}"}
            return _own(site, caller).post("/api/v1/injections", content=content, headers=headers).status_code

        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(send, [*range(12), *range(12)]))
        assert set(statuses) <= {201, 409}
        assert statuses.count(201) >= 12
        with reading(site.store.engine) as connection:
            rows = driver_of(connection).rows("SELECT kind, count(*) FROM kernel_message GROUP BY kind")
        assert {row[1] for row in rows} == {12}, "each message once"
    finally:
        site.close()


def _own(site: Site, caller: TestClient) -> TestClient:
    client = TestClient(site.app, base_url="http://gateway.test", raise_server_exceptions=False)
    client.headers["Authorization"] = caller.headers["Authorization"]
    return client


def test_a_try_that_was_cut_off_may_be_taken_up_later_but_not_meanwhile(
    small_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died between the change and its answer: the claim is left behind."""
    key, content = b"k" * 32, b"c" * 32
    assert idempotency._claim(small_site.store, key, content) is None
    with pytest.raises(Problem, match="in progress"):
        idempotency._claim(small_site.store, key, content)
    later = now_micros() + 2 * idempotency.STALE
    monkeypatch.setattr(idempotency, "now_micros", lambda: later)
    assert idempotency._claim(small_site.store, key, content) is None
    with pytest.raises(Problem, match="in progress"):
        idempotency._claim(small_site.store, key, content)
