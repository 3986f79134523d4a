"""Whatever is asked, in whatever order its words come: a question is read or not, and never ends in an exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from assistant.operations.house import House
from assistant.operations.vocabulary import LANGUAGES, phrases
from energycomm.config import Config

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "BE-P01", "CO-R14", "ZZ-X99", "E10", "R15", "BTINFCU4", "message 116", "#12", "envelope 3", "verzoek 7", "0", "77",
    "871999910000000041", "nl/points.yaml", "net_settlement_group", "hang_seconds", "SERIES_GAP", "FR-R", "§", "§7",
    "2017-03-01", "1 March 2017", "31/02/2020", "(curve_unit)", "`market_type`", "w/o", "a1b2c3d", "energy-of-point",
)  # fmt: skip
JOINTS = (" ", " ", " ", ", ", " and how many ", "? ", " and what ", " et combien ", " en welke ", " - ")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The shipped rules and documentation, and no store."""
    values: dict[str, Any] = {"database": SecretStr(f"sqlite:///{tmp_path_factory.mktemp('house') / 'none.db'}")}
    return House(Config(rules=ROOT / "rules", **values), docs=ROOT / "docs")


KNOWN = st.sampled_from(sorted({" ".join(phrase.words).replace("*", "") for phrase in phrases()}) + list(NAMES))
WORDS = st.lists(st.tuples(KNOWN, st.sampled_from(JOINTS)), min_size=1, max_size=12)


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(WORDS)
def test_words_of_the_vocabulary_in_any_order_are_read_or_not_and_never_raise(
    house: House, words: list[tuple[str, str]]
) -> None:
    assert house.read("".join(word + joint for word, joint in words)) is not None


@pytest.mark.thorough
@settings(max_examples=50, deadline=None)
@given(st.text(max_size=120))
def test_any_text_is_read_or_not_and_never_raises(house: House, text: str) -> None:
    assert house.plan(text)["to"] in ("operation", "person", "passages")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_part_that_takes_its_subject_from_the_other_is_read(house: House, language: str) -> None:
    question = {
        "en": "How many tickets has Belgium and how many purple ones?",
        "fr": "Combien de tickets a la Belgique et combien de violets ?",
        "nl": "Hoeveel tickets heeft België en hoeveel paarse?",
    }[language]
    reading = house.read(question)
    assert isinstance(reading.read, tuple)
    assert reading.missing  # what is purple is not told, and that it is not is said
