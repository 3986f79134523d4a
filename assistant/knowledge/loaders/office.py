"""PDF with its pages, DOCX, XLSX and CSV."""

from __future__ import annotations

import csv
import io
import logging
import re
from datetime import datetime, time
from typing import Any

from assistant.extras import need
from assistant.knowledge.writing import Writer

MOST_PAGES = 5_000
MOST_CELLS = 2_000_000
"""What is beyond is left out: a file that unpacks to more is hostile or no documentation."""

_HYPHENATED = re.compile(r"(\w)-\n(\w)")
_LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"})
_LINE_END = re.compile(r"(?<![.!?:;])\n(?!\s*(?:[-•*]|\d+[.)]))")


def read_pdf(content: bytes, writer: Writer) -> dict[str, str]:
    """Write the text of a PDF, page by page; returns its title and author."""
    need("pypdf")
    from pypdf import PdfReader

    # What it could mend is nobody's concern, what it could not is reported as a failure.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it is locked with a password")
    for number, page in enumerate(reader.pages[:MOST_PAGES], start=1):
        writer.page = number
        text = _HYPHENATED.sub(r"\1\2", (page.extract_text() or "").translate(_LIGATURES))
        for part in re.split(r"\n\s*\n", text):
            for line in _LINE_END.sub(" ", part).split("\n"):
                writer.paragraph(line)
    known = reader.metadata
    found = {"title": str(known.title or ""), "author": str(known.author or "")} if known else {}
    return {key: value for key, value in found.items() if value}


def read_docx(content: bytes, writer: Writer) -> dict[str, str]:
    """Write a Word document: titles by their styles, lists, tables in their place; returns title and author."""
    need("docx")
    from docx import Document
    from docx.table import Table

    document = Document(io.BytesIO(content))
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            rows = [_cells(row) for row in item.rows]
            if rows:
                writer.table(rows[0], rows[1:])
            continue
        style = (item.style.name if item.style is not None else "") or ""
        level = re.match(r"(?:Heading|Titre|Kop|Überschrift) (\d)", style)
        if level or style == "Title":
            writer.heading(int(level.group(1)) + 1 if level else 1, item.text)
        elif style.startswith("List"):
            writer.paragraph(f"- {item.text}", "item")
        else:
            writer.paragraph(item.text)
    core = document.core_properties
    return {key: value for key, value in {"title": core.title or "", "author": core.author or ""}.items() if value}


def read_xlsx(content: bytes, writer: Writer) -> dict[str, str]:
    """Write a workbook: a sheet is a section, its first row with two or more cells the header of its rows."""
    need("openpyxl")
    from openpyxl import load_workbook

    book: Any = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    cells = 0
    for sheet in book.worksheets:
        rows: list[list[str]] = []
        for row in sheet.iter_rows(values_only=True):
            cells += len(row)
            if cells > MOST_CELLS:
                break
            rows.append([_shown(value) for value in row])
        _sheet(sheet.title, rows, writer)
    core = book.properties
    return {key: value for key, value in {"title": core.title or "", "author": core.creator or ""}.items() if value}


def _cells(row: Any) -> list[str]:
    """The texts of a row's cells; one that spans several columns stands in the first of them."""
    cells = list(row.cells)
    return ["" if number and cell._tc is cells[number - 1]._tc else cell.text for number, cell in enumerate(cells)]


def _shown(value: Any) -> str:
    """A cell's value as a reader sees it: a day without the hour that the format does not have."""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return "" if value is None else str(value)


def read_csv(text: str, writer: Writer) -> dict[str, str]:
    """Write a table of comma, semicolon or tab separated values; its first row is the header."""
    try:
        dialect: Any = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows = [row for row in csv.reader(io.StringIO(text), dialect) if any(cell.strip() for cell in row)]
    if rows:
        writer.table(rows[0], rows[1 : MOST_CELLS // max(1, len(rows[0]))])
    return {}


def _sheet(title: str, rows: list[list[str]], writer: Writer) -> None:
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    if not filled:
        return
    writer.heading(2, title)
    width = max(len([cell for cell in row if cell.strip()]) for row in filled)
    head = next((i for i, row in enumerate(filled) if len([c for c in row if c.strip()]) >= min(2, width)), len(filled))
    caption = " ".join(cell for row in filled[:head] for cell in row if cell.strip())
    if head + 1 < len(filled):
        writer.table(filled[head], filled[head + 1 :], caption)
    else:
        writer.paragraph(" ".join(cell for row in filled for cell in row if cell.strip()))
