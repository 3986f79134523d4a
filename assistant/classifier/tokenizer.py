"""A tokenizer of our own: words of serialised messages, one token for a code and for a part of an answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from assistant.classifier.answers import PIECES, SLOTS
from assistant.extras import need

PAD, START, ANSWER = "<pad>", "<s>", "<answer>"
MARKS = (PAD, START, ANSWER)
"""Padding, the beginning of a text, and where the answer begins."""

PIECES_PATTERN = r" ?\S+|\s+"
"""Words with the blank before them: most of those of our texts are one token."""

_NUMBER = r"(-?\d[\d.]*(?:e[+-]?\d+)?)d?"
_SPAN = re.compile(rf"^{_NUMBER}(?:\.\.{_NUMBER})?$")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d$")
_AGO = re.compile(r"^(\w+/.*)/-?\d+d$")
LEAST = 3
"""Texts that a word has to be in to become one token."""


def compact(text: str) -> str:
    """A serialised message with the signs of its numbers in their place, without the days of earlier messages.

    What a number means to a rule stands in the facts; no number comes twice, and its digits are tokens that cost time.
    """
    return " ".join(_compacted(word) for word in text.split(" "))


def _compacted(word: str) -> str:
    name, equals, value = word.partition("=")
    found = _SPAN.match(value) if equals else None
    if found:
        low, high = _sign(found[1]), _sign(found[2] or found[1])
        return f"{name}={low}{high if high != low else ''}"
    if equals and _DAY.match(value):
        return f"{name}=+"
    ago = _AGO.match(word)
    return ago[1] if ago else word


def _sign(number: str) -> str:
    return "-" if number.startswith("-") else "+" if re.search("[1-9]", number.partition("e")[0]) else "0"


def train_tokenizer(texts: Iterable[str], codes: Sequence[str] = (), size: int = 2048) -> Any:
    """Learn pieces from texts: their frequent words whole, and a byte-pair encoding for all other words.

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

    texts = list(texts)
    pieces = max(300, size // 4)
    bare = Tokenizer(models.BPE())
    split: Any = pre_tokenizers.Split(Regex(PIECES_PATTERN), behavior="isolated")
    bare.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    bare.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=pieces, special_tokens=list(MARKS), initial_alphabet=alphabet, show_progress=False
    )
    bare.train_from_iterator(texts, trainer)
    learnt = json.loads(bare.to_str())["model"]
    vocabulary: dict[str, int] = learnt["vocab"]
    for word in _frequent(texts)[: max(0, size - pieces)]:
        for written, _ in pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(word):
            vocabulary.setdefault(written, len(vocabulary))
    # A word that is in the vocabulary is taken whole, without any merge that leads to it.
    bare.model = models.BPE(vocabulary, [tuple(pair) for pair in learnt["merges"]], ignore_merges=True)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, pad_token=PAD, bos_token=START, eos_token=ANSWER)
    tokenizer.add_tokens(own_tokens(codes))
    return tokenizer


def _frequent(texts: Sequence[str]) -> list[str]:
    """Words of several texts as they stand in them, the most frequent first."""
    seen: Counter[str] = Counter()
    for text in texts:
        first, *others = text.split(" ")
        seen.update({first, *(f" {word}" for word in others)})
    return [word for word, count in sorted(seen.items(), key=lambda pair: (-pair[1], pair[0])) if count >= LEAST]


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
