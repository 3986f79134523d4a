"""The page of channels and workers, and its twin in the API."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from energycomm.daemon import alarming
from energycomm.eis.alarm_states import Known
from energycomm.eis.channels import note, sign
from energycomm.kernel.instants import now_micros
from energycomm.webservice.roles import Role
from tests.console.scene import Visitor
from tests.webservice.conftest import Site, configured

INBOX = {"name": "inbox", "market": "FR", "direction": "in", "kind": "folder", "path": "in"}
WORKERS = [{"number": 1, "pid": 7, "state": "idle", "envelope": None, "leads": ["poll/inbox"]}]
ALARM = {"alarm": "CHANNEL_FAILING", "subject": "inbox", "detail": "the disk is gone"}


@pytest.fixture
def office(arrived: Path, tmp_path: Path) -> Iterator[Site]:
    """The web services with a channel that failed, and a daemon that gave a sign an hour ago."""
    shutil.copy(arrived, tmp_path / "eis.db")
    url = f"sqlite:///{tmp_path / 'eis.db'}"
    made = Site(url, configured(url, channels=[INBOX], notify={"folder": str(tmp_path)}))
    now = now_micros()
    note(made.store, "inbox", "host-1", now, "<b>no such folder</b>")
    then = now - 3_600_000_000
    sign(made.store, "host-1:9464", then, then, {"ready": True, "workers": WORKERS, "alarms": [ALARM]})
    yield made
    made.app.state.workbench.close()
    made.app.state.services.close()


def test_an_operator_sees_how_channels_are_and_pauses_them(office: Site) -> None:
    oscar = Visitor(office, Role.OPERATOR)
    page = oscar.get("/channels").text
    assert "&lt;b&gt;no such folder&lt;/b&gt;" in page
    assert "silent" in page
    assert "CHANNEL_FAILING" in page
    assert oscar.send("/channels/inbox/pause", why="until Monday").status_code == 200
    assert "until Monday" in oscar.get("/channels").text
    api = office.caller(Role.OPERATOR, person="ola")
    inbox, back_office = api.get("/api/v1/channels").json()
    assert (inbox["state"], inbox["paused_by"], back_office["name"]) == ("paused", "anna", "back office")
    assert api.post("/api/v1/channels/inbox/resume").json()["state"] == "failing"
    assert api.post("/api/v1/channels/back%20office/pause", json={"why": "ERP upgrade"}).json()["why"] == "ERP upgrade"
    assert api.post("/api/v1/channels/inbox/try").status_code == 200
    refused = api.post("/api/v1/channels/back%20office/try")
    assert (refused.status_code, refused.json()["detail"]) == (409, "back office is paused: nobody tries it.")
    assert "energycomm channel resume 'back office'" in refused.json()["advice"]
    assert oscar.send("/channels/back%20office/try").status_code == 409
    assert [one["silent"] for one in api.get("/api/v1/daemons").json()] == [True]
    lines = office.store.engine.connect().exec_driver_sql("SELECT person, what FROM audit WHERE action = 'change'")
    assert {tuple(line) for line in lines} >= {
        ("anna", "POST /channels/inbox/pause"),
        ("ola", "POST /api/v1/channels/inbox/resume"),
    }


def test_who_asks_for_an_attempt_is_told_that_it_is_made(office: Site) -> None:
    oscar = Visitor(office, Role.OPERATOR)
    assert "inbox is tried at once" in oscar.send("/channels/inbox/try").text
    assert "is tried at once" not in oscar.get("/channels?asked=nobody").text


def test_a_wrong_name_is_refused_with_the_right_one(office: Site) -> None:
    answer = office.caller(Role.OPERATOR).post("/api/v1/channels/inbx/try")
    assert (answer.status_code, "inbox" in answer.text) == (404, True)


def test_who_does_not_operate_looks_and_changes_nothing(office: Site) -> None:
    anna = Visitor(office, Role.CONSULTANT)
    page = anna.get("/channels").text
    assert "inbox" in page
    assert 'action="/channels' not in page
    assert anna.send("/channels/inbox/pause").status_code == 403


def test_the_page_is_french_for_french_readers(office: Site) -> None:
    page = Visitor(office, Role.OPERATOR).get("/channels", **{"accept-language": "fr"}).text
    assert "Canaux et processus" in page
    assert "en échec" in page


def test_alarms_are_on_the_page_of_health_with_what_to_do(office: Site) -> None:
    """No daemon gave a sign for an hour: the console says so, in the reader's language, and so does the API."""
    oscar = Visitor(office, Role.OPERATOR)
    assert "Start `energycomm daemon`" in oscar.get("/state").text
    assert "Démarrez `energycomm daemon`" in oscar.get("/state", **{"accept-language": "fr"}).text
    assert office.caller(Role.OPERATOR).get("/api/v1/health").json()["alarms"] == (
        office.caller(Role.OPERATOR).get("/api/v1/alarms").json()
    )
    (alarm,) = office.caller(Role.OPERATOR).get("/api/v1/alarms").json()
    assert (alarm["alarm"], alarm["urgent"]) == ("NO_DAEMON", True)


def test_the_front_page_counts_the_alarms(office: Site) -> None:
    """Nobody is told there that nothing is stuck while a daemon or a channel is down; without an alarm, no line."""
    oscar = Visitor(office, Role.OPERATOR)
    assert '<a href="/state">Alarms</a></dt><dd class="num"><span class="alarm">1</span>' in oscar.get("/").text
    with office.store.transaction() as tx:
        tx.driver.run("DELETE FROM daemon_state")
    assert oscar.get("/state").text.count("No alarms.") == 1
    assert "Alarms" not in oscar.get("/").text


@pytest.mark.thorough
@pytest.mark.parametrize(("language", "before"), [("fr", "le système dit"), ("nl", "het systeem zegt")])
def test_what_a_system_says_is_set_apart_for_who_reads_another_language(
    office: Site, language: str, before: str
) -> None:
    """As a quotation in English, whoever reads it aloud; what is ours is translated."""
    oscar = Visitor(office, Role.OPERATOR)
    said = {"alarm": "CHANNEL_FAILING", "subject": "inbox", "detail": "Connection <reset> by peer"}
    ours = {"alarm": "REQUEST_DEAD", "subject": "requests", "detail": "2 requests were put aside"}
    sign(
        office.store, "host-1:9464", now_micros(), now_micros(), {"ready": True, "workers": [], "alarms": [said, ours]}
    )
    channels = oscar.get("/channels", **{"accept-language": language}).text
    health = oscar.get("/state", **{"accept-language": language}).text
    assert f"{before} " in channels
    assert '<span lang="en">&lt;b&gt;no such folder&lt;/b&gt;</span>' in channels
    assert '<span lang="en">Connection &lt;reset&gt; by peer</span>' in health
    assert "put aside" not in health
    assert '<span lang="en">' not in oscar.get("/channels", **{"accept-language": "en"}).text
    told = alarming.told(
        ("CHANNEL_FAILING", "inbox"), "on", Known(since=now_micros(), detail="Reset by peer"), language
    )
    assert told.detail.startswith(f"{before} ")
    assert "Reset by peer" in told.detail
