"""Cells of tables that a spreadsheet may open: text in them is text, never a formula.

A spreadsheet takes a cell that begins with a sign such as ``=`` for a formula, which may call programs and send data
away. In CSV and tab-separated text nothing says that a cell is text but its beginning: an apostrophe is put there, as
OWASP advises (https://owasp.org/www-community/attacks/CSV_Injection). Numbers stay numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b"
"""What a formula begins with, in a character class: plain, full-width, small; the minus sign."""

STEERING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""What steers a terminal, ends a line or turns the direction of reading, in a character class."""

_STEERING = re.compile(f"[{STEERING}]")

QUOTES = "'\"`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_SKIPPED = rf"[\s\x00-\x20\x7f\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff{QUOTES}]*"
_NUMBER = re.compile(r"[+-]?\d{1,40}(?:[.,]\d{1,40})?(?:[eE][+-]?\d{1,4})?%?")
_DANGEROUS = re.compile(rf"[\t\r\n]|{_SKIPPED}[{SIGNS}]")
# Where the reader's separator is another one than ours, what stands behind it is a cell too.
_INNER = re.compile(rf"([;,\t\r\n|]{_SKIPPED})(?=[{SIGNS}])(?!{_NUMBER.pattern}(?![^\s;,|.)]))")


class Writable(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> Any:
        """Write a text."""


def plain_cell(value: object) -> str:
    """A value as the text of a cell that no spreadsheet runs.

    Args:
      value: what stands in the cell; None is an empty one.

    Returns:
      The text; with an apostrophe before what would begin a formula.
    """
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, bool | int | float) or _NUMBER.fullmatch(text):
        return text
    text = _INNER.sub(r"\1'", text)
    return f"'{text}" if _DANGEROUS.match(text) else text


def on_one_line(text: str) -> str:
    """A text that looks on a terminal and in a log like what it is: what would steer either is written as an escape."""
    return _STEERING.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def text_of(cell: str) -> str:
    """The text of a cell that `plain_cell` wrote, as far as its beginning goes."""
    return cell[1:] if cell.startswith("'") and _DANGEROUS.match(cell[1:]) else cell


def write_csv(stream: Writable, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV, every cell between quotes.

    Args:
      stream: where it is written; opened with ``newline=""``.
      head: names of the columns; none where the table is to have no head.
      rows: the rows.
    """
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    if head:
        writer.writerow([plain_cell(name) for name in head])
    writer.writerows([plain_cell(value) for value in row] for row in rows)
