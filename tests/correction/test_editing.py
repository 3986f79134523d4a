"""A person edits one message: it is checked and tried out first, and what the market sent stays."""

from __future__ import annotations

import io
import json
import re
import stat
import sys
from pathlib import Path

import pytest

from energycomm import cli
from energycomm.correction import campaign
from energycomm.correction.analysis import judged_cases
from energycomm.correction.cases import stuck_ids
from energycomm.correction.editing import edit, editable, examine
from energycomm.correction.tickets import make_tickets
from energycomm.errors import ExitCode, UserError
from tests.correction.test_campaigns import spoilt, steps_of
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"


def refused(desk: Desk) -> int:
    """An index that goes back; its id."""
    desk.deliver([start(PRM, day(0)), reading(PRM, day(31), 1_200_000), reading(PRM, day(60), 1_100_000)])
    ((number,),) = desk.rows("SELECT id FROM kernel_message WHERE state = 'rejected'")
    return int(number)


def test_what_is_edited_is_valid_kernel_xml_as_it_stands(tmp_path: Path) -> None:
    """One attribute a line, and read again it is the same message."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = refused(desk)
    content = editable(desk.store, desk.markets, number)
    assert 'value="1100"' in content.split("\n    ")[-1] or '\n    value="1100"' in content
    seen = examine(desk.store, desk.writer, number, content)
    assert (seen.refusals, seen.difference, seen.fit, seen.words) == ((), "", False, "nothing is changed")


def test_what_else_is_stuck_costs_an_edit_nothing(tmp_path: Path) -> None:
    def cost(points: int) -> int:
        desk = spoilt(f"sqlite:///{tmp_path}/{points}.db", points)
        number = stuck_ids(desk.database)[0]
        return steps_of(desk, lambda: editable(desk.store, desk.markets, number))

    few, many = cost(2), cost(40)
    assert many <= few + 1


def test_an_edit_is_tried_out_then_stored_as_a_new_version_and_can_be_undone(database_url: str) -> None:
    """The dry run shows the verdict and the changed line; the original stays as it came."""
    desk = Desk(database_url)
    number = refused(desk)
    original = desk.rows(f"SELECT xml FROM kernel_message WHERE id = {number}")
    content = editable(desk.store, desk.markets, number).replace('value="1100"', 'value="1300"')
    seen = examine(desk.store, desk.writer, number, content)
    assert (seen.state, seen.fit, seen.freed) == ("treated", True, (number,))
    changed = [line.strip("+- ") for line in seen.difference.splitlines()[2:] if line[0] in "+-"]
    assert changed == ['value="1100"', 'value="1300"']
    assert desk.rows("SELECT count(*) FROM kernel_message WHERE version > 1") == [(0,)]
    record = edit(desk.store, desk.writer, number, content, by="anna", why="typed wrong")
    assert (record.script, record.state, record.freed, record.by) == ("edit", "done", 1, "anna")
    assert desk.rows(f"SELECT xml FROM kernel_message WHERE id = {number}") == original
    assert desk.rows("SELECT state, corrects FROM kernel_message WHERE version = 2") == [("treated", number)]
    with pytest.raises(UserError, match="was corrected before, by message"):
        edit(desk.store, desk.writer, number, content, by="ben", why="the same again")
    campaign.undo(desk.store, desk.writer, record.id, "anna")
    assert desk.rows(f"SELECT state FROM kernel_message WHERE id = {number}") == [("rejected",)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('value="1100"', 'value="many"', "KERNEL_XML_VALUE"),
        ('value="1100"', 'value="1150"', "rejected CO-R05"),
        ('value="1100"', 'value="1100" colour="red"', "KERNEL_XML_ATTRIBUTE"),
        ('market="FR"', 'market="NL"', "EDIT_OTHER at /@market"),
        ("<MeterReading", "<MeterReadin", "XML_SYNTAX"),
        ("<MeterReading", "<!DOCTYPE x><MeterReading", "XML_DOCTYPE"),
    ],
)
def test_what_the_schema_or_the_rules_refuse_is_not_stored(tmp_path: Path, old: str, new: str, words: str) -> None:
    """The reason is told, and the store is as before."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = refused(desk)
    content = editable(desk.store, desk.markets, number).replace(old, new)
    with pytest.raises(UserError, match=words):
        edit(desk.store, desk.writer, number, content, by="anna", why="x")
    assert desk.rows("SELECT count(*) FROM campaign") == [(0,)]
    assert desk.rows("SELECT count(*) FROM kernel_message WHERE version > 1") == [(0,)]


def test_an_edit_that_takes_the_acceptance_of_another_message_is_not_stored(tmp_path: Path) -> None:
    """An index above the one that follows would push that one out."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = refused(desk)
    desk.deliver([reading(PRM, day(90), 1_250_000)])
    content = editable(desk.store, desk.markets, number).replace('value="1100"', 'value="1300"')
    seen = examine(desk.store, desk.writer, number, content)
    assert (seen.state, len(seen.lost), seen.fit) == ("treated", 1, False)
    with pytest.raises(UserError, match="lose their acceptance"):
        edit(desk.store, desk.writer, number, content, by="anna", why="x")


def test_with_four_eyes_an_edit_waits_and_a_second_click_is_the_first(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    number = refused(desk)
    content = editable(desk.store, desk.markets, number).replace('value="1100"', 'value="1300"')
    record = edit(desk.store, desk.writer, number, content, by="anna", why="x", key="click", four_eyes=True)
    assert record.state == "planned"
    again = edit(desk.store, desk.writer, number, content, by="anna", why="x", key="click", four_eyes=True)
    assert again.id == record.id
    campaign.approve(desk.store, record.id, "ben")
    assert campaign.run(desk.store, desk.writer, record.id, four_eyes=True).freed == 1


def test_the_command_opens_the_editor_and_shows_what_would_become_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --yes nothing is stored; a file serves as well as an editor."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    desk = Desk(url)
    number = str(refused(desk))
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('\"1100\"', '\"1300\"'))\n"
    )
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert cli.main(["correct", "edit", number]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert '+    value="1300"' in shown
    assert "treated; frees 1 message\n" in shown
    assert desk.rows("SELECT count(*) FROM campaign") == [(0,)]
    # What was typed is kept, for its owner alone, in a file that the next command takes.
    (kept,) = re.findall(r"--file (\S+) --yes", shown)
    assert 'value="1300"' in Path(kept).read_text("utf-8")
    assert stat.S_IMODE(Path(kept).stat().st_mode) == 0o600
    Path(kept).unlink()
    assert cli.main(["correct", "edit", number, "--yes"]) == ExitCode.USAGE
    monkeypatch.setenv("EDITOR", "false")
    assert cli.main(["correct", "edit", number]) == ExitCode.USAGE
    assert cli.main(["correct", "edit", "99"]) == ExitCode.USAGE
    capsys.readouterr()
    assert cli.main(["correct", "edit", number, "--print"]) == ExitCode.OK
    content = capsys.readouterr().out.replace('"1100"', '"1050"')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert cli.main(["correct", "edit", number, "--file", "-"]) == ExitCode.REJECTED
    assert "CO-R05" in capsys.readouterr().out
    (tmp_path / "new.xml").write_text(content.replace('"1050"', '"1300"'))
    typed = ["correct", "edit", number, "--file", "new.xml", "--yes", "--why", "confirmed", "--by", "anna", "--json"]
    assert cli.main(typed) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["campaign"]["freed"] == 1


def test_a_ticket_closes_when_an_edit_frees_its_messages(database_url: str) -> None:
    desk = Desk(database_url)
    number = refused(desk)
    make_tickets(desk.store, judged_cases(desk.database, desk.markets), "anna")
    assert desk.rows("SELECT state FROM ticket") == [("open",)]
    content = editable(desk.store, desk.markets, number).replace('value="1100"', 'value="1300"')
    edit(desk.store, desk.writer, number, content, by="anna", why="typed wrong")
    assert desk.rows("SELECT state FROM ticket WHERE closed_at IS NOT NULL") == [("closed",)]


def test_the_command_tells_the_second_who_proposes_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With four eyes two proposals may wait for one message."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.setenv("ENERGYCOMM_CORRECTION__FOUR_EYES", "true")
    monkeypatch.chdir(tmp_path)
    desk = Desk(url)
    number = str(refused(desk))
    file = tmp_path / "edited.xml"
    text = editable(desk.store, desk.markets, int(number))
    told = []
    for person, value in (("anna", "1300"), ("ben", "1400")):
        file.write_text(text.replace('value="1100"', f'value="{value}"'))
        typed = ["correct", "edit", number, "--file", str(file), "--yes", "--why", "typed wrong", "--by", person]
        assert cli.main(typed) == ExitCode.OK
        told.append(capsys.readouterr().out)
    assert "is proposed for" not in told[0]
    assert "Campaign 1 of anna is proposed for 1 message of this one" in told[1]


def test_an_edit_without_a_reason_is_refused_before_anything_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No editor is opened, so that nothing that somebody typed is lost."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    number = str(refused(Desk(url)))
    opened = tmp_path / "opened"
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {opened}\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert cli.main(["correct", "edit", number, "--yes"]) == ExitCode.USAGE
    assert "Give a reason" in capsys.readouterr().err
    assert not opened.exists()
    cli.main(["correct", "edit", number])
    assert opened.exists()
