"""Models that read texts with an encoder: as it is with a stand-in for it, and tuned with a network made here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from assistant.classifier.baselines import PerCode
from assistant.classifier.encoder import Encoder
from assistant.classifier.models import open_model
from assistant.classifier.port import Example

# peft asks transformers by names that a newer release of it will not know.
pytestmark = pytest.mark.filterwarnings("ignore:.*removed in v6:FutureWarning")


def example(number: int) -> Example:
    """A message that breaks a rule when its number is odd."""
    codes = ("FR-A01",) if number % 2 else ()
    text = f"FR MeterReading R151 - - original | facts {'low' if codes else 'none'} | fields positions={number % 7}"
    forms: Any = {"raw": text, "deltas": text, "facts": text}
    return Example(
        id=str(number), market="FR", kind="MeterReading", access_point=str(number), at="", codes=codes, forms=forms
    )


EXAMPLES = [example(number) for number in range(64)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of one layer and its tokenizer, as a hub would give it."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from assistant.trust import remember

    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", *sorted({word for one in EXAMPLES for word in one.text().split()})]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    remember(folder)
    return folder


def test_a_tuned_encoder_learns_and_is_the_same_when_it_is_opened_again(base: Path, tmp_path: Path) -> None:
    model = Encoder(base=str(base))
    # Ten times through everything takes less: it learns as much on a slow machine.
    model.fit(EXAMPLES * 5, EXAMPLES[:32], budget=600)
    texts = [one.text() for one in EXAMPLES]
    said = model.predict(texts)
    assert [one.codes for one in said] == [one.codes for one in EXAMPLES]
    model.save(tmp_path / "model")
    again = open_model(tmp_path / "model")
    assert [(one.codes, round(one.probability, 4)) for one in again.predict(texts)] == [
        (one.codes, round(one.probability, 4)) for one in said
    ]


def test_a_tuned_encoder_keeps_its_time(base: Path) -> None:
    model = Encoder(base=str(base))
    begun = time.monotonic()
    model.fit(EXAMPLES * 1000, EXAMPLES[:4], budget=2)
    assert 0 < model.steps < 40_000  # ten times through everything
    assert time.monotonic() - begun < 60


class _Embedder:
    """The number of facts as a direction."""

    name = "stand-in"

    def embed_queries(self, texts: list[str]) -> Any:
        import numpy as np

        return np.asarray([[1.0, 0.0] if " low " in text else [0.0, 1.0] for text in texts], np.float32)


def test_frozen_embeddings_are_read_in_pieces_until_the_time_is_up() -> None:
    model = PerCode("embeddings")
    model.features._embedder = _Embedder()  # type: ignore[attr-defined]
    model.fit(EXAMPLES * 10, EXAMPLES, budget=0.000001)
    assert model.used == 256
    whole = PerCode("embeddings")
    whole.features._embedder = _Embedder()  # type: ignore[attr-defined]
    whole.fit(EXAMPLES * 10, EXAMPLES)
    assert whole.used == 640
    assert [one.codes for one in whole.predict([one.text() for one in EXAMPLES])] == [one.codes for one in EXAMPLES]


def test_codes_that_the_time_was_too_short_for_are_named() -> None:
    model = PerCode("boosting")
    model.fit(EXAMPLES, EXAMPLES, budget=0.000001)
    assert model.unlearned == ["FR-A01"]
