"""Parts of a set, each measured by what was fitted on the others, with no text on both sides."""

from __future__ import annotations

import random
from collections.abc import Sequence

from assistant.rationale.port import Question

FOLDS = 5
"""Folds of an evaluation."""


def folds_of(items: Sequence[Question], folds: int = FOLDS, seed: int = 0) -> list[int]:
    """The fold of every item; items that share a question and answer, or a context (transitively), are together.

    Args:
      items: contexts with what is asked.
      folds: how many parts, of about the same size.
      seed: of the order in which they are dealt out.
    """
    owner = list(range(len(items)))

    def root(number: int) -> int:
        while owner[number] != number:
            owner[number] = owner[owner[number]]
            number = owner[number]
        return number

    seen: dict[tuple[str, str], int] = {}
    for number, item in enumerate(items):
        for key in (("asked", f"{item.question}|{item.answer}"), ("context", "\n".join(item.sentences))):
            owner[root(number)] = root(seen.setdefault(key, number))
    groups: dict[int, list[int]] = {}
    for number in range(len(items)):
        groups.setdefault(root(number), []).append(number)
    order = list(groups.values())
    random.Random(seed).shuffle(order)  # noqa: S311 - folds, not secrets
    sizes = [0] * folds
    place = [0] * len(items)
    for group in sorted(order, key=len, reverse=True):
        fold = min(range(folds), key=lambda n: sizes[n])
        sizes[fold] += len(group)
        for number in group:
            place[number] = fold
    return place
