"""A tokenizer of our own: pieces learnt from serialised messages, one token for a code and for a part of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assistant.classifier.answers import PIECES, SLOTS
from assistant.extras import need

PAD, START, ANSWER = "<pad>", "<s>", "<answer>"
MARKS = (PAD, START, ANSWER)
"""Padding, the beginning of a text, and where the answer begins."""

PIECES_PATTERN = r" ?[\w.~(),-]+=(?!=)| ?(?=[^\s=]*[A-Za-z(])\S+| ?\d{1,3}| ?[^\s\d]+|\s+"
"""A piece is the name of a field with its sign, a fact or a code whole, up to three digits of a number, or signs."""


def train_tokenizer(texts: Iterable[str], codes: Sequence[str] = (), size: int = 2048) -> Any:
    """Learn a byte-pair encoding from texts.

    Args:
      texts: serialised messages, of the training part only.
      codes: error codes that get a token of their own; none when codes are written in pieces.
      size: tokens in all, without those of the codes.

    Returns:
      A Hugging Face tokenizer; any text can be written with it, byte by byte if need be.

    Raises:
      UserError: packages are missing.
    """
    need("tokenizers", "transformers")
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.BPE())
    split: Any = pre_tokenizers.Split(Regex(PIECES_PATTERN), behavior="isolated")
    bare.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(MARKS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, pad_token=PAD, bos_token=START, eos_token=ANSWER)
    tokenizer.add_tokens(own_tokens(codes))
    return tokenizer


def own_tokens(codes: Sequence[str]) -> list[str]:
    """What is one token each, whatever stands beside it: the parts of an answer, the slots, the codes."""
    return [*PIECES[:3], PIECES[4], *SLOTS, *codes]


def add_codes(tokenizer: Any, codes: Iterable[str]) -> int:
    """Give new codes a token each; returns how many were new."""
    known = tokenizer.get_added_vocab()
    added: int = tokenizer.add_tokens([code for code in codes if code not in known])
    return added


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a text, nothing put around it."""
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids
