"""What the language model writes: the JSON object of the answer, cut into pieces where a choice is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from assistant.classifier.port import SEPARATOR

LabelForm: TypeAlias = Literal["token", "code", "words"]
Decoding: TypeAlias = Literal["labels", "grammar", "judged"]
"""How an answer is found: written under the trie of labels, or under a grammar; or each code judged by itself."""
LABEL_FORMS: tuple[LabelForm, ...] = ("token", "code", "words")
"""How a code is written: as one token of its own; as it is, in the tokenizer's pieces; as its rule's title."""

OPEN = '{"class": "'
ACCEPTED = 'accepted", "error_code": ""}'
REJECTED = 'rejected", "error_code": "'
CLOSE = '"}'
PIECES = (OPEN, ACCEPTED, REJECTED, SEPARATOR, CLOSE)
"""Everything of an answer that is no code. The comment is added by code: a model can only get its numbers wrong."""

SLOTS = tuple(f"<rule-{number}>" for number in range(1, 5))
"""Names for rules that are told in the prompt: a model learns to use them without ever having seen their codes."""


class AnswerForm(Struct, frozen=True, kw_only=True):
    """How answers are written and read.

    Attributes:
      form: how codes are written.
      names: code -> what is written for it; closed: nothing else may be answered.
    """

    form: LabelForm
    names: dict[str, str]

    @property
    def codes(self) -> list[str]:
        """The closed list of codes, sorted: the order in which an answer names them."""
        return sorted(self.names)

    def pieces(self, codes: Sequence[str]) -> list[str]:
        """The answer after `OPEN`, in pieces: each is tokenised by itself, so that the tokens of a code never change.

        Args:
          codes: those of the answer; empty for accepted. A slot of the prompt stands for itself, before the codes.

        Raises:
          KeyError: a code is not of the list.
        """
        if not codes:
            return [ACCEPTED]
        found = [REJECTED]
        for number, code in enumerate(sorted(codes, key=_order)):
            found += ([SEPARATOR] if number else []) + [code if code in SLOTS else self.names[code]]
        return [*found, CLOSE]

    def read(self, text: str) -> tuple[str, ...]:
        """The codes of a written answer, sorted.

        Raises:
          ValueError: it is no answer of this form.
        """
        try:
            told = msgspec.json.decode(text, type=dict[str, str])
            named = told["error_code"].split(SEPARATOR) if told["error_code"] else []
            known = {name: code for code, name in self.names.items()} | {slot: slot for slot in SLOTS}
            codes = tuple(sorted(known[name] for name in named))
        except (msgspec.MsgspecError, KeyError) as error:
            raise ValueError(f"{text[:80]!r} is no answer: {error}") from None
        if told.get("class") != ("rejected" if codes else "accepted") or len(set(codes)) < len(codes):
            raise ValueError(f"{text[:80]!r} contradicts itself")
        return codes


def answer_form(form: LabelForm, codes: Iterable[str], titles: Mapping[str, str] | None = None) -> AnswerForm:
    """The form for a list of codes.

    Args:
      form: how codes are written.
      codes: the closed list.
      titles: code -> title of its rule, for `words`; a code without one is written as it is.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for code in sorted(codes):
        name = code
        if form == "words" and titles and code in titles:
            # A comma would end the name, a quotation mark the string; equal titles are told apart by the code.
            name = " ".join("".join(c if c.isalnum() else " " for c in titles[code]).lower().split())
            name = f"{name} {code}" if name in taken else name
        taken.add(name)
        names[code] = name
    return AnswerForm(form=form, names=names)


def _order(code: str) -> tuple[bool, str]:
    return code not in SLOTS, code
