"""Prompts: files with a few holes, filled with passages in the order that the configuration asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Literal

from msgspec import Struct

from assistant.chat.safety import as_data
from assistant.chat.words import name_of, say
from assistant.knowledge.documents import Passage

Order = Literal["ranking", "reversed", "best_last"]

EXAMPLE_ID = "a1b2x34d"


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt for chat models (system and user), and the same as one text for models that only go on writing.

    Attributes:
      continued: whether a chat model too shall only go on writing: small ones take the last line of examples for a
        question to them.
    """

    system: str
    user: str
    continued: bool = False

    @property
    def text(self) -> str:
        """Both as one text."""
        return f"{self.system}\n{self.user}"


def answer_prompt(
    question: str, language: str, passages: Sequence[Passage], *, examples: int = 2, order: Order = "ranking"
) -> Prompt:
    """The prompt of an answer.

    Args:
      question: the question.
      language: language of the answer.
      passages: the passages, best first.
      examples: how many examples go before, 0..2.
      order: ranking, the best first; reversed, the best at the end; best_last, only the best moves there.
    """
    refusal = say(language, "unknown")
    system = _file("system").format(refusal=refusal, language=name_of(language, "en"), example_id=EXAMPLE_ID)
    shown = [_file(f"example{number}").replace("{refusal}", refusal) for number in range(1, examples + 1)]
    pieces = "\n".join(f"[{passage.id}] {_one_line(passage)}" for passage in ordered(passages, order))
    user = _file("question").replace("{question}", " ".join(question.split())).replace("{passages}", pieces)
    return Prompt(system=system, user="\n".join([*shown, user]).rstrip("\n"))


def hypothetical_prompt(question: str) -> Prompt:
    """The prompt of a hypothetical answer, for HyDE."""
    return Prompt(system="", user=_file("hyde").replace("{question}", " ".join(question.split())).rstrip("\n"))


def draft_prompt(
    type_: str, meaning: str, text: str, *, examples: Sequence[tuple[str, str]] = (), picked: Sequence[str] = (),
    opening: str = "",
) -> Prompt:  # fmt: skip
    """The prompt of a test question on a text.

    Args:
      type_: the type of the question.
      meaning: what that type is, in a sentence.
      text: what is asked about.
      examples: texts with a question on each (PermitQA's hybrid prompt).
      picked: questions that people picked, without their texts.
      opening: the first word of the question, with which the model goes on.
    """
    system = _file("draft").replace("{type}", type_).replace("{meaning}", meaning).strip()
    shown = [f"Text: {' '.join(said.split())}\nQuestion: {asked}\n" for said, asked in examples]
    if picked:
        shown.insert(0, "Questions that people liked:\n" + "".join(f"- {question}\n" for question in picked))
    user = "\n".join([*shown, f"Text: {' '.join(as_data(text).split())}\nQuestion: {opening}".rstrip()])
    return Prompt(system=system, user=user, continued=True)


def ordered(passages: Sequence[Passage], order: Order) -> list[Passage]:
    """Passages in the order of the prompt."""
    if order == "reversed":
        return list(reversed(passages))
    if order == "best_last":
        return [*passages[1:], *passages[:1]]
    return list(passages)


def _one_line(passage: Passage) -> str:
    context = as_data(passage.context).replace("\n", " / ")
    text = " ".join(as_data(passage.text).split())
    return f"({context}) {text}" if context else text


@lru_cache(maxsize=16)
def _file(name: str) -> str:
    return resources.files("assistant.chat").joinpath("prompts", f"{name}.txt").read_text("utf-8")
