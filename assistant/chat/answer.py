"""An answer: statements with their evidence, the sources, or the reason why there is none."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from assistant.knowledge.documents import Passage
from assistant.operations.worked import Reply

Flag = Literal[
    "citation_not_retrieved",  # an id that was not in the prompt was cited; the citation was dropped
    "quote_not_in_source",  # a quoted sentence is not in its source word for word; the statement was dropped
    "number_not_in_source",  # a number of the statement is in none of its sources; the statement was dropped
    "statement_without_source",  # a statement cited nothing; it was dropped
    "orders_in_source",  # a passage tried to give orders; those sentences were not used
    "other_language",  # the evidence is in another language than the question
]


class Highlight(Struct, frozen=True, kw_only=True):
    """A sentence that carries the answer: a span of its document's text, and its words."""

    start: int
    end: int
    text: str


class Source(Struct, frozen=True, kw_only=True):
    """A passage that was found.

    Attributes:
      number: its number in the answer, from 1; None for what was looked at and not cited.
      score: what the passages of one search are ordered by.
      dense: cosine of question and passage; None where it was not reckoned.
      sparse: BM25 score of the question's words in it; None where it was not reckoned.
      by_code: whether a code of the question names it.
      highlights: the sentences of it that carry the answer.
    """

    number: int | None
    passage: Passage
    score: float
    dense: float | None = None
    sparse: float | None = None
    by_code: bool = False
    highlights: tuple[Highlight, ...] = ()


class Statement(Struct, frozen=True, kw_only=True):
    """A sentence of the answer.

    Attributes:
      text: its words, without citations.
      citations: ids of the passages that carry it.
      quoted: whether it stands word for word in its source.
      lead: words before it that are ours: which rule it is.
    """

    text: str
    citations: tuple[str, ...]
    quoted: bool
    lead: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
      question: the question as it was asked.
      understood: the question as it was searched, where an earlier one gave it its context.
      text: the answer for a reader, with [1], [2] for the sources; when abstaining, what it says instead.
      abstained: whether it does not know.
      confidence: 0..1, how sure it is that the sources answer the question.
      missing: parts of the question that the sources do not answer.
      seconds: time by step.
      worked: where it was worked out and not quoted: what was understood, the tables and the proofs.
    """

    question: str
    language: str
    text: str
    statements: tuple[Statement, ...] = ()
    sources: tuple[Source, ...] = ()
    abstained: bool = False
    confidence: float = 0.0
    flags: tuple[Flag, ...] = ()
    understood: str | None = None
    missing: tuple[str, ...] = ()
    generator: str = "extractive"
    seconds: dict[str, float] = field(default_factory=dict)
    worked: Reply | None = None

    @property
    def cited(self) -> tuple[Source, ...]:
        """The sources that the answer cites, by number."""
        return tuple(
            sorted((source for source in self.sources if source.number), key=lambda source: source.number or 0)
        )
