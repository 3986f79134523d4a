"""The whole answer and only it: lists, items, what a sentence points to, the type of answer, questions of two parts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.answertype import asked_type, denies_alike, enumerates, holds, settles
from assistant.chat.composer import choose_evidence, compose
from assistant.chat.parts import in_full, parts_of
from assistant.chat.scorer import PlainScorer
from assistant.chat.surroundings import beside
from assistant.knowledge.documents import Metadata, Passage
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.lexicon import Lexicon
from assistant.knowledge.sentences import Sentence
from assistant.retrieval.asking import Asked
from assistant.retrieval.query import Filters, Found

NUMBERS = itertools.count()


def passage(text: str, start: int = 0, document: str = "page") -> Passage:
    return Passage(
        id=f"{next(NUMBERS):08d}", document=document, start=start, end=start + len(text), text=text,
        metadata=Metadata(source="docs", address=document, language="en"),
    )  # fmt: skip


def sentence(of: Passage, words: str) -> Sentence:
    at = of.text.index(words) + of.start
    return Sentence(at, at + len(words), words)


def quoted(of: Passage, words: str, *, listed: bool = False, next_: Passage | None = None) -> list[str]:
    pieces = beside(of, sentence(of, words), listed=listed, after=lambda one: next_ if one is of else None)
    for piece in pieces:
        own = piece.passage
        assert own.text[piece.sentence.start - own.start : piece.sentence.end - own.start] == piece.sentence.text
    return [piece.sentence.text for piece in pieces]


MENU = passage(
    "The canteen opens at noon. It closes at two. Every day it serves the following:\n\n- soup\n- bread and cheese\n\n"
    "Guests pay at the desk.\n\nThe kitchen answers with:\n\nThe menu of the week\n\n"
    "A pot boils over. When this happens, the cook is called.\n\nPrices:\n\nsoup | 3 euros\nbread | 1 euro",
    start=40,
)


@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (
            "Every day it serves the following:",
            ["Every day it serves the following:", "- soup", "- bread and cheese"],
        ),
        ("- bread and cheese", ["Every day it serves the following:", "- bread and cheese"]),
        ("It closes at two.", ["The canteen opens at noon.", "It closes at two."]),
        ("The canteen opens at noon.", ["The canteen opens at noon."]),
        ("Guests pay at the desk.", ["Guests pay at the desk."]),
        ("The kitchen answers with:", ["The kitchen answers with:", "The menu of the week"]),
        ("When this happens, the cook is called.", ["A pot boils over.", "When this happens, the cook is called."]),
        ("Prices:", ["Prices:", "soup | 3 euros", "bread | 1 euro"]),
    ],
)
def test_a_sentence_brings_what_it_cannot_be_read_without(words: str, whole: list[str]) -> None:
    assert quoted(MENU, words) == whole


def test_an_item_brings_the_others_where_a_list_was_asked_for() -> None:
    assert quoted(MENU, "- soup", listed=True) == ["Every day it serves the following:", "- soup", "- bread and cheese"]
    assert quoted(MENU, "soup | 3 euros", listed=True) == ["soup | 3 euros", "bread | 1 euro"]
    assert quoted(MENU, "soup | 3 euros") == ["soup | 3 euros"]
    assert quoted(MENU, "It closes at two.", listed=True)[1:] == [
        "Every day it serves the following:", "- soup", "- bread and cheese"
    ]  # fmt: skip


def test_a_list_goes_on_in_the_passage_behind() -> None:
    """Which repeats the last item, as passages overlap."""
    first = passage("The causes are:\n\n- a meter that was changed")
    second = passage("- a meter that was changed\n- a reading that was estimated\n\nThis is rare.", start=17)
    assert quoted(first, "The causes are:", next_=second) == [
        "The causes are:", "- a meter that was changed", "- a reading that was estimated"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "fits", "misses"),
    [
        ("How long is a report kept?", "Reports are kept for three years.", "Reports are kept in the archive."),
        ("How often is it sent?", "It is sent every 5 minutes.", "It is sent to the operator."),
        ("Pendant combien de temps est-il gardé ?", "Il est gardé dix jours.", "Il est gardé au bureau."),
        ("Hoe lang duurt een wissel?", "Een wissel duurt twee weken.", "Een wissel is gratis."),
        ("When does it start?", "It starts on 2026-03-01.", "It is started by the supplier."),
        ("How many meters has a point?", "A point has two meters.", "Meters are read by people."),
        ("How many files does a set hold?", "The number of files is 12.", "Article 5 of the code names files."),
        ("What does a copy cost?", "A copy costs € 3.", "A copy is made within 3 days."),
        ("Which error code is returned?", "It returns ENV_CRC.", "It returns an error."),
        ("Who repairs it?", "The grid operator repairs it.", "It is repaired within 5 days."),
        ("Who collects it?", "It is collected by PSO.", "It is collected at noon."),
        ("Who suspends a service provider?", "The regulator suspends it.", "A service provider is suspended here."),
        ("Within how many hours is it mended?", "It is mended within 5 hours.", "This process may be used to mend it."),
        ("What is the maximum length of a name?", "A name has at most 40 letters.", "Minimum length of a name: 12."),
        ("How many test users may there be?", "There may be 5 test users.", "The test user with number 901 is used."),
        ("How often is it read?", "It is read every day by a process.", "It is read by a process."),
        ("How many characters has a name?", "name | Name. | text Max length: 40", "name | Name. | text | 40"),
        ("Which scope is needed?", "It needs use:data_all.", "It needs what others need."),
        ("Who is the source of the names?", "Elhub is the source of the names.", "This is the source of the names."),
        ("To how many points is a unit tied?", "It is tied to a single point.", "It is tied to a point."),
        ("Which value means closed?", "D02 means closed.", "The meter is then closed."),
    ],
)
def test_a_text_on_the_topic_is_no_answer_of_another_type(question: str, fits: str, misses: str) -> None:
    assert asked_type(question) is not None
    assert holds(question, fits)
    assert not holds(question, misses)


@pytest.mark.parametrize("question", ["Can a message be replayed?", "Why is it rejected?", "What is a letter?"])
def test_other_questions_are_answered_by_any_sentence(question: str) -> None:
    assert asked_type(question) is None
    assert holds(question, "It is so.")


def answered(question: str, text: str) -> list[str]:
    of = passage(text)
    others = ["Meters are read by people.", "Invoices come each month.", "Access points have a number."]
    asked = Asked(question, "en", Bm25.build([tokens(one, "en") for one in (text, *others)]), Lexicon())
    found = [Found(passage=of, score=1.0, dense=0.9)]
    evidence, _ = choose_evidence(asked, found, PlainScorer())
    return [statement.text for statement in compose(evidence, found, asked)[0]]


def test_the_sentence_with_the_type_that_is_asked_for_is_quoted_and_no_other() -> None:
    text = "An error report is made available to the sender of the report. It stays available for 30 days."
    assert answered("How long is an error report available?", text)[-1] == "It stays available for 30 days."
    assert answered("Who gets an error report?", text) == [text.partition(" It ")[0]]


class Preferring:
    """Reads question and sentence together, and prefers one word; it notes what it was given."""

    languages = frozenset(("en",))

    def __init__(self, word: str) -> None:
        self.word = word
        self.given: list[str] = []

    def pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        self.given += texts
        return [float(self.word in text) for text in texts]


def test_who_reads_question_and_sentence_together_decides_between_sentences_of_the_same_words() -> None:
    of = passage("The operator repairs the meter at the office. The operator repairs the meter at the house.")
    for word in ("office", "house"):
        asked = Asked("Where is the meter repaired?", "en", Bm25.build([tokens(of.text, "en")]), Lexicon())
        reader = Preferring(word)
        evidence, _ = choose_evidence(asked, [Found(passage=of, score=1.0)], PlainScorer(), reader=reader)
        assert word in evidence[0].sentence.text
        assert [item.close for item in evidence] == [1.0, 0.0]
        assert len(reader.given) == 2


def test_who_reads_english_is_asked_nothing_in_french() -> None:
    of = passage("The operator repairs the meter at the office. The operator repairs the meter at the house.")
    asked = Asked("Où répare-t-on le compteur ?", "fr", Bm25.build([tokens(of.text, "en")]), Lexicon())
    reader = Preferring("office")
    evidence, _ = choose_evidence(asked, [Found(passage=of, score=1.0)], PlainScorer(), reader=reader)
    assert evidence
    assert all(item.close is None for item in evidence)
    assert reader.given == []


def test_what_is_counted_is_named_in_a_row_or_above_it() -> None:
    assert holds("How many letters may a name have?", "name | 40", heads="field | most letters")
    assert not holds("How many letters may a name have?", "name | 40", heads="field | page")


def test_a_row_of_two_words_may_answer() -> None:
    rows = passage("`VATClass` | `VATPayer`\n`Position` | `Rank`")
    asked = Asked("Which name there has VATClass?", "en", Bm25.build([tokens(rows.text, "en")]), Lexicon())
    evidence, _ = choose_evidence(asked, [Found(passage=rows, score=1.0)], PlainScorer())
    assert "VATPayer" in evidence[0].sentence.text


def test_yes_or_no_is_answered_by_what_says_what_may_be_or_is_not() -> None:
    text = "The cookies of the portal track sessions of users. We do not track users with the cookies of the portal."
    assert answered("Are the cookies of the portal used to track users?", text)[0] == text.partition("users. ")[2]
    assert settles("Which cookies track users?", "Cookies track users.")
    assert not settles("Is a user tracked?", "Cookies track users.")


def test_a_sentence_that_names_several_things_is_a_list() -> None:
    assert enumerates("It produces, consumes or stores electricity.")
    assert enumerates("text One of: confirmed, guessed")
    assert not enumerates("When a request comes, which is rare, the operator is told of it.")
    text = "A unit is controlled by somebody who is entitled. A unit is a generator, a battery, or a load."
    assert "A unit is a generator, a battery, or a load." in answered("Which kinds of things can a unit be?", text)


def test_what_does_not_happen_is_not_answered_by_what_does() -> None:
    text = (
        "If the point exists but nobody is known there, 403 is the response. "
        "If the point does not exist, 404 is the response."
    )
    assert answered("Which response comes if the point does not exist?", text) == [text.partition("response. ")[2]]
    assert denies_alike("Which response comes if the point exists?", text) is None


def test_a_definition_is_answered_by_the_sentence_that_defines() -> None:
    text = (
        "Suspension is done by an operator who is entitled to it. "
        "Suspension: the activity of a party pauses for a time."
    )
    for question in (
        "What is meant by suspension?",
        "What is the definition of suspension?",
        "What does suspension mean?",
    ):
        assert answered(question, text)[0] == text.partition("to it. ")[2], question


def test_a_second_sentence_comes_where_it_names_what_the_first_does_not() -> None:
    text = "A refused invoice is sent back to the operator. Paid invoices are archived by the accounting office."
    assert len(answered("Where are refused invoices sent to?", text)) == 1


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How long is it kept, and who may read it?", ("How long is it kept?", "Who may read it?")),
        ("Qui lit le fichier et quand est-il effacé ?", ("Qui lit le fichier?", "Quand est-il effacé?")),
        ("What is a meter and a point?", ("What is a meter and a point?",)),
        ("When and how is a file read?", ("When and how is a file read?",)),
        ("Meters and who reads them", ("Meters and who reads them",)),
    ],
)
def test_a_question_of_two_parts_is_taken_apart(question: str, parts: tuple[str, ...]) -> None:
    assert parts_of(question) == parts


def test_a_part_that_points_to_the_first_is_searched_with_its_words() -> None:
    first, second = parts_of("What is a GLN used for, and how many digits does it have?")
    assert in_full(second, first, "en") == "How many digits does GLN used have?"
    assert in_full(first, first, "en") == first
    assert in_full("Who may read the file?", first, "en") == "Who may read the file?"
    assert in_full("Who may read it?", "How long is it kept?", "en") == "Who may read it?"


def test_the_part_that_the_sources_do_not_answer_is_named(assistant: Any) -> None:
    answer = assistant.ask("When is a switch request answered, and how much does a switch request cost?")
    assert not answer.abstained
    assert "within two working days" in answer.text
    assert answer.missing == ("How much does a switch request cost?",)
    assert answer.text.endswith("Not answered by the sources: How much does a switch request cost?")
    both = assistant.ask("When is a switch request answered, and what is refused without a date?")
    assert both.missing == ()
    assert "within two working days" in both.text
    assert "A request without a date is refused." in both.text


def test_a_right_topic_without_the_type_of_answer_is_refused(assistant: Any) -> None:
    assert not assistant.ask("Is a switch request answered within days?").abstained
    assert assistant.ask("How much does a switch request cost?").abstained


def test_the_version_stands_beside_each_quotation_where_versions_differ(tmp_path: Path, embedder: Any) -> None:
    from assistant.chat.assistant import Assistant
    from assistant.chat.confidence import Confidence
    from assistant.config import AssistantConfig
    from assistant.knowledge.index import open_index, update
    from assistant.knowledge.loaders.folder import FolderLoader

    for version, days in (("2025-08", "two"), ("2026-09", "five")):
        folder = tmp_path / version
        folder.mkdir()
        page = f"---\nversion: {version}\n---\n# Supplier\n\nA switch request is answered within {days} working days.\n"
        (folder / "supplier.md").write_text(page, "utf-8")
        update(tmp_path / "index", [FolderLoader(folder, "handbook")], embedder)
    sure = Confidence(weights={"bias": 1.0, "unfit": -6.0}, dense_centre=0.8, threshold=0.5)
    index = open_index(tmp_path / "index")
    asked = Assistant(AssistantConfig(folder=tmp_path), index, embedder, PlainScorer(), confidence=sure)
    both = asked.ask("Within how many days is a switch request answered?").text
    assert both.count("working days.”") == both.count("(version 20") > 0
    one = asked.ask("Within how many days is a switch request answered?", Filters(versions=("2025-08",))).text
    assert "two working days" in one
    assert "version" not in one


def test_another_houses_documents_come_before_a_likeness_with_our_documentation(
    tmp_path: Path, embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assistant.chat.assistant import Assistant
    from assistant.chat.confidence import Confidence
    from assistant.chat.working import leans
    from assistant.config import AssistantConfig
    from assistant.knowledge.index import open_index, update
    from assistant.knowledge.loaders.folder import FolderLoader
    from assistant.operations.house import House
    from energycomm.config import load

    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "notices.md").write_text("# Notices\n\nA notice is a call to a party to act.\n", "utf-8")
    update(tmp_path / "index", [FolderLoader(tmp_path / "pages", "handbook")], embedder)
    sure = Confidence(weights={"bias": 1.0, "unfit": -6.0}, dense_centre=0.8, threshold=0.5)
    house = House(load())

    def ask() -> Any:
        index = open_index(tmp_path / "index")
        config = AssistantConfig(folder=tmp_path)
        return Assistant(config, index, embedder, PlainScorer(), confidence=sure, house=house).ask("What is a notice?")

    assert "A notice is a call to a party to act." in ask().text
    monkeypatch.setattr(house, "own", lambda address: True)
    assert leans(ask())
    assert not leans(Assistant(
        AssistantConfig(folder=tmp_path), open_index(tmp_path / "index"), embedder, PlainScorer(), house=house
    ).ask("How many rules does Belgium have for readings?"))  # fmt: skip
