"""Drafts of test questions: what a question is asked about, chosen by code, and what of a model's reply is kept.

PermitQA lets one large model write question, answer and proof. A small model makes up all three. Here the proof is a
piece of the passage from the start, so that it stands there word for word, and the model has only to ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct

from assistant.chat.citations import numbers_hold
from assistant.chat.composer import row_in_words, whole
from assistant.chat.safety import gives_orders
from assistant.chat.surroundings import ROW
from assistant.knowledge.documents import Passage
from assistant.knowledge.language import detect
from assistant.knowledge.sentences import Sentence, split
from assistant.rationale.terms import content, stem, words
from assistant.retrieval.asking import plain

Type = Literal["closed", "open", "comparison", "evaluation", "recall", "process", "rhetorical"]
TYPES: tuple[Type, ...] = get_args(Type)

MEANING: dict[Type, str] = {
    "closed": "It is answered by yes or no.",
    "open": "It asks for an explanation.",
    "comparison": "It compares two things that the text names.",
    "evaluation": "It asks why something is good, needed or a fault.",
    "recall": "It asks for one fact: a name, a number, a date.",
    "process": "It asks how something is done, or what happens when.",
    "rhetorical": "It makes the reader think of what the text claims.",
}
"""What a type of question is, as a prompt says it."""

Fault = Literal[
    "no question", "too long", "other language", "not of its type", "leans on its text", "another subject",
    "number or name not in the text", "an example again", "asked before",
]  # fmt: skip
"""Why a reply is refused."""

LEAST_WORDS, MOST_WORDS = 6, 40
"""Words of a sentence that can be asked about."""

GAP = "[…]"
"""What stands in a rule's comment for a value of the message."""

LONGEST_QUESTION = 30

NEIGHBOURS = 2
"""Sentences that a question of a type that goes over several is asked about."""

LONG, SUMMARY = 15, 5
"""Sentences above which a text is summarised for these types, and the sentences of such a summary (hybrid chunk)."""

OVER_SEVERAL: frozenset[Type] = frozenset(("process", "evaluation", "comparison"))

SHARED, LEAST_SHARED = 0.6, 2
"""Share of a question's words that its text has to hold, and how many of them the proof itself."""

MOST_BORROWED = 2
"""Words of an example's text, and not of its own, with which a question is the example's."""

_LEANS = re.compile(
    r"(?i)\b(?:(?:the|this|that|above|given|following) (?:text|passage|sentence|table|paragraph|statement|example)|"
    r"(?:le|ce|cette|la) (?:texte|passage|phrase|tableau)|according to|mentioned|described above|ci-dessus)\b"
)
_ANAPHOR = re.compile(
    r"(?i)^(?:it|its|this|that|these|those|they|he|she|both|such|il|elle|ils|elles|cela|ce|cette|ces)\b"
)
_ASKS = r"(?:what|which|who|whom|whose|when|where|why|how|in which|at what|at which|to what|to whom|by what|from which|"
_ASKS += r"of what|until when|under which|under what|on which|for whom|qu|que|quel|quelle|quels|quelles|qui|quand|où|"
_ASKS += r"pourquoi|comment|combien|à quel|à quelle|dans quel|dans quelle|de quoi|de quel|par quel)"
_YES_NO = (
    r"(?:is|are|was|were|does|do|did|can|could|may|might|must|should|shall|will|would|has|have|est-ce|peut-|doit-)"
)
_FORMS: dict[Type, re.Pattern[str]] = {
    "closed": re.compile(rf"(?i)^(?:{_YES_NO}\b|.*\b\w+-(?:t-)?(?:il|elle|ils|elles|on)\b)"),
    "open": re.compile(rf"(?i)^{_ASKS}\b"),
    "comparison": re.compile(
        r"(?i)\b(?:differ\w*|compar\w*|than|between|both|same|unlike|rather|or|différence|entre|même|que)\b"
    ),
    "evaluation": re.compile(rf"(?i)^(?:why|how|what|pourquoi|comment|en quoi|à quoi|{_YES_NO})\b"),
    "recall": re.compile(rf"(?i)^{_ASKS}\b"),
    "process": re.compile(r"(?i)^(?:how|what happens|what is done|what must|what has|when|after|comment|que)\b"),
    "rhetorical": re.compile(rf"(?i)^(?:{_ASKS}|{_YES_NO}|isn't|aren't|doesn't|n'est-)\b"),
}
_VERB = re.compile(r"\b(is|are|may|must|can|has|have)\b")
_FIGURE = re.compile(
    r"(?i)\b(?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten|twelve|thirteen|fourteen)\s+[a-z]{3,}s\b"
)
_OPENINGS: dict[Type, tuple[str, ...]] = {
    "closed": ("Does",),
    "open": ("What", "Why"),
    "comparison": ("What is the difference between", "How do"),
    "evaluation": ("Why",),
    "recall": ("Which", "What"),
    "process": ("What happens", "How"),
    "rhetorical": ("What would", "Who would"),
}
_LABEL = re.compile(r"(?i)^(?:-\s*)?(?:good example|bad example|applies|does not apply|demanded|when)\s*:")
_NAME = re.compile(r"\b(?:[A-Z]{2,}[A-Z0-9_-]*|[A-Z]+\d[A-Z0-9_-]*|[A-Z][a-z]+)\b")


class Draft(Struct, frozen=True, kw_only=True):
    """A question that nobody has looked at yet.

    Attributes:
      proof: sentences or rows of the passage that carry the answer, word for word, each on a line of its own.
      fault: why it was refused; None for one that people shall look at.
    """

    id: str
    type: Type
    question: str
    answer: str
    proof: str
    passage: str
    address: str
    language: str = "en"
    fault: Fault | None = None


class Piece(Struct, frozen=True, kw_only=True):
    """What a question is asked about.

    Attributes:
      proof: sentences or rows of the passage, word for word, each on a line of its own.
      shown: the same as a model reads it: a table's row with the names of its columns.
    """

    proof: str
    shown: str


def pieces(passage: Passage, type_: Type, count: int) -> list[Piece]:
    """The pieces of a passage that say most, as many as are asked for at most.

    Args:
      passage: where to look.
      type_: types that go over several sentences get neighbouring ones.
      count: how many at most.
    """
    language = passage.metadata.language or "en"
    sentences = split(passage.text)
    # Every rule has the same rows of facts.
    stated = [s for s in sentences if not (passage.metadata.codes and ROW in s.text)]
    usable = [sentence for sentence in stated if _usable(sentence.text)]
    chosen: list[tuple[Sentence, ...]] = [(sentence,) for sentence in usable]
    if type_ in OVER_SEVERAL and len(sentences) > LONG and len(usable) > SUMMARY:
        told = sorted(sorted(usable, key=_said)[-SUMMARY:], key=lambda sentence: sentence.start)
        chosen = [tuple(told)]
    elif type_ in OVER_SEVERAL:
        chosen = _runs(usable, passage.text) or chosen
    found = []
    for part in sorted(chosen, key=lambda part: -sum(map(_said, part)))[:count]:
        lines = [sentence.text for sentence in part]
        shown = [row_in_words(line, passage.context, language) if ROW in line else line for line in lines]
        found.append(Piece(proof="\n".join(lines), shown=" ".join(line.removeprefix("- ") for line in shown)))
    return found


def _said(sentence: Sentence) -> int:
    """How much a sentence says: its different words that carry meaning."""
    return len({stem(word) for word in content(sentence.text)})


def _usable(sentence: str) -> bool:
    fits = LEAST_WORDS <= len(words(sentence)) <= MOST_WORDS
    speaks = whole(sentence) and not gives_orders(sentence) and not _ANAPHOR.search(sentence)
    # Comments whose values only a message gives, formulas, and where a rule comes from are nothing to ask about.
    told = GAP not in sentence and not sentence.startswith("Source" + ROW) and not _LABEL.search(sentence)
    return fits and speaks and told


def _runs(usable: Sequence[Sentence], text: str) -> list[tuple[Sentence, ...]]:
    """Neighbouring sentences between which only white space stands."""
    runs = [tuple(usable[place : place + NEIGHBOURS]) for place in range(len(usable) - NEIGHBOURS + 1)]
    return [run for run in runs if not any(text[a.end : b.start].strip() for a, b in pairwise(run))]


def opening(piece: Piece, type_: Type, language: str, number: int) -> str:
    """The first word of a question on a piece: a small model goes on where it would not begin.

    Args:
      piece: what is asked about.
      type_: the type of the question.
      language: its language; others than English begin as the model likes.
      number: the number of the question: one type begins in several ways.
    """
    if language != "en":
        return ""
    if type_ == "closed":
        verb = _VERB.search(piece.shown)
        return verb.group(1).capitalize() if verb else "Does"
    if type_ == "recall" and _FIGURE.search(piece.shown):
        return "How many"
    words_ = _OPENINGS[type_]
    return words_[number % len(words_)]


def asked_in(reply: str, first: str = "") -> str:
    """The question of a model's reply: its first line with words up to the question mark, without label and quotes.

    Args:
      reply: what the model wrote.
      first: the word with which its question was begun.
    """
    for line in reply.splitlines():
        words_ = re.sub(r"(?i)^\W*(?:question|q)?\s*\d*\s*[:.)]\s*", "", line.strip()).strip(" \"'“”«»*`")
        if words_:
            begun = words_ if words_.casefold().startswith(first.casefold()) else f"{first} {words_}"
            question, mark, _ = " ".join(begun.split()).partition("?")
            return question.rstrip() + mark
    return ""


def fault_of(
    question: str,
    piece: Piece,
    passage: Passage,
    type_: Type,
    samples: Collection[str] = (),
    texts: Collection[str] = (),
) -> Fault | None:
    """Why a question is not worth anybody's time; None when it may be looked at.

    Args:
      question: what the model asks.
      piece: what it was to ask about.
      passage: where that stands.
      type_: the type that was asked for.
      samples: the questions that were shown to it.
      texts: the texts of those.
    """
    source = f"{passage.context}\n{piece.shown}"
    language = passage.metadata.language or "en"
    if not question.endswith("?") or len(words(question)) < 3 or question.count("?") > 1:
        return "no question"
    if len(words(question)) > LONGEST_QUESTION:
        return "too long"
    if detect(question, language) != language:
        return "other language"
    if plain(question) in {plain(sample) for sample in samples}:
        return "an example again"
    if not _FORMS[type_].search(question):
        return "not of its type"
    if _LEANS.search(question):
        return "leans on its text"
    if not numbers_hold(question, [source]) or not _names_hold(question, source):
        return "number or name not in the text"
    asked = {stem(word) for word in content(question)}
    there, proof = ({stem(word) for word in content(text)} for text in (source, piece.shown))
    if len(asked & {stem(word) for text in texts for word in content(text)} - there) >= MOST_BORROWED:
        return "an example again"
    if len(asked & there) < SHARED * len(asked) or len(asked & proof) < min(LEAST_SHARED, len(proof)):
        return "another subject"
    return None


def _names_hold(question: str, source: str) -> bool:
    """Whether what is written like a name in a question, its first word apart, stands in the source."""
    there = source.casefold()
    return all(match.group().casefold() in there for match in _NAME.finditer(question) if match.start())
