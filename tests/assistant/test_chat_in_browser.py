"""A consultant asks the assistant, in a real browser, in the console: with a screen reader, by keyboard, on a phone.

With `--pictures FOLDER` (`make screenshots`) the run leaves the pictures of docs/assistant.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from assistant.chat.log import Log
from assistant.knowledge.index import update
from assistant.knowledge.loaders.folder import FolderLoader
from assistant.operations.house import House
from assistant.web.console import guarded
from assistant.web.pages import make_app
from energycomm.config import Config
from energycomm.console import additions
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.webservice import sessions
from energycomm.webservice.roles import Role
from tests.assistant.pdfs import pdf
from tests.console.conftest import serving
from tests.console.onlooker import FOCUSED, LAPTOP, STOPS, Onlooker, launched
from tests.console.scene import CODE, morning
from tests.webservice.conftest import Site, configured

KEPT = "Meter readings are kept for five years after the end of the supply."
GUIDE = pdf(
    ["Guide of the grid operator", "", "Version of March. It replaces that of October."],
    [
        "3  Keeping of data", "", "This part holds for all segments of the market.",
        KEPT, "Load curves are kept for two years. They are then", "destroyed by the pro-", "cessor.", "",
        "Questions: 01 42 68 53 00, on working days.",
    ],
)  # fmt: skip
LEVY = "The heat pump levy is 42 euros a year."


@pytest.fixture
def documents(documents: Path) -> Path:
    """The pages of all tests, and a PDF."""
    (documents / "guide.pdf").write_bytes(GUIDE)
    return documents


@pytest.fixture
def indexed(tmp_path: Path, documents: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their index, made in the folder that they are in: their addresses are as short as those of a handbook."""
    monkeypatch.chdir(tmp_path)
    update(tmp_path / "index", [FolderLoader(documents.relative_to(tmp_path))], embedder)
    return tmp_path / "index"


@pytest.fixture
def site(tmp_path: Path, assistant: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The console on a morning's messages, with the assistant."""
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    morning(url)

    def addition(config: Config) -> additions.Addition:
        assistant.house = House(config)
        log = Log(tmp_path / "log.db")
        return guarded(config, make_app(assistant, log, assistant.config, in_console=True))

    class Entry:
        name = "assistant"

        def load(self) -> Any:
            return addition

    monkeypatch.setattr(additions, "entry_points", lambda group: [Entry()])
    made = Site(url, configured(url))
    yield made
    made.app.state.workbench.close()
    made.app.state.services.close()


@pytest.fixture
def page(site: Site) -> Iterator[Any]:
    """A page of a browser in which a consultant has signed in and opened the assistant."""
    with serving(site.app) as address, playwright.sync_playwright() as running:
        browser = launched(running)
        context = browser.new_context(viewport=LAPTOP, base_url=address, locale="en-GB")
        made = context.new_page()
        made.set_default_timeout(60_000)
        made.goto("/assistant/")
        made.fill("input[name=token]", site.token(Role.CONSULTANT, person="anna"))
        made.click("button.main")
        made.wait_for_url("**/assistant/")
        yield made
        browser.close()


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path | None:
    """The folder that pictures of the pages are wanted in."""
    wanted = request.config.getoption("--pictures", default=None)
    return None if wanted is None else Path(wanted)


def ask(page: Any, question: str) -> Any:
    """Ask, as somebody who types; the answer."""
    number = page.locator(".answer").count()
    page.get_by_label("Question").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_function("(number) => document.querySelectorAll('.answer').length > number", arg=number)
    return page.locator(".answer").last


def by_name(page: Any, name: str, *, exact: bool = False) -> Any:
    """A button by the name that a screen reader tells."""
    return page.get_by_role("button", name=name, exact=exact)


def reads_a_page(page: Any, eyes: Onlooker) -> None:
    """A quoted PDF is shown as its page, the sentence marked where it stands, the number of a telephone covered."""
    answer = ask(page, "How long are meter readings kept after the end of the supply?")
    assert KEPT in answer.inner_text()
    assert KEPT in page.locator("#told").inner_text()
    answer.locator("a.citation").first.click()
    mark = page.locator("#document rect.mark").first
    mark.wait_for()
    assert page.evaluate("document.activeElement.closest('#document') !== null")
    box, sheet = mark.bounding_box(), page.locator("#document .page").bounding_box()
    assert sheet["x"] < box["x"] < box["x"] + box["width"] < sheet["x"] + sheet["width"]
    page.wait_for_function(
        "fetch(document.querySelector('#document image').getAttribute('href')).then((one) => one.ok)"
    )
    page.locator("#source-list .score summary").first.click()
    eyes.look("assistant-page")
    page.keyboard.press("Escape")
    assert page.locator("#document").inner_html() == ""
    assert page.evaluate("document.activeElement.className") == "citation"


def attaches_a_document(page: Any) -> None:
    """A document for this conversation alone, after two that are refused."""
    page.get_by_text("Documents of this conversation", exact=True).click()
    page.set_input_files("input[type=file]", {"name": "a.exe", "mimeType": "", "buffer": b"MZ"})
    by_name(page, "Attach", exact=True).click()
    page.get_by_role("alert").filter(has_text="UPLOAD_TYPE").wait_for()
    page.set_input_files("input[type=file]", {"name": "big.txt", "mimeType": "", "buffer": b"w" * (9 << 20)})
    by_name(page, "Attach", exact=True).click()
    page.get_by_text("The document is larger than 8 MB.").wait_for()
    page.set_input_files("input[type=file]", {"name": "levies.md", "mimeType": "", "buffer": LEVY.encode()})
    by_name(page, "Attach", exact=True).click()
    by_name(page, "Remove levies.md").wait_for()
    assert LEVY in ask(page, "How much is the heat pump levy?").inner_text()


def test_a_consultants_hour_with_the_assistant(page: Any, site: Site, pictures: Path | None) -> None:
    eyes = Onlooker(page, pictures)
    button = partial(by_name, page)
    eyes.look()

    # What is worked out: a table with its proof, which leads to the list in the console, and what was understood.
    answer = ask(page, "Which rules of Belgium for readings only warn?")
    assert answer.locator("table th").count() >= 2
    assert answer.locator(".proofs a").first.get_attribute("href").startswith("/rules")
    answer.get_by_text("What was understood").click()
    assert answer.locator(".plan dd").first.is_visible()
    eyes.look("assistant-table")
    number = list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages[0].id
    assert CODE in ask(page, f"Why was message {number} rejected?").inner_text()
    eyes.look()

    reads_a_page(page, eyes)
    attaches_a_document(page)
    eyes.look("assistant-phone", phone=True, dark=True)

    # The conversation has a name, is there again, and in another language; another one begins empty.
    page.get_by_label("Rename or delete Which rules of Belgium for readings only warn?").click()
    page.get_by_label("Title").fill("rules and levies")
    button("Rename", exact=True).click()
    page.get_by_role("link", name="rules and levies").wait_for()
    page.reload()
    assert page.locator(".turn").count() == 4
    assert page.locator(".answer table").first.is_visible()
    page.get_by_role("link", name="New conversation").click()
    page.locator("#hint").wait_for()
    assert page.locator(".turn").count() == 0
    page.get_by_role("link", name="Français").click()
    page.get_by_role("heading", name="Vos conversations").wait_for()
    eyes.look()
    page.get_by_role("link", name="rules and levies").click()
    page.locator(".turn").first.wait_for()

    # Its end; and the end of the session leads to the sign-in, not into the middle of the page.
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Renommer ou supprimer rules and levies").click()
    button("Supprimer rules and levies").click()
    page.get_by_text("Il n'y en a pas encore.").wait_for()
    expected = ["status of 422"]
    wrong = [line for line in eyes.report().splitlines() if not any(one in line for one in expected)]
    assert wrong == []
    sessions.end_all(site.store, "anna")
    page.get_by_label("Question").fill("Encore là ?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/login?then=/assistant/")


def test_a_question_that_is_not_asked_yet_is_not_lost(page: Any) -> None:
    """By a reload, by going away and back, when it did not arrive, and while another one is under way."""
    half = "How long are meter"
    page.goto("/assistant/")
    page.fill("#question", half)
    page.reload()
    assert page.input_value("#question") == half
    page.goto("/tickets")
    page.go_back()
    page.wait_for_selector("#question")
    assert page.input_value("#question") == half
    page.evaluate("""() => {
      const open = XMLHttpRequest.prototype.open;
      XMLHttpRequest.prototype.open = function (method, url, ...rest) {
        XMLHttpRequest.prototype.open = open;
        open.call(this, method, url, ...rest);
        this.send = () => this.dispatchEvent(new ProgressEvent("error"));
      };
    }""")
    page.click("#asking button")
    page.wait_for_selector("#asking .trouble")
    assert page.input_value("#question") == half
    page.fill("#question", "How long are meter readings kept?")
    page.evaluate("""() => document.addEventListener("htmx:beforeSend", () => setTimeout(() => {
      const field = document.getElementById("question");
      field.value = "and curves?";
      field.dispatchEvent(new Event("input"));
    }), { once: true })""")
    page.click("#asking button")
    page.wait_for_selector(".turn .rating")
    assert page.input_value("#question") == "and curves?"
    page.fill("#question", "How long are curves kept?")
    page.click("#asking button")
    page.wait_for_selector(".turn + .turn .rating")
    page.reload()
    assert page.locator(".turn").count() == 2
    assert page.input_value("#question") == ""


def test_everything_is_reached_by_keyboard_with_its_name_told(page: Any) -> None:
    ask(page, "Why is a reading rejected when its index is below the one before?")
    page.get_by_text("Documents of this conversation", exact=True).click()
    page.focus(".skip")
    names: list[str] = []
    for _ in range(page.evaluate(STOPS) - 1):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        assert at["name"], names
        assert at["seen"], at
        assert at["ring"], at
        names.append(at["name"])
    wanted = ("Ask", "Good answer", "Bad answer", "Copy with sources", "Attach", "Filters", "New conversation")
    assert [one for one in wanted if one not in names] == []
