"""Answers measured over a grid: retrieval, cut-off, order, examples, length (EquinorQA's grid), by kind of question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Literal

from msgspec import Struct, ValidationError, convert

from assistant.chat.assistant import Assistant
from assistant.chat.generators import Generator
from assistant.config import AssistantConfig
from assistant.evaluation.corpus import relevant_ids
from assistant.evaluation.forms import TestQuestion
from assistant.evaluation.intervals import mean_of
from assistant.evaluation.report import Cell, Report, Table
from assistant.evaluation.scoring import Outcome, score
from assistant.knowledge.embedding import Embedder
from assistant.knowledge.index import Index
from assistant.operations.house import House
from assistant.rationale.port import Rationale
from assistant.retrieval.query import Filters, Method
from energycomm.errors import UserError

Order = Literal["ranking", "reversed", "best_last"]

MEASURES = (
    "accuracy", "EM recall", "a right citation", "citation precision", "citation recall", "precision given retrieved",
    "recall given retrieved", "retrieved", "answered", "EM recall unchecked", "invented ids", "misquoted", "seconds",
)  # fmt: skip


NOTES = (
    "accuracy: every expected statement is in the answer, normalised as in ALCE; EM recall: share of statements, "
    "exact substring as in EquinorQA. Citations are scored against the relevant passages that were shown; an "
    "empty set scores 0; a right citation: at least one cited passage is relevant (a rule's sentence stands in "
    "its page, in two languages, and in the list of codes, so that recall of all of them is low by nature). "
    "EM recall unchecked, invented ids: of what a generator wrote, before the check. "
    "refused: unanswerable questions to which the assistant said that it does not know."
)


class Setting(Struct, frozen=True, kw_only=True):
    """One cell: how passages are found, how many are shown, and how a generator is asked."""

    method: Method = "weighted"
    passages: int = 8
    order: Order = "ranking"
    examples: int = 2
    length: int = 256


def grid(*, generator: bool, full: bool = False) -> list[Setting]:
    """EquinorQA's grid; order, examples and length only where a generator reads a prompt.

    Args:
      generator: whether a generator words the answers.
      full: all combinations; else one factor at a time around the default.
    """
    methods: tuple[Method, ...] = ("sparse", "dense", "hybrid", "weighted")
    cuts = (3, 5, 10)
    if not generator:
        return [Setting(method=method, passages=cut) for method, cut in product(methods, cuts)]
    orders: tuple[Order, ...] = ("ranking", "reversed", "best_last")
    if full:
        return [
            Setting(method=method, passages=cut, order=order, examples=examples, length=length)
            for method, cut, order, examples, length in product(methods, cuts, orders, (0, 1, 2), (16, 32, 64))
        ]
    base = Setting(passages=5, length=64)
    varied = [Setting(method=method, passages=cut, length=64) for method, cut in product(methods, cuts)]
    varied += [Setting(passages=5, length=64, order=order) for order in orders]
    varied += [Setting(passages=5, length=64, examples=count) for count in (0, 1, 2)]
    varied += [Setting(passages=5, length=count) for count in (16, 32, 64)]
    return list(dict.fromkeys([base, *varied]))


def setting_of(words: str) -> Setting:
    """A cell as it is typed: `weighted,5,best_last,0,32`; what is left out at the end is the default.

    Raises:
      UserError: a part is none of its values.
    """
    parts = [part.strip() for part in words.split(",")]
    try:
        return convert(dict(zip(Setting.__struct_fields__, parts, strict=False)), Setting, strict=False)
    except ValidationError as error:
        raise UserError(f"{words} is no cell: {error}.", "Write it like weighted,5,best_last,0,32.") from None


def ask_all(
    questions: Sequence[TestQuestion],
    index: Index,
    embedder: Embedder,
    rationale: Rationale,
    config: AssistantConfig,
    *,
    generator: Generator | None = None,
    house: House | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> list[Outcome]:
    """Ask every question and score the answers.

    Args:
      questions: the questions.
      index: the corpus.
      config: threshold, number of passages, method, reranker, and what a generator is given.
      house: works out what can be worked out, as for whoever asks; without it passages answer everything.
    """
    assistant = Assistant(config, index, embedder, rationale, generator, house=house)
    outcomes = []
    for number, question in enumerate(questions, start=1):
        pieces: list[str] = []
        filters = Filters(
            markets=(question.market,) if question.market else None,
            on=question.on,
            versions=(question.version,) if question.version else None,
        )
        began = time.perf_counter()
        answer = assistant.ask(question.question, filters, streamed=pieces.append)
        seconds = time.perf_counter() - began
        documents = [index.document(source.passage.document) for source in answer.cited]
        raw = "".join(pieces) if generator else None
        outcomes.append(score(question, answer, relevant_ids(question, index.passages), documents, seconds, raw))
        if number % 20 == 0:
            told(f"{number} of {len(questions)} asked")
    return outcomes


def evaluate(
    questions: Sequence[TestQuestion],
    index: Index,
    embedder: Embedder,
    rationale: Rationale,
    config: AssistantConfig,
    *,
    settings: Iterable[Setting] | None = None,
    generator: Generator | None = None,
    house: House | None = None,
    command: str = "",
    told: Callable[[str], None] = lambda line: None,
) -> tuple[Report, list[Outcome]]:
    """Measure every setting; the outcomes that come back are those of the first.

    Args:
      settings: the cells; the configuration's own when None.
      house: see `ask_all`.
    """
    chosen = list(settings) if settings is not None else [Setting(method=config.method, passages=config.passages)]
    grid_rows: list[dict[str, Cell]] = []
    first: list[Outcome] = []
    invented = misquoted = 0
    for setting in chosen:
        varied = config.model_copy(
            update={
                "method": setting.method,
                "passages": setting.passages,
                "generator": config.generator.model_copy(
                    update={"order": setting.order, "examples": setting.examples, "max_tokens": max(setting.length, 16)}
                ),
            }
        )
        outcomes = ask_all(questions, index, embedder, rationale, varied, generator=generator, house=house, told=told)
        first = first or outcomes
        invented += sum(outcome.escaped for outcome in outcomes)
        misquoted += sum(outcome.misquoted for outcome in outcomes)
        keys: dict[str, Cell] = {"retrieval": setting.method, "passages": setting.passages}
        if generator is not None:
            keys |= {"order": setting.order, "examples": setting.examples, "length": setting.length}
        grid_rows.append({**keys, **summary(outcomes)})
        told(f"{keys}: accuracy {grid_rows[-1]['accuracy']}")
    figures = (*MEASURES, "refused")
    report = Report(
        title="Answers",
        command=command,
        tables=(
            Table(title="Settings", keys=tuple(keys), measures=figures, rows=tuple(grid_rows), plot=("accuracy",)),
            Table(
                title="First setting, by language and kind", keys=("language", "kind", "n"), measures=figures,
                rows=tuple(by_kind(first)),
            ),
        ),
        broken={
            "highlighted sentences that are not in their source": misquoted,
            "cited ids that were not retrieved": invented,
        },
        notes=(NOTES,),
    )  # fmt: skip
    return report, first


def summary(outcomes: Sequence[Outcome]) -> dict[str, Cell]:
    """The means of EquinorQA's measures over the answerable questions, and the share of the others that was refused."""
    asked = [outcome for outcome in outcomes if outcome.kind != "unanswerable"]
    empty = [outcome for outcome in outcomes if outcome.kind == "unanswerable"]
    reached = [outcome for outcome in asked if outcome.retrieved]
    found: dict[str, Cell] = {
        "accuracy": mean_of([float(o.right) for o in asked]),
        "EM recall": mean_of([o.said for o in asked]),
        "a right citation": mean_of([float(o.precision > 0) for o in asked]),
        "citation precision": mean_of([o.precision for o in asked]),
        "citation recall": mean_of([o.recall for o in asked]),
        "precision given retrieved": mean_of([o.precision for o in reached if not o.refused]),
        "recall given retrieved": mean_of([o.recall for o in reached if not o.refused]),
        "retrieved": mean_of([float(o.retrieved) for o in asked]),
        "answered": mean_of([float(not o.refused) for o in asked]),
        "EM recall unchecked": mean_of([o.unchecked for o in asked]),
        "seconds": mean_of([o.seconds for o in asked]),
    }
    if not asked:
        found = dict.fromkeys(found)
    found["invented ids"] = sum(o.invented for o in outcomes)
    found["misquoted"] = sum(o.misquoted for o in outcomes)
    found["refused"] = mean_of([float(o.refused) for o in empty]) if empty else None
    return found


def by_kind(outcomes: Sequence[Outcome]) -> list[dict[str, Cell]]:
    """The same by language and kind of question."""
    rows = []
    for language in sorted({o.language for o in outcomes}):
        for kind in ("regular", "version", "hard", "answerable", "unanswerable"):
            part = [
                o for o in outcomes
                if o.language == language and (o.kind == kind or (kind == "answerable" and o.kind != "unanswerable"))
            ]  # fmt: skip
            if part:
                rows.append({"language": language, "kind": kind, "n": len(part), **summary(part)})
    return rows
