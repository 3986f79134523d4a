"""What a language model may write: a grammar over the JSON and the closed list of codes, or a trie of known labels.

Both answer one question, which tokens may come next. The grammar takes any sorted set of codes, however a tokenizer
cuts them; the trie takes only label sets that were seen, in the pieces that were trained, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from assistant.classifier.answers import ACCEPTED, CLOSE, OPEN, REJECTED, AnswerForm
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

    def begin(self, slots: Sequence[str] = ()) -> Writer:
        """A new answer; `slots` are the rules that its prompt tells, which it may name too."""


class _Node:
    __slots__ = ("children", "ends")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.ends = False


class LabelTrie:
    """The closed list of label sets as a trie of their tokens, each in the pieces that were trained."""

    def __init__(self, tokenizer: Any, form: AnswerForm, labels: Iterable[Sequence[str]]) -> None:
        """Build the trie.

        Args:
          tokenizer: the model's.
          form: how answers are written.
          labels: sets of codes that may be answered; accepted and every single code are always among them.
        """
        self._tokenizer, self._form = tokenizer, form
        self._labels = {(), *((code,) for code in form.codes), *(tuple(sorted(label)) for label in labels)}
        self._tries: dict[tuple[str, ...], _Node] = {}

    def begin(self, slots: Sequence[str] = ()) -> Writer:
        """A new answer."""
        return _TrieWriter(self._trie(tuple(slots)))

    def _trie(self, slots: tuple[str, ...]) -> _Node:
        if slots not in self._tries:
            root = _Node()
            # A slot may stand alone or before any known label: the new rule says nothing about the old ones.
            for before in ((), *((slot,) for slot in slots)):
                for label in self._labels:
                    self._add(root, (*before, *label))
            self._tries[slots] = root
        return self._tries[slots]

    def _add(self, node: _Node, codes: Sequence[str]) -> None:
        for piece in self._form.pieces(codes):
            for token in self._pieces(piece):
                node = node.children.setdefault(token, _Node())
        node.ends = True

    def _pieces(self, piece: str) -> list[int]:
        return encode(self._tokenizer, piece)


class _TrieWriter:
    def __init__(self, node: _Node) -> None:
        self._node = node

    def allowed(self) -> list[int]:
        return list(self._node.children)

    def take(self, token: int) -> None:
        self._node = self._node.children[token]


class Grammar:
    """The grammar of answers, compiled for a tokenizer by llguidance."""

    def __init__(self, tokenizer: Any, form: AnswerForm) -> None:
        """Compile the grammar.

        Raises:
          UserError: llguidance is missing.
        """
        need("llguidance")
        import llguidance.hf

        self._tokens = llguidance.hf.from_tokenizer(tokenizer)
        self._form = form
        self._matchers: dict[tuple[str, ...], Any] = {}

    def begin(self, slots: Sequence[str] = ()) -> Writer:
        """A new answer."""
        from llguidance import LLMatcher

        key = tuple(slots)
        if key not in self._matchers:
            text = LLMatcher.grammar_from_lark(lark(self._form, key))
            matcher = LLMatcher(self._tokens, text)
            if matcher.is_error():
                raise AssertionError(f"the grammar of answers is wrong: {matcher.get_error()}")
            matcher.consume_tokens(self._tokens.tokenize_str(OPEN))
            self._matchers[key] = matcher
        return _GrammarWriter(self._matchers[key].deep_copy(), self._tokens.vocab_size)


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


def lark(form: AnswerForm, slots: Sequence[str] = ()) -> str:
    """The grammar in Lark's words: accepted without codes, or rejected with codes in their order, each once.

    Args:
      form: how codes are written, and which there are.
      slots: rules told in the prompt; they come before the codes.

    One rule for each code says: this code and then any later ones, or any later ones. So no answer repeats a code.
    """
    names = [*slots, *(form.names[code] for code in form.codes)]
    lines = [f"start: {_quoted(OPEN)} ({_quoted(ACCEPTED)} | {_quoted(REJECTED)} code0 {_quoted(CLOSE)})"]
    for number, name in enumerate(names):
        later = number + 1 < len(names)
        more = f" ({_quoted(SEPARATOR)} code{number + 1})? | code{number + 1}" if later else ""
        lines.append(f"code{number}: {_quoted(name)}{more}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
