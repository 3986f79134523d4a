"""Answers held against judges that read ids, words, vectors or language, by number of passages (EKRAG, PermitQA)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import structs

from assistant.chat.assistant import Assistant
from assistant.chat.generators import Generator
from assistant.config import AssistantConfig
from assistant.evaluation.corpus import MemoryIndex, relevant_ids
from assistant.evaluation.forms import TestQuestion
from assistant.evaluation.intervals import mean_of
from assistant.evaluation.judges import Judge, Judged, id_scores
from assistant.evaluation.report import Cell, Report, Table
from assistant.evaluation.scoring import spoken
from assistant.knowledge.embedding import Embedder
from assistant.rationale.port import Rationale
from assistant.retrieval.query import Filters
from assistant.retrieval.search import Search

MEASURES = ("correctness", "relevance", "faithfulness", "context precision", "context recall")


def evaluate(
    questions: Sequence[TestQuestion],
    index: MemoryIndex,
    embedder: Embedder,
    rationale: Rationale,
    config: AssistantConfig,
    judges: Sequence[Judge],
    *,
    chunks: Iterable[int] = (1, 3, 5, 10),
    generator: Generator | None = None,
    command: str = "",
    told: Callable[[str], None] = lambda line: None,
) -> Report:
    """Ask every answerable question with so many passages, and let every judge score the answers.

    A refusal is classed before scoring and never judged: judges differ on it more than on anything else (PermitQA).

    Args:
      chunks: numbers of passages that are read.
    """
    asked = [question for question in questions if question.kind != "unanswerable"]
    rows: list[dict[str, Cell]] = []
    search = Search(index.as_index, embedder, interaction_weight=config.interaction)
    for count in chunks:
        varied = config.model_copy(update={"passages": count})
        assistant = Assistant(varied, index.as_index, embedder, rationale, generator, search)
        items, by_ids = _answered(assistant, asked, index)
        told(f"{count} passages: {len(items)} of {len(asked)} answered")
        refused = 1 - len(items) / max(len(asked), 1)
        rows.append({"passages": count, "judge": "ids", "answers": "own", **_means(by_ids), "refused": refused})
        held = {"own": items, "of another question": exchanged(items)}
        for judge in judges if items else ():
            for name, judged in held.items():
                scores, silent = _judged(judge, judged)
                rows.append(
                    {"passages": count, "judge": judge.name, "answers": name, **_means(scores), "refused": refused,
                     "judge silent": silent}
                )  # fmt: skip
            told(f"{count} passages: judged by {judge.name}")
    table = Table(
        title=f"{len(asked)} answerable questions", keys=("passages", "judge", "answers"),
        measures=(*MEASURES, "refused", "judge silent"), rows=tuple(rows),
    )  # fmt: skip
    notes = (
        "ids: precision and recall of the passages that were shown, by their known relevance. lexical: RAGAS's "
        "formulas over words; no judge of entailment. embedding: cosines, whose floor is high: only differences count. "
        "ranking: a cross-encoder's sigmoid. Refusals are counted, not judged. of another question: the same answers, "
        "each held against the next question; a judge is worth the difference.",
    )
    return Report(title="Judges", command=command, tables=(table,), notes=notes)


def exchanged(items: Sequence[Judged]) -> list[Judged]:
    """Each question with the answer of the next one: what a judge gives these is its floor."""
    shifted = [*items[1:], *items[:1]]
    return [structs.replace(item, answer=other.answer) for item, other in zip(items, shifted, strict=True)]


def _answered(
    assistant: Assistant, asked: Sequence[TestQuestion], index: MemoryIndex
) -> tuple[list[Judged], dict[str, list[float]]]:
    """What is to be judged, and the scores by ids of all questions, those that were refused too."""
    texts = {passage.id: passage.text for passage in index.passages}
    items: list[Judged] = []
    by_ids: dict[str, list[float]] = {}
    for question in asked:
        filters = Filters(markets=(question.market,) if question.market else None, on=question.on)
        answer = assistant.ask(question.question, filters)
        relevant = relevant_ids(question, index.passages)
        shown = [source.passage.id for source in answer.sources]
        _add(by_ids, id_scores(shown, relevant))
        if not answer.abstained:
            items.append(
                Judged(
                    question=question.question,
                    answer=spoken(answer),
                    reference=" ".join(f"{spellings[0]}." for spellings in question.answers),
                    contexts=tuple(texts[id] for id in shown),
                    gold=tuple(texts[id] for id in sorted(relevant)),
                )
            )
    return items, by_ids


def _judged(judge: Judge, items: Sequence[Judged]) -> tuple[dict[str, list[float]], int]:
    """Scores by measure, and how often the judge gave none for a measure."""
    given = [judge.judge(item) for item in items]
    names = {name for scores in given for name in scores}
    scores: dict[str, list[float]] = {}
    for found in given:
        _add(scores, found)
    return scores, sum(max(len(names), 1) - len(found) for found in given)


def _means(scores: Mapping[str, Sequence[float]]) -> dict[str, Cell]:
    return {measure: mean_of(scores[measure]) if scores.get(measure) else None for measure in MEASURES}


def _add(scores: dict[str, list[float]], given: dict[str, float]) -> None:
    for name, value in given.items():
        scores.setdefault(name, []).append(value)
