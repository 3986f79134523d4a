"""Texts with something wrong with them: fields in another order, the history missing."""

from __future__ import annotations

from random import Random

SECTIONS = ("facts", "deltas", "fields", "history", "before")
_PAST = ("history.", "previous.")


def sections(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The head of a text, and its sections by name."""
    head, *parts = text.split(" | ")
    words = head.split()
    found: dict[str, list[str]] = {}
    for part in parts:
        name, *own = part.split()
        found[name] = own
    return words, found


def joined(head: list[str], parts: dict[str, list[str]]) -> str:
    """A text of its head and sections."""
    return " | ".join([" ".join(head), *(" ".join([name, *words]) for name, words in parts.items())])


def shuffled(text: str, seed: int = 1) -> str:
    """A text with the words of every section in another order; the head stays."""
    rng = Random(f"{seed} {text}")  # noqa: S311 - no secret
    head, parts = sections(text)
    for words in parts.values():
        rng.shuffle(words)
    return joined(head, parts)


def without_history(text: str) -> str:
    """A text as it would be of an access point of which nothing is known."""
    head, parts = sections(text)
    kept = {
        name: [word for word in words if not any(past in word for past in _PAST)]
        for name, words in parts.items()
        if name not in ("history", "before")
    }
    return joined(head, {**kept, "history": [], "before": ["nothing"]})


def shortened(text: str, share: float = 0.5) -> str:
    """The first part of a text, as if its budget were smaller; the head always stays."""
    head, parts = sections(text)
    words = text.split()
    kept = max(len(head), round(len(words) * share))
    return " ".join(words[:kept]) if parts else text
