"""Rows chosen in a list: every action is tried first and shown, then done, by whom it is allowed to."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from energycomm.correction.tickets import tickets
from energycomm.eis import tables
from energycomm.eis.envelopes import list_envelopes, show_envelope
from energycomm.eis.messages import MessageFilter, list_messages
from energycomm.eis.requests import requests_of
from energycomm.webservice.audit import list_audit
from energycomm.webservice.roles import Role, Scope
from tests.console.conftest import until
from tests.console.scene import CODE, FAILING, Visitor
from tests.correction.tracker_servers import TOKEN, serving
from tests.eis.rows import put
from tests.webservice.conftest import Site, configured


def failing(site: Site) -> list[int]:
    return [one.id for one in list_messages(site.store.engine, MessageFilter(codes=(CODE,))).messages]


def accepted(site: Site) -> int:
    return list_messages(site.store.engine, MessageFilter(state="accepted")).messages[0].id


def states(site: Site) -> dict[int, str]:
    return {one.id: one.state for one in list_messages(site.store.engine, limit=500).messages}


def over(visitor: Visitor, answer: Any) -> Any:
    """The page of a job once it is over."""
    assert answer.status_code == 200, answer.text
    path = str(answer.url.path)
    until(lambda: "every 1s" not in visitor.get(path).text)
    return visitor.get(path)


def words(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))


def test_a_replay_is_tried_and_nothing_is_changed_until_it_is_confirmed(site: Site) -> None:
    anna, before = Visitor(site, Role.CONSULTANT), states(site)
    ids = failing(site)
    tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "replay", [*ids, accepted(site)])))
    told = f"{FAILING} messages would be judged again, 0 with another outcome; nothing is changed yet."
    assert told in words(tried)
    assert "only what is refused or waits is sent back" in words(tried)
    assert states(site) == before
    assert anna.send(f"{tried.url.path}/do", why="").status_code == 422
    done = over(anna, anna.send(f"{tried.url.path}/do", why="the rule was mended"))
    assert f"{FAILING} messages were judged again, 0 with another outcome." in words(done)
    assert anna.send(f"{tried.url.path}/do", why="again").url.path == done.url.path
    found = anna.get(f"/messages/{ids[0]}")
    assert "the rule was mended" in found.text


def form(visitor: Visitor, action: str, ids: list[int], name: str = "action") -> dict[str, Any]:
    found = re.search(r'name="csrf" value="([^"]+)"', visitor.get("/").text)
    assert found
    return {"csrf": found.group(1), name: action, "chosen": [str(one) for one in ids]}


def test_chosen_messages_are_delegated(lite: Site, anna: Visitor) -> None:
    ids = failing(lite)[:2]
    tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "delegate", [*ids, accepted(lite)])))
    assert "2 rows would be changed" in words(tried)
    assert "only what is refused is delegated" in words(tried)
    assert {states(lite)[one] for one in ids} == {"rejected"}
    over(anna, anna.send(f"{tried.url.path}/do", to="ben", why="call the grid operator"))
    assert {states(lite)[one] for one in ids} == {"delegated"}
    assert "ben" in anna.get(f"/messages/{ids[0]}").text


def test_chosen_messages_get_tickets_and_tickets_are_closed(lite: Site, anna: Visitor) -> None:
    ids = failing(lite)
    tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "ticket", [ids[0], accepted(lite)])))
    assert "1 row would be changed" in words(tried)
    assert tickets(lite.store) == []
    over(anna, anna.send(f"{tried.url.path}/do", to="anna", due="3"))
    (made,) = tickets(lite.store)
    assert (made.owner, made.messages) == ("anna", (ids[0],))
    again = over(anna, anna.client.post("/messages/selected", data=form(anna, "ticket", [ids[0]])))
    assert "0 rows would be changed" in words(again)
    tried = over(anna, anna.client.post("/tickets/selected", data=form(anna, "close", [made.id])))
    assert tickets(lite.store)[0].state == "open"
    over(anna, anna.send(f"{tried.url.path}/do"))
    assert tickets(lite.store)[0].state == "closed"


def test_chosen_tickets_go_to_the_tracker_once_and_a_dry_run_tells_nobody(
    arrived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", TOKEN)
    shutil.copy(arrived, tmp_path / "eis.db")
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    with serving("webhook") as tracker:
        hook = {"name": "desk", "kind": "webhook", "url": tracker.url, "token_env": "HOOK_TOKEN"}
        here = Site(url, configured(url, trackers=[hook]))
        anna = Visitor(here, Role.CONSULTANT)
        tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "ticket", failing(here)[:1])))
        over(anna, anna.send(f"{tried.url.path}/do", to="anna", due="3"))
        (made,) = tickets(here.store)
        assert 'name="action" value="export"' in anna.get("/tickets").text
        tried = over(anna, anna.client.post("/tickets/selected", data=form(anna, "export", [made.id])))
        assert "1 row would be changed" in words(tried)
        assert tracker.asked == []
        over(anna, anna.send(f"{tried.url.path}/do"))
        assert len(tracker.issues) == 1
        again = over(anna, anna.client.post("/tickets/selected", data=form(anna, "export", [made.id])))
        told = over(anna, anna.send(f"{again.url.path}/do"))
        assert "the tracker knows it as it is" in words(told)
        assert len(tracker.issues) == 1
        here.app.state.workbench.close()
        here.app.state.services.close()


def test_without_a_tracker_no_ticket_is_exported(lite: Site, anna: Visitor) -> None:
    tried = over(anna, anna.client.post("/messages/selected", data=form(anna, "ticket", failing(lite)[:1])))
    over(anna, anna.send(f"{tried.url.path}/do", to="anna", due="3"))
    (made,) = tickets(lite.store)
    tried = over(anna, anna.client.post("/tickets/selected", data=form(anna, "export", [made.id])))
    assert "no tracker is configured" in words(tried)


def test_chosen_rows_are_taken_away_in_the_order_that_was_chosen(lite: Site, anna: Visitor) -> None:
    ids = failing(lite)[:2]
    answer = anna.client.post("/messages/selected/file", data=form(anna, "csv", ids, "form"))
    _, *rows = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))
    assert [int(row[0]) for row in rows] == ids
    last = list_audit(lite.store, limit=20).entries
    line = next(one for one in last if one.what.endswith("/messages/selected/file"))
    assert (line.action, line.subject) == ("read", f"messages {ids[0]} {ids[1]}")


def test_dead_requests_are_sent_again(site: Site) -> None:
    message = accepted(site)
    with site.store.transaction() as tx:
        told = [
            {"message_id": message, "content": b"<a/>", "reference": f"R-{state}", "state": state}
            for state in ("dead", "done")
        ]
        dead, done = put(tx, tables.outgoing, *told)
    anna = Visitor(site, Role.CONSULTANT)
    assert f'name="chosen" value="{dead}"' in anna.get("/requests?state=dead").text
    tried = over(anna, anna.client.post("/requests/selected", data=form(anna, "resend", [dead, done])))
    assert "1 row would be changed" in words(tried)
    assert "it is not dead, or another answer was made in its place" in words(tried)
    assert requests_of(site.store.engine, [dead])[0].state == "dead"
    over(anna, anna.send(f"{tried.url.path}/do"))
    assert [one.state for one in requests_of(site.store.engine, [done, dead])] == ["done", "built"]
    answer = anna.client.post("/requests/selected/file", data=form(anna, "csv", [done, dead], "form"))
    assert [row[4] for row in csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))][1:] == ["R-done", "R-dead"]


def test_who_may_send_again_is_the_same_in_the_console_and_in_the_api(lite: Site) -> None:
    """Consultants and operators; a session or a token without the scope for it does neither."""
    message = accepted(lite)
    with lite.store.transaction() as tx:
        told = [
            {"message_id": message, "content": b"<a/>", "reference": f"R-{number}", "state": "dead"}
            for number in range(3)
        ]
        first, second, third = put(tx, tables.outgoing, *told)
    for role, number in ((Role.CONSULTANT, first), (Role.OPERATOR, second)):
        caller = lite.caller(role)
        assert caller.post(f"/api/v1/requests/{number}/retry").status_code == 200
    narrow = frozenset({Scope.READ, Scope.CORRECT})
    program = lite.caller(Role.CONSULTANT, person="eva", scopes=narrow)
    assert program.post(f"/api/v1/requests/{third}/retry").status_code == 403
    eva = Visitor(lite, Role.CONSULTANT, person="eva", scopes=narrow)
    assert 'value="resend"' not in eva.get("/requests?state=dead").text
    assert eva.client.post("/requests/selected", data=form(eva, "resend", [third])).status_code == 403
    anna = Visitor(lite, Role.CONSULTANT)
    assert 'value="resend"' in anna.get("/requests?state=dead").text
    tried = over(anna, anna.client.post("/requests/selected", data=form(anna, "resend", [third])))
    assert eva.send(f"{tried.url.path}/do").status_code == 403
    assert requests_of(lite.store.engine, [third])[0].state == "dead"


def test_envelopes_are_processed_again(site: Site) -> None:
    listed = list_envelopes(site.store.engine, limit=100).envelopes
    broken, whole = listed[0].id, listed[1].id
    with site.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET state = 'failed' WHERE id = ?", (broken,))
    anna = Visitor(site, Role.CONSULTANT)
    assert f'name="chosen" value="{broken}"' in anna.get("/envelopes").text
    tried = over(anna, anna.client.post("/envelopes/selected", data=form(anna, "process", [broken, whole])))
    assert "1 row would be changed" in words(tried)
    assert "nothing of it was put aside or refused" in words(tried)
    assert show_envelope(site.store.engine, broken).summary.state == "failed"  # type: ignore[union-attr]
    over(anna, anna.send(f"{tried.url.path}/do"))
    assert show_envelope(site.store.engine, broken).summary.state == "processing"  # type: ignore[union-attr]


def test_who_sees_envelopes_only_takes_them_away(lite: Site) -> None:
    number = list_envelopes(lite.store.engine).envelopes[0].id
    otto = Visitor(lite, Role.OPERATOR, person="otto")
    assert 'value="process"' not in otto.get("/envelopes").text
    answer = otto.client.post("/envelopes/selected/file", data=form(otto, "csv", [number], "form"))
    assert [row[0] for row in csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")))][1:] == [str(number)]
    assert otto.client.post("/envelopes/selected", data=form(otto, "process", [number])).status_code == 403
    assert otto.client.post("/messages/selected/file", data=form(otto, "csv", [1], "form")).status_code == 403


def test_who_may_only_read_takes_rows_away_and_does_nothing(lite: Site) -> None:
    ben = Visitor(lite, Role.BACK_OFFICE, person="ben")
    shown = ben.get("/messages").text
    assert 'name="form" value="csv"' in shown
    assert 'value="replay"' not in shown
    ids = failing(lite)
    assert ben.client.post("/messages/selected", data=form(ben, "replay", ids)).status_code == 403
    assert ben.client.post("/messages/selected/file", data=form(ben, "csv", ids, "form")).status_code == 200


@pytest.mark.parametrize(
    ("path", "action", "ids", "status"),
    [
        ("/messages/selected", "replay", [], 422),
        ("/messages/selected", "replay", [99_999], 404),
        ("/messages/selected", "close", [1], 404),
        ("/tickets/selected", "replay", [1], 404),
        ("/messages/selected", "replay", list(range(1, 600)), 422),
        ("/campaigns/selected", "replay", [1], 422),
        ("/requests/selected", "resend", [99_999], 404),
        ("/envelopes/selected", "resend", [1], 404),
    ],
)
def test_what_cannot_be_chosen_is_refused(anna: Visitor, path: str, action: str, ids: list[int], status: int) -> None:
    assert anna.client.post(path, data=form(anna, action, ids)).status_code == status
