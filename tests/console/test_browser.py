"""What the scripts of the console do in a real browser: edits, suggestions, keys, rows, a page that renews itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright import sync_api as playwright

from energycomm.correction.analysis import Judged
from energycomm.correction.cases import read_cases
from energycomm.correction.evidence import evidence_of
from energycomm.correction.tickets import change_ticket, make_tickets, tickets
from energycomm.eis.database import writing
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.webservice.roles import Role
from tests.console.onlooker import LAPTOP, SMALL_PHONE, settled
from tests.console.scene import CODE, FAILING, ODD, WRONG
from tests.webservice.conftest import Site


def is_trouble(message: Any) -> bool:
    """Whether the browser complains of a page; that it refuses something is no fault of one."""
    return bool(message.type == "error" and not re.search("status of (401|403|422)", message.text))


@pytest.fixture
def page(served: str, lite: Site, browser: Any) -> Iterator[Any]:
    """A page of a browser whose visitor is signed in as a consultant; whatever it complains of fails the test."""
    context = browser.new_context(viewport=LAPTOP, base_url=served, locale="en-GB")
    made = context.new_page()
    made.set_default_timeout(60_000)
    troubles: list[str] = []
    made.on("pageerror", lambda error: troubles.append(str(error)))
    made.on("console", lambda message: troubles.append(message.text) if is_trouble(message) else None)
    made.goto("/failures")
    made.fill("input[name=token]", lite.token(Role.CONSULTANT))
    made.click("button.main")
    made.wait_for_url("**/failures")
    yield made
    assert troubles == []
    context.close()


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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_what_was_typed_outlives_a_session_that_ends_meanwhile(page: Any, lite: Site) -> None:
    """It is there again after the sign-in, and gone when it was saved."""
    number = list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0], codes=(CODE,))).messages[0].id
    page.goto(f"/messages/{number}/edit")
    page.fill("#xml", page.input_value("#xml").replace('unit="Wh"', 'unit="kWh"'))
    page.fill("input[name=why]", "unit confirmed by telephone")
    page.context.clear_cookies()
    page.click("text=Save and replay")
    seen(page, "text=Your session is over.")
    signed_in_again(page, lite)
    page.wait_for_url(f"**/messages/{number}/edit")
    seen(page, "[data-restored]:not([hidden])")
    assert 'unit="kWh"' in page.input_value("#xml")
    assert page.input_value("input[name=why]") == "unit confirmed by telephone"
    page.click("text=Save and replay")
    seen(page, "#progress .chip.w-done")
    assert state_of(lite, WRONG[0]) == "treated"
    assert drafts(page) == []


def posts(page: Any) -> list[str]:
    """The forms that the browser sends from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found


@pytest.mark.thorough
def test_a_refused_edit_is_reloaded_and_come_back_to_with_what_was_typed(page: Any, lite: Site) -> None:
    """Neither sends the form again, and the browser has nothing to ask."""
    number = list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0], codes=(CODE,))).messages[0].id
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"/messages/{number}/edit")
    typed = page.input_value("#xml").replace('unit="Wh"', 'unit="furlong"')
    page.fill("#xml", typed)
    page.fill("input[name=why]", "unit confirmed by telephone")
    page.click("text=Save and replay")
    seen(page, "[data-refused]")
    sent = posts(page)

    def is_whole() -> bool:
        seen(page, "[data-restored]:not([hidden])")
        return bool(
            page.url.endswith(f"/messages/{number}/edit")
            and page.input_value("#xml") == typed
            and page.input_value("input[name=why]") == "unit confirmed by telephone"
        )

    page.reload()
    assert is_whole()
    page.click("text=Save and replay")
    seen(page, "[data-refused]")
    sent.clear()
    page.goto("/tickets")
    page.go_back()
    assert is_whole()
    assert sent == []
    assert state_of(lite, WRONG[0]) == "rejected"


@pytest.mark.thorough
def test_a_saved_edit_is_stored_once_whoever_goes_back_to_it(page: Any, lite: Site) -> None:
    """In the same tab, and in another one that still has the form; what is typed there is not lost."""
    number = list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0], codes=(CODE,))).messages[0].id
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"/messages/{number}/edit")
        tab.fill("#xml", tab.input_value("#xml").replace('unit="Wh"', 'unit="kWh"'))
        tab.fill("input[name=why]", "unit confirmed by telephone")
    page.click("text=Save and replay")
    seen(page, "#progress .chip.w-done")
    campaign = page.url
    sent = posts(page)
    page.reload()
    seen(page, "#progress .chip.w-done")
    page.go_back()
    page.wait_for_load_state()
    assert "was corrected before" in page.inner_text("main")
    page.go_forward()
    page.wait_for_url(campaign)
    assert sent == []
    other.click("text=Save and replay")
    seen(other, "[data-refused]:has-text('was corrected before')")
    assert 'unit="kWh"' in other.input_value("#xml")
    versions = list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0])).messages
    assert [one.version for one in versions if one.version > 1] == [2]


@pytest.mark.thorough
def test_the_answer_to_a_form_is_no_dead_end(page: Any) -> None:
    """A page that only a form leads to: reloaded, and come back to, it is the page of the form."""
    page.goto(f"/messages?code={CODE}")
    page.evaluate("document.querySelector('#selection [name=csrf]').value = 'wrong'")
    page.locator("input[name=chosen]").first.check()
    page.context.set_extra_http_headers({})
    page.get_by_role("button", name="Replay…").click()
    seen(page, "[data-refused]")
    sent = posts(page)
    page.reload()
    page.wait_for_url(f"**/messages?code={CODE}")
    assert page.locator("input[name=chosen]").count() == FAILING
    page.goto("/tickets")
    page.go_back()
    page.wait_for_url(f"**/messages?code={CODE}")
    assert sent == []


def signed_in_again(page: Any, site: Site) -> None:
    """From the page that says that the session is over."""
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.fill("input[name=token]", site.token(Role.CONSULTANT))
    page.click("button.main")


def drafts(page: Any) -> list[str]:
    """What the tab keeps."""
    found: list[str] = page.evaluate("Object.keys(sessionStorage).filter((name) => name.startsWith('draft'))")
    return found


def ticket_of(site: Site) -> int:
    """A ticket of anna's for the messages with the wrong unit."""
    ids = [one.id for one in list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages]
    cases = read_cases(site.store.engine, site.app.state.services.gateway.markets, ids)
    (number,) = make_tickets(site.store, [Judged(case, evidence_of(case)) for case in cases], "anna", owner="anna")
    return number


@pytest.mark.thorough
def test_a_note_for_a_ticket_outlives_a_session_that_ends_and_overwrites_nothing(page: Any, lite: Site) -> None:
    """What a colleague changed meanwhile stays; a draft is what was typed, not the form."""
    number = ticket_of(lite)
    page.goto(f"/tickets/{number}")
    page.fill("textarea[name=note]", "the operator was asked")
    page.context.clear_cookies()
    page.click("button:has-text('Save')")
    change_ticket(lite.store, number, state="waiting", owner="ben")
    signed_in_again(page, lite)
    page.wait_for_url(f"**/tickets/{number}")
    seen(page, "[data-restored]:not([hidden])")
    assert page.input_value("textarea[name=note]") == "the operator was asked"
    assert (page.input_value("select[name=state]"), page.input_value("input[name=owner]")) == ("waiting", "ben")
    page.click("button:has-text('Save')")
    seen(page, ".notes:has-text('the operator was asked')")
    assert page.input_value("textarea[name=note]") == ""
    assert drafts(page) == []
    assert [(one.state, one.owner) for one in tickets(lite.store)] == [("waiting", "ben")]


@pytest.mark.thorough
def test_a_form_that_is_sent_twice_is_done_once(page: Any, lite: Site) -> None:
    """By a double click, and by going back to it and sending it again."""
    number = ticket_of(lite)
    page.goto(f"/tickets/{number}")
    page.fill("textarea[name=note]", "asked once")
    page.dblclick("button:has-text('Save')")
    seen(page, ".notes:has-text('asked once')")
    assert page.locator(".notes li").count() == 1
    page.go_back()
    page.wait_for_load_state()
    assert page.input_value("textarea[name=note]") == ""
    page.go_forward()
    assert page.locator(".notes li").count() == 1
    # As a browser shows a page that it kept whole: the form can be sent again.
    page.evaluate("""() => {
      const button = document.querySelector("form.stack button");
      button.disabled = true;
      button.dataset.sent = "";
      window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    }""")
    assert page.locator("form.stack button").is_enabled()


@pytest.mark.thorough
def test_back_leads_past_the_sign_in(page: Any, lite: Site) -> None:
    """Who is signed in is not asked again: not on the way back, and not in another tab."""
    page.goto("/tickets")
    page.go_back()
    page.wait_for_url("**/failures")
    page.go_back()
    page.wait_for_load_state()
    assert page.locator("input[name=token]").count() == 0
    tab = page.context.new_page()
    tab.goto("/login?then=/tickets")
    assert tab.url.endswith("/tickets")
    tab.get_by_role("button", name="Sign out").click()
    tab.wait_for_url("**/login")
    # The other tab does not know yet.
    page.goto("/tickets")
    page.wait_for_url("**/login?then=/tickets")


@pytest.mark.thorough
def test_the_search_suggests_while_one_types(page: Any) -> None:
    """By keyboard alone: a mistyped access point, the suggestion chosen, opened; Escape puts suggestions away."""
    page.keyboard.press("/")
    page.keyboard.type(ODD[:6] + "1" + ODD[7:])
    seen(page, "#suggestions a[role=option]")
    assert page.get_attribute("#find", "aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.get_attribute("#find", "aria-expanded") == "false"
    page.keyboard.press("Backspace")
    page.keyboard.type(ODD[-1])
    seen(page, "#suggestions:not([hidden]) a[role=option]")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#find", "aria-activedescendant") == "suggestion-1"
    assert ODD in page.inner_text("#suggestion-1")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/access-points/FR/{ODD}")


@pytest.mark.thorough
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


def renewals(page: Any) -> list[int]:
    """Statuses of the answers by which the front page renews itself, as they come."""
    found: list[int] = []
    page.on("response", lambda one: found.append(one.status) if "/?day=" in one.url else None)
    return found


def look_again(page: Any) -> None:
    """What happens when the page is seen again: as every half minute."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.thorough
def test_today_renews_itself_while_nobody_works_in_it(page: Any, lite: Site) -> None:
    page.goto("/")
    statuses = renewals(page)
    button = page.get_by_role("button", name="Renews itself")
    assert button.get_attribute("aria-pressed") == "true"
    with page.expect_response("**/?day=*"):
        look_again(page)
    settled(page)
    with page.expect_response(lambda one: one.status == 304):
        look_again(page)
    with writing(lite.store.engine) as connection:
        connection.exec_driver_sql("UPDATE kernel_message SET state = 'withdrawn' WHERE state = 'quarantined'")
    link = page.locator("#live a").first
    link.focus()
    look_again(page)
    page.wait_for_timeout(300)
    assert page.inner_text(".card.wait .big") == "1"
    link.evaluate("one => one.blur()")
    look_again(page)
    page.wait_for_selector(".card.wait .big:has-text('0')")
    number = len(statuses)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    look_again(page)
    page.wait_for_timeout(300)
    assert len(statuses) == number
    assert statuses.count(304) == 1


@pytest.mark.thorough
def test_a_list_is_sorted_by_its_head(page: Any) -> None:
    page.goto("/messages")
    head = page.get_by_role("columnheader", name="Kind")
    head.get_by_role("link").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages?sort=kind")
    assert page.get_by_role("columnheader", name="Kind").get_attribute("aria-sort") == "ascending"
    page.get_by_role("columnheader", name="Kind").get_by_role("link").click()
    page.wait_for_url("**/messages?sort=-kind")
    with page.expect_download() as taken:
        page.get_by_role("link", name="CSV").click()
    assert taken.value.suggested_filename == "messages.csv"


@pytest.mark.thorough
def test_rows_are_chosen_by_keyboard_and_mouse(page: Any, lite: Site) -> None:
    page.goto(f"/messages?code={CODE}")
    told = page.locator("[data-counts]")
    replay = page.get_by_role("button", name="Replay…")
    assert replay.is_disabled()
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert told.inner_text() == "1 row chosen"
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert told.inner_text() == "2 rows chosen"
    page.keyboard.press("x")
    assert told.inner_text() == "1 row chosen"
    boxes = page.locator("input[name=chosen]")
    boxes.nth(FAILING - 1).click(modifiers=["Shift"])
    assert told.inner_text() == f"{FAILING} rows chosen"
    whole = page.get_by_role("checkbox", name="Choose all rows shown")
    whole.click()
    assert (told.inner_text(), replay.is_disabled()) == ("With the chosen rows", True)
    whole.click()
    assert told.inner_text() == f"{FAILING} rows chosen"
    with page.expect_download() as taken:
        page.get_by_role("button", name="CSV").click()
    assert taken.value.suggested_filename == "messages.csv"
    replay.click()
    seen(page, "text=nothing is changed yet")
    page.get_by_label("Why").fill("tried again")
    page.get_by_role("button", name=f"Replay: {FAILING}").click()
    seen(page, f"text={FAILING} messages were judged again, 0 with another outcome.")
    page.get_by_role("link", name="Back to the list").click()
    page.wait_for_url(f"**/messages?code={CODE}")


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
def test_pages_fit_a_phone_in_languages_of_longer_words(page: Any, lite: Site, language: str) -> None:
    """The smallest phone; the head of the page is on each of them."""
    page.goto(f"/preferences?language={language}&then=/")
    page.set_viewport_size(SMALL_PHONE)
    stuck = list_messages(lite.store.engine, MessageFilter(codes=(CODE,))).messages[0].id
    points = f"/access-points/FR/{ODD}"
    wide = {}
    for path in (
        "/",
        "/failures",
        f"/failures/code/{CODE}",
        f"/messages/{stuck}",
        points,
        f"/tickets/{ticket_of(lite)}",
    ):
        page.goto(path)
        settled(page)
        if (width := page.evaluate("document.documentElement.scrollWidth")) > SMALL_PHONE["width"]:
            wide[path] = width
    assert wide == {}
