"""A consultant's hour in a real browser: the morning's failures, a dry run, a campaign, tickets for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.webservice.roles import Role
from tests.console.scene import CODE, FAILING, ODD, WRONG
from tests.machine import chromium
from tests.webservice.conftest import Site

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

PAGES = ("/", "/messages", "/failures", f"/failures/code/{CODE}", f"/access-points/FR/{ODD}", "/rules", "/state")


@pytest.fixture
def page(served: str, lite: Site) -> Iterator[Any]:
    """A page of a browser whose visitor is signed in as a consultant; whatever it complains of fails the test."""
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        context = browser.new_context(viewport={"width": 1366, "height": 850}, base_url=served, locale="en-GB")
        made = context.new_page()
        made.set_default_timeout(60_000)
        troubles: list[str] = []
        made.on("pageerror", lambda error: troubles.append(str(error)))
        made.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        made.goto("/failures")
        made.fill("input[name=token]", lite.token(Role.CONSULTANT))
        made.click("button.main")
        made.wait_for_url("**/failures")
        yield made
        assert troubles == []
        browser.close()


def seen(page: Any, selector: str) -> None:
    """Wait for something; what the page says instead is told when it does not come."""
    try:
        page.wait_for_selector(selector)
    except playwright.TimeoutError:
        raise AssertionError(f"no {selector} at {page.url}: {page.inner_text('main')}") from None


def state_of(site: Site, prm: str) -> str:
    """State of the message with the wrong unit at an access point."""
    (first,) = [
        one
        for one in list_messages(site.store.engine, MessageFilter(access_point=prm, kind="MeterReading")).messages
        if one.version == 1 and one.effective is not None and one.effective.month == 3
    ]
    return first.state


def test_a_consultants_hour(page: Any, lite: Site) -> None:
    """See what failed, try out what would free it, run it, watch it, see it treated; ticket what is left."""
    # The morning: what failed, and why.
    assert page.locator("h1").inner_text() == "Failures"
    page.click(f"tr[data-href='/failures/code/{CODE}'] a.code")
    seen(page, f"h1:has-text('{CODE}')")
    assert page.inner_text("p.count") == f"{FAILING} messages"
    # What would free them?
    page.click("text=Find out what would free them")
    seen(page, ".proposals li:has-text('Indexes in the wrong unit')")
    assert "frees 3 of 4 tried" in page.inner_text(".proposals")
    # The dry run shows the difference of each message.
    page.click(".proposals li:has-text('Indexes in the wrong unit') button")
    seen(page, "h1:has-text('Dry run')")
    seen(page, "text=would be freed")
    assert 'unit="kWh"' in page.inner_text(".diff >> nth=0")
    assert lite.store is not None
    assert {state_of(lite, prm) for prm in WRONG} == {"rejected"}
    # The run; the page follows it until it is done.
    page.fill("input[name=why]", "the operator confirmed the unit")
    page.click("text=Run on 3 messages")
    seen(page, "h1:has-text('Campaign')")
    seen(page, "#progress .chip.w-done")
    assert "3 of 3 actions, 3 messages freed" in page.inner_text("#progress")
    assert page.locator("tbody .chip.s-treated").count() == 3
    assert {state_of(lite, prm) for prm in WRONG} == {"treated"}
    page.reload()
    assert "the operator confirmed the unit" in page.inner_text("main")
    # The rest is for somebody else.
    page.goto(f"/failures/code/{CODE}")
    assert page.inner_text("p.count") == "1 message"
    page.fill("input[name=owner]", "ben")
    page.click("text=Make tickets")
    seen(page, "text=Ticket 1")
    page.click("text=Ticket 1")
    page.fill("textarea[name=note]", "asked the operator to read it again")
    page.click("text=Save")
    seen(page, ".notes >> text=asked the operator")
    assert state_of(lite, ODD) == "ticketed"
    assert "1 in tickets" in page.goto(f"/failures/code/{CODE}").text()


def test_a_message_is_edited_with_a_check_before_it_is_saved(page: Any, lite: Site) -> None:
    """The check tells the verdict and the difference without leaving the form."""
    number = list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0], codes=(CODE,))).messages[0].id
    page.goto(f"/messages/{number}")
    seen(page, ".why li")
    page.click("text=Edit")
    page.fill("#xml", page.input_value("#xml").replace('unit="Wh"', 'unit="kWh"'))
    page.click("button:has-text('Check')")
    seen(page, "#examined .diff .add")
    assert "frees 1 message" in page.inner_text("#examined")
    page.fill("input[name=why]", "unit confirmed by telephone")
    page.click("text=Save and replay")
    seen(page, "#progress .chip.w-done")
    assert state_of(lite, WRONG[0]) == "treated"
    # And taken back.
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("button:has-text('Undo')")
    seen(page, "#progress .chip:has-text('undone')")
    assert state_of(lite, WRONG[0]) == "rejected"


def test_keys_lead_everywhere(page: Any) -> None:
    """Search, pages, rows, the list of keys; the first Tab leads to the skip link."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type(CODE)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/messages?code={CODE}")
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = page.get_attribute("tr.chosen", "data-href")
    assert chosen == page.locator("tr[data-href]").nth(1).get_attribute("data-href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{chosen}")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/failures")
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()


def test_no_page_is_wider_than_a_laptop(page: Any) -> None:
    """Nothing has to be scrolled sideways but tables in their own frame, in either theme."""
    for theme in ("light", "dark"):
        page.goto(f"/preferences?theme={theme}&then=/")
        for path in PAGES if theme == "dark" else PAGES[:1]:
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        assert page.evaluate("document.documentElement.dataset.theme") == theme


@pytest.mark.slow
def test_no_two_pages_look_the_same_in_either_theme(page: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """`make screenshots` keeps the pictures: `pytest tests/console --pictures FOLDER`."""
    target = Path(request.config.getoption("--pictures", default=None) or tmp_path)
    target.mkdir(parents=True, exist_ok=True)
    pictures: set[bytes] = set()
    for theme in ("light", "dark"):
        page.goto(f"/preferences?theme={theme}&then=/")
        for path in PAGES:
            page.goto(path)
            page.wait_for_load_state("networkidle")
            name = path.strip("/").replace("/", "-") or "today"
            pictures.add(page.screenshot(path=str(target / f"{name}-{theme}.png")))
    assert len(pictures) == 2 * len(PAGES)
