"""How a language model of the verdicts is made: every choice, with the defaults that fit two cores."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from assistant.classifier.answers import LabelForm
from assistant.classifier.port import Form
from energycomm.errors import UserError

OWN = "own"
"""Name of the base that is made from nothing, with a tokenizer of our own."""


class Recipe(Struct, frozen=True, kw_only=True):
    """Every setting of a training.

    Attributes:
      base: `own`, or folder of a causal language model.
      form: how much is worked out in the text that the model reads.
      labels: how codes are written in its answers.
      hidden, layers, heads, vocabulary: of our own base.
      rank, alpha, dropout: of LoRA on another base.
      four_bit: QLoRA: the other base in 4 bits (nf4).
      checkpointing: activations are worked out twice instead of kept: less memory, more time.
      learning_rate: at its height, of AdamW; 0 takes 1.5e-3 for our own base, 2e-4 for another.
      warm_up: share of the training in which the rate rises.
      batch, accumulation: messages in a step, and steps that are added up before the weights change.
      max_tokens: of a text; longer ones are cut at the end.
      signs: of numbers only the sign is read: a fact tells what a number means, and digits are many tokens.
      judged: where a code is one token, each code of a message's kind is judged by itself too, yes or no, where the
        answer begins; whichever of the two is right more often on validation messages answers.
      epochs: passes over the messages at most.
      patience: evaluations without gain after which it stops; 0 never.
      evaluations: how many there are in a full budget.
      cards: every rule is learnt as a short message of nothing but the facts that break it, beside the real ones.
      checked: validation messages that are answered at each evaluation.
      told: share of messages whose prompt tells rules by slot: that is how a model learns to use a rule's sentence.
      seed: of weights, order and dropout.
      threads: of PyTorch; 0 leaves them as they are.
    """

    base: str = OWN
    form: Form = "facts"
    labels: LabelForm = "token"
    hidden: int = 128
    layers: int = 1
    heads: int = 4
    vocabulary: int = 4096
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    four_bit: bool = False
    checkpointing: bool = False
    learning_rate: float = 0.0
    warm_up: float = 0.05
    batch: int = 32
    accumulation: int = 1
    max_tokens: int = 96
    signs: bool = True
    judged: bool = True
    epochs: int = 100
    patience: int = 5
    evaluations: int = 8
    checked: int = 512
    cards: bool = True
    told: float = 0.1
    seed: int = 0
    threads: int = 0

    @property
    def own(self) -> bool:
        """Whether the base is made from nothing."""
        return self.base == OWN

    @property
    def judges(self) -> bool:
        """Whether codes are judged by themselves."""
        return self.judged and self.labels == "token"

    @property
    def rate(self) -> float:
        """The learning rate that is taken."""
        return self.learning_rate or (1.5e-3 if self.own else 2e-4)


def read_recipe(content: dict[str, Any]) -> Recipe:
    """A recipe from settings.

    Raises:
      UserError: a setting is unknown or of a wrong type.
    """
    unknown = sorted(set(content) - set(Recipe.__struct_fields__))
    if unknown:
        known = ", ".join(Recipe.__struct_fields__)
        raise UserError(f"{unknown[0]!r} is no setting of a training.", f"Settings: {known}.")
    try:
        return msgspec.convert(content, Recipe, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"The recipe of the training is wrong: {error}.", "See docs/classifier.md.") from None
