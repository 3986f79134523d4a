"""Tickets go to other trackers once, are changed there afterwards, and no token is told to anybody else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from energycomm import cli
from energycomm.backoffice.webhook import sign
from energycomm.correction.analysis import judged_cases
from energycomm.correction.export import Exported, export, issue_of
from energycomm.correction.tickets import change_ticket, make_tickets, tickets
from energycomm.correction.trackers import open_tracker
from energycomm.errors import ExitCode
from energycomm.tracker_settings import TrackerSetting
from tests.correction.tracker_servers import TOKEN, Tracker, serving
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

KINDS = ("jira", "gitlab", "webhook")


@pytest.fixture(params=KINDS)
def tracker(request: pytest.FixtureRequest) -> Iterator[Tracker]:
    """A tracker of each kind."""
    with serving(request.param) as found:
        yield found


def desk_with_tickets(url: str) -> Desk:
    """A store with two tickets: an index that went back, and a reading whose entry is lost."""
    desk = Desk(url)
    prm = "99000000000017"
    desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_200_000), reading(prm, day(60), 1_100_000)])
    desk.deliver([reading("99000000001017", day(31), 1_200_000)])
    make_tickets(desk.store, judged_cases(desk.database, desk.markets), "anna", owner="ben", due_days=14)
    return desk


def setting(tracker: Tracker, folder: Path) -> TrackerSetting:
    """How the tracker is configured."""
    (folder / "token").write_text(f"{TOKEN}\n")
    project = {"jira": "EC", "gitlab": "energy/desk"}.get(tracker.kind)
    return TrackerSetting.model_validate(
        {"name": "desk", "kind": tracker.kind, "url": tracker.url, "project": project, "token_file": "token"}
    )


def exported(desk: Desk, tracker: Tracker, folder: Path) -> list[Exported]:
    """One export of all tickets."""
    client = open_tracker(setting(tracker, folder), folder)
    client.pause = lambda _: None  # type: ignore[attr-defined]
    found = export(desk.store, client, "desk", tickets(desk.store), public_url="https://energycomm.example.org/")
    client._http.close()  # type: ignore[attr-defined]
    return found


def test_a_second_export_makes_no_second_issue(tmp_path: Path, tracker: Tracker) -> None:
    """What did not change is not sent again; a change is sent as a change; a closed ticket is closed there."""
    desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
    first = exported(desk, tracker, tmp_path)
    assert [one.what for one in first] == ["created", "created"]
    assert len(tracker.issues) == 2
    text = json.dumps(list(tracker.issues.values()))
    for words in ("CO-R05", "grid operator", "ben", "https://energycomm.example.org/tickets/1"):
        assert words in text
    assert [ticket.link for ticket in tickets(desk.store)] == [one.url for one in first]
    asked = len(tracker.asked)
    assert {one.what for one in exported(desk, tracker, tmp_path)} == {"unchanged"}
    assert len(tracker.asked) == asked
    number = first[0].ticket
    change_ticket(desk.store, number, owner="clara", state="closed")
    assert sorted(one.what for one in exported(desk, tracker, tmp_path)) == ["changed", "unchanged"]
    assert len(tracker.issues) == 2
    assert "clara" in json.dumps(list(tracker.issues.values()))
    if tracker.kind == "jira":
        assert tracker.issues[str(first[0].remote)]["status"] == "done"
    if tracker.kind == "gitlab":
        assert tracker.issues[str(first[0].remote)]["state_event"] == "close"


@pytest.mark.parametrize("kind", ["jira", "gitlab"])
def test_an_answer_that_was_lost_makes_no_second_issue(tmp_path: Path, kind: str) -> None:
    """The issue was made, and we never heard of it: it is found by its label."""
    with serving(kind) as tracker:
        desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
        tracker.failures = [None] * (2 if kind == "jira" else 1) + ["lost"]
        first = exported(desk, tracker, tmp_path)
        assert [one.what for one in first] == ["failed", "created"]
        assert {one.what for one in exported(desk, tracker, tmp_path)} == {"changed", "unchanged"}
        assert len(tracker.issues) == 2


@pytest.mark.parametrize("kind", ["jira", "gitlab"])
def test_an_issue_that_somebody_deleted_is_made_again(tmp_path: Path, kind: str) -> None:
    with serving(kind) as tracker:
        desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
        exported(desk, tracker, tmp_path)
        gone = tracker.issues
        kept = next(iter(gone))
        tracker.issues = {kept: gone[kept]}
        for ticket in tickets(desk.store):
            change_ticket(desk.store, ticket.id, owner="clara")
        assert sorted(one.what for one in exported(desk, tracker, tmp_path)) == ["changed", "created"]


def test_a_tracker_that_is_not_ready_is_asked_again_and_one_that_says_no_is_told_of(
    tmp_path: Path, tracker: Tracker
) -> None:
    """One ticket's failure leaves the others alone; the token stands in no words."""
    desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
    tracker.failures = [503, 429]
    assert {one.what for one in exported(desk, tracker, tmp_path)} == {"created"}
    for ticket in tickets(desk.store):
        change_ticket(desk.store, ticket.id, owner="clara")
    tracker.failures = [400, None]
    done = exported(desk, tracker, tmp_path)
    assert [one.what for one in done] == ["failed", "changed"]
    assert "400" in str(done[0].words)
    assert TOKEN not in str(done)


@pytest.mark.parametrize("failure", [302, "nonsense"])
def test_what_is_no_answer_of_the_tracker_is_a_failure(tmp_path: Path, tracker: Tracker, failure: object) -> None:
    """A redirect is not followed, so that the token goes nowhere else; a proxy's page is no JSON."""
    desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
    tracker.failures = [failure] * 6
    done = exported(desk, tracker, tmp_path)
    if tracker.kind == "webhook" and failure == "nonsense":
        assert [one.remote for one in done] == [f"energycomm-ticket-{one.ticket}" for one in done]
        return
    assert {one.what for one in done} == {"failed"}
    assert not any(path == "/elsewhere" for _, path, _, _ in tracker.asked)


def test_what_a_market_wrote_is_words_in_the_tracker(tmp_path: Path) -> None:
    """No link, image, mention, heading or quick action, in Markdown or in Jira's markup."""
    desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
    (ticket, *_) = tickets(desk.store)
    evil = "[x](https://evil.example) ![i](//e) @all <img src=x>\n/close\n# {html}a|b `c` *d*"
    body = issue_of(msgspec.structs.replace(ticket, grid_operator=evil, owner=evil)).body
    (line,) = [line for line in body.splitlines() if line.startswith("- grid operator")]
    said = line.partition(": ")[2]
    assert said.replace("\\", "") == evil.replace("\n", " "), "the words are all there"
    assert re.findall(r"(?<!\\)[\[\]{}<>|`*!@#]|(?<!\\)://", said) == []
    assert "\n/close" not in body


def test_a_webhook_is_signed_with_its_secret(tmp_path: Path) -> None:
    with serving("webhook") as tracker:
        desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
        exported(desk, tracker, tmp_path)
        _, _, headers, body = tracker.asked[0]
        at = int(headers["EnergyComm-Signature"].split(",")[0].removeprefix("t="))
        assert headers["EnergyComm-Signature"] == sign(TOKEN, body, at)
        assert json.loads(body)["ticket"]["error_class"] in ("grid_operator", "missing")


def test_the_command_exports_and_says_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 when a ticket could not be exported; mistakes of the configuration are told in words."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.chdir(tmp_path)
    desk_with_tickets(url)
    with serving("jira") as tracker:
        lines = [f'database = "{url}"', "[[trackers]]", 'name = "jira"', 'kind = "jira"', f'url = "{tracker.url}"']
        file = tmp_path / "energycomm.toml"
        file.write_text("\n".join([*lines, 'project = "EC"', 'token_env = "ENERGYCOMM_JIRA"']))
        monkeypatch.setenv("ENERGYCOMM_JIRA", TOKEN)
        assert cli.main(["correct", "export", "--json"]) == ExitCode.OK
        done = json.loads(capsys.readouterr().out)
        assert [one["what"] for one in done] == ["created", "created"]
        assert cli.main(["correct", "export", "99"]) == ExitCode.USAGE
        assert cli.main(["correct", "export", "--to", "gitlab"]) == ExitCode.USAGE
        assert cli.main(["correct", "tickets", "1", "--owner", "clara"]) == ExitCode.OK
        monkeypatch.setenv("ENERGYCOMM_JIRA", "wrong")
        assert cli.main(["correct", "export"]) == ExitCode.UNREADABLE
        assert "401" in capsys.readouterr().out
        monkeypatch.delenv("ENERGYCOMM_JIRA")
        assert cli.main(["correct", "export"]) == ExitCode.USAGE
        file.write_text("\n".join(lines))
        assert cli.main(["correct", "export"]) == ExitCode.USAGE
        assert "token_file or token_env" in capsys.readouterr().err


def test_a_ticket_that_gets_more_messages_tells_of_all_of_them(tmp_path: Path) -> None:
    """Its title and evidence grow, so that what is exported is true."""
    desk = desk_with_tickets(f"sqlite:///{tmp_path}/eis.db")
    desk.deliver([reading("99000000002017", day(31), 1_200_000)])
    make_tickets(desk.store, judged_cases(desk.database, desk.markets), "anna")
    (grown,) = [ticket for ticket in tickets(desk.store) if ticket.error_class == "missing"]
    assert "- error class: missing message\n" in issue_of(grown).body
    assert re.search(r"^- 2 x missing message: ", issue_of(grown).body, re.MULTILINE)
    assert grown.title.endswith("2 messages of 2 access points (missing message)")
    assert grown.evidence["access_points"] == ["99000000001017", "99000000002017"]
    assert [one["messages"] for one in grown.evidence["evidence"]] == [2]
