"""Links lead to the web, to a host, and nowhere else; what is none is text."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm import cli
from energycomm.correction.tickets import change_ticket
from energycomm.errors import ExitCode, UserError
from energycomm.links import LONGEST, fault_of_link, is_link
from energycomm.webservice.roles import Role
from tests.webservice.conftest import Site, copied, ready

GOOD = [
    "https://tracker.example/TICKET-1",
    "http://localhost:8080/browse/E-1?x=1&y=a%20b#top",
    "HTTPS://Tracker.Example/",
    "https://[::1]:8080/x",
    "https://10.1.2.3/x",
    "https://b\u00fccher.example/x",
    "https://tracker.example.",
]
BAD = [
    "javascript:alert(1)",
    "JaVaScRiPt://tracker.example/%0aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "ftp://tracker.example/x",
    "//tracker.example/x",
    "/tickets/1",
    "tracker.example/x",
    "https:tracker.example",
    "https:/tracker.example",
    "https://",
    "https:///x",
    "https://:80/x",
    "https://?x",
    "https://#x",
    "https://user@tracker.example/x",
    "https://user:word@tracker.example/x",
    "https://tracker.example\\@evil.example/",
    "https://tracker.example:port/x",
    "https://tracker.example:99999/x",
    "https://[::1/x",
    " https://tracker.example/x",
    "https://tracker.example/x y",
    "https://tracker.example/\nx",
    "java\tscript:alert(1)",
    "https://tracker.example/\x00",
    'https://tracker.example/"onclick=alert(1)',
    "https://tracker.example/<x>",
    "https://tracker.example/\u202egpj.exe",
    "https://-/x",
    "https://../x",
    "https://tracker.example/" + "x" * LONGEST,
    "",
]


@pytest.mark.parametrize("text", GOOD)
def test_a_link_of_the_web_is_taken(text: str) -> None:
    assert fault_of_link(text) is None


@pytest.mark.parametrize("text", BAD)
def test_whatever_else_is_refused(text: str) -> None:
    assert fault_of_link(text)
    assert not is_link(text)


def test_what_is_no_text_is_no_link() -> None:
    assert not is_link(None)
    assert not is_link({"url": "https://tracker.example"})


def ticketed(site: Site, link: str | None = None) -> None:
    """A ticket in the store."""
    sql = (
        'INSERT INTO ticket (id, title, error_class, codes, market, evidence, state, "by", created_at, link) '
        "VALUES (1, 'Index', 'grid_operator', 'FR-R03', 'FR', ?, 'open', 'a', 1, ?)"
    )
    with site.store.transaction() as tx:
        tx.driver.run(sql, ('{"evidence": []}', link))


@pytest.fixture
def tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    url = copied(ready, tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    return Site(url)


def test_the_api_and_the_commands_refuse_a_link_that_is_none(tracked: Site) -> None:
    """With a problem that says what is wrong, short even where the link is long; nothing is stored."""
    ticketed(tracked)
    caller = tracked.caller(Role.CONSULTANT)
    for text in filter(None, BAD):
        answer = caller.patch("/api/v1/corrections/tickets/1", json={"link": text})
        place = "/" if "\x00" in text else "/link"
        assert (answer.status_code, answer.json()["target"]) == (422, place), text
        assert len(answer.content) < 2000
        with pytest.raises(UserError, match="no link") as caught:
            change_ticket(tracked.store, 1, link=text)
        assert len(str(caught.value)) < 300
    assert cli.main(["correct", "tickets", "1", "--link", "javascript:alert(1)"]) == ExitCode.USAGE
    with tracked.store.transaction() as tx:
        assert tx.driver.rows("SELECT link FROM ticket") == [(None,)]
    assert caller.patch("/api/v1/corrections/tickets/1", json={"link": GOOD[0]}).json()["link"] == GOOD[0]
    tracked.close()


def test_a_link_of_before_is_shown_as_text(tracked: Site) -> None:
    """A store of an older version may hold any."""
    ticketed(tracked, "javascript:alert(1)")
    caller = tracked.caller()
    caller.post("/login", data={"token": tracked.token(Role.CONSULTANT), "then": "/"})
    shown = caller.get("/tickets/1").text
    assert "<dd>javascript:alert(1)</dd>" in shown
    assert 'href="javascript' not in shown
    tracked.close()
