"""A report as an Excel workbook: one sheet a table, and one that says what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from energycomm.correction.report import Report, Sheet

LONGEST = 32_000
"""Characters of a cell; Excel takes 32 767."""

CHARTED = 20
"""Groups in the chart."""

_WIDEST = 60


def write_workbook(report: Report, path: Path) -> None:
    """Write a report as XLSX; a file of that name is replaced.

    Values are written as text or numbers, never as formulas: a market's text that begins with ``=`` stays text.

    Args:
      report: what is written.
      path: the file.

    Raises:
      OSError: the file cannot be written.
    """
    book: Any = Workbook(write_only=True)
    about = book.create_sheet("about")
    about.column_dimensions["A"].width = 24
    about.column_dimensions["B"].width = _WIDEST
    for name, value in report.facts():
        about.append([_cell(about, name, bold=True), _cell(about, value)])
    for sheet in report.sheets:
        _write(book, sheet)
    book.save(path)


def _write(book: Any, sheet: Sheet) -> None:
    page = book.create_sheet(sheet.title)
    page.freeze_panes = "A2"
    last = get_column_letter(len(sheet.head))
    page.auto_filter.ref = f"A1:{last}{len(sheet.rows) + 1}"
    for column, name in enumerate(sheet.head):
        longest = max((len(str(row[column])) for row in sheet.rows[:200]), default=0)
        page.column_dimensions[get_column_letter(column + 1)].width = min(max(len(name), longest) + 2, _WIDEST)
    page.append([_cell(page, name, bold=True) for name in sheet.head])
    for row in sheet.rows:
        page.append([_cell(page, value) for value in row])
    if sheet.left_out:
        page.append([_cell(page, sheet.cap)])
    if sheet.title == "groups" and sheet.rows:
        page.add_chart(_chart(page, sheet), f"{get_column_letter(len(sheet.head) + 2)}2")


def _cell(page: Any, value: object, *, bold: bool = False) -> Any:
    if isinstance(value, int | float) or value is None:
        cell = WriteOnlyCell(page, value=value)
    else:
        cell = WriteOnlyCell(page, value=ILLEGAL_CHARACTERS_RE.sub("�", str(value))[:LONGEST])
        cell.data_type = "s"
    if bold:
        cell.font = Font(bold=True)
    return cell


def _chart(page: Any, sheet: Sheet) -> Any:
    """Messages of the largest groups."""
    chart = BarChart()
    chart.type, chart.style, chart.legend = "bar", 10, None
    chart.title = "messages"
    last = min(len(sheet.rows), CHARTED) + 1
    chart.add_data(Reference(page, min_col=2, min_row=1, max_row=last), titles_from_data=True)
    chart.set_categories(Reference(page, min_col=1, min_row=2, max_row=last))
    chart.height, chart.width = 2 + 0.6 * last, 18
    return chart
