"""Knowing when not to answer: a threshold by language, a constant by language, both from development questions."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assistant.chat.confidence import Confidence, shipped
from assistant.evaluation.abstention import BY_HAND, FITTED, LEAST_OF_LANGUAGE, SPOKEN, fit, save

WEIGHTS = {"bias": 0.0, **dict.fromkeys(FITTED, 1.0), "code": 3.0}


def rows(language: str, shift: float, count: int) -> tuple[list[dict[str, float]], list[bool]]:
    """Questions whose features tell which of them the sources answer, in a language whose features lie lower."""
    found = []
    there = []
    for number in range(2 * count):
        answered = number % 2 == 0
        value = (0.8 if answered else 0.2) + 0.01 * (number % 7) - shift
        found.append({**dict.fromkeys(FITTED, value), "code": 0.0, f"{SPOKEN}{language}": 1.0})
        there.append(answered)
    return found, there


def test_a_language_has_its_own_threshold_where_enough_questions_tell_it() -> None:
    english, french, dutch = rows("en", 0.0, 24), rows("fr", 0.1, 24), rows("nl", 0.2, LEAST_OF_LANGUAGE - 5)
    content = fit([*english[0], *french[0], *dutch[0]], [*english[1], *french[1], *dutch[1]])
    assert set(content["thresholds"]) == {"en", "fr"}
    assert set(content["languages"]) == {"fr", "nl"}
    assert content["languages"]["nl"] > 0, "its features lie lower: what is added makes up for it"


def test_no_more_than_a_tenth_of_what_cannot_be_answered_lies_above_the_threshold(tmp_path: Path) -> None:
    features, there = rows("en", 0.0, 30)
    content = fit(features, there)
    save(content, tmp_path / "confidence.json")
    kept = msgspec.json.decode((tmp_path / "confidence.json").read_bytes())
    model = Confidence(**{name: kept[name] for name in ("weights", "dense_centre", "threshold", "thresholds")})
    seen = [{name: row[name] for name in FITTED} for row in features]
    above = [model(row, "en") >= model.least("en") for row, yes in zip(seen, there, strict=True) if not yes]
    assert sum(above) <= 0.1 * len(above)


def test_a_language_without_a_threshold_of_its_own_has_the_common_one() -> None:
    model = Confidence(weights=WEIGHTS, dense_centre=0.8, threshold=0.6, thresholds={"fr": 0.4}, languages={"nl": 2.0})
    assert (model.least("fr"), model.least("nl"), model.least(None)) == (0.4, 0.6, 0.6)
    assert model({}, "nl") > model({}, "en") == 0.5


def test_what_is_shipped_knows_the_languages_of_the_house() -> None:
    model = shipped()
    assert set(model.weights) == {"bias", *FITTED, *BY_HAND}
    assert set(model.languages) == {"fr", "nl"}
    assert set(model.thresholds) == {"en", "fr"}
