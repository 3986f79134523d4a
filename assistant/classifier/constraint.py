"""What a language model may write: a grammar over the JSON and the closed list of codes, or a trie of known labels.

Both answer one question, which tokens may come next. The grammar takes any sorted set of codes, however a tokenizer
cuts it; the trie takes the same answers in the pieces that were trained, and costs next to nothing: it scores labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from assistant.classifier.answers import ACCEPTED, CLOSE, OPEN, REJECTED
from assistant.classifier.port import SEPARATOR
from assistant.classifier.tokenizer import encode
from assistant.extras import need


class Writer(Protocol):
    """One answer while it is written, after `OPEN`."""

    def allowed(self) -> list[int]:
        """Tokens that may come next; empty when the answer is whole."""

    def take(self, token: int) -> None:
        """Write a token, one of the allowed."""


class Constraint(Protocol):
    """Makes writers: one for each answer."""

    def begin(self, names: tuple[str, ...]) -> Writer:
        """A new answer that may name these codes, written as they are, in this order, each once."""


class _Node:
    __slots__ = ("children", "ends")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.ends: int | None = None


class LabelTrie:
    """The closed list of labels as a trie of their tokens, each in the pieces that were trained."""

    def __init__(self, tokenizer: Any) -> None:
        """Prepare for a tokenizer."""
        self._tokenizer = tokenizer
        self._starts: dict[tuple[str, ...], _Labels] = {}

    def begin(self, names: tuple[str, ...]) -> Writer:
        """A new answer."""
        if names not in self._starts:
            self._starts[names] = _Labels(self._tokenizer, names)
        return _TrieWriter(self._starts[names])


class _Labels:
    """The tries of one list of names: where an answer begins, the names after each name, and what follows a name."""

    def __init__(self, tokenizer: Any, names: tuple[str, ...]) -> None:
        self._names = [encode(tokenizer, name) for name in names]
        self._after: dict[int, _Node] = {}
        self.begin = _trie([encode(tokenizer, ACCEPTED), *([encode(tokenizer, REJECTED)] if names else [])])
        self.follow = _trie([encode(tokenizer, CLOSE), encode(tokenizer, SEPARATOR)])
        self.last = _trie([encode(tokenizer, CLOSE)])

    def after(self, number: int) -> _Node:
        """The names that come after one, -1 before the first."""
        if number not in self._after:
            self._after[number] = _trie(self._names[number + 1 :], number + 1)
        return self._after[number]

    def following(self, number: int) -> _Node:
        """What may stand after a name."""
        return self.follow if number + 1 < len(self._names) else self.last


class _TrieWriter:
    """Walks through the tries: beginning, name, what follows it, name, ..."""

    def __init__(self, labels: _Labels) -> None:
        self._labels, self._node = labels, labels.begin
        self._part, self._number = "begin", -1

    def allowed(self) -> list[int]:
        found = list(self._node.children)
        if self._part == "name" and self._node.ends is not None:  # the name may be whole, or go on as a longer one
            found += self._labels.following(self._node.ends).children
        return found

    def take(self, token: int) -> None:
        if token in self._node.children:
            self._node = self._node.children[token]
        else:
            assert self._node.ends is not None, "the token is not allowed here"
            self._number, self._part = self._node.ends, "follow"
            self._node = self._labels.following(self._number).children[token]
        if self._part != "name" and not self._node.children and self._node.ends == 1:
            self._part, self._node = "name", self._labels.after(self._number)


def _trie(rows: Sequence[Sequence[int]], first: int = 0) -> _Node:
    root = _Node()
    for number, row in enumerate(rows, first):
        node = root
        for token in row:
            node = node.children.setdefault(token, _Node())
        node.ends = number
    return root


def allowed_of(constraint: Constraint, names: tuple[str, ...], answer: Sequence[int]) -> list[list[int]]:
    """What may be written at each token of an answer.

    Args:
      constraint: what may be written.
      names: what the answer may name.
      answer: its tokens after `OPEN`.
    """
    writer, found = constraint.begin(names), []
    for token in answer:
        found.append(writer.allowed())
        writer.take(token)
    return found


class Grammar:
    """The grammar of answers, compiled for a tokenizer by llguidance."""

    def __init__(self, tokenizer: Any) -> None:
        """Prepare for a tokenizer.

        Raises:
          UserError: llguidance is missing.
        """
        need("llguidance")
        import llguidance.hf

        self._tokens = llguidance.hf.from_tokenizer(tokenizer)
        self._matchers: dict[tuple[str, ...], Any] = {}

    def begin(self, names: tuple[str, ...]) -> Writer:
        """A new answer."""
        from llguidance import LLMatcher

        if names not in self._matchers:
            matcher = LLMatcher(self._tokens, LLMatcher.grammar_from_lark(lark(names)))
            if matcher.is_error():
                raise AssertionError(f"the grammar of answers is wrong: {matcher.get_error()}")
            matcher.consume_tokens(self._tokens.tokenize_str(OPEN))
            self._matchers[names] = matcher
        return _GrammarWriter(self._matchers[names].deep_copy(), self._tokens.vocab_size)


class _GrammarWriter:
    def __init__(self, matcher: Any, size: int) -> None:
        self._matcher, self._size = matcher, size

    def allowed(self) -> list[int]:
        import numpy

        if self._matcher.is_stopped() or self._matcher.is_accepting():
            return []
        mask = numpy.frombuffer(self._matcher.compute_bitmask(), dtype=numpy.uint8)
        found: list[int] = numpy.flatnonzero(numpy.unpackbits(mask, bitorder="little")[: self._size]).tolist()
        return found

    def take(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            raise AssertionError(f"token {token} is not of the grammar: {self._matcher.get_error()}")


def lark(names: Sequence[str]) -> str:
    """The grammar in Lark's words: accepted without codes, or rejected with names in their order, each once.

    Args:
      names: what may be named.

    One rule for each code says: this code and then any later ones, or any later ones. So no answer repeats a code.
    """
    refused = f" | {_quoted(REJECTED)} code0 {_quoted(CLOSE)}" if names else ""
    lines = [f"start: {_quoted(OPEN)} ({_quoted(ACCEPTED)}{refused})"]
    for number, name in enumerate(names):
        later = number + 1 < len(names)
        more = f" ({_quoted(SEPARATOR)} code{number + 1})? | code{number + 1}" if later else ""
        lines.append(f"code{number}: {_quoted(name)}{more}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
