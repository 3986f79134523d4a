"""Words of one language and what stands for them in another, learned from texts that say the same in both.

Every rule gives its verdict in English and in French: some hundred pairs of sentences, from which IBM's model 1 (Brown
et al., 1993) learns that `cadran` is a `register`. A French question can so be compared with English pages by their
words, and not by nearness of meaning alone.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from assistant.knowledge.concepts import CONCEPT_MARK
from assistant.knowledge.documents import Passage
from assistant.knowledge.lexical import CODE_MARK, tokens
from assistant.knowledge.sentences import split

ROUNDS = 8
LEAST_TIMES, LEAST_PROBABILITY, MOST_WORDS = 2, 0.2, 3
"""A pair of words counts when they met twice, each gives the other with this probability, and the best three."""

Pair = tuple[Sequence[str], Sequence[str]]


class Lexicon:
    """For a token of a language, the tokens of another that stand for it, with weights 0..1.

    Args:
      words: (language, other language) -> token -> the other's tokens with their weights.
    """

    def __init__(self, words: dict[tuple[str, str], dict[str, tuple[tuple[str, float], ...]]] | None = None) -> None:
        self._words = words or {}

    def others(self, token: str, language: str | None, other: str | None) -> tuple[tuple[str, float], ...]:
        """Tokens of the other language that stand for a token; none where nothing was learned."""
        return self._words.get((language or "", other or ""), {}).get(token, ())

    @property
    def size(self) -> int:
        """How many tokens have others."""
        return sum(len(words) for words in self._words.values())

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Lexicon:
        """What the rules' verdicts teach, which stand in several languages under one code."""
        spoken: dict[str, dict[str, list[str]]] = defaultdict(dict)
        for passage in passages:
            code, language = next(iter(passage.metadata.codes), None), passage.metadata.language
            if code is None or language is None or language in spoken[code]:
                continue
            for sentence in split(passage.text, passage.start):
                _, colon, words = sentence.text.partition(": ")
                if colon and code in sentence.text:
                    spoken[code][language] = _plain_tokens(words, language)
                    break
        met: dict[tuple[str, str], list[Pair]] = defaultdict(list)
        for by_language in spoken.values():
            for one, other in ((a, b) for a in by_language for b in by_language if a != b):
                met[one, other].append((by_language[one], by_language[other]))
        given = {languages: _model_one(pairs) for languages, pairs in met.items()}
        return cls({languages: _sure(given, languages) for languages in given})

    def save(self, path: Path) -> None:
        """Write it to a file."""
        content = [[one, other, words] for (one, other), words in sorted(self._words.items())]
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """Read what `save` wrote; empty where there is no file."""
        if not path.is_file():
            return cls()
        return cls(
            {
                (one, other): {token: tuple((o, float(w)) for o, w in found) for token, found in words.items()}
                for one, other, words in json.loads(path.read_text(encoding="utf-8"))
            }
        )


def _plain_tokens(text: str, language: str) -> list[str]:
    return [token for token in tokens(text, language) if token[0] not in (CODE_MARK, CONCEPT_MARK)]


def _model_one(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """How probably each token of the first side stands for one of the second: p[first][second]."""
    met: dict[str, Counter[str]] = defaultdict(Counter)
    for first, second in pairs:
        for token in set(first):
            met[token].update(set(second))
    probability = {
        token: {other: 1.0 for other, times in others.items() if times >= LEAST_TIMES} for token, others in met.items()
    }
    for _ in range(ROUNDS):
        counted: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for first, second in pairs:
            for other in second:
                shares = {token: probability[token].get(other, 0.0) for token in set(first)}
                total = sum(shares.values())
                for token, share in shares.items():
                    if share > 0:
                        counted[token][other] += share / total
        probability = {
            token: {other: value / sum(others.values()) for other, value in others.items()}
            for token, others in counted.items()
        }
        probability.update({token: {} for token in met if token not in probability})
    return probability


def _sure(
    given: dict[tuple[str, str], dict[str, dict[str, float]]], languages: tuple[str, str]
) -> dict[str, tuple[tuple[str, float], ...]]:
    """The pairs that hold in both directions, weighed by the geometric mean of the two probabilities."""
    there, back = given[languages], given[languages[1], languages[0]]
    found = {}
    for token, others in there.items():
        both = {other: (value * back.get(other, {}).get(token, 0.0)) ** 0.5 for other, value in others.items()}
        best = sorted((pair for pair in both.items() if pair[1] >= LEAST_PROBABILITY), key=lambda pair: -pair[1])
        if best:
            found[token] = tuple((other, round(weight, 3)) for other, weight in best[:MOST_WORDS])
    return found
