"""What commands print: a value of the store stays in its line and steers no terminal, whatever the market sent."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.text import Text

from energycomm import cli
from energycomm.cells import STEERING
from energycomm.commands.output import Paper, hand_over, print_rows, print_tsv, say, say_piece, say_text
from energycomm.errors import ExitCode

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "energycomm" / "commands" / "output.py"
WRITERS = {"echo", "secho", "print"}
FORGED = "7\nerror: the store is empty\r\x1b[2J\x1b]0;owned\x07\u202e"


def modules() -> list[Path]:
    """Every module that has commands of the program, and what the commands of the assistant print with."""
    found = [*ROOT.glob("energycomm/commands/*.py"), *ROOT.glob("adapters/**/commands.py")]
    found += [*ROOT.glob("assistant/commands/*.py"), *ROOT.glob("assistant/**/*commands.py")]
    return sorted(set(found) - {OUTPUT})


def printed_otherwise(tree: ast.Module) -> Iterator[str]:
    """What of a module writes to the terminal without `energycomm.commands.output`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
            yield f"line {node.lineno}: a console of rich"
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            of = getattr(getattr(called, "value", None), "id", "")
            written = ast.unparse(called)
            stream = written.startswith(("sys.stdout", "sys.stderr")) and not written.endswith("isatty")
            if stream or (name in WRITERS and of in ("", "typer", "click")):
                yield f"line {node.lineno}: {written}"


def test_commands_print_by_one_module_alone() -> None:
    found = modules()
    assert len(found) > 50
    told = {str(one.relative_to(ROOT)): [*printed_otherwise(ast.parse(one.read_text("utf-8")))] for one in found}
    assert {name: lines for name, lines in told.items() if lines} == {}


@pytest.mark.parametrize(
    "line", ["typer.echo(x)", "print(x)", "sys.stdout.write(x)", "from rich.console import Console"]
)
def test_another_way_to_print_is_noticed(line: str) -> None:
    assert [*printed_otherwise(ast.parse(line))] != []


def test_a_stored_value_makes_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"message {FORGED} is accepted", "done")
    assert capsys.readouterr().out.splitlines() == [
        "message 7\\nerror: the store is empty\\r\\x1b[2J\\x1b]0;owned\\x07\\u202e is accepted",
        "done",
    ]
    say("told", FORGED, err=True)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_text_keeps_its_lines_and_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say_text("<a>\n\t<b>\x1b[31m\u2028</b>\n</a>\n")
    assert capsys.readouterr().out == "<a>\n\t<b>\\x1b[31m\\u2028</b>\n</a>\n"
    say_piece("one\x1b[2J\ntwo")
    assert capsys.readouterr().err == "one\\x1b[2J\ntwo"


def test_a_drawing_steers_no_terminal() -> None:
    stream = io.StringIO()
    paper = Paper(file=stream, force_terminal=True, width=200, color_system=None)
    paper.print(Text("number 7\x1b[2J\x1b]0;owned\x07\r"))
    told = stream.getvalue().rstrip("\n")
    assert told.startswith("number 7\\x1b[2J\\x1b]0;owned")
    assert not re.search(f"[{STEERING}]", told)


def test_tabs_are_between_cells_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_tsv(("a", "b"), [("1\t2", "3\n4")])
    assert capsys.readouterr().out == "a\tb\n1 2\t3 4\n"


def test_a_document_is_handed_over_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    hand_over(b"\x1b\x00\r\n")
    hand_over(io.BytesIO(b"\xff\n"))
    assert capfdbinary.readouterr().out == b"\x1b\x00\r\n\xff\n"


def test_an_error_is_one_line_and_what_follows_is_indented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{tmp_path / 'eis.db'}")
    assert cli.main(["eis", "upgrade"]) == ExitCode.OK
    capsys.readouterr()
    assert cli.main(["message", "list", "--access-point", "9\nenergycomm: all is well\x1b[2J"]) == ExitCode.USAGE
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("       ") for line in others)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", first + "".join(others))


def test_a_narrow_terminal_cuts_no_value(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of 80 columns folds what does not fit: an identifier without its end is none."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    values = ("541449000000000061", "StartOfSupply", "quarantined", "BE-S03")
    print_rows(("access point", "kind", "state", "codes"), [values])
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    columns = zip(*(line.strip("│").split("│") for line in drawn.splitlines() if line.startswith("│")), strict=True)
    assert tuple("".join(part.strip() for part in column) for column in columns) == values
