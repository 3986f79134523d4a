"""What the shipped rationale model learns from: public sets, with contexts that do not answer beside those that do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from assistant.evaluation import public
from assistant.evaluation.forms import RationaleItem
from assistant.knowledge.embedding import Embedder
from assistant.rationale.choosing import Choice
from assistant.rationale.fitting import Lesson, fit
from assistant.rationale.light import Light
from assistant.rationale.port import Question

SHIPPED_CHOICE = Choice(rule="threshold", threshold=0.5, k=3)
"""The rule that cross-validation chose on WiCE; on sets with one gold sentence it loses less than 2 points."""

SOURCES = (
    "SciFact, training claims and rationales (claims and annotations CC BY 4.0, abstracts ODC-By 1.0)",
    "WiCE, development claims (CC BY-SA)",
    "QED, half of the development set (CC BY-SA 3.0)",
    "XQuAD-R, English and German (CC BY-SA 4.0)",
)
LICENCE = "CC BY-SA 4.0"


def lesson(name: str, items: Sequence[RationaleItem], weight: float = 1.0) -> Lesson:
    """A set as something to learn from."""
    return Lesson(
        name=name, items=[item.asked for item in items], golds=[item.gold_sets for item in items], weight=weight
    )


def mismatched(items: Sequence[RationaleItem], embedder: Embedder) -> list[RationaleItem]:
    """Each question beside the context, of another question, that resembles it most: no sentence carries the answer.

    That is what a search brings along when the sources do not say; a model that never saw it is sure of everything.
    """
    contexts = list(dict.fromkeys(item.sentences for item in items))
    vectors = np.stack([embedder.embed_passages(list(sentences)).mean(axis=0) for sentences in contexts])
    own = {sentences: number for number, sentences in enumerate(contexts)}
    questions = embedder.embed_queries([item.question or item.answer or "" for item in items])
    found = []
    for item, question in zip(items, questions, strict=True):
        likeness = vectors @ question
        likeness[own[item.sentences]] = -np.inf
        found.append(
            RationaleItem(
                id=f"{item.id}/other", question=item.question, answer=item.answer, gold=(),
                sentences=contexts[int(likeness.argmax())],
            )
        )  # fmt: skip
    return found


def train(folder: Path, embedder: Embedder, measured: Sequence[str] = ()) -> Light:
    """Fit the model that is shipped.

    Args:
      folder: the public sets (`assistant.evaluation.public`).
      embedder: the embedder that it will be used with.
      measured: figures for its card.
    """
    scifact, wice = public.scifact_rationales(folder), public.wice(folder)
    qed, qed_answered = public.qed(folder, with_answer=False), public.qed(folder, with_answer=True)
    english, german = public.xquad_rationales(folder), public.xquad_rationales(folder, "de", "en")
    lessons = [
        lesson("SciFact", scifact),
        lesson("WiCE", wice),
        lesson("QED", qed),
        lesson("QED with answers", qed_answered, 0.5),
        lesson("XQuAD-R", english),
        lesson("XQuAD-R, other contexts", mismatched(english, embedder), 0.5),
        lesson("QED, other contexts", mismatched(qed, embedder), 0.5),
    ]
    across = [
        lesson("XQuAD-R, German questions", german, 2.0),
        lesson("XQuAD-R, German questions, other contexts", mismatched(german, embedder), 1.0),
        lesson("XQuAD-R", english),
        lesson("QED", qed),
    ]
    card = {"trained_on": SOURCES, "licence": LICENCE, "measured": tuple(measured)}
    return fit(lessons, across, embedder, SHIPPED_CHOICE, card)


def questions(items: Sequence[RationaleItem]) -> list[Question]:
    """The items as a method sees them."""
    return [item.asked for item in items]
