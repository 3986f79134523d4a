"""What is stuck is proposed a remedy for, and told as a sheet, a page and a table with the same columns."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from msgspec import structs
from openpyxl import load_workbook

from energycomm import cli
from energycomm.correction.analysis import Judged, judged_cases
from energycomm.correction.library import load_scripts
from energycomm.correction.proposals import Proposal, propose
from energycomm.correction.report import proposal_sheet, report
from energycomm.correction.spreadsheet import write_workbook
from energycomm.correction.webpage import webpage
from energycomm.errors import ExitCode
from energycomm.kernel.instants import instant, micros, now_micros
from energycomm.kernel.messages import AccessPointData
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, start, transaction

LOST, WRONG = 6, 3


def point(number: int) -> str:
    """The number of an access point."""
    return str(99000000000017 + 1000 * number)


def deliver(desk: Desk) -> None:
    """Access points whose entry is lost, and some whose index goes back."""
    for number in range(LOST):
        desk.deliver([reading(point(number), day(31), 1_100_000), reading(point(number), day(60), 1_200_000)])
    for number in range(LOST, LOST + WRONG):
        prm = point(number)
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_200_000), reading(prm, day(60), 1_100_000)])


def proposals(desk: Desk, **options: Any) -> list[Proposal]:
    """What is proposed for the groups by code."""
    cases = judged_cases(desk.database, desk.markets)
    return propose(
        desk.store, desk.writer, load_scripts(shipped_rules().rules).values(), cases, now=now_micros(), **options
    )


def test_the_action_that_frees_most_comes_first_and_nothing_is_stored(database_url: str) -> None:
    """A start that is made frees the readings that wait for it; an index that goes back is for a ticket."""
    desk = Desk(database_url)
    deliver(desk)
    before = desk.rows("SELECT id, state FROM kernel_message ORDER BY id")
    found = proposals(desk)
    waiting = [one for one in found if one.group.startswith("waits for StartOfSupply")]
    assert (waiting[0].script, waiting[0].words) == ("create-missing-start", f"frees {2 * LOST} of {2 * LOST}")
    assert waiting[0].actions == LOST
    assert [(one.script, one.words) for one in found if one.group == "CO-R05"][-1] == (
        None,
        f"ticket for {WRONG} messages",
    )
    assert desk.rows("SELECT id, state FROM kernel_message ORDER BY id") == before
    assert desk.rows("SELECT count(*) FROM campaign") == [(0,)]


def test_a_sample_is_called_a_sample(tmp_path: Path) -> None:
    """Four messages of twelve are tried: the words say how many, and what that comes to for all."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    deliver(desk)
    first = proposals(desk, sample=4)[0]
    assert first.words == f"frees 4 of 4 tried, about {2 * LOST} of {2 * LOST}"
    assert (first.tried, first.messages, first.expected) == (4, 2 * LOST, 2 * LOST)


def test_when_the_time_is_over_nothing_is_claimed(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    deliver(desk)
    assert {one.script for one in proposals(desk, seconds=-1)} == {None}


@pytest.fixture
def cases(tmp_path: Path) -> list[Judged]:
    """Stuck messages, one with a reference that looks like a formula and like markup."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    deliver(desk)
    nasty = reading(point(40), day(31), 1_100_000).messages[0]
    desk.deliver([hostile(structs.replace(nasty, reference='=1+1<script>alert("x")</script>'))])
    return judged_cases(desk.database, desk.markets)


def hostile(message: Any) -> Transaction:
    """A message as its market would send it."""
    return transaction([message])


def test_a_workbook_holds_every_group_and_says_what_it_leaves_out(tmp_path: Path, cases: list[Judged]) -> None:
    """Text stays text: what looks like a formula is none."""
    path = tmp_path / "stuck.xlsx"
    made = report(cases, "code", made=instant(now_micros()), most=4)
    write_workbook(made, path)
    book = load_workbook(path)
    assert book.sheetnames == ["about", "groups", "messages"]
    rows = list(book["groups"].iter_rows(values_only=True))
    assert rows[0][:3] == ("code", "messages", "occurrences")
    assert sum(row[1] for row in rows[1:]) == len(cases)
    told = {row[0]: row[1] for row in book["about"].iter_rows(values_only=True)}
    assert told["messages"] == f"4 of {len(cases)}; {len(cases) - 4} are left out"
    write_workbook(report(cases, "code", made=instant(now_micros())), path)
    cells = [cell for row in load_workbook(path)["messages"].iter_rows() for cell in row]
    assert [cell.data_type for cell in cells if str(cell.value).startswith("=1+1")] == ["s"]


def test_a_page_needs_nothing_from_outside_and_shows_charts(cases: list[Judged]) -> None:
    """No address, no script, whatever a market wrote; each chart is an image with words for those who cannot see it."""
    page = webpage(report(cases, "code", made=instant(now_micros()), before=cases[:3], against=instant(0)))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)
    charts = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        element = etree.fromstring(chart)
        assert element.get("role") == "img"
        assert element.get("aria-label")
    parser = HTMLParser()
    parser.feed(page)


def test_two_dates_are_compared_in_the_report(cases: list[Judged]) -> None:
    made = report(cases, "class", made=instant(now_micros()), before=[], against=instant(micros(day(0))))
    sheet = next(sheet for sheet in made.sheets if sheet.title == "changes")
    assert {row[0]: row[1:] for row in sheet.rows}["missing"] == (0, 2 * LOST + 1, 2 * LOST + 1)


def test_every_form_of_the_command_has_the_same_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And --propose tells what would be freed."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    deliver(Desk(url))
    assert cli.main(["correct", "analyse", "--format", "xlsx", "--out", "stuck.xlsx"]) == ExitCode.OK
    assert cli.main(["correct", "analyse", "--format", "html", "--out", "stuck.html"]) == ExitCode.OK
    capsys.readouterr()
    assert cli.main(["correct", "analyse", "--format", "csv"]) == ExitCode.OK
    lines = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    sheet = [tuple(map(str, row)) for row in load_workbook("stuck.xlsx")["groups"].iter_rows(values_only=True)]
    assert [tuple(line) for line in lines] == sheet
    page = Path("stuck.html").read_text("utf-8")
    assert all(f'<th scope="col">{name}</th>' in page for name in lines[0])
    assert cli.main(["correct", "analyse", "--propose", "--format", "json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)["proposals"][0]
    assert (found["words"], found["script"]) == (f"frees {2 * LOST} of {2 * LOST}", "create-missing-start")
    assert cli.main(["correct", "analyse", "--format", "xlsx"]) == ExitCode.USAGE
    assert cli.main(["correct", "analyse", "--only", "nothing"]) == ExitCode.USAGE
    assert cli.main(["correct", "analyse", "--format", "html", "--out", "no/such/folder.html"]) == ExitCode.USAGE


HOUSE = """
\"\"\"Gives a segment the code that a colleague found out.\"\"\"

from msgspec import structs

from energycomm.correction.script import Modify, Parameter, Script, Selection

SCRIPT = Script(
    title="Segment as found out",
    selection=Selection(kinds=("AccessPointData",)),
    parameters=(Parameter(name="segment", help="the code"), Parameter(name="asked", help="who said so")),
)


def correct(case, parameters):
    return Modify(structs.replace(case.message, segment=parameters["segment"]), "found out")


def suggest(cases):
    return [{"segment": "C5", "asked": "ben"}, {"segment": "C5", "asked": "eva"}]
"""


def test_no_value_is_made_up_or_removed_and_rows_tell_their_parameters(tmp_path: Path) -> None:
    """A segment that the market does not have: that others have C5, or that none breaks no rule, is no correction. What
    a script of the house proposes is shown with its parameters, so that no two rows are the same."""
    desk = Desk(f"sqlite:///{tmp_path}/eis.db")
    for number in range(3):
        desk.deliver([start(point(number), day(0))])
        (data,) = [one for one in start(point(number), day(9)).messages if isinstance(one, AccessPointData)]
        wrong = {"segment": "C9", "market_reason": "MDPRM", "reason": "master-data-change"}
        desk.deliver([hostile(structs.replace(data, **wrong))])
    found = [one for one in proposals(desk) if one.group == "FR-P05"]
    assert [one.script for one in found] == [None]
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "found_out.py").write_text(HOUSE, "utf-8")
    scripts = load_scripts(shipped_rules().rules, tmp_path / "scripts").values()
    cases = judged_cases(desk.database, desk.markets)
    tried = [one for one in propose(desk.store, desk.writer, scripts, cases, now=now_micros()) if one.group == "FR-P05"]
    rows = proposal_sheet(tried, "code").rows
    assert sorted(str(row[2]) for row in rows) == ["segment=C5 asked=ben", "segment=C5 asked=eva"]
    assert len(set(rows)) == len(rows) == 2


def test_commands_are_whole_on_a_terminal_of_any_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cell would wrap them or cut them: they stand in lines of their own, to be copied."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    deliver(Desk(url))
    for width in ("40", "130"):
        monkeypatch.setenv("COLUMNS", width)
        monkeypatch.setenv("FORCE_COLOR", "1")
        capsys.readouterr()
        assert cli.main(["correct", "analyse", "--propose"]) == ExitCode.OK
        shown = capsys.readouterr().out
        assert any(line.endswith(": energycomm correct script run create-missing-start") for line in shown.splitlines())
