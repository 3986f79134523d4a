"""What is quoted of a table or a rule, and in which language is answered or refused."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.chat.composer import choose_evidence, compose, row_in_words
from assistant.chat.scorer import PlainScorer
from assistant.knowledge.documents import Metadata, Passage
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.retrieval.asking import Asked
from assistant.retrieval.query import Found


def test_a_tables_row_is_told_with_the_names_of_its_columns() -> None:
    """Each cell in quotation marks; without names where the header does not fit."""
    row, context = "E17 | Wh | R151", "Readings › Units\ncode | unit | flow"
    assert row_in_words(row, context, "en") == "code: “E17”; unit: “Wh”; flow: “R151”"
    assert row_in_words(row, "Readings", "fr") == "« E17 »; « Wh »; « R151 »"


@pytest.mark.parametrize(
    ("question", "quoted"),
    [("Why is it rejected?", False), ("What is the source of the rule?", False), ("Which error class is it?", True)],
)
def test_a_rules_facts_answer_only_who_asks_for_them(question: str, quoted: bool) -> None:
    """Every rule has the same rows: the origin of a rule is none of its sentences."""
    metadata = Metadata(source="rules", address="a", language="en", codes=("CO-R01",))
    rows = ["Error class | mistake of the grid operator", "Source | Enedis R151 v1.2.0, a guide of the operator"]
    text = "\n".join(rows)
    rule = Passage(id="aaaaaaaa", document="a", start=0, end=len(text), text=text, metadata=metadata)
    asked = Asked(question, "en", Bm25.build([tokens(text, "en")]), Lexicon())
    evidence, _ = choose_evidence(asked, [Found(passage=rule, score=1.0)], PlainScorer())
    assert [item.sentence.text for item in evidence] == rows[: int(quoted)]


@pytest.mark.parametrize(
    ("question", "begins"),
    [("Wie is de koning van het land?", "Ik weet het niet"), ("Qui a gagné la coupe ?", "Je ne sais pas")],
)
def test_a_refusal_is_in_the_language_of_the_question(assistant: Any, question: str, begins: str) -> None:
    assert assistant.ask(question).text.startswith(begins)


def test_a_sentence_that_stands_in_two_passages_cites_both() -> None:
    """A rule's sentence is repeated in the list of codes: both carry it, each highlighted at its own place."""
    sentence = "An index is not below the one before it."
    texts = {"aaaaaaaa": f"{sentence} It is so everywhere.", "bbbbbbbb": f"CO-R05 of the list says so. {sentence}"}
    found = [
        Found(
            passage=Passage(
                id=id, document=id, start=0, end=len(text), text=text,
                metadata=Metadata(source="docs", address=id, language="en"),
            ),
            score=score,
        )
        for score, (id, text) in zip((1.0, 0.5), texts.items(), strict=True)
    ]  # fmt: skip
    bm25 = Bm25.build([tokens(text, "en") for text in texts.values()])
    asked = Asked("May an index be below the one before?", "en", bm25, Lexicon())
    evidence, _ = choose_evidence(asked, found, PlainScorer())
    statements, by_passage = compose(evidence, found, asked)
    assert statements[0].text == sentence
    assert set(statements[0].citations) == set(texts)
    for id, items in by_passage.items():
        assert all(texts[id][item.highlight.start : item.highlight.end] == item.highlight.text for item in items)
