"""The columns of a portfolio, for the page docs/portfolio.md."""

from __future__ import annotations

from energycomm.kernel.shape import Scalar
from energycomm.portfolio.columns import GROUPS, KEYED, NEEDED, Column, fixed_columns

HEAD = "| column | holds | what it is |\n|---|---|---|"


def reference() -> str:
    """A table of the columns for each group."""
    groups: dict[str, list[str]] = {}
    for column in fixed_columns().values():
        groups.setdefault(column.name.partition(".")[0] if column.group else "", []).append(_row(column))
    for keyed, group in zip(KEYED, ("contract", "reading"), strict=True):
        groups[group].append(f"| `{keyed.shown}` | a number, in `{keyed.unit}` | {keyed.english} |")
    kinds = {group: kind.__name__ for kind, group in GROUPS.items()}
    pieces = []
    for group, rows in groups.items():
        title = f"### `{group}`: {kinds[group]}" if group else "### Every row"
        pieces.append(f"{title}\n\n{HEAD}\n" + "\n".join(rows))
    return "\n\n".join(pieces) + "\n"


def _row(column: Column) -> str:
    star = "*" if column.name in NEEDED else ""
    unit = "" if column.unit is None else f", in {column.unit}" if "." not in column.unit else f", in `{column.unit}`"
    words = column.english.replace("|", "\\|")
    return f"| `{column.name}`{star} | {_holds(column.scalar)}{unit} | {words} |"


def _holds(scalar: Scalar) -> str:
    if scalar.words:
        return ", ".join(scalar.words)
    names = {
        "text": f"text, at most {scalar.longest} characters",
        "integer": "a whole number",
        "decimal": "a number",
        "truth": "true or false",
        "day": "a day",
        "instant": "a day or an instant",
    }
    return names[scalar.name]
