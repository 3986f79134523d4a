"""The assistant as pages of the console: an explanation needs no index, the chat says what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.web.console import addition
from assistant.web.unlike import Survey
from energycomm.console import additions
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.webservice.roles import Role
from tests.console.scene import CODE, Visitor, morning
from tests.webservice.conftest import Site, configured


class Entry:
    """The entry point that the project's definition names, whether it is installed or not."""

    name = "assistant"

    def load(self) -> Any:
        return addition


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The console with the assistant, in a folder without an index."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assistant.web.console.installed", lambda *_: True)
    monkeypatch.setattr(additions, "entry_points", lambda group: [Entry()])
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    morning(url)
    made = Site(url, configured(url))
    yield made
    made.app.state.workbench.close()
    made.app.state.services.close()


def test_a_message_leads_to_its_explanation(site: Site) -> None:
    anna = Visitor(site, Role.CONSULTANT)
    number = list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages[0].id
    assert f'href="/assistant/explain/{number}"' in anna.get(f"/messages/{number}").text
    answer = anna.get(f"/assistant/explain/{number}")
    assert answer.status_code == 200
    assert CODE in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert anna.get("/assistant/static/chat.css").status_code == 200
    assert anna.get("/assistant/explain/999999").status_code == 404


def test_the_chat_without_an_index_says_what_to_do(site: Site) -> None:
    answer = Visitor(site, Role.CONSULTANT).get("/assistant/")
    assert answer.status_code == 503
    assert "assistant" in answer.text


def test_the_chat_is_linked_once_there_is_an_index_in_the_readers_language(site: Site, tmp_path: Path) -> None:
    """A link to a page that only says what it lacks is a dead end."""
    anna = Visitor(site, Role.CONSULTANT)
    for path in ("/", "/assistant/explain/1"):
        assert 'href="/assistant/"' not in anna.get(path).text
    (tmp_path / ".assistant" / "index" / "generation-1").mkdir(parents=True)
    (tmp_path / ".assistant" / "index" / "current").write_text("generation-1")
    for language, word in (("en", "Assistant"), ("fr", "Assistant"), ("nl", "Assistent")):
        anna.client.headers["accept-language"] = language
        assert f'<a href="/assistant/">{word}</a>' in anna.get("/").text


def test_what_no_rule_says_is_a_page_that_is_worked_out_beside_and_has_drafts_of_rules(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = Visitor(site, Role.CONSULTANT)
    monkeypatch.setattr(Survey, "begin", lambda _: None)
    first = anna.get("/assistant/anomalies")
    assert first.status_code == 200
    assert 'http-equiv="refresh"' in first.text
    assert "default-src 'none'" in first.headers["Content-Security-Policy"]
    monkeypatch.setattr(Survey, "begin", Survey._work)
    page = anna.get("/assistant/anomalies")
    assert "Rules that may be missing" in page.text
    assert "http-equiv" not in page.text
    assert anna.get("/assistant/anomalies/draft/999").status_code == 404
