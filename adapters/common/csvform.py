"""Splits a table of text (CSV) into its rows: each is a CH message, whose leaves are its columns."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from adapters.common.codes import Unreadable, refusal

MAX_ROW = 1 << 20
"""Bytes of one row."""


def is_table(beginning: str, columns: Sequence[str], separator: str) -> bool:
    """Whether a text begins with the row of the names of the columns.

    Args:
      beginning: its first characters.
      columns: the names that have to be there, in any order, others may stand among them.
      separator: of columns.
    """
    if '"' not in beginning and any(column not in beginning for column in columns):
        return False  # seen without a look at its cells
    lines = beginning.lstrip("\ufeff").splitlines()
    try:
        names = next(csv.reader(lines[:1], delimiter=separator), [])
    except csv.Error:
        return False
    return set(columns) <= {name.strip() for name in names}


def split(
    stream: IO[bytes], columns: Sequence[str], separator: str, named: Callable[[str], str] = str.strip
) -> Iterator[dict[str, str | None]]:
    """The rows below the names of the columns, as name -> text; empty cells are None, empty rows are left out.

    Args:
      stream: the bytes, UTF-8; where they are none, those of Windows (cp1252), row by row.
      columns: the names that have to be there.
      separator: of columns.
      named: the name by which a column is known, of what is written; the second of a name is called ``name[2]``.

    Raises:
      Unreadable: a row is too long or has too many cells (CSV_SYNTAX), or the names are not there (CSV_COLUMNS).
    """
    rows = csv.reader(_lines(stream), delimiter=separator, strict=True)
    try:
        names = _distinct(named(name) for name in next(rows, []))
        if missing := [name for name in columns if name not in names]:
            raise Unreadable(refusal("CSV_COLUMNS", value=separator.join(names), expected=", ".join(missing)))
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(names):
                expected = f"{len(names)} cells"
                raise Unreadable(refusal("CSV_SYNTAX", f"line {rows.line_num}", separator.join(cells), expected))
            yield {name: cell.strip() or None for name, cell in zip(names, cells, strict=False)}
    except csv.Error as error:
        raise Unreadable(refusal("CSV_SYNTAX", f"line {rows.line_num}", str(error), "a row of the table")) from None


def _distinct(names: Iterable[str]) -> list[str]:
    found: dict[str, int] = {}
    told = []
    for name in names:
        found[name] = found.get(name, 0) + 1
        told.append(name if found[name] == 1 else f"{name}[{found[name]}]")
    return told


def _lines(stream: IO[bytes]) -> Iterator[str]:
    while line := stream.readline(MAX_ROW + 1):
        if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise Unreadable(refusal("CSV_SYNTAX", value="UTF-16", expected="UTF-8, or the characters of Windows"))
        if len(line) > MAX_ROW:
            raise Unreadable(refusal("CSV_SYNTAX", value=f"more than {MAX_ROW} bytes", expected="shorter rows"))
        line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            yield line.decode("cp1252", "replace")
