"""Tables of a portfolio in files: CSV, XLSX and Parquet, read row by row and written.

Nothing of a file is trusted: how large it may become, how long a cell or a row may be and how many columns there may be
is bounded. Separator and encoding of a CSV file are found out. `Unreadable` says what is wrong with a file as a whole.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import IO, Any

from energycomm.cells import text_of, write_csv
from energycomm.kernel.verdicts import Refusal
from energycomm.portfolio.columns import MOST_COLUMNS, column_of, refuse

LONGEST_CELL = 1_000
"""Characters of a cell; no field of the Kernel that is a column holds more."""
LONGEST_LINE = 1 << 18
"""Bytes of a line of a CSV file."""
MOST_BYTES = 4 << 30
"""Bytes that an XLSX file may hold unpacked."""
MOST_RATIO = 400
"""Times its size that an XLSX file may hold unpacked; repeated cells of one table come to less than a hundred."""
MOST_STRINGS = 512 << 20
"""Bytes of the shared texts of an XLSX file, which are held in memory."""
SEPARATORS = ";,\t|"

Cells = list[Any]


class Unreadable(Exception):
    """A file is no table that can be read; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def table_form(head: bytes, name: str) -> str | None:
    """Whether content may be a table of a portfolio: csv, xlsx or parquet, by its first bytes; None if it is none.

    Args:
      head: the first bytes, some kilobytes.
      name: file name; says of a zip whether it is a workbook.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        workbook = b"[Content_Types].xml" in head or b"xl/" in head or b"docProps/" in head or b"_rels/" in head
        return "xlsx" if workbook or name.lower().endswith(".xlsx") else None
    first = _first_line(head)
    if first is None:
        return None
    names = [cell.strip() for cell in re.split(f"[{SEPARATORS}]", first.replace('"', ""))]
    return "csv" if any(column_of(cell) is not None for cell in names) else None


def rows_of(content: IO[bytes], form: str) -> Iterator[tuple[int, Cells]]:
    """The rows of a table, its names first, each with its number from 1; empty rows are left out, and so are empty
    cells at the end of a row.

    Args:
      content: the bytes, seekable, at their beginning.
      form: as `table_form` found it.

    Raises:
      Unreadable: it is damaged, too large, or no such table; also while rows are read.
    """
    readers = {"csv": _csv_rows, "xlsx": _xlsx_rows, "parquet": _parquet_rows}
    return readers[form](content)


# --- CSV ---


def _first_line(head: bytes) -> str | None:
    decoded = _decoder_of(head)
    text = decoded(head[: head.rfind(b"\n") + 1] or head)
    lines = text.lstrip("\ufeff").splitlines()
    return lines[0] if lines else None


def _decoder_of(head: bytes) -> Any:
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return lambda line: line.decode(encoding, "replace")
    return _decoded


def _decoded(line: bytes) -> str:
    """UTF-8; what is none is what spreadsheets write in Western Europe."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _lines(content: IO[bytes]) -> Iterator[str]:
    mark = content.read(2)
    content.seek(0)
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        reader = codecs.getreader("utf-16")(content, "replace")
        while line := reader.readline(LONGEST_LINE):
            yield line
        return
    first = True
    while raw := content.readline(LONGEST_LINE + 1):
        if len(raw) > LONGEST_LINE:
            expected = f"lines of at most {LONGEST_LINE} bytes"
            raise Unreadable(refuse("PORTFOLIO_FILE", "", "a longer line", expected, "check the file"))
        text = _decoded(raw.removeprefix(codecs.BOM_UTF8) if first else raw)
        first = False
        yield text.replace("\0", "\ufffd")


def _csv_rows(content: IO[bytes]) -> Iterator[tuple[int, Cells]]:
    lines = _lines(content)
    first = next(lines, "")
    separator = max(SEPARATORS, key=lambda sign: sum(column_of(name) is not None for name in _split(first, sign)))

    def all_lines() -> Iterator[str]:
        yield first
        yield from lines

    reader = csv.reader(all_lines(), delimiter=separator, strict=True)
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            path = f"row {number}"
            raise Unreadable(refuse("PORTFOLIO_FILE", path, error, "a row of the table", "check its quotes")) from None
        kept = _kept([text_of(cell.strip()) for cell in cells])
        if kept:
            yield number, kept


def _split(line: str, separator: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.rstrip("\r\n").split(separator)]


# --- XLSX ---


def _xlsx_rows(file: IO[bytes]) -> Iterator[tuple[int, Cells]]:
    _check_zip(file)
    from openpyxl import load_workbook

    try:
        book: Any = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            # A row that says it has more is cut there: what stands beyond is refused with the names of columns.
            kept = _kept([_own(cell) for cell in cells[: MOST_COLUMNS + 1]])
            if kept:
                yield number, kept
    except Unreadable:
        raise
    except Exception as error:
        # What openpyxl raises for damaged content is not declared anywhere.
        words = f"{type(error).__name__}: {error}"
        raise Unreadable(refuse("PORTFOLIO_FILE", "", words, "a whole XLSX workbook", "save it again")) from None


def _own(cell: Any) -> Any:
    return text_of(cell.strip()) if isinstance(cell, str) else cell


def _check_zip(file: IO[bytes]) -> None:
    """Refuse a workbook that is a bomb, or declares entities, before anything of it is read.

    Raises:
      Unreadable: it is.
    """
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as opened:
            entries = opened.infolist()
            whole = sum(entry.file_size for entry in entries)
            strings = sum(entry.file_size for entry in entries if "worksheets/" not in entry.filename)
            if (
                len(entries) > 1_000
                or whole > min(MOST_BYTES, max(size * MOST_RATIO, 1 << 20))
                or strings > MOST_STRINGS
                or any(".." in entry.filename for entry in entries)
            ):
                found = f"{whole} bytes unpacked from {size}"
                expected = f"at most {MOST_RATIO} times its size, and {MOST_BYTES} bytes"
                raise Unreadable(refuse("PORTFOLIO_FILE", "", found, expected, "hand it over as CSV"))
            for entry in entries:
                if entry.filename.endswith((".xml", ".rels")):
                    with opened.open(entry) as stream:
                        if b"<!DOCTYPE" in stream.read(4096):
                            advice = "save it again as XLSX"
                            raise Unreadable(
                                refuse("PORTFOLIO_FILE", entry.filename, "a DOCTYPE", "a workbook without one", advice)
                            )
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise Unreadable(refuse("PORTFOLIO_FILE", "", error, "a whole XLSX workbook", "save it again")) from None
    file.seek(0)


# --- Parquet ---


def _parquet_rows(file: IO[bytes]) -> Iterator[tuple[int, Cells]]:
    from pyarrow import ArrowException  # only who brings such a file waits for it
    from pyarrow.parquet import ParquetFile

    try:
        table = ParquetFile(file)
        groups = (table.metadata.row_group(number) for number in range(table.metadata.num_row_groups))
        if (whole := sum(group.total_byte_size for group in groups)) > MOST_BYTES:
            expected = f"at most {MOST_BYTES} bytes"
            raise Unreadable(refuse("PORTFOLIO_FILE", "", f"{whole} bytes unpacked", expected, "hand it over in parts"))
        names = table.schema_arrow.names
        yield 1, list(names[: MOST_COLUMNS + 1])
        number = 1
        for batch in table.iter_batches(batch_size=1_000):
            columns = [column.to_pylist() for column in batch.columns]
            for cells in zip(*columns, strict=True):
                number += 1
                kept = _kept(list(cells))
                if kept:
                    yield number, kept
    except (ArrowException, OSError, ValueError) as error:
        raise Unreadable(refuse("PORTFOLIO_FILE", "", error, "a whole Parquet file", "write it again")) from None


def _kept(cells: Cells) -> Cells:
    """The cells without empty ones at the end; an empty text is no value."""
    cells = [None if cell == "" else cell for cell in cells]
    while cells and cells[-1] is None:
        cells.pop()
    return cells


# --- writing ---


def write_table(path: Any, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV, or as XLSX where the name ends so; no cell is a formula for a spreadsheet.

    Args:
      path: the file, a `Path`; one of that name is replaced.
      head: names of the columns.
      rows: the rows.

    Raises:
      OSError: the file cannot be written.
    """
    if path.suffix.lower() == ".xlsx":
        path.write_bytes(workbook(head, rows))
        return
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        write_csv(stream, head, rows)


def workbook(head: Sequence[str], rows: Iterable[Sequence[object]], title: str = "portfolio") -> bytes:
    """A table as an XLSX workbook with a sheet of a title; numbers are numbers, texts are texts, never formulas."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book: Any = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    sheet.freeze_panes = "A2"

    def cell(value: object) -> Any:
        if isinstance(value, int | float | Decimal):
            return WriteOnlyCell(sheet, value=value)
        text = "" if value is None else ILLEGAL_CHARACTERS_RE.sub("\ufffd", str(value))[:32_000]
        made = WriteOnlyCell(sheet, value=text)
        made.data_type = "s"  # codes keep their zeros, and no text is a formula
        made.number_format = "@"
        return made

    for row in chain((head,), rows):
        sheet.append([cell(value) for value in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()
