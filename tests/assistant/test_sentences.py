"""Sentences are cut where a reader would, and their offsets are exact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.knowledge.language import detect
from assistant.knowledge.sentences import split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One rule. Another rule.", ["One rule.", "Another rule."]),
        ("Cf. art. 12 of the code. It holds.", ["Cf. art. 12 of the code.", "It holds."]),
        ("R151 v1.2.0 fixes it. So be it!", ["R151 v1.2.0 fixes it.", "So be it!"]),
        ("Est-ce rejeté ? Oui, « toujours. » Voilà.", ["Est-ce rejeté ?", "Oui, « toujours. »", "Voilà."]),
        ("- one item\n- another item", ["- one item", "- another item"]),
        ("a | b\nc | d", ["a | b", "c | d"]),
        ("It is below the […] Wh of […]. Then more.", ["It is below the […] Wh of […].", "Then more."]),
        ("Wait ... then go on. End", ["Wait ... then go on.", "End"]),
        ("", []),
        (" \n ... \n", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    """Abbreviations, versions and ellipses do not end a sentence; line ends do."""
    assert [sentence.text for sentence in split(text)] == expected


@given(st.text(alphabet="ab. !?\n…-|»1", max_size=200), st.integers(0, 50))
def test_every_sentence_is_its_span_of_the_text(text: str, offset: int) -> None:
    """Whatever the text: in order, apart from each other, word for word."""
    at = 0
    for sentence in split(text, offset):
        assert sentence.start - offset >= at
        assert text[sentence.start - offset : sentence.end - offset] == sentence.text
        at = sentence.end - offset


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Pourquoi un relevé R151 est-il rejeté quand l'index diminue ?", "fr"),
        ("Why is a reading rejected when the index decreases?", "en"),
        ("Wat gebeurt er als de meterstand lager is dan de vorige?", "nl"),
        ("Was passiert, wenn der Zählerstand niedriger ist als der vorige?", "de"),
        ("E17 R151", None),
        ("", None),
    ],
)
def test_the_language_of_a_question_is_told_by_its_small_words(text: str, language: str | None) -> None:
    """A text that tells nothing has no language."""
    assert detect(text) == language
