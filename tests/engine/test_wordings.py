"""What a comment says: legal time, words for one and for several, words of the Kernel in French."""

from __future__ import annotations

from pathlib import Path

import pytest

from energycomm.engine.comments import built_comments
from energycomm.engine.folder import read_catalogue

RULES = """rule_set: validation_in
market: FR
rules:
  - code: fr-words
    error_code: FR-E01
    title: Words
    sentence: A rule whose comments show all that comments can show.
    applies_to: [GridCharge]
    holds: count(lines) > 9
    field: effective
    comment:
      en: "{count(lines)|line is|lines are} {function} at {effective}; {total_excluding_tax|euro|euros}."
      fr: "{count(lines)|ligne est|lignes sont} « {function} » au {effective} ; {total_excluding_tax|euro|euros}."
    source: "a public document, section 1"
    examples:
      - passes: {lines: [LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE]}
      - fails: {function: cancel, effective: "2024-10-03T22:00:00Z", total_excluding_tax: "1.5", lines: [LINE]}
      - fails: {effective: "2024-10-03T22:00:00Z", total_excluding_tax: "1", lines: [LINE, LINE]}
""".replace("LINE", "{code: A, amount: 1}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "market.yaml").write_text("zone: Europe/Paris\n")
    (tmp_path / "fr" / "words.yaml").write_text(RULES, "utf-8")
    return tmp_path


def test_a_comment_is_written_in_each_language_as_it_is_spoken(folder: Path) -> None:
    """French has the singular below 2, English for 1 alone; decimals have the sign of the language."""
    catalogue, problems = read_catalogue(folder)
    assert problems == ()
    assert [(one.en, one.fr) for one in built_comments(catalogue, catalogue.rules)] == [
        (
            "1 line is cancel at 2024-10-04 00:00; 1.5 euros.",
            "1 ligne est « annulation » au 2024-10-04 00:00 ; 1,5 euro.",
        ),
        (
            "2 lines are original at 2024-10-04 00:00; 1 euro.",
            "2 lignes sont « original » au 2024-10-04 00:00 ; 1 euro.",
        ),
    ]


def test_what_is_counted_is_a_number(folder: Path) -> None:
    file = folder / "fr" / "words.yaml"
    file.write_text(RULES.replace("{total_excluding_tax|euro|euros}", "{charge_reference|euro|euros}"), "utf-8")
    (found, *_) = read_catalogue(folder)[1]
    assert (found.file, "counts text" in found.reason) == ("fr/words.yaml", True)


def test_a_zone_that_is_none_is_refused(folder: Path) -> None:
    (folder / "fr" / "market.yaml").write_text("zone: Europe/Parys\n")
    (found,) = read_catalogue(folder)[1]
    assert (found.file, found.line, found.reason) == ("fr/market.yaml", 1, "there is no zone 'Europe/Parys'")
