"""Fine-tuning the sequence classifier: LoRA, within a budget of processor time, the best state kept."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assistant.extras import need
from assistant.rationale.choosing import Choice
from assistant.rationale.classifier import Classifier, Settings, open_base, open_tokenizer, probabilities
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.tuning import best_choice
from assistant.rationale.windows import Window, padded, read

CHUNK = 16
"""Batches among which windows of like length are put together."""

WARMING = 0.05
"""Share of the training in which the learning rate rises; then it falls to nothing."""


class Training(Struct, frozen=True, kw_only=True):
    """How the classifier is fine-tuned; the defaults are the study's.

    Attributes:
      rank, alpha, dropout: of LoRA.
      learning_rate: of AdamW.
      epochs: passes over the sentences, at most.
      budget: seconds of processor time, validation included; 0 sets no limit.
      batch: sentences in a step.
      max_tokens: windows are cut to so many tokens.
      negatives: sentences without the label taken for each one with it, others in every epoch; 0 takes all.
      four_bit: QLoRA: the base in 4 bits (nf4), for large models on a GPU.
      seed: of sampling, dropout and initial weights.
    """

    rank: int = 4
    alpha: int = 4
    dropout: float = 0.1
    learning_rate: float = 5e-5
    epochs: int = 20
    budget: float = 0.0
    batch: int = 16
    max_tokens: int = 256
    negatives: int = 0
    four_bit: bool = False
    seed: int = 0


class Labelled(Struct, frozen=True):
    """The windows of one context, and whether each marked sentence is of a gold set."""

    windows: Sequence[Window]
    labels: Sequence[int]


def train(
    base: str,
    items: Sequence[Question],
    golds: Sequence[GoldSets],
    validation: tuple[Sequence[Question], Sequence[GoldSets]],
    how: Training | None = None,
    *,
    report: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.process_time,
) -> Classifier:
    """Fine-tune a classifier and keep the epoch that is best on validation.

    Args:
      base: model folder for `AutoModelForSequenceClassification`.
      items, golds: contexts to learn from; a sentence of any gold set has label 1.
      validation: contexts on which the epoch and the rule of choice are chosen, by mean IoU.
      how: settings; the study's when None.
      report: takes a line after every epoch.
      clock: what the budget is told by.

    Raises:
      UserError: packages are missing, or the base cannot be opened.
    """
    need("torch", "transformers", "peft")
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    how = how or Training()
    run = _Run(base, how, clock)
    taught = _labelled(run.tokenizer, items, golds, how.max_tokens)
    held = read(run.tokenizer, validation[0], how.max_tokens)
    best: tuple[float, Choice, dict[str, Any]] | None = None
    for epoch in range(how.epochs):
        loss = run.epoch(_drawn(taught, how, epoch), sum(len(part) for part in held))
        flat = iter(run.validate([one for part in held for one in part]))
        choice, value = best_choice([[next(flat) for _ in part] for part in held], *validation)
        told = {"epoch": epoch + 1, "sentences": run.read, "seconds": round(run.spent, 1), "loss": round(loss, 4)}
        report(json.dumps({**told, "validation IoU": round(value, 4)}))
        if best is None or value > best[0]:
            state = {key: tensor.detach().clone() for key, tensor in get_peft_model_state_dict(run.model).items()}
            best = (value, choice, state)
        if run.over:
            break
    assert best is not None, "a training has at least one epoch"
    set_peft_model_state_dict(run.model, best[2])
    run.settings = replace(run.settings, choice=best[1], validation=best[0], trained=_told(how, run))
    return Classifier(run.model, run.tokenizer, run.settings)


def _told(how: Training, run: _Run) -> dict[str, float]:
    settings = {name: float(getattr(how, name)) for name in how.__struct_fields__}
    return {**settings, "sentences": run.read, "seconds": round(run.spent, 1)}


class _Run:
    """One training: the model, what was read, what is left of the budget."""

    def __init__(self, base: str, how: Training, clock: Callable[[], float]) -> None:
        import torch
        from peft import LoraConfig, TaskType, get_peft_model

        self._how, self._clock, self._began = how, clock, clock()
        torch.manual_seed(how.seed)
        self.tokenizer = open_tokenizer(base)
        self.settings = Settings(base=base, max_tokens=how.max_tokens)
        config = LoraConfig(
            task_type=TaskType.SEQ_CLS, r=how.rank, lora_alpha=how.alpha, lora_dropout=how.dropout,
            target_modules="all-linear",
        )  # fmt: skip
        self.model: Any = get_peft_model(open_base(base, self.tokenizer, four_bit=how.four_bit), config)
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(self._weights, lr=how.learning_rate)
        self._epochs = 0.0
        self._seconds_a_window = 0.0
        self.read = 0
        self.over = False

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def epoch(self, steps: Sequence[tuple[Sequence[Window], Sequence[int]]], held: int) -> float:
        """One pass over the steps, or as many of them as the budget allows; returns the mean loss.

        Args:
          steps: batches of windows with their labels.
          held: windows that are scored afterwards, for which time is left.
        """
        import torch

        self.model.train()
        began, total, count = self._clock(), 0.0, 0
        for number, (windows, labels) in enumerate(steps):
            self._set_rate(self._epochs + number / len(steps), held)
            inputs = padded(windows, self.tokenizer.pad_token_id, self.model.device)
            loss = self.model(**inputs, labels=torch.tensor(labels, device=self.model.device)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
            self._optimizer.step()
            self._optimizer.zero_grad()
            total, count = total + float(loss.detach()) * len(labels), count + len(labels)
            if not self._seconds_a_window:
                # Reading costs about a third of reading and learning.
                self._seconds_a_window = (self._clock() - began) / count / 3
            if self._left(held) <= 0:
                self.over = True
                break
        self.read, self._epochs = self.read + count, self._epochs + 1
        return total / max(count, 1)

    def validate(self, windows: Sequence[Window]) -> list[float]:
        """Probabilities of the validation windows."""
        began = self._clock()
        found = probabilities(self.model, windows, self.tokenizer.pad_token_id)
        self._seconds_a_window = (self._clock() - began) / max(len(windows), 1)
        return found

    def _left(self, held: int) -> float:
        if not self._how.budget:
            return 1.0
        return self._how.budget - self.spent - held * self._seconds_a_window

    def _set_rate(self, epochs: float, held: int) -> None:
        done = epochs / self._how.epochs
        if self._how.budget:
            whole = max(self._how.budget - held * self._seconds_a_window, 1e-9)
            done = max(done, min(self.spent / whole, 1.0))
        share = min(done / WARMING, (1 - done) / (1 - WARMING))
        for group in self._optimizer.param_groups:
            # Never quite nothing: the first step would else be none.
            group["lr"] = self._how.learning_rate * max(share, 0.01)


def _labelled(tokenizer: Any, items: Sequence[Question], golds: Sequence[GoldSets], max_tokens: int) -> list[Labelled]:
    gold = [frozenset[int]().union(*gold_sets) for gold_sets in golds]
    return [
        Labelled(windows, [int(index in marked) for index in range(len(windows))])
        for windows, marked in zip(read(tokenizer, items, max_tokens), gold, strict=True)
    ]


def _drawn(contexts: Sequence[Labelled], how: Training, epoch: int) -> list[tuple[list[Window], list[int]]]:
    """The steps of an epoch: windows of like length together, in a new order."""
    draw = random.Random(f"{how.seed} {epoch}")  # noqa: S311 - sampling, not secrets
    pairs: list[tuple[Window, int]] = []
    for context in contexts:
        marked = [index for index, label in enumerate(context.labels) if label]
        rest = [index for index, label in enumerate(context.labels) if not label]
        if how.negatives:
            rest = draw.sample(rest, min(len(rest), how.negatives * max(len(marked), 1)))
        pairs += [(context.windows[index], context.labels[index]) for index in (*marked, *rest)]
    draw.shuffle(pairs)
    steps = []
    for at in range(0, len(pairs), how.batch * CHUNK):
        chunk = sorted(pairs[at : at + how.batch * CHUNK], key=lambda pair: len(pair[0]))
        steps += [chunk[start : start + how.batch] for start in range(0, len(chunk), how.batch)]
    draw.shuffle(steps)
    return [([one for one, _ in step], [label for _, label in step]) for step in steps]
