"""Packs of common rules that a market chooses, and the market's own error codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm.engine.catalogue import Catalogue
from energycomm.engine.folder import read_catalogue

RULE = """
  - code: {market}-{name}
    error_code: {prefix}-E{number}
    title: The sender is given
    sentence: A message names its sender.
    applies_to: [RequestStatus]
    holds: present(sender)
    field: sender
    comment: {{en: "No sender.", fr: "Aucun émetteur."}}
    source: "a public document, section 1"
    {more}
    examples:
      - passes: {{sender: 17XFICTIF000001X}}
      - fails: {{sender: null}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rules: one common rule for all, one of a pack, and the markets XA, with the pack, and XB, without."""
    for name in ("common", "xa", "xb"):
        (tmp_path / name).mkdir()
    write(
        tmp_path / "common" / "all.yaml",
        "common",
        RULE.format(market="common", name="all", prefix="CO", number="01", more=""),
    )
    write(tmp_path / "common" / "packed.yaml", "common\npack: senders", rule("common", "packed", "CO", "02"))
    (tmp_path / "xa" / "market.yaml").write_text("packs: [senders]\nerror_codes: fault\n")
    (tmp_path / "xa" / "codes.csv").write_text("list,code,since,until,en,fr\nfault,D09,,,No sender,Sans émetteur\n")
    write(
        tmp_path / "xb" / "own.yaml",
        "XB",
        RULE.format(market="xb", name="own", prefix="XB", number="01", more="ebix: E73"),
    )
    return tmp_path


def rule(market: str, name: str, prefix: str, number: str, more: str = "") -> str:
    return RULE.format(market=market, name=name, prefix=prefix, number=number, more=more)


def write(path: Path, market: str, rules: str) -> None:
    path.write_text(f"rule_set: validation_in\nmarket: {market}\nrules:{rules}", "utf-8")


def own_rule(folder: Path, more: str) -> None:
    write(folder / "xa" / "own.yaml", "XA", rule("xa", "own", "XA", "01", more))


def read(folder: Path) -> tuple[Catalogue, list[str]]:
    catalogue, problems = read_catalogue(folder)
    return catalogue, [f"{one.file}:{one.line} {one.reason} {one.advice}" for one in problems]


def test_a_rule_of_a_pack_judges_the_markets_that_chose_it_and_no_other(folder: Path) -> None:
    catalogue, problems = read(folder)
    assert problems == []
    judged = {market: {rule.error_code for rule in catalogue.of_market(market)} for market in ("XA", "XB")}
    assert judged == {"XA": {"CO-E01", "CO-E02"}, "XB": {"CO-E01", "XB-E01"}}


def test_a_pack_that_nobody_chose_judges_nobody(folder: Path) -> None:
    (folder / "xa" / "market.yaml").unlink()
    catalogue, problems = read(folder)
    assert problems == []
    assert catalogue.find("CO-E02") == ()


def test_a_pack_that_common_does_not_have_is_refused_with_those_like_it(folder: Path) -> None:
    (folder / "xa" / "market.yaml").write_text("packs:\n  - sender\n")
    _, problems = read(folder)
    assert problems == ["xa/market.yaml:2 there is no pack 'sender' in common Did you mean senders?"]


def test_a_market_has_no_packs_of_its_own(folder: Path) -> None:
    own_rule(folder, "")
    path = folder / "xa" / "own.yaml"
    path.write_text(path.read_text().replace("market: XA", "market: XA\npack: mine"))
    _, problems = read(folder)
    assert any("a pack is not in common" in problem for problem in problems)


def test_the_markets_own_code_stands_beside_ours_and_is_found_by_it(folder: Path) -> None:
    own_rule(folder, "market_code: D09")
    catalogue, problems = read(folder)
    assert problems == []
    assert catalogue.error_codes("d09") == ("XA-E01",)
    assert catalogue.error_codes("E73") == ("XB-E01",)
    assert catalogue.error_codes("xa-own") == ("XA-E01",)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("market_code: D90", "market_code 'D90' is not in the list fault of XA"),
        ("ebix: e73", "ebix 'e73' is no ebIX code"),
    ],
)
def test_a_code_that_the_market_does_not_have_is_a_problem_of_the_rule(folder: Path, more: str, told: str) -> None:
    own_rule(folder, more)
    _, problems = read(folder)
    assert any(told in problem for problem in problems), problems


def test_a_market_without_a_list_of_error_codes_has_none_of_its_own(folder: Path) -> None:
    path = folder / "xb" / "own.yaml"
    path.write_text(path.read_text("utf-8").replace("ebix: E73", "market_code: D09"), "utf-8")
    _, problems = read(folder)
    assert any("XB has no list of own error codes" in problem for problem in problems), problems


def test_a_list_of_error_codes_that_is_none_is_refused(folder: Path) -> None:
    (folder / "xa" / "market.yaml").write_text("error_codes: faults\n")
    _, problems = read(folder)
    assert problems == ["xa/market.yaml:1 XA has no code list 'faults' Add it to xa/codes.csv."]
