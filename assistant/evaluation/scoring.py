"""What one answer is worth: the wanted statements, the cited passages, the promises kept (EquinorQA's measures)."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Collection, Sequence

from msgspec import Struct

from assistant.chat.answer import Answer
from assistant.evaluation.forms import TestQuestion
from assistant.evaluation.metrics import precision_recall
from assistant.knowledge.documents import Document

_ARTICLES = re.compile(r"\b(a|an|the|le|la|les|l|un|une|de|het|een)\b")
_ID = re.compile(r"\[\s*([0-9a-z]{8}(?:\s*[,;]\s*[0-9a-z]{8})*)\s*\]", re.IGNORECASE)


class Outcome(Struct, frozen=True, kw_only=True):
    """One question, answered.

    Attributes:
      said: share of the wanted statements of which an accepted spelling is a substring of the answer (EM recall).
      said_normalised: the same without case, punctuation, accents and articles (ALCE's exact presence).
      right: whether all were said, in the normalised form.
      precision, recall: of cited passages against relevant = known relevant ∩ shown; 0 where nothing was cited or
        nothing relevant was shown.
      retrieved: whether a relevant passage was among those shown.
      invented: ids that were cited and not shown, those that the check dropped of a generator's text counted too.
      escaped: the same in the answer that the reader got.
      unchecked: `said` of a generator's text before it was checked; of the answer itself where there is none.
      misquoted: highlighted sentences that do not stand in their source.
      refused: whether the assistant abstained.
    """

    question: str
    kind: str
    language: str
    said: float
    said_normalised: float
    right: bool
    precision: float
    recall: float
    retrieved: bool
    invented: int
    escaped: int
    unchecked: float
    misquoted: int
    refused: bool
    confidence: float
    seconds: float
    answer: str


def spoken(answer: Answer) -> str:
    """What the answer itself says: statements, or what was worked out; the list of what was looked at says nothing."""
    if answer.worked is not None:
        return answer.text
    return "\n".join(f"{statement.lead} {statement.text}" for statement in answer.statements)


def score(
    question: TestQuestion,
    answer: Answer,
    relevant: Collection[str],
    documents: Sequence[Document | None],
    seconds: float,
    raw: str | None = None,
) -> Outcome:
    """Score an answer.

    Args:
      question: what was asked, with the wanted statements.
      answer: the answer.
      relevant: ids of all relevant passages of the corpus.
      documents: for each cited source its document, in which its highlights have to stand; None where it is gone.
      seconds: from question to answer.
      raw: what a generator wrote before it was checked, to count invented ids; None for the extractive answer.
    """
    text = spoken(answer)
    shown = {source.passage.id for source in answer.sources}
    cited = {source.passage.id for source in answer.cited}
    given = cited | {id for statement in answer.statements for id in statement.citations}
    claimed = set(given)
    if raw is not None:
        claimed |= {id.strip().lower() for match in _ID.finditer(raw) for id in re.split(r"[,;]", match.group(1))}
    precision, recall = precision_recall(cited, set(relevant) & shown)
    normalised = normal(text)
    exact = [any(spelling in text for spelling in spellings) for spellings in question.answers]
    loose = [any(normal(spelling) in normalised for spelling in spellings) for spellings in question.answers]
    return Outcome(
        question=question.id, kind=question.kind, language=question.language,
        said=sum(exact) / len(exact) if exact else 0.0,
        said_normalised=sum(loose) / len(loose) if loose else 0.0,
        right=bool(loose) and all(loose),
        precision=precision, recall=recall, retrieved=bool(set(relevant) & shown),
        invented=len(claimed - shown), escaped=len(given - shown),
        unchecked=sum(any(s in raw for s in spellings) for spellings in question.answers) / len(exact)
        if raw is not None and exact else (sum(exact) / len(exact) if exact else 0.0),
        misquoted=misquoted(answer, documents),
        refused=answer.abstained, confidence=answer.confidence, seconds=seconds, answer=text,
    )  # fmt: skip


def misquoted(answer: Answer, documents: Sequence[Document | None]) -> int:
    """Highlights that do not stand at their place in the document, and quotes that are in no cited passage."""
    wrong = 0
    for source, document in zip(answer.cited, documents, strict=True):
        for highlight in source.highlights:
            inside = source.passage.start <= highlight.start <= highlight.end <= source.passage.end
            if document is None or not inside or document.text[highlight.start : highlight.end] != highlight.text:
                wrong += 1
    texts = {source.passage.id: source.passage.text for source in answer.sources}
    for statement in answer.statements:
        if answer.generator == "extractive" and not any(
            statement.text in texts.get(id, "") for id in statement.citations
        ):
            wrong += 1
    return wrong


def normal(text: str) -> str:
    """Without case, accents, punctuation, articles and double spaces."""
    folded = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    plain = "".join(" " if c in string.punctuation + "«»“”’‘–—…" else c for c in folded)
    return " ".join(_ARTICLES.sub(" ", plain).split())
