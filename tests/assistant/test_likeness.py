"""Questions that no operation takes whole: they are read like known ones, and say like which."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.config import AssistantConfig
from assistant.operations.family import Plan, RuleField, RuleFilter, Rules, Stored
from assistant.operations.house import House
from assistant.operations.likeness import Known, Likeness, Line, Model, filled, line_of, masked, shape, shipped_known
from assistant.operations.understanding import Understood, understand
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
        ("BE-R05 alweer op het scherm vanmorgen, welke klasse van fout zou dat zijn", "BE-R05", "error_class"),
    ],
)
def test_what_is_said_around_a_question_is_left_out_and_the_known_question_told(
    house: House, question: str, code: str, field: str
) -> None:
    reply = house.reply(question)
    assert reply is not None
    assert of_rule(code, field) in reply.answers[0].sentence
    assert 0 < reply.sure < 1
    like = house.plan(question)["read_like"]
    assert like in {line.text for line in shipped_known().lines}
    assert like in reply.answers[-1].note


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


def taken(house: House, question: str) -> Understood:
    asked = understand(question, house.lexicon, TODAY)
    assert asked is not None
    return asked


def known_line(house: House, question: str, *plans: Plan) -> Line:
    line = line_of(taken(house, question), plans)
    assert line is not None
    return line


def test_the_names_of_a_question_stand_where_the_known_one_has_its_own(house: House) -> None:
    line = known_line(house, "How severe is FR-R03?", RuleField(code="FR-R03", fields=("severity",)))
    assert filled(line, taken(house, "On a scale of harm, where does BE-P01 sit?")) == (
        RuleField(code="BE-P01", fields=("severity",)),
    )


def test_days_and_states_are_names_too(house: House) -> None:
    line = known_line(
        house,
        "How many messages of France were rejected since 2026-02-01?",
        Stored(thing="message", markets=("FR",), states=("rejected",), since=date(2026, 2, 1)),
    )
    assert filled(line, taken(house, "Dutch records accepted since 2026-03-04")) == (
        Stored(thing="message", markets=("NL",), states=("accepted",), since=date(2026, 3, 4)),
    )


def test_a_question_without_a_name_that_the_known_one_needs_is_not_read_like_it(house: House) -> None:
    line = known_line(house, "How severe is FR-R03?", RuleField(code="FR-R03", fields=("severity",)))
    assert filled(line, taken(house, "How severe are they?")) is None


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["FR-R03", "BE-P01", "NL-V14", "DK-A27"]),
    st.lists(
        st.sampled_from(
            ["FR-R05", "Denmark", "message 121", "2024-03-01", "871999910000000010", "E17", "R151", "A0000909", "77"]
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_a_name_that_the_known_question_has_no_place_for_is_never_left_out(
    house: House, code: str, more: list[str]
) -> None:
    line = known_line(house, "How severe is FR-R03?", RuleField(code="FR-R03", fields=("severity",)))
    assert filled(line, taken(house, f"How severe is {code}")) is not None
    assert filled(line, taken(house, f"How severe is {code} {' '.join(more)}")) is None


def test_a_plan_that_holds_words_of_its_question_is_no_pattern(house: House) -> None:
    asked = taken(house, "Which rules mention midnight?")
    assert line_of(asked, (Rules(where=RuleFilter(words=("midnight",))),)) is None


def test_a_question_about_one_market_is_in_its_own_words_as_one_about_another(house: House) -> None:
    first, second = (
        taken(house, f"How many rules does {market} have for {code}?")
        for market, code in (("Denmark", "MeterReading"), ("the Netherlands", "GridInvoice"))
    )
    assert masked(first).replace("the ", "") == masked(second).replace("the ", "")
    assert "denmark" not in masked(first)


def test_the_shape_of_a_plan_has_what_is_asked_and_what_restricts_it_without_names() -> None:
    asked, plan = shape(Stored(thing="message", how="list", markets=("FR",), states=("rejected",)))
    assert asked == "do=stored how=list thing=message"
    assert plan == "do=stored how=list thing=message markets states"
    assert shape(Rules(how="count"))[0] == "do=rules how=count"


def test_the_likest_known_question_is_read_first_and_what_tells_of_it_is_by_hand(house: House) -> None:
    """Cosines of unit vectors in a plane."""
    severe = known_line(house, "How severe is FR-R03?", RuleField(code="FR-R03", fields=("severity",)))
    where = known_line(house, "In which file is FR-R03?", RuleField(code="FR-R03", fields=("file",)))
    refused = known_line(house, "Who wrote FR-R03?")
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    known = Known(vectors, [severe, where, refused])
    asked, vector = taken(house, "How severe is BE-P01?"), np.array([1.0, 0.0], dtype=np.float32)
    first, second = known.near(asked, vector)
    assert first.plans == (RuleField(code="BE-P01", fields=("severity",)),)
    assert second.plans == (RuleField(code="BE-P01", fields=("file",)),)
    assert first.features["likeness"] == pytest.approx(0.2)  # 1 - 0.8
    assert second.features["nearer"] == pytest.approx(0.4)  # 1 - 0.6
    assert first.features["rather_refusal"] == pytest.approx(-0.2)  # 0.8 - 1
    assert [one.features["place"] for one in (first, second)] == [0, 1]
    assert first.features["vote"] == pytest.approx(0.1)  # one of ten asks it
    assert first.features["refused"] == pytest.approx(1 / 3)
    assert [one.like for one in known.near(asked, vector, np.array([True, False, False]))] == [where]


def test_the_surer_a_reading_the_more_like_a_known_question_it_is() -> None:
    model = Model(comment="", embedder="", weights={"bias": 0.0, "likeness": 2.0}, threshold=0.5)
    assert model({"likeness": 0.0}) == 0.5
    assert model({"likeness": 1.0}) == pytest.approx(1 / (1 + np.exp(-2.0)))


def test_vectors_of_another_embedder_are_not_compared(house: House) -> None:
    class Other:
        name = "another"

    opened: Any = Likeness(lambda: Other())  # type: ignore[arg-type,return-value]
    assert list(opened.guesses(taken(house, "When FR-R14 pops up on the dashboard again, which class is that?"))) == []


def test_no_known_question_is_one_of_those_that_are_kept_apart(project_root: Path) -> None:
    unseen = project_root / "assistant/evaluation/questions/worked_unseen.jsonl"
    kept = {json.loads(line)["question"] for line in unseen.read_text("utf-8").splitlines() if line.startswith("{")}
    assert kept.isdisjoint(line.text for line in shipped_known().lines)
