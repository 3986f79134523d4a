"""How answers, passages and explanations are printed: rich on a terminal, plain in a pipe, data for scripts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from energycomm.commands import output
from energycomm.commands.output import Paper, print_rows

if TYPE_CHECKING:
    from assistant.chat.answer import Answer, Source
    from assistant.explanation.explaining import Told
    from assistant.operations.worked import Reply
    from assistant.retrieval.query import Found


class Form(Enum):
    """How to print."""

    rich = "rich"
    plain = "plain"
    json = "json"

    @classmethod
    def of(cls, json: bool, plain: bool) -> Form:
        """The form for what was asked and where it goes."""
        if json:
            return cls.json
        return cls.plain if plain or not sys.stdout.isatty() else cls.rich


def answer_data(answer: Answer, number: int | None) -> dict[str, Any]:
    """An answer for scripts: everything, and its number in the log."""
    return {"number": number, **msgspec.structs.asdict(answer)}


def print_answer(answer: Answer, number: int | None, form: Form) -> None:
    """The answer, then each cited source with the sentences that carry it marked."""
    from assistant.chat.words import say

    console = Paper(highlight=False, soft_wrap=True, no_color=form is Form.plain)
    style = "yellow" if answer.abstained else "bold" if form is Form.rich else ""
    console.print(Text(answer.text, style=style))
    if answer.worked is not None:
        print_worked(answer.worked, console, form)
    if answer.cited:
        console.print()
        console.print(Text(say(answer.language, "sources"), style="bold"))
    for source in answer.cited:
        console.print(Text.assemble((f"[{source.number}] ", "cyan"), place(source, answer.language)))
        for line in marked(source, form).split("\n"):
            if line.plain.strip():
                console.print(Text("    ").append_text(line))
    told = [f"confidence {answer.confidence:.2f}", f"{sum(answer.seconds.values()):.2f} s"]
    told += list(answer.flags) + ([f"answer {number}"] if number else [])
    output.say(" · ".join(told), err=True, dim=True)


def print_worked(reply: Reply, console: Paper, form: Form) -> None:
    """The tables of an answer that was worked out, and its proofs; lines with tabs between in a pipe."""
    from assistant.operations.wording import say

    for one in reply.answers:
        if one.table is not None:
            console.print()
            if form is Form.rich:
                shown = Table(*one.table.columns)
                for row in one.table.rows:
                    shown.add_row(*map(Text, row))
                console.print(shown)
            else:
                output.print_tsv(one.table.columns, one.table.rows)
        console.print()
        console.print(Text(say(reply.language, "proof"), style="bold"))
        for proof in one.proofs:
            console.print(Text("  " + " · ".join(part for part in (proof.text, proof.link, proof.command) if part)))


def place(source: Source, language: str) -> str:
    """Where a source is: title, heading, address, page, version."""
    from assistant.chat.words import say

    passage = source.passage
    facts = passage.metadata
    parts = [facts.title]
    if passage.headings and passage.headings[-1] != facts.title:
        parts.append(passage.headings[-1])
    parts.append(facts.address + (f"#{passage.anchor}" if passage.anchor else ""))
    if passage.page:
        parts.append(f"{say(language, 'page')} {passage.page}")
    if facts.version:
        parts.append(facts.version)
    return " · ".join(part for part in parts if part)


def marked(source: Source, form: Form) -> Text:
    """The text of a source's passage, its carrying sentences highlighted; between >> and << in plain text."""
    passage = source.passage
    text = Text()
    at = passage.start
    for span in sorted(source.highlights, key=lambda span: span.start):
        text.append(passage.text[at - passage.start : span.start - passage.start])
        words = passage.text[span.start - passage.start : span.end - passage.start]
        if form is Form.rich:
            text.append(words, style="black on yellow")
        else:
            text.append(f">>{words}<<")
        at = span.end
    text.append(passage.text[at - passage.start :])
    return text


def print_found(found: Sequence[Found]) -> None:
    """Passages, one a row."""
    print_rows(
        ("id", "score", "cosine", "BM25", "title", "address", "text"),
        [
            (
                item.passage.id,
                f"{item.score:.4f}",
                "" if item.dense is None else f"{item.dense:.3f}",
                "" if item.sparse is None else f"{item.sparse:.1f}",
                item.passage.metadata.title,
                item.passage.metadata.address,
                " ".join(item.passage.text.split())[:120],
            )
            for item in found
        ],
    )


def print_explanation(explanation: Told, form: Form) -> None:
    """An explanation, part by part, each statement with its evidence."""
    rich = form is Form.rich
    output.say(explanation.summary, bold=rich)
    for part in explanation.parts:
        output.say("")
        output.say(part.title, bold=rich)
        for statement in part.statements:
            output.say(f"- {statement.text}")
            for evidence in statement.evidence:
                output.say(f"    {evidence}", dim=rich)
