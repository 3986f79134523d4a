"""Text in a table is text: no spreadsheet runs what a market sent."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from energycomm import cli, logs
from energycomm.cells import plain_cell, text_of, write_csv
from energycomm.commands.output import print_facts, print_rows
from energycomm.errors import ExitCode
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "   =1",
    "\u00a0=1",
    "\ufeff=1",
    "\u200b=1",
    "'=1",
    '"=1',
    "\u201c=1",
    "' \t\"+1+1",
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d2+3",
    "\uff20SUM(1)",
    "\u22122+3",
    "+32 477",
    "-",
    "=",
]
"""What OWASP names, and what spreadsheets read the same way."""

NUMBERS = ["-5", "+12", "-5.25", "-12,5", "1e5", "-1E-3", "0", "12%"]
WORDS = ["FR-R03", "2026-03-31", "99000000000017", "a - b", "no; -5 was found", "x=1", "1-2-3", "", "a@b.example"]


def is_formula(cell: str) -> bool:
    """How a careful spreadsheet sees a cell: by its first sign that is neither blank nor quote."""
    shown = unicodedata.normalize("NFKC", cell).replace("\u2212", "-")
    if cell[:1] in ("\t", "\r", "\n"):
        return True
    return shown[:1] in ("=", "+", "-", "@") and not shown.lstrip("+-").replace(".", "").replace(",", "").isdigit()


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text: str) -> None:
    cell = plain_cell(text)
    assert cell[0] == "'"
    assert not is_formula(cell)
    assert text.strip() in cell or "'" in cell[1:]


@pytest.mark.parametrize("text", NUMBERS + WORDS)
def test_numbers_and_words_stay_what_they_are(text: str) -> None:
    assert plain_cell(text) == text


def test_values_that_are_no_text() -> None:
    assert [plain_cell(value) for value in (-3, -2.5, None, True)] == ["-3", "-2.5", "", "True"]


@settings(max_examples=500, deadline=None)
@given(st.text(" \t\r\n'\"=+-@;,|ab1\uff1d\u00a0\ufeff", max_size=12))
def test_no_cell_is_a_formula_whatever_separates_them(text: str) -> None:
    """In ours, and where the reader splits lines at another separator and takes quotes for signs."""
    stream = io.StringIO(newline="")
    write_csv(stream, ("a", "b"), [("x", text)])
    (row,) = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))[1:]
    assert not is_formula(row[1])
    for separator in (",", ";", "\t", "|"):
        for line in stream.getvalue().splitlines()[1:]:
            for cell in line.split(separator):
                bare = cell.strip(" '\"\u00a0\ufeff") if cell.strip('" \u00a0\ufeff')[:1] != "'" else "text"
                assert bare[:1] not in ("=", "@", "\uff1d"), (separator, line)


def test_an_apostrophe_of_ours_is_taken_away_when_the_table_comes_back() -> None:
    for text in ["=1+1", "'=1", "'tis", "-", "plain", "'"]:
        assert text_of(plain_cell(text)) == text


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store in which a grid operator calls itself a formula, and an access point too."""
    url = f"sqlite:///{tmp_path}/eis.db"
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    found = Desk(url)
    point = "99000000000017"
    found.deliver([start(point, day(0)), reading(point, day(31), 1_200_000), reading(point, day(60), 1_100_000)])
    with found.store.transaction() as tx:
        tx.driver.run("UPDATE access_point SET identifier = '=1+1'")
    return found


@pytest.mark.parametrize("by", ["code", "access-point"])
@pytest.mark.parametrize("to_file", [False, True])
def test_the_analysis_as_csv_holds_no_formula(
    desk: Desk, by: str, to_file: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    more = ["--out", str(tmp_path / "out.csv")] if to_file else []
    assert cli.main(["correct", "analyse", "--group", by, "--format", "csv", *more]) == ExitCode.OK
    text = (tmp_path / "out.csv").read_text("utf-8") if to_file else capsys.readouterr().out
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) > 1
    assert [cell for row in rows for cell in row if is_formula(cell)] == []
    assert by == "code" or any(cell == "'=1+1" for row in rows for cell in row)


def test_a_piped_table_holds_no_formula_and_a_cell_no_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What is piped is read by spreadsheets too, and a sign of a market steers no terminal."""
    print_rows(("a", "b"), [("=1+1", "x\n=2\ty\x1b[31m"), ("-5", -5)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t") for line in lines] == [["'=1+1", "x =2 y [31m"], ["-5", "-5"]]


def test_no_value_of_the_log_makes_a_line_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    """Ends of lines of any kind, what steers a terminal, and what turns the direction of reading."""
    logs.configure("text", "info")
    hostile = "a\n2026 [info] all is well\r\x1b[2J\x9b1m\u2028b\x85c\u202egnp.exe"
    structlog.get_logger().warning(hostile, name=hostile)
    told = capfd.readouterr().err
    assert told.count("\n") == len(told.splitlines()) == 1
    assert told.rstrip("\n").isprintable()


def test_processes_that_share_standard_error_leave_whole_lines(tmp_path: Path) -> None:
    """Also where Python does not buffer what it writes, as containers have it: each line is written with its end."""
    told = (
        "import structlog, sys\nfrom energycomm import logs\nlogs.configure('json', 'info')\n"
        "for number in range(1500):\n    structlog.get_logger().info('told', who=sys.argv[1], number=number)\n"
    )
    with (tmp_path / "log").open("ab") as log:
        both = [
            subprocess.Popen([sys.executable, "-c", told, who], stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"})
            for who in ("one", "two", "three")
        ]
        assert [process.wait() for process in both] == [0, 0, 0]
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    for who in ("one", "two", "three"):
        assert [line["number"] for line in lines if line["who"] == who] == list(range(1500))


def test_a_value_of_several_lines_looks_like_no_other_fact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_facts([("why", "typed\nstate: accepted\u202e"), ("state", "rejected")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["why", " " * 20 + "state", "state"]
    assert all(map(str.isprintable, lines))
