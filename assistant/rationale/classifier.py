"""A sequence classifier fine-tuned with LoRA or QLoRA: is this sentence part of the rationale? (study, chapter 4)"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assistant.extras import need
from assistant.rationale.choosing import Choice
from assistant.rationale.port import Question
from assistant.rationale.windows import Window, batches, padded, read
from assistant.trust import checked, pretrained, remember
from energycomm.errors import UserError

SETTINGS_FILE = "rationale.json"
TOGETHER = 32
"""Windows that are scored at once."""


class Settings(Struct, frozen=True, kw_only=True):
    """What is kept beside the weights.

    Attributes:
      base: folder of the base model.
      choice: the rule of choice, tuned on validation contexts.
      max_tokens: windows are cut to so many tokens.
      validation: mean IoU on the validation contexts.
      trained: how it was trained, for whoever reads the file.
    """

    base: str
    choice: Choice = Choice()
    max_tokens: int = 256
    validation: float = 0.0
    trained: dict[str, float] = {}


class Classifier:
    """A fine-tuned classifier behind the rationale port. Make one with `training.train`, or `load` one."""

    def __init__(self, model: Any, tokenizer: Any, settings: Settings) -> None:
        self.name = f"classifier {Path(settings.base).name}"
        self.settings = settings
        self.choice = settings.choice
        self._model, self._tokenizer = model, tokenizer

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Probability for every sentence that it is part of the rationale."""
        windows = read(self._tokenizer, items, self.settings.max_tokens)
        flat = iter(probabilities(self._model, [one for part in windows for one in part], self._tokenizer.pad_token_id))
        return [[next(flat) for _ in part] for part in windows]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        lengths = [[len(sentence) for sentence in item.sentences] for item in items]
        return [self.choice(row, sizes) for row, sizes in zip(self.score(items), lengths, strict=True)]

    def save(self, folder: Path) -> None:
        """Write adapter, tokenizer and settings; the base model is named, not copied."""
        folder.mkdir(parents=True, exist_ok=True)
        self._model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        (folder / SETTINGS_FILE).write_bytes(msgspec.json.encode(self.settings))
        remember(folder)

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Classifier:
        """Open a folder that `save` wrote.

        Raises:
          UserError: it is no such folder, or packages are missing.
        """
        need("torch", "transformers", "peft")
        from peft import PeftModel

        try:
            settings = msgspec.json.decode((folder / SETTINGS_FILE).read_bytes(), type=Settings)
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"{folder} holds no trained rationale classifier: {error}.", "Train one first.") from None
        tokenizer = open_tokenizer(str(folder))
        model = PeftModel.from_pretrained(open_base(settings.base, tokenizer), str(checked(folder)))
        return cls(model.to(device), tokenizer, settings)


def probabilities(model: Any, windows: Sequence[Window], pad: int) -> list[float]:
    """Probability of every window that its marked sentence is part of the rationale."""
    import torch

    model.eval()
    found = [0.0] * len(windows)
    with torch.inference_mode():
        for numbers in batches(windows, TOGETHER):
            inputs = padded([windows[number] for number in numbers], pad, model.device)
            logits = model(**inputs).logits.float()
            for number, value in zip(numbers, torch.softmax(logits, dim=-1)[:, 1].tolist(), strict=True):
                found[number] = value
    return found


def open_tokenizer(base: str) -> Any:
    """The tokenizer of a model, with a padding token.

    Raises:
      UserError: it cannot be opened, or does not tell where its tokens stand.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = pretrained(AutoTokenizer, base)
    except (OSError, ValueError) as error:
        raise _unopened(base, error) from None
    if not tokenizer.is_fast:
        raise UserError("The classifier needs a tokenizer that gives offsets.", "Use a model with a fast tokenizer.")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def open_base(base: str, tokenizer: Any, *, four_bit: bool = False) -> Any:
    """A base model with a head of two labels; a reranker, whose head gives one score, keeps it as the second's.

    Args:
      base: folder, for `AutoModelForSequenceClassification`.
      tokenizer: its tokenizer.
      four_bit: with 4-bit weights (nf4), for QLoRA.

    Raises:
      UserError: it cannot be opened.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, BitsAndBytesConfig

    extra: dict[str, Any] = {}
    if four_bit:
        need("bitsandbytes")
        quantized: Any = BitsAndBytesConfig
        extra["quantization_config"] = quantized(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    try:
        single = pretrained(AutoConfig, base).num_labels == 1
        model = pretrained(
            AutoModelForSequenceClassification, base, num_labels=2, ignore_mismatched_sizes=single, **extra
        )
        if single:
            _widen(model, pretrained(AutoModelForSequenceClassification, base))
    except (OSError, ValueError) as error:
        raise _unopened(base, error) from None
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model


def _widen(model: Any, ranker: Any) -> None:
    """Give a head of two labels what one of a single score has learnt: it has not to be learnt again."""
    import torch

    known = ranker.state_dict()
    with torch.no_grad():
        for name, weights in model.state_dict().items():
            if name in known and known[name].shape != weights.shape:
                weights[0].zero_()
                weights[1].copy_(known[name][0])


def _unopened(base: str, error: Exception) -> UserError:
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return UserError(f"The model {base} cannot be opened: {line}", "Name the folder of a model.")
