"""A market's declarations of particulars: the names and types that its own rules may read."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from energycomm.engine.problems import Problem
from energycomm.engine.valuetypes import ValueType, fields_of
from energycomm.kernel.parts import PARTICULAR_TYPES, Particular

FILE = "particulars.csv"
COLUMNS = ("name", "type", "en", "fr")


@dataclass(frozen=True)
class Declared:
    """One particular that a market declares.

    Attributes:
      name: the market's name, as messages carry it.
      type: text, number, day, instant or truth: the field of the particular that holds it.
      en, fr: what it is, in words.
    """

    name: str
    type: str
    en: str
    fr: str

    @property
    def read(self) -> ValueType:
        """The type that a rule reads."""
        return fields_of(Particular)[self.type]


Declarations: TypeAlias = Mapping[str, Declared]
"""Name -> declaration, of one market."""


def read_particulars(path: Path, shown: str) -> tuple[dict[str, Declared], list[Problem]]:
    """Read one ``particulars.csv``.

    Args:
      path: the file; columns name, type, en, fr.
      shown: the file's name in problems.

    Returns:
      The declarations by name, and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        return {}, [Problem(shown, 1, "", f"the file is not UTF-8: byte {error.start}", "Save it as UTF-8.")]
    found: dict[str, Declared] = {}
    problems: list[Problem] = []
    with io.StringIO(text, newline="") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            advice = f"The first line must be {','.join(COLUMNS)}."
            return {}, [Problem(shown, 1, "", "the columns are others", advice)]
        try:
            for row in reader:
                declared = _declared(row)
                if isinstance(declared, Declared) and declared.name not in found:
                    found[declared.name] = declared
                    continue
                told = ("the name occurs twice", "Remove one.") if isinstance(declared, Declared) else declared
                problems.append(Problem(shown, reader.line_num, "", *told))
        except csv.Error as error:
            problems.append(Problem(shown, 1, "", f"this is not CSV: {error}", "Check quotes and commas."))
    return found, problems


def particular(particulars: Sequence[Particular], kind: str, name: str) -> Any:
    """The value of a type that a message carries under a name; None where it carries none, or one of another type."""
    for one in particulars:
        if one.name == name:
            return getattr(one, kind)
    return None


def _declared(row: Mapping[str, str | None]) -> Declared | tuple[str, str]:
    """A declaration, or what is wrong with it and what to change."""
    name, kind, en, fr = ((row[column] or "").strip() for column in COLUMNS)
    if None in row:
        return "the row has more cells than the first line", "Check quotes and commas."
    if kind not in PARTICULAR_TYPES:
        return f"type {kind!r} is unknown", f"Use one of {', '.join(PARTICULAR_TYPES)}."
    if not name or len(name) > 120 or "=" in name or any(character.isspace() for character in name):
        return f"{name!r} is no name", "Write 1 to 120 characters, without white space and `=`."
    if not en or not fr:
        return f"{name} has no words in both languages", "Add a description in en and fr."
    return Declared(name, kind, en, fr)
