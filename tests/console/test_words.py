"""The words of the pages follow the reader, and every colour can be read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from energycomm.console import STATIC
from energycomm.console.access_points import told
from energycomm.console.view import Taste, Words
from energycomm.eis.timeline import Entry
from energycomm.market.legaltime import LegalTime
from energycomm.texts.catalogues import translate, wanted

FOLDER = STATIC.parent


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
    assert words.tn("{n} message", "{n} messages", number) == shown


@pytest.mark.parametrize(
    ("language", "number", "instant", "day"),
    [
        ("en", "1 234 567", "2026-03-31 14:05", "2026-03-31"),
        ("fr", "1\u202f234\u202f567", "31/03/2026 14:05", "31/03/2026"),
        ("nl", "1.234.567", "31-03-2026 14:05", "31-03-2026"),
    ],
)
def test_numbers_and_days_are_written_as_the_reader_does(language: str, number: str, instant: str, day: str) -> None:
    """In the legal time of the market, whatever the language: Amsterdam is two hours ahead in summer."""
    words = Words(Taste(language, "auto", LegalTime({"NL": ZoneInfo("Europe/Amsterdam")}, UTC)))
    at = datetime(2026, 3, 31, 12, 5, tzinfo=UTC)
    assert (words.many(1234567), words.when(at, "NL"), words.day(at, "NL")) == (number, instant, day)
    assert words.day(datetime(2026, 3, 30, 22, tzinfo=UTC), "NL") == day
    assert (words.many(None), words.when(None), words.day(None), words.many(0)) == ("", "", "", "0")


def test_what_holds_several_things_is_told_without_signs_of_a_program() -> None:
    """A contract with powers by time class, and one without."""
    words = Words(Taste("nl", "auto", LegalTime({"FR": ZoneInfo("Europe/Paris")}, UTC)))
    powers = [{"name": "HP", "power": 9.0, "unit": "kVA"}, {"name": "HC", "power": 12.5, "unit": None}]
    content = {"reference": "K1", "powers": powers}
    entry = Entry(at=None, what="contract", message_id=1, content=content)
    assert told(entry, words, "FR").endswith(": HP 9.0 kVA; HC 12.5")
    bare = Entry(at=None, what="contract", message_id=1, content=content | {"powers": []})
    assert told(bare, words, "FR").endswith(": K1")


def test_terms_of_the_store_are_said_in_words_of_the_reader() -> None:
    assert translate("grid_operator", "en") == "grid operator"
    assert translate("grid_operator", "fr") == "gestionnaire de réseau"
    assert translate("EndOfSupply", "fr") == "EndOfSupply"
    assert translate("", "fr") == ""


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("nl-BE,nl;q=0.9,fr;q=0.8", "nl"),
        ("de, nl;q=0.5, fr;q=0.7", "fr"),
        ("en;q=0, fr;q=0.1", "fr"),
        ("de-DE", "en"),
        ("fr;q=high, *", "en"),
    ],
)
def test_the_browser_says_which_language_it_wants_most(header: str, language: str) -> None:
    """RFC 9110, section 12.5.4."""
    assert wanted(header, "en") == language


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
