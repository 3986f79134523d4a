"""A consultant's hour in a real browser, by mouse and by keyboard alone: from the morning's arrivals to signing out.

Every page of it is looked at in light and dark, on a laptop and on phones, by the rules of axe-core (`onlooker`). With
`--pictures FOLDER` (`make screenshots`) the run leaves the pictures of docs/console.md.
"""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.kernel.instants import micros
from energycomm.webservice.roles import Role
from tests.console.conftest import serving
from tests.console.onlooker import LAPTOP, Onlooker, by_name, settled, tab_to
from tests.console.scene import CODE, ODD, WRONG, morning
from tests.webservice.conftest import Site, configured

MORNING = micros(datetime(2026, 3, 31, 6, 15, tzinfo=UTC))
C15 = "17XGRIDFICTIF01X_C15_17XLUMINEFICT01X_90000101_0328_00001_20260226051012_00001_00001.xml"


@pytest.fixture
def desk(tmp_path: Path, project_root: Path) -> Iterator[Site]:
    """The web services after a morning in which France and the Netherlands sent mistakes."""
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    morning(url, MORNING)
    made = Site(url, configured(url))
    shutil.copy(project_root / "fixtures" / "fr" / "c15_mistakes.xml", tmp_path / C15)
    files = [tmp_path / C15, project_root / "fixtures" / "nl" / "mutations.xml"]
    inbound = made.app.state.services.gateway.inbound
    assert list(inbound.take(inbound.in_order(files), "folder"))
    yield made
    made.app.state.workbench.close()
    made.app.state.services.close()


@pytest.fixture
def page(desk: Site, browser: Any) -> Iterator[Any]:
    """A page on which nobody is signed in yet."""
    with serving(desk.app) as address:
        context = browser.new_context(viewport=LAPTOP, base_url=address, locale="en-GB", timezone_id="Europe/Paris")
        made = context.new_page()
        made.set_default_timeout(60_000)
        made.goto("/failures")
        yield made
        context.close()


def number_of(site: Site, code: str, point: str | None = None) -> int:
    return list_messages(site.store.engine, MessageFilter(codes=(code,), access_point=point)).messages[0].id


def state_of(site: Site, number: int) -> str:
    return next(one.state for one in list_messages(site.store.engine, limit=500).messages if one.id == number)


@pytest.mark.thorough
def test_a_consultants_hour(page: Any, desk: Site, pictures: Path | None) -> None:
    eyes = Onlooker(page, pictures)
    button, link = partial(by_name, page, "button"), partial(by_name, page, "link")
    number = number_of(desk, CODE, WRONG[0])
    eyes.look()
    page.get_by_label("API token").fill(desk.token(Role.CONSULTANT))
    button("Sign in").click()
    page.get_by_role("heading", name="Failures").wait_for()
    eyes.look()

    # What came in this morning.
    page.goto("/?day=2026-03-31")
    eyes.look("today")
    eyes.look("today-phone", phone=True, dark=True)
    page.goto("/")
    eyes.look()

    # A customer calls: part of the number of the access point is known.
    page.get_by_role("combobox", name="Find").fill(ODD[-6:])
    page.get_by_role("option").first.wait_for()
    assert ODD in page.get_by_role("option").first.inner_text()
    eyes.look("find")
    page.keyboard.press("Enter")
    page.wait_for_url("**/find?**")
    eyes.look()
    page.get_by_role("main").get_by_role("link", name=ODD, exact=True).first.click()
    page.wait_for_url(f"**/access-points/FR/{ODD}")
    eyes.look("access-point")
    assert "gap" in page.get_by_role("main").inner_text()

    # All that is refused, sorted; the view is kept, and Back comes home to it.
    page.goto("/messages")
    page.get_by_label("State").select_option("rejected")
    button("Show").click()
    page.wait_for_url("**state=rejected**")
    page.get_by_role("columnheader", name="Received").get_by_role("link").click()
    page.wait_for_url("**sort=received**")
    page.get_by_label("Name of the view").fill("mistakes of the operators")
    button("Keep this view").click()
    link("mistakes of the operators").wait_for()
    eyes.look("messages")
    listed = page.url
    rows = page.locator("tr[data-href]").count()
    with page.expect_download() as taken:
        link("CSV").click()
    assert len(list(csv.reader(io.StringIO(taken.value.path().read_text("utf-8-sig"))))) == rows + 1
    with page.expect_download() as taken:
        link("XLSX").click()
    sheet = openpyxl.load_workbook(io.BytesIO(taken.value.path().read_bytes())).active
    assert sheet is not None
    assert sheet.max_row == rows + 1

    # A stuck message: its text as the market sent it with what is wrong marked, and why. A French and a Dutch one.
    page.goto(f"/messages/{number_of(desk, 'FR-P01')}")
    page.locator("pre.source mark").first.wait_for()
    # Both places at one moment: while the page is made they move.
    page.wait_for_function(
        """() => {
            const box = document.querySelector("pre.source").getBoundingClientRect();
            const mark = document.querySelector("pre.source mark").getBoundingClientRect();
            return box.top <= mark.top && mark.top <= box.bottom;
        }"""
    )
    assert "fourteen digits" in page.get_by_role("main").inner_text()
    eyes.look("message")
    page.goto(f"/messages/{number_of(desk, 'NL-P05')}")
    page.locator("pre.source mark").first.wait_for()
    assert page.locator("pre.source mark").first.inner_text() == "13"
    eyes.look()
    page.goto(listed)

    # Would it pass today? The dry run says no, before anything is done; the way back leads to the list as it was.
    page.get_by_role("checkbox", name="Choose").nth(1).check()
    page.get_by_role("checkbox", name="Choose").nth(2).check()
    button("Replay…").click()
    page.get_by_text("2 messages would be judged again, 0 with another outcome; nothing is changed yet.").wait_for()
    eyes.look()
    link("Back to the list").click()
    assert page.url == listed

    # One code holds four messages up. What would free them?
    page.goto(f"/failures/code/{CODE}")
    button("Find out what would free them").click()
    page.get_by_text("frees 3 of 4 tried").wait_for()
    eyes.look("proposals")
    page.locator(".proposals li").first.get_by_role("button").click()
    page.get_by_text("would be freed").wait_for()
    eyes.look("dry-run")
    page.get_by_label("Why").fill("the operator confirmed the unit")
    button("Run on 3 messages").dblclick()
    page.locator("#progress .chip.w-done").wait_for()
    assert "3 of 3 actions, 3 messages freed" in page.inner_text("#progress")
    eyes.look()
    assert state_of(desk, number) == "treated"
    page.once("dialog", lambda dialog: dialog.accept())
    button("Undo").click()
    page.get_by_text("3 actions were taken back.").wait_for()
    assert state_of(desk, number) == "rejected"

    # One of them by hand. What was typed is not lost by a wrong click.
    page.goto(f"/messages/{number}")
    link("Edit").click()
    text = page.get_by_label("Kernel XML")
    text.fill(text.input_value().replace('unit="Wh"', 'unit="kWh"'))
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        link("Failures").click(no_wait_after=True)
    assert asked.value.type == "beforeunload"
    button("Check").click()
    page.get_by_text("frees 1 message").wait_for()
    eyes.look()
    page.get_by_label("Why").fill("confirmed by telephone")
    button("Save and replay").click()
    page.locator("#progress .chip.w-done").wait_for()
    assert state_of(desk, number) == "treated"

    # The rest is for the grid operator; its answer closes the ticket.
    page.goto(f"/failures/code/{CODE}")
    page.get_by_label("Owner").fill("ben")
    button("Make tickets").click()
    link("Ticket 1").click()
    page.wait_for_url("**/tickets/1")
    page.get_by_label("Note").fill("The operator answers: read again, the index was in Wh.")
    page.get_by_label("State").select_option("closed")
    button("Save").click()
    page.get_by_text("read again, the index").wait_for()
    eyes.look("ticket")

    # Every other page that the menu leads to, and what they lead to.
    menu = page.eval_on_selector_all("nav.side a", "all => all.map((one) => one.getAttribute('href'))")
    further = ("/access-points/overdue", f"/rules/{CODE}", "/failures?by=state", "/account", "/messages/999999")
    for path in (*menu, *further):
        if path not in ("/", "/messages", "/failures"):
            page.goto(path)
            eyes.look()

    # Signed out: Back shows nothing.
    page.goto("/")
    button("Sign out").click()
    page.wait_for_url("**/login")
    page.go_back()
    page.get_by_label("API token").wait_for()
    missing = next(url for url in eyes.wrong if url.endswith("/999999"))
    assert ["404" in said for said in eyes.wrong.pop(missing)] == [True]
    assert eyes.report() == ""


@pytest.mark.thorough
def test_a_consultants_hour_by_keyboard_alone(page: Any, desk: Site) -> None:
    """Sign in, find, fix a group, undo it, edit a message, sign out; the focus is always somewhere, and to be seen."""
    eyes, press, type_ = Onlooker(page, None), page.keyboard.press, page.keyboard.type
    type_(desk.token(Role.CONSULTANT))
    press("Enter")
    page.get_by_role("heading", name="Failures").wait_for()
    eyes.walk()
    press("/")
    type_(ODD[-6:])
    page.get_by_role("option").first.wait_for()
    press("ArrowDown")
    press("Enter")
    page.wait_for_url(f"**/access-points/FR/{ODD}")
    eyes.walk()
    press("g")
    press("f")
    page.wait_for_url("**/failures")
    tab_to(page, CODE)
    press("Enter")
    page.wait_for_url(f"**/failures/code/{CODE}")
    eyes.walk()
    tab_to(page, "Find out")
    press("Enter")
    page.get_by_text("frees 3 of 4 tried").wait_for()
    tab_to(page, "Dry run of the whole group")
    press("Enter")
    page.get_by_text("would be freed").wait_for()
    tab_to(page, "Why")
    type_("the operator confirmed the unit")
    press("Enter")
    page.locator("#progress .chip.w-done").wait_for()
    by_name(page, "button", "Undo").wait_for()
    page.once("dialog", lambda dialog: dialog.accept())
    tab_to(page, "Undo")
    press("Enter")
    page.get_by_text("3 actions were taken back.").wait_for()
    page.goto(f"/messages?code={CODE}")
    press("j")
    press("Enter")
    page.wait_for_url("**/messages/*")
    settled(page)
    eyes.walk()
    tab_to(page, "Edit")
    press("Enter")
    page.wait_for_url("**/edit")
    tab_to(page, "Check")
    press("Enter")
    page.get_by_text("Nothing is changed.").wait_for()
    settled(page)
    assert page.evaluate("document.activeElement.innerText") == "Check"
    press("?")
    assert page.get_by_role("dialog", name="Keyboard").is_visible()
    press("Escape")
    page.goto("/messages")
    eyes.walk()
    tab_to(page, "Sign out")
    press("Enter")
    page.wait_for_url("**/login")
    assert eyes.report() == ""
