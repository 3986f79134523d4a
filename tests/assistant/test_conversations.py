"""One's conversations: a list of one's own, their names, their end."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.assistant.chatting import Chatter

QUESTION = "Why is a reading rejected when its index is below the one before?"
SAID = "An index is not below the one before it."
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:starlette.testclient")


def test_ones_conversations_are_listed_opened_renamed_and_deleted(app: Any) -> None:
    anna = Chatter(app)
    first = anna.conversation
    anna.ask(QUESTION)
    second = anna.begin()
    anna.ask("Who answers a switch request?")
    page = anna.client.get("/").text
    assert page.index(f"open={second}") < page.index(f"open={first}")
    assert SAID in anna.client.get(f"/?open={first}").text
    renamed = anna.post(f"/conversations/{second}/rename", title="Switches <b>and</b> jean@example.org")
    assert "Switches &lt;b&gt;and&lt;/b&gt; [email]" in renamed.text
    assert second not in anna.post(f"/conversations/{second}/delete").text
    assert anna.client.get(f"/?open={second}").status_code == 404
    assert anna.client.get(f"/?open={first}").status_code == 200


def test_the_end_of_the_open_conversation_begins_a_new_one(app: Any) -> None:
    anna = Chatter(app)
    anna.ask(QUESTION)
    over = anna.conversation
    assert anna.post(f"/conversations/{over}/delete").headers["HX-Redirect"] == "/?new=1"
    assert anna.post("/ask", question="And why?", conversation=over).status_code == 422
    anna.client.get("/")
    assert anna.conversation != over


def test_nobody_reaches_anothers_conversation(app: Any) -> None:
    """Not to read, rename, delete or take along: it is as one that is not there, and stays as it was."""
    anna, ben = Chatter(app), Chatter(app)
    anna.ask(QUESTION)
    name = anna.conversation
    for path in (f"/conversations/{name}/rename", f"/conversations/{name}/delete"):
        refused, never = (ben.post(one, title="mine") for one in (path, path.replace(name, "x" * 16)))
        assert refused.status_code == never.status_code == 404
        assert refused.text == never.text
    assert ben.client.get(f"/?open={name}").status_code == 404
    ben.post("/conversations/delete")
    assert ben.client.get("/conversations.json").json() == []
    told = anna.client.get("/conversations.json").json()
    assert [one["question"] for one in told[0]["questions"]] == [QUESTION]
    assert SAID in told[0]["questions"][0]["answer"]


def test_deleting_all_leaves_nothing_of_ones_own_in_the_file(app: Any, tmp_path: Path) -> None:
    anna, ben = Chatter(app), Chatter(app)
    for chatter in (anna, ben):
        chatter.ask(QUESTION)
        chatter.post(f"/conversations/{chatter.conversation}/rename", title="a title")
    anna.post("/conversations/delete")
    with sqlite3.connect(tmp_path / "log.db") as database:
        counts = [database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("exchange", "title")]
    database.close()
    assert counts == [1, 1]


def test_the_oldest_conversation_goes_when_there_are_too_many(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.chat.log.MOST_CONVERSATIONS", 2)
    anna = Chatter(app)
    names = []
    for _ in range(3):
        names.append(anna.begin())
        anna.ask(QUESTION)
    assert [anna.client.get(f"/?open={name}").status_code for name in names] == [404, 200, 200]


def test_a_conversation_is_bounded_and_so_is_a_question(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.web.pages.MOST_QUESTIONS", 1)
    anna = Chatter(app)
    anna.ask(QUESTION)
    assert "the most that one may have" in anna.post("/ask", question="And why?").text
    anna.begin()
    long = anna.post("/ask", question="w" * 2001)
    assert long.status_code == 422
    assert "2001 characters; expected are at most 2000" in long.text
    assert anna.client.post("/ask", data={"question": "w" * 200_000}).status_code == 413


def test_a_conversation_goes_on_in_its_own_tab(app: Any) -> None:
    """The form names its conversation: another one that was opened meanwhile does not get the question."""
    anna = Chatter(app)
    first = anna.conversation
    anna.ask(QUESTION)
    anna.begin()
    anna.ask("Who answers a switch request?", conversation=first)
    assert "Who answers a switch request?" in anna.client.get(f"/?open={first}").text


def test_without_a_log_nothing_is_listed_and_the_page_says_so(tmp_path: Path, assistant: Any) -> None:
    from assistant.chat.log import Log
    from assistant.web.pages import make_app

    anna = Chatter(make_app(assistant, Log(tmp_path / "log.db", enabled=False), assistant.config))
    anna.ask(QUESTION)
    page = anna.client.get("/").text
    assert "the log is off" in page
    assert QUESTION in page  # as long as the service runs
    assert anna.attach("a.txt", b"A levy is due.").status_code == 200
    assert list(tmp_path.glob("*.db")) == []
