"""Writing answers in batches: only allowed tokens, the likeliest at each choice, and how likely the whole is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from assistant.classifier.constraint import Constraint, Writer

LONGEST = 200
"""Tokens after which an answer is given up: no grammar of ours lets one grow so long."""

SELDOM = 4.0
"""Taken off the logit of a code that is judged by itself: most messages have none of most codes."""


class Written(Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
      tokens: what was written.
      probability: product over its choices, each among the allowed tokens only.
    """

    tokens: tuple[int, ...]
    probability: float


class Prompt(Struct, frozen=True, kw_only=True):
    """What a model reads before it answers.

    Attributes:
      tokens: ids, the opening of the answer included.
      names: what the answer may name.
    """

    tokens: Sequence[int]
    names: tuple[str, ...]


def write_answers(
    model: Any, prompts: Sequence[Prompt], constraint: Constraint, *, pad: int, batch: int = 32
) -> list[Written]:
    """Answer prompts under a constraint, greedily.

    Args:
      model: a causal language model of transformers, in evaluation mode.
      prompts: what to answer.
      constraint: what may be written.
      pad: id of the padding token.
      batch: prompts at a time; those of like length go together.

    Returns:
      One answer for each prompt, in their order.
    """
    found: list[Written | None] = [None] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number].tokens))
    for at in range(0, len(order), batch):
        part = order[at : at + batch]
        for number, written in zip(part, _write(model, [prompts[n] for n in part], constraint, pad), strict=True):
            found[number] = written
    return [written for written in found if written is not None]


class _Row:
    """One answer under way: forced tokens wait to be read by the model, choices wait for its logits."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.tokens: list[int] = []
        self.waiting: list[int] = []
        self.probability = 1.0
        self.allowed = writer.allowed()

    def choose(self, logits: Any) -> None:
        """Take the likeliest allowed token, and all that are forced after it."""
        import torch

        odds = torch.softmax(logits[self.allowed].float(), dim=-1)
        best = int(odds.argmax())
        self.probability *= float(odds[best])
        self._take(self.allowed[best])
        while len(self.allowed) == 1:
            self._take(self.allowed[0])

    def _take(self, token: int) -> None:
        self.writer.take(token)
        self.tokens.append(token)
        self.waiting.append(token)
        self.allowed = self.writer.allowed()

    @property
    def done(self) -> bool:
        return not self.allowed


def _write(model: Any, prompts: Sequence[Prompt], constraint: Constraint, pad: int) -> list[Written]:
    import torch

    device = model.device
    rows = [_Row(constraint.begin(prompt.names)) for prompt in prompts]
    ids, mask = padded([prompt.tokens for prompt in prompts], pad)
    ids, mask = ids.to(device), mask.to(device)
    with torch.inference_mode():
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        out = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1)
        live, cache, next_position = list(range(len(rows))), out.past_key_values, mask.sum(-1, keepdim=True)
        for number, row in enumerate(rows):
            row.choose(out.logits[number, -1])
        for _ in range(LONGEST):
            kept = [place for place, number in enumerate(live) if not rows[number].done]
            if not kept:
                break
            if len(kept) < len(live):
                chosen = torch.tensor(kept, device=device)
                cache.batch_select_indices(chosen)
                mask, next_position = mask[chosen], next_position[chosen]
                live = [live[place] for place in kept]
            step = torch.tensor([[rows[number].waiting.pop(0)] for number in live], device=device)
            mask = torch.cat([mask, mask.new_ones(len(live), 1)], dim=1)
            out = model(
                input_ids=step, attention_mask=mask, position_ids=next_position, past_key_values=cache, use_cache=True
            )
            next_position = next_position + 1
            for place, number in enumerate(live):
                # While forced tokens wait, the model has not yet read what it wrote.
                if not rows[number].waiting:
                    rows[number].choose(out.logits[place, -1])
    return [Written(tokens=tuple(row.tokens), probability=row.probability) for row in rows]


def judge(
    model: Any, prompts: Sequence[Sequence[int]], codes: Sequence[Sequence[int]], *, pad: int, batch: int = 64
) -> list[list[float]]:
    """How likely each code is, judged by itself where the answer begins: the prompt is read once, nothing is written.

    Args:
      model: a causal language model that learnt so, in evaluation mode.
      prompts: token ids.
      codes: of each prompt, the tokens of the codes that it may have.
      pad: id of the padding token.
      batch: prompts at a time; those of like length go together.
    """
    import torch

    found: list[list[float]] = [[] for _ in prompts]
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    with torch.inference_mode():
        for at in range(0, len(order), batch):
            part = order[at : at + batch]
            ids, mask = (tensor.to(model.device) for tensor in padded([prompts[number] for number in part], pad))
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
            out = model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False, logits_to_keep=1)
            for number, logits in zip(part, out.logits[:, -1].float(), strict=True):
                found[number] = torch.sigmoid(logits[list(codes[number])] - SELDOM).tolist()
    return found


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    """Token ids as one tensor, padded on the left, and the mask of what is no padding."""
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, longest - len(row) :] = torch.tensor(list(row), dtype=torch.long)
        mask[number, longest - len(row) :] = 1
    return ids, mask
