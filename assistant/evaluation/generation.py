"""Making a question set from documents, for people to review: PermitQA's types, hybrid prompts, summaries and tables.

A generator writes questions where one is configured. Without one, templates make questions of rules, table rows and
headings: fewer kinds, nothing made up, and good enough to find what is never retrieved.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import get_args

import msgspec

from assistant.chat.generators import Generator
from assistant.chat.prompting import draft_prompt
from assistant.evaluation.drafts import MEANING, Draft, Fault, Type, asked_in, fault_of, opening, pieces
from assistant.evaluation.drafts import TYPES as TYPES
from assistant.evaluation.forms import Relevant, TestQuestion
from assistant.evaluation.forms import write as write_lines
from assistant.evaluation.report import Cell, Report, Table
from assistant.knowledge.documents import Passage
from assistant.knowledge.language import detect
from assistant.knowledge.sentences import texts as sentences_of
from assistant.rationale.port import Question, Rationale
from assistant.retrieval.asking import plain
from energycomm.cells import text_of, write_csv
from energycomm.errors import UserError

COLUMNS = ("keep", "id", "type", "question", "answer", "proof", "passage", "address", "remark")

MOST_TOKENS = 48
"""Of a question."""


def ask_generator(
    generator: Generator, passage: Passage, type_: Type, *, count: int = 2, samples: Sequence[str] = ()
) -> list[Draft]:
    """Questions of one type about one passage, by a generator.

    Args:
      count: how many are asked for at most: one for each piece of the passage that says most.
      samples: questions that people picked, shown beside the examples of the type (hybrid prompt).

    Returns:
      What it wrote. A draft that cannot be used has its fault; the proof of every other stands in the passage.
    """
    examples = _examples()[type_]
    shown = [*samples, *(question for _, question in examples)]
    found: list[Draft] = []
    for number, piece in enumerate(pieces(passage, type_, count)):
        first = opening(piece, type_, passage.metadata.language or "en", number)
        prompt = draft_prompt(
            type_, MEANING[type_], piece.shown, examples=examples, picked=samples, opening=first
        )  # fmt: skip
        question = asked_in("".join(generator.stream(prompt, MOST_TOKENS)), first)
        draft = _draft(passage, type_, question, piece.shown, piece.proof, number)
        fault = fault_of(question, piece, passage, type_, shown, [text for text, _ in examples])
        found.append(msgspec.structs.replace(draft, fault=fault))
    return found


@lru_cache(maxsize=1)
def _examples() -> dict[str, tuple[tuple[str, str], ...]]:
    """Texts with a question on each, by type; a file that people extend."""
    text = resources.files("assistant.evaluation").joinpath("questions", "samples.csv").read_text("utf-8")
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        found[row["type"]] = (*found.get(row["type"], ()), (row["text"], row["question"]))
    return found


def from_templates(passages: Iterable[Passage], rationale: Rationale | None = None) -> list[Draft]:
    """Questions made without a generator: what a rule demands, what a row of a table says, what a section is about.

    Args:
      rationale: picks the sentence of a section that answers best; the first one when None.
    """
    found = []
    for passage in passages:
        language = passage.metadata.language or "en"
        if language not in ("en", "fr"):
            continue
        lines = [line for line in passage.text.splitlines() if line.strip()]
        if _is_table(passage):
            for number, line in enumerate(lines[:3]):
                cells = [cell.strip(" `") for cell in line.split("|") if cell.strip(" `")]
                if len(cells) >= 2 and len(cells[1].split()) >= 3:
                    asked = f"What does {cells[0]} mean?" if language == "en" else f"Que signifie {cells[0]} ?"
                    found.append(_draft(passage, "recall", asked, cells[1], line, number))
            continue
        title = passage.headings[-1] if passage.headings else passage.metadata.title
        sentences = sentences_of(passage.text)
        if not title or not sentences:
            continue
        asked = f"What is said of “{title}”?" if language == "en" else f"Que dit-on de « {title} » ?"
        best = 0
        if rationale is not None:
            scores = rationale.score([Question(question=title, sentences=sentences)])[0]
            best = scores.index(max(scores))
        found.append(_draft(passage, "open", asked, sentences[best], sentences[best], 0))
    return found


def write_review(drafts: Sequence[Draft], path: Path) -> None:
    """Write the drafts as a table for people: `keep` is empty until someone writes yes, no, or a better question.

    What was refused stands there too, with `no` and its fault as the remark. Beside the table, in a file of the same
    name in Markdown, the drafts are counted by type and fault.
    """
    drafts = _once(drafts)
    buffer = io.StringIO()
    rows = []
    for draft in drafts:
        keep, remark = ("no", f"refused: {draft.fault}") if draft.fault else ("", "")
        words = [draft.question, draft.answer, draft.proof, draft.passage, draft.address]
        rows.append([keep, draft.id, draft.type, *words, remark])
    write_csv(buffer, COLUMNS, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(buffer.getvalue(), encoding="utf-8")
    path.with_suffix(".md").write_text(counted(drafts).markdown(), encoding="utf-8")


def counted(drafts: Sequence[Draft], command: str = "energycomm assistant evaluate generate") -> Report:
    """How many drafts of each type may be looked at, and why the others were refused."""
    rows: list[dict[str, Cell]] = []
    faults = [fault for fault in get_args(Fault) if any(draft.fault == fault for draft in drafts)]
    names = [*(name for name in TYPES if any(draft.type == name for draft in drafts)), "all"]
    for name in names:
        part = [draft for draft in drafts if name in (draft.type, "all")]
        counts = Counter(draft.fault for draft in part)
        rows.append({"type": name, "drafts": len(part), "for review": counts[None], **{f: counts[f] for f in faults}})
    table = Table(
        title="Drafts by type, and why they were refused", keys=("type",),
        measures=("drafts", "for review", *faults), rows=tuple(rows),
    )  # fmt: skip
    return Report(title="Generated questions", command=command, tables=(table,))


def _once(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, in which a question that was asked before of the same passage is refused."""
    seen: set[tuple[str, str]] = set()
    found = []
    for draft in drafts:
        key = (draft.passage, plain(draft.question))
        again = key in seen and draft.fault is None
        found.append(msgspec.structs.replace(draft, fault="asked before") if again else draft)
        if draft.fault is None:
            seen.add(key)
    return found


def read_review(path: Path, out: Path) -> tuple[int, int]:
    """Take over what people kept, as a question set.

    Returns:
      How many were kept, and how many are still without a word.

    Raises:
      UserError: the file is missing or has other columns.
    """
    if not path.is_file():
        raise UserError(f"There is no {path}.", "Make one: energycomm assistant evaluate generate.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and not set(COLUMNS) <= set(rows[0]):
        raise UserError(f"{path} has not the columns {', '.join(COLUMNS)}.", "Do not rename the columns.")
    kept = []
    for row in rows:
        word = row["keep"].strip()
        if not word or word.lower() in ("no", "n", "non"):
            continue
        question = text_of(row["question"] if word.lower() in ("yes", "y", "oui", "x") else word)
        # One line is enough to find the passage again, and is more likely to stay on it when texts are cut anew.
        line = text_of(row["proof"]).partition("\n")[0]
        kept.append(
            TestQuestion(
                id=row["id"], twin=row["id"], kind="regular", language=detect(question, "en") or "en",
                question=question, answers=((text_of(row["answer"]),),),
                relevant=(Relevant(document=text_of(row["address"]), contains=line),),
                note=row["remark"],
            )
        )  # fmt: skip
    write_lines(out, kept)
    return len(kept), sum(not row["keep"].strip() for row in rows)


def _draft(passage: Passage, type_: Type, question: str, answer: str, proof: str, number: int) -> Draft:
    return Draft(
        id=f"{passage.id}-{type_}-{number}", type=type_, question=question, answer=answer, proof=proof,
        passage=passage.id, address=passage.metadata.address, language=passage.metadata.language or "en",
    )  # fmt: skip


def _is_table(passage: Passage) -> bool:
    lines = [line for line in passage.text.splitlines() if line.strip()]
    return bool(lines) and sum(" | " in line for line in lines) >= len(lines) / 2


def as_json(drafts: Sequence[Draft]) -> str:
    """The drafts as JSON, for scripts."""
    return json.dumps(
        [{field: getattr(draft, field) for field in Draft.__struct_fields__} for draft in drafts], ensure_ascii=False
    )
