"""Nobody of one supplier reaches anything of another: every route, page and file, walked as the other."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from energycomm.installation import load_apart
from energycomm.webservice import hosts, sessions
from energycomm.webservice.examples import examples
from energycomm.webservice.identity import SAFE
from energycomm.webservice.roles import Person, Role
from tests.suppliers.conftest import PERSON, Installation
from tests.webservice.matrix import SIGN_IN, Door, doors, knock
from tests.webservice.rights import PUBLIC, RIGHTS
from tests.webservice.test_examples import Sent

HELD = re.compile(r"(?=(?:\D*\d){4})[\w.:/ -]{8,80}")
"""A value that names something: at least four digits in it."""
KNOWN_TO_ALL = frozenset(
    {"alembic_version", "rules_version", "audit", "daemon", "web_session", "sqlite_stat1", "sqlite_sequence"}
)
"""Tables of the program itself, and of the tests' own callers."""


def values(file: Path) -> set[str]:
    """The texts in a store by which something in it is known."""
    found: set[str] = set()
    with sqlite3.connect(file) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if name not in KNOWN_TO_ALL and not name.startswith("find_"):
                for row in connection.execute(f'SELECT * FROM "{name}"'):
                    found |= {one for one in row if isinstance(one, str) and HELD.fullmatch(one)}
        found |= {name for (name,) in connection.execute("SELECT name FROM customer WHERE name IS NOT NULL")}
    return found


@pytest.fixture(scope="module")
def marks(installation: Installation, project_root: Path) -> set[str]:
    """What is nord's alone: names, references, serial numbers, addresses, files."""
    installation.token("nord", PERSON)
    nord = installation.bearing("nord", installation.token("nord", PERSON))
    session = installation["nord"].signed_in(installation.token("nord", PERSON))
    view = {"what": "messages", "name": "Zephyrin 20260223", "kept": "state=rejected"}
    assert session.post("/views", data=view).status_code in (200, 303)
    tickets = nord.post("/api/v1/corrections/replays", json={"ids": [1]})
    assert tickets.status_code < 500
    folder = installation.folder
    shipped = "".join(path.read_text("utf-8") for path in (project_root / "rules").rglob("*.yaml"))
    own = values(folder / "nord" / "energycomm.db") - values(folder / "sud" / "energycomm.db")
    return {one for one in own if one not in shipped} | {PERSON}


def seen(marks: set[str], *texts: str) -> set[str]:
    """Which of the marks an answer holds."""
    whole = "\n".join(texts)
    return {mark for mark in marks if mark in whole}


class Walk:
    """Knocks at every door with the numbers and names of nord, with and without parameters, forms and bodies.

    Args:
      installation: both.
    """

    def __init__(self, installation: Installation) -> None:
        with sqlite3.connect(installation.folder / "nord" / "energycomm.db") as nord:
            self.point = nord.execute("SELECT identifier FROM access_point ORDER BY 1 LIMIT 1").fetchone()[0]
            self.number = str(nord.execute("SELECT max(id) FROM kernel_message").fetchone()[0])
        self.places = {
            "subject": "readings", "market": "FR", "identifier": self.point, "name": "nobody", "code": "FR-R06",
            "what": "messages",
        }  # fmt: skip
        self.asked = {
            "q": self.point, "access_point": self.point, "identifier": self.point, "id": self.number, "open": "true",
            "by": "code",
        }  # fmt: skip
        self.fields = {
            "ids": self.number, "id": self.number, "chosen": self.number, "why": "test", "owner": "ben", "to": "ben",
            "name": "view", "what": "messages", "kept": "", "state": "open", "action": "replay", "format": "csv",
        }  # fmt: skip
        self.sent = {(one.method, one.path): Sent(one.curl) for one in examples(installation.apps["sud"].openapi())}

    def requests(self, client: TestClient, door: Door) -> Iterator[str]:
        """What the answers to all attempts at a door say, with their headers; what was typed is left out."""
        for number in (self.number, "1") if "{" in door.path else (self.number,):
            path = re.sub(r"\{([^}:]*)[^}]*\}", lambda found: self.places.get(found[1], number), door.path)  # noqa: B023
            tries: list[dict[str, Any]] = [{}, {"params": self.asked}]
            if door.method not in SAFE:
                tries = [{"data": self.fields}]
                example = self.sent.get((door.method, door.path))
                if example is not None and example.body is not None:
                    kind = {"Content-Type": example.headers.get("Content-Type", "application/json")}
                    tries = [{"content": example.body, "headers": kind}]
            for one in tries:
                answer = client.request(door.method, path, **one)
                assert answer.status_code != 500, (door, answer.text[:500])
                yield f"{answer.headers}\n{answer.text}".replace(self.point, "")


def every_door(installation: Installation) -> list[Door]:
    found = sorted(set(doors(installation.apps["sud"])))
    assert {(door.method, door.path) for door in found} >= RIGHTS.keys() | PUBLIC
    return found


@pytest.mark.thorough
def test_every_route_tells_the_other_supplier_nothing(installation: Installation, marks: set[str]) -> None:
    """A session and a token with every right at sud, with the numbers and names of what is nord's."""
    walk, before = Walk(installation), installation.dump("nord")
    session = installation["sud"].signed_in(installation.token("sud"))
    bearer = installation.bearing("sud", installation.token("sud"))
    told: dict[Door, set[str]] = {}
    tried = 0
    for door in every_door(installation):
        if door.path == "/logout" or door.path.startswith(("/account/sign-out", "/account/sessions")):
            continue
        for text in walk.requests(bearer if door.path.startswith("/api") else session, door):
            tried += 1
            if found := seen(marks, text):
                told.setdefault(door, set()).update(found)
    assert told == {}
    assert tried > 250
    assert installation.dump("nord") == before, "nothing of nord's store was touched"


@pytest.mark.thorough
def test_the_walk_would_find_what_is_told(installation: Installation, marks: set[str]) -> None:
    """The same doors tell nord's own people a great deal."""
    walk, told = Walk(installation), Counter[str]()
    caller = installation.bearing("nord", installation.token("nord", PERSON))
    for door in every_door(installation):
        if door.method == "GET" and door.path not in ("/failures/analysis", "/api/v1/corrections/proposals"):
            for text in walk.requests(caller, door):
                told.update(dict.fromkeys(seen(marks, text), 1))
    assert len(marks) > 30
    assert len(told) > 25
    assert told[PERSON] >= 2


@pytest.mark.thorough
def test_what_is_good_at_one_host_is_nothing_at_the_other(installation: Installation) -> None:
    """Tokens and cookies of the one at every door of the other, in both directions."""
    opened = []
    for own, other in (("nord", "sud"), ("sud", "nord")):
        token = installation.token(own)
        session = installation[own].signed_in(token)
        carried = installation[other].client(cookie=session.cookies["energycomm"])
        carried.cookies.clear()
        carried.cookies.set("energycomm", session.cookies["energycomm"], domain=f"{other}.gateway.test", path="/")
        carried.headers["X-CSRF-Token"] = session.headers["X-CSRF-Token"]
        for place in RIGHTS:
            for caller in (installation.bearing(other, token), carried):
                if knock(caller, Door(*place)) != SIGN_IN:
                    opened.append((own, *place))
        assert session.get("/api/v1/me").status_code == 200, "it is good at home"
    assert opened == []


def test_a_form_of_one_supplier_is_refused_by_the_other(installation: Installation) -> None:
    """A page at one host makes the browser send something to the other."""
    session = installation["sud"].signed_in(installation.token("sud"))
    headers = {"Origin": "http://nord.gateway.test"}
    answer = session.post("/views", data={"what": "messages"}, headers=headers)
    assert (answer.status_code, "API_FORGED" in answer.text) == (403, True)


def test_a_key_of_one_supplier_repeats_nothing_of_the_other(installation: Installation) -> None:
    """Idempotency keys are of a store."""
    sent = Walk(installation).sent["POST", "/api/v1/injections"]
    headers = {"Idempotency-Key": "the-same-key-0001", "Content-Type": "application/json"}
    body = str(sent.body).replace("mail-2026-11-03-17", "mail-2026-11-03-18")
    replayed = []
    for name in ("nord", "sud", "nord"):
        caller = installation.bearing(name, installation.token(name))
        answer = caller.post(sent.path, params=sent.query, content=body, headers=headers)
        assert answer.status_code < 400
        replayed.append(answer.headers.get("Idempotency-Replayed"))
    assert replayed == [None, None, "true"]


def test_a_host_that_is_nobodys_tells_of_nobody(installation: Installation) -> None:
    twofold = (
        "sud.gateway.test@nord.gateway.test",
        "nord.gateway.test:80/../sud",
        "nord.gateway.test, sud.gateway.test",
    )
    for host in ("gateway.test", "west.gateway.test", "nord.gateway.test.evil.test", "192.0.2.9", "", *twofold):
        caller = TestClient(installation.hosts, base_url="http://gateway.test")
        for path in ("/", "/login", "/api/v1/messages", "/api/v1/openapi.json"):
            answer = caller.get(path, headers={"Host": host, "X-Forwarded-Host": "nord.gateway.test"})
            assert (answer.status_code, answer.json()["code"]) == (421, "API_HOST")
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert not seen({"nord", "sud"}, answer.text.replace(host or "-", ""))
        for path in ("/health/live", "/health/ready"):
            assert caller.get(path, headers={"Host": host}).status_code == 200
    odd = TestClient(installation.hosts, base_url="http://gateway.test")
    assert odd.get("/login", headers={"Host": "NORD.gateway.test.:8080"}).status_code == 200


def test_the_console_says_where_one_is_and_leads_on_who_works_for_several(filled: Path) -> None:
    """Only who is named in the file of the installation, and no token that somebody made in another's name."""
    whole = filled / "energycomm.toml"
    before = whole.read_text()
    whole.write_text(before + '\n[people]\nanna = ["nord", "sud"]\nben = ["nord"]\n')
    try:
        both = Installation(filled)
        try:
            link = 'href="http://sud.gateway.test/"'
            pages = {}
            for person in ("anna", "ben"):
                someone = Person(person, frozenset({Role.CONSULTANT}), "session by provider")
                cookie = sessions.begin(both.apps["nord"].state.services.store, someone, 1).cookie
                browser = both.client("nord")
                browser.cookies.set("energycomm", cookie, domain="nord.gateway.test", path="/")
                pages[person] = browser.get("/").text
                assert "· nord · EnergyComm</title>" in pages[person]
            assert (link in pages["anna"], link in pages["ben"]) == (True, False)
            assert "sud" not in pages["ben"]
            by_token = both["nord"].signed_in(both.token("nord", "anna")).get("/").text
            assert link not in by_token
        finally:
            both.close()
    finally:
        whole.write_text(before)


def test_a_supplier_whose_store_is_away_keeps_no_other_from_being_served(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "AGAIN_SECONDS", 0.0)
    file = filled / "nord" / "energycomm.db"
    file.rename(filled / "away.db")
    file.write_bytes(b"no database" * 100)
    try:
        with pytest.raises(KeyError):
            Installation(filled)  # nord has no application
        served = hosts.Hosts(load_apart()[1])
        client = TestClient(served, base_url="http://sud.gateway.test")
        assert client.get("/login").status_code == 200
        away = client.get("/login", headers={"Host": "nord.gateway.test"})
        assert (away.status_code, away.json()["code"], away.headers["Retry-After"]) == (503, "API_DATABASE", "5")
        assert client.get("/health/ready", headers={"Host": "nord.gateway.test"}).status_code == 503
        assert client.get("/health/ready", headers={"Host": "192.0.2.1"}).status_code == 200
    finally:
        (filled / "away.db").rename(file)
    assert client.get("/login", headers={"Host": "nord.gateway.test"}).status_code == 200, "it is back"
