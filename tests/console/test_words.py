"""Every word of the pages is there in English and in French, and every colour can be read."""

from __future__ import annotations

import ast
import re
from datetime import UTC
from pathlib import Path

import pytest

from energycomm.console import STATIC
from energycomm.console.terms import ENGLISH, TERMS
from energycomm.console.view import STATES, Taste, Words
from energycomm.console.words import FRENCH, translate
from energycomm.correction.analysis import AGES, DIMENSIONS
from energycomm.daemon.survey import Survey
from energycomm.eis import tables
from energycomm.eis.states import TICKET_STATES
from energycomm.engine.rule import RULE_SETS
from energycomm.invoicing.words import CHECKS
from energycomm.market.legaltime import LegalTime

FOLDER = STATIC.parent


def asked_by_templates() -> set[str]:
    """Texts that templates ask for by name."""
    found: set[str] = set()
    for file in (FOLDER / "templates").glob("*.html"):
        found.update(re.findall(r'\bt\("([^"]+)"[,)]', file.read_text("utf-8")))
    return found


def asked_by_code() -> set[str]:
    """Texts that routes ask for by name, and those that they hand to a page as words."""
    found: set[str] = set()
    for file in FOLDER.glob("*.py"):
        if file.name in ("words.py", "terms.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "t":
                found |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return found


NAMED = asked_by_templates() | asked_by_code()

VARIABLE = {
    "Today",
    "Messages",
    "Failures",
    "Campaigns",
    "Quarantine",
    "Tickets",
    "Requests",
    "Access points",
    "Grid invoices",
    "Rules",
    "Health",
    "As the system",
    "Light",
    "Dark",
    "State",
    "Market",
    "Type",
    "Kind",
    "The token is unknown, expired or revoked.",
}
"""Texts that templates ask for by a variable."""


def words_of_the_store() -> set[str]:
    """What the store and the rules name, and pages show."""
    found = set(STATES.values()) | set(RULE_SETS) | set(TICKET_STATES)
    found |= {f"by {name}" for name in DIMENSIONS if name != "code"}
    found |= {table.name.replace("_", " ") for table in tables.EFFECTS}
    for table, column in (("campaign", "state"), ("campaign_item", "state"), ("campaign_item", "action")):
        comment = tables.metadata.tables[table].c[column].comment
        assert comment
        found |= set(comment.split(", "))
    found |= {
        "built",
        "sent",
        "acknowledged",
        "in-course",
        "done",
        "refused",
        "dead",
        "archived",
        "processing",
        "failed",
        "duplicate",
    }
    found |= {"grid_operator", "missing", "ordering", "product", "error", "warning"}
    found |= {words for _, words in AGES} | {"older"} | set(CHECKS.values())
    return found


def test_every_text_has_french_words() -> None:
    known = FRENCH.keys() | TERMS.keys()
    assert NAMED - known == set()
    assert words_of_the_store() - known == set()


def test_no_french_words_are_kept_that_nobody_asks_for() -> None:
    assert FRENCH.keys() - NAMED - VARIABLE == set()


def test_both_languages_fill_in_the_same_values() -> None:
    for english, french in FRENCH.items():
        assert sorted(re.findall(r"\{(\w+)[|}]", english)) == sorted(re.findall(r"\{(\w+)[|}]", french)), english


@pytest.mark.parametrize(
    ("language", "number", "shown"),
    [
        ("en", 0, "0 messages"),
        ("en", 1, "1 message"),
        ("fr", 0, "0 message"),
        ("fr", 1, "1 message"),
        ("fr", 2, "2 messages"),
    ],
)
def test_a_number_has_its_word_for_one_or_for_several(language: str, number: int, shown: str) -> None:
    words = Words(Taste(language, "auto", LegalTime({}, UTC)))
    assert words.t("{n|message|messages}", n=number) == shown


def test_no_french_text_is_empty_or_left_in_english() -> None:
    """Words that are the same in both languages are named here."""
    same = {english for english, french in (FRENCH | TERMS).items() if english == french}
    assert all((FRENCH | TERMS).values())
    assert same <= {
        *("Action", "Actions", "Campaign", "Code", "Codes", "Condition", "Message", "Messages", "Note", "Notes"),
        *("Notification", "Occurrences", "Script", "Source", "Ticket", "Tickets", "Type", "Verdict"),
        *("Date", "Euros"),
        *("absent", "message", "messages", "note", "notifications", "tables", "version", "volume"),
        *("{n|message|messages}", "{n|ticket|tickets}", "version {n}"),
    }


def test_terms_of_the_store_are_said_in_words_of_the_reader() -> None:
    assert translate("grid_operator", "en") == "grid operator"
    assert translate("grid_operator", "fr") == "gestionnaire de réseau"
    assert translate("EndOfSupply", "fr") == "EndOfSupply"
    assert set(ENGLISH) <= words_of_the_store() | {"engine_error"}
    assert Survey().alarms()


def palettes() -> dict[str, dict[str, str]]:
    """The colours by name, of each place where the style sheet names them."""
    sheet = (STATIC / "console.css").read_text("utf-8")
    blocks = re.findall(r"(:root(?:\[data-theme=\"\w+\"\])?) \{([^}]*)\}", sheet)
    found = {}
    for number, (selector, body) in enumerate(blocks):
        found[f"{number} {selector}"] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", body))
    return found


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXT = [
    *((ink, paper) for ink in ("ink", "faint", "link") for paper in ("paper", "sheet", "sunk")),
    *((f"{name}-ink", f"{name}-paper") for name in ("good", "wait", "bad", "open", "rest")),
    *(("bad-ink", paper) for paper in ("paper", "sheet")),
    *(("ink", paper) for paper in ("add", "del")),
    ("accent-ink", "accent"),
    ("faint", "sheet"),
]
"""(text, ground): 4.5 to 1."""

SHAPES = [
    *((name, "sheet") for name in ("good", "wait", "bad", "open", "rest", "strong-line", "accent", "focus")),
    ("focus", "paper"),
]
"""(shape, ground): 3 to 1."""


@pytest.mark.parametrize("name", list(palettes()))
def test_text_and_shapes_stand_out_in_every_theme(name: str) -> None:
    """WCAG 2.2 AA: 4.5 to 1 for text, 3 to 1 for what is not text."""
    colours = palettes()[name]
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in TEXT}
    assert {pair: value for pair, value in weak.items() if value < 4.5} == {}
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in SHAPES}
    assert {pair: value for pair, value in weak.items() if value < 3} == {}


def test_both_ways_to_the_dark_theme_have_the_same_colours() -> None:
    light, system, chosen = palettes().values()
    assert system == chosen
    assert light.keys() == system.keys()


def test_the_measure_of_contrast_is_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_pages_write_no_style_and_no_script_into_themselves() -> None:
    """What the content security policy would refuse."""
    for file in Path(FOLDER / "templates").glob("*.html"):
        text = file.read_text("utf-8")
        assert not re.search(r"\sstyle=|<style|\son\w+=|<script(?! src=)|javascript:", text), file.name
