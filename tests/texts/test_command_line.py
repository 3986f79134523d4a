"""The command line in French and Dutch: nothing that it says is left in English, and what scripts read stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from energycomm import cli
from energycomm.commands.language import of_terminal
from energycomm.documentation.commands import all_commands
from energycomm.errors import ExitCode
from tests.console.test_english_words import english
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start

LOCALES = {"fr": "fr_FR.UTF-8", "nl": "nl_BE.UTF-8"}
POINT, OTHER = "99000000000017", "99000000000025"

Run = Callable[..., tuple[str, str]]

TYPED = re.compile(r"--?\w[\w-]*|\b[A-Z]{2,}\b|\[(défaut :|standaard:) [^]]*")
"""Options, their values, and what stands for them where they are not typed."""

STEERING = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A start of supply, a reading and one that falls; a reading of another point waits for its start."""
    database = f"sqlite:///{tmp_path_factory.mktemp('words') / 'eis.db'}"
    desk = Desk(database)
    desk.deliver([start(POINT, day(0)), reading(POINT, day(31), 1_200_000)])
    desk.deliver([reading(POINT, day(62), 1_100_000)])
    desk.deliver([reading(OTHER, day(31), 1_300_000)])
    return database


@pytest.fixture
def run(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a language; gives what it printed, and what it complained of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", store)
    monkeypatch.setenv("COLUMNS", "240")

    def run_(typed: str, language: str, *, terminal: bool = False) -> tuple[str, str]:
        monkeypatch.setenv("LANG", LOCALES.get(language, "C.UTF-8"))
        with monkeypatch.context() as more:
            if terminal:
                more.setenv("FORCE_COLOR", "1")
            cli.main(typed.split())
        said = capsys.readouterr()
        return STEERING.sub("", said.out), said.err

    return run_


def pages() -> Iterator[str]:
    """What the help of every command and group is asked by."""
    names = [name.removeprefix("energycomm").strip() for name, _ in all_commands(cli.app)]
    groups = {name.rpartition(" ")[0] for name in names}
    return iter(sorted({*names, *groups, *(name.rpartition(" ")[0] for name in groups)}))


def sentences(text: str) -> Iterator[str]:
    """The paragraphs of what was printed, without what is typed."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not re.match(r"\s*(Exemple :|Voorbeeld:|Usage|Gebruik)", paragraph):
            yield " ".join(paragraph.split())


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
def test_the_help_of_every_command_is_told(language: str, run: Run) -> None:
    asked = [*pages()]
    left = {
        sentence: name
        for name in asked
        for sentence in sentences(run(f"{name} --help", language)[0])
        if english(TYPED.sub(" ", sentence))
    }
    assert left == {}
    assert len(asked) > 150


@pytest.mark.parametrize("name", ["", "message list", "eis backup"])
def test_the_help_is_another_in_each_language(name: str, run: Run) -> None:
    help_ = {language: run(f"{name} --help", language)[0] for language in ("en", "fr", "nl")}
    assert len(set(help_.values())) == 3
    assert [words in help_[one] for one, words in (("en", "Options:"), ("fr", "Options :"), ("nl", "Opties:"))] == [
        True,
        True,
        True,
    ]


@pytest.mark.thorough
def test_the_help_in_english_is_that_of_the_declarations(run: Run) -> None:
    for name, command in all_commands(cli.app):
        # A line may end behind a hyphen.
        said = "".join(run(f"{name.removeprefix('energycomm')} --help", "en")[0].split())
        helps = [command.help, *(one.help for one in command.params if getattr(one, "help", None))]
        assert [text for text in helps if "".join(text.split()) not in said] == []


COMMANDS = (
    "message list",
    "message show 3",
    "message explain 3",
    "message explain 4",
    f"access-point show {POINT}",
    "access-point overdue",
    "envelope list",
    "envelope show 1",
    "correct analyse",
    "correct analyse --scripts",
    "correct tickets",
    "correct history",
    "correct list",
    "request list",
    "request owed",
    "channel list",
    "outbox list",
    "acknowledgement list",
    "alarm list",
    "workers",
    "eis status",
    "eis retention",
    "eis archive list",
    "eis partition list",
    "eis upgrade",
    "eis index",
    "keys list",
    "rules list --market fr",
    "rules test",
    "rules versions",
    "gas values",
    "invoice list",
    "customer find anna",
    "customer erasures",
    "token list",
    "user list",
    "user sessions",
    "audit list",
    "audit verify",
    "config show",
    f"find {POINT}",
    "find nothing-like-it",
)
"""What reads the store, and changes nothing that others read."""

MISTAKES = {
    "nonsense": ExitCode.USAGE,
    "messag list": ExitCode.USAGE,
    "message": ExitCode.USAGE,
    "message show": ExitCode.USAGE,
    "message show x": ExitCode.USAGE,
    "message show 999": ExitCode.USAGE,
    "message list --nonsense": ExitCode.USAGE,
    "message list --limit 0": ExitCode.USAGE,
    "message list --state nonsense": ExitCode.USAGE,
    "message list --json --csv": ExitCode.USAGE,
    "message list --sort nonsense": ExitCode.USAGE,
    "message list --since nonsense": ExitCode.USAGE,
    "message list --cursor nonsense": ExitCode.USAGE,
    "access-point show 1": ExitCode.USAGE,
    "envelope show 999": ExitCode.USAGE,
    "channel check nonsense": ExitCode.USAGE,
    "process absent": ExitCode.UNREADABLE,
    "export nonsense x.csv": ExitCode.USAGE,
    "rules show FR-X99": ExitCode.USAGE,
    "eis archive check 2026-01": ExitCode.USAGE,
    "eis restore absent": ExitCode.USAGE,
    "eis backups absent": ExitCode.USAGE,
    "keys rewrap": ExitCode.USAGE,
    "correct tickets 9 --state closed": ExitCode.USAGE,
    "correct run nonsense": ExitCode.USAGE,
    "message list --since hier": ExitCode.USAGE,
    "request show 9": ExitCode.USAGE,
    "user disable nobody": ExitCode.USAGE,
    "token revoke 9": ExitCode.USAGE,
    "customer erase 1": ExitCode.USAGE,
    "--supplier nord message list": ExitCode.USAGE,
    "simulate out --market xx": ExitCode.USAGE,
    "gas energy 1 --month x --station 1": ExitCode.USAGE,
}
"""What cannot be done -> its exit code."""


DATA = re.compile(r"(source|bron): .*|.*\bFR-C09\b.*")
"""The title of a public document; what a rule of France found, which Dutch readers see in English."""


def left_in_english(said: tuple[str, str]) -> list[str]:
    lines = (line.strip() for text in said for line in text.split("\n"))
    return [line for line in lines if not DATA.fullmatch(line) and english(line)]


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
@pytest.mark.parametrize("typed", COMMANDS)
def test_what_a_command_prints_is_told(typed: str, language: str, run: Run) -> None:
    said = run(typed, language, terminal=True)
    assert said != ("", "")
    assert left_in_english(said) == []


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["fr", "nl"])
@pytest.mark.parametrize("typed", MISTAKES)
def test_what_cannot_be_done_is_told(typed: str, language: str, run: Run) -> None:
    in_english, told = run(typed, "en"), run(typed, language)
    assert told != in_english
    assert left_in_english(told) == []


@pytest.mark.parametrize("typed", ["message list", "eis stats", "config show", f"access-point show {POINT}"])
def test_what_a_script_reads_is_the_same_in_every_language(typed: str, run: Run) -> None:
    forms = [
        "--json",
        *([] if typed == "eis stats" else ["--csv", "--tsv"]),
        *([""] if typed == "message list" else []),
    ]
    for form in forms:
        assert run(f"{typed} {form}", "fr")[0] == run(f"{typed} {form}", "en")[0]
    assert json.loads(run(f"{typed} --json", "fr")[0])


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, None),
        ({"LANG": "fr_FR.UTF-8"}, "fr"),
        ({"LANG": "nl"}, "nl"),
        ({"LANG": "fr_BE@euro", "LC_MESSAGES": "nl_BE.UTF-8"}, "nl"),
        ({"LANG": "fr_FR", "LC_MESSAGES": "nl_BE", "LC_ALL": "en_IE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "de:nl:fr"}, "nl"),
        ({"LANG": "C.UTF-8", "LANGUAGE": "fr"}, None),
        ({"LANG": "POSIX"}, None),
        ({"LANG": "de_DE.UTF-8"}, None),
        ({"LC_ALL": "", "LANG": "fr_FR"}, "fr"),
    ],
)
def test_the_language_is_that_of_the_terminal(environ: dict[str, str], language: str | None) -> None:
    assert of_terminal(environ) == language


def test_where_nobody_chose_the_configuration_says_the_language(tmp_path: Path, run: Run) -> None:
    (tmp_path / "energycomm.toml").write_text('language = "nl"\n', "utf-8")
    assert "Opties:" in run("message --help", "C")[0]
    assert "Options :" in run("message --help", "fr")[0]
    (tmp_path / "energycomm.toml").write_text('language = "xx"\n', "utf-8")
    assert "Options:" in run("message --help", "C")[0]


def test_what_a_person_wrote_is_not_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from energycomm.commands.language import reader, told, told_value

    monkeypatch.setenv("LANG", LOCALES["fr"])
    with reader():
        assert told("12 bytes written to from the meter.xml") != "12 bytes written to from the meter.xml"
        assert told_value("from the meter") == "from the meter"
        assert told_value("file number 7") == "file number 7"
        assert told_value("accepted") == "accepted"
        assert told_value("yes") == "oui"


def test_english_loads_no_catalogue(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from energycomm.texts import catalogues

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(catalogues, "catalogue", refuse)
    monkeypatch.setattr(catalogues, "_templates", refuse)
    assert "Options:" in run("message list --help", "en")[0]
    assert run("message list", "en", terminal=True)[0]


WRONG = """
batch_size = -1
langage = "fr"
[web]
zone = "Europe/Pariss"
[alarms]
email_to = ["x"]
[[channels]]
name = "x"
kind = "ftp"
"""
"""Mistakes of five kinds in the settings."""


@pytest.mark.parametrize("language", ["fr", "nl"])
def test_what_is_wrong_with_a_setting_is_told(run: Run, tmp_path: Path, language: str) -> None:
    (tmp_path / "energycomm.toml").write_text(WRONG, "utf-8")
    complaint = run("message list", language)[1]
    assert len(complaint.splitlines()) == 7, "a heading, the five, and where to look"
    assert [line for line in complaint.splitlines() if english(line)] == []


@pytest.mark.parametrize(("language", "word"), [("fr", "défaut :"), ("nl", "standaard:")])
def test_a_default_that_is_typed_stays_as_it_is_typed(run: Run, language: str, word: str) -> None:
    """`today` is a word of ours on pages, and what somebody types behind `--rules`."""
    assert f"[{word} today]" in " ".join(run("correct replay --help", language)[0].split())


def test_typer_says_nothing_that_is_not_known() -> None:
    """Its own help of an option stands in every command."""
    command = typer.main.get_command(cli.app)
    option = command.get_help_option(typer.Context(command))
    assert option is not None
    assert option.help == "Show this message and exit."
