"""The commands of the correction, as a consultant types them."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from energycomm import cli
from energycomm.correction.analysis import judged_cases
from energycomm.correction.export import issue_of
from energycomm.correction.tickets import make_tickets, tickets
from energycomm.errors import ExitCode
from energycomm.kernel.instants import micros, now_micros
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store with an index that went back, and a reading of an access point whose entry is lost."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    found = Desk(url)
    found.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    found.deliver([reading("99000000001017", day(31), 1_200_000)])
    return found


def answer(capsys: pytest.CaptureFixture[str], *typed: str) -> Any:
    """The JSON that a command prints."""
    capsys.readouterr()
    assert cli.main([*typed]) == ExitCode.OK, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_analysis_tells_whose_fault_it_is(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Each group with its messages, its class and what was found."""
    found = answer(capsys, "correct", "analyse", "--group", "class", "--format", "json")
    classes = {group["key"]: group for group in found["groups"]}
    assert found["messages"] == 2
    assert classes["missing"]["evidence"][0][0].startswith("no StartOfSupply")
    assert sum(group["messages"] for group in classes.values()) == 2


def test_analysis_of_two_days_shows_what_grew(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first message came nothing was stuck."""
    found = answer(capsys, "correct", "analyse", "--against", "2020-01-01", "--format", "json")
    assert {one["key"]: (one["then"], one["now"]) for one in found}["CO-R05"] == (0, 1)


def test_a_table_of_commas_has_a_head(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.main(["correct", "analyse", "--format", "csv"]) == ExitCode.OK
    head = next(csv.reader(capsys.readouterr().out.splitlines()))
    assert head[:3] == ["code", "messages", "occurrences"]


def test_a_script_says_what_it_does_not_know_and_selects_what_it_is_about(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A field that no message has is refused with the one that was meant; messages of other codes are not counted."""
    typed = ("correct", "script", "run", "set-field", "--set", "code=CO-R05", "--set", "value=")
    assert cli.main([*typed, "--set", "field=contract_referense"]) == ExitCode.USAGE
    assert "Did you mean contract_reference" in capsys.readouterr().err
    desk.deliver([start("99000000002017", day(0), "AB-12")])
    assert answer(capsys, *typed, "--set", "field=calendar", "--json")["preview"]["selected"] == 1


def test_who_cannot_be_given_a_message_is_told_why(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """What is accepted is nobody's work, what is in a ticket has an owner; nothing done is no success."""
    (rejected,) = [row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")]
    (accepted, *_) = [row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE state = 'accepted' ORDER BY id")]
    given = answer(capsys, "correct", "delegate", str(rejected), str(accepted), "--to", "ben", "--json")
    assert given["delegated"] == [rejected]
    assert "it is accepted" in given["passed_over"][str(accepted)]
    assert cli.main(["correct", "delegate", str(accepted), "999999", "--to", "ben"]) == ExitCode.USAGE
    shown = capsys.readouterr()
    assert f"message {accepted} was not given: it is accepted" in shown.err
    assert "message 999999 was not given: there is none" in shown.err


def test_what_changes_something_tells_it_as_json_too(
    desk: Desk, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As every command that lists something does."""
    assert answer(capsys, "outbox", "retry", "--all", "--json") == {"due_again": 0}
    token = answer(capsys, "token", "create", "anna", "--role", "consultant", "--json")
    assert answer(capsys, "token", "revoke", str(token["id"]), "--json")["revoked"] == [token["id"]]
    made = answer(capsys, "simulate", "--market", "fr", "--access-points", "1", str(tmp_path / "sim"), "--json")
    assert made["envelopes"] == len(list((tmp_path / "sim" / "envelopes").iterdir()))
    answer(capsys, "correct", "script", "run", "create-missing-start", "--propose", "--why", "lost", "--json")
    assert answer(capsys, "correct", "approve", "1", "--by", "ben", "--json")["approved_by"] == "ben"
    assert answer(capsys, "correct", "analyse", "--json") == answer(capsys, "correct", "analyse", "--format", "json")


def test_days_are_those_of_legal_time(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A ticket that is due on a day is shown with it; what came at half past midnight came on that day."""
    (first,) = make_tickets(desk.store, judged_cases(desk.database, desk.markets)[:1], "anna")[:1]
    assert cli.main(["correct", "tickets", str(first), "--due", "2027-01-31"]) == ExitCode.OK
    assert "2027-01-31" in capsys.readouterr().out
    (found,) = [one for one in tickets(desk.store) if one.id == first]
    assert found.due is not None
    assert issue_of(found, zone=ZoneInfo("Europe/Paris")).due == "2027-01-31"
    night = datetime(2026, 3, 31, 22, 30, tzinfo=UTC)
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE kernel_message SET received_at = ?", (micros(night),))
    assert cli.main(["correct", "analyse", "--format", "csv"]) == ExitCode.OK
    oldest = {row[0]: row[4] for row in csv.reader(capsys.readouterr().out.splitlines())}
    assert oldest["CO-R05"] == "2026-04-01"


def test_what_waits_is_explained_by_what_it_waits_for(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not said that nothing is wrong."""
    (waiting,) = [row[0] for row in desk.rows("SELECT id FROM kernel_message WHERE state = 'quarantined'")]
    assert cli.main(["message", "explain", str(waiting)]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert re.search(r"waits for: +StartOfSupply", shown)
    assert re.search(r"until: +20\d\d-\d\d-\d\d", shown)
    assert "Nothing is wrong" not in shown


def test_without_yes_a_script_is_only_tried_out(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """Then run, told in the history, undone."""
    tried = answer(capsys, "correct", "script", "run", "create-missing-start", "--json")
    assert (len(tried["preview"]["freed"]), tried["campaign"]) == (1, None)
    assert desk.rows("SELECT count(*) FROM campaign") == [(0,)]
    typed = ("correct", "script", "run", "create-missing-start", "--yes", "--why", "lost", "--by", "anna", "--json")
    done = answer(capsys, *typed)["campaign"]
    assert (done["state"], done["freed"], done["by"]) == ("done", 1, "anna")
    assert answer(capsys, "correct", "history", "--json")[0]["id"] == done["id"]
    assert answer(capsys, "correct", "undo", str(done["id"]), "--json")["state"] == "undone"


def test_a_run_without_a_reason_is_refused(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["correct", "script", "run", "create-missing-start", "--yes"]) == ExitCode.USAGE
    assert "Give a reason" in capsys.readouterr().err


def test_the_loop_leaves_a_ticket_that_can_be_given_to_somebody(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    report = answer(capsys, "correct", "loop", "--due", "14", "--json")
    assert (report["freed"], report["left"], len(report["tickets"])) == (1, 1, 1)
    number = str(report["tickets"][0])
    ticket = answer(capsys, "correct", "tickets", number, "--owner", "ben", "--set", "waiting", "--json")
    assert (ticket["owner"], ticket["state"], ticket["codes"]) == ("ben", "waiting", "CO-R05")
    assert desk.rows("SELECT count(*) FROM kernel_message WHERE state = 'ticketed'") == [(1,)]


def test_the_loop_leaves_alone_what_has_not_waited_long_enough(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """The reading whose entry is lost came just now: no campaign, no ticket; the index that went back has its own."""
    with desk.store.transaction() as tx:
        tx.driver.run("UPDATE kernel_message SET received_at = ?", (now_micros(),))
    report = answer(capsys, "correct", "loop", "--waited", "7", "--json")
    assert (report["freed"], report["left"], len(report["tickets"])) == (0, 2, 1)
    assert desk.rows("SELECT codes FROM ticket") == [("CO-R05",)]


def test_a_ticket_closes_when_its_messages_are_freed_whoever_frees_them(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here by the message that was missing, which arrives."""
    make_tickets(desk.store, judged_cases(desk.database, desk.markets), "anna")
    assert desk.rows("SELECT state FROM ticket") == [("open",), ("open",)]
    desk.deliver([start("99000000001017", day(0))])
    assert sorted(desk.rows("SELECT state FROM ticket")) == [("closed",), ("open",)]
    assert desk.rows("SELECT codes FROM ticket WHERE state = 'open' AND closed_at IS NULL") == [("CO-R05",)]


def test_a_replay_says_why_it_passes_a_message_over(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE kind = 'StartOfSupply'")
    capsys.readouterr()
    assert cli.main(["correct", "replay", str(number)]) == ExitCode.OK
    assert f"message {number} was not sent back: it is accepted" in capsys.readouterr().err
    assert cli.main(["correct", "replay", "99999"]) == ExitCode.USAGE
    assert "There is no Kernel message 99999" in capsys.readouterr().err


def test_a_message_is_delegated_with_a_note_and_replayed(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A replay with the same rules ends in the same verdict, and everything is on record."""
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")
    assert cli.main(["correct", "delegate", str(number), "--to", "ben", "--note", "call them"]) == ExitCode.OK
    assert desk.rows("SELECT assignee, text FROM note") == [("ben", "call them")]
    found = answer(capsys, "correct", "replay", str(number), "--json")
    assert found["states"] == {str(number): "rejected"}


def test_a_whole_group_is_delegated_by_its_key(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A message in quarantine goes on waiting; who is to get it, and what, has to be said."""
    assert cli.main(["correct", "delegate", "--only", "CO-R05", "--to", "ben", "--note", "look"]) == ExitCode.OK
    assert "1 of 1 message is ben's now" in capsys.readouterr().out
    assert desk.rows("SELECT state, count(*) FROM kernel_message GROUP BY state HAVING state = 'delegated'") == [
        ("delegated", 1)
    ]
    for typed in (["--only", "CO-R05"], ["--to", "ben"], ["--only", "XX-1", "--to", "ben"]):
        assert cli.main(["correct", "delegate", *typed]) == ExitCode.USAGE


def test_what_is_unknown_is_told_with_what_there_is(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback for a user's mistake."""
    for typed in (
        ["correct", "analyse", "--group", "colour"],
        ["correct", "script", "show", "nothing"],
        ["correct", "script", "run", "create-missing-start", "--set", "colour=red"],
        ["correct", "tickets", "9"],
        ["correct", "undo", "9"],
    ):
        assert cli.main(typed) == ExitCode.USAGE
        assert "Traceback" not in capsys.readouterr().err
