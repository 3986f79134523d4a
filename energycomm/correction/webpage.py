"""A report as one HTML file with charts; it loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from energycomm.correction.report import Report
from energycomm.templates import templates

CHARTED = 20
"""Groups in a chart; the table below it holds all that the report holds."""

LISTED = 1000
"""Messages that the page lists; CSV, JSON and XLSX hold more."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@cache
def _template() -> jinja2.Template:
    made = templates(Path(__file__).parent / "templates")
    made.tests["day"] = lambda value: _DAY.fullmatch(str(value)) is not None
    return made.get_template("report.html")


def webpage(report: Report) -> str:
    """The report as HTML.

    Args:
      report: what is shown.

    Returns:
      The text of the file. Its policy forbids the browser to fetch or to run anything.
    """
    title = f"Stuck messages by {report.by}, {report.at or report.made:%Y-%m-%d}"
    return _template().render(report=report, title=title, charted=_charted, most_charted=CHARTED, most_listed=LISTED)


def _charted(rows: Iterable[tuple[Any, ...]], series: int = 1) -> list[tuple[str, list[int]]]:
    """The name of each bar, and its values."""
    return [(str(row[0]), [n if isinstance(n, int) else 0 for n in row[1 : 1 + series]]) for row in rows]
