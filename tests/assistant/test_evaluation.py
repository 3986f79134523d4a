"""Measuring: the forms, the metrics, the questions that are shipped, what is scored."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from assistant.evaluation import forms
from assistant.evaluation.metrics import average_precision, ndcg_at, precision_recall, recall_at, reciprocal_rank
from assistant.evaluation.scoring import normal
from assistant.knowledge.documents import Passage
from energycomm.errors import UserError

HERE = Path(__file__).parents[2]
QUESTIONS = HERE / "assistant" / "evaluation" / "questions"


def test_measures_of_a_ranking_are_those_of_the_books() -> None:
    ranking, relevant = ["a", "b", "c", "d"], {"b", "d"}
    assert reciprocal_rank(ranking, relevant) == 0.5
    assert recall_at(ranking, relevant, 3) == 0.5
    assert average_precision(ranking, relevant) == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert ndcg_at(ranking, {"b": 1.0, "d": 1.0}) == pytest.approx((0.63093 + 0.43068) / (1 + 0.63093), abs=1e-4)


def test_citing_nothing_scores_nothing() -> None:
    assert precision_recall(set(), {"a"}) == (0.0, 0.0)
    assert precision_recall({"a", "b"}, {"a"}) == (0.5, 1.0)


def test_spelling_is_compared_without_case_accents_and_articles() -> None:
    assert normal("La Quantité  d'énergie, in WH.") == normal("quantite d energie in wh")


def test_intervals_are_students() -> None:
    from assistant.evaluation.intervals import mean_of

    found = mean_of([1.0, 0.0, 1.0, 1.0])
    assert (found.value, found.n) == (0.75, 4)
    assert found.half == pytest.approx(3.1824 * 0.5 / 2, abs=1e-3)
    assert mean_of([]).n == 0


def test_there_are_80_questions_each_in_two_languages() -> None:
    questions = forms.read(QUESTIONS / "own.jsonl", forms.TestQuestion)
    english = [q for q in questions if q.language == "en"]
    assert Counter(q.kind for q in english) == {"regular": 30, "version": 12, "hard": 18, "unanswerable": 20}
    assert sorted(q.twin for q in english) == sorted(q.twin for q in questions if q.language == "fr")
    assert len({q.id for q in questions}) == 160


def test_development_questions_are_others() -> None:
    own = {q.question for q in forms.read(QUESTIONS / "own.jsonl", forms.TestQuestion)}
    assert not own & {q.question for q in forms.read(QUESTIONS / "development.jsonl", forms.TestQuestion)}


def test_a_dutch_question_is_either_developed_on_or_kept_unseen_and_has_an_english_twin() -> None:
    developed = forms.read(QUESTIONS / "development.jsonl", forms.TestQuestion)
    unseen = forms.read(QUESTIONS / "dutch.jsonl", forms.TestQuestion)
    dutch = [q for q in developed if q.language == "nl"]
    assert Counter(q.kind == "unanswerable" for q in dutch) == {False: 20, True: 10}
    assert not {q.twin for q in dutch} & {q.twin for q in unseen}
    assert {q.twin for q in [*dutch, *unseen]} <= {q.twin for q in developed if q.language == "en"}


def test_foreign_questions_are_forty_of_every_kind_and_half_of_them_is_hidden() -> None:
    questions = forms.read(QUESTIONS / "foreign.jsonl", forms.TestQuestion)
    assert Counter(q.kind for q in questions) == {"regular": 20, "hard": 6, "version": 4, "unanswerable": 10}
    assert len({q.twin for q in questions}) == 40
    assert all(q.answers and q.relevant for q in questions if q.kind != "unanswerable")
    assert sum(int(q.twin[1:]) % 2 == 0 for q in questions) == 20


def test_a_second_set_on_the_same_documents_has_other_questions() -> None:
    first = forms.read(QUESTIONS / "foreign.jsonl", forms.TestQuestion)
    second = forms.read(QUESTIONS / "foreign_second.jsonl", forms.TestQuestion)
    assert Counter(q.twin[0] for q in second) == {"g": 40, "h": 20, "k": 20}
    assert len({q.question for q in second} - {q.question for q in first}) == 80
    assert all(bool(q.answers and q.relevant) != (q.kind == "unanswerable") for q in second)


def test_a_third_set_on_the_same_documents_asks_forty_other_things() -> None:
    third = forms.read(QUESTIONS / "foreign_third.jsonl", forms.TestQuestion)
    before = [
        question.question
        for name in ("foreign", "foreign_second")
        for question in forms.read(QUESTIONS / f"{name}.jsonl", forms.TestQuestion)
    ]
    assert len({q.question for q in third} - set(before)) == len({q.twin for q in third}) == 40
    assert Counter(q.kind for q in third) == {"regular": 30, "hard": 6, "unanswerable": 4}
    assert all(bool(q.answers and q.relevant) != (q.kind == "unanswerable") for q in third)


def test_a_fourth_set_on_the_same_documents_asks_other_things_and_each_half_has_every_kind() -> None:
    fourth = forms.read(QUESTIONS / "foreign_fourth.jsonl", forms.TestQuestion)
    before = [
        question.question
        for name in ("foreign", "foreign_second", "foreign_third")
        for question in forms.read(QUESTIONS / f"{name}.jsonl", forms.TestQuestion)
    ]
    assert len({q.question for q in fourth} - set(before)) == len({q.twin for q in fourth}) == 48
    for half in (0, 1):
        kinds = Counter(q.kind for q in fourth if int(q.twin[1:]) % 2 == half)
        assert kinds == {"regular": 14, "hard": 4, "unanswerable": 6}


@pytest.mark.parametrize(
    ("name", "count", "empty"),
    [
        ("foreign_fifth", 48, 5),
        ("foreign_sixth", 40, 5),
        ("foreign_seventh", 280, 24),
        ("foreign_eighth", 96, 12),
        ("foreign_ninth", 48, 6),
    ],
)
def test_a_set_of_strangers_asks_other_things_than_all_others(name: str, count: int, empty: int) -> None:
    own = forms.read(QUESTIONS / f"{name}.jsonl", forms.TestQuestion)
    others = {
        question.question
        for path in QUESTIONS.glob("foreign*.jsonl")
        if path.stem != name
        for question in forms.read(path, forms.TestQuestion)
    }
    assert len({q.question for q in own} - others) == len({q.twin for q in own}) == count
    assert sum(q.kind == "unanswerable" for q in own) == empty
    assert all(bool(q.answers and q.relevant) != (q.kind == "unanswerable") for q in own)


FOREIGN = (
    "foreign", "foreign_second", "foreign_third", "foreign_fourth", "foreign_fifth", "foreign_sixth", "foreign_seventh",
    "foreign_eighth", "foreign_ninth",
)  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_every_foreign_answer_stands_where_its_author_says(shared: Path, name: str) -> None:
    pages = list((shared / "assistant" / "data" / "energy_docs").rglob("*.md"))
    for question in forms.read(QUESTIONS / f"{name}.jsonl", forms.TestQuestion):
        named = [page for page in pages if any(page.as_posix().endswith(r.document or "?") for r in question.relevant)]
        text = normal(" ".join(page.read_text("utf-8") for page in named))
        for spellings in question.answers:
            assert any(normal(spelling) in text for spelling in spellings), (question.id, spellings)


def test_a_wrong_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('# words\n{"id": "a", "kind": "easy"}\n')
    with pytest.raises(UserError, match="line 2"):
        forms.read(tmp_path / "q.jsonl", forms.TestQuestion)


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    from assistant.evaluation.corpus import own_documents
    from assistant.knowledge.chunking import ChunkSize, chunk

    size = ChunkSize(most=160)
    return [p for d in own_documents(HERE) for p in chunk(d, size, lambda text: len(text.split()) + 2)]


class TestOverOurOwnDocuments:
    """The questions are held against the sources: a rule or page that changes shows here."""

    @pytest.mark.parametrize("name", ["own.jsonl", "development.jsonl", "dutch.jsonl"])
    def test_every_answerable_question_has_its_passages(self, passages: list[Passage], name: str) -> None:
        from assistant.evaluation.corpus import relevant_ids

        questions = forms.read(QUESTIONS / name, forms.TestQuestion)
        assert [q.id for q in questions if q.kind != "unanswerable" and not relevant_ids(q, passages)] == []

    @pytest.mark.parametrize("name", ["own.jsonl", "development.jsonl", "dutch.jsonl"])
    def test_every_answer_stands_in_a_relevant_passage(self, passages: list[Passage], name: str) -> None:
        from assistant.evaluation.corpus import relevant_ids

        wrong = []
        for question in forms.read(QUESTIONS / name, forms.TestQuestion):
            ids = relevant_ids(question, passages)
            said = normal(" ".join(p.embedded for p in passages if p.id in ids))
            if not question.derived and not all(
                any(normal(spelling) in said for spelling in spellings) for spellings in question.answers
            ):
                wrong.append(question.id)
        assert wrong == []


def test_a_review_is_taken_over_as_people_wrote_it(tmp_path: Path) -> None:
    from assistant.evaluation.drafts import Draft
    from assistant.evaluation.generation import read_review, write_review

    drafts = [
        Draft(id=str(n), type="open", question=f"Q{n}?", answer="=A", proof="p", passage="x", address="docs/a.md")
        for n in range(4)
    ]
    path = tmp_path / "review.csv"
    write_review(drafts, path)
    lines = path.read_text().splitlines()
    assert "'=A" in lines[1]
    said = [line.replace('""', f'"{word}"', 1) for word, line in zip(("yes", "no", "Better?"), lines[1:], strict=False)]
    path.write_text("\n".join([lines[0], *said, lines[4]]) + "\n")
    assert read_review(path, tmp_path / "q.jsonl") == (2, 1)
    kept = forms.read(tmp_path / "q.jsonl", forms.TestQuestion)
    assert [q.question for q in kept] == ["Q0?", "Better?"]
    assert kept[0].answers == (("=A",),)


def test_the_index_benchmark_runs_at_a_tiny_size(tmp_path: Path) -> None:
    from benchmarks.assistant_index import measure

    text = "\n".join(measure(tmp_path / "index", passages=100, queries=3, sample=0))
    assert "| passages | 100 |" in text
    assert "hybrid, one market" in text


def test_a_sample_takes_questions_of_every_language() -> None:
    from assistant.evaluation.commands import OWN, _picked

    found = _picked(forms.read(OWN, forms.TestQuestion), "", "", 40)
    assert Counter(question.language for question in found) == {"en": 20, "fr": 20}


def test_one_paragraph_of_so_many_leaves_out_the_questions_and_sentences_of_the_others(tmp_path: Path) -> None:
    from assistant.evaluation.public import xquad_retrieval

    paragraphs = [
        {
            "context": f"It is {number}. It rains.",
            "sentence_breaks": [[0, 8], [9, 18]],
            "qas": [{"id": f"q{number}", "question": "What is it?", "answers": [{"answer_start": 6}]}],
        }
        for number in range(5)
    ]
    (tmp_path / "xquad_r").mkdir()
    with gzip.open(tmp_path / "xquad_r" / "en.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"data": [{"title": "t", "paragraphs": paragraphs}]}, file)
    found = xquad_retrieval(tmp_path, every=4)
    assert list(found.queries) == list(found.relevant) == ["q0", "q4"]
    assert set(found.corpus.values()) == {"It is 0.", "It rains.", "It is 4."}
    assert len(xquad_retrieval(tmp_path).queries) == 5


def test_the_feature_ranker_is_made_again_by_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From questions whose sentence is known; its file is what the reranker reads."""
    from assistant.evaluation import search_commands
    from assistant.retrieval.reranker import FEATURES
    from tests.assistant.conftest import WordEmbedder

    paragraphs = []
    for number, colour in enumerate(("red", "blue", "green", "white", "black", "grey", "brown", "pink", "gold")):
        sentences = [f"Nobody asked for house {number}.", f"The {colour} meter hangs in the cellar of house {number}."]
        context = " ".join(sentences)
        start = len(sentences[0]) + 1
        asked = {
            "id": colour, "question": f"Where does the {colour} meter hang?", "answers": [{"answer_start": start}]
        }  # fmt: skip
        breaks = [[0, len(sentences[0])], [start, len(context)]]
        paragraphs.append({"context": context, "sentence_breaks": breaks, "qas": [asked]})
    (tmp_path / "xquad_r").mkdir()
    with gzip.open(tmp_path / "xquad_r" / "en.json.gz", "wt") as file:
        json.dump({"data": [{"title": "Meters", "paragraphs": paragraphs}]}, file)
    monkeypatch.setattr(search_commands, "configured", lambda cache: (None, WordEmbedder()))
    search_commands.train_reranker(tmp_path, tmp_path / "reranker.json", sample=0)
    made = json.loads((tmp_path / "reranker.json").read_text())
    assert set(made["weights"]) == {*FEATURES, "bias"}
    assert made["held_out_mrr"]["reranked"] > 0.5
    assert "9 questions" in made["trained_on"]
    assert "MRR of held-out questions" in capsys.readouterr().out
