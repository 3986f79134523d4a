"""Problems of rule files, as values: file, line, rule, reason and advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong in a folder of rules.

    Attributes:
      file: path of the file, relative to the folder of rules.
      line: line in it, from 1.
      rule: code of the rule, empty where none is concerned.
      reason: what is wrong.
      advice: what to change.
    """

    file: str
    line: int
    rule: str
    reason: str
    advice: str

    def __str__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        return f"{self.file}:{self.line}:{rule} {self.reason}. {self.advice}"


class BrokenCatalogue(Exception):
    """The folder of rules has problems; none of its rules is used."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(str(problem) for problem in self.problems)
        super().__init__(f"{len(self.problems)} problem(s) in the rules:\n{lines}")
