"""What a causal model looks at while it reads the answer: attention back to the context (study, 4.3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assistant.extras import need
from assistant.rationale.choosing import Choice
from assistant.rationale.measures import GoldSets
from assistant.rationale.port import Question
from assistant.rationale.similarity import TOP_1
from assistant.rationale.tuning import best_choice
from assistant.trust import pretrained
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
      model: folder of a causal language model, or an opened one (`model`, `tokenizer`).
      head: whose attention; `sweep` finds the best on validation data.
    """

    def __init__(
        self, model: str | tuple[Any, Any], head: Head | None = None, choice: Choice = TOP_1, *, max_tokens: int = 2048
    ) -> None:
        need("torch", "transformers")
        whole, self._tokenizer = _open(model) if isinstance(model, str) else model
        # The layer that would say the next word is not needed.
        self._model = whole.base_model
        self._last: tuple[tuple[int, ...], Any] = ((), None)
        if not self._tokenizer.is_fast:
            raise UserError("Attention needs a tokenizer that gives offsets.", "Use a model with a fast tokenizer.")
        self._model.eval()
        self._max_tokens = max_tokens
        self.family = f"attention {self._model.config.model_type}"
        self.look_at(head or Head(), choice)

    def look_at(self, head: Head, choice: Choice) -> None:
        """Read the attention of another head from now on, and choose by another rule."""
        self.head, self.choice = head, choice
        layer = "" if head.layer is None else f" layer {head.layer}"
        self.name = self.family + layer + ("" if head.head is None else f" head {head.head}")

    def score(self, items: Sequence[Question]) -> list[list[float]]:
        """Mean normalised attention of every sentence, between 0 and 1."""
        return [
            self._one(*seen, self.head, len(item.sentences))
            for seen, item in zip(self._attend_all(items), items, strict=True)
        ]

    def choose(self, items: Sequence[Question]) -> list[tuple[int, ...]]:
        """The chosen sentences of every item."""
        return [
            self.choice(scores, [len(sentence) for sentence in item.sentences])
            for scores, item in zip(self.score(items), items, strict=True)
        ]

    def sweep(self, items: Sequence[Question], golds: Sequence[GoldSets]) -> list[tuple[Head, Choice, float]]:
        """Every layer and head with its best rule of choice and mean IoU on these items, best first.

        Each item is read once: one pass of the model gives all heads.
        """
        seen = self._attend_all(items)
        layers, heads = seen[0][0].shape[:2]
        places = [Head(layer, head) for layer in range(layers) for head in (*range(heads), None)] + [Head()]
        found = []
        for place in places:
            scores = [self._one(*pair, place, len(item.sentences)) for pair, item in zip(seen, items, strict=True)]
            rules = [Choice(rule="top_k", k=k, threshold=0.0) for k in (1, 2, 3)]
            rules += [Choice(threshold=0.4 + 0.02 * step) for step in range(20)]
            found.append((place, *best_choice(scores, items, golds, rules=rules)))
        return sorted(found, key=lambda row: -row[2])

    def _attend_all(self, items: Sequence[Question]) -> list[tuple[Attention, list[int]]]:
        # Items with the same context one after the other: it is read once for all of them.
        found: dict[int, tuple[Attention, list[int]]] = {}
        for number in sorted(range(len(items)), key=lambda number: items[number].sentences):
            found[number] = self._attend(items[number])
        self._last = ((), None)
        return [found[number] for number in range(len(items))]

    def _attend(self, item: Question) -> tuple[Attention, list[int]]:
        """Attention from the answer to each context token, (layers, heads, tokens), and each token's sentence or -1."""
        import torch

        prompt, bounds, answer_at = _prompt(item)
        # What is too long loses the end of its context, never the question and the answer.
        found = self._tokenizer(prompt, return_offsets_mapping=True)
        tail = sum(1 for start, _ in found["offset_mapping"] if start >= bounds[-1])
        keep = _kept(len(found["input_ids"]), tail, self._max_tokens)
        ids = [found["input_ids"][index] for index in keep]
        offsets = [found["offset_mapping"][index] for index in keep]
        context = len(ids) - min(tail, len(ids))
        rows = [index - context for index, (start, end) in enumerate(offsets) if start >= answer_at and end > start]
        columns = [index for index, (start, end) in enumerate(offsets[:context]) if end > start]
        layers = self._read(tuple(ids[:context]), ids[context:])
        wide = [_aligned(layer[0][:, rows].float().mean(dim=1), len(ids))[:, columns] for layer in layers]
        return torch.stack(wide).cpu().numpy(), [_sentence_of(offsets[index], bounds) for index in columns]

    def _read(self, context: tuple[int, ...], rest: list[int]) -> Sequence[Any]:
        """The attention, layer by layer, of the tokens after a context to everything before them.

        The context is read by the quick implementation, which keeps no attention: what its own tokens look at is not
        asked for, and would take most of the memory.
        """
        import torch

        with torch.inference_mode():
            if self._last[0] != context or self._last[1] is None:
                self._model.set_attn_implementation("sdpa")
                inputs = torch.tensor([context], device=self._model.device)
                cache = self._model(input_ids=inputs, use_cache=True).past_key_values if context else None
                self._last = (context, cache)
            # Only the plain implementation gives attention back.
            self._model.set_attn_implementation("eager")
            attentions: Sequence[Any] = self._model(
                input_ids=torch.tensor([rest], device=self._model.device),
                past_key_values=deepcopy(self._last[1]),
                use_cache=True,
                output_attentions=True,
            ).attentions
            return attentions

    @staticmethod
    def _one(attention: Attention, owners: list[int], head: Head, sentences: int) -> list[float]:
        import numpy as np

        if not owners:
            return [0.0] * sentences
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


def _aligned(weights: Any, tokens: int) -> Any:
    """Attention over all tokens: a layer with a sliding window gives that to its last ones only."""
    import torch

    return torch.nn.functional.pad(weights, (tokens - weights.shape[-1], 0))


def _open(model: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    try:
        return pretrained(AutoModel, model), pretrained(AutoTokenizer, model)
    except (OSError, ValueError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"The model {model} cannot be opened: {line}", "Name the folder of a model.") from None
