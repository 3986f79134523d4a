"""Answers held against judges that read ids, words, vectors or language, by number of passages (EKRAG, PermitQA)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
    for count in chunks:
        varied = config.model_copy(update={"passages": count})
        assistant = Assistant(varied, index.as_index, embedder, rationale, generator, Search(index.as_index, embedder))
        scores, refused, silent = _judged(assistant, asked, index, judges)
        rows += [
            {
                "passages": count, "judge": name, **{m: mean_of(found[m]) if found.get(m) else None for m in MEASURES},
                "refused": refused / max(len(asked), 1), "judge silent": silent,
            }
            for name, found in scores.items()
        ]  # fmt: skip
        told(f"{count} passages: judged")
    table = Table(
        title=f"{len(asked)} answerable questions", keys=("passages", "judge"),
        measures=(*MEASURES, "refused", "judge silent"), rows=tuple(rows),
    )  # fmt: skip
    notes = (
        "ids: precision and recall of the passages that were shown, by their known relevance. lexical: RAGAS's "
        "formulas over words; no judge of entailment. embedding: cosines, whose floor is high: only differences count. "
        "ranking: a cross-encoder's sigmoid. Refusals are counted, not judged.",
    )
    return Report(title="Judges", command=command, tables=(table,), notes=notes)


def _judged(
    assistant: Assistant, asked: Sequence[TestQuestion], index: MemoryIndex, judges: Sequence[Judge]
) -> tuple[dict[str, dict[str, list[float]]], int, int]:
    """Scores by judge and measure, how many questions were refused, and how often a judge said nothing."""
    texts = {passage.id: passage.text for passage in index.passages}
    scores: dict[str, dict[str, list[float]]] = {"ids": {}}
    refused = silent = 0
    for question in asked:
        filters = Filters(markets=(question.market,) if question.market else None, on=question.on)
        answer = assistant.ask(question.question, filters)
        relevant = relevant_ids(question, index.passages)
        shown = [source.passage.id for source in answer.sources]
        _add(scores["ids"], id_scores(shown, relevant))
        if answer.abstained:
            refused += 1
            continue
        item = Judged(
            question=question.question,
            answer=spoken(answer),
            reference=" ".join(f"{spellings[0]}." for spellings in question.answers),
            contexts=tuple(texts[id] for id in shown),
            gold=tuple(texts[id] for id in sorted(relevant)),
        )
        for judge in judges:
            given = judge.judge(item)
            silent += not given
            _add(scores.setdefault(judge.name, {}), given)
    return scores, refused, silent


def _add(scores: dict[str, list[float]], given: dict[str, float]) -> None:
    for name, value in given.items():
        scores.setdefault(name, []).append(value)
