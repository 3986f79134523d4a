"""LoRA and QLoRA on a causal language model of Hugging Face: the paths, with a tiny network that is made here."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from assistant.classifier.language import LanguageModel
from assistant.classifier.port import Example
from assistant.classifier.recipe import Recipe
from assistant.classifier.record import read_record
from assistant.classifier.tokenizer import train_tokenizer
from assistant.classifier.training import Course
from energycomm.errors import UserError

# peft asks transformers by names that a newer release of it will not know.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed in v6:FutureWarning")

CPU = Course(budget=0, clock=time.process_time)


def example(number: int) -> Example:
    """A message that breaks a rule when its number is odd."""
    codes = ("FR-A01",) if number % 2 else ()
    text = f"FR MeterReading R151 | facts {'register.value<0' if codes else 'none'} | fields positions={number % 7}"
    forms = {"raw": text, "deltas": text, "facts": text}
    return Example(
        id=str(number),
        market="FR",
        kind="MeterReading",
        access_point=str(number),
        at="",
        codes=codes,
        forms=forms,  # type: ignore[arg-type]
    )


EXAMPLES = [example(number) for number in range(64)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Llama of two layers and its tokenizer, as a hub would give it."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from assistant.trust import remember

    folder = tmp_path_factory.mktemp("base")
    torch.manual_seed(0)
    tokenizer = train_tokenizer([one.text() for one in EXAMPLES], size=330)
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        initializer_range=0.1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    remember(folder)
    return folder


def recipe(base: Path, **more: object) -> Recipe:
    given = {"base": str(base), "learning_rate": 0.01, "batch": 8, "evaluations": 2, "threads": 1, "labels": "code"}
    return Recipe(**(given | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", ["code", "token", "words"])
def test_an_adapter_learns_and_is_opened_again_over_its_base(base: Path, labels: str, tmp_path: Path) -> None:
    model = LanguageModel(recipe(base, labels=labels), titles={"FR-A01": "Index not below zero"}, course=CPU)
    model.fit(EXAMPLES[:48], EXAMPLES[48:], 4)
    texts = [one.text() for one in EXAMPLES]
    found = [one.codes for one in model.predict(texts)]
    assert sum(a == b.codes for a, b in zip(found, EXAMPLES, strict=True)) >= 60
    model.save(tmp_path)
    assert not (tmp_path / "model.safetensors").exists()  # the base is named, not copied
    assert read_record(tmp_path).recipe.base == str(base)
    again = LanguageModel()
    again.load(tmp_path)
    assert [one.codes for one in again.predict(texts)] == found


def test_qlora_trains_an_adapter_over_a_base_in_four_bits(base: Path, tmp_path: Path) -> None:
    model = LanguageModel(recipe(base, four_bit=True, checkpointing=True, accumulation=2), course=CPU)
    model.fit(EXAMPLES[:48], EXAMPLES[48:], 3)
    assert "Linear4bit" in {type(module).__name__ for module in model._model.modules()}
    assert model.record.marks[-1].valid_loss < 0.1, "an untrained model's is above 1; what is learnt wavers near zero"
    model.save(tmp_path)
    again = LanguageModel()
    again.load(tmp_path)
    texts = [one.text() for one in EXAMPLES[48:]]
    assert [one.codes for one in again.predict(texts)] == [one.codes for one in model.predict(texts)]


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        LanguageModel(recipe(tmp_path / "nowhere")).fit(EXAMPLES[:8], EXAMPLES[8:16], 1)
