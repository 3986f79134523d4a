"""Questions of which words are left over: they are read where questions like them are known, and say what was left."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.config import AssistantConfig
from assistant.operations.family import Rules, Stored
from assistant.operations.house import House
from assistant.operations.likeness import REFUSED, Known, Likeness, Model, Near, last_part, masked, near_readings, shape
from assistant.operations.understanding import understand
from energycomm.config import Config

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 28)


@pytest.fixture(scope="module")
def house() -> House:
    values: dict[str, Any] = {"database": "sqlite:////nowhere/none.db"}
    return House(
        Config(rules=ROOT / "rules", **values), docs=ROOT / "docs", likeness=Likeness.of(AssistantConfig()),
        now=lambda: datetime(2026, 11, 28, tzinfo=UTC),
    )  # fmt: skip


def of_rule(code: str, name: str) -> str:
    """What the file of a rule says."""
    for path in ROOT.glob("rules/*/*.yaml"):
        for rule in yaml.safe_load(path.read_text("utf-8")).get("rules", ()):
            if rule.get("error_code") == code:
                return str(rule[name])
    raise LookupError(code)


@pytest.mark.parametrize(
    ("question", "code", "field"),
    [
        ("When FR-R14 pops up on the dashboard again, which class of error is that?", "FR-R14", "error_class"),
        ("Mijn leidinggevende vroeg het vanochtend nog: welke foutklasse heeft BE-R05?", "BE-R05", "error_class"),
    ],
)
def test_what_is_said_around_a_question_is_left_out_and_told(
    house: House, question: str, code: str, field: str
) -> None:
    reply = house.reply(question)
    assert reply is not None
    assert of_rule(code, field) in reply.answers[0].sentence
    assert 0 < reply.sure < 1
    left = house.plan(question)["left_over"]
    assert left
    assert all(word in reply.answers[-1].note for word in left)


@pytest.mark.parametrize(
    "question",
    [
        "Who of the analysts wrote rule NL-V12?",
        "Quelle amende risque-t-on si on ne respecte pas BE-D13 ?",
        "Hoe koud was het in Utrecht toen regel NL-V14 werd bedacht?",
        "What does the lawyer of the regulator charge for BE-D12?",
    ],
)
def test_what_no_operation_answers_is_not_read_as_what_is_like_it(house: House, question: str) -> None:
    assert house.reply(question) is None


def test_without_what_judges_likeness_such_a_question_is_left_to_the_passages() -> None:
    values: dict[str, Any] = {"database": "sqlite:////nowhere/none.db"}
    plain = House(Config(rules=ROOT / "rules", **values), docs=ROOT / "docs")
    assert plain.reply("When FR-R14 pops up on the dashboard again, which class of error is that?") is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "how",
                "many",
                "rules",
                "has",
                "Denmark",
                "FR-R05",
                "BE-R04",
                "message",
                "121",
                "not",
                "without",
                "only",
                "which",
                "class",
                "the",
                "zebra",
                "since",
                "2024",
                "quarantine",
                "rejected",
                "welke",
                "regels",
                "combien",
            ]
        ),
        min_size=2,
        max_size=9,
    )
)
def test_names_numbers_days_and_what_denies_are_never_left_over(house: House, words: list[str]) -> None:
    asked = understand(" ".join(words), house.lexicon, TODAY)
    if asked is None:
        return
    for near, _ in near_readings(asked, TODAY):
        for word in near.left:
            assert not re.fullmatch(r"[0-9]+|[a-z]{2}-[a-z]\d\d|not|without|§.*", word)


def test_a_question_about_one_market_is_in_its_own_words_as_one_about_another(house: House) -> None:
    first, second = (
        understand(f"How many rules does {market} have for {code}?", house.lexicon, TODAY)
        for market, code in (("Denmark", "MeterReading"), ("the Netherlands", "GridInvoice"))
    )
    assert first is not None
    assert second is not None
    assert masked(first).replace("the ", "") == masked(second).replace("the ", "")
    assert "denmark" not in masked(first)


def test_the_shape_of_a_plan_has_what_is_asked_and_what_restricts_it_without_names() -> None:
    asked, plan = shape(Stored(thing="message", how="list", markets=("FR",), states=("rejected",)))
    assert asked == "do=stored how=list thing=message"
    assert plan == "do=stored how=list thing=message markets states"
    assert shape(Rules(how="count"))[0] == "do=rules how=count"


def near(**values: Any) -> Near:
    base: dict[str, Any] = {
        "question": "q", "asked": "a", "plan": "a b", "left": ("zebra",), "unknown": 1, "tokens": 4, "telling": 2,
        "named": 1, "before": 0.0, "apart": 0.0,
    }  # fmt: skip
    return Near(**{**base, **values})


def test_the_likeness_of_a_reading_is_that_of_the_nearest_question_with_its_plan() -> None:
    """By hand: cosines of unit vectors in a plane."""
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    known = Known(vectors, np.array(["a", "a", REFUSED]), np.array(["a b", "a c", REFUSED]))
    question = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    seen = known.features(near(plan="a c"), question)
    assert seen["alike"] == pytest.approx(0.2)  # 1 - 0.8
    assert seen["same"] == 0.0  # 0.6 is less than of any two
    assert seen["other"] == pytest.approx(0.2)
    assert seen["refusal"] == pytest.approx(0.0, abs=1e-6)
    assert seen["of_telling"] == 0.5
    without = known.features(near(), question, np.array([True, False, False]))
    assert without["same"] == 0.0
    context = known.features(near(plan="a c", apart=1.0), question)
    assert context["same"] == pytest.approx(0.2)  # its last part is that question


def test_the_last_part_of_a_question_stands_behind_its_last_stop() -> None:
    assert (
        last_part("my boss asks which class has rule", "My boss asks: which class has FR-R14?")
        == "which class has rule"
    )
    assert last_part("which class has rule", "Which class has FR-R14?") == "which class has rule"


def test_the_surer_a_reading_the_more_like_a_known_question_it_is() -> None:
    model = Model(comment="", embedder="", weights={"bias": 0.0, "alike": 2.0}, threshold=0.5)
    assert model({"alike": 0.0}) == 0.5
    assert model({"alike": 1.0}) == pytest.approx(1 / (1 + np.exp(-2.0)))


def test_vectors_of_another_embedder_are_not_compared(house: House) -> None:
    class Other:
        name = "another"

    asked = understand("When FR-R14 pops up on the dashboard again, which class is that?", house.lexicon, TODAY)
    assert asked is not None
    opened: Any = Likeness(lambda: Other())  # type: ignore[arg-type,return-value]
    assert list(opened.guesses(asked, TODAY)) == []
