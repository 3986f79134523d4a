"""`energycomm rules`: for people on a terminal, plain in a pipe, JSON for scripts, exit code 2 for broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from energycomm.commands.rules import app as rules_app
from energycomm.errors import UserError
from tests.engine.conftest import SMALL
from tests.engine.test_loading import GOOD

run = CliRunner()


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "a.yaml").write_text(GOOD.replace("<= 36", "<= 'x'"), encoding="utf-8")
    return tmp_path


def test_rules_are_listed_one_a_line_in_a_pipe() -> None:
    result = run.invoke(rules_app, ["list", "--rules", str(SMALL), "--market", "fr", "--kind", "ContractTerms"])
    assert result.exit_code == 0
    lines = [line.split("\t") for line in result.output.splitlines()]
    assert ["FR-C01", "fr-power-at-most-36", "validation_in", "error", "Power is at most 36 kVA"] in lines
    assert not any("R01" in line[0] for line in lines)


def test_rules_are_listed_for_a_day_and_a_set() -> None:
    options = ["list", "--rules", str(SMALL), "--set", "validation_in", "--on", "2023-06-01", "--json"]
    rules = json.loads(run.invoke(rules_app, options).output)["rules"]
    (rule,) = [rule for rule in rules if rule["error_code"] == "FR-C03"]
    assert (rule["until"], rule["reads"]) == ("2023-12-31", ["sequence", "history.contract_sequence"])


@pytest.mark.parametrize("code", ["FR-R01", "fr-index-not-back", "fr-r01"])
def test_a_rule_is_shown_by_either_of_its_codes(code: str) -> None:
    result = run.invoke(rules_app, ["show", code, "--rules", str(SMALL)])
    assert result.exit_code == 0
    for part in (
        "An index is not below the one before.",
        "register.value * 1000 >= previous.index_wh",
        "fr/validation.yaml:",
    ):
        assert part in result.output


def test_an_unknown_code_is_answered_with_near_ones() -> None:
    result = run.invoke(rules_app, ["show", "FR-R99", "--rules", str(SMALL)])
    assert isinstance(result.exception, UserError)
    assert "FR-R0" in result.exception.advice


def test_a_right_folder_is_told_so() -> None:
    result = run.invoke(rules_app, ["check", str(SMALL)])
    assert result.exit_code == 0
    assert "all right" in result.output


@pytest.mark.parametrize("command", [["check"], ["list", "--rules"], ["show", "FR-C01", "--rules"]])
def test_a_broken_file_is_refused_with_file_line_and_reason(broken: Path, command: list[str]) -> None:
    result = run.invoke(rules_app, [*command, str(broken)])
    assert result.exit_code == 2
    assert (
        f"{broken}/fr/a.yaml:9: rule fr-power-limit: holds: `subscribed_power` (decimal number) <= 'x' (text)"
        in result.output
    )
    assert "Compare values of one type." in result.output


def test_the_problems_are_told_as_json_too(broken: Path) -> None:
    result = run.invoke(rules_app, ["check", str(broken), "--json"])
    assert result.exit_code == 2
    (problem,) = json.loads(result.output)["problems"]
    assert (problem["file"], problem["line"], problem["rule"]) == ("fr/a.yaml", 9, "fr-power-limit")


@pytest.mark.parametrize(("form", "suffixes"), [("md", {".md"}), ("html", {".html"}), ("both", {".md", ".html"})])
def test_the_document_is_written_in_the_forms_asked_for(tmp_path: Path, form: str, suffixes: set[str]) -> None:
    out = tmp_path / "new" / "folder"
    options = ["document", "--market", "fr", "--out", str(out), "--format", form, "--rules", str(SMALL)]
    assert run.invoke(rules_app, options).exit_code == 0
    assert {path.suffix for path in out.iterdir()} == suffixes
    assert all("FR-R01" in path.read_text(encoding="utf-8") for path in out.iterdir())


def test_a_market_without_rules_has_no_document(tmp_path: Path) -> None:
    result = run.invoke(rules_app, ["document", "--market", "xx", "--out", str(tmp_path), "--rules", str(SMALL)])
    assert isinstance(result.exception, UserError)
