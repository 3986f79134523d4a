"""Pages that other packages add: linked, guarded, made when they are asked for; the console stands without them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from energycomm.config import Config
from energycomm.console import additions
from energycomm.console.additions import Addition
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.errors import UserError
from energycomm.webservice import tokens
from energycomm.webservice.roles import Role, Scope
from tests.console.scene import CODE, Visitor
from tests.webservice.conftest import Site, configured

made: list[str] = []


def oracle(_config: Config) -> Addition:
    """An addition that says who was asked about."""

    def make() -> Any:
        made.append("oracle")
        return Starlette(
            routes=[
                Route("/", lambda _: PlainTextResponse("ask me"), methods=["GET", "POST"]),
                Route("/about/{number}", lambda request: PlainTextResponse(f"about {request.path_params['number']}")),
            ]
        )

    return Addition(name="oracle", title="Assistant", make=make, explain="about/{id}")


def broken(_config: Config) -> Addition:
    raise UserError("It cannot work here.")


class Entry:
    """An entry point, as far as the console looks at it."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.loaded = name, loaded

    def load(self) -> Any:
        return self.loaded


@pytest.fixture
def site(arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The console with one addition that works and one that does not."""
    made.clear()
    found = [Entry("oracle", oracle), Entry("broken", broken), Entry("absent", lambda _: None)]
    monkeypatch.setattr(additions, "entry_points", lambda group: found if group == additions.GROUP else [])
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    shutil.copy(arrived, tmp_path / "eis.db")
    built = Site(url, configured(url))
    yield built
    built.app.state.workbench.close()
    built.app.state.services.close()


def test_an_addition_is_linked_from_every_page_and_from_messages(site: Site) -> None:
    """It is made at the first request, once."""
    anna = Visitor(site, Role.CONSULTANT)
    assert 'href="/oracle/"' in anna.get("/").text
    assert 'href="/oracle/about/3"' in anna.get("/messages/3").text
    assert "broken" not in anna.get("/").text
    assert made == []
    assert [anna.get(path).text for path in ("/oracle/", "/oracle/about/3")] == ["ask me", "about 3"]
    assert made == ["oracle"]


def test_an_addition_is_for_readers_of_the_console_only(site: Site) -> None:
    answer = site.caller().get("/oracle/about/3")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?then=/oracle/about/3")
    assert Visitor(site, Role.OPERATOR).get("/oracle/about/3").status_code == 403
    assert made == []


def test_an_addition_is_for_sessions_that_may_read_and_hold(site: Site) -> None:
    """A token without the scope `read` begins a session without it; one that is taken back ends it."""
    narrow = site.caller()
    narrow.post("/login", data={"token": site.token(Role.CONSULTANT, scopes=frozenset(Scope) - {Scope.READ})})
    assert narrow.get("/oracle/about/3").status_code == 403
    wide = site.caller()
    wide.post("/login", data={"token": site.token(Role.CONSULTANT)})
    assert wide.get("/oracle/about/3").status_code == 200
    tokens.revoke(site.store, 2, "test")
    assert wide.get("/oracle/about/3").status_code == 303


def test_no_page_of_another_site_sends_anything_to_an_addition(site: Site) -> None:
    anna = Visitor(site, Role.CONSULTANT)
    token = re.search(r'"X-CSRF-Token":"([^"]+)"', anna.get("/").text)
    assert token
    ours, csrf = {"Origin": "http://gateway.test"}, {"X-CSRF-Token": token.group(1)}
    assert anna.client.post("/oracle/", headers={"Origin": "https://evil.example"} | csrf).status_code == 403
    for wrong in ({}, {"X-CSRF-Token": "wrong"}):
        assert anna.client.post("/oracle/", headers=ours | wrong).status_code == 403
    assert anna.client.post("/oracle/", headers=ours | csrf).status_code == 200


def test_a_part_of_a_page_leads_the_whole_page_to_the_sign_in(site: Site) -> None:
    """Whose session is over does not get the sign-in in the middle of a page."""
    answer = site.caller().post("/oracle/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/login?then=/oracle/")


def test_what_is_explained_is_in_the_audit(site: Site) -> None:
    Visitor(site, Role.CONSULTANT).get("/oracle/about/3")
    with reading(site.store.engine) as connection:
        rows = driver_of(connection).rows("SELECT person, what FROM audit WHERE action = 'read'")
    assert rows == [("anna", "GET /oracle/about/3")]


def test_the_gateway_does_not_need_the_assistant(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no addition there is no link."""
    site.app.state.additions = ()
    anna = Visitor(site, Role.CONSULTANT)
    assert "Assistant" not in anna.get("/").text
    assert anna.get(f"/messages?code={CODE}").status_code == 200
