"""Two consultants work on the same thing at the same time: whoever comes later is told, and nothing is overwritten."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from energycomm.console.trials import campaign_key
from energycomm.correction.tickets import Changed, change_ticket, delegate, tickets
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.webservice.roles import Role
from tests.console.conftest import until
from tests.console.scene import CODE, WRONG, Visitor
from tests.console.test_english_words import Reader, english
from tests.console.test_selection import form, over, states, words
from tests.webservice.conftest import Site


def two(site: Site) -> tuple[Visitor, Visitor]:
    return Visitor(site, Role.CONSULTANT), Visitor(site, Role.CONSULTANT, person="ben")


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def filled(page: Any, action: str) -> dict[str, str]:
    """The form of a page that goes to an address, as a browser would send it."""
    inside = re.search(rf'<form[^>]*action="{action}".*?</form>', page.text, re.DOTALL)
    assert inside, f"no form for {action}"
    tags = re.findall(r"<input[^>]*>", inside[0])
    found = {_first(r'name="(\w+)"', tag): html.unescape(_first(r'value="([^"]*)"', tag)) for tag in tags}
    found |= {
        name: html.unescape(text)
        for name, text in re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>(.*?)</textarea>', inside[0], re.DOTALL)
    }
    for name, choices in re.findall(r'<select name="(\w+)">(.*?)</select>', inside[0], re.DOTALL):
        found[name] = _first(r'value="(\w+)" selected', choices)
    return found


def ticket_of(site: Site, visitor: Visitor) -> int:
    visitor.send(f"/failures/code/{CODE}/tickets", owner="anna", due="3")
    until(lambda: tickets(site.store))
    return tickets(site.store)[0].id


def number_of(site: Site) -> int:
    return list_messages(site.store.engine, MessageFilter(access_point=WRONG[0], codes=(CODE,))).messages[0].id


def test_who_saves_a_ticket_after_somebody_else_is_told_and_loses_nothing(site: Site) -> None:
    anna, ben = two(site)
    path = f"/tickets/{ticket_of(site, anna)}"
    hers, his = filled(anna.get(path), path), filled(ben.get(path), path)
    assert ben.client.post(path, data=his | {"state": "closed", "owner": "ben"}).status_code == 200
    refused = anna.client.post(path, data=hers | {"note": "asked the operator", "owner": "carla"})
    assert refused.status_code == 409
    assert "Somebody else changed this ticket meanwhile: nothing is saved." in words(refused)
    (kept,) = tickets(site.store)
    assert (kept.state, kept.owner) == ("closed", "ben")
    assert "asked the operator" not in anna.get(path).text
    again = filled(refused, path)
    assert (again["note"], again["owner"]) == ("asked the operator", "carla")
    saved = anna.client.post(path, data=again)
    assert "asked the operator" in words(saved)
    assert tickets(site.store)[0].owner == "carla"


def test_what_a_form_leaves_as_it_was_is_not_written_and_what_it_empties_is_empty(site: Site) -> None:
    anna, _ = two(site)
    path = f"/tickets/{ticket_of(site, anna)}"
    anna.client.post(
        path, data=filled(anna.get(path), path) | {"state": "closed", "link": "https://tracker.example/T-1"}
    )
    (closed,) = tickets(site.store)
    anna.client.post(path, data=filled(anna.get(path), path) | {"note": "done", "owner": "", "due": "", "link": ""})
    (noted,) = tickets(site.store)
    assert (noted.state, noted.closed_at) == ("closed", closed.closed_at)
    assert (noted.owner, noted.due, noted.link) == (None, None, None)


def test_a_ticket_that_is_another_than_was_seen_is_not_changed(site: Site) -> None:
    """Even between the look at it and the change."""
    anna, _ = two(site)
    seen = next(one for one in tickets(site.store, ticket_id=ticket_of(site, anna)))
    change_ticket(site.store, seen.id, state="waiting")
    with pytest.raises(Changed):
        change_ticket(site.store, seen.id, owner="ben", seen=seen)
    assert tickets(site.store)[0].owner == "anna"


def test_a_message_that_was_given_away_is_not_given_to_somebody_else_unseen(site: Site) -> None:
    anna, ben = two(site)
    number = number_of(site)
    path = f"/messages/{number}"
    hers, his = (filled(one.get(path), f"{path}/delegate") for one in (anna, ben))
    anna.client.post(f"{path}/delegate", data=hers | {"to": "carla", "note": "hers"})
    refused = ben.client.post(f"{path}/delegate", data=his | {"to": "dirk", "note": "his"})
    assert refused.status_code == 409
    assert "Somebody else changed the message meanwhile" in words(refused)
    assert (
        f'href="{path}"'
        in ben.client.post(f"{path}/delegate", data=his, headers={"referer": f"http://gateway.test{path}"}).text
    )
    shown = words(ben.get(path))
    assert "carla" in shown
    assert "dirk" not in shown
    ben.client.post(f"{path}/delegate", data=filled(ben.get(path), f"{path}/delegate") | {"to": "dirk"})
    assert "dirk" in words(ben.get(path))


@pytest.mark.thorough
def test_rows_that_changed_after_they_were_tried_are_left_alone_and_told(site: Site) -> None:
    anna, ben = two(site)
    ids = [one.id for one in list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages]
    tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "delegate", ids[:2])))
    delegate(site.store, ids[:1], "dirk", "ben", "his")
    done = over(anna, anna.send(f"{tried.url.path}/do", to="carla", why="hers"))
    assert "1 row was changed." in words(done)
    assert "it was changed after it was tried: look at it again" in words(done)
    assert "carla" not in words(ben.get(f"/messages/{ids[0]}"))
    assert "carla" in words(ben.get(f"/messages/{ids[1]}"))
    number = ticket_of(site, anna)
    tried = over(anna, anna.client.post("/tickets/selected", data=form(anna, "close", [number])))
    ben.send(f"/tickets/{number}", state="waiting")
    done = over(anna, anna.send(f"{tried.url.path}/do"))
    assert "0 rows were changed." in words(done)
    assert tickets(site.store, ticket_id=number)[0].state == "waiting"


def test_who_replays_what_a_colleague_replayed_meanwhile_is_told(lite: Site) -> None:
    """It is judged once; the other sees why it was left alone."""
    anna, ben = two(lite)
    number = number_of(lite)
    hers, his = (
        over(one, one.client.post("/messages/selected", data=form(one, "replay", [number]))) for one in (anna, ben)
    )
    assert "1 message was judged again" in words(over(anna, anna.send(f"{hers.url.path}/do", why="hers")))
    done = words(over(ben, ben.send(f"{his.url.path}/do", why="his")))
    assert "0 messages were judged again" in done
    assert "it was changed after it was tried: look at it again" in done
    sql = f"SELECT count(*) FROM state_change WHERE message_id = {number} AND \"by\" = 'ben'"
    assert lite.store.engine.connect().exec_driver_sql(sql).scalar() == 0


def test_a_campaign_that_two_people_undo_is_undone_once(lite: Site) -> None:
    """A correction that was made since stays, whoever clicks on the undo of the first."""
    anna, ben = two(lite)
    number = number_of(lite)
    path = f"/messages/{number}/edit"
    for why in ("first", "second"):
        page = filled(anna.get(path), path)
        anna.client.post(path, data=page | {"xml": page["xml"].replace('unit="Wh"', 'unit="kWh"'), "why": why})
        assert states(lite)[number] == "treated"
        if why == "first":
            for one in (anna, ben):
                one.send("/campaigns/1/undo")
                until(lambda: states(lite)[number] == "rejected")
    assert ben.send("/campaigns/1/undo").status_code == 200
    until(lambda: lite.app.state.workbench.latest(campaign_key(1)).look().over)
    assert states(lite)[number] == "treated"


@pytest.mark.parametrize("language", ["en", "fr", "nl"])
def test_who_edits_what_a_colleague_corrected_is_led_to_the_correction(lite: Site, language: str) -> None:
    """Nothing is stored, what was typed is there still, in the language of the reader."""
    anna, ben = two(lite)
    ben.client.headers["accept-language"] = language
    number = number_of(lite)
    path = f"/messages/{number}/edit"
    hers, his = filled(anna.get(path), path), filled(ben.get(path), path)
    mended = {"xml": hers["xml"].replace('unit="Wh"', 'unit="kWh"'), "why": "unit confirmed"}
    assert "/campaigns/" in str(anna.client.post(path, data=hers | mended).url)
    assert states(lite)[number] == "treated"
    refused = ben.client.post(path, data=his | mended | {"why": "his reason"})
    assert refused.status_code == 422
    (version,) = (
        one.id
        for one in list_messages(lite.store.engine, MessageFilter(access_point=WRONG[0])).messages
        if one.version == 2
    )
    said = {
        "en": "was corrected before, by message",
        "fr": "a déjà été corrigé, par le message",
        "nl": "eerder gecorrigeerd, door bericht",
    }
    assert f"{said[language]} {version}" in words(refused)
    again = filled(refused, path)
    assert (again["why"], again["xml"].strip()) == ("his reason", mended["xml"].strip())
    assert len(lite.store.engine.connect().exec_driver_sql("SELECT id FROM campaign").all()) == 1
    if language != "en":
        assert [text for text in Reader(refused.text).texts if english(text)] == []


@pytest.mark.thorough
def test_what_a_form_is_refused_with_is_in_the_language_of_the_reader(lite: Site) -> None:
    """Every refusal that a consultant's forms give, in French and in Dutch."""
    number = number_of(lite)
    anna, _ = two(lite)
    path, ticket = f"/messages/{number}/edit", f"/tickets/{ticket_of(lite, anna)}"
    xml = filled(anna.get(path), path)["xml"]
    stale = filled(anna.get(ticket), ticket)
    anna.send(ticket, state="waiting")
    forms = [
        (path, {"xml": xml, "why": "x"}),
        (path, {"xml": xml.replace("/>", "", 1), "why": "x"}),
        (path, {"xml": xml.replace('unit="Wh"', 'unit="furlong"'), "why": "x"}),
        (path, {"xml": xml.replace("MeterReading", "MeterData"), "why": "x"}),
        (path, {"xml": xml.replace('unit="Wh"', 'unit="kWh"')}),
        (f"{path}/check", {"xml": xml.replace('unit="Wh"', 'unit="furlong"')}),
        ("/messages/1/edit", {"xml": xml, "why": "x"}),
        ("/messages/1/delegate", {"to": "ben"}),
        (f"/messages/{number}/delegate", {}),
        (f"/messages/{number}/delegate", {"to": "ben", "seen": "1"}),
        (ticket, stale | {"owner": "ben"}),
        (ticket, {"link": "javascript:alert(1)"}),
        (ticket, {"due": "tomorrow"}),
        (ticket, {"state": "lost"}),
        ("/messages/selected", {"action": "replay"}),
        ("/messages/selected", {"action": "nonsense", "chosen": "1"}),
        ("/trials/nobody/do", {}),
        ("/campaigns/99/undo", {}),
        (f"/failures/code/{CODE}/tickets", {"due": "-1"}),
        ("/failures/scripts/set-field", {"code": CODE}),
        ("/failures/scripts/nobody-wrote-this", {}),
        ("/views", {"what": "messages", "name": "", "query": ""}),
        ("/messages/99999/edit", {"xml": xml, "why": "x"}),
    ]
    for language in ("fr", "nl"):
        anna.client.headers["accept-language"] = language
        left: dict[str, list[str]] = {}
        for at, fields in forms:
            answer = anna.send(at, **{name: value for name, value in fields.items() if name != "csrf"})
            assert answer.status_code in (200, 404, 409, 422), f"{at} {fields}: {answer.status_code}"
            assert answer.status_code != 200 or at.endswith("/check"), f"{at} {fields} was done"
            found = [" ".join(text.split()) for text in Reader(answer.text).texts if english(text)]
            if found:
                left[f"{at} {list(fields)}"] = found
        assert left == {}
