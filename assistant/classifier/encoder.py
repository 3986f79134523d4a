"""multilingual-e5-small with LoRA and one output for every code: what tuning an encoder brings."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from assistant.classifier.baselines import HALF
from assistant.classifier.calibration import Calibration, calibrate
from assistant.classifier.port import Example, Form, Prediction
from assistant.classifier.storage import read_model, write_model
from assistant.classifier.tokenizer import compact
from assistant.extras import need
from assistant.trust import pretrained

TOKENS = 160
"""Tokens of a text that are read, of numbers only the signs: the facts come first."""
BATCH = 16
RANK = 16
RATE = 1e-3
HEAD_RATE = 5e-3
SECONDS = 1200.0
"""Time of a training when none is given."""
VALID = 400
"""Messages that are calibrated on, at most; fewer where the time is over before."""


class Encoder:
    """An encoder whose attention is tuned with LoRA.

    Args:
      form: of the texts.
      base: folder of the encoder; the bundled one when empty.
      seed: of weights and order.
    """

    def __init__(self, form: Form = "facts", base: str = "", seed: int = 0) -> None:
        self.name, self.base, self.seed = "LoRA encoder", base, seed
        self.form: Form = form
        self.calibration = Calibration()
        self.version = ""
        self.steps = 0
        self._codes: list[str] = []
        self._model: Any = None
        self._head: Any = None
        self._tokenizer: Any = None

    def fit(self, train: Sequence[Example], valid: Sequence[Example], budget: float | None = None) -> None:
        """Learn for as long as the budget lasts, at most ten times through everything.

        Args:
          train: what is learnt from.
          valid: what is calibrated on, the first of it.
          budget: seconds, calibration included.
        """
        import torch

        begun, seconds = time.monotonic(), budget or SECONDS
        torch.manual_seed(self.seed)
        self._codes = sorted({code for one in train for code in one.codes})
        self._open(None)
        at = {code: number for number, code in enumerate(self._codes)}
        own = [p for p in self._model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(
            [{"params": own, "lr": RATE}, {"params": self._head.parameters(), "lr": HEAD_RATE}], weight_decay=0.01
        )
        loss_of = torch.nn.BCEWithLogitsLoss(reduction="sum")
        self._model.train()
        for batch in _batches(train, self.seed):
            used = (time.monotonic() - begun) / (0.85 * seconds)
            if used >= 1:
                break
            for group, rate in zip(optimizer.param_groups, (RATE, HEAD_RATE), strict=True):
                group["lr"] = (
                    rate * min(1.0, (self.steps + 1) / 20) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * used)))
                )
            wanted = torch.zeros(len(batch), len(self._codes))
            for row, one in enumerate(batch):
                for code in one.codes:
                    wanted[row, at[code]] = 1.0
            loss = loss_of(self._logits([one.text(self.form) for one in batch]), wanted) / len(batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(own, 1.0)
            optimizer.step()
            self.steps += 1
        self._model.eval()
        asked, said = list(valid)[:VALID], list[Prediction]()
        while len(said) < len(asked) and (not said or time.monotonic() - begun < seconds):
            said += self.predict([one.text(self.form) for one in asked[len(said) : len(said) + 2 * BATCH]])
        right = [found.codes == one.codes for found, one in zip(said, asked, strict=False)]
        self.calibration = calibrate([found.probability for found in said], right)

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """The codes that are likelier than not."""
        import torch

        found: list[Prediction] = [Prediction()] * len(texts)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        with torch.inference_mode():
            for start in range(0, len(order), 2 * BATCH):
                part = order[start : start + 2 * BATCH]
                chances = torch.sigmoid(self._logits([texts[number] for number in part])).clamp(1e-4, 1 - 1e-4)
                sure = torch.log(torch.maximum(chances, 1 - chances)).sum(dim=1).exp().tolist()
                for number, row, exact in zip(part, chances.tolist(), sure, strict=True):
                    probability = self.calibration(exact)
                    found[number] = Prediction(
                        codes=tuple(code for code, chance in zip(self._codes, row, strict=True) if chance > 0.5),
                        probability=probability,
                        abstained=probability < max(self.calibration.threshold, HALF),
                        model=f"{self.name} {self.version}".strip(),
                    )
        return found

    def save(self, folder: Path) -> None:
        """Write the adapter and the outputs."""
        from safetensors.torch import save_file

        self._model.save_pretrained(folder / "adapter")
        save_file(self._head.state_dict(), str(folder / "head.safetensors"))
        state = {"kind": "encoder", "form": self.form, "base": self.base, "version": self.version, "codes": self._codes}
        write_model(folder, {**state, "steps": self.steps, "calibration": msgspec.to_builtins(self.calibration)})

    def load(self, folder: Path) -> None:
        """Become the model of a folder."""
        from safetensors.torch import load_file

        state = read_model(folder)
        self.form, self.base, self.version = state["form"], state["base"], state["version"]
        self._codes, self.steps = state["codes"], state["steps"]
        self.calibration = msgspec.convert(state["calibration"], Calibration)
        self._open(folder / "adapter")
        self._head.load_state_dict(load_file(str(folder / "head.safetensors")))
        self._model.eval()

    def _open(self, adapter: Path | None) -> None:
        need("torch", "transformers", "peft")
        import torch
        from peft import LoraConfig, PeftModel, get_peft_model
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        from assistant.knowledge.modelfolder import model_folder

        logging.set_verbosity_error()

        base = self.base or str(model_folder())
        self._tokenizer = pretrained(AutoTokenizer, base)
        model = pretrained(AutoModel, base, dtype=torch.float32)
        if adapter is None:
            config = LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=["query", "key", "value", "dense"])
            self._model = get_peft_model(model, config)
        else:
            self._model = PeftModel.from_pretrained(model, str(adapter))
        self._head = torch.nn.Linear(model.config.hidden_size, len(self._codes))
        torch.nn.init.constant_(self._head.bias, -4.0)  # most messages have none of most codes

    def _logits(self, texts: Sequence[str]) -> Any:
        told = [compact(text) for text in texts]
        read = self._tokenizer(told, truncation=True, max_length=TOKENS, padding=True, return_tensors="pt")
        states = self._model(**read).last_hidden_state
        mask = read["attention_mask"].unsqueeze(-1)
        return self._head((states * mask).sum(dim=1) / mask.sum(dim=1) * 4)


def _batches(examples: Sequence[Example], seed: int, epochs: int = 10) -> Iterator[list[Example]]:
    rng = Random(seed)  # noqa: S311 - no secret
    for _ in range(epochs):
        order = list(examples)
        rng.shuffle(order)
        for start in range(0, len(order), BATCH):
            yield order[start : start + BATCH]
