"""Calibrated probabilities and thresholds of the classifier."""

from __future__ import annotations

import random

import pytest

from assistant.classifier.calibration import (
    Calibration,
    calibrate,
    calibration_error,
    risk_coverage,
    threshold_for,
)
from assistant.classifier.port import Example, Prediction, flow_of, with_opinion, without_opinion


def overconfident(count: int = 4000) -> tuple[list[float], list[bool]]:
    """Answers that are right half as surely (in logits) as they are said to be."""
    draw = random.Random(3)
    said, so = [], []
    for _ in range(count):
        logit = draw.uniform(0, 8)
        said.append(1 / (1 + 2.718281828**-logit))
        so.append(draw.random() < 1 / (1 + 2.718281828 ** (-logit / 2)))
    return said, so


def test_overconfident_probabilities_become_true() -> None:
    said, so = overconfident()
    found = calibrate(said, so)
    assert found.slope == pytest.approx(0.5, abs=0.06)
    assert found.error_before > 0.05
    assert found.error_after < 0.02
    assert calibration_error([found(p) for p in said], so) == pytest.approx(found.error_after)


def test_the_threshold_keeps_the_risk_and_answers_as_much_as_it_can() -> None:
    probabilities = [0.99, 0.95, 0.9, 0.8, 0.7]
    right = [True, True, True, False, True]
    assert threshold_for(probabilities, right, 0.0) == 0.9
    assert threshold_for(probabilities, right, 0.2) == 0.0
    assert threshold_for([0.9, 0.8], [False, False], 0.1) == 0.9


def test_equal_probabilities_stand_or_fall_together() -> None:
    points = risk_coverage([0.9, 0.9, 0.5], [True, False, True])
    assert [(point.coverage, round(point.risk, 3)) for point in points] == [(2 / 3, 0.5), (1.0, 0.333)]


def test_all_right_answers_do_not_make_infinite_slopes() -> None:
    found = calibrate([0.9, 0.99, 0.999] * 10, [True] * 30)
    assert 0 < found.slope < 100
    assert found.threshold == 0.0
    assert 0.9 < found(0.999) <= 1


def test_an_order_that_says_nothing_gives_the_share_of_right_answers() -> None:
    found = calibrate([0.6, 0.99] * 50, [True, False] * 50)
    assert found(0.99) == pytest.approx(0.5, abs=0.02)
    assert calibrate([], []) == Calibration()


def messages(flow: str, number: int, codes: tuple[str, ...] = ()) -> list[Example]:
    return [
        Example(
            id=f"{flow} {n} {codes}", access_point="p", at="", market="XX", kind="K", codes=codes,
            forms={"facts": f"XX K {flow} more"}, split="train",
        )
        for n in range(number)
    ]  # fmt: skip


def test_only_flows_of_which_a_model_has_an_opinion_say_how_sure_it_is() -> None:
    train = [*messages("KNOWN", 30), *messages("RARE", 29), *messages("REFUSED", 99, ("X-1",))]
    kept = with_opinion([*messages("KNOWN", 2), *messages("RARE", 2), *messages("REFUSED", 2)], train)
    assert {flow_of(one.text()) for one in kept} == {"XX K KNOWN"}
    assert len(with_opinion(messages("RARE", 2), messages("RARE", 29))) == 2, "else nothing is left to calibrate on"


def test_a_flow_with_too_few_accepted_messages_is_not_answered() -> None:
    about = [*messages("KNOWN", 1), *messages("RARE", 1)]
    said = [Prediction(codes=(), probability=0.99, abstained=False, model="m")] * 2
    found = without_opinion(said, about, {"XX K KNOWN": 30, "XX K RARE": 29})
    assert [one.abstained for one in found] == [False, True]
