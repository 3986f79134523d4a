"""Bar charts as SVG, to be put into a page: no script, no font, no address of anything outside."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 780
"""Width of a chart in units of its own; it is scaled to its place."""

_LABEL, _ROW, _BAR, _VALUE = 280, 24, 16, 70
"""Room for names, height of a row, thickness of a bar, room for the figure behind it."""

_LONGEST = 36
"""Characters of a name that fit before its bar."""


def bars(title: str, values: Sequence[tuple[str, Sequence[int]]], series: Sequence[str] = ("messages",)) -> str:
    """A chart of horizontal bars, one or more for each name.

    Args:
      title: what it shows, for those who do not see it too.
      values: (name, a value for each series).
      series: names of the series; told in a legend when there are several.

    Returns:
      The SVG element; its colours are the classes `bar0`, `bar1`, ... of the page.
    """
    most = max((value for _, numbers in values for value in numbers), default=0) or 1
    step = _ROW * len(series) + (6 if len(series) > 1 else 0)
    top = _ROW if len(series) > 1 else 0
    height = top + step * max(len(values), 1) + 4
    words = "; ".join(f"{name} {' / '.join(str(number) for number in numbers)}" for name, numbers in values[:30])
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(f"{title}: {words}", quote=True)}">',
        f"<title>{escape(title)}</title>",
    ]
    for number, name in enumerate(series if len(series) > 1 else ()):
        x = _LABEL + number * 140
        parts.append(f'<rect class="bar{number}" x="{x}" y="4" width="12" height="12"/>')
        parts.append(f'<text x="{x + 18}" y="15">{escape(name)}</text>')
    for index, (name, numbers) in enumerate(values):
        y = top + index * step
        shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        parts.append(f'<text class="name" x="{_LABEL - 8}" y="{y + 16}">{escape(shown)}</text>')
        for number, value in enumerate(numbers):
            length = max(round(value / most * (WIDTH - _LABEL - _VALUE)), 1 if value else 0)
            line = y + number * _ROW
            parts.append(f'<rect class="bar{number}" x="{_LABEL}" y="{line + 3}" width="{length}" height="{_BAR}"/>')
            parts.append(f'<text x="{_LABEL + length + 6}" y="{line + 16}">{value}</text>')
    parts.append("</svg>")
    return "".join(parts)
