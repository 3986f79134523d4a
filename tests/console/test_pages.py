"""What the pages show, who may see them, and what can be done with them; without a browser."""

from __future__ import annotations

import html
import re
import shutil
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from fastapi.routing import APIRoute

from energycomm import cli
from energycomm.config import CorrectionSettings
from energycomm.console import PARTS, entering, front
from energycomm.console import rules as rules_page
from energycomm.eis import tables
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading as looking
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.kernel.instants import now_micros
from energycomm.kernel.verdicts import Refusal
from energycomm.pipeline.rows import incident_row
from energycomm.webservice.roles import Role
from tests.console.conftest import until
from tests.console.scene import CODE, FAILING, MESSAGES, ODD, WAITING, WRONG, Visitor
from tests.pipeline.desk import shipped_rules
from tests.pipeline.story import day
from tests.webservice.conftest import Site, configured

LISTS = ("/", "/messages", "/failures", "/campaigns", "/quarantine", "/tickets", "/requests", "/access-points")
OPEN = ("/rules", "/state")


def failing(site: Site) -> list[int]:
    """Ids of the messages that the code holds for."""
    return [one.id for one in list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages]


def rows(site: Site, sql: str) -> list[tuple[object, ...]]:
    with looking(site.store.engine) as connection:
        return driver_of(connection).rows(sql)


def plain(html: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.thorough
def test_the_front_page_says_what_came_in_and_why_messages_are_stuck(site: Site) -> None:
    """On both databases; the counts come from the tallies."""
    words = plain(Visitor(site, Role.CONSULTANT).get("/").text)
    assert f"{MESSAGES} messages" in words
    assert f"{FAILING} rejected" in words
    assert re.search(rf"{CODE} .* {FAILING} ", words)


def test_what_waits_is_a_reason_too(anna: Visitor) -> None:
    """On the front page and among the failures, with its number, its age and a link, in the order of the numbers."""
    for path in ("/", "/failures"):
        html = anna.get(path).text
        (row,) = re.findall(r'<tr data-href="/quarantine">.*?</tr>', html, re.DOTALL)
        assert re.search(r"waiting A message that it depends on has not arrived\. 1 (0 )?\d{4}-\d\d-\d\d", plain(row))
        assert html.index(f"/failures/code/{CODE}") < html.index('data-href="/quarantine"')


def test_health_is_quiet_where_nothing_alarms_and_tells_a_place_once(lite: Site, anna: Visitor) -> None:
    """No list of alarms that are none; each incident with its number and envelope, those of one series together."""
    ((envelope,),) = rows(lite, "SELECT max(id) FROM envelope")
    assert isinstance(envelope, int)
    gap = Refusal(code="SERIES_GAP", path="C15 GRD-F001 D", value="00008 never received")
    with lite.store.transaction() as tx:
        tx.insert(tables.incident, [incident_row(gap, "note", now_micros(), envelope)] * 33)
    html = anna.get("/state").text
    words = plain(html)
    assert "No alarms." in words
    assert not re.search(r"OUTBOX_DEAD|REQUEST_OVERDUE|ENGINE_ERROR", words)
    assert words.count("SERIES_GAP") == 1
    assert f'href="/messages?envelope={envelope}"' in html
    assert re.search(rf"SERIES_GAP \w+ C15 GRD-F001 D 33 {envelope} ", words)


@pytest.mark.parametrize("path", [*LISTS, *OPEN, *(f"/failures?by={name}" for name in ("type", "state", "market"))])
def test_every_list_is_a_page(anna: Visitor, path: str) -> None:
    answer = anna.get(path)
    assert answer.status_code == 200
    assert "<h1>" in answer.text
    assert "Content-Security-Policy" in answer.headers


def test_messages_are_filtered_by_what_the_address_says(lite: Site, anna: Visitor) -> None:
    words = plain(anna.get(f"/messages?code={CODE}").text)
    assert all(prm in words for prm in (*WRONG, ODD))
    assert WAITING not in words
    assert WAITING in plain(anna.get("/messages?state=quarantined").text)
    assert "No message matches" in anna.get("/messages?market=NL").text
    assert "No message matches" in anna.get("/messages?until=2020-01-01").text
    wrong = anna.get("/messages?since=soon")
    assert wrong.status_code == 422
    assert "soon" in wrong.text


def test_the_list_goes_on_where_it_ended(anna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next page is a piece of table for htmx, and a whole page for everybody else."""
    monkeypatch.setattr("energycomm.console.messages.PAGE", 20)
    first = anna.get("/messages").text
    more = re.search(r'hx-get="(/messages[^"]+)"', first)
    assert more
    piece = anna.get(more.group(1), **{"HX-Request": "true"}).text
    numbers = re.findall(r'data-href="/messages/(\d+)"', first) + re.findall(r'data-href="/messages/(\d+)"', piece)
    assert len(numbers) == len(set(numbers)) == MESSAGES
    assert "<h1>" not in piece
    assert "<h1>" in anna.get(more.group(1)).text


def test_the_search_leads_to_a_message_an_access_point_or_a_code(lite: Site, anna: Visitor) -> None:
    number = failing(lite)[0]
    assert str(anna.get(f"/messages?id={number}").url).endswith(f"/messages/{number}")
    assert str(anna.get(f"/messages?id={ODD}").url).endswith(f"/access-points/FR/{ODD}")
    assert str(anna.get(f"/messages?id={CODE.lower()}").url).endswith(f"code={CODE}")


def test_a_message_is_shown_with_its_verdict_and_the_sentence_of_each_rule(lite: Site, anna: Visitor) -> None:
    number = failing(lite)[0]
    answer = anna.get(f"/messages/{number}")
    (rule,) = [rule for rule in shipped_rules().rules if rule.error_code == CODE]
    assert CODE in answer.text
    assert rule.sentence.split("`")[0] in answer.text
    assert "&lt;MeterReading" in answer.text
    assert rule.code in anna.get(f"/messages/{number}/explanation").text
    assert anna.get(f"/messages/{number}/raw").status_code == 200
    assert anna.get("/messages/999999").status_code == 404


def test_what_waits_is_among_the_failures_and_has_scripts(lite: Site, anna: Visitor) -> None:
    """A dry run for the quarantine is about all that the script selects."""
    assert 'href="/quarantine"' in anna.get("/failures").text
    page = anna.get("/quarantine").text
    assert WAITING in page
    assert "/failures/scripts/create-missing-start" in page
    trial = anna.send("/failures/scripts/create-missing-start")
    assert "/trials/" in str(trial.url)
    until(lambda: "would be freed" in anna.get(trial.url.path).text)
    assert rows(lite, "SELECT count(*) FROM campaign") == [(0,)]


def test_groups_that_have_to_be_analysed_are_analysed_in_the_background(anna: Visitor) -> None:
    anna.get("/failures?by=class")
    until(lambda: "Analyse again" in anna.get("/failures?by=class").text)
    words = plain(anna.get("/failures?by=class").text)
    assert "missing message" in words
    assert "grid operator" in words or "our rules" in words


@pytest.mark.thorough
def test_days_are_those_of_the_market_wherever_the_house_is(
    arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A supply that begins at midnight in Paris, five or six hours earlier in New York, began on that day; on every
    page of the point and of its messages, and in the lists of the command line."""
    shutil.copy(arrived, tmp_path / "eis.db")
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    site = Site(url, configured(url, web={"zone": "America/New_York"}))
    prm = WRONG[0]
    begins = day(0).astimezone(ZoneInfo("Europe/Paris"))
    assert (begins.hour, begins.minute) in ((0, 0), (0, 1))
    before = begins.date() - timedelta(days=1)
    visitor = Visitor(site, Role.CONSULTANT)
    words = plain(visitor.get(f"/access-points/FR/{prm}").text)
    assert f"supply since {begins.date()}" in words
    numbers = [one.id for one in list_messages(site.store.engine, MessageFilter(access_point=prm)).messages]
    pages = [words, plain(visitor.get(f"/messages?access_point={prm}").text)]
    pages += [plain(visitor.get(f"/messages/{number}").text.partition("Kernel XML")[0]) for number in numbers]
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.setenv("ENERGYCOMM_WEB__ZONE", "America/New_York")
    for command in (["message", "list", "--access-point", prm], ["access-point", "show", prm]):
        capsys.readouterr()
        assert cli.main(command) == 0
        pages.append(capsys.readouterr().out)
    assert [one for one in pages if str(before) in one] == []
    site.app.state.workbench.close()
    site.app.state.services.close()


@pytest.mark.parametrize(
    ("written", "told", "instead"),
    [
        ("2026-03-29T02:30", "no clock", "2026-03-29T03:30"),
        ("2026-10-25T02:30", "twice", "2026-10-25T02:30+02:00 or 2026-10-25T02:30+01:00"),
    ],
)
def test_a_time_of_the_days_when_clocks_change_is_asked_for_with_its_offset(
    lite: Site,
    written: str,
    told: str,
    instead: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Clocks of Paris go from 2 to 3 on 29 March 2026 and from 3 to 2 on 25 October (directive 2000/84/EC)."""
    visitor = Visitor(lite, *Role)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", lite.app.state.services.config.database_url)
    for command, path in (("message", "/messages"), ("audit", "/audit")):
        words = plain(visitor.get(f"{path}?since={written}").text)
        assert (told in words, instead in words) == (True, True)
        for clear in (f"{written}%2B01:00", written[:10]):
            assert visitor.get(f"{path}?since={clear}").status_code == 200
        capsys.readouterr()
        assert cli.main([command, "list", "--since", written]) == 3
        words = " ".join(capsys.readouterr().err.split())
        assert (told in words, instead in words) == (True, True)


def test_what_the_market_sent_is_the_message_alone_with_what_was_refused(
    lite: Site, anna: Visitor, project_root: Path
) -> None:
    """Of a file of three readings at two points that of the message, its wrong identifier marked."""
    inbound = lite.app.state.services.gateway.inbound
    file = project_root / "fixtures" / "be" / "mistakes_readings.xml"
    assert list(inbound.take(inbound.in_order([file]), "folder"))
    wanted = MessageFilter(codes=("BE-P01",), access_point="541449000000001018")
    (found,) = list_messages(lite.store.engine, wanted).messages
    shown = anna.get(f"/messages/{found.id}/raw").text
    assert "<mark>541449000000001018</mark>" in shown
    assert "541449000000001017" not in shown
    assert "&lt;PayloadMeterReading&gt;" in shown


def test_the_life_of_an_access_point_is_drawn(lite: Site, anna: Visitor) -> None:
    """Supply as a span, readings as dots, what was refused as a mark that leads to its message."""
    page = anna.get(f"/access-points/FR/{ODD}").text
    drawing = page[page.index('<svg class="life"') : page.index("</svg>")]
    (number,) = {
        one.id for one in list_messages(lite.store.engine, MessageFilter(access_point=ODD, codes=(CODE,))).messages
    }
    assert "m-span l-supply" in drawing
    assert "m-dot" in drawing
    assert re.search(rf'<a href="/messages/{number}"[^>]*><polygon class="m-bad"', drawing)
    assert "m-wait" in anna.get(f"/access-points/FR/{WAITING}").text
    assert anna.get("/access-points/FR/1").status_code == 404


def test_points_whose_measures_stay_away_are_a_page_and_a_file(lite: Site, anna: Visitor) -> None:
    """The point was read in January and is supplied; with ten years of grace nothing is missed."""
    assert 'href="/access-points/overdue"' in anna.get("/access-points").text
    page = anna.get("/access-points/overdue?market=FR&grace=3").text
    assert f'href="/access-points/FR/{ODD}"' in page
    assert "format=csv" in page
    table = anna.get("/access-points/overdue?market=FR&grace=3&format=csv").text
    rows = [line.split(",")[:2] for line in table.replace('"', "").splitlines()]
    assert rows[0] == ["\ufeffmarket", "access point"]
    assert ["FR", ODD] in rows[1:]
    book = anna.get("/access-points/overdue?market=fr&format=xlsx")
    assert book.content[:2] == b"PK"
    assert ODD not in anna.get("/access-points/overdue?grace=3660").text
    assert ODD not in anna.get("/access-points/overdue?market=NL").text
    assert anna.get("/access-points/overdue?market=ZZ").status_code == 422
    assert anna.get("/access-points/overdue?grace=soon").status_code == 422


def test_a_billing_period_is_shown_in_both_languages_with_what_hinders_the_bill(lite: Site, anna: Visitor) -> None:
    """No reading follows the last one: the last border is missing."""
    address = f"/access-points/FR/{ODD}?first=2026-01-05&last=2099-12-31"
    words = plain(anna.get(address).text)
    assert "not ready to be billed" in words
    assert "READING_MISSING" in words or "READINGS_NONE" in words
    assert "no contract" in plain(anna.get(f"{address}&contract=none").text)
    assert anna.get(f"/access-points/FR/{ODD}?first=soon&last=2026-01-01").status_code == 422


def test_rules_are_listed_with_how_often_they_are_found(anna: Visitor) -> None:
    words = plain(anna.get("/rules?q=unit").text)
    assert re.search(rf"{CODE} .* {FAILING} ", words)
    assert anna.get("/rules/common-effective-far-ahead").status_code == 200
    assert anna.get("/rules/nobody-wrote-this").status_code == 404


def test_the_rules_in_force_are_those_of_the_day_in_legal_time(
    lite: Site, anna: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half an hour after midnight in Brussels, the day before in Greenwich: BE-D11 holds since that midnight."""
    assert lite.config.web.zone == "Europe/Brussels"

    class Clock(datetime):
        at = datetime(2025, 12, 31, 23, 30, tzinfo=UTC)

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return cls.at.astimezone(tz)

    monkeypatch.setattr(rules_page, "datetime", Clock)
    assert "BE-D11" in plain(anna.get("/rules?market=be").text)
    Clock.at -= timedelta(hours=1)
    assert "BE-D11" not in plain(anna.get("/rules?market=be").text)


def test_who_is_not_signed_in_is_sent_to_the_sign_in_and_back(lite: Site) -> None:
    client = lite.caller()
    answer = client.get("/messages?state=rejected")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?then=/messages%3Fstate%3Drejected")
    assert client.post("/campaigns/1/undo").status_code == 401
    assert "API token" in client.get("/login").text


def test_the_operator_sees_how_the_gateway_is_and_no_content(lite: Site) -> None:
    """No message, no access point, and no link to one."""
    visitor = Visitor(lite, Role.OPERATOR)
    assert [visitor.get(path).status_code for path in ("/", *OPEN)] == [200, 200, 200]
    assert [visitor.get(path).status_code for path in LISTS[1:]] == [403] * len(LISTS[1:])
    assert visitor.get(f"/messages/{failing(lite)[0]}").status_code == 403
    assert "/messages" not in visitor.get("/").text
    assert "/messages" not in visitor.get("/state").text


@pytest.mark.thorough
@pytest.mark.parametrize("roles", [(Role.CONSULTANT,), (Role.OPERATOR, Role.ADMINISTRATOR)])
def test_no_link_that_somebody_sees_leads_into_a_dead_end(
    lite: Site, roles: tuple[Role, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of each kind of page, from the front page on, with more reasons than it shows."""
    monkeypatch.setattr(front, "SHOWN_REASONS", 1)
    visitor, found, ends, ahead = Visitor(lite, *roles), {"/"}, {}, ["/"]
    while ahead:
        path = ahead.pop()
        answer = visitor.get(path)
        if answer.status_code != 200:
            ends[path] = answer.status_code
        for link in re.findall(r'<a [^>]*href="(/[^"#]*)', answer.text):
            kind = re.sub(r"=[^&]*|(?<=/)[^/?]*\d[^/?]*", "", html.unescape(link))
            if kind not in found and not link.startswith(("/preferences", "/api/")):
                found.add(kind)
                ahead.append(html.unescape(link))
    assert ends == {}
    assert len(found) > 4


def test_what_a_person_saw_is_not_kept_by_the_browser(anna: Visitor) -> None:
    """Back after signing out shows nothing: pages that renew themselves, too."""
    for path in ("/", "/channels", "/messages", "/people"):
        assert anna.get(path).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["messages", "tickets", "campaigns", "envelopes", "requests", "erasures"])
def test_a_number_that_no_store_counts_to_is_no_fault_of_the_program(lite: Site, path: str) -> None:
    everybody = Visitor(lite, *Role)
    assert everybody.get(f"/{path}/99999999999999999999").status_code == 404
    assert everybody.get("/requests?before=99999999999999999999").status_code == 422


def test_rows_that_no_store_counts_to_are_refused(anna: Visitor) -> None:
    assert anna.send("/messages/selected", action="replay", chosen="99999999999999999999").status_code == 422


def test_a_page_that_is_not_there_is_told_in_words(anna: Visitor) -> None:
    there = anna.get("/nowhere")
    assert there.status_code == 404
    assert re.search(r"<strong>[A-Z][a-z]+ [a-z ]+", there.text)


def test_a_day_may_have_a_space_behind_it(anna: Visitor) -> None:
    assert anna.get("/messages?since=2026-01-31%20").status_code == 200


def test_a_refusal_is_said_once(anna: Visitor) -> None:
    page = anna.get("/messages?since=notaday").text
    assert page.count("a day or an instant was expected") == 1


def test_the_back_office_looks_and_changes_nothing(lite: Site) -> None:
    visitor, number = Visitor(lite, Role.BACK_OFFICE), failing(lite)[0]
    page = visitor.get(f"/messages/{number}").text
    assert f"/messages/{number}/edit" not in page
    assert "/delegate" not in page
    assert '<form method="post" action="/failures' not in visitor.get(f"/failures/code/{CODE}").text
    for path in (
        f"/messages/{number}/edit",
        f"/messages/{number}/delegate",
        f"/failures/code/{CODE}/proposals",
        f"/failures/code/{CODE}/tickets",
        "/failures/scripts/relabel-unit",
        "/campaigns/1/undo",
        "/tickets/1",
    ):
        assert visitor.send(path).status_code == 403, path
    assert rows(lite, "SELECT count(*) FROM campaign") == [(0,)]


def test_nothing_is_changed_without_the_csrf_token(lite: Site, anna: Visitor) -> None:
    """Every route that changes something, as the application itself lists them.

    A sign-in begins without a token, with a name and a password. Its steps have a token each, which
    tests/webservice/test_accounts.py tries: who is in none is led to /login.
    """
    paths = {
        route.path
        for part in PARTS
        for route in part.router.routes
        if isinstance(route, APIRoute) and "POST" in (route.methods or ())
    }
    assert len(paths) > 12
    for path in sorted(paths):
        address = re.sub(r"\{(\w+)\}", "1", path)
        answer = anna.client.post(address, data={"csrf": "wrong"}, follow_redirects=False)
        if path == "/login/password":
            assert answer.status_code == 401, path
        elif path in entering.PAGES.values():
            assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path
        else:
            assert answer.status_code == 403, path


def test_reads_of_personal_data_and_changes_are_in_the_audit(lite: Site, anna: Visitor) -> None:
    """Pages without any are not."""
    number = failing(lite)[0]
    anna.get(f"/messages/{number}")
    anna.get(f"/access-points/FR/{ODD}")
    anna.send(f"/messages/{number}/delegate", to="ben", note="call them")
    anna.get("/rules")
    written = rows(lite, "SELECT action, what, subject FROM audit WHERE action <> 'sign-in' ORDER BY id")
    assert [row[:2] for row in written] == [
        ("read", f"GET /messages/{number}"),
        ("read", f"GET /access-points/FR/{ODD}"),
        ("change", f"POST /messages/{number}/delegate"),
        ("read", f"GET /messages/{number}"),
    ]
    assert "access point 99" in str(written[0][2])
    assert ODD in str(written[1][2])


def test_a_message_given_to_a_colleague_bears_the_note(lite: Site, anna: Visitor) -> None:
    number = failing(lite)[0]
    answer = anna.send(f"/messages/{number}/delegate", to="ben", note="call them")
    assert "call them" in answer.text
    assert "delegated" in plain(answer.text)
    assert anna.send(f"/messages/{number}/delegate", to=" ").status_code == 422


@pytest.mark.thorough
def test_an_edit_is_checked_before_it_is_saved_and_done_once(site: Site) -> None:
    """Nothing is stored by the check; the form sent twice makes one campaign; the undo takes it back."""
    anna = Visitor(site, Role.CONSULTANT)
    number = failing(site)[0]
    page = anna.get(f"/messages/{number}/edit").text
    xml = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.S)
    key = re.search(r'name="key" value="([^"]+)"', page)
    assert xml
    assert key
    text = html.unescape(xml.group(1))
    right = text.replace('unit="Wh"', 'unit="kWh"').replace('value="1250"', 'value="1205"')
    broken = anna.send(f"/messages/{number}/edit/check", xml=text.replace("MeterReading", "Reading"))
    assert "cannot replace the original" in broken.text
    cut = plain(anna.send(f"/messages/{number}/edit/check", xml=text[:40]).text)
    assert "expected the document to its end." in cut
    assert "fetch" not in cut
    checked = anna.send(f"/messages/{number}/edit/check", xml=right)
    assert "frees 1 message" in checked.text
    assert 'class="add"' in checked.text
    assert rows(site, "SELECT count(*) FROM campaign") == [(0,)]
    refused = anna.send(f"/messages/{number}/edit", xml=right, why="", key=key.group(1))
    assert refused.status_code == 422
    for _ in range(2):
        saved = anna.send(f"/messages/{number}/edit", xml=right, why="a typing mistake", key=key.group(1))
        assert saved.status_code == 200
        assert "a typing mistake" in saved.text
    assert rows(site, "SELECT count(*) FROM campaign") == [(1,)]
    assert number not in failing(site)
    anna.send("/campaigns/1/undo")
    until(lambda: rows(site, "SELECT state FROM campaign") == [("undone",)])
    assert number in failing(site)


def tried(site: Site, visitor: Visitor) -> str:
    """Address of a dry run of the script that helps, when it is over."""
    address = str(visitor.send("/failures/scripts/relabel-unit", code=CODE).url.path)
    until(lambda: "would be freed" in visitor.get(address).text)
    return address


def test_a_second_click_finds_the_campaign_of_the_first(site: Site) -> None:
    """One campaign, done once, however often its form is sent."""
    anna = Visitor(site, Role.CONSULTANT)
    address = tried(site, anna)
    places = {str(anna.send(f"{address}/run", why="confirmed").url.path) for _ in range(3)}
    assert places == {"/campaigns/1"}
    until(lambda: rows(site, "SELECT state, freed FROM campaign") == [("done", 3)])
    assert str(anna.send(f"{address}/run", why="once more").url.path) == "/campaigns/1"
    assert rows(site, "SELECT count(*) FROM kernel_message WHERE version = 2") == [(3,)]


def test_with_four_eyes_a_campaign_waits_for_somebody_else(arrived: Path, tmp_path: Path) -> None:
    shutil.copy(arrived, tmp_path / "eyes.db")
    url = f"sqlite:///{tmp_path / 'eyes.db'}"
    site = Site(url, configured(url, correction=CorrectionSettings(four_eyes=True)))
    anna, ben = Visitor(site, Role.CONSULTANT), Visitor(site, Role.CONSULTANT, person="ben")
    anna.send(f"{tried(site, anna)}/run", why="confirmed")
    assert rows(site, "SELECT state FROM campaign") == [("planned",)]
    assert "Approve and run" not in anna.get("/campaigns/1").text
    assert anna.send("/campaigns/1/approve").status_code == 422
    assert "Approve and run" in ben.get("/campaigns/1").text
    ben.send("/campaigns/1/approve")
    until(lambda: rows(site, "SELECT state, approved_by FROM campaign") == [("done", "ben")])
    site.app.state.workbench.close()
    site.app.state.services.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "Campaign 1 of anna is proposed for 1 message of this one"),
        ("fr", "La campagne 1 de anna est proposée pour 1 message de celle-ci"),
        ("nl", "Campagne 1 van anna is voorgesteld voor 1 bericht van deze"),
    ],
)
def test_who_proposes_something_for_a_message_that_has_a_proposal_is_told(
    arrived: Path, tmp_path: Path, language: str, told: str
) -> None:
    """An edit beside a script, with four eyes: both proposers and who approves read it; one of the two is done."""
    shutil.copy(arrived, tmp_path / "eyes.db")
    url = f"sqlite:///{tmp_path / 'eyes.db'}"
    site = Site(url, configured(url, correction=CorrectionSettings(four_eyes=True)))
    anna, ben = Visitor(site, Role.CONSULTANT), Visitor(site, Role.CONSULTANT, person="ben")
    anna.send(f"{tried(site, anna)}/run", why="confirmed")
    wrong = MessageFilter(codes=(CODE,), access_point=WRONG[0])
    number = list_messages(site.store.engine, wrong).messages[0].id
    path = f"/messages/{number}/edit"
    written = re.search(r"<textarea[^>]*>(.*?)</textarea>", ben.get(path).text, re.S)
    assert written
    ben.client.headers["accept-language"] = language
    right = html.unescape(written.group(1)).replace('unit="Wh"', 'unit="kWh"')
    assert told in plain(ben.send(path, xml=right, why="by hand").text)
    assert "Campaign 2 of ben is proposed for 1 message of this one" in plain(anna.get("/campaigns/1").text)
    anna.send("/campaigns/2/approve")
    until(lambda: rows(site, "SELECT state FROM campaign WHERE id = 2") == [("done",)])
    assert "is proposed for" not in plain(anna.get("/campaigns/1").text)
    ben.send("/campaigns/1/approve")
    until(lambda: rows(site, "SELECT state FROM campaign WHERE id = 1") == [("done",)])
    assert rows(site, f"SELECT count(*) FROM kernel_message WHERE corrects = {number}") == [(1,)]
    skipped = "SELECT message_id, state FROM campaign_item WHERE campaign_id = 1 AND state = 'skipped' AND note <> ''"
    assert rows(site, skipped) == [(number, "skipped")]
    site.app.state.workbench.close()
    site.app.state.services.close()


def test_a_campaign_that_was_cut_off_offers_to_go_on(lite: Site, anna: Visitor) -> None:
    """As after the death of the process that ran it: it is running, and nobody works on it."""
    anna.send(f"{tried(lite, anna)}/run", why="confirmed")
    until(lambda: rows(lite, "SELECT state FROM campaign") == [("done",)])
    with lite.store.transaction() as tx:
        tx.driver.run("UPDATE campaign SET state = 'running'")
    assert "It does not run in this process" in anna.get("/campaigns/1").text
    anna.send("/campaigns/1/cancel")
    assert rows(lite, "SELECT state FROM campaign") == [("cancelled",)]
    assert "Go on" in anna.get("/campaigns/1").text
    anna.send("/campaigns/1/resume")
    until(lambda: rows(lite, "SELECT state FROM campaign") == [("done",)])


def test_a_wrong_parameter_of_a_script_is_refused_in_words(anna: Visitor) -> None:
    answer = anna.send("/failures/scripts/set-field", code=CODE)
    assert answer.status_code == 422
    assert "needs the parameter" in answer.text
    assert anna.send("/failures/scripts/nobody-wrote-this").status_code == 422
    assert anna.get("/trials/nobody-tried-this").status_code == 404


def test_a_ticket_is_taken_up_dated_noted_and_closed(lite: Site, anna: Visitor) -> None:
    anna.send(f"/failures/code/{CODE}/tickets", owner="anna", due="3")
    until(lambda: rows(lite, "SELECT count(*) FROM ticket") == [(1,)])
    changed = anna.send("/tickets/1", state="waiting", owner="ben", due="2027-01-31", note="asked the operator")
    words = plain(changed.text)
    assert "ben" in words
    assert "2027-01-31" in words
    assert "asked the operator" in words
    assert anna.send("/tickets/1", link="javascript:alert(1)").status_code == 422
    assert anna.send("/tickets/1", state="lost").status_code == 422
    assert "Ticket" in plain(anna.get("/tickets?state=waiting&owner=ben").text)
    anna.send("/tickets/1", state="closed")
    assert rows(lite, "SELECT state FROM ticket") == [("closed",)]


def test_the_title_of_a_ticket_names_whose_fault_it_is_in_words_of_the_reader(lite: Site, anna: Visitor) -> None:
    """In the list and on its page; no name of the store."""
    anna.send(f"/failures/code/{CODE}/tickets", owner="anna", due="3")
    until(lambda: rows(lite, "SELECT id FROM ticket"))
    for language, blamed in (("en", "grid operator"), ("fr", "gestionnaire de réseau"), ("nl", "netbeheerder")):
        for path in ("/tickets", "/tickets/1"):
            told = plain(anna.get(path, **{"accept-language": language}).text)
            assert f"({blamed})" in told
            assert "grid_operator" not in told


def test_what_a_market_writes_is_never_markup(lite: Site, anna: Visitor) -> None:
    with lite.store.transaction() as tx:
        tx.connection.execute(
            tables.finding.update().values(comment="<script>alert(1)</script>", value='"><img src=x onerror=alert(2)>')
        )
    page = anna.get(f"/messages/{failing(lite)[0]}").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_language_and_theme_are_remembered(anna: Visitor) -> None:
    assert 'lang="fr"' in anna.get("/preferences?language=fr&then=/messages").text
    page = anna.get("/messages").text
    assert "Point de livraison" in page
    assert 'data-theme="dark"' in anna.get("/preferences?theme=dark&then=/").text
    assert anna.get("/preferences?language=xx&then=//evil.example").url.host == "gateway.test"
