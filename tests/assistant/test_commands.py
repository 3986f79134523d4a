"""The command line of the assistant: with its models where they are, in words where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from energycomm.cli import app, main
from energycomm.commands.recording import MARK
from energycomm.errors import ExitCode
from tests.test_recorded_commands import NOTHING_PERSONAL, OF_THE_ASSISTANT, commands

QUESTION = "Pourquoi un relevé R151 est-il rejeté quand l'index diminue ?"


def test_every_command_of_the_assistant_says_whether_it_is_recorded() -> None:
    """As of the gateway's own: a new one is written into a table, and its declaration agrees."""
    found = {name: one for name, one in commands(typer.main.get_command(app)) if name.startswith("assistant ")}
    assert set(found) == OF_THE_ASSISTANT | {name for name in NOTHING_PERSONAL if name.startswith("assistant ")}
    assert {getattr(one.callback, MARK, None) for one in found.values()} - {None} == OF_THE_ASSISTANT
    for name, one in found.items():
        assert getattr(one.callback, MARK, name) == name


def test_what_is_missing_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the extra's packages: exit code 3 and what to type."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assistant.extras.find_spec", lambda name: None)
    assert main(["assistant", "ask", "Why?"]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "The assistant needs" in told
    assert "make assistant" in told


def test_the_gateway_starts_without_loading_any_model() -> None:
    """The commands are there; numpy and torch are not loaded for `--help`."""
    import subprocess
    import sys

    code = "import sys, energycomm.cli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The readings' rules of all markets, indexed with the real model."""
    folder = tmp_path_factory.mktemp("assistant")
    root = Path(__file__).resolve().parents[2]
    rules = folder / "rules"
    for market in ("common", "fr"):
        (rules / market).mkdir(parents=True)
        for name in ("readings.yaml", "dates.yaml"):
            (rules / market / name).write_text((root / "rules" / market / name).read_text("utf-8"), "utf-8")
    (rules / "fr" / "codes.csv").write_text((root / "rules" / "fr" / "codes.csv").read_text("utf-8"), "utf-8")
    (rules / "predicates.py").write_text((root / "rules" / "predicates.py").read_text("utf-8"), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["assistant", "index", "rules"]) == ExitCode.OK
    return folder


def test_the_question_of_every_consultant_is_answered_with_its_rule(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In French, cited and highlighted, offline."""
    monkeypatch.chdir(indexed)
    assert main(["assistant", "ask", QUESTION, "--json"]) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    first = answer["sources"][0]
    assert first["number"] == 1
    assert first["passage"]["metadata"]["codes"][0] == "CO-R05"
    assert first["highlights"][0]["text"] in first["passage"]["text"]
    assert answer["language"] == "fr"


def test_a_question_outside_the_documents_is_refused_honestly(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, in the language of the question, with what is nearest."""
    monkeypatch.chdir(indexed)
    assert main(["assistant", "ask", "Quelle est la capitale de l'Australie ?"]) == ExitCode.REJECTED
    assert capsys.readouterr().out.startswith("Je ne sais pas")


@pytest.mark.parametrize(
    ("question", "told"), [("???", "has no word"), ("why " * 501, "has 2003 characters; expected are at most 2000")]
)
@pytest.mark.parametrize("command", ["ask", "search"])
def test_what_is_no_question_is_refused_with_what_is_expected(
    command: str, question: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["assistant", command, question]) == ExitCode.USAGE
    assert told in capsys.readouterr().err


def test_an_answer_can_be_rated_from_the_command_line(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its number is printed below it."""
    monkeypatch.chdir(indexed)
    main(["assistant", "ask", "What does FR-R03 demand?", "--json"])
    number = json.loads(capsys.readouterr().out)["number"]
    assert main(["assistant", "feedback", str(number), "--good", "--comment", "right"]) == ExitCode.OK
    capsys.readouterr()
    assert main(["assistant", "feedback", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)[0]["comment"] == "right"


def test_status_and_sources_tell_what_is_indexed(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Passages, embedder, documents by source."""
    monkeypatch.chdir(indexed)
    assert main(["assistant", "status", "--json"]) == ExitCode.OK
    status = json.loads(capsys.readouterr().out)
    assert status["embedder"] == "multilingual-e5-small"
    assert status["passages"] > 50
    assert main(["assistant", "sources", "--json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)[0]["source"] == "rules"
