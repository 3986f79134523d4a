"""Charts as SVG: stacked bars whose colours are those of the theme, with every number in the title of its bar."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup
from msgspec import Struct

WIDTH, HEIGHT = 720, 180
LEFT, BOTTOM, TOP = 46, 22, 8

OUTCOMES = ("good", "wait", "bad", "open")
"""Parts of a bar from the bottom up, by the name of their colour."""

OUTCOME_OF = {
    "accepted": "good",
    "treated": "good",
    "quarantined": "wait",
    "received": "wait",
    "to_replay": "wait",
    "rejected": "bad",
    "engine_error": "bad",
    "delegated": "open",
    "ticketed": "open",
    "withdrawn": "open",
}
"""State of a message -> part of a bar that it belongs to."""


class Bar(Struct, frozen=True):
    """One bar.

    Attributes:
      label: below it; empty for none.
      title: what it stands for, for whoever points at it.
      parts: (name of the colour, words, value), from the bottom up.
      link: where it leads.
    """

    label: str
    title: str
    parts: tuple[tuple[str, str, int], ...]
    link: str = ""

    @property
    def total(self) -> int:
        """Its height."""
        return sum(value for _, _, value in self.parts)


def bars(content: Sequence[Bar], name: str) -> Markup:
    """A stacked bar chart.

    Args:
      content: the bars, from the left.
      name: what the chart shows, for those who do not see it.
    """
    most = _ceiling(max((bar.total for bar in content), default=0))
    room, height = WIDTH - LEFT, HEIGHT - BOTTOM - TOP
    step = room / max(1, len(content))
    drawn = [_grid(most, height)]
    for number, bar in enumerate(content):
        x, wide = LEFT + number * step + step * 0.12, step * 0.76
        drawn.append(_bar(bar, x, wide, most, height))
        if bar.label:
            drawn.append(f'<text class="tick" x="{x + wide / 2:.1f}" y="{HEIGHT - 6}" text-anchor="middle">')
            drawn.append(f"{escape(bar.label)}</text>")
    # What can be followed must be reachable: the content of an image is not.
    role = "group" if any(bar.link for bar in content) else "img"
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="{role}" aria-label="{escape(name, quote=True)}">'
        f"{''.join(drawn)}</svg>"
    )


def share(parts: Sequence[tuple[str, str, int]]) -> Markup:
    """One thin bar that shows shares of a whole: (name of the colour, words, value)."""
    total = sum(value for _, _, value in parts) or 1
    drawn, x = [], 0.0
    for colour, words, value in parts:
        wide = 100 * value / total
        if value:
            drawn.append(
                f'<rect class="c-{colour}" x="{x:.2f}" y="0" width="{wide:.2f}" height="6">'
                f"<title>{escape(words)}: {value}</title></rect>"
            )
        x += wide
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">{"".join(drawn)}</svg>'
    )


def _bar(bar: Bar, x: float, wide: float, most: int, height: float) -> str:
    pieces, y = [], float(HEIGHT - BOTTOM)
    for colour, _, value in bar.parts:
        tall = height * value / most
        y -= tall
        if value:
            pieces.append(
                f'<rect class="c-{colour}" x="{x:.1f}" y="{y:.2f}" width="{wide:.1f}" height="{max(tall, 0.8):.2f}"/>'
            )
    told = ", ".join(f"{words} {value}" for _, words, value in bar.parts if value) or "0"
    # Something to point at where the bar is low, too.
    area = f'<rect class="area" x="{x:.1f}" y="{TOP}" width="{wide:.1f}" height="{height:.1f}"/>'
    words = f"{bar.title}: {told}"
    group = f"<g><title>{escape(words)}</title>{area}{''.join(pieces)}</g>"
    if not bar.link:
        return group
    return f'<a href="{escape(bar.link, quote=True)}" aria-label="{escape(words, quote=True)}">{group}</a>'


def _grid(most: int, height: float) -> str:
    lines = []
    for quarter in range(5):
        y = HEIGHT - BOTTOM - height * quarter / 4
        value = most * quarter / 4
        lines.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>')
        if value == int(value):
            words = f"{int(value):,}".replace(",", " ")
            lines.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{words}</text>')
    return "".join(lines)


def _ceiling(value: int) -> int:
    """A round number not below a value."""
    size = 4
    while size < value:
        for factor in (1, 2, 2.5, 5, 10):
            if size * factor >= value:
                return int(size * factor)
        size *= 10
    return size
