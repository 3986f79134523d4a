"""The web chat, by its requests and in a real browser."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine import chromium

QUESTION = "Why is a reading rejected when its index is below the one before?"


@pytest.fixture
def app(tmp_path: Path, assistant: Any) -> Any:
    from assistant.chat.log import Log
    from assistant.web.pages import make_app

    return make_app(assistant, Log(tmp_path / "log.db"), assistant.config)


@pytest.fixture
def client(app: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from fastapi.testclient import TestClient

        return TestClient(app)


def ask(client: Any, question: str, **filters: str) -> str:
    """What the page gets for a question: the stream's events."""
    pending = client.post("/ask", data={"question": question, **filters})
    ticket = re.search(r"answers/([\w-]+)", pending.text)
    assert ticket, pending.text
    return str(client.get(f"/answers/{ticket.group(1)}").text)


def test_an_answer_comes_with_its_sources_and_opens_the_document_at_the_sentence(client: Any) -> None:
    """The link of a citation highlights the very sentence in the whole document."""
    client.get("/")
    answer = ask(client, QUESTION)
    assert "An index is not below the one before it." in answer
    link = re.search(r'hx-get="(document/[^"]+)"', answer)
    assert link
    page = client.get("/" + link.group(1)).text
    assert "<mark>An index is not below the one before it.</mark>" in page
    assert "E18 | kWh | R15" in page


def test_filters_of_the_page_reach_the_search(client: Any) -> None:
    """With French sources only, an English rule is not found."""
    client.get("/")
    assert "An index is not below" not in ask(client, QUESTION, language="fr")


def test_an_opinion_is_kept(client: Any) -> None:
    """Thumbs and a comment; an answer that does not exist is told."""
    client.get("/")
    answer = ask(client, QUESTION)
    number = re.search(r"feedback/(\d+)", answer)
    assert number
    assert "Noted" in client.post(f"/feedback/{number.group(1)}", data={"good": "true", "comment": "right"}).text
    assert "That did not work" in client.post("/feedback/999", data={"good": "true"}).text


def test_a_conversation_is_there_again_after_reloading(client: Any) -> None:
    """Its questions, and the interface in the language that was chosen."""
    client.get("/?language=fr")
    ask(client, QUESTION)
    page = client.get("/").text
    assert QUESTION in page
    assert "Historique" in page
    assert QUESTION not in client.get("/?new=1").text.split('id="history"')[0]


def test_what_people_and_documents_write_is_never_markup(client: Any) -> None:
    """Neither a question nor a passage can run a script, and the page allows none from elsewhere."""
    client.get("/")
    pending = client.post("/ask", data={"question": "<script>alert(1)</script>"})
    assert "<script>" not in pending.text
    assert "default-src 'none'" in pending.headers["Content-Security-Policy"]
    assert "That did not work" in client.get("/document/zzzzzzzz").text
    assert "That did not work" in client.post("/ask", data={"question": "  "}).text


def visitor(app: Any) -> Any:
    """Another browser."""
    from fastapi.testclient import TestClient

    return TestClient(app)


def test_a_conversation_belongs_to_the_browser_that_had_it(app: Any, client: Any) -> None:
    """Another one sees neither question nor answer, not with the conversation's name either, and goes on with none."""
    client.get("/")
    answer = ask(client, QUESTION)
    name = client.cookies["conversation"]
    other = visitor(app)
    for path in ("/", f"/?open={name}"):
        assert QUESTION not in other.get(path).text
        assert other.cookies["conversation"] != name
    other.cookies.set("conversation", name)
    assert QUESTION not in other.get("/").text
    assert "An index is not below" not in ask(other, "And why?")
    number = re.search(r"feedback/(\d+)", answer)
    assert number
    refused = other.post(f"/feedback/{number.group(1)}", data={"good": "false", "comment": "mine"})
    never = other.post("/feedback/999999", data={"good": "false"})
    assert refused.text.replace(number.group(1), "N") == never.text.replace("999999", "N")
    page = client.get(f"/?open={name}").text
    assert QUESTION in page.split('id="history"')[0]
    assert "And why?" not in page
    assert client.get("/?new=1").text.count(QUESTION) == 1


def test_a_conversation_that_is_not_ones_own_is_as_one_that_is_not_there(app: Any, client: Any) -> None:
    client.get("/")
    ask(client, QUESTION)
    other = visitor(app)
    pages = [other.get(f"/?open={name}").text for name in (client.cookies["conversation"], "x" * 16)]
    assert pages[0] == pages[1]


def test_an_answer_is_fetched_by_who_asked(app: Any, client: Any) -> None:
    """Somebody else's ticket gives nothing and takes nothing away."""
    client.get("/")
    pending = client.post("/ask", data={"question": QUESTION})
    ticket = re.search(r"answers/([\w-]+)", pending.text)
    assert ticket
    other = visitor(app)
    other.get("/")
    assert "index" not in other.get(f"/answers/{ticket.group(1)}").text
    assert "An index is not below" in client.get(f"/answers/{ticket.group(1)}").text


def test_a_browser_without_a_cookie_gets_one_of_its_own(app: Any) -> None:
    """Not a short one that others could have too."""
    first = visitor(app)
    first.cookies.set("visitor", "1")
    ask(first, QUESTION)
    second = visitor(app)
    second.cookies.set("visitor", "1")
    assert QUESTION not in second.get("/").text


def test_questions_of_an_older_log_are_nobodys(tmp_path: Path, assistant: Any) -> None:
    """Whose they were was not kept; they are still there for who looks after the assistant."""
    import sqlite3

    from assistant.chat.log import Log

    path = tmp_path / "old.db"
    Log(path).close()
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE exchange DROP COLUMN author")
    database.close()
    log = Log(path)
    log.write(assistant.ask(QUESTION), "c")
    database = sqlite3.connect(path)
    assert database.execute("SELECT author FROM exchange").fetchall() == [("",)]
    database.close()
    assert log.conversation("c", "person anna") == log.latest(author="person anna") == []
    assert len(log.latest(author=None)) == 1


@pytest.fixture
def address(app: Any) -> Iterator[str]:
    """The application served on a free port."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started and time.monotonic() < until:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(10)


def test_a_reader_asks_and_reads_in_a_browser(address: str) -> None:
    """Question, streamed answer, source, document at the highlighted sentence, thumb, comment, reload, French."""
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.goto(address)
        page.fill("#question", QUESTION)
        page.click("#asking button")
        page.wait_for_selector(".answer", timeout=20_000)
        assert "An index is not below the one before it." in page.inner_text(".answer")
        assert page.input_value("#question") == ""
        assert page.locator(".draft").count() == 0
        page.click("#source-list .source h3 a")
        mark = page.wait_for_selector("#document mark", timeout=10_000)
        assert mark is not None
        assert mark.inner_text() == "An index is not below the one before it."
        assert mark.is_visible()
        page.click("button.copy")
        page.wait_for_selector("button.copy:has-text('Copied')")
        page.click("button.good")
        page.fill(".rating input[name=comment]", "right")
        page.click(".rating form button")
        page.wait_for_selector(".rating form", state="detached")
        page.fill("#question", "How do I bake sourdough bread?")
        page.press("#question", "Enter")
        page.wait_for_selector(".answer.abstained", timeout=20_000)
        page.reload()
        assert page.locator(".turn").count() == 2
        page.click("#language a[hreflang=fr]")
        page.wait_for_selector("text=Nouvelle conversation")
        assert troubles == []
        browser.close()
