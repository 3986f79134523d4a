"""Making a question set from documents, for people to review: PermitQA's types, hybrid prompts, summaries and tables.

A generator writes questions where one is configured. Without one, templates make questions of rules, table rows and
headings: fewer kinds, nothing made up, and good enough to find what is never retrieved.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from assistant.chat.generators import Generator
from assistant.chat.prompting import Prompt
from assistant.chat.safety import as_data
from assistant.evaluation.forms import Relevant, TestQuestion
from assistant.evaluation.forms import write as write_lines
from assistant.knowledge.documents import Passage
from assistant.knowledge.sentences import texts as sentences_of
from assistant.rationale.port import Question, Rationale
from energycomm.errors import UserError

Type = Literal["closed", "open", "comparison", "evaluation", "recall", "process", "rhetorical"]
TYPES: tuple[Type, ...] = get_args(Type)

SUMMARISED: frozenset[Type] = frozenset(("process", "evaluation", "comparison"))
"""Types that are asked from a summary where a text is long: they go over several sentences (hybrid chunk)."""

LONG = 15
"""Sentences above which a text is summarised first."""

COLUMNS = ("keep", "id", "type", "question", "answer", "proof", "passage", "address", "remark")


class Draft(Struct, frozen=True, kw_only=True):
    """A question that nobody has looked at yet.

    Attributes:
      proof: words of the passage that carry the answer; verified to stand in it.
    """

    id: str
    type: Type
    question: str
    answer: str
    proof: str
    passage: str
    address: str
    language: str = "en"


def ask_generator(
    generator: Generator, passage: Passage, type_: Type, *, count: int = 2, samples: Sequence[str] = ()
) -> list[Draft]:
    """Questions of one type about one passage, by a generator.

    Args:
      count: how many are asked for.
      samples: questions that people picked, shown as examples (hybrid prompt).

    Returns:
      Those whose proof stands in the passage word for word; the others are dropped.
    """
    text = passage.text
    if type_ in SUMMARISED and len(sentences_of(text)) > LONG:
        text = _run(generator, f"Summarise in 5 to 8 bullets, without adding anything:\n{as_data(text)}\nSummary:", 256)
    shown = "".join(f"Example question: {sample}\n" for sample in samples)
    table = (
        "The text is a table; its header is: " + passage.context.replace("\n", " / ") + "\n"
        if _is_table(passage)
        else ""
    )
    reply = _run(
        generator,
        f"{shown}{table}Generate {count} questions on the text. Restrict the type of questions to {type_}. For each "
        f"give three lines: Question: ..., Answer: ..., Proof: words copied from the text.\nText: {as_data(text)}\n",
        96 * count,
    )
    return _drafts(reply, passage, type_)[:count]


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
    """Write the drafts as a table for people: `keep` is empty until someone writes yes, no, or a better question."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for draft in drafts:
        row = ["", draft.id, draft.type, draft.question, draft.answer, draft.proof, draft.passage, draft.address, ""]
        # A cell that a spreadsheet would take for a formula begins with an apostrophe.
        writer.writerow(["'" + cell if cell[:1] in ("=", "+", "-", "@") else cell for cell in row])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(buffer.getvalue(), encoding="utf-8")


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
        question = row["question"] if word.lower() in ("yes", "y", "oui", "x") else word
        kept.append(
            TestQuestion(
                id=row["id"], twin=row["id"], kind="regular", language="en", question=question.lstrip("'"),
                answers=((row["answer"].lstrip("'"),),),
                relevant=(Relevant(document=row["address"].lstrip("'"), contains=row["proof"].lstrip("'")),),
                note=row["remark"],
            )
        )  # fmt: skip
    write_lines(out, kept)
    return len(kept), sum(not row["keep"].strip() for row in rows)


def _run(generator: Generator, text: str, most: int) -> str:
    return "".join(generator.stream(Prompt(system="You write test questions on documents.", user=text), most)).strip()


def _drafts(reply: str, passage: Passage, type_: Type) -> list[Draft]:
    pattern = re.compile(
        r"Question:\s*(.+?)\s*\n\s*Answer:\s*(.+?)\s*\n\s*Proof:\s*(.+?)\s*(?=\n\s*Question:|\Z)", re.DOTALL
    )
    found = []
    for number, match in enumerate(pattern.finditer(reply)):
        question, answer, proof = (" ".join(part.split()) for part in match.groups())
        proof = proof.strip("\"“”'")
        if proof and proof.casefold() in " ".join(passage.text.split()).casefold():
            found.append(_draft(passage, type_, question, answer, proof, number))
    return found


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
