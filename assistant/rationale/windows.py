"""What the sequence classifier reads: a sentence between its neighbours, answer and question (study, chapter 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from assistant.rationale.port import Question

MARK = "<|>"


class Window(Struct, frozen=True):
    """The token ids of one window, with the segment of each where the model tells segments apart."""

    ids: list[int]
    segments: list[int] | None = None

    def __len__(self) -> int:
        return len(self.ids)


def window(item: Question, index: int, before: int | None = None, after: int | None = None) -> tuple[str, str]:
    """The two texts of a pair: previous, marked and next sentence; answer and question.

    Args:
      item: the context and what is asked.
      index: which sentence is marked.
      before: how many characters of the previous sentence are read, its last ones; all when None.
      after: how many of the next one, its first ones.
    """
    previous = item.sentences[index - 1] if index else ""
    following = item.sentences[index + 1] if index + 1 < len(item.sentences) else ""
    previous = previous if before is None else previous[len(previous) - before :]
    following = following if after is None else following[:after]
    first = f"{previous} {MARK} {item.sentences[index]} {MARK} {following}".strip()
    return first, f"{item.answer or ''} {item.question}".strip()


def read(tokenizer: Any, items: Sequence[Question], max_tokens: int) -> list[list[Window]]:
    """The windows of every sentence of every item, each text tokenised once.

    A window that is too long first loses the far ends of the neighbours, then words of the marked sentence; the
    question stays, unless it is itself longer than the rest.
    """
    max_tokens = min(max_tokens, tokenizer.model_max_length)
    cut = _Cut(tokenizer, items, max_tokens)
    pairs = [
        window(item, index, *cut.neighbours(item, index)) for item in items for index in range(len(item.sentences))
    ]
    if not pairs:
        return [[] for _ in items]
    found = tokenizer(
        [first for first, _ in pairs], [second for _, second in pairs], truncation="longest_first",
        max_length=max_tokens,
    )  # fmt: skip
    segments = found.get("token_type_ids") or [None] * len(pairs)
    windows = iter([Window(ids, kinds) for ids, kinds in zip(found["input_ids"], segments, strict=True)])
    return [[next(windows) for _ in item.sentences] for item in items]


class _Cut:
    """How much of a sentence's neighbours fits beside it."""

    def __init__(self, tokenizer: Any, items: Sequence[Question], max_tokens: int) -> None:
        sentences = list(dict.fromkeys(sentence for item in items for sentence in item.sentences))
        found = tokenizer(sentences, add_special_tokens=False, return_offsets_mapping=True) if sentences else {}
        self._offsets: dict[str, list[tuple[int, int]]] = dict(
            zip(sentences, found.get("offset_mapping", ()), strict=True)
        )
        asked = list(dict.fromkeys(_asked(item) for item in items))
        counted = tokenizer([*asked, MARK], add_special_tokens=False)["input_ids"]
        self._asked = {text: len(ids) for text, ids in zip(asked, counted, strict=False)}
        self._room = max_tokens - tokenizer.num_special_tokens_to_add(pair=True) - 2 * len(counted[-1])

    def neighbours(self, item: Question, index: int) -> tuple[int | None, int | None]:
        """Characters of the previous and of the next sentence; None where the whole fits."""
        before = self._offsets[item.sentences[index - 1]] if index else []
        after = self._offsets[item.sentences[index + 1]] if index + 1 < len(item.sentences) else []
        room = max(self._room - self._asked[_asked(item)] - len(self._offsets[item.sentences[index]]), 0)
        if len(before) + len(after) <= room:
            return None, None
        half = room // 2
        left = min(len(before), max(half, room - len(after)))
        right = min(len(after), room - left)
        whole = len(item.sentences[index - 1])
        return (
            None if left == len(before) else whole - before[-left][0] if left else 0,
            None if right == len(after) else after[right - 1][1] if right else 0,
        )


def batches(windows: Sequence[Window], size: int) -> Iterator[list[int]]:
    """Numbers of windows of like length together, so that hardly anything is padded; the longest first."""
    order = sorted(range(len(windows)), key=lambda number: -len(windows[number]))
    for at in range(0, len(order), size):
        yield order[at : at + size]


def padded(windows: Sequence[Window], pad: int, device: Any) -> dict[str, Any]:
    """Windows as the inputs of a model, padded to the longest of them."""
    import torch

    longest = max(len(one) for one in windows)

    def tensor(rows: Sequence[Sequence[int]], filler: int) -> Any:
        return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows], device=device)

    inputs = {
        "input_ids": tensor([one.ids for one in windows], pad),
        "attention_mask": tensor([[1] * len(one) for one in windows], 0),
    }
    if windows[0].segments is not None:
        inputs["token_type_ids"] = tensor([one.segments or [] for one in windows], 0)
    return inputs


def _asked(item: Question) -> str:
    return f"{item.answer or ''} {item.question}".strip()
