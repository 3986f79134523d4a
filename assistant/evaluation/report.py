"""What an evaluation found: tables with intervals, JSON, and plots."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from assistant.evaluation.intervals import Mean
from assistant.extras import installed

Cell = Mean | float | int | str | None


class Table(Struct, frozen=True, kw_only=True):
    """Rows of results.

    Attributes:
      keys: columns that say what was varied.
      measures: columns with figures.
      plot: which measures are drawn as bars.
    """

    title: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]
    plot: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table in Markdown."""
        columns = (*self.keys, *self.measures)
        head = " | ".join(_words(column) for column in columns)
        lines = [f"**{_words(self.title)}**", "", f"| {head} |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_words(shown(row.get(column))) for column in columns) + " |" for row in self.rows]
        return "\n".join(lines)


class Curve(Struct, frozen=True, kw_only=True):
    """Points to be drawn as a line."""

    title: str
    x: str
    y: str
    points: tuple[tuple[float, float], ...]


class Report(Struct, frozen=True, kw_only=True):
    """Everything an evaluation gives back.

    Attributes:
      command: how to get it again.
      notes: what a reader of the figures has to know.
      broken: promises that may not be broken and how often they were: sentences that are not in their source, ids that
        were not retrieved.
    """

    title: str
    command: str
    tables: tuple[Table, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()
    broken: dict[str, int] = field(default_factory=dict)
    made: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    machine: str = field(default_factory=lambda: f"{platform.machine()}, Python {platform.python_version()}")

    def markdown(self) -> str:
        """The report in Markdown."""
        parts = [f"## {self.title}", f"`{self.command}`", *[table.markdown() for table in self.tables]]
        parts += [f"- {name}: {count}" for name, count in self.broken.items()]
        parts += [f"{note}" for note in self.notes]
        return "\n\n".join(parts) + "\n"


def shown(value: Cell) -> str:
    """A cell as text."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _words(text: str) -> str:
    """A text as words of a cell in Markdown: on one line, no new cell, no HTML."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").splitlines())


def write(report: Report, folder: Path) -> list[Path]:
    """Write a report as Markdown, JSON and, where matplotlib is installed, plots (SVG).

    Returns:
      The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "report.md", folder / "report.json"]
    written[0].write_text(report.markdown(), encoding="utf-8")
    written[1].write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    if not installed("matplotlib"):
        print("No plots: pip install matplotlib draws them.", file=sys.stderr)
        return written
    for number, table in enumerate(report.tables, start=1):
        for measure in table.plot:
            written.append(_bars(table, measure, folder / f"table{number}-{_slug(measure)}.svg"))
    for number, curve in enumerate(report.curves, start=1):
        written.append(_line(curve, folder / f"curve{number}.svg"))
    return written


def summarise(rows: Sequence[Mapping[str, float]], measures: Sequence[str]) -> dict[str, Cell]:
    """The mean of every measure over items, with intervals."""
    from assistant.evaluation.intervals import mean_of

    return {name: mean_of([row[name] for row in rows if name in row]) for name in measures}


def _bars(table: Table, measure: str, path: Path) -> Path:
    figure, axes = _figure(max(4.0, 0.45 * len(table.rows) + 2))
    labels = [" ".join(shown(row.get(key)) for key in table.keys) for row in table.rows]
    cells = [row.get(measure) for row in table.rows]
    values = [cell.value if isinstance(cell, Mean) else float(cell or 0) for cell in cells]
    halves = [cell.half if isinstance(cell, Mean) else 0.0 for cell in cells]
    axes.barh(range(len(values)), values, xerr=halves, color="#4c78a8", capsize=3)
    axes.set_yticks(range(len(values)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(measure)
    axes.set_title(table.title)
    figure.savefig(path, bbox_inches="tight")
    return path


def _line(curve: Curve, path: Path) -> Path:
    figure, axes = _figure(3.5)
    axes.plot([x for x, _ in curve.points], [y for _, y in curve.points], color="#4c78a8")
    axes.set(xlabel=curve.x, ylabel=curve.y, title=curve.title)
    axes.grid(alpha=0.3)
    figure.savefig(path, bbox_inches="tight")
    return path


def _figure(height: float):  # type: ignore[no-untyped-def]
    from matplotlib.figure import Figure

    # Without pyplot: no window system is asked for, nothing stays behind.
    figure = Figure(figsize=(7.0, height))
    return figure, figure.subplots()


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower()).strip("-")
