"""What a causal model looks at while it reads the answer: attention back to the context (study, 4.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assistant.extras import need
from assistant.rationale.choosing import Choice
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.similarity import TOP_1
from assistant.rationale.tuning import best_choice
from energycomm.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Attention = NDArray[np.float32]


class Head(Struct, frozen=True):
    """Whose attention is read: one head of one layer, or with None the mean over all."""

    layer: int | None = None
    head: int | None = None


class AttentionRationale:
    """Scores sentences by the attention that the answer's tokens pay to theirs.

    The mean attention to each token of the context is normalised to mean 0 and deviation 1, passed through tanh, so
    that one very strong token (the first, a full stop) does not decide, and averaged over the sentence. Without a known
    answer the question's tokens take its place.

    Args:
      model: folder or hub name of a causal language model, or an opened one (`model`, `tokenizer`).
      head: whose attention; `sweep` finds the best on validation data.
    """

    def __init__(
        self, model: str | tuple[Any, Any], head: Head | None = None, choice: Choice = TOP_1, *, max_tokens: int = 2048
    ) -> None:
        need("torch", "transformers")
        self._model, self._tokenizer = _open(model) if isinstance(model, str) else model
        if not self._tokenizer.is_fast:
            raise UserError("Attention needs a tokenizer that tells offsets.", "Use a model with a fast tokenizer.")
        self._model.eval()
        self.head = head or Head()
        self.choice = choice
        self._max_tokens = max_tokens
        where = f" layer {self.head.layer} head {self.head.head}" if self.head != Head() else ""
        self.name = f"attention {self._model.config.model_type}{where}"

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Mean normalised attention of every sentence, between 0 and 1."""
        return [self._one(*self._attend(item), self.head, len(item.sentences)) for item in items]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        return [self.choice(scores) for scores in self.score(items)]

    def sweep(self, items: Sequence[Question], golds: Sequence[GoldSets]) -> list[tuple[Head, Choice, float]]:
        """Every layer and head with its best rule of choice and mean IoU on these items, best first."""
        seen = [self._attend(item) for item in items]
        layers, heads = seen[0][0].shape[:2]
        places = [Head(layer, head) for layer in range(layers) for head in (*range(heads), None)] + [Head()]
        found = []
        for place in places:
            scores = [self._one(*pair, place, len(item.sentences)) for pair, item in zip(seen, items, strict=True)]
            rules = [Choice(rule="top_k", k=k, threshold=0.0) for k in (1, 2, 3)]
            rules += [Choice(threshold=0.4 + 0.02 * step) for step in range(20)]
            found.append((place, *best_choice(scores, items, golds, rules=rules)))
        return sorted(found, key=lambda row: -row[2])

    def _attend(self, item: Question) -> tuple[Attention, list[int]]:
        """Attention from the answer to each context token, (layers, heads, tokens), and each token's sentence or -1."""
        import torch

        prompt, bounds, answer_at = _prompt(item)
        # What is too long loses the end of its context, never the question and the answer.
        inputs = self._tokenizer(prompt, return_tensors="pt", return_offsets_mapping=True)
        offsets = inputs.pop("offset_mapping")[0].tolist()
        keep = _kept(len(offsets), sum(1 for start, _ in offsets if start >= bounds[-1]), self._max_tokens)
        inputs = {name: tensor[:, keep].to(self._model.device) for name, tensor in inputs.items()}
        offsets = [offsets[index] for index in keep]
        with torch.inference_mode():
            attentions = self._model(**inputs, output_attentions=True, use_cache=False).attentions
        rows = [index for index, (start, end) in enumerate(offsets) if start >= answer_at and end > start]
        columns = [index for index, (start, end) in enumerate(offsets) if end <= bounds[-1] and end > start]
        # One layer after the other: all layers of a long context together would not fit.
        stacked = torch.stack([layer[0][:, rows][:, :, columns].float().mean(dim=1) for layer in attentions])
        return stacked.cpu().numpy(), [_sentence_of(offsets[index], bounds) for index in columns]

    @staticmethod
    def _one(attention: Attention, owners: list[int], head: Head, sentences: int) -> list[float]:
        import numpy as np

        part = attention if head.layer is None else attention[head.layer : head.layer + 1]
        part = part if head.head is None else part[:, head.head : head.head + 1]
        weights = part.mean(axis=(0, 1))
        normal = np.tanh((weights - weights.mean()) / max(float(weights.std()), 1e-12))
        owner = np.asarray(owners)
        return [
            float((normal[owner == index].mean() + 1) / 2) if (owner == index).any() else 0.0
            for index in range(sentences)
        ]


def _prompt(item: Question) -> tuple[str, list[int], int]:
    """The text, the end of every sentence in it (after that of the heading, 0), and where the answer begins."""
    text, ends = "", [0]
    for sentence in item.sentences:
        text += sentence + " "
        ends.append(len(text))
    text += f"\nQuestion: {item.question}\nAnswer:" if item.question and item.answer else "\n"
    answer_at = len(text)
    return f"{text} {item.answer or item.question}", ends, answer_at


def _kept(tokens: int, tail: int, most: int) -> list[int]:
    if tokens <= most:
        return list(range(tokens))
    return [*range(max(most - tail, 0)), *range(tokens - min(tail, most), tokens)]


def _sentence_of(offset: tuple[int, int], ends: Sequence[int]) -> int:
    middle = (offset[0] + offset[1]) / 2
    return next((index for index, end in enumerate(ends[1:]) if middle <= end), -1)


def _open(model: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Only the plain implementation gives attention back.
    return AutoModelForCausalLM.from_pretrained(model, attn_implementation="eager"), AutoTokenizer.from_pretrained(
        model
    )
