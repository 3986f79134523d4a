"""Rationale methods are compared on contexts that none of them learnt from, was chosen on or tuned on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assistant.evaluation.forms import RationaleItem
from assistant.evaluation.intervals import Mean
from assistant.evaluation.rationales import evaluate
from assistant.rationale.attention import AttentionRationale, Head
from assistant.rationale.choosing import Choice
from assistant.rationale.folds import folds_of
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.similarity import TOP_1

TEXT = "red blue green white black grey brown pink teal gold lime navy plum rose sand rust mint jade ruby onyx"
COLOURS = TEXT.split()


def items() -> list[RationaleItem]:
    """Twenty contexts, each about its own colour; the second sentence answers."""
    return [
        RationaleItem(
            id=colour, question=f"Where is the {colour} meter?", gold=((1,),),
            sentences=(f"Nobody asked number {n}.", f"The {colour} meter is in house {n}.", f"It rains in town {n}."),
        )
        for n, colour in enumerate(COLOURS)
    ]  # fmt: skip


class Recording:
    """A method that is always right, and remembers what it was shown."""

    name = "recording"
    choice = TOP_1

    def __init__(self) -> None:
        self.shown: list[Question] = []

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        self.shown += items
        return [[0.0, 1.0, 0.5] for _ in items]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        return [(1,) for _ in items]


class Attention(AttentionRationale):
    """Attention without a model: its only good head is the last of layer 1."""

    def __init__(self) -> None:
        self.swept: list[Question] = []
        self.family = "attention none"
        self.look_at(Head(), TOP_1)

    def sweep(self, items: Sequence[Question], golds: Sequence[GoldSets]) -> list[tuple[Head, Choice, float]]:
        self.swept += items
        return [(Head(1, 3), TOP_1, 0.9), (Head(1, None), TOP_1, 0.4), (Head(), TOP_1, 0.1)]

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        return [[0.1, 0.8, 0.3] for _ in items]


def rows(report: Any) -> dict[str, Any]:
    return {f"{row['method']}, {row['rule']}": row for row in report.tables[0].rows}


def test_texts_in_common_are_in_one_fold() -> None:
    asked = [item.asked for item in items()]
    again = Question(question="And when?", sentences=asked[3].sentences)
    place = folds_of([*asked, again])
    assert place[3] == place[-1]
    assert sorted(set(place)) == [0, 1, 2, 3, 4]


def test_a_held_out_fold_is_all_that_is_measured() -> None:
    method = Recording()
    asked = [item.asked for item in items()]
    held = [one for one, fold in zip(asked, folds_of(asked), strict=True) if fold == 2]
    report = evaluate("colours", items(), None, others=[method], fold=2)
    assert method.shown == held
    assert report.tables[0].title == f"colours, fold 2: {len(held)} contexts, {3 * len(held)} sentences"
    assert rows(report)["recording, its own"]["hit@1"].value == 1.0
    assert rows(report)["recording, its own"]["hit@1"].n == len(held)
    assert "hybrid of n-grams, embedding and the others, top 1" in rows(report)


def test_without_a_fold_every_context_is_measured() -> None:
    report = evaluate("colours", items(), None)
    measured = [row["hit@1"] for row in report.tables[0].rows]
    assert {one.n for one in measured if isinstance(one, Mean)} == {20}
    assert all(isinstance(one, Mean) for one in measured)


def test_the_head_is_chosen_on_other_contexts_than_it_is_measured_on() -> None:
    method = Attention()
    asked = [item.asked for item in items()]
    held = [one for one, fold in zip(asked, folds_of(asked), strict=True) if fold == 0]
    report = evaluate("colours", items(), None, others=[method], fold=0, sweep=8)
    assert len(method.swept) == 8
    assert not any(one in held for one in method.swept)
    assert method.head == Head(1, 3)
    assert "attention none layer 1 head 3, its own" in rows(report)
    assert [row["head"] for row in report.tables[-1].rows] == [3, "mean of all", "mean of all"]
