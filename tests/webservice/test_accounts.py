"""People who sign in by name and password: every step, every refusal, and what guessing comes to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import re
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from starlette.testclient import TestClient

from energycomm import cli
from energycomm.eis import tables
from energycomm.eis.database import connect
from energycomm.errors import UserError
from energycomm.web_settings import OidcSettings, WebSettings
from energycomm.webservice import accounts, attempts, audit, passwords, secondfactor, sessions, tokens
from energycomm.webservice.roles import Role, Scope
from tests.webservice.conftest import Site, configured, copied, ready

GOOD = "Kessel tanzt im Nebel"
BETTER = "Nebel tanzt am Kessel"
CHEAP = passwords.Cost(64, 1, 1)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password costs nothing here, and little in one test."""
    monkeypatch.setattr(passwords, "COST", CHEAP)


def made(site: Site, *roles: Role, name: str = "anna", password: str = GOOD) -> str:
    """An account whose password is the person's own; gives it."""
    accounts.add(site.store, name, frozenset(roles or (Role.CONSULTANT,)), "test")
    account = accounts.find(site.store, name)
    assert account is not None
    accounts.change_password(site.store, account, password)
    return password


def tried(caller: TestClient, password: str, name: str = "anna", **headers: str) -> Any:
    return caller.post("/login/password", data={"name": name, "password": password, "then": "/rules"}, headers=headers)


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found
    return found[1]


def key_of(page: str) -> bytes:
    """The key that a page shows, as a person types it."""
    found = re.search(r'<code id="key">([^<]+)</code>', page)
    assert found
    plain = found[1].replace(" ", "")
    return base64.b32decode(plain + "=" * (-len(plain) % 8))


def totp(secret: bytes, at: float) -> str:
    """RFC 6238 with RFC 4226, section 5.3, written again from the text."""
    digest = hmac.new(secret, struct.pack(">Q", int(at) // 30), hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"


def actions(site: Site) -> list[tuple[str, str, str]]:
    found = audit.list_audit(site.store, limit=100).entries
    return [(one.action, one.person, one.what) for one in reversed(found)]


# --- one factor -------------------------------------------------------------------------------------------------------


def test_a_right_password_signs_in_with_the_roles_of_the_account(site: Site) -> None:
    made(site, Role.CONSULTANT)
    caller = site.caller()
    answer = tried(caller, GOOD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/rules")
    me = caller.get("/api/v1/me").json()
    assert (me["name"], me["roles"], me["via"]) == ("anna", ["consultant"], "session by password")
    assert set(me["scopes"]) == set(Scope)
    assert actions(site) == [("sign-in", "anna", "POST /login/password")]


def test_wrong_names_and_wrong_passwords_are_one_answer(lite_site: Site) -> None:
    """And so are people without a password, and people who may not sign in any more. Nothing typed is in the audit; the
    name stays in its field.
    """
    made(lite_site)
    made(lite_site, name="bert")
    accounts.disable(lite_site.store, "bert", "test")
    kept = re.compile(r'(?<=name="name")(.*?)( value="[^"]*")| autofocus|\s+')
    pages = {
        kept.sub(r"\1", tried(lite_site.caller(), password, name).text)
        for name, password in (("anna", "not it"), ("nobody", GOOD), ("bert", GOOD), ("", ""), ("x" * 5000, "y" * 5000))
    }
    assert len(pages) == 1
    assert "Thenameorthepasswordiswrong." in pages.pop()
    assert {(action, person) for action, person, _ in actions(lite_site)} == {
        ("refused", "anna"),
        ("refused", "bert"),
        ("refused", "unknown"),
    }


def test_an_unknown_name_costs_as_much_as_a_known_one(lite_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time: of one, half of the other would show a difference that can be measured from outside."""
    monkeypatch.setattr(passwords, "COST", passwords.Cost(16_384, 3, 1))
    made(lite_site)
    took = {}
    for name in ("anna", "nobody"):
        accounts.right_password(lite_site.store, name, "warm up")
        begin = time.process_time()
        for _ in range(3):
            assert accounts.right_password(lite_site.store, name, "not it") is None
        took[name] = time.process_time() - begin
    assert 0.6 < took["nobody"] / took["anna"] < 1.67


def test_a_form_of_another_site_signs_nobody_in(lite_site: Site) -> None:
    made(lite_site)
    assert tried(lite_site.caller(), GOOD, Origin="https://evil.test").status_code == 403
    answer = lite_site.caller().post("/login/password", data={"name": "anna", "password": GOOD, "then": "//evil.test"})
    assert answer.headers["location"] == "/"


def test_a_session_has_a_new_name_after_each_sign_in(lite_site: Site) -> None:
    """Whoever planted or read the cookie of before has nothing."""
    made(lite_site)
    caller = lite_site.caller()
    tried(caller, GOOD)
    before = caller.cookies["energycomm"]
    tried(caller, GOOD)
    assert caller.cookies["energycomm"] != before
    assert sessions.person_of(lite_site.store, before) is None


def test_passwords_are_off_where_a_provider_is_unless_they_are_switched_on(tmp_path: Path) -> None:
    url = copied(ready, tmp_path)
    oidc = OidcSettings(
        issuer="http://127.0.0.1:9", client_id="x", secret_env="X", roles={"g": "consultant"}, timeout=0.1
    )
    for web, status in ((WebSettings(), 404), (WebSettings(password_sign_in=True), 303)):
        house = Site(url, configured(url, oidc=oidc, web=web))
        if status == 404:
            made(house)
        assert ('action="/login/password"' in house.caller().get("/login").text) == (status == 303)
        assert tried(house.caller(), GOOD).status_code == status
        house.close()


# --- the initial password ---------------------------------------------------------------------------------------------


def test_an_initial_password_opens_nothing_but_the_choice_of_another(site: Site) -> None:
    initial = accounts.add(site.store, "anna", frozenset({Role.CONSULTANT}), "test")
    caller = site.caller()
    answer = tried(caller, initial)
    assert answer.headers["location"] == "/login/new-password"
    assert caller.get("/api/v1/me").status_code == 401
    assert caller.get("/messages").headers["location"].startswith("/login")
    page = caller.get("/login/new-password").text
    chosen = {"csrf": csrf_of(page), "new": GOOD, "repeated": GOOD}
    assert caller.post("/login/new-password", data={**chosen, "csrf": "guessed"}).status_code == 403
    for new, repeated, words in (
        ("short", "short", "too short"),
        (GOOD, BETTER, "differ"),
        (initial, initial, "the one that you have"),
        ("passwordpassword2024", "passwordpassword2024", "programs that guess"),
    ):
        refused = caller.post("/login/new-password", data={**chosen, "new": new, "repeated": repeated})
        assert refused.status_code == 422
        assert words in html.unescape(refused.text)
    done = caller.post("/login/new-password", data=chosen)
    assert done.headers["location"] == "/rules"
    assert caller.get("/api/v1/me").json()["name"] == "anna"
    assert tried(site.caller(), initial).status_code == 401
    assert tried(site.caller(), GOOD).status_code == 303


def test_an_initial_password_ends_after_three_days(lite_site: Site) -> None:
    initial = accounts.add(lite_site.store, "anna", frozenset({Role.CONSULTANT}), "test")
    with lite_site.store.transaction() as tx:
        tx.connection.execute(update(tables.account).values(initial_until=1))
    answer = tried(lite_site.caller(), initial)
    assert answer.status_code == 401
    assert "no longer valid" in answer.text
    assert accounts.list_accounts(lite_site.store)[0].state == "expired"


# --- guessing ---------------------------------------------------------------------------------------------------------


class Clock:
    """Microseconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(attempts, "now_micros", found)
    return found


def test_after_some_wrong_ones_the_next_waits_ever_longer(site: Site, clock: Clock) -> None:
    """One second, two, four, ..., at most a quarter of an hour; the right one waits too, as else guessing is free."""
    made(site)
    caller = site.caller(address="192.0.2.9")
    for _ in range(4):
        assert tried(caller, "not it").status_code == 401
    waits = []
    for _ in range(13):
        answer = tried(caller, GOOD)
        assert answer.status_code == 429
        waits.append(int(answer.headers["retry-after"]))
        clock.pass_by(waits[-1])
        assert tried(caller, "not it").status_code == 401
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    clock.pass_by(900)
    assert tried(caller, GOOD).status_code == 303
    assert tried(caller, "not it").status_code == 401, "a right one starts the count again"


def test_guesses_from_everywhere_do_not_lock_a_person_out_of_their_browser(site: Site, clock: Clock) -> None:
    """Nor anybody out for longer than a quarter of an hour; `user unlock` lets them in at once."""
    made(site)
    mine = site.caller(address="192.0.2.1")
    assert tried(mine, GOOD).status_code == 303
    for number in range(20):
        assert tried(site.caller(address=f"198.51.100.{number}"), "not it").status_code == 401
    assert tried(site.caller(address="203.0.113.1"), GOOD).status_code == 429
    assert tried(mine, GOOD).status_code == 303, "the browser of before"
    stolen = site.caller(address="203.0.113.2")
    stolen.cookies.set("energycomm-device", "x." + "0" * 64)
    assert tried(stolen, GOOD).status_code == 429, "a made-up mark is none"
    accounts.unlock(site.store, "anna")
    assert tried(site.caller(address="203.0.113.1"), GOOD).status_code == 303


def test_one_address_guesses_few_names_and_shuts_nobody_out_for_long(lite_site: Site, clock: Clock) -> None:
    made(lite_site)
    caller = lite_site.caller(address="2001:db8::1")
    statuses = [tried(caller, "not it", f"name{number}").status_code for number in range(31)]
    assert statuses == [401] * 30 + [429]
    neighbour = lite_site.caller(address="2001:db8::2")
    wait = int(tried(neighbour, GOOD).headers["retry-after"])
    assert 1 <= wait <= 60
    clock.pass_by(wait)
    assert tried(neighbour, GOOD).status_code == 303


def test_unknown_names_are_counted_as_known_ones_are(lite_site: Site, clock: Clock) -> None:
    made(lite_site)
    seen = {
        name: [tried(lite_site.caller(address="192.0.2.77"), "no", name).status_code for _ in range(6)]
        for name in ("anna", "nobody")
    }
    assert seen["anna"] == seen["nobody"] == [401] * 4 + [429] * 2


def test_guesses_at_once_are_all_counted(site: Site) -> None:
    """Before they are looked at: of any number at the same moment only the free ones are."""
    made(site)
    counted, waits = attempts.of_password("anna", "192.0.2.5", None), []

    def guess() -> None:
        waits.append(attempts.begin(site.store, counted))

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(waits)[:4] == [0] * 4
    assert min(sorted(waits)[4:]) >= 1


# --- the second factor ------------------------------------------------------------------------------------------------


def test_the_codes_are_those_of_the_standard() -> None:
    """RFC 6238, appendix B, for SHA-1: the last six of its eight digits."""
    secret = b"12345678901234567890"
    vectors = {59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037"}
    for seconds, code in vectors.items():
        assert secondfactor.code_at(secret, seconds // 30) == code
        assert secondfactor.step_of(secret, f"{code[:3]} {code[3:]}", seconds, 0) == seconds // 30
        assert secondfactor.step_of(secret, code, seconds, seconds // 30) is None, "used"
        assert secondfactor.step_of(secret, code, seconds + 90, 0) is None, "over"
    assert secondfactor.step_of(secret, "\ud800é１", 59, 0) is None


def enrolled(site: Site, *roles: Role) -> tuple[bytes, list[str]]:
    """A person with a second factor: its key and the recovery codes. The code that confirmed it is of long ago."""
    made(site, *roles)
    account = accounts.find(site.store, "anna")
    assert account is not None
    secret = accounts.factor_underway(site.store, account)
    codes = accounts.confirm_factor(site.store, account, totp(secret, time.time()))
    assert codes is not None
    with site.store.transaction() as tx:
        tx.connection.execute(update(tables.second_factor).values(last_step=0))
    return secret, codes


def test_a_code_is_asked_for_and_is_good_once(site: Site) -> None:
    secret, _ = enrolled(site, Role.CONSULTANT)
    code = totp(secret, time.time())
    caller = site.caller()
    assert tried(caller, GOOD).headers["location"] == "/login/code"
    assert caller.get("/api/v1/me").status_code == 401
    csrf = csrf_of(caller.get("/login/code").text)
    assert caller.post("/login/code", data={"code": "000000", "csrf": csrf}).status_code == 401
    assert caller.post("/login/code", data={"code": code, "csrf": csrf}).headers["location"] == "/rules"
    assert caller.get("/api/v1/me").json()["name"] == "anna"
    other = site.caller()
    tried(other, GOOD)
    csrf = csrf_of(other.get("/login/code").text)
    assert other.post("/login/code", data={"code": code, "csrf": csrf}).status_code == 401, "used before"


def test_of_two_with_the_same_code_at_once_one_gets_in(site: Site) -> None:
    secret, codes = enrolled(site)
    account = accounts.find(site.store, "anna")
    assert account is not None
    for code in (totp(secret, time.time()), codes[0]):
        taken: list[bool] = []

        def take(code: str = code, taken: list[bool] = taken) -> None:
            taken.append(accounts.take_code(site.store, account, code))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sorted(taken) == [False] * 3 + [True]


def test_wrong_codes_wait_too(lite_site: Site, clock: Clock) -> None:
    secret, _ = enrolled(lite_site)
    caller = lite_site.caller()
    tried(caller, GOOD)
    csrf = csrf_of(caller.get("/login/code").text)
    statuses = [caller.post("/login/code", data={"code": "000000", "csrf": csrf}).status_code for _ in range(5)]
    assert statuses == [401] * 4 + [429]
    assert caller.post("/login/code", data={"code": totp(secret, time.time()), "csrf": csrf}).status_code == 429


def test_a_recovery_code_stands_in_once(lite_site: Site) -> None:
    _, codes = enrolled(lite_site)
    assert len(set(codes)) == 10
    account = accounts.find(lite_site.store, "anna")
    assert account is not None
    assert accounts.take_code(lite_site.store, account, codes[3].upper().replace("-", " "))
    assert not accounts.take_code(lite_site.store, account, codes[3])
    assert accounts.codes_left(lite_site.store, account) == 9


def test_a_role_demands_a_second_factor_before_anything_is_open(site: Site) -> None:
    """Of administrators as it comes; the page shows the key as text and as a picture, and then the recovery codes."""
    made(site, Role.ADMINISTRATOR)
    caller = site.caller()
    assert tried(caller, GOOD).headers["location"] == "/login/second-factor"
    assert caller.get("/api/v1/tokens").status_code == 401
    page = caller.get("/login/second-factor").text
    assert "<svg" in page
    secret = key_of(page)
    assert html.unescape(page).count(base64.b32encode(secret).decode()) >= 1, "the address of the key"
    answer = caller.post("/login/second-factor", data={"code": totp(secret, time.time()), "csrf": csrf_of(page)})
    assert answer.status_code == 200
    assert len(re.findall(r"<li><code>([a-z2-7-]{19})</code></li>", answer.text)) == 10
    assert caller.get("/api/v1/tokens").status_code == 200
    assert tried(site.caller(), GOOD).headers["location"] == "/login/code"


def test_the_picture_is_the_address_of_the_key() -> None:
    """Read back by its own modules: the drawing has as many as the version that holds the address needs."""
    secret = b"12345678901234567890"
    assert secondfactor.address(secret, "anna müller").startswith(
        "otpauth://totp/EnergyComm%3Aanna%20m%C3%BCller?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=EnergyComm"
    )
    drawn = secondfactor.drawn(secret, "anna")
    assert drawn.startswith("<svg")
    assert "style=" not in drawn, "the policy for browsers allows none"
    assert drawn != secondfactor.drawn(secret, "bert")


def test_no_secret_of_a_person_is_readable_in_an_encrypted_store(tmp_path: Path) -> None:
    from energycomm.eis.datakeys import unlock
    from energycomm.transport.keys import StorageKey

    url = copied(ready, tmp_path)
    house = Site(url)
    unlock(house.store.engine, {"k": StorageKey("k", b"k" * 32)}, "k")
    secret, codes = enrolled(house)
    account = accounts.find(house.store, "anna")
    assert account is not None
    assert accounts.take_code(house.store, account, totp(secret, time.time()))
    house.close()
    with connect(url).connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    held = (tmp_path / "eis.db").read_bytes()
    for plain in (secret, GOOD.encode(), *(code.replace("-", "").encode() for code in codes)):
        assert plain not in held


# --- one's own account ------------------------------------------------------------------------------------------------


@pytest.fixture
def anna(lite_site: Site) -> TestClient:
    """A browser of a person who signed in with a password."""
    made(lite_site)
    caller = lite_site.caller()
    assert tried(caller, GOOD).status_code == 303
    return caller


def test_a_password_is_changed_by_who_knows_it_and_ends_other_sessions(lite_site: Site, anna: TestClient) -> None:
    other = lite_site.caller()
    tried(other, GOOD)
    before = anna.cookies["energycomm"]
    form = {"csrf": csrf_of(anna.get("/account").text), "present": "not it", "new": BETTER, "repeated": BETTER}
    assert anna.post("/account/password", data=form).status_code == 422
    assert anna.post("/account/password", data={**form, "present": GOOD, "csrf": ""}).status_code == 403
    answer = anna.post("/account/password", data={**form, "present": GOOD})
    assert answer.headers["location"] == "/account?done=password"
    assert anna.get("/api/v1/me").status_code == 200
    assert anna.cookies["energycomm"] != before
    assert other.get("/api/v1/me").status_code == 401
    assert sessions.person_of(lite_site.store, before) is None
    assert tried(lite_site.caller(address="192.0.2.50"), BETTER).status_code == 303


def test_a_second_factor_is_set_up_and_removed_with_the_password(lite_site: Site, anna: TestClient) -> None:
    page = anna.get("/account/second-factor").text
    secret = key_of(page)
    form = {"csrf": csrf_of(page), "present": GOOD, "code": totp(secret, time.time())}
    assert anna.post("/account/second-factor", data={**form, "present": "no"}).status_code == 422
    answer = anna.post("/account/second-factor", data=form)
    assert answer.text.count("<li><code>") == 10
    assert accounts.list_accounts(lite_site.store)[0].second_factor
    page = anna.get("/account").text
    assert "10 recovery codes left" in page
    removed = anna.post("/account/second-factor/remove", data={"csrf": csrf_of(page), "present": GOOD})
    assert removed.headers["location"] == "/account?done=removed"
    assert not accounts.list_accounts(lite_site.store)[0].second_factor


def test_who_came_with_a_token_changes_no_password(lite_site: Site) -> None:
    """Not even one in the name of the account."""
    made(lite_site)
    caller = lite_site.caller()
    caller.post("/login", data={"token": lite_site.token(Role.CONSULTANT)})
    form = {"csrf": csrf_of(caller.get("/account").text), "present": GOOD, "new": BETTER, "repeated": BETTER}
    assert caller.post("/account/password", data=form).status_code == 409


# --- what administrators do -------------------------------------------------------------------------------------------


def test_who_is_disabled_is_out_at_once_everywhere(site: Site) -> None:
    made(site)
    caller, program = site.caller(), site.caller(Role.CONSULTANT)
    tried(caller, GOOD)
    assert accounts.disable(site.store, "anna", "test") == accounts.SignedOut(sessions=1, tokens=(1,))
    assert caller.get("/api/v1/me").status_code == 401
    assert program.get("/api/v1/me").status_code == 401
    assert tried(site.caller(), GOOD).status_code == 401
    accounts.enable(site.store, "anna")
    assert tried(site.caller(), GOOD).status_code == 303
    with pytest.raises(UserError, match="no account"):
        accounts.disable(site.store, "nobody ever", "test")


def test_other_roles_end_the_sessions_and_hold_from_then_on(lite_site: Site, anna: TestClient) -> None:
    accounts.set_roles(lite_site.store, "anna", frozenset({Role.OPERATOR}))
    assert anna.get("/api/v1/me").status_code == 401
    tried(anna, GOOD)
    assert anna.get("/api/v1/me").json()["roles"] == ["operator"]


def test_names_are_one_whatever_their_capitals(site: Site) -> None:
    made(site)
    for name in ("anna", "Anna"):
        with pytest.raises(UserError, match="There is an account of anna"):
            accounts.add(site.store, name, frozenset({Role.OPERATOR}), "test")
    for name in ("", " anna", "a\nb", "x" * 121):
        with pytest.raises(UserError, match="cannot be stored"):
            accounts.add(site.store, name, frozenset({Role.OPERATOR}), "test")


# --- passwords --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("password", "found"),
    [
        ("short", "short"),
        ("x" * 201, "long"),
        ("Password!!!!!!!!!!2024", "common"),
        ("qwertyuiop123456", "common"),
        ("abcdefghijklmnop", "simple"),
        ("aaaaaaaaaaaaaaaaaaa", "simple"),
        ("energycommenergycomm anna", "named"),
        ("Anna Anna Anna Anna", "simple"),
        (GOOD, ""),
        ("четыре слова из снега", ""),
    ],
)
def test_a_password_is_refused_for_what_makes_it_easy_to_guess(password: str, found: str) -> None:
    assert (passwords.trouble(password, "anna", 15) != "") == (found != "")
    if found in ("short", "long", "common"):
        assert passwords.trouble(password, "anna", 15) == found


def test_a_password_is_the_same_however_it_is_typed() -> None:
    """NFKC: one keyboard writes é in one character, another in two."""
    kept = passwords.hashed("caf\u00e9 noir le matin")
    assert passwords.fits("cafe\u0301 noir le matin", kept)
    assert not passwords.fits("cafe noir le matin", kept)


def test_a_password_that_is_kept_at_less_cost_is_kept_anew_at_the_next_sign_in(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(site)

    def kept() -> str:
        with site.store.engine.connect() as connection:
            return str(connection.execute(text("SELECT password FROM account")).scalar())

    assert kept().startswith("$argon2id$v=19$m=64,t=1,p=1$")
    monkeypatch.setattr(passwords, "COST", passwords.Cost(128, 2, 1))
    assert tried(site.caller(), GOOD).status_code == 303
    assert kept().startswith("$argon2id$v=19$m=128,t=2,p=1$")
    assert tried(site.caller(), GOOD).status_code == 303


def test_a_token_made_in_a_session_by_password_is_within_its_rights(lite_site: Site, anna: TestClient) -> None:
    order = {"person": "anna", "roles": ["administrator"], "label": "x"}
    answer = anna.post("/api/v1/tokens", json=order, headers={"X-CSRF-Token": csrf_of(anna.get("/account").text)})
    assert answer.status_code == 403
    assert tokens.list_tokens(lite_site.store) == []


@pytest.mark.thorough
def test_commands_make_accounts_and_hand_the_password_over_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The initial password is printed, and is in neither the audit nor the store."""
    url = copied(ready, tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        assert cli.main(["user", *words]) == 0
        return capsys.readouterr().out

    first = run("add", "anna", "--role", "operator").strip()
    house = Site(url)
    try:
        caller = house.caller()
        assert tried(caller, first).headers["location"] == "/login/new-password"
        second = json.loads(run("password", "anna", "--json"))["password"]
        assert first != second
        assert tried(house.caller(), first).status_code == 401
        csrf = csrf_of(caller.get("/login").text + '<input name="csrf" value="x">')
        assert caller.post("/login/new-password", data={"csrf": csrf}).headers["location"] == "/login", "ended"
        tried(caller, second)
        csrf = csrf_of(caller.get("/login/new-password").text)
        assert caller.post("/login/new-password", data={"csrf": csrf, "new": GOOD, "repeated": GOOD}).status_code == 303
        (session,) = json.loads(run("sessions", "anna", "--json"))
        assert (session["person"], session["address"], session["via"]) == ("anna", "192.0.2.1", "session by password")
        assert run("sign-out", "anna", "--session", session["id"]) == "1 session ended, 0 tokens revoked\n"
        assert caller.get("/api/v1/me").status_code == 401
        assert run("second-factor", "anna") == "no second factor\n"
        run("disable", "anna")
        assert tried(house.caller(), GOOD).status_code == 401
        told = repr(audit.list_audit(house.store, limit=100))
        assert first not in told
        assert second not in told
        with house.store.engine.connect() as connection:
            assert first not in repr(connection.execute(text("SELECT * FROM account")).all())
        assert cli.main(["user", "add", "ANNA", "--role", "operator"]) != 0
        assert "There is an account of anna" in capsys.readouterr().err
        assert cli.main(["user", "unlock", "nobody"]) != 0
    finally:
        house.close()


def test_sessions_are_listed_and_ended_one_by_one(lite_site: Site, anna: TestClient) -> None:
    """By their owner, and by administrators; the name of a session in the list opens nothing."""
    other = lite_site.caller(address="192.0.2.2")
    tried(other, GOOD, **{"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"})
    page = anna.get("/account").text
    assert "Firefox, Linux" in page
    assert "192.0.2.2" in page
    handle = re.findall(r"/account/sessions/([0-9a-f]{16})/end", page)
    assert sessions.person_of(lite_site.store, handle[0]) is None
    bert = lite_site.caller()
    bert.post("/login", data={"token": lite_site.token(Role.CONSULTANT, person="bert")})
    theirs = {"csrf": csrf_of(bert.get("/account").text)}
    assert bert.post(f"/account/sessions/{handle[0]}/end", data=theirs).status_code == 404, "somebody else's"
    assert other.get("/api/v1/me").status_code == 200
    assert anna.post(f"/account/sessions/{handle[0]}/end", data={"csrf": csrf_of(page)}).status_code == 303
    assert other.get("/api/v1/me").status_code == 401
    chief = lite_site.caller(Role.ADMINISTRATOR, person="root")
    listed = chief.get("/api/v1/sessions?person=anna").json()
    assert [(one["person"], one["own"]) for one in listed] == [("anna", False)]
    assert "anna" in chief.get("/people").text
    assert chief.delete(f"/api/v1/sessions/{listed[0]['id']}").json()["person"] == "anna"
    assert chief.delete("/api/v1/sessions/zz").status_code == 404
    assert anna.get("/api/v1/me").status_code == 401
