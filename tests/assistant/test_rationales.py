"""Rationales: the study's measure, the rules of choice, the methods, the shipped model."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.rationale.choosing import Choice
from assistant.rationale.measures import hit_at_1, iou, iou_f1, size_bin
from assistant.rationale.port import Question
from assistant.rationale.similarity import TOP_1, Hybrid, NGrams
from assistant.rationale.tuning import best_choice

SENTENCES = ("Short one.", "A sentence that is quite a bit longer.", "Last.")
ITEM = Question(
    question="Why is an index rejected?",
    sentences=("The weather is fine today.", "An index below the one before is rejected.", "Meters are grey."),
)


def test_long_sentences_weigh_more() -> None:
    assert iou({0, 1}, [frozenset({1})], SENTENCES) == pytest.approx(38 / 48)
    assert iou({0, 1}, [frozenset({1})], SENTENCES, "tokens") == pytest.approx(8 / 10)
    assert iou({0, 1}, [frozenset({1})], SENTENCES, "sentences") == pytest.approx(1 / 2)


def test_the_gold_set_that_agrees_best_counts() -> None:
    assert iou({2}, [frozenset({0, 1}), frozenset({2})], SENTENCES) == 1.0


def test_nothing_chosen_is_right_only_where_nothing_is_to_be_chosen() -> None:
    assert iou((), [], SENTENCES) == 1.0
    assert iou((), [frozenset({0})], SENTENCES) == 0.0
    assert iou({0}, [], SENTENCES) == 0.0


def test_erasers_measure_counts_spans_with_half_overlap() -> None:
    contexts = [("a b c d", "e f", "g")]
    assert iou_f1([{0}], [[frozenset({0, 1})]], contexts) == 1.0  # 4 of 6 tokens
    assert iou_f1([{1}], [[frozenset({0, 1})]], contexts) == 0.0  # 2 of 6


def test_ties_go_to_the_first_sentence() -> None:
    assert hit_at_1([0.5, 0.5], [frozenset({0})]) == 1.0
    assert hit_at_1([], [frozenset({0})]) == 0.0


@pytest.mark.parametrize(("count", "name"), [(1, "1-3"), (4, "4-5"), (10, "6-10"), (123, ">10")])
def test_contexts_fall_into_the_studys_bins(count: int, name: str) -> None:
    assert size_bin(count) == name


def test_a_threshold_that_nothing_passes_falls_back_to_the_best() -> None:
    assert Choice(threshold=0.9)([0.1, 0.7, 0.3]) == (1,)
    assert Choice(threshold=0.9, fallback=False)([0.1, 0.7, 0.3]) == ()


def test_choices_come_in_the_order_of_the_text() -> None:
    assert Choice(rule="top_k", k=2, threshold=0)([0.5, 0.1, 0.9]) == (0, 2)


def test_expected_iou_takes_a_second_sentence_when_it_is_likely() -> None:
    rule = Choice(rule="expected_iou")
    assert rule([0.9, 0.8, 0.05]) == (0, 1)
    assert rule([0.9, 0.1, 0.05]) == (0,)


def test_n_grams_find_the_sentence_with_the_questions_words() -> None:
    assert NGrams().choose([ITEM]) == [(1,)]


def test_n_grams_know_only_their_own_context() -> None:
    alone = NGrams().score([ITEM])
    assert NGrams().score([ITEM, Question(question="x", sentences=("y z.",))])[0] == alone[0]


def test_a_hybrid_is_a_mean_of_scaled_scores() -> None:
    assert Hybrid([NGrams(), NGrams(high=3)]).score([ITEM])[0][1] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="one weight for each"):
        Hybrid([NGrams()], weights=[1.0, 2.0])


def test_tuning_finds_the_rule_that_fits() -> None:
    scores = [[0.9, 0.8, 0.1], [0.7, 0.2, 0.1]]
    items = [Question(question="", sentences=SENTENCES)] * 2
    choice, value = best_choice(scores, items, [[frozenset({0, 1})], [frozenset({0})]])
    assert value == 1.0
    assert choice(scores[0]) == (0, 1)


def test_top_1_of_no_sentence_is_nothing() -> None:
    assert TOP_1([]) == ()


class TestTheShippedModel:
    def test_it_reads_words_without_an_embedder(self) -> None:
        from assistant.rationale.light import Light

        model = Light.load()
        (scores,) = model.score([ITEM])
        assert all(0 <= score <= 1 for score in scores)
        assert max(scores) == scores[1]
        assert model.choose([ITEM]) == [(1,)]

    def test_it_says_what_it_learned_from_and_under_which_licence(self) -> None:
        from assistant.rationale.light import Light

        card = Light.load().card
        assert card.licence == "CC BY-SA 4.0"
        assert len(card.trained_on) == 4

    def test_an_item_is_scored_the_same_alone_and_among_others(self) -> None:
        from assistant.rationale.light import Light

        model = Light.load()
        other = Question(question="What colour is a meter?", sentences=("Meters are grey.", "Indexes are kept."))
        assert model.score([other, ITEM])[1] == pytest.approx(model.score([ITEM])[0])

    def test_saved_and_loaded_it_scores_the_same(self, tmp_path: Path) -> None:
        from assistant.rationale.light import Light

        model = Light.load()
        model.save(tmp_path / "model.npz")
        assert Light.load(tmp_path / "model.npz").score([ITEM]) == model.score([ITEM])

    @pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x93NUMPY"])
    def test_a_damaged_file_is_refused_in_words(self, tmp_path: Path, content: bytes) -> None:
        from assistant.rationale.light import Light
        from assistant.trust import remember
        from energycomm.errors import UserError

        (tmp_path / "model.npz").write_bytes(content)
        remember(tmp_path / "model.npz")
        with pytest.raises(UserError, match="is not a rationale model"):
            Light.load(tmp_path / "model.npz")

    def test_no_sentence_gives_no_choice(self) -> None:
        from assistant.rationale.light import Light

        assert Light.load().choose([Question(question="Why?", sentences=())]) == [()]

    def test_another_language_is_noticed(self) -> None:
        from assistant.rationale.light import across

        french = "Pourquoi un relevé est-il rejeté quand l'index diminue ?"
        assert across(Question(question=french, sentences=ITEM.sentences))
        assert not across(ITEM)
