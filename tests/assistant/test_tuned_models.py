"""The classifier and attention, with tiny models that are made here: the paths, not the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.chat.scorer import open_rationale
from assistant.config import AssistantConfig
from assistant.rationale.port import Question
from energycomm.errors import UserError
from tests.assistant.conftest import WordEmbedder

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries' own

TEXT = "<pad> <unk> <s> </s> <|> red blue green stone tree river is was the a what colour question answer : . ?"
WORDS = TEXT.split()
ITEMS = [
    Question(question="what is red ?", sentences=("the stone is blue .", "the tree is red .", "a river was green .")),
    Question(question="what is red ?", sentences=("the river is red .", "the stone is green .")),
]
GOLDS = [[frozenset({1})], [frozenset({0})]]


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", eos_token="</s>")


@pytest.fixture
def base(tmp_path: Path) -> str:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from assistant.trust import remember

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, pad_token_id=0, num_labels=2,
    )  # fmt: skip
    folder = tmp_path / "base"
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    remember(folder)
    return str(folder)


def test_the_window_marks_the_sentence_between_its_neighbours() -> None:
    from assistant.rationale.windows import window

    assert window(ITEMS[0], 1) == (
        "the stone is blue . <|> the tree is red . <|> a river was green .",
        "what is red ?",
    )
    assert window(ITEMS[0], 0)[0].startswith("<|> the stone")


def test_a_window_that_is_too_long_loses_the_far_ends_of_the_neighbours() -> None:
    from assistant.rationale.windows import read

    words = tokenizer()
    (windows,) = read(words, [ITEMS[0]], 15)
    assert [words.decode(one.ids) for one in windows] == [
        "<|> the stone is blue . <|> the tree is red what is red ?",
        "blue . <|> the tree is red . <|> a river what is red ?",
        "tree is red . <|> a river was green . <|> what is red ?",
    ]


def test_windows_of_like_length_are_read_together_each_once() -> None:
    from assistant.rationale.windows import Window, batches

    windows = [Window([0] * length) for length in (3, 9, 4, 8, 5)]
    assert list(batches(windows, 2)) == [[1, 3], [4, 2], [0]]


def test_a_budget_ends_a_training_and_leaves_time_for_the_validation(base: str) -> None:
    from assistant.rationale.training import Training, train

    told: list[str] = []
    ticks = iter(range(10_000))
    how = Training(epochs=50, batch=2, budget=20, max_tokens=48)
    model = train(base, ITEMS, GOLDS, (ITEMS, GOLDS), how, report=told.append, clock=lambda: float(next(ticks)))
    assert 1 <= len(told) < 10
    assert model.settings.trained["seconds"] <= 30
    assert model.settings.trained["budget"] == 20


def test_a_base_that_is_not_there_is_told_in_words() -> None:
    from assistant.rationale.training import Training, train

    with pytest.raises(UserError, match="cannot be opened"):
        train("nowhere/at-all", ITEMS, GOLDS, (ITEMS, GOLDS), Training(epochs=1))


def test_a_classifier_learns_is_saved_and_opened_again(base: str, tmp_path: Path) -> None:
    from assistant.rationale.classifier import Classifier
    from assistant.rationale.training import Training, train

    told: list[str] = []
    how = Training(epochs=3, batch=2, learning_rate=1e-2, dropout=0.0, max_tokens=48)
    model = train(base, ITEMS, GOLDS, (ITEMS, GOLDS), how, report=told.append)
    assert len(told) == 3
    assert "validation IoU" in told[0]
    model.save(tmp_path / "tuned")
    again = Classifier.load(tmp_path / "tuned")
    assert again.choose(ITEMS) == model.choose(ITEMS)
    for kept, opened in zip(model.score(ITEMS), again.score(ITEMS), strict=True):
        assert opened == pytest.approx(kept, abs=1e-4)
    configured = AssistantConfig(rationale=str(tmp_path / "tuned"))
    assert isinstance(open_rationale(configured, WordEmbedder()), Classifier)


def test_a_folder_without_a_classifier_is_refused(tmp_path: Path) -> None:
    from assistant.rationale.classifier import Classifier

    with pytest.raises(UserError, match="holds no trained rationale classifier"):
        Classifier.load(tmp_path)


@pytest.fixture
def attention() -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from assistant.rationale.attention import AttentionRationale

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=128, attn_implementation="eager",
    )  # fmt: skip
    return AttentionRationale((LlamaForCausalLM(config), tokenizer()), max_tokens=64)


def test_attention_scores_every_sentence_between_0_and_1(attention: Any) -> None:
    scores = attention.score(ITEMS)
    assert [len(row) for row in scores] == [3, 2]
    assert all(0 <= score <= 1 for row in scores for score in row)
    assert all(len(chosen) == 1 for chosen in attention.choose(ITEMS))


def test_reading_the_context_first_gives_the_same_attention_as_reading_all_at_once(attention: Any) -> None:
    """Its own tokens' attention is left out, and items with one context share its reading."""
    import torch
    from transformers import AutoModelForCausalLM

    again = Question(question="what is blue ?", sentences=ITEMS[0].sentences)
    scores = attention.score([ITEMS[0], ITEMS[1], again])
    assert scores[0] == pytest.approx(attention.score([ITEMS[0]])[0])
    assert scores[2] == pytest.approx(attention.score([again])[0])
    model = AutoModelForCausalLM.from_config(attention._model.config, attn_implementation="eager")
    model.base_model.load_state_dict(attention._model.state_dict())
    words = tokenizer()
    context, asked = [words(text)["input_ids"] for text in (" ".join(ITEMS[0].sentences), ITEMS[0].question)]
    with torch.inference_mode():
        whole = model.eval()(torch.tensor([context + asked]), output_attentions=True).attentions
    expected = torch.stack([layer[0, :, len(context) :, : len(context)].mean(dim=1) for layer in whole])
    assert attention._attend(ITEMS[0])[0] == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_context_without_sentences_has_no_scores(attention: Any) -> None:
    assert attention.score([Question(question="what is red ?", sentences=())]) == [[]]
    assert attention.choose([Question(question="what is red ?", sentences=())]) == [()]


def test_the_sweep_tries_every_head_and_their_means(attention: Any) -> None:
    from assistant.rationale.attention import Head

    found = attention.sweep(ITEMS, GOLDS)
    assert {place for place, _, _ in found} == {Head(a, b) for a in (0, 1) for b in (0, 1, None)} | {Head()}
    assert found[0][2] == max(value for _, _, value in found)


def test_a_context_that_is_too_long_loses_its_end_not_the_question(attention: Any) -> None:
    long = Question(question="what is red ?", sentences=tuple("the stone is blue ." for _ in range(40)))
    (scores,) = attention.score([long])
    assert len(scores) == 40
    assert scores[0] > 0
    assert scores[-1] == 0.0
