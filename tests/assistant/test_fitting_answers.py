"""How well a text fits what is asked: when something is over, who does it, whether there may be several, what it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assistant.chat.answertype import WEAKLY, asked_type, fitness, holds
from assistant.chat.composer import choose_evidence
from assistant.chat.parts import in_full, parts_of
from assistant.chat.surroundings import points_back
from assistant.knowledge.documents import Metadata, Passage
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.rationale.port import Question
from assistant.retrieval.asking import Asked
from assistant.retrieval.query import Found


class Even:
    """A rationale model to which all sentences are alike."""

    name = "even"

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        return [[0.5] * len(item.sentences) for item in items]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        return [(0,) for _ in items]


def found(*texts: str, headings: tuple[str, ...] = ()) -> list[Found]:
    return [
        Found(
            passage=Passage(
                id=f"{number:08d}", document=f"page {number}", start=0, end=len(text), text=text, headings=headings,
                context=" › ".join(headings), metadata=Metadata(source="docs", address=f"{number}.md", language="en"),
            ),
            score=1.0,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def best(question: str, *texts: str, headings: tuple[str, ...] = (), page: str | None = None) -> str:
    passages = found(*texts, headings=headings)
    others = ["Meters are read by people.", "Invoices come each month.", "Access points have a number."]
    bm25 = Bm25.build([tokens(text, "en") for text in (*(one.passage.embedded for one in passages), *others)])
    asked = Asked(question, "en", bm25, Lexicon())
    return choose_evidence(asked, passages, Even(), page=page)[0][0].sentence.text


@pytest.mark.parametrize(
    ("question", "fits", "weakly"),
    [
        ("When does the notice go away?", "The notice stays until it is read.", "A notice is made when a file is."),
        ("Until when can it be cancelled?", "It can be cancelled before the start.", "It is cancelled when asked."),
        ("When is a file read?", "A file is read once it is whole.", "Since files are read, we know more."),
        ("Who reads the file?", "The operator reads the file.", "The file tells the supplier what is new."),
        ("Who operates the grid?", "The grid is operated by the TSO.", "The grid feeds every customer."),
        ("Which scope is needed?", "It needs read:data.", "The API reads it."),
        ("Can a device have several owners?", "Multiple owners are possible.", "A device can have several parts."),
    ],
)
def test_a_text_that_need_not_say_what_is_asked_fits_weakly(question: str, fits: str, weakly: str) -> None:
    assert fitness(question, fits) == 1.0
    assert fitness(question, weakly) <= WEAKLY


@pytest.mark.parametrize(
    ("question", "wanted", "answer", "none"),
    [
        ("How large may a file be?", "size", "It has at most 20 MB.", "All files are read."),
        ("Which VAT rate applies to a fee?", "money", "It is taxed at 25 %.", "The class of a fee is D01."),
        ("Which resolution do meters have?", "duration", "They have a 15 minutes resolution.", "It is a fine one."),
        ("Which validation rule says so?", "code", "CU-VAL004 says so.", "It is said so."),
    ],
)
def test_more_questions_ask_for_a_type_of_answer(question: str, wanted: str, answer: str, none: str) -> None:
    assert asked_type(question) == wanted
    assert holds(question, answer)
    assert not holds(question, none)


def test_when_something_happened_is_answered_by_a_date() -> None:
    assert fitness("When did the hub start?", "It started in May 2021.") == 1.0
    assert fitness("When did the hub start?", "It starts when it is asked to.") == 0.0


def test_somebody_whom_the_question_names_is_no_answer_to_it_in_another_language_either() -> None:
    assert not holds("Qui peut suspendre une unité (CU) ?", "A unit (CU) can be controlled.", alike=False)
    assert holds("Qui peut suspendre une unité (CU) ?", "The operator can suspend it.", alike=False)


def test_what_is_counted_is_named_in_another_language_where_its_name_is_the_same() -> None:
    question = "Hoeveel controllable units zijn er?"
    assert not holds(question, "Controllable units fall into three main categories.", alike=False)
    assert holds(question, "There are 40 controllable units.", alike=False)


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Which code does a missing name get, and which one a missing sender?", "Which code a missing sender?"),
        ("Who approves the steps for safety, and who those for capability?", "Who approves the steps for capability?"),
        ("Quel code a un nom vide, et lequel un envoyeur vide ?", "Quel code un envoyeur vide?"),
    ],
)
def test_a_part_that_leaves_a_word_out_takes_it_from_the_part_before(question: str, second: str) -> None:
    first, rest = parts_of(question)
    assert in_full(rest, first, "en") == second


def test_a_sentence_without_a_subject_speaks_of_what_the_one_before_it_names() -> None:
    assert points_back("Approved by the operator.")
    assert points_back("Removed on logout.")
    assert not points_back("Need to know more.")
    assert not points_back("Based on a law of 2019.")
    text = "The file of prices holds all tariffs. Checked by the grid operator. Guests pay at noon."
    assert best("Who checks the file of prices?", text) == "Checked by the grid operator."


def test_the_page_that_answers_the_first_part_is_preferred_for_the_next() -> None:
    texts = ("A file is kept for a week.", "A file is kept for a month.")
    assert best("How long is a file kept?", *texts) == texts[0]
    assert best("How long is a file kept?", *texts, page="page 1") == texts[1]


def test_what_something_is_is_told_at_the_end_by_its_initials_or_below_its_title() -> None:
    others = "The Otto model is made of triples. Otto is used by Anna."
    assert best("What is Otto?", f"{others} The common model is Otto.") == "The common model is Otto."
    text = "Every unit has technical resources. A TR is a device that stores power. Technical resource names vary."
    assert best("What is a technical resource?", text) == "A TR is a device that stores power."
    title = ("Concepts", "Grid model")
    simple = "A simple picture of the grid. Many make the grid model better."
    assert best("What is a grid model?", simple, headings=title) == "A simple picture of the grid."
    asked = Asked("Que signifie modèle (grid model) ?", "fr", Bm25.build([["grid"]]), Lexicon())
    assert asked.subjects == ("modèle", "grid model")
