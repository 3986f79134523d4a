"""What rules found is read in Dutch, from the English sentence that the store keeps."""

from __future__ import annotations

import re
from datetime import UTC
from pathlib import Path

import pytest

from energycomm.console.view import Taste, Words
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.comments import built_comments
from energycomm.kernel.verdicts import Finding
from energycomm.market.legaltime import LegalTime
from energycomm.texts.sentences import refilled
from tests.pipeline.desk import shipped_rules

RULES = (Path(__file__).resolve().parents[2] / "rules" / "texts",)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return shipped_rules()


@pytest.mark.parametrize(
    ("sentence", "english", "dutch", "told"),
    [
        ("7 has 1 register.", "{m} has {n|register|registers}.", "{m}: {n|telwerk|telwerken}.", "7: 1 telwerk."),
        ("7 has 0 registers.", "{m} has {n|register|registers}.", "{m}: {n|telwerk|telwerken}.", "7: 0 telwerken."),
        ("{x} is (a+b).", "{m} is {n}.", "{n}, {m}", "(a+b), {x}"),
        ("7 has 1 thing.", "{m} has {n|register|registers}.", "{m}", None),
        ("a\nb ends", "{m} ends", "{m} eindigt", "a\nb eindigt"),
    ],
)
def test_a_sentence_is_told_again_by_another_template(
    sentence: str, english: str, dutch: str, told: str | None
) -> None:
    assert refilled(sentence, english, dutch) == told


def finding(rule: str, english: str, french: str) -> Finding:
    return Finding(error_code="X", rule=rule, field="", value=None, comment=english, comment_fr=french)


def test_every_comment_of_a_dutch_speaking_market_is_told_in_dutch(catalogue: Catalogue) -> None:
    """Those of every example that fails: nothing of the English sentence is left but its values."""
    words = Words(Taste("nl", "auto", LegalTime({}, UTC), RULES))
    rules = [rule for rule in catalogue.rules if rule.market.lower() in ("nl", "be", "common")]
    built = list(built_comments(catalogue, rules))
    assert len(built) > 300
    alike = [
        one.rule
        for one in built
        if words.comment(finding(one.rule, one.en, one.fr), catalogue) == one.en
        or re.search(
            r"\b(the|which|has|is not|request|reading)\b", words.comment(finding(one.rule, one.en, one.fr), catalogue)
        )
    ]
    assert alike == []


def test_a_comment_is_told_as_it_was_found(catalogue: Catalogue) -> None:
    """By a person: the rule of the postal code (BE), a number with its sign, a rule that is no more."""
    words = Words(Taste("nl", "auto", LegalTime({}, UTC), RULES))
    lacks = "The series of {access_point} from {effective} lacks"
    (rule,) = {one.code for one in catalogue.rules if one.comment and one.comment["en"].text.startswith(lacks)}
    told = finding(rule, "The series of 54 from 2026-03-01 lacks 1 value of 96.", "")
    assert words.comment(told, catalogue) == "De reeks van 54 vanaf 2026-03-01 mist 1 waarde van 96."
    assert words.comment(finding("no-such-rule", "Something was wrong.", ""), catalogue) == "Something was wrong."
    assert Words(Taste("fr", "auto", LegalTime({}, UTC), RULES)).comment(finding(rule, "a", "b"), catalogue) == "b"
