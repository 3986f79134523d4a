"""An answer that was worked out: a sentence, a table, and the proof of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

MOST_ROWS = 1000
"""Rows of a table; the sentence has the number of all."""


class Proof(Struct, frozen=True, kw_only=True):
    """Where an answer comes from.

    Attributes:
      text: file and line, or the query in words.
      link: the same list in the console; empty where it has no page.
      command: the same list on the command line; empty where there is no such command.
    """

    text: str
    link: str = ""
    command: str = ""


class Table(Struct, frozen=True, kw_only=True):
    """A table: names of the columns, and the rows as they are shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Worked(Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
      sentence: what is answered.
      table: where it is a list.
      proofs: what it was worked out from; never empty.
      values: the answer for programs: the number, the names, the field's value.
      note: how the question was read where another reading gives something else.
    """

    sentence: str
    proofs: tuple[Proof, ...]
    table: Table | None = None
    values: tuple[Any, ...] = ()
    note: str = ""


def ranked(rows: Sequence[tuple[str, Any]], ranks: int | None) -> list[tuple[str, Any]]:
    """The first so many of ordered groups, with those that are as many as the last of them; all where none is said."""
    if ranks is None or len(rows) <= ranks:
        return list(rows)
    return [row for row in rows if row in rows[:ranks] or row[1] == rows[ranks - 1][1]]


class Reply(Struct, frozen=True, kw_only=True):
    """What comes of a question: answers of each reading, or what has to be asked back.

    Attributes:
      language: of the question.
      plans: what was understood, a reading each, as data.
      answers: one for each plan.
      asked: what is asked back; empty where nothing is.
      choices: what may be meant.
      sure: how sure the reading is, 0..1; below 1 where it was read like a known question.
    """

    language: str
    plans: tuple[dict[str, Any], ...]
    answers: tuple[Worked, ...] = ()
    asked: str = ""
    choices: tuple[str, ...] = ()
    sure: float = 1.0
