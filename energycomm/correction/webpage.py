"""A report as one HTML file with charts; it loads nothing from elsewhere."""

from __future__ import annotations

import re
from html import escape

from energycomm.correction.charts import bars
from energycomm.correction.report import Report, Sheet

CHARTED = 20
"""Groups in a chart; the table below it holds all that the report holds."""

LISTED = 1000
"""Messages that the page lists; CSV, JSON and XLSX hold more."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #c9d1d9; --a: #1f5fa8; --b: #b35c00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --paper: #15181c; --line: #3a4149; --a: #6ea8e6; --b: #e6a15a; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th, td.day { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { overflow-x: auto; }
svg { width: 100%; max-width: 48rem; height: auto; font: 13px system-ui, sans-serif; fill: var(--ink); }
svg .name { text-anchor: end; } .bar0 { fill: var(--a); } .bar1 { fill: var(--b); }
"""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def webpage(report: Report) -> str:
    """The report as HTML.

    Args:
      report: what is shown.

    Returns:
      The text of the file. Its policy forbids the browser to fetch or to run anything.
    """
    title = f"Stuck messages by {report.by}, {report.at or report.made:%Y-%m-%d}"
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.facts())
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body><main>",
        f"<h1>{escape(title)}</h1><dl>{facts}</dl>",
        "<h2>Whose fault</h2>",
        bars("messages by error class", [(name, (number,)) for name, number in report.classes.items()]),
        "<h2>Age</h2>",
        bars("messages by age", [(name, (number,)) for name, number in report.ages.items()]),
    ]
    for sheet in report.sheets:
        parts.append(f'<h2 id="{escape(sheet.title)}">{escape(sheet.title.capitalize())}</h2>')
        parts += [_chart(sheet), _table(sheet)]
    parts.append("</main></body></html>")
    return "\n".join(part for part in parts if part) + "\n"


def _chart(sheet: Sheet) -> str:
    rows = sheet.rows[:CHARTED]
    if sheet.title == "groups" and rows:
        return bars("messages by group", [(str(row[0]), (_number(row[1]),)) for row in rows])
    if sheet.title == "changes" and rows:
        return bars(
            "then and now", [(str(row[0]), (_number(row[1]), _number(row[2]))) for row in rows], ("then", "now")
        )
    return ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _table(sheet: Sheet) -> str:
    rows = sheet.rows[:LISTED]
    left_out = sheet.left_out + len(sheet.rows) - len(rows)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in sheet.head)
    lines = [f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows]
    told = f"<p>{len(rows)} of {len(rows) + left_out}; {left_out} are left out.</p>" if left_out else ""
    body = "\n".join(lines)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>{told}'


def _cell(value: object) -> str:
    if isinstance(value, int | float):
        return f'<td class="number">{value}</td>'
    text = escape(str(value))
    return f'<td class="day">{text}</td>' if _DAY.fullmatch(text) else f"<td>{text}</td>"
