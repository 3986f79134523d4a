"""The web chat, by its requests."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.answer import Answer, Highlight, Source
from assistant.web.marking import turn_shown

QUESTION = "Why is a reading rejected when its index is below the one before?"


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
    page = client.get(link_of(answer)).text
    assert "<mark>An index is not below the one before it.</mark>" in page
    assert "Units" not in page  # another section
    whole = client.get(link_of(answer) + "&whole=1").text
    assert '<th scope="col">unit</th>' in whole
    assert "<tr><td>E18</td><td>kWh</td><td>R15</td></tr>" in whole


def link_of(answer: str) -> str:
    """The link of the first citation."""
    link = re.search(r'class="citation"[^>]* hx-get="([^"]+)"', answer)
    assert link, answer
    return html.unescape(link.group(1))


def test_quoted_rows_are_a_table_with_its_header(assistant: Any) -> None:
    passage = next(one for one in assistant.index.passages if "E18" in one.text)
    row = "E18 | kWh | R15"
    start = passage.start + passage.text.index(row)
    source = Source(
        number=1, passage=passage, score=1.0, highlights=(Highlight(start=start, end=start + len(row), text=row),)
    )
    answer = Answer(question="unit?", language="en", text="kWh [1]", sources=(source,))
    (quote,) = turn_shown(answer, 1, None).cited[0].quotes
    assert quote.table is not None
    assert quote.table.head == ("code", "unit", "flow")
    assert [[piece.text for cell in cells for piece in cell] for cells in quote.table.rows] == [["E18", "kWh", "R15"]]


def test_how_well_a_source_fits_is_told_in_words_with_the_figures_behind(client: Any) -> None:
    client.get("/")
    answer = ask(client, QUESTION)
    assert "Fits the question closely</summary>" in answer
    assert "Nearness of meaning (cosine)" in answer


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
    assert "Vos conversations" in page
    assert QUESTION not in turns_of(client.get("/?new=1").text)


def turns_of(page: str) -> str:
    """The questions and answers of a page, without the list of conversations."""
    return page.split('id="turns"')[1].split('class="foot"')[0]


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
    for path, status in (("/", 200), (f"/?open={name}", 404)):
        page = other.get(path)
        assert page.status_code == status
        assert QUESTION not in page.text
        assert other.cookies.get("conversation") != name
    other.cookies.set("conversation", name)
    assert QUESTION not in other.get("/").text
    assert "An index is not below" not in ask(other, "And why?")
    number = re.search(r"feedback/(\d+)", answer)
    assert number
    refused = other.post(f"/feedback/{number.group(1)}", data={"good": "false", "comment": "mine"})
    never = other.post("/feedback/999999", data={"good": "false"})
    assert refused.text.replace(number.group(1), "N") == never.text.replace("999999", "N")
    page = client.get(f"/?open={name}").text
    assert QUESTION in turns_of(page)
    assert "And why?" not in page


def test_a_conversation_that_is_not_ones_own_is_as_one_that_is_not_there(app: Any, client: Any) -> None:
    client.get("/")
    ask(client, QUESTION)
    other = visitor(app)
    pages = [other.get(f"/?open={name}") for name in (client.cookies["conversation"], "x" * 16)]
    assert [page.status_code for page in pages] == [404, 404]
    assert pages[0].text == pages[1].text


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
    database.execute("DROP INDEX exchange_author")
    database.execute("ALTER TABLE exchange DROP COLUMN author")
    database.close()
    log = Log(path)
    log.write(assistant.ask(QUESTION), "c")
    database = sqlite3.connect(path)
    assert database.execute("SELECT author FROM exchange").fetchall() == [("",)]
    database.close()
    assert log.conversation("c", "person anna") == log.latest(author="person anna") == []
    assert len(log.latest(author=None)) == 1
