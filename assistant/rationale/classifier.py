"""A sequence classifier fine-tuned with LoRA or QLoRA: is this sentence part of the rationale? (study, chapter 4)"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from assistant.extras import need
from assistant.rationale.choosing import Choice
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.tuning import best_choice
from energycomm.errors import UserError

if TYPE_CHECKING:
    import torch

MARK = "<|>"
SETTINGS_FILE = "rationale.json"


class Training(Struct, frozen=True, kw_only=True):
    """How the classifier is fine-tuned; the defaults are the study's.

    Attributes:
      rank, alpha, dropout: of LoRA.
      learning_rate: of AdamW.
      epochs: passes over the sentences.
      batch: sentences in a step.
      max_tokens: windows are cut to so many tokens.
      negatives: sentences without the label taken for each one with it in an epoch; 0 takes all.
      four_bit: QLoRA: the base in 4 bits (nf4), for large models on a GPU.
      seed: of sampling, dropout and initial weights.
    """

    rank: int = 4
    alpha: int = 4
    dropout: float = 0.1
    learning_rate: float = 5e-5
    epochs: int = 20
    batch: int = 16
    max_tokens: int = 256
    negatives: int = 0
    four_bit: bool = False
    seed: int = 0


class _Settings(Struct, frozen=True, kw_only=True):
    base: str
    choice: Choice
    max_tokens: int
    validation: float


def window(item: Question, index: int) -> tuple[str, str]:
    """The two texts of a pair: previous, marked and next sentence; answer and question."""
    before = item.sentences[index - 1] if index else ""
    after = item.sentences[index + 1] if index + 1 < len(item.sentences) else ""
    first = f"{before} {MARK} {item.sentences[index]} {MARK} {after}".strip()
    return first, f"{item.answer or ''} {item.question}".strip()


class Classifier:
    """A fine-tuned classifier behind the rationale port. Make one with `train` or `load`."""

    def __init__(self, model: Any, tokenizer: Any, settings: _Settings) -> None:
        self.name = f"classifier {Path(settings.base).name}"
        self.choice = settings.choice
        self._model, self._tokenizer, self._settings = model, tokenizer, settings
        self._model.eval()

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Probability for every sentence that it is part of the rationale."""
        import torch

        windows = [window(item, index) for item in items for index in range(len(item.sentences))]
        flat: list[float] = []
        with torch.inference_mode():
            for at in range(0, len(windows), 32):
                logits = self._model(
                    **_encode(self._tokenizer, windows[at : at + 32], self._settings.max_tokens, self._model.device)
                ).logits
                flat += torch.softmax(logits.float(), dim=-1)[:, 1].tolist()
        scores, at = [], 0
        for item in items:
            scores.append(flat[at : at + len(item.sentences)])
            at += len(item.sentences)
        return scores

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        lengths = [[len(sentence) for sentence in item.sentences] for item in items]
        return [self.choice(row, sizes) for row, sizes in zip(self.score(items), lengths, strict=True)]

    def save(self, folder: Path) -> None:
        """Write adapter, tokenizer and settings; the base model is named, not copied."""
        folder.mkdir(parents=True, exist_ok=True)
        self._model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)
        (folder / SETTINGS_FILE).write_bytes(msgspec.json.encode(self._settings))

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Classifier:
        """Open a folder that `save` wrote.

        Raises:
          UserError: it is no such folder, or packages are missing.
        """
        need("torch", "transformers", "peft")
        from peft import PeftModel
        from transformers import AutoTokenizer

        try:
            settings = msgspec.json.decode((folder / SETTINGS_FILE).read_bytes(), type=_Settings)
        except (OSError, msgspec.DecodeError) as error:
            raise UserError(f"{folder} holds no trained rationale classifier: {error}.", "Train one first.") from None
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = PeftModel.from_pretrained(_base(settings.base, tokenizer, four_bit=False), folder)
        return cls(model.to(device), tokenizer, settings)


def train(
    base: str,
    items: Sequence[Question],
    golds: Sequence[GoldSets],
    validation: tuple[Sequence[Question], Sequence[GoldSets]],
    how: Training | None = None,
    *,
    report: Callable[[str], None] = lambda line: None,
) -> Classifier:
    """Fine-tune a classifier and keep the epoch that is best on validation.

    Args:
      base: model folder or hub name for `AutoModelForSequenceClassification`.
      items, golds: contexts to learn from; a sentence of any gold set has label 1.
      validation: contexts on which the epoch and the rule of choice are chosen, by mean IoU.
      how: settings; the study's when None.
      report: takes a line after every epoch.

    Raises:
      UserError: packages are missing.
    """
    need("torch", "transformers", "peft")
    import torch
    from peft import LoraConfig, TaskType, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
    from transformers import AutoTokenizer

    how = how or Training()
    torch.manual_seed(how.seed)
    tokenizer = AutoTokenizer.from_pretrained(base)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=how.rank,
        lora_alpha=how.alpha,
        lora_dropout=how.dropout,
        target_modules="all-linear",
    )
    model = get_peft_model(_base(base, tokenizer, four_bit=how.four_bit), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=how.learning_rate)
    best: tuple[float, Choice, dict[str, torch.Tensor]] | None = None
    draw = random.Random(how.seed)  # noqa: S311 - sampling, not secrets
    for epoch in range(how.epochs):
        loss = _epoch(model, tokenizer, optimizer, _drawn(items, golds, how, draw), how)
        probe = Classifier(
            model, tokenizer, _Settings(base=base, choice=Choice(), max_tokens=how.max_tokens, validation=0)
        )
        choice, value = best_choice(probe.score(validation[0]), validation[0], validation[1])
        report(json.dumps({"epoch": epoch + 1, "loss": round(loss, 4), "validation IoU": round(value, 4)}))
        if best is None or value > best[0]:
            state = {key: tensor.detach().clone() for key, tensor in get_peft_model_state_dict(model).items()}
            best = (value, choice, state)
    assert best is not None, "a training has at least one epoch"
    set_peft_model_state_dict(model, best[2])
    return Classifier(
        model, tokenizer, _Settings(base=base, choice=best[1], max_tokens=how.max_tokens, validation=best[0])
    )


def _base(base: str, tokenizer: Any, *, four_bit: bool) -> Any:
    import torch
    from transformers import AutoModelForSequenceClassification, BitsAndBytesConfig

    extra: dict[str, Any] = {}
    if four_bit:
        need("bitsandbytes")
        quantized: Any = BitsAndBytesConfig
        extra["quantization_config"] = quantized(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
        )
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=2, **extra)
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return model


def _encode(tokenizer: Any, windows: Sequence[tuple[str, str]], max_tokens: int, device: Any) -> Any:
    # The question is what may not be cut: only the window is.
    return tokenizer(
        [first for first, _ in windows],
        [second for _, second in windows],
        truncation="longest_first",
        max_length=max_tokens,
        padding=True,
        return_tensors="pt",
    ).to(device)


def _drawn(
    items: Sequence[Question], golds: Sequence[GoldSets], how: Training, draw: random.Random
) -> list[tuple[tuple[str, str], int]]:
    """The windows of an epoch with their labels, in a new order."""
    examples = []
    for item, gold_sets in zip(items, golds, strict=True):
        gold = frozenset().union(*gold_sets)
        rest = [index for index in range(len(item.sentences)) if index not in gold]
        if how.negatives:
            rest = draw.sample(rest, min(len(rest), how.negatives * max(len(gold), 1)))
        examples += [(window(item, index), 1) for index in sorted(gold)]
        examples += [(window(item, index), 0) for index in rest]
    draw.shuffle(examples)
    return examples


def _epoch(
    model: Any, tokenizer: Any, optimizer: Any, examples: list[tuple[tuple[str, str], int]], how: Training
) -> float:
    import torch

    model.train()
    total = 0.0
    for at in range(0, len(examples), how.batch):
        part = examples[at : at + how.batch]
        inputs = _encode(tokenizer, [pair for pair, _ in part], how.max_tokens, model.device)
        loss = model(**inputs, labels=torch.tensor([label for _, label in part], device=model.device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += float(loss.detach()) * len(part)
    return total / max(len(examples), 1)
