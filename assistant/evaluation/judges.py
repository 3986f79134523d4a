"""Judges of answers: by ids, by words, by embeddings, by a cross-encoder, by a language model (EKRAG, PermitQA).

A judge that reads words only is named lexical: it is a stand-in for entailment, not entailment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from assistant.chat.generators import Generator
from assistant.chat.prompting import Prompt
from assistant.evaluation.metrics import f1
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.sentences import texts as sentences_of
from assistant.rationale.terms import content, stem

SUPPORTED = 0.6
"""Share of a statement's words that a text has to hold for the lexical judge to call it supported."""


class Judged(Struct, frozen=True, kw_only=True):
    """What is judged.

    Attributes:
      answer: the assistant's answer.
      reference: a right answer.
      contexts: the texts that the assistant read, in their order.
      gold: the texts that hold the answer.
    """

    question: str
    answer: str
    reference: str
    contexts: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()


class Judge(Protocol):
    """Gives scores between 0 and 1, by name of the measure."""

    name: str

    def judge(self, item: Judged) -> dict[str, float]:
        """The scores."""
        ...


class EmbeddingJudge:
    """Cosines: correctness (answer, reference), relevance (answer, gold), faithfulness (answer, contexts) (EKRAG).

    Its floor is high: an answer made without any context got .717 in EKRAG. What counts is the gain over such a run.
    """

    name = "embedding"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def judge(self, item: Judged) -> dict[str, float]:
        """The cosines."""
        others = [item.reference, " ".join(item.gold), " ".join(item.contexts)]
        vectors = self._embedder.embed_passages([item.answer or " ", *[text or " " for text in others]])
        names = ("correctness", "relevance", "faithfulness")
        return {
            name: float(vectors[0] @ vectors[number]) if item.answer and text else 0.0
            for number, (name, text) in enumerate(zip(names, others, strict=True), start=1)
        }


class CrossScorer(Protocol):
    """A cross-encoder: a score between 0 and 1 for each text beside a query."""

    def pairs(self, query: str, texts: Sequence[str]) -> list[float]:
        """The scores."""
        ...


class RankingJudge:
    """The same three by a cross-encoder's sigmoid (EKRAG's RM-as-judge)."""

    name = "ranking"

    def __init__(self, scorer: CrossScorer) -> None:
        self._scorer = scorer

    def judge(self, item: Judged) -> dict[str, float]:
        """The sigmoids."""
        others = [item.reference, " ".join(item.gold), " ".join(item.contexts)]
        scores = self._scorer.pairs(item.answer, others) if item.answer else [0.0, 0.0, 0.0]
        return dict(zip(("correctness", "relevance", "faithfulness"), scores, strict=True))


class LexicalJudge:
    """RAGAS's measures with words in place of a language model.

    context precision: sum of P@k times v_k over the sum of v_k, v_k being whether context k supports a reference
    statement; context recall: share of reference statements that some context supports; faithfulness: share of the
    answer's statements that some context supports; correctness: .75 F1 of statements + .25 likeness of words.
    """

    name = "lexical"

    def __init__(self, supported: float = SUPPORTED) -> None:
        self._supported = supported

    def judge(self, item: Judged) -> dict[str, float]:
        """The scores."""
        wanted, said = sentences_of(item.reference), sentences_of(item.answer)
        useful = [any(self._holds(statement, text) for statement in wanted) for text in item.contexts]
        hits = [sum(useful[: k + 1]) / (k + 1) for k in range(len(useful)) if useful[k]]
        found = [any(self._holds(statement, text) for text in item.contexts) for statement in wanted]
        faithful = [any(self._holds(statement, text) for text in item.contexts) for statement in said]
        right = sum(self._holds(statement, item.reference) for statement in said)
        reached = sum(self._holds(statement, item.answer) for statement in wanted)
        statements = f1(right / len(said) if said else 0.0, reached / len(wanted) if wanted else 0.0)
        return {
            "context precision": sum(hits) / len(hits) if hits else 0.0,
            "context recall": sum(found) / len(found) if found else 0.0,
            "faithfulness": sum(faithful) / len(faithful) if faithful else 0.0,
            "correctness": 0.75 * statements + 0.25 * _likeness(item.answer, item.reference),
        }

    def _holds(self, statement: str, text: str) -> bool:
        asked = {stem(word) for word in content(statement)}
        there = {stem(word) for word in content(text)}
        return bool(asked) and len(asked & there) / len(asked) >= self._supported


def id_scores(shown: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Context precision and recall by ids, where the relevant passages are known."""
    useful = [key in relevant for key in shown]
    hits = [sum(useful[: k + 1]) / (k + 1) for k in range(len(useful)) if useful[k]]
    return {
        "context precision": sum(hits) / len(hits) if hits else 0.0,
        "context recall": len(set(shown) & set(relevant)) / len(relevant) if relevant else 0.0,
    }


class LanguageModelJudge:
    """A language model gives 1..levels for each measure, divided by the levels (EKRAG); its floor is 1/levels."""

    _ASKED = (
        ("correctness", "Does the answer say the same as the reference?", "reference"),
        ("relevance", "Does the answer say what the gold text says?", "gold"),
        ("faithfulness", "Is everything in the answer said by the context?", "contexts"),
    )

    def __init__(self, generator: Generator, levels: int = 5) -> None:
        self.name = f"language model {generator.name}"
        self._generator = generator
        self._levels = levels

    def judge(self, item: Judged) -> dict[str, float]:
        """The grades; a measure for which the model gives no number is left out, and its absence has to be counted."""
        scores = {}
        for name, question, field in self._ASKED:
            other = getattr(item, field)
            text = other if isinstance(other, str) else "\n".join(other)
            prompt = Prompt(
                system=f"You grade answers. Reply with one whole number from 1 (not at all) to {self._levels} (fully).",
                user=f"Question: {item.question}\nAnswer: {item.answer}\n{field.capitalize()}: {text}\n"
                f"{question}\nGrade:",
            )
            reply = "".join(self._generator.stream(prompt, 8))
            found = re.search(r"\d+", reply)
            if found and 1 <= int(found.group()) <= self._levels:
                scores[name] = int(found.group()) / self._levels
        return scores


def _likeness(a: str, b: str) -> float:
    first, second = {stem(word) for word in content(a)}, {stem(word) for word in content(b)}
    return len(first & second) / len(first | second) if first | second else 0.0
