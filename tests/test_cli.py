"""The command line: every outcome is words and an exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer

from energycomm import cli
from energycomm.commands import config
from energycomm.errors import ExitCode, UserError


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` says what is installed."""
    assert cli.main(["--version"]) == ExitCode.OK
    assert capsys.readouterr().out == f"energycomm {version('energycomm')}\n"


@pytest.mark.parametrize("typed", [[], ["nonsense"], ["config", "show", "--colour"], ["config", "show", "extra"]])
def test_what_cannot_be_understood_is_exit_code_3(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is told apart from unreadable envelopes, which are code 2."""
    assert cli.main(typed) == ExitCode.USAGE
    assert "Traceback" not in capsys.readouterr().err


def test_a_users_mistake_is_words_and_advice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, and the exit code that the error carries."""

    def broken() -> None:
        raise UserError("The disk is full.", "Make room.", ExitCode.DATABASE)

    monkeypatch.setattr(config, "load", broken)
    assert cli.main(["config", "show"]) == ExitCode.DATABASE
    assert capsys.readouterr().err == "error: The disk is full.\n       Make room.\n"


def test_a_mistake_of_the_program_is_code_5_and_keeps_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is ours to repair can be reported with what is needed to repair it."""

    def broken() -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(config, "load", broken)
    assert cli.main(["config", "show"]) == ExitCode.INTERNAL
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in shown
    assert "mistake of the program" in shown


@pytest.mark.thorough
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the command: the file and the reason, no traceback."""
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file" / "x")
    for typed in (
        ["simulate", "--market", "fr", "--access-points", "1"],
        ["rules", "document", "--market", "fr", "--out"],
    ):
        assert cli.main([*typed, place]) == ExitCode.USAGE
        shown = capsys.readouterr().err
        assert place in shown
        assert "Traceback" not in shown


def test_help_works_with_a_broken_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who looks for the way out of a broken configuration is not stopped by it."""
    (tmp_path / "energycomm.toml").write_text("???", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["config", "show", "--help"]) == ExitCode.OK
    assert "Example:" in capsys.readouterr().out


def test_the_help_imports_no_command(tmp_path: Path) -> None:
    """Whoever looks around is not kept waiting: the store, the engine and the adapters are not loaded."""
    program = (
        "import sys; from energycomm.cli import main; code = main(['--help']); "
        "print(*(name for name in sys.modules if name.startswith(('energycomm.', 'adapters', 'sqlalchemy')))); "
        "sys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    *shown, loaded = ran.stdout.splitlines()
    assert "Commands:" in shown
    assert set(loaded.split()) & {"energycomm.eis", "energycomm.pipeline", "energycomm.commands.process"} == set()
    # The folder of the adapters brings a command of its own, whose help is shown; what it does is not loaded.
    of_adapters = {name for name in loaded.split() if name.startswith("adapters")}
    assert of_adapters <= {"adapters", "adapters.common", "adapters.common.commands"}
    assert "sqlalchemy" not in loaded.split()


def test_the_help_of_the_program_says_of_a_command_what_its_own_help_begins_with() -> None:
    """The words stand in the table of commands, so that none has to be imported for them."""
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    own = {name: commands[name].get_short_help_str(limit=400) for name in cli.COMMANDS}
    assert {name: place.words for name, place in cli.COMMANDS.items()} == own


def test_a_command_that_is_misspelt_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    """The names of all commands are known without importing them."""
    assert cli.main(["proces"]) == ExitCode.USAGE
    assert "process" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path: Path) -> None:
    """`energycomm ... | head` complains of nothing and has the exit code of any program whose pipe broke."""
    program = [sys.executable, "-c", "import sys; from energycomm.cli import main; sys.exit(main(['config', 'show']))"]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert process.returncode == 141


@pytest.mark.parametrize("name", ["adapters", "rules", "assistant"])
def test_a_package_of_another_project_under_one_of_our_names_is_told(tmp_path: Path, name: str) -> None:
    """AdapterHub's `adapters` and django-rules' `rules` may be installed in the same environment."""
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text('"""Another project."""\n')
    path = f"{tmp_path}:{Path(cli.__file__).parents[1]}"
    code = "import sys; from energycomm.cli import main; sys.exit(main(['rules', 'list']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitCode.USAGE
    assert f"`{name}` is not that of EnergyComm: {tmp_path / name / '__init__.py'}" in done.stderr
    assert "Traceback" not in done.stderr


def helps(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all commands."""
    yield path
    for name in getattr(command, "commands", {}):
        yield from helps(command.commands[name], (*path, name))


@pytest.mark.thorough
def test_no_help_speaks_python_or_breaks_off(capsys: pytest.CaptureFixture[str]) -> None:
    """What a value is has a name that people use, every sentence of a list is whole, and `-h` asks as `--help` does."""
    paths = list(helps(typer.main.get_command(cli.app)))
    assert len(paths) > 90
    for path in paths:
        assert cli.main([*path, "-h"]) == ExitCode.OK
        shown = capsys.readouterr().out
        assert not re.search(r"<(list|str|int|float|path|%|datetime)|\]\.\.\.\]|00:00:00", shown), path
        commands = shown.partition("Commands:")[2]
        assert "..." not in commands, path
