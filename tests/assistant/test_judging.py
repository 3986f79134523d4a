"""Evaluations: vectors that are kept, cells that are named, judges by number of passages, what a generator invents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.chat.answer import Answer, Source, Statement
from assistant.chat.scorer import PlainScorer
from assistant.config import AssistantConfig
from assistant.evaluation import judging
from assistant.evaluation.answers import Setting, setting_of
from assistant.evaluation.corpus import MemoryIndex
from assistant.evaluation.forms import Relevant, RetrievalSet, TestQuestion
from assistant.evaluation.judges import LexicalJudge
from assistant.evaluation.scoring import score
from assistant.evaluation.vector_cache import Keeping
from assistant.knowledge.documents import Metadata, Passage
from energycomm.errors import UserError
from tests.assistant.conftest import WordEmbedder

LUNCH = "Lunch begins at noon in the canteen of the house."
QUESTION = TestQuestion(
    id="lunch", twin="lunch", kind="regular", language="en", question="When does lunch begin in the canteen?",
    answers=(("at noon",),), relevant=(Relevant(document="canteen.md"),),
)  # fmt: skip


def passage(id: str, address: str, text: str) -> Passage:
    metadata = Metadata(source="house", address=address, title=address, language="en")
    return Passage(id=id, document=address, start=0, end=len(text), text=text, metadata=metadata)


PASSAGES = [
    passage("aaaaaaaa", "canteen.md", LUNCH),
    passage("bbbbbbbb", "parking.md", "Cars of visitors are parked behind the house."),
]


def test_vectors_are_kept_between_runs(tmp_path: Path) -> None:
    """Only what is new is embedded; a question and a passage of the same words are two."""
    first, second = WordEmbedder(), WordEmbedder()
    Keeping(first, tmp_path).embed_passages(["one", "two", "one"])
    again = Keeping(second, tmp_path)
    assert (again.embed_passages(["two", "three", "one"]) == first.embed_passages(["two", "three", "one"])).all()
    assert second.embedded == ["three"]
    assert again.embed_queries(["one"]).shape == (1, first.dimensions)


def test_a_cell_of_the_grid_is_named_in_one_word() -> None:
    """What is left out at the end is the default; what is none is told."""
    assert setting_of("sparse,3") == Setting(method="sparse", passages=3)
    assert setting_of("weighted,5,best_last,0,32").examples == 0
    with pytest.raises(UserError, match="best_first"):
        setting_of("weighted,5,best_first")


def test_a_sample_keeps_the_corpus_whole() -> None:
    whole = RetrievalSet(
        name="t", corpus={"a": "x", "b": "y"}, queries={str(n): "q" for n in range(10)},
        relevant={str(n): {"a": 1.0} for n in range(10)},
    )  # fmt: skip
    part = whole.sampled(5)
    assert list(part.queries) == list(part.relevant) == ["0", "2", "4", "6", "8"]
    assert part.corpus == whole.corpus


@pytest.mark.parametrize(("threshold", "refused"), [(0.0, 0.0), (1.0, 1.0)])
def test_judges_score_answers_by_number_of_passages_and_refusals_are_only_counted(
    threshold: float, refused: float
) -> None:
    """A refusal is classed before scoring."""
    embedder = WordEmbedder()
    report = judging.evaluate(
        [QUESTION], MemoryIndex(PASSAGES, embedder), embedder, PlainScorer(embedder),
        AssistantConfig(threshold=threshold), [LexicalJudge()], chunks=(1, 2),
    )  # fmt: skip
    rows: list[dict[str, Any]] = list(report.tables[0].rows)
    assert {row["passages"] for row in rows} == {1, 2}
    assert all(row["refused"] == refused for row in rows)
    assert [row["context recall"].value for row in rows if row["judge"] == "ids"] == [1.0, 1.0]
    assert any(row["judge"] == "lexical" for row in rows) == (refused == 0.0)


def test_a_judge_is_held_against_the_answers_of_other_questions() -> None:
    """What it gives to those is its floor: a judge that gives as much to a wrong answer says nothing."""
    parking = TestQuestion(
        id="cars", twin="cars", kind="regular", language="en", question="Where are cars of visitors parked?",
        answers=(("behind the house",),), relevant=(Relevant(document="parking.md"),),
    )  # fmt: skip
    embedder = WordEmbedder()
    report = judging.evaluate(
        [QUESTION, parking], MemoryIndex(PASSAGES, embedder), embedder, PlainScorer(embedder),
        AssistantConfig(threshold=0.0), [LexicalJudge()], chunks=(1,),
    )  # fmt: skip
    rows: list[dict[str, Any]] = list(report.tables[0].rows)
    means = {row["answers"]: row["correctness"].value for row in rows if row["judge"] == "lexical"}
    assert means["own"] > means["of another question"]


def test_what_a_generator_invents_is_told_apart_from_what_its_reader_gets() -> None:
    """The check dropped the made-up id: it is counted, and has not escaped."""
    answer = Answer(
        question=QUESTION.question, language="en", text="At noon. [1]", generator="scripted",
        statements=(Statement(text="It begins at noon.", citations=("aaaaaaaa",), quoted=False),),
        sources=(Source(number=1, passage=PASSAGES[0], score=1.0),),
    )  # fmt: skip
    outcome = score(QUESTION, answer, {"aaaaaaaa"}, [None], 0.1, "At noon [aaaaaaaa], or at one [zzzz9999].")
    assert (outcome.invented, outcome.escaped, outcome.right) == (1, 0, True)
