"""The extractive answer: verbatim sentences chosen by the rationale model, each with its source. It invents nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from assistant.chat.answer import Flag, Highlight, Statement
from assistant.chat.confidence import asked_tokens
from assistant.chat.safety import gives_orders
from assistant.knowledge.documents import Passage
from assistant.knowledge.lexical import Bm25, tokens
from assistant.knowledge.sentences import Sentence, split
from assistant.rationale.port import Question, Rationale
from assistant.retrieval.query import Found

_WORD = re.compile(r"[^\W_]{2,}")

READ, SURE_OF_EACH = 4, 2
"""Passages, of the best that were found, of which some sentences are read in any case, and how many."""

EXAMPLE_SHARE = 0.6
"""What a sentence among examples counts beside one of the rule."""

MOST_STATEMENTS = 3
MOST_SENTENCES = 16
"""Sentences that are scored at most: what the model reads in well under a second."""

LEAST_WORDS, MOST_WORDS = 4, 60
"""Words of a sentence that may answer; what is longer is a condition spelled out, or an example."""
NEAR_BEST = 0.75
"""Share of the best sentence's score that a further one needs."""


class Evidence(Struct, frozen=True, kw_only=True):
    """A sentence that carries the answer.

    Attributes:
      score: what the sentences are ordered by.
      support: the rationale model's score, 0..1.
    """

    passage: Passage
    sentence: Sentence
    score: float
    support: float

    @property
    def highlight(self) -> Highlight:
        """Its span in the document."""
        return Highlight(start=self.sentence.start, end=self.sentence.end, text=self.sentence.text)


def choose_evidence(
    question: str, language: str, found: Sequence[Found], rationale: Rationale, bm25: Bm25
) -> tuple[list[Evidence], tuple[Flag, ...]]:
    """The sentences that answer a question best, best first.

    Args:
      question: the question.
      language: its language.
      found: the passages, best first.
      rationale: scores sentences within their passage.
      bm25: tells how rare a word is.

    Returns:
      The sentences, and what was noticed.
    """
    weights = {token: bm25.rarity(token) for token in asked_tokens(question, language)}
    pieces, flags = _worth_reading(question, found, weights)
    items = [
        Question(question=question, sentences=tuple(s.text for s in sentences), context=item.passage.context)
        for item, sentences in pieces
    ]
    supports = rationale.score(items)
    best = max((item.score for item, _ in pieces), default=1.0) or 1.0
    evidence = []
    for (item, sentences), scores in zip(pieces, supports, strict=True):
        top = max(scores, default=0.0)
        # An example shows a rule; what it says stands above it.
        part = EXAMPLE_SHARE if item.passage.headings[-1:] == ("Examples",) else 1.0
        for sentence, support in zip(sentences, scores, strict=True):
            within = support / top if top > 0 else 0.0
            score = 0.3 * support + 0.15 * within + 0.45 * _named(sentence.text, item.passage, weights)
            score = part * (score + 0.15 * item.score / best + 0.3 * item.by_code)
            evidence.append(Evidence(passage=item.passage, sentence=sentence, score=score, support=support))
    evidence.sort(key=lambda e: (-e.score, e.passage.id, e.sentence.start))
    return evidence, flags


def _worth_reading(
    question: str, found: Sequence[Found], weights: Mapping[str, float]
) -> tuple[list[tuple[Found, list[Sentence]]], tuple[Flag, ...]]:
    """What the rationale model reads: sentences that name most of what is asked, and some of each good passage."""
    flags: set[Flag] = set()
    asked = _plain(question)
    listed: list[tuple[float, int, Sentence]] = []
    for place, item in enumerate(found):
        own: list[tuple[float, Sentence]] = []
        for sentence in split(item.passage.text, item.passage.start):
            if gives_orders(sentence.text):
                flags.add("orders_in_source")
            elif _may_answer(sentence.text) and asked not in _plain(sentence.text):
                own.append((_named(sentence.text, item.passage, weights), sentence))
        own.sort(key=lambda pair: -pair[0])
        for number, (named, sentence) in enumerate(own):
            sure = 1.0 if place < READ and number < SURE_OF_EACH else 0.0
            listed.append((sure + named + 1 / (place + 3), place, sentence))
    listed.sort(key=lambda entry: (-entry[0], entry[1], entry[2].start))
    chosen: dict[int, list[Sentence]] = {}
    for _, place, sentence in listed[:MOST_SENTENCES]:
        chosen.setdefault(place, []).append(sentence)
    pieces = [(found[place], sorted(chosen[place], key=lambda sentence: sentence.start)) for place in sorted(chosen)]
    return pieces, tuple(flags)


def _may_answer(sentence: str) -> bool:
    return LEAST_WORDS <= len(_WORD.findall(sentence)) <= MOST_WORDS and "-->" not in sentence


def _named(sentence: str, passage: Passage, weights: Mapping[str, float]) -> float:
    """The share of what is asked that a sentence names, weighed by rarity; what only its titles name counts half."""
    spoken = passage.metadata.language
    words, titles = set(tokens(sentence, spoken)), set(tokens(passage.context, spoken))
    named = sum(weight for token, weight in weights.items() if token in words)
    named += 0.5 * sum(weight for token, weight in weights.items() if token in titles and token not in words)
    return named / (sum(weights.values()) or 1.0)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def compose(
    evidence: Sequence[Evidence], found: Sequence[Found], language: str
) -> tuple[tuple[Statement, ...], dict[str, list[Evidence]]]:
    """The statements of an answer: the best sentence, what goes with it in its own document, and close seconds.

    Returns:
      The statements in order, and the sentences by id of their passage.
    """
    if not evidence:
        return (), {}
    first = evidence[0]
    chosen = [first]
    rule = _rule_words(first, found)
    if rule is not None:
        chosen.append(rule)
    for item in evidence[1:]:
        if len(chosen) >= MOST_STATEMENTS:
            break
        same = item.passage.document == first.passage.document
        if rule is not None and item.passage.metadata.codes[:1] == first.passage.metadata.codes[:1]:
            continue  # the rule's words are said
        needed = NEAR_BEST * first.score if same else 0.9 * first.score
        doubled = any(item.sentence.text in other.sentence.text or other.sentence.text in item.sentence.text
                      for other in chosen)  # fmt: skip
        if item.score >= needed and not doubled:
            chosen.append(item)
    statements = []
    by_passage: dict[str, list[Evidence]] = {}
    seen_codes: set[str] = set()
    for item in chosen:
        lead = ""
        codes = item.passage.metadata.codes
        if codes and codes[0] not in seen_codes and codes[0] not in item.sentence.text:
            lead = item.passage.metadata.title
        seen_codes.update(codes[:1])
        statements.append(Statement(text=item.sentence.text, citations=(item.passage.id,), quoted=True, lead=lead))
        by_passage.setdefault(item.passage.id, []).append(item)
    return tuple(statements), by_passage


def _rule_words(first: Evidence, found: Sequence[Found]) -> Evidence | None:
    """What the rule says itself beside the sentence that was chosen of it; None when that is all or it is no rule.

    The first sentence of a rule's document is the rule in English, or its verdict in the document's language.
    """
    codes = first.passage.metadata.codes[:1]
    of_rule = [
        item.passage
        for item in found
        if codes and item.passage.metadata.codes[:1] == codes and item.passage.headings[-1:] != ("Examples",)
    ]
    for passage in sorted(of_rule, key=lambda passage: (passage.metadata.language != "en", passage.start)):
        sentence = next(iter(split(passage.text, passage.start)), None)
        if sentence is not None and sentence.text != first.sentence.text and not gives_orders(sentence.text):
            return Evidence(passage=passage, sentence=sentence, score=first.score, support=first.support)
        if sentence is not None and passage.metadata.language == first.passage.metadata.language == "en":
            return None
    return None
